/* cmd_self_doc.c - blica self-doc KIND DIR: man pages, completions and docs/options.md, made from the
 * tables that the program itself parses with, so that they cannot disagree with it. */
#include "selfdoc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "files/outfile.h"

int selfdoc_file(const char *folder, const char *name, void (*write)(FILE *f, const void *what), const void *what) {
  char path[4096];
  bl_outfile file;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  bool ok = bl_outfile_open(&file, path);
  if (ok) {
    write(file.stream, what);
    ok = bl_outfile_commit(&file);
  }
  if (!ok) say_error("cannot write '%s': %s", path, strerror(errno));
  return ok ? EXIT_OK : EXIT_FAILED;
}

static int run(program *p, void *values) {
  static const struct {
    const char *kind;
    int (*write)(const char *folder);
  } kinds[] = {{"man", selfdoc_man},
               {"bash", selfdoc_bash},
               {"zsh", selfdoc_zsh},
               {"fish", selfdoc_fish},
               {"options", selfdoc_options}};
  (void)values;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(p->operands[0], kinds[i].kind) == 0) return kinds[i].write(p->operands[1]);
  say_error("self-doc: '%s' is not one of man, bash, zsh, fish, options", p->operands[0]);
  return EXIT_USAGE;
}

const command command_self_doc = {
    .name = "self-doc",
    .summary = "write man pages, completions or docs/options.md",
    .operands = "man|bash|zsh|fish|options DIR",
    .least = 2,
    .most = 2,
    .text = "Writes documentation that is made from the program's own tables into the folder DIR.",
    .run = run,
};
