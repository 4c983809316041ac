/* cmd_self_doc.c - blica self-doc KIND DIR: man pages and docs/options.md, made from the tables that the program itself
 * parses with, so that they cannot disagree with it; and the words that shells complete. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "data_args.h"
#include "output.h"

/* ---- man pages ---- */

/* Troff reads . and ' at the start of a line and backslashes anywhere as its own; a bare hyphen may be set as a
 * typographic one, which cannot be pasted. An empty line begins a paragraph. */
static void roff(FILE *f, const char *text, bool fresh) {
  for (; *text; text++) {
    if (fresh && (*text == '.' || *text == '\'')) fputs("\\&", f);
    fresh = *text == '\n';
    if (fresh && text[1] == '\n')
      fputs("\n.PP", f);
    else if (*text == '\\')
      fputs("\\e", f);
    else if (*text == '-')
      fputs("\\-", f);
    else
      putc(*text, f);
  }
}

static void roff_option(FILE *f, const blica_option *option) {
  char flag[FLAG_TEXT], meaning[MEANING_TEXT];
  fputs(".TP\n.B ", f);
  roff(f, flag_of(option, flag), true);
  if (option->metavar) fprintf(f, " \\fI%s\\fR", option->metavar);
  putc('\n', f);
  roff(f, meaning_of(option, true, meaning), true);
  putc('\n', f);
}

static void man_head(FILE *f, const char *title, const char *name, const char *summary) {
  fprintf(f, ".TH %s 1 \"\" \"blica %s\" \"User Commands\"\n.SH NAME\n", title, blica_version());
  roff(f, name, true);
  fputs(" \\- ", f);
  roff(f, summary, false);
  fputs("\n.SH SYNOPSIS\n.B blica", f);
}

static bool man_command(FILE *f, const void *what) {
  const command *c = what;
  char title[64], name[64], usage[256];
  snprintf(title, sizeof title, "BLICA-%s", c->name);
  for (char *t = title; *t; t++)
    if (*t >= 'a' && *t <= 'z') *t -= 'a' - 'A';
  snprintf(name, sizeof name, "blica-%s", c->name);
  man_head(f, title, name, c->summary);
  usage_of(c, usage, sizeof usage);
  putc(' ', f);
  roff(f, usage, false);
  fputs(" [OPTIONS]\n.SH DESCRIPTION\n", f);
  roff(f, c->text, true);
  fputs("\n.SH OPTIONS\n", f);
  for (option_walk w = {0}; option_next(c, &w);) roff_option(f, w.option);
  fputs(".TP\n.B \\-h, \\-\\-help\nA summary of all this.\n", f);
  if (c->examples) {
    fputs(".SH EXAMPLES\n.nf\n", f);
    roff(f, c->examples, true);
    fputs("\n.fi\n", f);
  }
  fprintf(f, ".SH EXIT STATUS\n%s\n.SH SEE ALSO\n.BR blica (1)\n", exit_codes);
  return true;
}

static bool man_program(FILE *f, const void *what) {
  (void)what;
  man_head(f, "BLICA", "blica", "independent component analysis of binary and ordinal data");
  fputs("\n.I COMMAND\n[ARGUMENTS] [OPTIONS]\n.SH DESCRIPTION\n", f);
  roff(f,
       "Recovers the mixing matrix of independent sources from binary and ordinal items whose rows come in segments "
       "(times, sites, groups) in which the variances of the sources differ.\n\n"
       "Results go to files or to the standard output, messages to the standard error, which shows progress when it is "
       "a terminal. Ctrl-C stops a fit, which writes its best result so far; a second Ctrl-C ends the program.\n",
       true);
  fputs(".SH COMMANDS\n", f);
  for (int i = 0; commands[i]; i++) {
    fprintf(f, ".TP\n.BR blica\\-%s (1)\n", commands[i]->name);
    roff(f, commands[i]->summary, true);
    putc('\n', f);
  }
  fprintf(f, ".SH EXIT STATUS\n%s\n", exit_codes);
  return true;
}

/* ---- docs/options.md ---- */

static void cell(FILE *f, const char *text) {
  for (; *text; text++) fprintf(f, "%s%c", *text == '|' ? "\\" : "", *text);
}

/* "1 to 100", with special words after it. */
static void markdown_range(FILE *f, const blica_option *option) {
  const char *list = option->words, *word, *before = "";
  int length;
  if (option->type == BLICA_OPT_SEED)
    before = ", ", fputs("0 to 2^64-1", f);
  else if (option->type == BLICA_OPT_INT || option->type == BLICA_OPT_REAL)
    before = ", ", fprintf(f, isinf(option->high) ? "%.15g up" : "%.15g to %.15g", option->low, option->high);
  for (; list_next(&list, &word, &length); before = ", ") fprintf(f, "%s`%.*s`", before, length, word);
}

