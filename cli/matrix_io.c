/* matrix_io.c - small tables of numbers, as R, pandas and spreadsheets write them. */
#include "matrix_io.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "records.h"

typedef struct {
  char **cells; /* [count] texts that end in a zero byte, all in cells[0] */
  int count;
  int64_t line; /* in the file, from 1 */
} row;

typedef struct {
  records records; /* its buffer holds the whole file */
  row *rows;
  int count, capacity;
} table;

static void row_free(row *r) {
  if (r->cells) free(r->cells[0]);
  free(r->cells);
}

static void table_free(table *t) {
  for (int i = 0; i < t->count; i++) row_free(&t->rows[i]);
  free(t->rows);
  records_close(&t->records);
}

static blica_status no_memory(const char *path, char *message) {
  snprintf(message, SOURCE_MESSAGE, "out of memory while reading '%s'", path);
  return BLICA_ERR_MEMORY;
}

/* The whole file, plain or compressed, from a pipe too, with a zero byte behind it. */
static blica_status read_all(const char *path, records *r, char *message) {
  size_t got = 1;
  blica_status status = byte_source_open(path, message, &r->source);
  for (; status == BLICA_OK && got > 0; r->have += got) {
    if (!r->buffer || r->have + 1 >= r->capacity) {
      size_t capacity = r->capacity ? 2 * r->capacity : 1 << 17;
      char *more = realloc(r->buffer, capacity);
      if (!more) return no_memory(path, message);
      r->buffer = more;
      r->capacity = capacity;
    }
    status = byte_source_read(r->source, r->buffer + r->have, r->capacity - r->have - 1, message, &got);
  }
  if (status == BLICA_OK) r->buffer[r->have] = 0;
  r->ended = true;
  return status;
}

static bool copy_row(const records *r, row *out) {
  size_t bytes = 1;
  *out = (row){.line = r->record_line};
  for (int j = 0; j < r->field_count; j++) bytes += r->fields[j].length + 1;
  char *text = malloc(bytes);
  out->cells = malloc(((size_t)r->field_count + 1) * sizeof *out->cells);
  if (!text || !out->cells) {
    free(text);
    free(out->cells);
    out->cells = NULL;
    return false;
  }
  out->cells[0] = text;
  for (; out->count < r->field_count; out->count++) {
    const field *f = &r->fields[out->count];
    out->cells[out->count] = text;
    if (f->length) memcpy(text, f->text, f->length);
    text[f->length] = 0;
    text += f->length + 1;
  }
  return true;
}

static blica_status split_lines(const char *path, table *t, char *message) {
  bool more = true;
  size_t length;
  for (;;) {
    blica_status status = records_peek(&t->records, message, &more, &length);
    if (status != BLICA_OK || !more) return status;
    if (t->count == 0) records_guess_separator(&t->records, length);
    MUST(records_split(&t->records, length, message));
    if (t->count == t->capacity) {
      if (t->capacity > INT_MAX / 2) return no_memory(path, message);
      int capacity = t->capacity ? 2 * t->capacity : 64;
      row *rows = realloc(t->rows, (size_t)capacity * sizeof *rows);
      if (!rows) return no_memory(path, message);
      t->rows = rows;
      t->capacity = capacity;
    }
    if (!copy_row(&t->records, &t->rows[t->count])) return no_memory(path, message);
    t->count++;
  }
}

static bool number_of(const char *cell, double *value) {
  char *end;
  *value = bl_strtod(cell, &end);
  return end != cell && *end == 0;
}

static bool has_header(const table *t) {
  double value;
  for (int j = 0; j < t->rows[0].count; j++)
    if (!number_of(t->rows[0].cells[j], &value)) return true;
  return t->count > 1 && t->rows[1].count == t->rows[0].count + 1;
}

/* Row names: the header has nothing above them, or they are not numbers. */
static bool has_names(const table *t, int first) {
  double value;
  if (first == 1 && (t->rows[0].cells[0][0] == 0 || t->rows[1].count == t->rows[0].count + 1)) return true;
  for (int i = first; i < t->count; i++)
    if (number_of(t->rows[i].cells[0], &value)) return false;
  return true;
}

#define REFUSE(code, ...)                                                                                              \
  do {                                                                                                                 \
    snprintf(message, size, __VA_ARGS__);                                                                              \
    return code;                                                                                                       \
  } while (0)

static blica_status to_matrix(const char *path, const table *t, matrix *out, char *message, size_t size) {
  if (t->count == 0) REFUSE(BLICA_ERR_FORMAT, "'%s' is empty", path);
  int first = has_header(t) ? 1 : 0;
  if (first == t->count) REFUSE(BLICA_ERR_FORMAT, "'%s' has a header but no rows of numbers", path);
  int skip = has_names(t, first) ? 1 : 0;
  int n = t->count - first, k = t->rows[first].count - skip;
  if (k < 1) REFUSE(BLICA_ERR_FORMAT, "'%s', line %lld: no numbers", path, (long long)t->rows[first].line);
  for (int i = 1; i < n; i++) { /* before memory is taken for n rows of k */
    const row *r = &t->rows[first + i];
    if (r->count != k + skip)
      REFUSE(BLICA_ERR_FORMAT, "'%s', line %lld: %d fields, but %d in line %lld", path, (long long)r->line, r->count,
             k + skip, (long long)t->rows[first].line);
  }
  out->x = malloc((size_t)n * (size_t)k * sizeof *out->x);
  if (!out->x) REFUSE(BLICA_ERR_MEMORY, "out of memory: a matrix of %d rows and %d columns", n, k);
  out->n = n;
  out->k = k;
  for (int i = 0; i < n; i++) {
    const row *r = &t->rows[first + i];
    for (int j = 0; j < k; j++) {
      double *x = &out->x[i + (size_t)j * (size_t)n];
      if (!number_of(r->cells[j + skip], x) || !isfinite(*x))
        REFUSE(BLICA_ERR_FORMAT, "'%s', line %lld, field %d: '%.60s' is not a finite number", path, (long long)r->line,
               j + skip + 1, r->cells[j + skip]);
    }
  }
  return BLICA_OK;
}

static blica_status from_model(blica_ctx *ctx, const char *path, const table *t, matrix *out, char *message,
                               size_t size) {
  blica_model *model;
  blica_status status = blica_model_parse(ctx, t->records.buffer, t->records.have, path, &model);
  if (status != BLICA_OK) REFUSE(status, "%s", blica_message(ctx));
  size_t bytes = (size_t)model->n * (size_t)model->k * sizeof *out->x;
  out->n = model->n;
  out->k = model->k;
  out->x = malloc(bytes);
  if (out->x) memcpy(out->x, model->mixing, bytes);
  blica_model_free(model);
  if (!out->x) REFUSE(BLICA_ERR_MEMORY, "out of memory");
  return BLICA_OK;
}

blica_status matrix_read(blica_ctx *ctx, const char *path, matrix *out, char *message, size_t size) {
  table t = {0};
  char reason[SOURCE_MESSAGE] = "";
  *out = (matrix){0};
  blica_status status = read_all(path, &t.records, reason);
  const bool model = status == BLICA_OK && t.records.buffer[strspn(t.records.buffer, " \t\r\n")] == '{';
  if (status == BLICA_OK && !model) status = split_lines(path, &t, reason);
  if (status != BLICA_OK)
    snprintf(message, size, "%s", reason);
  else if (model)
    status = from_model(ctx, path, &t, out, message, size);
  else
    status = to_matrix(path, &t, out, message, size);
  table_free(&t);
  if (status != BLICA_OK) {
    free(out->x);
    out->x = NULL;
  }
  return status;
}
