/* option.c - sets an option from text, by its row in a table, and checks a struct of options by all rows. */
#include "base/option.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* ---- words: "default=0|none=inf" and "a|b|c" ---- */

static const char *words_of(const blica_option *option) {
  return option->type == BLICA_OPT_FLAG ? "yes=1|no=0|true=1|false=0|1=1|0=0" : option->words;
}

static const char *next_word(const char *word) {
  word = strchr(word, '|');
  return word ? word + 1 : NULL;
}

/* The number after the '=' of the word, else its place in the list. */
static double word_value(const char *word, int place) {
  word += strcspn(word, "=|");
  return *word == '=' ? bl_strtod(word + 1, NULL) : place;
}

/* Sets value to that of the word; false when the list does not have the word. */
static bool find_word(const char *words, const char *text, double *value) {
  const size_t length = strlen(text);
  int place = 0;
  for (const char *word = words; word && length > 0; word = next_word(word), place++) {
    if (strcspn(word, "=|") != length || strncmp(word, text, length) != 0) continue;
    *value = word_value(word, place);
    return true;
  }
  return false;
}

/* The first word with that value, or NULL. */
static const char *word_of(const char *words, double value) {
  int place = 0;
  for (; words && word_value(words, place) != value; place++) words = next_word(words);
  return words;
}

/* Whether text or words alone are its values. */
static bool is_word(const blica_option *option) {
  return option->type == BLICA_OPT_TEXT || option->type == BLICA_OPT_CHOICE || option->type == BLICA_OPT_FLAG;
}

/* "from 1 to 10, none or auto" */
static void describe(const blica_option *option, char *text, size_t size) {
  size_t at = 0;
  if (option->type == BLICA_OPT_RANGE) {
    at = (size_t)snprintf(text, size, "a range LOW:HIGH of whole numbers from %.15g to %.15g", option->low,
                          option->high);
  } else if (!is_word(option)) {
    const char *kind = option->type == BLICA_OPT_REAL ? "a number" : "a whole number";
    if (option->type == BLICA_OPT_SEED)
      at = (size_t)snprintf(text, size, "a whole number from 0 to 18446744073709551615");
    else if (isinf(option->high))
      at = (size_t)snprintf(text, size, "%s from %.15g up", kind, option->low);
    else
      at = (size_t)snprintf(text, size, "%s from %.15g to %.15g", kind, option->low, option->high);
  }
  const char *words = option->type == BLICA_OPT_FLAG ? "yes|no" : option->words;
  for (const char *word = words; word && at < size; word = next_word(word))
    at += (size_t)snprintf(text + at, size - at, "%s%.*s",
                           at == 0           ? ""
                           : next_word(word) ? ", "
                                             : " or ",
                           (int)strcspn(word, "=|"), word);
}

static blica_status refuse(blica_ctx *ctx, const blica_option *option, const char *text) {
  char wanted[512];
  describe(option, wanted, sizeof wanted);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s: '%.200s' is not allowed; give %s", option->name, text, wanted);
}

/* ---- from text ---- */

static void store_whole(const blica_option *option, char *field, int64_t whole) {
  const int narrow = (int)whole;
  memcpy(field, option->size == sizeof whole ? (const void *)&whole : &narrow, option->size);
}

static int64_t load_whole(const blica_option *option, const char *field) {
  int64_t whole;
  int narrow;
  if (option->size == sizeof whole) return memcpy(&whole, field, sizeof whole), whole;
  return memcpy(&narrow, field, sizeof narrow), narrow;
}

/* All of the text as a number; false when it is none. */
static bool parse_number(const blica_option *option, const char *text, double *value) {
  char *end;
  if (!*text || strchr(" \t\n", *text)) return false;
  errno = 0;
  if (option->type == BLICA_OPT_INT) return *value = (double)strtoll(text, &end, 10), *end == 0 && !errno;
  return *value = bl_strtod(text, &end), *end == 0 && !isnan(*value);
}

/* Takes a word, whose value may lie outside the range, or a number within the range. The value of the word `none` may
 * be given as a number, too. */
