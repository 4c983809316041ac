/* table_columns.c - the first lines of a text table: separator, header, which column is what by options and names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static bool is_text(const table *t, const bl_record_field *f) {
  double number;
  if (table_listed_missing(t, f->text, f->length)) return false;
  return table_value(f->text, f->length) == NOT_A_VALUE && !table_number(f->text, f->length, &number);
}

/* 1,2,3,... or 0,1,2,...: names that programs give to columns without one. The segment may be any number, so that at
 * least three others are needed: 0,1 may be data. */
static bool counts_up(const bl_record_field *f, int count, int segment) {
  double first, number;
  if (count - (segment >= 0) < 3 || !table_number(f[0].text, f[0].length, &first) || (first != 0 && first != 1))
    return false;
  for (int k = 1; k < count; k++)
    if (!table_number(f[k].text, f[k].length, &number) || number != first + k) return false;
  return true;
}

/* The column that --segment-column gives without needing a header, from 0; -1 when it is a name. */
static int segment_index(const char *column, int columns) {
  if (!column) return -1;
  if (strcmp(column, "last") == 0) return columns - 1;
  char *end;
  long index = strtol(column, &end, 10);
  return *column && !*end && index >= 1 && index <= columns ? (int)index - 1 : -1;
}

static bool looks_like_header(const table *t) {
  const bl_record_field *f = t->text.fields;
  int count = t->text.field_count, segment = segment_index(t->options.segment_column, count);
  bool text = false, numbers = false;
  for (int k = 0; k < count; k++) {
    if (k == segment) continue;
    bool word = is_text(t, &f[k]);
    text = text || word;
    numbers = numbers || (!word && f[k].length > 0);
  }
  if (t->options.list || t->options.ordinal || (t->options.model && t->options.model->coding))
    return text && !numbers; /* where text may be data, one number says: no header */
  return text || counts_up(f, count, segment);
}

/* Names from the record last split, with room for a column of row names. */
static blica_status take_header(table *t) {
  t->columns = t->text.field_count;
  t->header = calloc((size_t)t->columns + 1, sizeof *t->header);
  for (int k = 0; t->header && k < t->columns; k++) {
    t->header[k] = strndup(t->text.fields[k].text, t->text.fields[k].length);
    if (!t->header[k]) return table_no_memory(t);
  }
  return t->header ? BLICA_OK : table_no_memory(t);
}

blica_status table_begin_text(table *t) {
  size_t length;
  bool more;
  MUST(bl_records_peek(&t->text, t->message, &more, &length));
  if (!more) return table_fail(t, BLICA_ERR_DATA, "is empty");
  if (length > 1 && memcmp(t->text.buffer + t->text.at, "PK", 2) == 0) return table_not_rows(t);
  if (memchr(t->text.buffer + t->text.at, 0, length))
    return table_fail(t, BLICA_ERR_FORMAT, "is not text (it has zero bytes) and not .npy");
  bl_records_guess_separator(&t->text, length);
  MUST(bl_records_split(&t->text, length, t->message));
  const bl_record_field *f = t->text.fields;
  if (t->text.field_count == 1)
    return table_fail(
        t, BLICA_ERR_DATA,
        "is read as one column: its first line, '%.*s', has no comma, semicolon, tab or blank between columns",
        (int)(f->length < 60 ? f->length : 60), f->text);
  table_header header = t->options.header;
  if (header == TABLE_HEADER_YES || (header == TABLE_HEADER_AUTO && looks_like_header(t))) {
    MUST(take_header(t));
    MUST(bl_records_peek(&t->text, t->message, &more, &length));
    if (!more) return table_fail(t, BLICA_ERR_DATA, "has a header but no rows");
    MUST(bl_records_split(&t->text, length, t->message));
    if (t->text.field_count == t->columns + 1) { /* as R writes: row names have no name */
      memmove(t->header + 1, t->header, (size_t)t->columns * sizeof *t->header);
      t->header[0] = strdup("");
      if (!t->header[0]) return table_no_memory(t);
      t->columns++;
    }
  } else {
    t->columns = t->text.field_count;
  }
  t->pending = true;
  return BLICA_OK;
}

