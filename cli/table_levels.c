/* table_levels.c - levels of columns, and which of them a value is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

bool table_same_level(const char *known, const char *text, size_t length) {
  double a, b;
  if (strlen(known) == length && memcmp(known, text, length) == 0) return true;
  return table_number(known, strlen(known), &a) && table_number(text, length, &b) && a == b;
}

blica_status table_level(table *t, int variable, const char *text, size_t length, int8_t *code) {
  column_levels *l = &t->levels[variable];
  *code = BLICA_MISSING;
  if (length == 0 || table_listed_missing(t, text, length)) return BLICA_OK;
  if (t->options.collect && table_is_missing(text, length)) return BLICA_OK;
  if (l->given) return BLICA_OK;
  if (l->sample || l->cut)
    return table_is_missing(text, length) ? BLICA_OK : table_number_text(t, variable, text, length, code);
  for (int k = 0; k < l->count; k++)
    if (table_same_level(l->text[k], text, length)) {
      *code = t->options.collect ? 0 : (int8_t)k;
      return BLICA_OK;
    }
  if (table_is_missing(text, length)) return BLICA_OK; /* unless it is a level: 'NA' may be one that was given */
  if (!t->options.collect) return table_unknown_level(t, variable, text, length);
  if (l->count > MOST_LEVELS)
    return table_fail_column(t, t->column_of[variable],
                             "it has more than %d values; if it is a number, say --numeric; if it is no item, leave it "
                             "out by --ignore, or carry it through by --id",
                             MOST_LEVELS);
  *code = 0;
  return table_add_level(l, text, length) ? BLICA_OK : table_no_memory(t);
}

bool table_add_level(column_levels *l, const char *text, size_t length) {
  char **grown = realloc(l->text, ((size_t)l->count + 1) * sizeof *grown), *copy = strndup(text, length);
  if (grown) l->text = grown;
  if (!grown || !copy) {
    free(copy);
    return false;
  }
  l->text[l->count++] = copy;
  return true;
}

/* Numbers by size, text by its bytes. */
bool table_above(const char *a, const char *b) {
  double x, y;
  if (table_number(a, strlen(a), &x) && table_number(b, strlen(b), &y)) return x > y;
  return strcmp(a, b) > 0;
}

void table_free_levels(table *t) {
  for (int i = 0; t->levels && i < t->n; i++) {
    table_free_names(t->levels[i].text, t->levels[i].count);
    table_free_sample(t->levels[i].sample);
    free(t->levels[i].cut);
  }
  free(t->levels);
  t->levels = NULL;
}

void table_free_names(char **names, int count) {
  for (int i = 0; names && i < count; i++) free(names[i]);
  free(names);
}