static blica_status set_number(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  double value, none;
  if (!find_word(words_of(option), text, &value)) {
    if (is_word(option) || !parse_number(option, text, &value)) return refuse(ctx, option, text);
    const bool is_none = find_word(option->words, "none", &none) && none == value;
    if (!is_none && (value < option->low || value > option->high)) return refuse(ctx, option, text);
  }
  if (option->type == BLICA_OPT_REAL)
    memcpy(field, &value, sizeof value);
  else
    store_whole(option, field, (int64_t)value);
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
  case BLICA_OPT_TEXT:
    memcpy(field, &text, sizeof text);
    return BLICA_OK;
  case BLICA_OPT_SEED:
    return set_seed(ctx, option, field, text);
  case BLICA_OPT_RANGE:
    return set_range(ctx, option, field, text);
  case BLICA_OPT_INT:
  case BLICA_OPT_REAL:
  case BLICA_OPT_FLAG:
  case BLICA_OPT_CHOICE:
    return set_number(ctx, option, field, text);
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

void bl_option_spell(const blica_option *option, const void *options, char *text, size_t size) {
  const char *field = (const char *)options + option->offset, *borrowed;
  char number[BL_NUMBER_TEXT];
  uint64_t seed;
  int range[2];
  double value = 0;
  switch (option->type) {
  case BLICA_OPT_TEXT:
    memcpy(&borrowed, field, sizeof borrowed), snprintf(text, size, "%s", borrowed ? borrowed : "");
    return;
  case BLICA_OPT_SEED:
    memcpy(&seed, field, sizeof seed), snprintf(text, size, "%llu", (unsigned long long)seed);
    return;
  case BLICA_OPT_RANGE:
    memcpy(range, field, sizeof range), snprintf(text, size, "%d:%d", range[0], range[1]);
    return;
  case BLICA_OPT_REAL:
    memcpy(&value, field, sizeof value), bl_number_text(value, number);
    break;
  case BLICA_OPT_INT:
  case BLICA_OPT_FLAG:
  case BLICA_OPT_CHOICE:
    value = (double)load_whole(option, field), snprintf(number, sizeof number, "%.0f", value);
  }
  const char *word = word_of(words_of(option), value);
  snprintf(text, size, "%.*s", word ? (int)strcspn(word, "=|") : BL_NUMBER_TEXT, word ? word : number);
}

/* ---- the whole struct ---- */

enum { SPELLED = 128 };

/* Sets the option alone, and spells what it then is: as text, two values can be compared. */
static blica_status spell_again(blica_ctx *ctx, const blica_option *option, const char *text, char out[SPELLED]) {
  blica_option alone = *option;
  char field[16] = {0}; /* as large as the largest type */
  alone.offset = 0;
  MUST(blica_option_set(ctx, &alone, field, text));
  bl_option_spell(&alone, field, out, SPELLED);
  return BLICA_OK;
}

/* The option of the table that this one needs; NULL: none. *words is what its value must be one of, NULL: anything. */
static const blica_option *needed(const blica_option *option, const blica_option *table, int count,
                                  const char **words) {
  *words = NULL;
  if (!option->needs) return NULL;
  const size_t length = strcspn(option->needs, "=");
  if (option->needs[length]) *words = option->needs + length + 1;
  for (int i = 0; i < count; i++)
    if (strlen(table[i].name) == length && strncmp(table[i].name, option->needs, length) == 0) return &table[i];
  return NULL;
}

bool bl_option_works(const blica_option *option, const blica_option *table, int count, const void *options) {
  const char *words;
  char now[SPELLED];
  double place;
  const blica_option *other = needed(option, table, count, &words);
  if (!other) return true;
  bl_option_spell(other, options, now, sizeof now);
  return words ? find_word(words, now, &place) : now[0] && strcmp(now, "0") != 0; /* 0 and "": not given */
}

static blica_status refuse_idle(blica_ctx *ctx, const blica_option *option, const char *value,
                                const blica_option *table, int count, const void *options) {
  const char *words;
  char now[SPELLED], wanted[256];
  const blica_option *other = needed(option, table, count, &words);
  if (!words)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s is %s, which has no effect without the option %s; give both",
                   option->name, value, other->name);
  describe(&(blica_option){.type = BLICA_OPT_CHOICE, .words = words}, wanted, sizeof wanted);
  bl_option_spell(other, options, now, sizeof now);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s is %s, which has no effect with %s %s; it needs %s %s",
                 option->name, value, other->name, now, other->name, wanted);
}

blica_status blica_options_check(blica_ctx *ctx, const blica_option *table, int count, const void *options) {
  BL_NEED(ctx, table, options);
  for (const blica_option *o = table; o < table + count; o++) {
    char now[SPELLED], usual[SPELLED];
    if (!o->initial) continue;
    bl_option_spell(o, options, now, sizeof now);
    MUST(spell_again(ctx, o, now, usual)); /* the same again, or refused */
    MUST(spell_again(ctx, o, o->initial, usual));
    if (strcmp(now, usual) != 0 && !bl_option_works(o, table, count, options))
      return refuse_idle(ctx, o, now, table, count, options);
  }
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
