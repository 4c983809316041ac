/* counts_csv.c - pair counts as a table in long form, what a GROUP BY in SQL or Spark gives:
 *
 *   segment,i,j,n11,n10,n01,n00        names of the segment and of two variables, then the 2x2 table
 *
 * n10 counts x_i = 1, x_j = 0. A row with i = j carries the margins: n11 ones and n00 zeros, n10 and
 * n01 being 0; a query may count values that are no level as n10, which the reader refuses. These rows may be absent;
 * then the margins come from the pairs (under missing values from the pair with most rows). A row with i and j empty
 * carries in n11 the number of rows of the segment; it is written only where that differs from the largest margin, as
 * missing values may cause. A first line `# exact` says that the counts are population probabilities times a nominal N.
 * Rows may come in any order, a pair as i,j or j,i, but each pair of each segment must be there once. Variables and
 * segments are numbered in order of first appearance. Numbers read back to the same bits. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "files/records.h"
#include "base/intern.h"
#include "base/number.h"
#include "files/outfile.h"
#include "counts/counts.h"

static const char *const columns[7] = {"segment", "i", "j", "n11", "n10", "n01", "n00"};

static void put_row(FILE *f, const char *segment, const char *i, const char *j, const double cell[4]) {
  bl_put_field(f, segment);
  putc(',', f);
  if (*i) bl_put_field(f, i);
  putc(',', f);
  if (*j) bl_put_field(f, j);
  for (int k = 0; k < 4; k++) {
    putc(',', f);
    bl_put_number(f, cell[k] > 0 ? cell[k] : 0); /* rounding may leave less than nothing */
  }
  putc('\n', f);
}

static void put_segment(FILE *f, const blica_counts *c, int s) {
  const double *ones = c->ones + (size_t)s * (size_t)c->n, *present = c->present + (size_t)s * (size_t)c->n;
  double most = 0, cell[4] = {0, 0, 0, 0};
  for (int i = 0; i < c->n; i++) most = fmax(most, ones[i] + fmax(present[i] - ones[i], 0)); /* as it reads back */
  if (most != c->samples[s]) {
    cell[0] = c->samples[s];
    put_row(f, c->segments[s], "", "", cell);
  }
  for (int j = 0; j < c->n; j++)
    for (int i = 0; i <= j; i++) {
      if (i < j) {
        blica_counts_table(c, s, i, j, cell);
      } else {
        cell[0] = ones[i];
        cell[1] = cell[2] = 0;
        cell[3] = present[i] - ones[i];
      }
      put_row(f, c->segments[s], c->variables[i], c->variables[j], cell);
    }
}

blica_status bl_counts_save_csv(blica_ctx *ctx, const blica_counts *counts, const char *path) {
  BL_CLEAN(bl_outfile_discard) bl_outfile file = {0};
  if (!bl_outfile_open(&file, path)) return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
  if (counts->exact) fputs("# exact\n", file.stream);
  fputs("segment,i,j,n11,n10,n01,n00\n", file.stream);
  for (int s = 0; s < counts->u; s++) put_segment(file.stream, counts, s);
  if (!bl_outfile_commit(&file)) return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
  return BLICA_OK;
}

/* ---- loading ---- */

typedef struct {
  int32_t s, i, j; /* i = j = -1: the number of rows */
  double cell[4];
} entry;

typedef struct {
  const char *path;
  FILE *stream;
  bl_records text;
  bl_intern variables, segments;
  size_t count, capacity;
  entry *entries;
  bool exact;
} long_form;

static void close_long_form(long_form *t) {
  if (t->stream) fclose(t->stream);
  bl_records_clear(&t->text);
  bl_intern_clear(&t->variables);
  bl_intern_clear(&t->segments);
  bl_free(t->entries);
}

static blica_status read_some(void *source, char *buffer, size_t size, char *message, size_t *got) {
  const long_form *t = source;
  *got = fread(buffer, 1, size, t->stream);
  if (!ferror(t->stream)) return BLICA_OK;
  snprintf(message, BL_RECORDS_MESSAGE, "%s: cannot read: %s", t->path, strerror(errno));
  return BLICA_ERR_IO;
}

/* Splits the next record; *more is false at the end. */
static blica_status next_record(blica_ctx *ctx, long_form *t, bool *more) {
  char message[BL_RECORDS_MESSAGE];
  size_t length;
  blica_status status = bl_records_peek(&t->text, message, more, &length);
  if (status == BLICA_OK && *more) status = bl_records_split(&t->text, length, message);
  return status == BLICA_OK ? BLICA_OK : bl_fail(ctx, status, "%s", message);
}

static blica_status parse_number(blica_ctx *ctx, const long_form *t, int field, double *out) {
  const char *text = t->text.fields[field].text;
  char *end;
  *out = bl_strtod(text, &end);
  while (*end == ' ') end++;
  if (end == text || *end || !(*out >= 0 && *out <= 0x1p1000))
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s, line %lld, column %s: '%s' is not a count", t->path,
                   (long long)t->text.record_line, columns[field], text);
  return BLICA_OK;
}