static void markdown_option(FILE *f, const blica_option *option) {
  static const char *const types[] = {"whole number", "number", "text", "flag", "seed", "text", "text"};
  char flag[FLAG_TEXT], meaning[MEANING_TEXT];
  fprintf(f, "| `%s` | %s | ", flag_of(option, flag), types[option->type]);
  if (option->initial && option->type != BLICA_OPT_FLAG) fprintf(f, "`%s`", option->initial);
  fputs(" | ", f);
  markdown_range(f, option);
  fputs(" | ", f);
  cell(f, meaning_of(option, false, meaning));
  fputs(" |\n", f);
}

static void markdown_table(FILE *f, const blica_option *options, int count) {
  if (count > 0) fputs("\n| option | type | default | values | meaning |\n|---|---|---|---|---|\n", f);
  for (int i = 0; i < count; i++) markdown_option(f, &options[i]);
}

/* The options of a command but those that all have, and those of reading, which are explained once. */
static void markdown_command(FILE *f, const command *c) {
  int count = 0, all = 0;
  blica_option own[128];
  const char sentence[] = {(char)toupper((unsigned char)*c->summary), 0};
  for (int g = 0; g < OWN_GROUPS; g++) {
    const blica_option *options = option_table(c, g, &count);
    for (int i = 0; i < count && all < (int)(sizeof own / sizeof *own); i++) own[all++] = options[i];
  }
  fprintf(f, "\n## blica %s%s%s\n\n%s%s.%s\n", c->name, *c->operands ? " " : "", c->operands, sentence, c->summary + 1,
          c->reads ? " It also has the options of [how the data are read](#how-the-data-are-read)." : "");
  markdown_table(f, own, all);
}

static bool markdown(FILE *f, const void *what) {
  (void)what;
  int count;
  fputs("# Options of every command\n\nMade by `blica self-doc options docs` from the tables that the program parses "
        "with; in C, Python and R\nan option has the same name with `_` for `-`.\n\n"
        "An option that *needs* another has no effect without it, and is then refused, in all four languages: a value\n"
        "other than the default is an error. A value equal to the default is accepted anywhere.\n\n"
        "## Every command\n",
        f);
  const blica_option *options = option_table(commands[0], COMMON, &count);
  markdown_table(f, options, count);
  fputs("\n## How the data are read\n\nEvery command that takes DATA has these options.\n", f);
  options = data_option_table(&count);
  markdown_table(f, options, count);
  for (int i = 0; commands[i]; i++) markdown_command(f, commands[i]);
  return true;
}

/* ---- completion ---- */

static void candidate(const char *begun, const char *word, const char *meaning) {
  if (strncmp(begun, word, strlen(begun)) == 0) printf("%s\t%s\n", word, meaning);
}

static void list_candidates(const char *begun, const char *list) {
  char text[FLAG_TEXT];
  const char *word;
  int length;
  while (list_next(&list, &word, &length)) {
    snprintf(text, sizeof text, "%.*s", length, word);
    candidate(begun, text, "");
  }
}

/* Lists completions after a command: words of the option before the cursor, flags, or operands. */
static void command_candidates(const command *c, bool first, const char *before, const char *begun) {
  char flag[FLAG_TEXT];
  for (option_walk w = {0}; option_next(c, &w);)
    if (w.option->words && strcmp(flag_of(w.option, flag), before) == 0) {
      list_candidates(begun, w.option->words);
      return;
    }
  if (*begun == '-') candidate(begun, "--help", "what the command does");
  for (option_walk w = {0}; *begun == '-' && option_next(c, &w);)
    candidate(begun, flag_of(w.option, flag), w.option->help);
  if (first && c->words) list_candidates(begun, c->words());
}

void print_candidates(int count, char **words) {
  const char *begun = count > 0 ? words[count - 1] : "";
  const bool help = count == 2 && strcmp(words[0], "help") == 0;
  for (int i = 0; commands[i]; i++) {
    if (count <= 1 || help) candidate(begun, commands[i]->name, commands[i]->summary);
    if (count > 1 && strcmp(commands[i]->name, words[0]) == 0)
      command_candidates(commands[i], count == 2, words[count - 2], begun);
  }
  if (help) candidate(begun, "data", "how the commands read DATA");
  if (count <= 1) list_candidates(begun, "help|--help|--version");
}

/* ---- the command ---- */

static int write_in(const char *folder, const char *name, file_writer write, const void *what) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return write_file(path, write, what);
}

static int run(program *p, void *values) {
  (void)values;
  const char *folder = p->operands[1];
  if (strcmp(p->operands[0], "options") == 0) return write_in(folder, "options.md", markdown, NULL);
  if (strcmp(p->operands[0], "man") != 0) {
    say_error("self-doc: '%s' is neither man nor options", p->operands[0]);
    return EXIT_USAGE;
  }
  int code = write_in(folder, "blica.1", man_program, NULL);
  for (int i = 0; commands[i] && code == EXIT_OK; i++) {
    char name[64];
    snprintf(name, sizeof name, "blica-%s.1", commands[i]->name);
    code = write_in(folder, name, man_command, commands[i]);
  }
  return code;
}

const command command_self_doc = {
    .name = "self-doc",
    .summary = "write man pages or docs/options.md",
    .operands = "man|options DIR",
    .text = "Writes documentation that is made from the program's own tables into the folder DIR.",
    .run = run,
};
