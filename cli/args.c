/* args.c - parsing. Flags are --name VALUE or --name=VALUE; options without a value are flags. */
#include "args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const blica_option common_table[] = {
    OPTION(program, threads, BLICA_OPT_INT, "all", 1, 4096, "all=0", "T",
           "Threads to use. Results are bit-identical for any number of threads."),
    OPTION(program, quiet, BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "Print no notes, no progress and no summary; errors and warnings stay."),
};

const blica_option *option_table(const command *c, int g, int *count) {
  *count = g < MAX_GROUPS ? 0 : (int)(sizeof common_table / sizeof *common_table);
  if (g == MAX_GROUPS) return common_table;
  return c->groups[g].table ? c->groups[g].table(count) : NULL;
}

const char *flag_of(const blica_option *option, char flag[FLAG_TEXT]) {
  snprintf(flag, FLAG_TEXT, "--%s", option->name);
  for (char *c = flag; *c; c++)
    if (*c == '_') *c = '-';
  return flag;
}

void default_of(const blica_option *option, char *text, size_t size) {
  text[0] = 0;
  if (option->type != BLICA_OPT_FLAG && option->initial && strcmp(option->initial, "default") != 0)
    snprintf(text, size, "%s", option->initial);
}

int needs_of(const blica_option *option, char *text, size_t size) {
  const char *words = strchr(option->needs, '=');
  blica_option other = *option;
  char name[FLAG_TEXT - 4], flag[FLAG_TEXT];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(option->needs, "="), option->needs);
  other.name = name;
  int at = snprintf(text, size, " Needs %s", flag_of(&other, flag));
  for (const char *word = words ? words + 1 : NULL; word && (size_t)at < size;) {
    const char *next = strchr(word, '|');
    at += snprintf(text + at, size - (size_t)at, "%s%.*s",
                   word == words + 1 ? " "
                   : next            ? ", "
                                     : " or ",
                   (int)strcspn(word, "|"), word);
    word = next ? next + 1 : NULL;
  }
  if ((size_t)at < size) at += snprintf(text + at, size - (size_t)at, ".");
  return at;
}

const char *words_of(const blica_option *option, char *text, size_t size) {
  size_t at = 0;
  for (const char *c = option->words; *c && at + 1 < size; c += *c == '=' ? strcspn(c, "|") : 1)
    if (*c != '=') text[at++] = *c;
  text[at] = 0;
  return text;
}

/* ---- suggestions ---- */

static int smallest(int a, int b, int c) {
  int m = a < b ? a : b;
  return m < c ? m : c;
}

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
      int up = row[j];
      row[j] = smallest(up + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1]));
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
} target;

enum { MAX_FLAGS = 128 };

/* All options of the command with the place of their values. */
static int all_targets(program *p, char *values, target *list) {
  int count = 0, size;
  for (int g = 0; g <= MAX_GROUPS; g++) {
    const blica_option *table = option_table(p->command, g, &size);
    void *place = g < MAX_GROUPS ? (void *)(values + p->command->groups[g].offset) : (void *)p;
    for (int i = 0; i < size && count < MAX_FLAGS; i++) list[count++] = (target){&table[i], place};
  }
  return count;
}

static int unknown_flag(const program *p, const char *flag, const target *list, int count) {
  char flags[MAX_FLAGS][FLAG_TEXT];
  const char *names[MAX_FLAGS];
  for (int i = 0; i < count; i++) names[i] = flag_of(list[i].option, flags[i]);
  const char *near = nearest(flag, names, count);
  if (near)
    say_error("%s: unknown option %s; did you mean %s?", p->command->name, flag, near);
  else
    say_error("%s: unknown option %s; see blica %s --help", p->command->name, flag, p->command->name);
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

/* One flag at argv[*at]; *at moves past its value. */
/* A number of sources below 1 is well written, but no data can have it: bad data, like one above n. */
static bool fits_no_data(const blica_option *option, const char *value) {
  char *end;
  return strcmp(option->name, "sources") == 0 && strtol(value, &end, 10) < 1 && end != value && !*end;
}

/* Files may have other names on other hosts, and threads be fewer there. */
static void note_given(program *p, const blica_option *option, const char *value) {
  static const char *const own[] = {"out", "checkpoint", "segment_file", "figures", "threads", "quiet"};
  size_t at = strlen(p->given);
  bool differs = false;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) differs = differs || strcmp(own[i], option->name) == 0;
  char flag[FLAG_TEXT];
  if (!differs) snprintf(p->given + at, sizeof p->given - at, "%s %s\n", flag_of(option, flag), value);
}

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
  note_given(p, t->option, value);
  if (blica_option_set(p->ctx, t->option, t->values, value) != BLICA_OK) {
    say_error("%s: %s", p->command->name, blica_message(p->ctx));
    return fits_no_data(t->option, value) ? EXIT_DATA : EXIT_USAGE;
  }
  return 0;
}

static int check_operands(const program *p) {
  const command *c = p->command;
  if (p->operand_count < c->least) {
    char usage[256];
    usage_of(c, usage, sizeof usage);
    say_error("%s: %s missing; usage: blica %s", c->name, c->most == 1 ? "its argument is" : "arguments are", usage);
    return EXIT_USAGE;
  }
  if (c->most >= 0 && p->operand_count > c->most) {
    say_error("%s: '%s' is one argument too many; see blica %s --help", c->name, p->operands[c->most], c->name);
    return EXIT_USAGE;
  }
  return 0;
}

static int check_required(const program *p, const target *list, int count, const bool *seen) {
  for (const char *word = p->command->required; word;) {
    size_t length = strcspn(word, "|");
    for (int i = 0; i < count; i++) {
      const blica_option *option = list[i].option;
      if (seen[i] || strlen(option->name) != length || strncmp(option->name, word, length) != 0) continue;
      char flag[FLAG_TEXT];
      say_error("%s: %s %s is missing", p->command->name, flag_of(option, flag), option->metavar);
      return EXIT_USAGE;
    }
    word = word[length] ? word + length + 1 : NULL;
  }
  return 0;
}

/* Values that no other option can make good, and options that others leave without effect. */
static int check_values(program *p, char *values) {
  int count;
  for (int g = 0; g < MAX_GROUPS; g++) {
    const blica_option *table = option_table(p->command, g, &count);
    if (!table || blica_options_check(p->ctx, table, count, values + p->command->groups[g].offset) == BLICA_OK)
      continue;
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
