/* args.c - parsing. Flags are --name VALUE or --name=VALUE; options without a value are flags. */
#include "args.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_args.h"
#include "words.h"

static const blica_option common_table[] = {
    OPTION(program, threads, BLICA_OPT_INT, "all", 1, 4096, "all=0", "T",
           "Threads to use. Results are bit-identical for any number of threads."),
    FLAG(program, quiet, "Print no notes, no progress and no summary; errors and warnings stay."),
};

#define ROW(name) &command_##name,
const command *const commands[] = {EACH_COMMAND(ROW) NULL};
#undef ROW

/* ---- tables ---- */

const blica_option *option_table(const command *c, int g, int *count) {
  *count = g == COMMON ? (int)(sizeof common_table / sizeof *common_table) : 0;
  if (g == COMMON) return common_table;
  if (g == READING) return c->reads ? data_option_table(count) : NULL;
  return c->groups[g].table ? c->groups[g].table(count) : NULL;
}

/* Where the values of group g are. */
static void *group_values(program *p, char *values, int g) {
  if (g == READING) return &p->data;
  return g == COMMON || p->command->groups[g].offset == OF_PROGRAM ? (void *)p : values + p->command->groups[g].offset;
}

bool option_next(const command *c, option_walk *w) {
  for (; w->group < MAX_GROUPS; w->group++, w->next = 0) {
    int count;
    const blica_option *options = option_table(c, w->group, &count);
    if (w->next >= count) continue;
    w->option = &options[w->next++];
    return true;
  }
  return false;
}

bool list_next(const char **list, const char **word, int *length) {
  if (!*list || !**list) return false;
  *word = *list;
  *length = (int)strcspn(*list, "=|");
  *list += strcspn(*list, "|");
  if (**list) ++*list;
  return true;
}

bool list_has(const char *list, const char *name) {
  const char *word;
  int length;
  while (list_next(&list, &word, &length))
    if ((int)strlen(name) == length && strncmp(word, name, (size_t)length) == 0) return true;
  return false;
}

const char *flag_of(const blica_option *option, char flag[FLAG_TEXT]) {
  snprintf(flag, FLAG_TEXT, "--%s", option->name);
  for (char *c = flag; *c; c++)
    if (*c == '_') *c = '-';
  return flag;
}

/* Text at the end of what text holds already, cut to size. */
static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...) {
  const size_t at = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + at, size - at, format, args);
  va_end(args);
}

/* "Needs --method mle or auto.", or "Needs --checkpoint.": what it takes for the option to have an effect. */
static void append_needs(const blica_option *option, char *text, size_t size) {
  const char *list = strchr(option->needs, '='), *word;
  int length;
  char name[FLAG_TEXT - 4], flag[FLAG_TEXT];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(option->needs, "="), option->needs);
  append(text, size, " Needs %s", flag_of(&(blica_option){.name = name}, flag));
  if (list) list++;
  for (const char *before = " "; list_next(&list, &word, &length); before = strchr(list, '|') ? ", " : " or ")
    append(text, size, "%s%.*s", before, length, word);
  append(text, size, ".");
}

const char *meaning_of(const blica_option *option, bool values, char text[MEANING_TEXT]) {
  snprintf(text, MEANING_TEXT, "%s", option->help);
  if (values && option->type == BLICA_OPT_CHOICE) {
    const char *list = option->words, *word;
    int length;
    for (const char *before = " One of "; list_next(&list, &word, &length); before = ", ")
      append(text, MEANING_TEXT, "%s%.*s", before, length, word);
    append(text, MEANING_TEXT, ".");
  }
  if (option->needs) append_needs(option, text, MEANING_TEXT);
  if (values && option->type != BLICA_OPT_FLAG && option->initial && strcmp(option->initial, "default") != 0)
    append(text, MEANING_TEXT, " Default: %s.", option->initial);
  return text;
}

/* ---- suggestions ---- */

