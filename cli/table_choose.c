/* table_choose.c - which columns are items (--columns, --ignore), and which values mean missing (--missing). */
#include <stdlib.h>
#include <string.h>

#include "table.h"

int table_column(const table *t, const char *text, size_t length) {
  double index;
  const int named = t->header ? table_place(t->header, t->columns, text, length) : -1;
  if (named >= 0) return named;
  if (!table_number(text, length, &index) || index < 1 || index > t->columns || index != (double)(int)index) return -1;
  return (int)index - 1;
}

static blica_status unknown(const table *t, const char *option, const char *text, size_t length) {
  char list[600];
  if (!t->header)
    return table_fail(t, BLICA_ERR_DATA, "--%s %.*s: the file has no header; give the index of the column (1 to %d)%s",
                      option, (int)length, text, t->columns, strcmp(option, "segment-column") == 0 ? " or last" : "");
  table_list_columns(t, list, sizeof list);
  return table_fail(t, BLICA_ERR_DATA, "--%s %.*s: no such column; there are %s", option, (int)length, text, list);
}

blica_status table_find_column(const table *t, const char *option, const char *text, size_t length, int *column) {
  *column = table_column(t, text, length);
  return *column < 0 ? unknown(t, option, text, length) : BLICA_OK;
}

/* One entry of a list: a column, or first:last. A name may have a colon of its own. */
static blica_status mark(const table *t, const char *option, const char *entry, size_t length, bool *chosen) {
  int first = table_column(t, entry, length), last = first;
  const char *colon = first < 0 ? memchr(entry, ':', length) : NULL;
  if (colon) {
    first = table_column(t, entry, (size_t)(colon - entry));
    last = table_column(t, colon + 1, length - (size_t)(colon + 1 - entry));
  }
  if (first < 0 || last < first) return unknown(t, option, entry, length);
  for (int k = first; k <= last; k++) chosen[k] = true;
  return BLICA_OK;
}

blica_status table_mark_columns(const table *t, const char *option, const char *list, bool *chosen) {
  blica_status status = BLICA_OK;
  memset(chosen, 0, (size_t)t->columns * sizeof *chosen);
  for (const char *at = list; status == BLICA_OK && *at; at += *at == ',') {
    size_t length = strcspn(at, ",");
    status = mark(t, option, at, length, chosen);
    at += length;
  }
  return status;
}

blica_status table_choose_columns(table *t) {
  const table_options *o = &t->options;
  if (!o->columns && !o->ignore) return BLICA_OK;
  OWNED bool *chosen = malloc((size_t)t->columns + 1);
  if (!chosen) return table_no_memory(t);
  if (o->columns) MUST(table_mark_columns(t, "columns", o->columns, chosen));
  for (int k = 0; o->columns && k < t->columns; k++) {
    if (chosen[k] && t->role[k] >= ROLE_WEIGHT)
      return table_fail(t, BLICA_ERR_ARGUMENT,
                        "--columns names column %d as an item, which holds weights, frequencies, clusters or strata; "
                        "leave it out of the list",
                        k + 1);
    if (!chosen[k] && t->role[k] == ROLE_VALUE) t->role[k] = ROLE_SKIP;
  }
  if (o->ignore) MUST(table_mark_columns(t, "ignore", o->ignore, chosen));
  for (int k = 0; o->ignore && k < t->columns; k++) {
    if (chosen[k] && t->role[k] == ROLE_SEGMENT)
      return table_fail(t, BLICA_ERR_ARGUMENT,
                        "--ignore names column %d, which holds the segments; leave it out of the list", k + 1);
    if (chosen[k] && t->role[k] < ROLE_WEIGHT) t->role[k] = ROLE_SKIP;
  }
  return BLICA_OK;
}

bool table_listed_missing(const table *t, const char *text, size_t length) {
  char entry[64];
  for (const char *at = t->options.missing; at && *at; at += *at == ',') {
    size_t size = strcspn(at, ",");
    if (size < sizeof entry) {
      memcpy(entry, at, size);
      entry[size] = 0;
      if (table_same_level(entry, text, length)) return true;
    }
    at += size;
  }
  return false;
}
