/* output.c - see output.h. */
#include "output.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/records.h"
#include "files/outfile.h"
#include "base/text.h"
#include "communicator.h"
#include "words.h"

int fail_table(blica_status status, const char *message) {
  say_error("%s", message);
  switch (status) {
  case BLICA_ERR_ARGUMENT:
    return EXIT_USAGE;
  case BLICA_ERR_DATA:
  case BLICA_ERR_IO:
  case BLICA_ERR_FORMAT:
    return EXIT_DATA;
  case BLICA_ERR_INTERRUPTED:
    return EXIT_INTERRUPTED;
  default:
    return EXIT_FAILED;
  }
}

int fail_reading(program *p, blica_status status) {
  return fail_table(status, blica_message(p->ctx));
}

int fail_writing(program *p, blica_status status) {
  int code = fail_reading(p, status);
  return status == BLICA_ERR_IO ? EXIT_FAILED : code;
}

int exit_of(blica_stop stop) {
  if (interrupted()) {
    say_warning("interrupted; the best result so far is written");
    return EXIT_INTERRUPTED;
  }
  static const char *const why[] = {
      [BLICA_STOP_ITERATIONS] = "--max-iterations was reached. The result was written",
      [BLICA_STOP_TIME] = "--max-seconds was reached. The result was written",
      [BLICA_STOP_STALLED] =
          "the objective is too flat to improve further. The result was written; use --prior auto, or fewer sources",
      [BLICA_STOP_UNBOUNDED] = "the likelihood has no maximum on these data, and parameters run to infinity. The "
                               "result was written, but a prior is needed (--prior auto)",
      [BLICA_STOP_INTEGRATION] = "the integration error is too large to say where the likelihood has its maximum. The "
                                 "result was written, but --method matched may be more accurate"};
  if (stop == BLICA_STOP_CONVERGED) return EXIT_OK;
  if (stop == BLICA_STOP_INTERRUPTED) return EXIT_INTERRUPTED;
  if (stop <= BLICA_STOP_INTEGRATION) say_warning("did not converge: %s", why[stop]);
  return EXIT_NOT_CONVERGED;
}

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

/* The file of that name in the same folder; neither need be there. */
static bool same_name(const char *a, const char *b) {
  struct stat x, y;
  char *copy[4] = {strdup(a), strdup(b), strdup(a), strdup(b)};
  bool same = copy[0] && copy[1] && copy[2] && copy[3] && strcmp(basename(copy[0]), basename(copy[1])) == 0 &&
              stat(dirname(copy[2]), &x) == 0 && stat(dirname(copy[3]), &y) == 0 && x.st_dev == y.st_dev &&
              x.st_ino == y.st_ino;
  for (int i = 0; i < 4; i++) free(copy[i]);
  return same;
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  if (stat(a, &x) != 0 || stat(b, &y) != 0) return same_name(a, b);
  return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether writing path would destroy what the command reads or writes besides. */
static bool collides(const program *p, const char *path, const char *also) {
  const char *other = also && same_file(path, also) ? also : NULL;
  for (int i = 0; i < p->operand_count && !other; i++)
    if (same_file(path, p->operands[i])) other = p->operands[i];
  if (other) say_error("'%s' would be overwritten: it is the same file as '%s'; name another file", path, other);
  return other != NULL;
}

bool output_possible(const program *p, const char *path, const char *also) {
  int reason = leads() ? obstacle(path) : 0;
  if (reason) say_error("cannot write '%s': %s", path, strerror(reason));
  bool possible = reason == 0 && (!leads() || !collides(p, path, also));
  return agree_on(possible);
}

bool checkpoint_possible(const program *p, const char *path, bool resume, const char *also) {
  if (!path) return true;
  if (!output_possible(p, path, also)) return false;
  bool exists = leads() && access(path, F_OK) == 0;
  if (exists && !resume)
    say_error("%s: '%s' exists already: give --resume to continue from it, remove it, or name another",
              p->command->name, path);
  return agree_on(resume || !exists);
}

void settle_checkpoint(const char *path, bool stopped, const char *what) {
  if (!path || !leads() || access(path, F_OK) != 0) return;
  if (stopped)
    say_note("--checkpoint %s --resume continues this %s", path, what);
  else
    unlink(path);
}

bool make_folder(const char *path, bool *made) {
  struct stat info;
  int reason = mkdir(path, 0777) == 0 ? 0 : errno;
  if (made) *made = reason == 0;
  if (reason == EEXIST && stat(path, &info) == 0) reason = S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
  if (reason) say_error("cannot make the folder '%s': %s", path, strerror(reason));
  return reason == 0;
}

bool is_standard_output(const char *path) {
  return strcmp(path, STANDARD_OUTPUT) == 0;
}

bool output_is_table(const char *path, const char *what) {
  if (bl_has_ending(path, ".npz") || bl_has_ending(path, ".csv")) return true;
  say_error("'%s': %s are saved as .npz or .csv; end the name in one of them", path, what);
  return false;
}

json_t *json_number(double value) {
  if (isnan(value)) return json_null();
  if (isinf(value)) return json_string(value > 0 ? "Infinity" : "-Infinity");
  return json_real(value);
}

json_t *json_numbers(const double *x, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) json_array_append_new(list, json_number(x[i]));
  return list;
}

