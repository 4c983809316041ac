/* timeline.c - the file of blica segment, read twice: for its number of rows, and for the states. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { COLUMNS = 360 }; /* of the figure */

typedef struct {
  records file;
  char **segments;
  int u;
  int *state_of; /* [fields of the header] segment of a column p1, p2, ..., or -1 */
  int columns;
  report_timeline *line;
  int last; /* state of the row before */
  int64_t run;
} reader;

static int find_text(const reader *r, const char *text, size_t length) {
  for (int s = 0; s < r->u; s++)
    if (strlen(r->segments[s]) == length && memcmp(r->segments[s], text, length) == 0) return s;
  return -1;
}

static bool is_name(const field *f) {
  return f->length == 7 && memcmp(f->text, "segment", 7) == 0;
}

/* Opens the file and splits its first line; *found is false when that is not the header. */
static blica_status open_file(const char *path, reader *r, char *message, bool *found) {
  bool more;
  size_t length;
  r->file = (records){.separator = ','};
  *found = false;
  blica_status status = byte_source_open(path, message, &r->file.source);
  if (status == BLICA_OK) status = records_peek(&r->file, message, &more, &length);
  if (status != BLICA_OK || !more) return status;
  status = records_split(&r->file, length, message);
  *found = status == BLICA_OK && r->file.field_count > 0 && is_name(&r->file.fields[0]);
  return status;
}

static blica_status count_rows(const char *path, reader *r, char *message, bool *found, int64_t *rows) {
  bool more = true;
  size_t length;
  blica_status status = open_file(path, r, message, found);
  *rows = 0;
  while (status == BLICA_OK && *found) {
    status = records_peek(&r->file, message, &more, &length);
    if (status != BLICA_OK || !more) break;
    status = records_split(&r->file, length, message);
    ++*rows;
  }
  records_close(&r->file);
  return status;
}

/* Which columns hold probabilities, and of which state. */
static bool read_header(reader *r) {
  const records *f = &r->file;
  r->columns = f->field_count;
  r->state_of = malloc(sizeof *r->state_of * (size_t)r->columns);
  for (int c = 0; r->state_of && c < r->columns; c++) {
    const field *name = &f->fields[c];
    bool named = c > 0 && name->length > 1 && name->text[0] == 'p';
    r->state_of[c] = named ? find_text(r, name->text + 1, name->length - 1) : -1;
    if (r->state_of[c] >= 0) r->line->probabilities = true;
  }
  return r->state_of != NULL;
}

static void end_run(reader *r) {
  if (r->last >= 0 && r->run > r->line->longest[r->last]) r->line->longest[r->last] = r->run;
  r->run = 0;
}

static blica_status add_row(reader *r, int64_t row, char *message) {
  report_timeline *t = r->line;
  const field *label = &r->file.fields[0];
  const int s = find_text(r, label->text, label->length);
  double *share = t->share + row * t->columns / t->rows * t->states;
  if (s < 0)
    return table_fail(message, BLICA_ERR_DATA, "%s, row %lld: '%.*s' is not a segment of the model",
                      byte_source_name(r->file.source), (long long)row + 1, (int)label->length, label->text);
  if (s != r->last) end_run(r), t->runs[s]++;
  r->last = s;
  r->run++;
  t->rows_in[s]++;
  if (!t->probabilities) share[s] += 1;
  for (int c = 0; c < r->columns && c < r->file.field_count; c++) {
    double value;
    if (r->state_of[c] >= 0 && table_number(r->file.fields[c].text, r->file.fields[c].length, &value))
      share[r->state_of[c]] += value;
  }
  return BLICA_OK;
}

static blica_status read_rows(const char *path, reader *r, char *message) {
  bool more;
  size_t length;
  blica_status status = open_file(path, r, message, &more);
  if (status == BLICA_OK && !read_header(r)) status = table_no_memory(message);
  for (int64_t row = 0; status == BLICA_OK && row < r->line->rows; row++) {
    status = records_peek(&r->file, message, &more, &length);
    if (status == BLICA_OK && more) status = records_split(&r->file, length, message);
    if (status == BLICA_OK && more) status = add_row(r, row, message);
  }
  end_run(r);
  records_close(&r->file);
  free(r->state_of);
  return status;
}

static report_timeline *make(int states, int64_t rows) {
  report_timeline *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  *t = (report_timeline){.rows = rows, .states = states, .columns = rows < COLUMNS ? (int)rows : COLUMNS};
  t->share = calloc((size_t)t->columns * (size_t)states, sizeof *t->share);
  t->rows_in = calloc((size_t)states, sizeof *t->rows_in);
  t->runs = calloc((size_t)states, sizeof *t->runs);
  t->longest = calloc((size_t)states, sizeof *t->longest);
  if (t->share && t->rows_in && t->runs && t->longest) return t;
  timeline_free(t);
  return NULL;
}

/* From sums over the rows of a column to means. */
static void divide(report_timeline *t) {
  for (int c = 0; c < t->columns; c++) {
    double sum = 0;
    for (int s = 0; s < t->states; s++) sum += t->share[c * t->states + s];
    for (int s = 0; s < t->states && sum > 0; s++) t->share[c * t->states + s] /= sum;
  }
}

blica_status timeline_read(const char *path, char **segments, int u, char *message, report_timeline **out) {
  reader r = {.segments = segments, .u = u, .last = -1};
  bool found = false;
  int64_t rows;
  *out = NULL;
  if (strcmp(path, "-") == 0) return BLICA_OK; /* it was read already */
  blica_status status = count_rows(path, &r, message, &found, &rows);
  if (status != BLICA_OK || !found || rows == 0) return status;
  r.line = make(u, rows);
  if (!r.line) return table_no_memory(message);
  status = read_rows(path, &r, message);
  if (status == BLICA_OK) {
    divide(r.line);
    *out = r.line;
  } else {
    timeline_free(r.line);
  }
  return status;
}

void timeline_free(report_timeline *t) {
  if (!t) return;
  free(t->share);
  free(t->rows_in);
  free(t->runs);
  free(t->longest);
  free(t);
}
