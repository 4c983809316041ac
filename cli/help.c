/* help.c - `blica --help` and `blica COMMAND --help`. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "communicator.h"
#include "data_args.h"

enum { WIDTH = 80, INDENT = 26 };

/* Words of text, wrapped at WIDTH, each line after the first behind `indent` blanks. */
static void wrap(FILE *to, const char *text, int indent, int column) {
  while (*text) {
    size_t blanks = strspn(text, " "), length = strcspn(text + blanks, " ");
    if (column > indent && column + 1 + (int)length > WIDTH) {
      fprintf(to, "\n%*s", indent, "");
      column = indent;
    } else if (blanks && column > indent) {
      putc(' ', to);
      column++;
    }
    fprintf(to, "%.*s", (int)length, text + blanks);
    column += (int)length;
    text += blanks + length;
  }
  putc('\n', to);
}

void print_sentences(FILE *to, const char *text) {
  if (to == stdout && at_terminal())
    wrap(to, text, 0, 0);
  else
    fprintf(to, "%s\n", text);
}

const char exit_codes[] = "0 done; 1 failure; 2 wrong usage; 3 bad input; 4 not converged (the result is written); 5 a "
                          "verdict is not yes (--strict); 130 interrupted (the best result so far is written).";

static void print_option(const blica_option *option) {
  char text[MEANING_TEXT], flag[FLAG_TEXT];
  int column = printf("  %s %s", flag_of(option, flag), option->metavar ? option->metavar : "");
  if (column >= INDENT - 1)
    printf("\n%*s", INDENT, "");
  else
    printf("%*s", INDENT - column, "");
  wrap(stdout, meaning_of(option, true, text), INDENT, INDENT);
}

/* The first `most` paragraphs of text. */
static void print_paragraphs(const char *text, int most) {
  for (; *text && most > 0; most--) {
    char line[2048];
    const char *end = strstr(text, "\n\n");
    size_t length = end ? (size_t)(end - text) : strlen(text);
    snprintf(line, sizeof line, "%.*s", (int)length, text);
    for (char *c = line; *c; c++)
      if (*c == '\n') *c = ' ';
    wrap(stdout, line, 0, 0);
    text += end ? length + 2 : length;
    if (*text && most > 1) putchar('\n');
  }
}

static void print_indented(const char *text) {
  while (*text) {
    size_t length = strcspn(text, "\n");
    printf("  %.*s\n", (int)length, text);
    text += length + (text[length] == '\n');
  }
}

void usage_of(const command *c, char *text, size_t size) {
  const char *list = c->required, *word;
  char flag[FLAG_TEXT];
  int length;
  size_t at = (size_t)snprintf(text, size, "%s%s%s", c->name, *c->operands ? " " : "", c->operands);
  while (list_next(&list, &word, &length))
    for (option_walk w = {0}; option_next(c, &w) && at < size;)
      if ((int)strlen(w.option->name) == length && strncmp(w.option->name, word, (size_t)length) == 0)
        at += (size_t)snprintf(text + at, size - at, " %s %s", flag_of(w.option, flag), w.option->metavar);
}

/* Names of the group's options that were not explained, in one paragraph. */
static void print_names(const char *title, const blica_option *options, int count, const char *explained) {
  char line[2048], flag[FLAG_TEXT];
  size_t at = (size_t)snprintf(line, sizeof line, "%s:", title);
  bool any = false;
  for (int i = 0; i < count && at < sizeof line; i++) {
    if (list_has(explained, options[i].name)) continue;
    at += (size_t)snprintf(line + at, sizeof line - at, "%s %s", any ? "," : "", flag_of(&options[i], flag));
    any = true;
  }
  if (!any) return;
  putchar('\n');
  wrap(stdout, line, 2, 0);
}

static void print_group(const command *c, int g, bool all) {
  int count, shown = 0;
  const blica_option *options = option_table(c, g, &count);
  const char *title = g == COMMON    ? "Options of every command"
                      : g == READING ? "How the data are read"
                                     : c->groups[g].title;
  char names[128];
  if (!options) return;
  if (!all && g == READING) {
    print_names("How the data are read (blica help data)", options, count, NULL);
    return;
  }
  for (int i = 0; i < count; i++) {
    if (!all && c->usual && g < READING && !list_has(c->usual, options[i].name)) continue;
    if (shown++ == 0) printf("\n%s:\n", title);
    print_option(&options[i]);
  }
  snprintf(names, sizeof names, "More (blica %s --help all)", c->name);
  if (!all && c->usual && g < READING) print_names(names, options, count, c->usual);
}

void print_help(const command *c, bool all) {
  enum { EVERY = 100 };
  char usage[256];
  usage_of(c, usage, sizeof usage);
  printf("blica %s - %s\n\nUsage: blica %s [OPTIONS]\n\n", c->name, c->summary, usage);
  print_paragraphs(c->text, all || !c->usual ? EVERY : 1);
  if (c->examples) {
    puts("\nExamples:");
    print_indented(c->examples);
  }
  for (int g = 0; g < MAX_GROUPS; g++) print_group(c, g, all);
  puts("  -h, --help [all]        This text; all: with every option.");
  printf("\nExit code: ");
  wrap(stdout, exit_codes, 0, 11);
}

void print_data_help(void) {
  int count;
  const blica_option *options = data_option_table(&count);
  puts("blica help data - how the commands read DATA\n");
  print_paragraphs(
      "DATA is a table with a row for each observation and a column for each item: CSV or TSV, also as .gz or .zst, "
      ".npy, files of SPSS, Stata and SAS (.sav, .dta, .sas7bdat, .por), or - for the standard input. Items are 0 and "
      "1, pairs of words such as no and yes, or ordered levels (--ordinal, --levels).\n\n"
      "Every row belongs to a segment: a time, place or group. A column named segment holds it, or one of the options "
      "--segment-... says where it is. Empty cells, NA, N/A, NaN and NULL are missing values.\n\n"
      "Many commands also take COUNTS, the file of pair counts that blica count writes.",
      3);
  puts("\nOptions:");
  for (int i = 0; i < count; i++) print_option(&options[i]);
}

void print_overview(void) {
  puts("blica - independent component analysis of binary and ordinal data\n\n"
       "Usage: blica COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:");
  for (int i = 0; commands[i]; i++) printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
  puts("\nStart here:\n"
       "  blica simulate --out demo              # data and the model they come from\n"
       "  blica fit demo/data.csv --sources 10 --out model.json\n"
       "  blica compare demo/model.json model.json\n\n"
       "blica COMMAND --help explains a command, with --help all every option of it.\n"
       "blica help data tells how data are read; blica --version prints the version.\n"
       "\"The paper\" is Hyttinen, Barin-Pacela and Hyvarinen, Binary independent\n"
       "component analysis: a non-stationarity-based approach, UAI 2022.");
}