json_t *json_wide(const int64_t *x, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) json_array_append_new(list, json_integer((json_int_t)x[i]));
  return list;
}

static json_t *json_seed(uint64_t seed) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
  return seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_string(text);
}

static json_t *json_value(char kind, va_list *args) {
  switch (kind) {
  case 'n':
    return json_number(va_arg(*args, double));
  case 'i':
    return json_integer(va_arg(*args, int));
  case 'w':
    return json_integer((json_int_t)va_arg(*args, int64_t));
  case 'u':
    return json_seed(va_arg(*args, uint64_t));
  case 'b':
    return json_boolean(va_arg(*args, int));
  case 't':
    return json_text(va_arg(*args, const char *));
  default:
    return va_arg(*args, json_t *);
  }
}

json_t *json_members(const char *members, ...) {
  json_t *object = json_object();
  va_list args;
  va_start(args, members);
  for (const char *at = members; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    char name[64];
    const int length = (int)strcspn(at, ":");
    snprintf(name, sizeof name, "%.*s", length, at);
    json_object_set_new(object, name, json_value(at[length + 1], &args));
  }
  va_end(args);
  return object;
}

void print_cell(int decimals, double value) {
  if (isnan(value))
    printf("\t-");
  else
    printf("\t%.*f", decimals, value);
}

static int characters_of(const char *text) {
  int count = 0;
  for (; *text; text++) count += ((unsigned char)*text & 0xC0) != 0x80;
  return count;
}

void put_name(FILE *to, const char *name, int least, int most) {
  char text[SHOWN_TEXT];
  const char *c = shown(name, text);
  const int all = characters_of(c), kept = all > most ? most - 1 : all;
  for (int count = 0; *c; c++) {
    if (((unsigned char)*c & 0xC0) != 0x80 && ++count > kept) break;
    putc(*c, to);
  }
  fprintf(to, "%s%*s", all > most ? "\xE2\x80\xA6" : "", all < least ? least - all : 0, "");
}

int names_width(char *const *names, int count, int least) {
  for (int i = 0; i < count; i++) {
    const int width = characters_of(names[i]);
    least = width > least ? width : least;
  }
  return least < NAME_MOST ? least : NAME_MOST;
}

