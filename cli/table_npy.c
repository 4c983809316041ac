/* table_npy.c - rows out of a .npy array [rows, columns]. Row-major arrays are streamed; column-major
 * ones are read whole. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static blica_status cut_off(const table *t, char *message) {
  return table_fail(message, BLICA_ERR_FORMAT, "%s: is cut off: its header says %zu rows of %zu columns", t->name,
                    t->array.shape[0], t->array.shape[1]);
}

/* Exactly size bytes, those already in the buffer first. */
static blica_status read_exactly(table *t, char *to, size_t size, char *message) {
  bl_records *r = &t->text;
  while (size > 0) {
    size_t got = r->have - r->at;
    if (got > size) got = size;
    if (got > 0) {
      memcpy(to, r->buffer + r->at, got);
      r->at += got;
    } else {
      MUST(byte_source_read(r->source, to, size, message, &got));
      if (got == 0) return cut_off(t, message);
    }
    to += got;
    size -= got;
  }
  return BLICA_OK;
}

/* What a header declares is believed only once the bytes of a first row are there: memory for the columns follows. */
static blica_status await_row(table *t, char *message) {
  const bl_records *r = &t->text;
  while (r->have - r->at < t->array.shape[1] * t->array.size) {
    if (r->ended) return cut_off(t, message);
    MUST(bl_records_more(&t->text, message));
  }
  return BLICA_OK;
}

blica_status table_begin_npy(table *t, char *message) {
  bl_records *r = &t->text;
  bl_npy *a = &t->array;
  const char *reason = bl_npy_parse(r->buffer + r->at, r->have - r->at, a);
  if (reason) return table_fail(message, BLICA_ERR_FORMAT, "%s: %s", t->name, reason);
  if (a->kind == 'U' || a->kind == 'S')
    return table_fail(message, BLICA_ERR_DATA, "%s: holds text; save numbers 0 and 1 (int8, bool or float with NaN)",
                      t->name);
  if (a->ndim != 2)
    return table_fail(message, BLICA_ERR_DATA, "%s: has %d dimension%s; a table of rows and columns has 2", t->name,
                      a->ndim, a->ndim == 1 ? "" : "s");
  if (a->shape[1] > 1 << 30) return table_fail(message, BLICA_ERR_DATA, "%s: has %zu columns", t->name, a->shape[1]);
  if (a->shape[0] == 0) return table_fail(message, BLICA_ERR_DATA, "%s: has no rows", t->name);
  r->at += a->offset;
  t->columns = (int)a->shape[1];
  t->total = (int64_t)a->shape[0];
  return await_row(t, message);
}

/* All elements; the buffer grows with what is really there, a wrong shape cannot ask for memory. */
static blica_status read_whole(table *t, char *message) {
  size_t total = t->array.count * t->array.size, have = 0, capacity = 0;
  while (have < total) {
    size_t step = have < (1 << 20) ? 1 << 20 : have;
    if (step > total - have) step = total - have;
    if (have + step > capacity) {
      capacity = have + step;
      char *whole = realloc(t->whole, capacity);
      if (!whole) return table_no_memory(message);
      t->whole = whole;
    }
    MUST(read_exactly(t, t->whole + have, step, message));
    have += step;
  }
  return BLICA_OK;
}

static blica_status take_row(table *t, const char *first, size_t stride, char *message) {
  int8_t *x = t->x + t->filled * t->n;
  bl_record_field carried[ROLES] = {{"", 0}};
  char texts[ROLES][40];
  for (int k = 0, i = 0; k < t->columns; k++) {
    double value = bl_npy_number(&t->array, first + (size_t)k * stride);
    char text[40];
    const column_role role = t->role[k];
    if (role != ROLE_VALUE) {
      const size_t length = (size_t)snprintf(texts[role], sizeof texts[role], "%.17g", value);
      if (!table_take_replicate(t, k, texts[role], length)) carried[role] = (bl_record_field){texts[role], length};
      continue;
    }
    x[i] = (int8_t)(isnan(value) ? BLICA_MISSING : value != 0);
    if (t->levels || t->options.missing || !(isnan(value) || value == 0 || value == 1)) {
      const bool number = t->levels && (t->levels[i].sample || t->levels[i].cut);
      snprintf(text, sizeof text, number ? "%.17g" : "%.15g", value);
      blica_status status = BLICA_OK;
      if (table_listed_missing(t, text, strlen(text)))
        x[i] = BLICA_MISSING;
      else if (t->levels || !(isnan(value) || value == 0 || value == 1))
        status = t->levels ? table_level(t, i, text, strlen(text), message, &x[i])
                           : table_bad_value(t, i, text, strlen(text), message);
      if (status != BLICA_OK) return status;
    }
    i++;
  }
  return table_finish_row(t, carried, message);
}

blica_status table_read_npy(table *t, int64_t max_rows, char *message) {
  const bl_npy *a = &t->array;
  size_t rows = a->shape[0], width = a->shape[1] * a->size;
  int64_t stop = t->row + max_rows;
  blica_status status = BLICA_OK;
  char *line = NULL;
  if (a->fortran && !t->whole) status = read_whole(t, message);
  if (!a->fortran) line = malloc(width + 1);
  if (!a->fortran && !line) return table_no_memory(message);
  while (status == BLICA_OK && t->row < stop && (size_t)t->row < rows) {
    if (line) status = read_exactly(t, line, width, message);
    if (status != BLICA_OK) break;
    status = line ? take_row(t, line, a->size, message)
                  : take_row(t, t->whole + (size_t)t->row * a->size, rows * a->size, message);
  }
  t->ended = (size_t)t->row == rows;
  free(line);
  return status;
}