/* ---- columns by name ---- */

/* Their names, at most thirty. */
static void list_columns(const table *t, char *out, size_t size) {
  size_t at = 0;
  out[0] = 0;
  for (int k = 0; k < t->columns && at + 48 < size; k++) {
    if (k == 30) {
      snprintf(out + at, size - at, ", and %d more", t->columns - k);
      return;
    }
    at += (size_t)snprintf(out + at, size - at, "%s%.30s", k ? ", " : "", t->header[k]);
  }
}

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
  list_columns(t, list, sizeof list);
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

/* --columns and --ignore turn columns of values into columns that are left out. */
static blica_status choose_columns(table *t) {
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

/* ---- roles ---- */

static blica_status no_segments(const table *t) {
  return table_fail(t, BLICA_ERR_DATA,
                    "nothing says which segment a row belongs to (there is no column named segment). Use one of "
                    "--segment-column NAME|INDEX|last, --segment-length ROWS, --segment-count U, --segment-file FILE%s",
                    t->options.blank_segments ? "; or --segment unknown when it is not known" : "");
}

static blica_status find_segment(table *t) {
  const table_options *o = &t->options;
  bool other = o->segment_length || o->segment_count || o->segment_file || o->unlabelled;
  int column = table_column(t, "segment", 7);
  if (o->segment_column) {
    const size_t length = strlen(o->segment_column);
    column = t->columns - 1;
    if (strcmp(o->segment_column, "last") != 0 || table_column(t, "last", length) >= 0)
      MUST(table_find_column(t, "segment-column", o->segment_column, length, &column));
  }
  if (o->unlabelled && column >= 0)
    return table_fail(t, BLICA_ERR_DATA,
                      "has a column named segment, and segments that are given need not be found; remove the column, "
                      "or fit with these segments (blica fit)");
  if (column < 0) return other || o->no_segments ? BLICA_OK : no_segments(t);
  t->role[column] = other ? ROLE_SKIP : ROLE_SEGMENT;
  if (other) table_note(t, "column 'segment' is left out, as the segments were given otherwise");
  return BLICA_OK;
}

static blica_status make_runs(table *t) {
  t->runs = calloc((size_t)t->columns + 1, sizeof *t->runs);
  t->column_of = malloc(((size_t)t->columns + 1) * sizeof *t->column_of);
  if (!t->runs || !t->column_of) return table_no_memory(t);
  for (int k = 0; k < t->columns; k++) {
    if (t->role[k] == ROLE_VALUE) t->column_of[t->n++] = k;
    bool joins = t->run_count > 0 && t->role[k] == ROLE_VALUE && t->runs[t->run_count - 1].role == ROLE_VALUE;
    if (joins)
      t->runs[t->run_count - 1].count++;
    else
      t->runs[t->run_count++] = (column_run){t->role[k], 1};
  }
  return BLICA_OK;
}

blica_status table_assign_roles(table *t) {
  const table_options *o = &t->options;
  int ways =
      (o->segment_column != NULL) + (o->segment_length != 0) + (o->segment_count != 0) + (o->segment_file != NULL);
  if (ways > 1)
    return table_refuse(
        t, "--segment-column, --segment-length, --segment-count and --segment-file exclude each other; give one");
  if (o->segment_length < 0 || o->segment_count < 0)
    return table_refuse(t, "the length and the number of segments must be at least 1");
  t->role = calloc((size_t)t->columns + 1, sizeof *t->role);
  if (!t->role) return table_no_memory(t);
  MUST(find_segment(t));
  if (t->header && !t->header[0][0] && t->role[0] == ROLE_VALUE) {
    t->role[0] = ROLE_SKIP;
    table_note(t, "the first column has no name and is left out as row names");
  }
  MUST(table_find_attributes(t));
  MUST(choose_columns(t));
  return make_runs(t);
}
