/* option.c - sets an option from text, by its row in a table, and checks a struct of options by all rows. */
#include "base/option.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* ---- words: "default=0|none=inf" and "a|b|c" ---- */

/* The word of the list that text spells: *value is what follows its '=' (or NULL), true when found. */
static bool find_word(const char *words, const char *text, const char **value) {
  size_t length = strlen(text);
  for (const char *word = words; word && length; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL) {
    size_t size = strcspn(word, "=|");
    if (size != length || strncmp(word, text, length) != 0) continue;
    *value = word[size] == '=' ? word + size + 1 : NULL;
    return true;
  }
  return false;
}

/* The word at an index of the list that gives no values, or NULL. */
static const char *word_at(const char *words, int index) {
  for (; words && index > 0; index--) words = strchr(words, '|') ? strchr(words, '|') + 1 : NULL;
  return index == 0 ? words : NULL;
}

/* "from 1 to 10, none or auto" */
static void describe(const blica_option *option, char *text, size_t size) {
  size_t at = 0;
  if (option->type == BLICA_OPT_RANGE) {
    at = (size_t)snprintf(text, size, "a range LOW:HIGH of whole numbers from %.15g to %.15g", option->low,
                          option->high);
  } else if (option->type != BLICA_OPT_TEXT && option->type != BLICA_OPT_CHOICE) {
    const char *kind = option->type == BLICA_OPT_REAL ? "a number" : "a whole number";
    if (option->type == BLICA_OPT_SEED)
      at = (size_t)snprintf(text, size, "a whole number from 0 to 18446744073709551615");
    else if (isinf(option->high))
      at = (size_t)snprintf(text, size, "%s from %.15g up", kind, option->low);
    else
      at = (size_t)snprintf(text, size, "%s from %.15g to %.15g", kind, option->low, option->high);
  }
  for (const char *word = option->words; word && at < size;) {
    size_t length = strcspn(word, "=|");
    const char *next = strchr(word, '|');
    const char *before = at == 0 ? "" : next ? ", " : " or ";
    at += (size_t)snprintf(text + at, size - at, "%s%.*s", before, (int)length, word);
    word = next ? next + 1 : NULL;
  }
}

static blica_status refuse(blica_ctx *ctx, const blica_option *option, const char *text) {
  char wanted[512];
  describe(option, wanted, sizeof wanted);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s: '%.200s' is not allowed; give %s", option->name, text, wanted);
}

/* ---- one function per type ---- */

static bool parse_real(const char *text, double *value) {
  char *end;
  if (!*text || strchr(" \t\n", *text)) return false;
  *value = bl_strtod(text, &end);
  return *end == 0 && !isnan(*value);
}

static blica_status set_real(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  double value;
  const char *word;
  if (find_word(option->words, text, &word)) {
    value = bl_strtod(word, NULL);
  } else if (!parse_real(text, &value) || value < option->low || value > option->high) {
    return refuse(ctx, option, text);
  }
  memcpy(field, &value, sizeof value);
  return BLICA_OK;
}

/* Whether the word none of the list spells the value, which is then accepted as a number, too. */
static bool is_none(const char *words, double value) {
  const char *word;
  return find_word(words, "none", &word) && word && bl_strtod(word, NULL) == value;
}

static blica_status set_int(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  char *end;
  const char *word = NULL;
  bool special = find_word(option->words, text, &word) && word; /* its value may lie outside the range */
  if (special) text = word;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || (*end != 0 && !(special && *end == '|')) || errno || strchr(" \t\n", *text))
    return refuse(ctx, option, text);
  special = special || is_none(option->words, (double)value);
  if (!special && ((double)value < option->low || (double)value > option->high)) return refuse(ctx, option, text);
  if (option->size == sizeof(int64_t)) {
    int64_t wide = value;
    memcpy(field, &wide, sizeof wide);
  } else {
    int narrow = (int)value;
    memcpy(field, &narrow, sizeof narrow);
  }
  return BLICA_OK;
}

static blica_status set_seed(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  if (!*text || strspn(text, "0123456789") != strlen(text)) return refuse(ctx, option, text);
  errno = 0;
  uint64_t seed = strtoull(text, NULL, 10);
  if (errno) return refuse(ctx, option, text);
  memcpy(field, &seed, sizeof seed);
  return BLICA_OK;
}

static blica_status set_flag(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  const char *word;
  int value;
  if (find_word("yes|true|1", text, &word))
    value = 1;
  else if (find_word("no|false|0", text, &word))
    value = 0;
  else
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s: '%.200s' is not allowed; give yes or no", option->name, text);
  memcpy(field, &value, sizeof value);
  return BLICA_OK;
}

