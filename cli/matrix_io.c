/* matrix_io.c - small tables of numbers, as R, pandas and spreadsheets write them. */
#include "data_args.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

typedef struct {
  size_t first; /* of its fields among all */
  int count;
  int64_t line; /* in the file, from 1 */
} row;

typedef struct {
  bl_records records; /* its buffer holds the whole file, and what fields point to */
  bl_record_field *fields;
  size_t field_count, field_capacity;
  row *rows;
  size_t row_count, row_capacity;
} text_table;

static void table_free(text_table *t) {
  free(t->fields);
  free(t->rows);
  records_close(&t->records);
}

#define REFUSE(code, ...)                                                                                              \
  do {                                                                                                                 \
    snprintf(message, SOURCE_MESSAGE, __VA_ARGS__);                                                                    \
    return code;                                                                                                       \
  } while (0)

/* Makes place for `need` items of this size, with NULL where memory is out. */
static void *grown(void *list, size_t need, size_t *capacity, size_t size) {
  if (need <= *capacity) return list;
  while (*capacity < need) *capacity = *capacity ? 2 * *capacity : 256;
  void *more = realloc(list, *capacity * size);
  if (!more) free(list);
  return more;
}

/* The whole file, plain or compressed, from a pipe too, with a zero byte behind it. */
static blica_status read_all(const char *path, bl_records *r, char *message) {
  size_t got = 1;
  MUST(records_open(path, message, r));
  for (; got > 0; r->have += got) {
    r->buffer = grown(r->buffer, r->have + (1 << 17), &r->capacity, 1);
    if (!r->buffer) REFUSE(BLICA_ERR_MEMORY, "out of memory while reading '%s'", path);
    MUST(byte_source_read(r->source, r->buffer + r->have, r->capacity - r->have - 1, message, &got));
  }
  r->buffer[r->have] = 0;
  r->ended = true;
  return BLICA_OK;
}

static blica_status split_lines(const char *path, text_table *t, char *message) {
  bl_records *r = &t->records;
  for (;;) {
    bool more;
    size_t length;
    MUST(bl_records_peek(r, message, &more, &length));
    if (!more) return BLICA_OK;
    if (t->row_count == 0) bl_records_guess_separator(r, length);
    MUST(bl_records_split(r, length, message));
    const size_t count = (size_t)r->field_count;
    t->fields = grown(t->fields, t->field_count + count, &t->field_capacity, sizeof *t->fields);
    t->rows = grown(t->rows, t->row_count + 1, &t->row_capacity, sizeof *t->rows);
    if (!t->fields || !t->rows) REFUSE(BLICA_ERR_MEMORY, "out of memory while reading '%s'", path);
    memcpy(t->fields + t->field_count, r->fields, count * sizeof *t->fields);
    t->rows[t->row_count++] = (row){t->field_count, r->field_count, r->record_line};
    t->field_count += count;
  }
}

static bool number_of(const bl_record_field *f, double *value) {
  char *end;
  *value = bl_strtod(f->text, &end);
  return end != f->text && *end == 0;
}

/* Whether the first row has text, or nothing above the names of the rows. */
static bool has_header(const text_table *t) {
  double value;
  for (int j = 0; j < t->rows[0].count; j++)
    if (!number_of(&t->fields[j], &value)) return true;
  return t->row_count > 1 && t->rows[1].count == t->rows[0].count + 1;
}

/* Row names: the header has nothing above them, or they are not numbers. */
static bool has_names(const text_table *t, size_t first) {
  double value;
  if (first == 1 && (t->fields[0].length == 0 || t->rows[1].count == t->rows[0].count + 1)) return true;
  for (size_t i = first; i < t->row_count; i++)
    if (number_of(&t->fields[t->rows[i].first], &value)) return false;
  return true;
}

static blica_status to_matrix(const char *path, const text_table *t, matrix *out, char *message) {
  if (t->row_count == 0) REFUSE(BLICA_ERR_FORMAT, "'%s' is empty", path);
  const size_t first = has_header(t) ? 1 : 0;
  if (first == t->row_count) REFUSE(BLICA_ERR_FORMAT, "'%s' has a header but no rows of numbers", path);
  const row *rows = t->rows + first;
  const int skip = has_names(t, first) ? 1 : 0, n = (int)(t->row_count - first), k = rows[0].count - skip;
  if (k < 1) REFUSE(BLICA_ERR_FORMAT, "'%s', line %lld: no numbers", path, (long long)rows[0].line);
  for (int i = 1; i < n; i++) /* before memory is taken for n rows of k */
    if (rows[i].count != k + skip)
      REFUSE(BLICA_ERR_FORMAT, "'%s', line %lld: %d fields, but %d in line %lld", path, (long long)rows[i].line,
             rows[i].count, k + skip, (long long)rows[0].line);
  *out = (matrix){n, k, malloc((size_t)n * (size_t)k * sizeof *out->x)};
  if (!out->x) REFUSE(BLICA_ERR_MEMORY, "out of memory: a matrix of %d rows and %d columns", n, k);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < k; j++) {
      const bl_record_field *f = &t->fields[rows[i].first + (size_t)(j + skip)];
      double *x = &out->x[i + (size_t)j * (size_t)n];
      if (!number_of(f, x) || !isfinite(*x))
        REFUSE(BLICA_ERR_FORMAT, "'%s', line %lld, field %d: '%.*s' is not a finite number", path,
               (long long)rows[i].line, j + skip + 1, (int)(f->length < 60 ? f->length : 60), f->text);
    }
  return BLICA_OK;
}

static blica_status from_model(blica_ctx *ctx, const char *path, const bl_records *r, matrix *out, char *message) {
  blica_model *model;
  blica_status status = blica_model_parse(ctx, r->buffer, r->have, path, &model);
  if (status != BLICA_OK) REFUSE(status, "%s", blica_message(ctx));
  const size_t bytes = (size_t)model->n * (size_t)model->k * sizeof *out->x;
  *out = (matrix){model->n, model->k, malloc(bytes)};
  if (out->x) memcpy(out->x, model->mixing, bytes);
  blica_model_free(model);
  if (!out->x) REFUSE(BLICA_ERR_MEMORY, "out of memory while reading '%s'", path);
  return BLICA_OK;
}

blica_status matrix_read(blica_ctx *ctx, const char *path, matrix *out, char message[SOURCE_MESSAGE]) {
  text_table t = {0};
  *out = (matrix){0};
  blica_status status = read_all(path, &t.records, message);
  if (status == BLICA_OK && t.records.buffer[strspn(t.records.buffer, " \t\r\n")] == '{') {
    status = from_model(ctx, path, &t.records, out, message);
  } else if (status == BLICA_OK) {
    status = split_lines(path, &t, message);
    if (status == BLICA_OK) status = to_matrix(path, &t, out, message);
  }
  table_free(&t);
  if (status != BLICA_OK) {
    free(out->x);
    out->x = NULL;
  }
  return status;
}
