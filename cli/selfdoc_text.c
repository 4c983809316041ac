/* selfdoc_text.c - man pages and docs/options.md. */
#include <math.h>
#include <string.h>

#include "selfdoc.h"

/* ---- man pages ---- */

/* Troff reads . and ' at the start of a line and backslashes anywhere as its own; a bare hyphen may
 * be set as a typographic one, which cannot be pasted. */
static void roff(FILE *f, const char *text, size_t length, bool fresh) {
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    if (fresh && (c == '.' || c == '\'')) fputs("\\&", f);
    fresh = c == '\n';
    if (c == '\\')
      fputs("\\e", f);
    else if (c == '-')
      fputs("\\-", f);
    else
      putc(c, f);
  }
}

static void roff_text(FILE *f, const char *text) {
  roff(f, text, strlen(text), true);
}

static void roff_paragraphs(FILE *f, const char *text) {
  while (*text) {
    const char *end = strstr(text, "\n\n");
    size_t length = end ? (size_t)(end - text) : strlen(text);
    roff(f, text, length, true);
    text += end ? length + 2 : length;
    fputs(*text ? "\n.PP\n" : "\n", f);
  }
}

static void roff_option(FILE *f, const blica_option *option) {
  char flag[FLAG_TEXT], initial[64];
  default_of(option, initial, sizeof initial);
  fputs(".TP\n.B ", f);
  roff_text(f, flag_of(option, flag));
  if (option->metavar) fprintf(f, " \\fI%s\\fR", option->metavar);
  putc('\n', f);
  roff_text(f, option->help);
  if (option->type == BLICA_OPT_CHOICE) {
    char words[256];
    fputs(" One of ", f);
    roff_text(f, words_of(option, words, sizeof words));
    putc('.', f);
  }
  if (option->needs) {
    char needs[NEEDS_TEXT];
    (void)needs_of(option, needs, sizeof needs);
    roff(f, needs, strlen(needs), false);
  }
  if (initial[0]) {
    fputs(" Default: ", f);
    roff(f, initial, strlen(initial), false);
    putc('.', f);
  }
  putc('\n', f);
}

static const char exit_codes[] =
    ".SH EXIT STATUS\n0 done; 1 failure; 2 wrong usage; 3 bad input; 4 not converged (the result is "
    "written); 130 interrupted (the best result so far is written).\n";

static void man_head(FILE *f, const char *title, const char *name, const char *summary) {
  fprintf(f, ".TH %s 1 \"\" \"blica %s\" \"User Commands\"\n.SH NAME\n", title, blica_version());
  roff_text(f, name);
  fputs(" \\- ", f);
  roff(f, summary, strlen(summary), false);
  fputs("\n.SH SYNOPSIS\n.B blica", f);
}

static void man_command(FILE *f, const void *what) {
  const command *c = what;
  char title[64], name[64];
  snprintf(title, sizeof title, "BLICA-%s", c->name);
  for (char *t = title; *t; t++)
    if (*t >= 'a' && *t <= 'z') *t -= 'a' - 'A';
  snprintf(name, sizeof name, "blica-%s", c->name);
  man_head(f, title, name, c->summary);
  char usage[256];
  usage_of(c, usage, sizeof usage);
  putc(' ', f);
  roff(f, usage, strlen(usage), false);
  fputs(" [OPTIONS]\n.SH DESCRIPTION\n", f);
  roff_paragraphs(f, c->text);
  fputs(".SH OPTIONS\n", f);
  selfdoc_each_option(f, c, roff_option);
  fputs(".TP\n.B \\-h, \\-\\-help\nA summary of all this.\n", f);
  if (c->examples) {
    fputs(".SH EXAMPLES\n.nf\n", f);
    roff_text(f, c->examples);
    fputs("\n.fi\n", f);
  }
  fputs(exit_codes, f);
  fputs(".SH SEE ALSO\n.BR blica (1)\n", f);
}