/* A word stands for the number after its '=', or else for its place in the list. */
static blica_status set_choice(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  const char *number;
  int value = 0;
  if (!find_word(option->words, text, &number)) return refuse(ctx, option, text);
  if (number) {
    value = (int)strtol(number, NULL, 10);
  } else {
    const size_t length = strlen(text);
    for (const char *word = option->words; strcspn(word, "|") != length || strncmp(word, text, length) != 0; value++)
      word = strchr(word, '|') + 1;
  }
  memcpy(field, &value, sizeof value);
  return BLICA_OK;
}

/* LOW:HIGH, or one number for both. */
static blica_status set_range(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  char *end;
  const bool digits = strspn(text, "0123456789:") == strlen(text);
  const long low = strtol(text, &end, 10), high = *end == ':' && end[1] ? strtol(end + 1, &end, 10) : low;
  if (!digits || end == text || *end || (double)low < option->low || (double)high > option->high || high < low)
    return refuse(ctx, option, text);
  memcpy(field, (int[2]){(int)low, (int)high}, 2 * sizeof(int));
  return BLICA_OK;
}

blica_status blica_option_set(blica_ctx *ctx, const blica_option *option, void *options, const char *text) {
  if (ctx) BL_NEED(ctx, option, options, text); /* defaults are set without a context */
  if (!option || !options || !text) return BLICA_ERR_ARGUMENT;
  char *field = (char *)options + option->offset;
  switch (option->type) {
  case BLICA_OPT_INT:
    return set_int(ctx, option, field, text);
  case BLICA_OPT_REAL:
    return set_real(ctx, option, field, text);
  case BLICA_OPT_TEXT:
    memcpy(field, &text, sizeof text);
    return BLICA_OK;
  case BLICA_OPT_FLAG:
    return set_flag(ctx, option, field, text);
  case BLICA_OPT_SEED:
    return set_seed(ctx, option, field, text);
  case BLICA_OPT_CHOICE:
    return set_choice(ctx, option, field, text);
  case BLICA_OPT_RANGE:
    return set_range(ctx, option, field, text);
  }
  return bl_fail(ctx, BLICA_ERR_INTERNAL, "option %s: its type %d is not known", option->name, (int)option->type);
}

/* The tables are constant and their defaults valid (a test sets each), so no context is needed: the
 * setters touch it only to refuse. */
void bl_options_default(const blica_option *table, int count, void *options, size_t size) {
  if (!options || size < sizeof size) return;
  memset(options, 0, size);
  memcpy(options, &size, sizeof size);
  for (int i = 0; i < count; i++)
    if (table[i].initial && table[i].offset + table[i].size <= size)
      (void)blica_option_set(NULL, &table[i], options, table[i].initial);
}

/* ---- back to text ---- */

/* The word that stands for the value, or false. */
static bool word_of(const char *words, double value, char *text, size_t size) {
  for (const char *word = words; word; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL) {
    size_t length = strcspn(word, "=|");
    if (word[length] != '=' || bl_strtod(word + length + 1, NULL) != value) continue;
    snprintf(text, size, "%.*s", (int)length, word);
    return true;
  }
  return false;
}

void bl_option_spell(const blica_option *option, const void *options, char *text, size_t size) {
  const char *field = (const char *)options + option->offset;
  int64_t wide = 0;
  int narrow = 0;
  uint64_t seed = 0;
  int range[2];
  double real = 0;
  const char *borrowed;
  char number[BL_NUMBER_TEXT];
  switch (option->type) {
  case BLICA_OPT_INT:
    if (option->size == sizeof wide)
      memcpy(&wide, field, sizeof wide);
    else
      memcpy(&narrow, field, sizeof narrow), wide = narrow;
    if (!word_of(option->words, (double)wide, text, size)) snprintf(text, size, "%lld", (long long)wide);
    break;
  case BLICA_OPT_REAL:
    memcpy(&real, field, sizeof real);
    bl_number_text(real, number);
    if (!word_of(option->words, real, text, size)) snprintf(text, size, "%s", number);
    break;
  case BLICA_OPT_TEXT:
    memcpy(&borrowed, field, sizeof borrowed), snprintf(text, size, "%s", borrowed ? borrowed : "");
    break;
  case BLICA_OPT_FLAG:
    memcpy(&narrow, field, sizeof narrow), snprintf(text, size, "%s", narrow ? "yes" : "no");
    break;
  case BLICA_OPT_SEED:
    memcpy(&seed, field, sizeof seed), snprintf(text, size, "%llu", (unsigned long long)seed);
    break;
  case BLICA_OPT_CHOICE:
    memcpy(&narrow, field, sizeof narrow);
    if (word_of(option->words, narrow, text, size)) break;
    borrowed = strchr(option->words, '=') ? NULL : word_at(option->words, narrow);
    if (borrowed)
      snprintf(text, size, "%.*s", (int)strcspn(borrowed, "|"), borrowed);
    else
      snprintf(text, size, "%d", narrow);
    break;
  case BLICA_OPT_RANGE:
    memcpy(range, field, sizeof range), snprintf(text, size, "%d:%d", range[0], range[1]);
    break;
  }
}