/* Levenshtein's distance, for words of a flag's length. */
static int edits(const char *a, const char *b) {
  enum { LONGEST = 63 };
  int row[LONGEST + 1], m = (int)strlen(b);
  if (m > LONGEST || strlen(a) > LONGEST) return LONGEST;
  for (int j = 0; j <= m; j++) row[j] = j;
  for (int i = 1; a[i - 1]; i++) {
    int corner = row[0];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      const int up = row[j], near = (up < row[j - 1] ? up : row[j - 1]) + 1, swapped = corner + (a[i - 1] != b[j - 1]);
      row[j] = near < swapped ? near : swapped;
      corner = up;
    }
  }
  return row[m];
}

const char *nearest(const char *text, const char *const *list, int count) {
  const char *best = NULL;
  int least = 4;
  size_t length = strlen(text);
  for (int i = 0; i < count; i++) {
    int d = strncmp(text, list[i], length) == 0 && length > 2 ? 1 : edits(text, list[i]);
    if (d < least && d < (int)strlen(list[i])) {
      least = d;
      best = list[i];
    }
  }
  return best;
}

/* ---- looking up ---- */

typedef struct {
  const blica_option *option;
  void *values;
  bool reading; /* says how the data are read */
} target;

enum { MAX_FLAGS = 128 };

/* All options of the command with the place of their values. */
static int all_targets(program *p, char *values, target *list) {
  int count = 0;
  for (option_walk w = {0}; count < MAX_FLAGS && option_next(p->command, &w); count++)
    list[count] = (target){w.option, group_values(p, values, w.group), w.group == READING};
  return count;
}

static int unknown_flag(const program *p, const char *flag, const target *list, int count) {
  char flags[MAX_FLAGS][FLAG_TEXT];
  const char *names[MAX_FLAGS];
  for (int i = 0; i < count; i++) names[i] = flag_of(list[i].option, flags[i]);
  const char *near = nearest(flag, names, count), *name = p->command->name;
  if (near)
    say_error("%s: unknown option %s; did you mean %s?", name, flag, near);
  else
    say_error("%s: unknown option %s; see blica %s --help", name, flag, name);
  return EXIT_USAGE;
}

static const target *find_flag(const target *list, int count, const char *flag, size_t length) {
  for (int i = 0; i < count; i++) {
    char name[FLAG_TEXT];
    if (strlen(flag_of(list[i].option, name)) == length && strncmp(name, flag, length) == 0) return &list[i];
  }
  return NULL;
}

/* ---- parsing ---- */

/* A number of sources below 1 is well written, but no data can have it: bad data, like one above n. */
static bool fits_no_data(const blica_option *option, const char *value) {
  char *end;
  return strcmp(option->name, "sources") == 0 && strtol(value, &end, 10) < 1 && end != value && !*end;
}

/* Keeps what was given: for the other processes, whose files may have other names and whose threads may be fewer; and
 * how the data are read, for commands that the program names. */
static void note_given(program *p, const target *t, const char *value) {
  char flag[FLAG_TEXT], word[WORD_TEXT];
  flag_of(t->option, flag);
  if (!list_has("out|checkpoint|segment_file|figures|threads|quiet", t->option->name))
    append(p->given, sizeof p->given, "%s %s\n", flag, value);
  if (!t->reading) return;
  shell_word(value, word);
  append(p->reading, sizeof p->reading, t->option->type == BLICA_OPT_FLAG ? " %s" : " %s %s", flag, word);
}

/* One flag at argv[*at]; *at moves past its value. */
static int parse_flag(program *p, int argc, char **argv, int *at, const target *list, int count, bool *seen) {
  const char *flag = argv[*at], *equals = strchr(flag, '=');
  size_t length = equals ? (size_t)(equals - flag) : strlen(flag);
  const target *t = find_flag(list, count, flag, length);
  if (!t) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), flag);
    return unknown_flag(p, name, list, count);
  }
  const char *value = equals ? equals + 1 : "yes";
  if (!equals && t->option->type != BLICA_OPT_FLAG) {
    if (++*at >= argc) {
      say_error("%s: %s needs a value: %s %s", p->command->name, flag, flag, t->option->metavar);
      return EXIT_USAGE;
    }
    value = argv[*at];
  }
  seen[t - list] = true;
  note_given(p, t, value);
  if (blica_option_set(p->ctx, t->option, t->values, value) != BLICA_OK) {
    say_error("%s: %s", p->command->name, blica_message(p->ctx));
    return fits_no_data(t->option, value) ? EXIT_DATA : EXIT_USAGE;
  }
  return 0;
}