static blica_status parse_entry(blica_ctx *ctx, long_form *t) {
  entry e = {0, -1, -1, {0}};
  const bl_record_field *s = t->text.fields, *i = s + 1, *j = s + 2;
  const long long line = (long long)t->text.record_line;
  if (t->text.field_count != 7)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s, line %lld: %d fields, 7 are expected (segment,i,j,n11,n10,n01,n00)",
                   t->path, line, t->text.field_count);
  if (!i->length != !j->length)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s, line %lld: only one of i and j is named", t->path, line);
  MUST(bl_intern_add(ctx, &t->segments, s->text, s->length, &e.s));
  if (i->length) {
    MUST(bl_intern_add(ctx, &t->variables, i->text, i->length, &e.i));
    MUST(bl_intern_add(ctx, &t->variables, j->text, j->length, &e.j));
  }
  for (int k = 0; k < 4; k++) MUST(parse_number(ctx, t, 3 + k, &e.cell[k]));
  if (t->count == t->capacity) {
    size_t capacity = t->capacity ? 2 * t->capacity : 1024;
    MUST(bl_resize(ctx, t->count, capacity, &t->entries));
    t->capacity = capacity;
  }
  t->entries[t->count++] = e;
  return BLICA_OK;
}

static blica_status parse_header(blica_ctx *ctx, long_form *t) {
  bool more;
  MUST(next_record(ctx, t, &more));
  t->exact = more && t->text.field_count == 1 && strcmp(t->text.fields[0].text, "# exact") == 0;
  if (t->exact) MUST(next_record(ctx, t, &more));
  bool same = more && t->text.field_count == 7;
  for (int k = 0; same && k < 7; k++) same = strcmp(t->text.fields[k].text, columns[k]) == 0;
  if (same) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_FORMAT,
                 "%s: not a file of pair counts: its first line is not segment,i,j,n11,n10,n01,n00", t->path);
}

static blica_status parse_file(blica_ctx *ctx, long_form *t) {
  bool more = true;
  t->stream = fopen(t->path, "rb");
  if (!t->stream) return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot read: %s", t->path, strerror(errno));
  t->text = (bl_records){.read = read_some, .source = t, .name = t->path, .separator = ','};
  t->text.resize = bl_hook(ctx, &t->text.resize_user);
  MUST(parse_header(ctx, t));
  while (more) {
    MUST(next_record(ctx, t, &more));
    if (more) MUST(parse_entry(ctx, t));
  }
  if (t->count == 0) return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: has no rows", t->path);
  if (t->variables.count < 2)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: %d variables: at least 2 are needed", t->path, t->variables.count);
  return BLICA_OK;
}

/* Cells that were not in the file are -1. */
static blica_status place(blica_ctx *ctx, const long_form *t, blica_counts *c) {
  size_t cells = (size_t)c->pairs * (size_t)c->u, margins = (size_t)c->n * (size_t)c->u;
  for (size_t k = 0; k < cells; k++) c->n11[k] = -1;
  for (size_t k = 0; k < margins; k++) c->present[k] = -1;
  for (int s = 0; s < c->u; s++) c->samples[s] = -1;
  for (size_t k = 0; k < t->count; k++) {
    const entry *e = &t->entries[k];
    bool margin = e->i == e->j, swap = e->i > e->j;
    size_t at =
        margin ? (size_t)e->s * (size_t)c->n + (size_t)(e->i < 0 ? 0 : e->i)
               : (size_t)e->s * (size_t)c->pairs + (size_t)(swap ? blica_pair(e->j, e->i) : blica_pair(e->i, e->j));
    double *first = e->i < 0 ? &c->samples[e->s] : margin ? &c->present[at] : &c->n11[at];
    if (*first >= 0)
      return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: segment '%s', pair '%s', '%s' occurs twice", t->path,
                     c->segments[e->s], e->i < 0 ? "" : c->variables[e->i], e->i < 0 ? "" : c->variables[e->j]);
    *first = margin && e->i >= 0 ? e->cell[0] + e->cell[3] : e->cell[0];
    if (margin && e->i >= 0) {
      if (e->cell[1] != 0 && e->cell[2] == 0)
        return bl_fail(ctx, BLICA_ERR_FORMAT,
                       "%s: segment '%s': %g value%s of '%s' %s not one of its levels (n10 of its margin); give the "
                       "levels, or say that such values mean missing",
                       t->path, c->segments[e->s], e->cell[1], e->cell[1] == 1 ? "" : "s", c->variables[e->i],
                       e->cell[1] == 1 ? "is" : "are");
      if (e->cell[2] != 0)
        return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: segment '%s': '%s' differs from itself (n10 %g, n01 %g)", t->path,
                       c->segments[e->s], c->variables[e->i], e->cell[1], e->cell[2]);
      c->ones[at] = e->cell[0];
    } else if (!margin) {
      c->n10[at] = e->cell[swap ? 2 : 1];
      c->n01[at] = e->cell[swap ? 1 : 2];
      c->n00[at] = e->cell[3];
    }
  }
  return BLICA_OK;
}

