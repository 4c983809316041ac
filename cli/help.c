/* help.c - `blica --help` and `blica COMMAND --help`. */
#include <stdio.h>
#include <string.h>

#include "args.h"

enum { WIDTH = 80, INDENT = 26 };

/* Words of text, wrapped at WIDTH, each line after the first behind `indent` blanks. */
static void wrap(const char *text, int indent, int column) {
  while (*text) {
    size_t blanks = strspn(text, " "), length = strcspn(text + blanks, " ");
    if (column > indent && column + 1 + (int)length > WIDTH) {
      printf("\n%*s", indent, "");
      column = indent;
    } else if (blanks && column > indent) {
      putchar(' ');
      column++;
    }
    printf("%.*s", (int)length, text + blanks);
    column += (int)length;
    text += blanks + length;
  }
  putchar('\n');
}

static void print_option(const blica_option *option) {
  char head[128], text[1024], initial[64], flag[FLAG_TEXT];
  snprintf(head, sizeof head, "  %s %s", flag_of(option, flag), option->metavar ? option->metavar : "");
  default_of(option, initial, sizeof initial);
  size_t at = (size_t)snprintf(text, sizeof text, "%s", option->help);
  if (option->type == BLICA_OPT_CHOICE) {
    char words[256];
    at += (size_t)snprintf(text + at, sizeof text - at, " One of %s.", words_of(option, words, sizeof words));
  }
  if (option->needs) at += (size_t)needs_of(option, text + at, sizeof text - at);
  if (initial[0]) snprintf(text + at, sizeof text - at, " [%s]", initial);
  int column = printf("%s", head);
  if (column >= INDENT - 1)
    printf("\n%*s", INDENT, "");
  else
    printf("%*s", INDENT - column, "");
  wrap(text, INDENT, INDENT);
}

static void print_paragraphs(const char *text) {
  while (*text) {
    char line[2048];
    const char *end = strstr(text, "\n\n");
    size_t length = end ? (size_t)(end - text) : strlen(text);
    snprintf(line, sizeof line, "%.*s", (int)length, text);
    for (char *c = line; *c; c++)
      if (*c == '\n') *c = ' ';
    wrap(line, 0, 0);
    text += end ? length + 2 : length;
    if (*text) putchar('\n');
  }
}

static void print_indented(const char *text) {
  while (*text) {
    size_t length = strcspn(text, "\n");
    printf("  %.*s\n", (int)length, text);
    text += length + (text[length] == '\n');
  }
}

static const blica_option *option_named(const command *c, const char *name, size_t length) {
  int count;
  for (int g = 0; g < MAX_GROUPS; g++) {
    const blica_option *table = option_table(c, g, &count);
    for (int i = 0; i < count; i++)
      if (strlen(table[i].name) == length && strncmp(table[i].name, name, length) == 0) return &table[i];
  }
  return NULL;
}

void usage_of(const command *c, char *text, size_t size) {
  size_t at = (size_t)snprintf(text, size, "%s%s%s", c->name, *c->operands ? " " : "", c->operands);
  for (const char *word = c->required; word && at < size;) {
    size_t length = strcspn(word, "|");
    const blica_option *option = option_named(c, word, length);
    char flag[FLAG_TEXT];
    if (option) at += (size_t)snprintf(text + at, size - at, " %s %s", flag_of(option, flag), option->metavar);
    word = word[length] ? word + length + 1 : NULL;
  }
}

void print_help(const command *c) {
  int count;
  char usage[256];
  usage_of(c, usage, sizeof usage);
  printf("blica %s - %s\n\nUsage: blica %s [OPTIONS]\n\n", c->name, c->summary, usage);
  print_paragraphs(c->text);
  if (c->examples) {
    puts("\nExamples:");
    print_indented(c->examples);
  }
  for (int g = 0; g <= MAX_GROUPS; g++) {
    const blica_option *table = option_table(c, g, &count);
    if (!table) continue;
    printf("\n%s:\n", g < MAX_GROUPS ? c->groups[g].title : "Options of every command");
    for (int i = 0; i < count; i++) print_option(&table[i]);
  }
  puts("  -h, --help              This text.");
  puts("\nExit code: 0 done, 1 failure, 2 wrong usage, 3 bad input, 4 not converged (the\n"
       "result is written), 130 interrupted (the best so far is written).");
}

void print_overview(void) {
  puts("blica - independent component analysis of binary and ordinal data\n\n"
       "Usage: blica COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:");
  for (int i = 0; commands[i]; i++) printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
  puts("\nStart here:\n"
       "  blica simulate --out demo              # data and the model they come from\n"
       "  blica fit demo/data.csv --sources 10 --out model.json\n"
       "  blica compare demo/model.json model.json\n\n"
       "blica COMMAND --help (or blica help COMMAND) explains a command; blica --version prints the version.\n"
       "\"The paper\" is Hyttinen, Barin-Pacela and Hyvarinen, Binary independent component analysis: a\n"
       "non-stationarity-based approach, UAI 2022.");
}
