/* matrix_io.c - small tables of numbers, as R, pandas and spreadsheets write them. */
#include "matrix_io.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "byte_source.h"

typedef struct {
  char **cells; /* point into the text */
  int count, room;
  int line; /* in the file, from 1 */
} row;

typedef struct {
  char *text;
  row *rows;
  int count, room;
} table;

static void table_free(table *t) {
  for (int i = 0; i < t->count; i++) free(t->rows[i].cells);
  free(t->rows);
  free(t->text);
}

/* The whole file, plain or compressed, from a pipe too. */
static blica_status read_all(const char *path, char **text, size_t *length, char *message) {
  byte_source *source;
  size_t room = 1 << 16, got = 1;
  *length = 0;
  *text = NULL;
  blica_status status = byte_source_open(path, message, &source);
  if (status != BLICA_OK) return status;
  for (char *more; status == BLICA_OK && got > 0; *length += got) {
    if (!*text || *length + 1 >= room) {
      more = realloc(*text, room *= 2);
      if (!more) {
        snprintf(message, SOURCE_MESSAGE, "out of memory while reading '%s'", path);
        status = BLICA_ERR_MEMORY;
        break;
      }
      *text = more;
    }
    status = byte_source_read(source, *text + *length, room - *length - 1, message, &got);
  }
  byte_source_close(source);
  if (status == BLICA_OK) (*text)[*length] = 0;
  return status;
}

static bool add_cell(row *r, char *cell) {
  if (r->count == r->room) {
    if (r->room > INT_MAX / 2) return false;
    int room = r->room ? 2 * r->room : 16;
    char **more = realloc(r->cells, (size_t)room * sizeof *more);
    if (!more) return false;
    r->cells = more;
    r->room = room;
  }
  r->cells[r->count++] = cell;
  return true;
}

/* Blanks and quotes around a cell do not count. */
static char *trim(char *cell) {
  size_t length = strlen(cell);
  while (length && strchr(" \t\r\"'", cell[length - 1])) cell[--length] = 0;
  return cell + strspn(cell, " \t\"'");
}

static bool split(char *line, char separator, row *r) {
  if (separator == ' ') {
    for (char *cell = strtok(line, " \t\r"); cell; cell = strtok(NULL, " \t\r"))
      if (!add_cell(r, trim(cell))) return false;
    return true;
  }
  for (char *cell = line; cell;) {
    char *end = strchr(cell, separator);
    if (end) *end = 0;
    if (!add_cell(r, trim(cell))) return false;
    cell = end ? end + 1 : NULL;
  }
  return true;
}

static bool add_row(table *t, char *line, char separator, int number) {
  if (t->count == t->room) {
    if (t->room > INT_MAX / 2) return false;
    int room = t->room ? 2 * t->room : 64;
    row *more = realloc(t->rows, (size_t)room * sizeof *more);
    if (!more) return false;
    t->rows = more;
    t->room = room;
  }
  t->rows[t->count] = (row){.line = number};
  return split(line, separator, &t->rows[t->count++]);
}

static bool split_lines(table *t) {
  char separator = strchr(t->text, ',') ? ',' : strchr(t->text, ';') ? ';' : strchr(t->text, '\t') ? '\t' : ' ';
  int number = 0;
  for (char *line = t->text; line;) {
    char *end = strchr(line, '\n');
    if (end) *end = 0;
    number++;
    if (line[strspn(line, " \t\r")] && !add_row(t, line, separator, number)) return false;
    line = end ? end + 1 : NULL;
  }
  return true;
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
  if (k < 1) REFUSE(BLICA_ERR_FORMAT, "'%s', line %d: no numbers", path, t->rows[first].line);
  for (int i = 1; i < n; i++) { /* before memory is taken for n rows of k */
    const row *r = &t->rows[first + i];
    if (r->count != k + skip)
      REFUSE(BLICA_ERR_FORMAT, "'%s', line %d: %d fields, but %d in line %d", path, r->line, r->count, k + skip,
             t->rows[first].line);
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
        REFUSE(BLICA_ERR_FORMAT, "'%s', line %d, field %d: '%.60s' is not a finite number", path, r->line, j + skip + 1,
               r->cells[j + skip]);
    }
  }
  return BLICA_OK;
}

static blica_status from_model(blica_ctx *ctx, const char *path, const table *t, size_t length, matrix *out,
                               char *message, size_t size) {
  blica_model *model;
  blica_status status = blica_model_parse(ctx, t->text, length, path, &model);
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
  size_t length;
  char reason[SOURCE_MESSAGE];
  *out = (matrix){0};
  blica_status status = read_all(path, &t.text, &length, reason);
  if (status != BLICA_OK) {
    snprintf(message, size, "%s", reason);
  } else if (t.text[strspn(t.text, " \t\r\n")] == '{') {
    status = from_model(ctx, path, &t, length, out, message, size);
  } else if (memchr(t.text, 0, length)) {
    snprintf(message, size, "'%s' is not text (it has zero bytes)", path);
    status = BLICA_ERR_FORMAT;
  } else if (!split_lines(&t)) {
    snprintf(message, size, "out of memory while reading '%s'", path);
    status = BLICA_ERR_MEMORY;
  } else {
    status = to_matrix(path, &t, out, message, size);
  }
  table_free(&t);
  if (status != BLICA_OK) {
    free(out->x);
    out->x = NULL;
  }
  return status;
}