/* Margins that no row gave: from the pair with most rows, the first of them. */
static void margins_from_pairs(blica_counts *c, int s, const bool *given) {
  double *ones = c->ones + (size_t)s * (size_t)c->n, *present = c->present + (size_t)s * (size_t)c->n;
  for (int j = 1; j < c->n; j++)
    for (int i = 0; i < j; i++) {
      double cell[4];
      blica_counts_table(c, s, i, j, cell);
      double rows = cell[0] + cell[1] + cell[2] + cell[3];
      if (!given[i] && rows > present[i]) present[i] = rows, ones[i] = cell[0] + cell[1];
      if (!given[j] && rows > present[j]) present[j] = rows, ones[j] = cell[0] + cell[2];
    }
}

/* Fails when a pair is missing; fills in the margins and numbers of rows that the file does not have. */
static blica_status fill_margins(blica_ctx *ctx, const long_form *t, blica_counts *c) {
  BL_OWNED bool *given = NULL;
  MUST(bl_alloc(ctx, (size_t)c->n, &given));
  for (int s = 0; s < c->u; s++) {
    double *present = c->present + (size_t)s * (size_t)c->n;
    for (int j = 1; j < c->n; j++)
      for (int i = 0; i < j; i++)
        if (c->n11[(size_t)s * (size_t)c->pairs + (size_t)blica_pair(i, j)] < 0)
          return bl_fail(ctx, BLICA_ERR_FORMAT,
                         "%s: segment '%s' has no row for the pair '%s', '%s' (is the file cut off?)", t->path,
                         c->segments[s], c->variables[i], c->variables[j]);
    for (int i = 0; i < c->n; i++) given[i] = present[i] >= 0;
    margins_from_pairs(c, s, given);
    double most = 0;
    for (int i = 0; i < c->n; i++) most = fmax(most, present[i]);
    if (c->samples[s] < 0) c->samples[s] = most;
  }
  return BLICA_OK;
}

/* When all cells follow from the margins (up to the rounding of fractional counts) they are dropped. */
static void drop_cells(blica_counts *c) {
  for (int s = 0; s < c->u; s++) {
    const double *ones = c->ones + (size_t)s * (size_t)c->n, *present = c->present + (size_t)s * (size_t)c->n;
    double slack = 1e-12 * c->samples[s];
    for (int i = 0; i < c->n; i++)
      if (fabs(present[i] - c->samples[s]) > slack) return;
    for (int j = 1; j < c->n; j++)
      for (int i = 0; i < j; i++) {
        size_t at = (size_t)s * (size_t)c->pairs + (size_t)blica_pair(i, j);
        double first = c->n11[at] + c->n10[at], second = c->n11[at] + c->n01[at];
        if (fabs(first - ones[i]) > slack || fabs(second - ones[j]) > slack ||
            fabs(first + c->n01[at] + c->n00[at] - c->samples[s]) > slack)
          return;
      }
  }
  for (int s = 0; s < c->u; s++)
    for (int i = 0; i < c->n; i++) c->present[(size_t)s * (size_t)c->n + (size_t)i] = c->samples[s];
  bl_free(c->n10);
  bl_free(c->n01);
  bl_free(c->n00);
  c->n10 = c->n01 = c->n00 = NULL;
}

blica_status bl_counts_load_csv(blica_ctx *ctx, const char *path, blica_counts **out) {
  BL_AUTO(blica_counts) *c = NULL;
  BL_CLEAN(close_long_form) long_form t = {.path = path};
  *out = NULL;
  MUST(parse_file(ctx, &t));
  size_t pairs = (size_t)((int64_t)t.variables.count * (t.variables.count - 1) / 2);
  if (bl_mul(pairs, (size_t)t.segments.count) > t.count)
    return bl_fail(ctx, BLICA_ERR_FORMAT,
                   "%s: %d variables in %d segments make %zu pairs, but the file has %zu rows (is it cut off?)", path,
                   t.variables.count, t.segments.count, bl_mul(pairs, (size_t)t.segments.count), t.count);
  MUST(bl_counts_create(ctx, t.variables.count, t.segments.count, false, (const char *const *)t.variables.texts,
                        (const char *const *)t.segments.texts, &c));
  c->exact = t.exact;
  MUST(place(ctx, &t, c));
  MUST(fill_margins(ctx, &t, c));
  MUST(bl_counts_validate(ctx, c, path));
  drop_cells(c);
  *out = bl_take(&c);
  return BLICA_OK;
}