static void man_program(FILE *f, const void *what) {
  (void)what;
  man_head(f, "BLICA", "blica", "independent component analysis of binary and ordinal data");
  fputs("\n.I COMMAND\n[ARGUMENTS] [OPTIONS]\n.SH DESCRIPTION\n", f);
  roff_paragraphs(
      f, "Recovers the mixing matrix of independent sources from binary and ordinal items whose rows come in segments "
         "(times, sites, groups) in which the variances of the sources differ.\n\n"
         "Results go to files or to the standard output, messages to the standard error, which shows progress "
         "when it is a terminal. Ctrl-C stops a fit, which writes its best result so far; a second "
         "Ctrl-C ends the program.");
  fputs(".SH COMMANDS\n", f);
  for (int i = 0; commands[i]; i++) {
    fprintf(f, ".TP\n.BR blica\\-%s (1)\n", commands[i]->name);
    roff_text(f, commands[i]->summary);
    putc('\n', f);
  }
  fputs(exit_codes, f);
}

int selfdoc_man(const char *folder) {
  int code = selfdoc_file(folder, "blica.1", man_program, NULL);
  for (int i = 0; commands[i] && code == EXIT_OK; i++) {
    char name[64];
    snprintf(name, sizeof name, "blica-%s.1", commands[i]->name);
    code = selfdoc_file(folder, name, man_command, commands[i]);
  }
  return code;
}

/* ---- docs/options.md ---- */

static void cell(FILE *f, const char *text) {
  for (; *text; text++) {
    if (*text == '|') putc('\\', f);
    putc(*text, f);
  }
}

/* "1 to 100", with special words after it. */
static void markdown_range(FILE *f, const blica_option *option) {
  if (option->type == BLICA_OPT_SEED) {
    fputs("0 to 2^64-1", f);
  } else if (option->type == BLICA_OPT_INT || option->type == BLICA_OPT_REAL) {
    if (isinf(option->high))
      fprintf(f, "%.15g up", option->low);
    else
      fprintf(f, "%.15g to %.15g", option->low, option->high);
  }
  const char *before = option->type == BLICA_OPT_CHOICE ? "" : ", ";
  for (const char *word = option->words; word;) {
    fprintf(f, "%s`%.*s`", before, (int)strcspn(word, "=|"), word);
    before = ", ";
    word = strchr(word, '|');
    if (word) word++;
  }
}

static void markdown_option(FILE *f, const blica_option *option) {
  static const char *const types[] = {"whole number", "number", "text", "flag", "seed", "text", "text"};
  char flag[FLAG_TEXT], needs[NEEDS_TEXT];
  fprintf(f, "| `%s` | %s | ", flag_of(option, flag), types[option->type]);
  if (option->initial && option->type != BLICA_OPT_FLAG) fprintf(f, "`%s`", option->initial);
  fputs(" | ", f);
  markdown_range(f, option);
  fputs(" | ", f);
  cell(f, option->help);
  if (option->needs) (void)needs_of(option, needs, sizeof needs), cell(f, needs);
  fputs(" |\n", f);
}

static void markdown(FILE *f, const void *what) {
  (void)what;
  fputs("# Options of every command\n\nMade by `blica self-doc options docs` from the tables that the program parses "
        "with; in C, Python and R\nan option has the same name with `_` for `-`.\n\n"
        "An option that *needs* another has no effect without it, and is then refused, in all four languages: a value\n"
        "other than the default is an error. A value equal to the default is accepted anywhere.\n",
        f);
  for (int i = 0; commands[i]; i++) {
    fprintf(f, "\n## blica %s %s\n\n%s.\n\n| option | type | default | values | meaning |\n|---|---|---|---|---|\n",
            commands[i]->name, commands[i]->operands, commands[i]->summary);
    selfdoc_each_option(f, commands[i], markdown_option);
  }
}

int selfdoc_options(const char *folder) {
  return selfdoc_file(folder, "options.md", markdown, NULL);
}
