/* table_levels.c - columns coded with any two values, and segments by count: both are known only at
 * the end of the table. Rows that are kept are packed as they come and packed once more; where only counts are wanted,
 * the counts are turned over instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static bool same_level(const char *known, const char *text, size_t length) {
  double a, b;
  if (strlen(known) == length && memcmp(known, text, length) == 0) return true;
  return table_number(known, strlen(known), &a) && table_number(text, length, &b) && a == b;
}

blica_status table_level(table *t, int variable, const char *text, size_t length, char *message, int8_t *code) {
  column_levels *l = &t->levels[variable];
  char buffer[32];
  *code = BLICA_MISSING;
  if (table_is_missing(text, length)) return BLICA_OK;
  for (int k = 0; k < l->count; k++)
    if (same_level(l->text[k], text, length)) {
      *code = (int8_t)k;
      return BLICA_OK;
    }
  int column = t->column_of[variable];
  if (l->count == 2)
    return table_fail(message, BLICA_ERR_DATA,
                      "%s, row %lld, column %d (%s): '%.*s' is a third value after '%.40s' and '%.40s'; "
                      "--levels allows two per column",
                      t->name, (long long)t->row + 1, column + 1, table_column_name(t, column, buffer),
                      (int)(length < 40 ? length : 40), text, l->text[0], l->text[1]);
  l->text[l->count] = malloc(length + 1);
  if (!l->text[l->count]) return table_no_memory(message);
  memcpy(l->text[l->count], text, length);
  l->text[l->count][length] = 0;
  *code = (int8_t)l->count++;
  return BLICA_OK;
}

/* Numbers by size, text by its bytes. */
static bool above(const char *a, const char *b) {
  double x, y;
  if (table_number(a, strlen(a), &x) && table_number(b, strlen(b), &y)) return x > y;
  return strcmp(a, b) > 0;
}

/* Whether the value seen first is to be 1. A column with one value is 1 only when that value is 1. */
static bool turned(const column_levels *l) {
  double value;
  if (l->count == 2) return above(l->text[0], l->text[1]);
  return l->count == 1 && table_number(l->text[0], strlen(l->text[0]), &value) && value == 1;
}

static const char *level(const column_levels *l, int value) {
  int k = turned(l) ? 1 - value : value;
  return k < l->count ? l->text[k] : "(none)";
}

static void tell_levels(const table *t) {
  char buffer[32];
  bool alike = true;
  for (int i = 1; i < t->n; i++)
    alike = alike && strcmp(level(&t->levels[i], 0), level(&t->levels[0], 0)) == 0 &&
            strcmp(level(&t->levels[i], 1), level(&t->levels[0], 1)) == 0;
  if (alike) {
    table_note(t, "levels of all %d columns: '%.40s' is 0, '%.40s' is 1", t->n, level(&t->levels[0], 0),
               level(&t->levels[0], 1));
    return;
  }
  for (int i = 0; i < t->n && i < 20; i++)
    table_note(t, "levels of column %d (%s): '%.40s' is 0, '%.40s' is 1", t->column_of[i] + 1,
               table_column_name(t, t->column_of[i], buffer), level(&t->levels[i], 0), level(&t->levels[i], 1));
  if (t->n > 20) table_note(t, "levels of %d more columns: the lower value is 0", t->n - 20);
}

/* Row `at` of segment s of data into x. */
static void unpack_row(const table *t, const blica_data *data, int s, int64_t at, int8_t *x) {
  size_t words = (size_t)data->words[s], word = (size_t)(at / 64);
  int bit = (int)(at % 64);
  const uint64_t *ones = data->ones[s], *present = data->present[s];
  for (size_t i = 0; i < (size_t)data->n; i++) {
    x[i] = (int8_t)(ones[i * words + word] >> bit & 1);
    if (t->levels && turned(&t->levels[i])) x[i] = (int8_t)(1 - x[i]);
    if (present && !(present[i * words + word] >> bit & 1)) x[i] = BLICA_MISSING;
  }
}

static blica_status copy_rows(table *t, const blica_data *data, char *message) {
  int64_t u = t->options.segment_count, *seen = calloc((size_t)data->u, sizeof *seen);
  blica_status status = seen ? BLICA_OK : table_no_memory(message);
  for (int64_t r = 0; r < data->rows && status == BLICA_OK; r++) {
    int s = data->row_segment[r];
    char label[32];
    unpack_row(t, data, s, seen[s]++, t->x + t->filled * t->n);
    if (u) snprintf(label, sizeof label, "%lld", (long long)((__int128)r * u / data->rows) + 1);
    status = blica_pack_segment(t->ctx, t->packer, u ? label : data->segments[s], &t->segment[t->filled]);
    if (status != BLICA_OK)
      table_library_failed(t, status, message);
    else if (++t->filled == t->capacity)
      status = table_flush(t, message);
  }
  free(seen);
  return status == BLICA_OK ? table_flush(t, message) : status;
}

blica_status table_too_few(const table *t, int64_t rows, char *message) {
  return table_fail(message, BLICA_ERR_DATA, "%s: has %lld rows, too few for --segment-count %lld", t->name,
                    (long long)rows, (long long)t->options.segment_count);
}

blica_status table_repack(table *t, const blica_data *data, char *message, blica_data **out) {
  *out = NULL;
  if (t->options.segment_count > data->rows) return table_too_few(t, data->rows, message);
  if (t->levels) tell_levels(t);
  blica_status status = blica_pack_begin(t->ctx, data->n, (const char *const *)data->variables, &t->packer);
  if (status != BLICA_OK) return table_library_failed(t, status, message);
  status = copy_rows(t, data, message);
  if (status != BLICA_OK) return status;
  status = blica_pack_end(t->ctx, t->packer, out);
  t->packer = NULL;
  return status == BLICA_OK ? BLICA_OK : table_library_failed(t, status, message);
}

blica_status table_turned(table *t, char *message, uint8_t **out) {
  *out = calloc((size_t)t->n + 1, 1);
  if (!*out) return table_no_memory(message);
  tell_levels(t);
  for (int i = 0; i < t->n; i++) (*out)[i] = turned(&t->levels[i]);
  return BLICA_OK;
}
