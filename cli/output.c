/* output.c - see output.h. */
#include "output.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "communicator.h"
#include "program.h"

static int obstacle(const char *path) {
  struct stat info;
  if (!*path) return ENOENT;
  if (stat(path, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return EISDIR;
    if (!S_ISREG(info.st_mode)) return access(path, W_OK) == 0 ? 0 : errno;
  }
  char *copy = strdup(path);
  if (!copy) return ENOMEM;
  const char *folder = dirname(copy);
  int reason = stat(folder, &info) != 0 ? errno : !S_ISDIR(info.st_mode) ? ENOTDIR : 0;
  if (reason == 0 && access(folder, W_OK | X_OK) != 0) reason = errno;
  free(copy);
  return reason;
}

bool output_possible(const char *path) {
  int reason = leads() ? obstacle(path) : 0;
  if (reason) say_error("cannot write '%s': %s", path, strerror(reason));
  return agree_on(reason == 0);
}

json_t *json_number(double value) {
  if (isnan(value)) return json_null();
  if (isinf(value)) return json_string(value > 0 ? "Infinity" : "-Infinity");
  return json_real(value);
}

json_t *json_text(const char *text) {
  json_t *string = json_string(text); /* NULL when it is not UTF-8 */
  return string ? string : json_string("(not UTF-8)");
}

static bool json_starved;

static void *json_memory(size_t size) {
  void *block = malloc(size);
  if (!block) json_starved = true;
  return block;
}

void json_watch_memory(void) {
  json_set_alloc_funcs(json_memory, free);
}

int json_print(json_t *object) {
  bool ok = object && !json_starved && json_dumpf(object, stdout, JSON_REAL_PRECISION(17) | JSON_INDENT(1)) == 0;
  if (ok) putchar('\n');
  if (json_starved)
    say_error("out of memory: the JSON record for the standard output is not complete");
  else if (!ok)
    say_error("the JSON record could not be written to the standard output");
  json_decref(object);
  return ok && !json_starved ? EXIT_OK : EXIT_FAILED;
}
