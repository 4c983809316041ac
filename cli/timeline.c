/* timeline.c - the file of blica segment, read twice: for its number of rows, and for the states. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { COLUMNS = 360 }; /* of the figure */

typedef struct {
  bl_records file;
  char **segments;
  int u;
  int64_t rows;          /* read in this pass */
  report_timeline *line; /* NULL in the first pass, which only counts rows */
  int *state_of;         /* [fields of the header] segment of a column p1, p2, ..., or -1 */
  int columns, last;     /* last: state of the row before */
  int64_t run;
} reader;

/* Which columns hold probabilities, and of which state. */
static bool read_header(reader *r) {
  r->columns = r->file.field_count;
  r->state_of = malloc(sizeof *r->state_of * (size_t)r->columns);
  for (int c = 0; r->state_of && c < r->columns; c++) {
    const bl_record_field *name = &r->file.fields[c];
    const bool named = c > 0 && name->length > 1 && name->text[0] == 'p';
    r->state_of[c] = named ? table_place(r->segments, r->u, name->text + 1, name->length - 1) : -1;
    if (r->state_of[c] >= 0) r->line->probabilities = true;
  }
  return r->state_of != NULL;
}

static void end_run(reader *r) {
  if (r->last >= 0 && r->run > r->line->longest[r->last]) r->line->longest[r->last] = r->run;
  r->run = 0;
}

static blica_status add_row(reader *r, char *message) {
  report_timeline *t = r->line;
  const bl_record_field *label = &r->file.fields[0];
  const int s = table_place(r->segments, r->u, label->text, label->length);
  double *share = t->share + r->rows * t->columns / t->rows * t->states;
  if (s < 0)
    return table_say(message, BLICA_ERR_DATA, "%s, row %lld: '%.*s' is not a segment of the model", r->file.name,
                     (long long)r->rows + 1, (int)label->length, label->text);
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

/* Splits the next line; *more is false at the end. */
static blica_status next_row(reader *r, bool *more, char *message) {
  size_t length;
  MUST(bl_records_peek(&r->file, message, more, &length));
  return *more ? bl_records_split(&r->file, length, message) : BLICA_OK;
}

static bool is_segment(const bl_record_field *name) {
  return (name->length == 7 && memcmp(name->text, "segment", 7) == 0) ||
         (name->length == 13 && memcmp(name->text, "found_segment", 13) == 0);
}

/* Reads all rows; none where the file is no table whose first column is named as blica segment names it. */
static blica_status read_rows(reader *r, char *message) {
  bool more;
  MUST(next_row(r, &more, message));
  const bl_record_field *first = r->file.fields;
  if (!more || r->file.field_count == 0 || !is_segment(first)) return BLICA_OK;
  if (r->line && !read_header(r)) return table_say(message, BLICA_ERR_MEMORY, "out of memory");
  for (;; r->rows++) {
    MUST(next_row(r, &more, message));
    if (!more || (r->line && r->rows == r->line->rows)) return BLICA_OK;
    if (r->line) MUST(add_row(r, message));
  }
}

static blica_status pass(const char *path, reader *r, char *message) {
  r->file = (bl_records){.separator = ','};
  r->rows = 0;
  blica_status status = records_open(path, message, &r->file);
  if (status == BLICA_OK) status = read_rows(r, message);
  records_close(&r->file);
  return status;
}

static report_timeline *make_timeline(int states, int64_t rows) {
  report_timeline *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  *t = (report_timeline){.rows = rows, .states = states, .columns = rows < COLUMNS ? (int)rows : COLUMNS};
  t->share = calloc((size_t)t->columns * (size_t)states, sizeof *t->share);
  t->rows_in = calloc(3 * (size_t)states, sizeof *t->rows_in);
  if (t->share && t->rows_in) {
    t->runs = t->rows_in + states;
    t->longest = t->runs + states;
    return t;
  }
  timeline_free(t);
  return NULL;
}

/* Turns sums over the rows of a column into means. */
static void divide_by_rows(report_timeline *t) {
  for (int c = 0; c < t->columns; c++) {
    double sum = 0;
    for (int s = 0; s < t->states; s++) sum += t->share[c * t->states + s];
    for (int s = 0; s < t->states && sum > 0; s++) t->share[c * t->states + s] /= sum;
  }
}

blica_status timeline_read(const char *path, char **segments, int u, char *message, report_timeline **out) {
  reader r = {.segments = segments, .u = u, .last = -1};
  *out = NULL;
  if (strcmp(path, "-") == 0) return BLICA_OK; /* it was read already */
  MUST(pass(path, &r, message));
  if (r.rows == 0) return BLICA_OK;
  r.line = make_timeline(u, r.rows);
  if (!r.line) return table_say(message, BLICA_ERR_MEMORY, "out of memory");
  blica_status status = pass(path, &r, message);
  free(r.state_of);
  if (status != BLICA_OK) {
    timeline_free(r.line);
    return status;
  }
  end_run(&r);
  divide_by_rows(r.line);
  *out = r.line;
  return BLICA_OK;
}

void timeline_free(report_timeline *t) {
  if (!t) return;
  free(t->share);
  free(t->rows_in);
  free(t);
}