int operands_of(const char *text, int *most) {
  int least = 0;
  bool optional = false;
  const bool any = strstr(text, "...") != NULL;
  for (*most = 0; *text; text += strcspn(text, " "), text += strspn(text, " "), ++*most) {
    optional = optional || *text == '[';
    least += !optional;
  }
  if (any) *most = INT_MAX;
  return least;
}

static int check_operands(const program *p) {
  const command *c = p->command;
  int most;
  if (p->operand_count < operands_of(c->operands, &most)) {
    char usage[256];
    usage_of(c, usage, sizeof usage);
    say_error("%s: %s missing; usage: blica %s", c->name, most == 1 ? "its argument is" : "arguments are", usage);
    return EXIT_USAGE;
  }
  if (p->operand_count > most) {
    say_error("%s: '%s' is one argument too many; see blica %s --help", c->name, p->operands[most], c->name);
    return EXIT_USAGE;
  }
  return 0;
}

static int check_required(const program *p, const target *list, int count, const bool *seen) {
  for (int i = 0; i < count; i++) {
    char flag[FLAG_TEXT];
    if (seen[i] || !list_has(p->command->required, list[i].option->name)) continue;
    say_error("%s: %s %s is missing", p->command->name, flag_of(list[i].option, flag), list[i].option->metavar);
    return EXIT_USAGE;
  }
  return 0;
}

/* Values that no other option can make good, and options that others leave without effect. */
static int check_values(program *p, char *values) {
  int count;
  for (int g = 0; g < MAX_GROUPS; g++) {
    const blica_option *options = option_table(p->command, g, &count);
    if (!options || blica_options_check(p->ctx, options, count, group_values(p, values, g)) == BLICA_OK) continue;
    say_error("%s: %s", p->command->name, blica_message(p->ctx));
    return EXIT_USAGE;
  }
  return 0;
}

int args_parse(program *p, int argc, char **argv, void *values, int *help) {
  target list[MAX_FLAGS];
  bool seen[MAX_FLAGS] = {false}, only_operands = false;
  int count = all_targets(p, values, list), code = 0;
  *help = 0;
  for (int g = 0; g < OWN_GROUPS; g++) {
    const option_group *own = &p->command->groups[g];
    if (own->size) memcpy(group_values(p, values, g), &own->size, sizeof own->size);
  }
  for (int i = 0; i < count; i++)
    if (list[i].option->initial)
      (void)blica_option_set(p->ctx, list[i].option, list[i].values, list[i].option->initial);
  for (int at = 0; at < argc && code == 0; at++) {
    const char *word = argv[at];
    if (only_operands || word[0] != '-' || !word[1]) {
      p->operands[p->operand_count++] = argv[at];
    } else if (strcmp(word, "--") == 0) {
      only_operands = true;
    } else if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
      *help = at + 1 < argc && strcmp(argv[at + 1], "all") == 0 ? 2 : 1;
      return 0;
    } else {
      code = parse_flag(p, argc, argv, &at, list, count, seen);
    }
  }
  if (code == 0) code = check_operands(p);
  if (code == 0) code = check_required(p, list, count, seen);
  if (code == 0) code = check_values(p, values);
  return code;
}

void *args_value(program *p, void *values, const char *name) {
  for (option_walk w = {0}; option_next(p->command, &w);)
    if (strcmp(w.option->name, name) == 0) return (char *)group_values(p, values, w.group) + w.option->offset;
  return NULL;
}