bool print_loadings(const blica_model *m, const double *se, FILE *to) {
  const int width = names_width(m->variables, m->n, 8);
  int *order = sorted_items(m, calloc);
  if (!order) return false;
  fprintf(to, "%-*s", width, "loadings");
  for (int j = 0; j < m->k; j++) fprintf(to, "  %*sz%d%s", j < 9 ? 4 : 3, "", j + 1, se ? "  error" : "");
  for (int i = 0; i < m->n; i++) {
    putc('\n', to);
    put_name(to, m->variables[order[i]], width, width);
    for (int j = 0; j < m->k; j++) {
      const size_t at = (size_t)order[i] + (size_t)j * (size_t)m->n;
      fprintf(to, "  %6.2f", round(100 * m->mixing[at]) / 100 + 0.0);
      if (se) fprintf(to, " (%.2f)", se[at]);
    }
    if (m->labels && *m->labels[order[i]]) fputs("  ", to), put_name(to, m->labels[order[i]], 0, LABEL_SHOWN);
  }
  fputs("\n\n", to);
  free(order);
  return true;
}

bool method_needs_rows(int method) {
  return method > 0 && blica_methods(NULL)[method - 1].needs_rows; /* auto needs only counts */
}

json_t *json_text(const char *text) {
  if (!text) return json_null();
  json_t *string = json_string(text); /* NULL when it is not UTF-8 */
  return string ? string : json_string("(not UTF-8)");
}

static bool json_out_of_memory;

static void *json_memory(size_t size) {
  void *block = malloc(size);
  if (!block) json_out_of_memory = true;
  return block;
}

void json_track_memory(void) {
  json_set_alloc_funcs(json_memory, free);
}

int write_file(const char *path, file_writer write, const void *what) {
  bl_outfile file;
  bool written = false;
  if (bl_outfile_open(&file, path)) {
    written = write(file.stream, what);
    if (written && bl_outfile_commit(&file)) return EXIT_OK;
    const bool memory = !written && (!ferror(file.stream) || json_out_of_memory || errno == ENOMEM);
    if (!written) bl_outfile_discard(&file);
    if (!written && interrupted()) {
      say_error("interrupted while writing '%s'", path);
      return EXIT_INTERRUPTED;
    }
    if (memory) errno = ENOMEM;
  }
  if (errno == ENOMEM)
    say_error("out of memory: '%s' was not written", path);
  else
    say_error("cannot write '%s': %s", path, strerror(errno));
  return EXIT_FAILED;
}

static bool dump(FILE *stream, const void *object) {
  return object && !json_out_of_memory && json_dumpf(object, stream, JSON_REAL_PRECISION(17) | JSON_INDENT(1)) == 0 &&
         !json_out_of_memory;
}

int json_print(json_t *object) {
  const bool ok = dump(stdout, object);
  if (ok) putchar('\n');
  if (json_out_of_memory)
    say_error("out of memory: the JSON record for the standard output is not complete");
  else if (!ok)
    say_error("the JSON record could not be written to the standard output");
  json_decref(object);
  return ok ? EXIT_OK : EXIT_FAILED;
}

int json_write(json_t *object, const char *path) {
  const int code = write_file(path, dump, object);
  json_decref(object);
  return code;
}

int json_give(json_t *object, const char *path, bool print) {
  progress_clear();
  int code = path && writes() ? json_write(json_incref(object), path) : EXIT_OK;
  if (code == EXIT_OK && print) return json_print(object);
  json_decref(object);
  return code;
}

const char *counts_width(program *p, const blica_counts *counts, char *text, size_t size) {
  blica_coding *coding = NULL;
  if (blica_counts_coding(p->ctx, counts, &coding) == BLICA_OK && coding)
    snprintf(text, size, "%d items with levels (%d columns of bits)", coding->items, counts->n);
  else
    snprintf(text, size, "%d variables", counts->n);
  blica_coding_free(coding);
  return text;
}

void print_field(FILE *stream, const char *text) {
  if (*text) bl_put_field(stream, text);
}

void print_id(FILE *stream, const char *id) {
  print_field(stream, id);
  fputc(',', stream);
}
