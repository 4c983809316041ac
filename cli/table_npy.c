/* table_npy.c - rows out of a .npy array [rows, columns]. Row-major arrays are streamed; column-major
 * ones are read whole. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static blica_status cut_off(const table *t) {
  return table_fail(t, BLICA_ERR_FORMAT, "is cut off: its header says %zu rows of %zu columns", t->array.shape[0],
                    t->array.shape[1]);
}

/* Exactly size bytes, those already in the buffer first. */
static blica_status read_exactly(table *t, char *to, size_t size) {
  bl_records *r = &t->text;
  while (size > 0) {
    size_t got = r->have - r->at;
    if (got > size) got = size;
    if (got > 0) {
      memcpy(to, r->buffer + r->at, got);
      r->at += got;
    } else {
      MUST(byte_source_read(r->source, to, size, t->message, &got));
      if (got == 0) return cut_off(t);
    }
    to += got;
    size -= got;
  }
  return BLICA_OK;
}

/* What a header declares is believed only once the bytes of a first row are there: memory for the columns follows. */
static blica_status await_row(table *t) {
  const bl_records *r = &t->text;
  while (r->have - r->at < t->array.shape[1] * t->array.size) {
    if (r->ended) return cut_off(t);
    MUST(bl_records_more(&t->text, t->message));
  }
  return BLICA_OK;
}

blica_status table_begin_npy(table *t) {
  bl_records *r = &t->text;
  bl_npy *a = &t->array;
  const char *reason = bl_npy_parse(r->buffer + r->at, r->have - r->at, a);
  if (reason) return table_fail(t, BLICA_ERR_FORMAT, "%s", reason);
  if (a->kind == 'U' || a->kind == 'S')
    return table_fail(t, BLICA_ERR_DATA, "holds text; save numbers 0 and 1 (int8, bool or float with NaN)");
  if (a->ndim != 2)
    return table_fail(t, BLICA_ERR_DATA, "has %d dimension%s; a table of rows and columns has 2", a->ndim,
                      a->ndim == 1 ? "" : "s");
  if (a->shape[1] > 1 << 30) return table_fail(t, BLICA_ERR_DATA, "has %zu columns", a->shape[1]);
  if (a->shape[0] == 0) return table_fail(t, BLICA_ERR_DATA, "has no rows");
  r->at += a->offset;
  t->columns = (int)a->shape[1];
  t->total = (int64_t)a->shape[0];
  return await_row(t);
}

/* All elements; the buffer grows with what is really there, a wrong shape cannot ask for memory. */
static blica_status read_whole(table *t) {
  size_t total = t->array.count * t->array.size, have = 0, capacity = 0;
  while (have < total) {
    size_t step = have < (1 << 20) ? 1 << 20 : have;
    if (step > total - have) step = total - have;
    if (have + step > capacity) {
      capacity = have + step;
      char *whole = realloc(t->whole, capacity);
      if (!whole) return table_no_memory(t);
      t->whole = whole;
    }
    MUST(read_exactly(t, t->whole + have, step));
    have += step;
  }
  return BLICA_OK;
}

static blica_status take_row(table *t, const char *first, size_t stride) {
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
        status = t->levels ? table_level(t, i, text, strlen(text), &x[i]) : table_bad_value(t, i, text, strlen(text));
      if (status != BLICA_OK) return status;
    }
    i++;
  }
  return table_finish_row(t, carried);
}

blica_status table_read_npy(table *t, int64_t max_rows) {
  const bl_npy *a = &t->array;
  size_t rows = a->shape[0], width = a->shape[1] * a->size;
  int64_t stop = t->row + max_rows;
  OWNED char *line = a->fortran ? NULL : malloc(width + 1);
  if (a->fortran && !t->whole) MUST(read_whole(t));
  if (!a->fortran && !line) return table_no_memory(t);
  while (t->row < stop && (size_t)t->row < rows) {
    if (line) MUST(read_exactly(t, line, width));
    MUST(line ? take_row(t, line, a->size) : take_row(t, t->whole + (size_t)t->row * a->size, rows * a->size));
  }
  t->ended = (size_t)t->row == rows;
  return BLICA_OK;
}