/* ---- the whole struct ---- */

enum { LONGEST_FIELD = 64 };

/* Whether the value of an option that has a default is that default. */
static bool is_default(const blica_option *option, const void *options) {
  blica_option alone = *option;
  char initial[LONGEST_FIELD] = {0}, now[128], before[128];
  alone.offset = 0;
  (void)blica_option_set(NULL, &alone, initial, option->initial);
  bl_option_spell(option, options, now, sizeof now);
  bl_option_spell(&alone, initial, before, sizeof before);
  return strcmp(now, before) == 0;
}

/* Whether text without words, which borrows what it was set to, was given. */
static bool is_given(const blica_option *option, const void *options) {
  const char *text;
  memcpy(&text, (const char *)options + option->offset, sizeof text);
  return text != NULL;
}

/* The option of the table that this one needs; NULL: none. *words is what its value must be one of, NULL: anything. */
static const blica_option *needed(const blica_option *option, const blica_option *table, int count,
                                  const char **words) {
  if (!option->needs) return NULL;
  const size_t length = strcspn(option->needs, "=");
  *words = option->needs[length] ? option->needs + length + 1 : NULL;
  for (int i = 0; i < count; i++)
    if (strlen(table[i].name) == length && strncmp(table[i].name, option->needs, length) == 0) return &table[i];
  return NULL;
}

bool bl_option_works(const blica_option *option, const blica_option *table, int count, const void *options) {
  const char *words = NULL, *word;
  char now[128];
  const blica_option *other = needed(option, table, count, &words);
  if (!other) return true;
  if (!words) return is_given(other, options);
  bl_option_spell(other, options, now, sizeof now);
  return find_word(words, now, &word);
}

static blica_status check_works(blica_ctx *ctx, const blica_option *option, const blica_option *table, int count,
                                const void *options) {
  const char *words = NULL;
  char now[128], value[128], wanted[256];
  const blica_option *other = needed(option, table, count, &words);
  if (bl_option_works(option, table, count, options)) return BLICA_OK;
  bl_option_spell(option, options, value, sizeof value);
  if (!words)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s is %s, which has no effect without the option %s; give both",
                   option->name, value, other->name);
  const blica_option list = {.type = BLICA_OPT_CHOICE, .words = words};
  bl_option_spell(other, options, now, sizeof now);
  describe(&list, wanted, sizeof wanted);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s is %s, which has no effect with %s %s; it needs %s %s",
                 option->name, value, other->name, now, other->name, wanted);
}

blica_status blica_options_check(blica_ctx *ctx, const blica_option *table, int count, const void *options) {
  BL_NEED(ctx, table, options);
  for (int i = 0; i < count; i++) {
    char text[128], copy[LONGEST_FIELD] = {0};
    blica_option alone = table[i];
    if (!table[i].initial || table[i].size > sizeof copy) continue;
    if (table[i].type == BLICA_OPT_TEXT) continue; /* any text will do */
    bl_option_spell(&table[i], options, text, sizeof text);
    alone.offset = 0;
    MUST(blica_option_set(ctx, &alone, copy, text));
  }
  for (int i = 0; i < count; i++)
    if (table[i].initial && !is_default(&table[i], options)) MUST(check_works(ctx, &table[i], table, count, options));
  return BLICA_OK;
}

blica_status bl_options_take(blica_ctx *ctx, const char *type, const blica_option *(*table)(int *), const void *given,
                             void *own, size_t size) {
  size_t known = 0;
  int count;
  const blica_option *rows = table(&count);
  bl_options_default(rows, count, own, size);
  if (!given) return BLICA_OK;
  memcpy(&known, given, sizeof known);
  if (known < sizeof known || known > size)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%s have the size %zu, this library's have %zu: make them by %s_default()",
                   type, known, size, type);
  memcpy(own, given, known);
  memcpy(own, &size, sizeof size);
  return blica_options_check(ctx, rows, count, own);
}

bool bl_option_decides(const char *name) {
  static const char *const others[] = {"max_seconds", "checkpoint", "checkpoint_seconds", "resume"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(name, others[i]) == 0) return false;
  return true;
}
