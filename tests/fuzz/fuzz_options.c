/* fuzz_options.c - every option of every command set from any text, and whole command lines parsed. The first byte
 * chooses the command, the second the option (or, when 255, the rest is a command line, its words ended by newlines).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "fuzz.h"

enum { WORDS = 32, TEXT = 1024 };

/* Whether text is a word, or the number of the word `none`. */
static bool in_words(const blica_option *o, const char *text) {
  size_t length = strlen(text);
  const char *none = o->words ? strstr(o->words, "none=") : NULL;
  char *end;
  const double number = strtod(text, &end);
  if (none && length > 0 && !*end && number == strtod(none + strlen("none="), NULL)) return true;
  for (const char *word = o->words; word; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL)
    if (strcspn(word, "=|") == length && strncmp(word, text, length) == 0) return true;
  return false;
}

static void check_value(const blica_option *o, const void *values, const char *text) {
  const char *field = (const char *)values + o->offset;
  double real = 0;
  int64_t wide = 0;
  int narrow = 0, range[2];
  switch (o->type) {
  case BLICA_OPT_REAL:
    memcpy(&real, field, sizeof real);
    CHECK(!isnan(real) && ((real >= o->low && real <= o->high) || in_words(o, text)));
    break;
  case BLICA_OPT_INT:
    if (o->size == sizeof wide)
      memcpy(&wide, field, sizeof wide);
    else
      memcpy(&narrow, field, sizeof narrow), wide = narrow;
    CHECK(((double)wide >= o->low && (double)wide <= o->high) || in_words(o, text));
    break;
  case BLICA_OPT_FLAG:
    memcpy(&narrow, field, sizeof narrow);
    CHECK(narrow == 0 || narrow == 1);
    break;
  case BLICA_OPT_CHOICE:
    CHECK(in_words(o, text));
    break;
  case BLICA_OPT_RANGE:
    memcpy(range, field, sizeof range);
    CHECK(range[0] >= o->low && range[0] <= range[1] && range[1] <= o->high);
    break;
  case BLICA_OPT_TEXT:
  case BLICA_OPT_SEED:
    break;
  }
}

static void set_one(const command *c, int which, const char *text) {
  program p = {.ctx = fuzz_ctx(), .command = c};
  void *values = calloc(1, c->values + 1);
  CHECK(values);
  for (option_walk w = {0}; option_next(c, &w); which--) {
    if (which > 0) continue;
    char *place = (char *)args_value(&p, values, w.option->name) - w.option->offset;
    if (blica_option_set(p.ctx, w.option, place, text) == BLICA_OK)
      check_value(w.option, place, text);
    else
      CHECK(blica_message(p.ctx)[0]);
    break;
  }
  free(values);
}

static void parse_line(const command *c, char *text) {
  char *words[WORDS + 1] = {NULL}, *operands[WORDS + 1] = {NULL};
  int count = 0;
  for (char *word = strtok(text, "\n"); word && count < WORDS; word = strtok(NULL, "\n")) words[count++] = word;
  program p = {.ctx = fuzz_ctx(), .command = c, .operands = operands};
  void *values = calloc(1, c->values + 1);
  CHECK(values);
  int help;
  int code = args_parse(&p, count, words, values, &help);
  CHECK(code == 0 || code == EXIT_USAGE || code == EXIT_DATA);
  CHECK(p.operand_count >= 0 && p.operand_count <= count);
  int most;
  const int least = operands_of(c->operands, &most);
  CHECK(code != 0 || help || (p.operand_count >= least && p.operand_count <= most));
  free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  char text[TEXT];
  int all = 0;
  while (commands[all]) all++;
  const command *c = commands[fuzz_byte(&b) % all];
  uint8_t which = fuzz_byte(&b);
  size_t length = b.left < TEXT - 1 ? b.left : TEXT - 1;
  if (length) memcpy(text, b.at, length);
  text[length] = 0;
  if (which == 255)
    parse_line(c, text);
  else
    set_one(c, which, text);
  return 0;
}
