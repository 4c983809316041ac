/* table_levels.c - columns coded with any two values, and segments by count: both are known only at
 * the end of the table. Rows that are kept are packed as they come and packed once more; where only counts are wanted,
 * the counts are flipped instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

bool table_same_level(const char *known, const char *text, size_t length) {
  double a, b;
  if (strlen(known) == length && memcmp(known, text, length) == 0) return true;
  return table_number(known, strlen(known), &a) && table_number(text, length, &b) && a == b;
}

blica_status table_level(table *t, int variable, const char *text, size_t length, char *message, int8_t *code) {
  column_levels *l = &t->levels[variable];
  char buffer[32];
  *code = BLICA_MISSING;
  if (length == 0 || table_listed_missing(t, text, length)) return BLICA_OK;
  if (!t->known && table_is_missing(text, length)) return BLICA_OK;
  if (l->given) return BLICA_OK;
  if (l->sample || l->cut)
    return table_is_missing(text, length) ? BLICA_OK : table_number_text(t, variable, text, length, message, code);
  for (int k = 0; k < l->count; k++)
    if (table_same_level(l->text[k], text, length)) {
      *code = t->collecting ? 0 : (int8_t)k;
      return BLICA_OK;
    }
  int column = t->column_of[variable];
  if (table_is_missing(text, length)) return BLICA_OK; /* unless it is a level: 'NA' may be one that was given */
  if (t->known) return table_unknown_level(t, variable, text, length, message);
  if (l->count == 2 && !t->collecting)
    return table_fail(message, BLICA_ERR_DATA,
                      "%s, row %lld, column %d (%s): '%.*s' is a third value after '%.40s' and '%.40s'; --levels any "
                      "allows two per column",
                      t->name, (long long)t->row + 1, column + 1, table_column_name(t, column, buffer),
                      (int)(length < 40 ? length : 40), text, l->text[0], l->text[1]);
  if (l->count > MOST_LEVELS)
    return table_fail(message, BLICA_ERR_DATA,
                      "%s, column %d (%s): it has more than %d values; if it is a number, say --numeric; if it is no "
                      "item, leave it out by --ignore, or carry it through by --id",
                      t->name, column + 1, table_column_name(t, column, buffer), MOST_LEVELS);
  *code = t->collecting ? 0 : (int8_t)l->count;
  return table_add_level(l, text, length) ? BLICA_OK : table_no_memory(message);
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

/* Whether the value seen first is to be 1. A column with one value is 1 only when that value is 1. */
static bool flipped(const column_levels *l) {
  double value;
  if (l->count == 2) return table_above(l->text[0], l->text[1]);
  return l->count == 1 && table_number(l->text[0], strlen(l->text[0]), &value) && value == 1;
}

static const char *level(const column_levels *l, int value) {
  int k = flipped(l) ? 1 - value : value;
  return k < l->count ? l->text[k] : "(none)";
}

static void note_levels(const table *t) {
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
    if (t->levels && flipped(&t->levels[i])) x[i] = (int8_t)(1 - x[i]);
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

/* The columns of bits have been read, and are columns of 0 and 1 now. */
static bool forget_known(table *t, int planes) {
  int8_t *x = realloc(t->x, (size_t)t->capacity * (size_t)planes);
  if (!x) return false;
  table_free_levels(t);
  t->x = x;
  t->n = planes;
  t->known = false;
  return true;
}

blica_status table_repack(table *t, const blica_data *data, char *message, blica_data **out) {
  *out = NULL;
  if (t->options.segment_count > data->rows) return table_too_few(t, data->rows, message);
  char **names = NULL;
  if (t->known && !forget_known(t, data->n)) return table_no_memory(message);
  if (t->levels) {
    note_levels(t);
    names = table_coded_names(t, message);
    if (!names) return BLICA_ERR_MEMORY;
  }
  blica_status status =
      blica_pack_begin(t->ctx, data->n, (const char *const *)(names ? names : data->variables), &t->packer);
  table_free_names(names, t->n);
  if (status != BLICA_OK) return table_library_failed(t, status, message);
  MUST(copy_rows(t, data, message));
  status = blica_pack_end(t->ctx, t->packer, out);
  t->packer = NULL;
  return status == BLICA_OK ? BLICA_OK : table_library_failed(t, status, message);
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

char **table_coded_names(table *t, char *message) {
  char **names = calloc((size_t)t->n + 1, sizeof *names), buffer[24];
  for (int i = 0; names && i < t->n; i++) {
    const column_levels *l = &t->levels[i];
    const char *low = level(l, 0), *high = level(l, 1);
    snprintf(buffer, sizeof buffer, "x%d", i + 1);
    const char *name = t->header ? t->header[t->column_of[i]] : buffer;
    bool plain = l->count < 2 || (strcmp(low, "0") == 0 && strcmp(high, "1") == 0) || strpbrk(low, "<[]") ||
                 strpbrk(high, "<[]");
    size_t size = strlen(name) + strlen(low) + strlen(high) + 8;
    names[i] = malloc(size);
    if (!names[i]) {
      table_free_names(names, t->n);
      names = NULL;
      break;
    }
    snprintf(names[i], size, plain ? "%s" : "%s[%s<%s]>=1", name, low, high);
  }
  if (!names) table_no_memory(message);
  return names;
}

blica_status table_flipped(table *t, char *message, uint8_t **out) {
  *out = calloc((size_t)t->n + 1, 1);
  if (!*out) return table_no_memory(message);
  note_levels(t);
  for (int i = 0; i < t->n; i++) (*out)[i] = flipped(&t->levels[i]);
  return BLICA_OK;
}
