/* findings.c - describes the data from their counts, and finds what would prevent or harm a fit, before anything is
 * fitted.
 *
 * Tables are judged by the rules of blica_correlate, so that the numbers are those of the correlations and of the fit's
 * record. Two items are called identical when one follows from the other in all of the common rows, or in all but a
 * hundredth of those of its rarer values (at least MINORITY rows): any further row apart would be a measurement. */
#include "cor/cor.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "cor/correlate.h"
#include "counts/counts.h"
#include "data/coding.h"

enum { SMALL = 50, NAMED = 3, MANY_LEVELS = 20, MINORITY = 10, TEXT = 700 };
static const double APART = 0.01; /* of the rarer values, by which copies may differ */
static const double OFTEN = 0.25; /* share of tables with an empty cell that is worth more than a note */

/* "a, b, c and 4 more": the first names of a list, and how many there are. */
typedef struct {
  char text[TEXT];
  size_t used;
  int64_t count;
} names;

__attribute__((format(printf, 2, 3))) static void add(names *list, const char *format, ...) {
  va_list args;
  if (list->count++ >= NAMED || list->used >= TEXT - 1) return;
  if (list->count > 1) list->used += (size_t)snprintf(list->text + list->used, TEXT - list->used, ", ");
  if (list->used >= TEXT - 1) return;
  va_start(args, format);
  list->used += (size_t)vsnprintf(list->text + list->used, TEXT - list->used, format, args);
  va_end(args);
}

static const char *shown(names *list) {
  if (list->count > NAMED && list->used < TEXT - 1)
    list->used +=
        (size_t)snprintf(list->text + list->used, TEXT - list->used, " and %lld more", (long long)list->count - NAMED);
  return list->text;
}

typedef struct {
  blica_ctx *ctx;
  const blica_counts *c;
  blica_coding *coding; /* NULL: a column is an item */
  char *const *item;    /* [n] names */
  blica_check *found;
  double *all, *cell; /* the table of two items over all segments, and in one */
} work;

/* ---- one item ---- */

static size_t at(const work *w, int s, int column) {
  return (size_t)s * (size_t)w->c->n + (size_t)column;
}

static double present(const work *w, int s, int i) {
  return w->c->present[at(w, s, bl_plane(w->coding, i))];
}

/* The one level that item i has in the segments from..to-1; -1: no values; -2: several. */
static int only_level(const work *w, int from, int to, int i) {
  double all = 0;
  int level = 0;
  for (int s = from; s < to; s++) all += present(w, s, i);
  if (!(all > 0)) return -1;
  for (int p = bl_plane(w->coding, i); p < bl_plane(w->coding, i + 1); p++) {
    double ones = 0;
    for (int s = from; s < to; s++) ones += w->c->ones[at(w, s, p)];
    if (ones > 0 && ones < all) return -2;
    level += ones > 0;
  }
  return level;
}

static const char *level_name(const work *w, int i, int level) {
  return w->coding ? w->coding->labels[w->coding->first[i] + i + level] : level ? "1" : "0";
}

/* ---- findings ---- */

__attribute__((format(printf, 5, 6))) static blica_status note(work *w, const char *code, int level, const char *advice,
                                                               const char *format, ...) {
  blica_check *f = w->found;
  char text[TEXT + 200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  bl_text_clean(text); /* of what names may hold */
  MUST(bl_resize(w->ctx, (size_t)f->count, (size_t)f->count + 1, &f->findings));
  blica_finding *own = &f->findings[f->count++];
  *own = (blica_finding){.level = level};
  snprintf(own->code, sizeof own->code, "%s", code);
  MUST(bl_copy_text_for(w->ctx, f, text, &own->found));
  return bl_copy_text_for(w->ctx, f, advice, &own->advice);
}

/* Notes the number of rows and, with their names, segments that have few. */
static blica_status judge_size(work *w) {
  const blica_counts *c = w->c;
  blica_check *f = w->found;
  BL_OWNED double *sizes = NULL;
  names small = {.count = 0};
  MUST(bl_alloc(w->ctx, (size_t)c->u, &sizes));
  for (int s = 0; s < c->u; s++) {
    sizes[s] = c->samples[s];
    f->rows += sizes[s];
    if (sizes[s] < SMALL) add(&small, "'%.40s' (%.15g)", c->segments[s], sizes[s]);
  }
  qsort(sizes, (size_t)c->u, sizeof *sizes, bl_rising);
  f->least = sizes[0], f->most = sizes[c->u - 1], f->median = (sizes[(c->u - 1) / 2] + sizes[c->u / 2]) / 2;
  f->small_segments = (int)small.count;
  if (f->rows < f->n)
    MUST(note(w, "transposed", 1,
              "the table looks transposed, with items in its rows, as genes often are: give one row for each sample "
              "and one column for each item, or fewer items",
              "%d items and only %.15g rows", f->n, f->rows));
  if (c->u == 1)
    MUST(note(w, "one-segment", 2,
              "one segment does not determine the mixing matrix: name segments (times, groups, conditions) over which "
              "the sources vary",
              "there is one segment, '%.40s'", c->segments[0]));
  if (small.count > 0 && !c->exact)
    MUST(note(w, "small-segments", 1,
              "their correlations are mostly noise: merge them with segments that are alike, or leave them out",
              "segments with fewer than %d rows: %s", SMALL, shown(&small)));
  return BLICA_OK;
}

/* Items that are nothing in all rows, and segments without any value. */
static blica_status judge_items(work *w, bool *nothing /* [n] no values at all */, bool *void_segment /* [u] */) {
  const blica_counts *c = w->c;
  blica_check *f = w->found;
  names empty = {.count = 0}, constant = {.count = 0}, many = {.count = 0}, segments = {.count = 0};
  for (int i = 0; i < f->n; i++) {
    const int level = only_level(w, 0, c->u, i), levels = bl_plane(w->coding, i + 1) - bl_plane(w->coding, i) + 1;
    nothing[i] = level == -1;
    if (level == -1) add(&empty, "'%.40s'", w->item[i]);
    if (level >= 0) add(&constant, "'%.40s' (always %.40s)", w->item[i], level_name(w, i, level));
    if (levels > MANY_LEVELS) add(&many, "'%.40s' (%d)", w->item[i], levels);
  }
  for (int s = 0; s < c->u; s++) {
    void_segment[s] = true;
    for (int i = 0; i < f->n && void_segment[s]; i++) void_segment[s] = !(present(w, s, i) > 0);
    if (void_segment[s]) add(&segments, "'%.40s'", c->segments[s]);
  }
  f->constant_items = (int)constant.count, f->empty_items = (int)empty.count, f->empty_segments = (int)segments.count;
  if (empty.count)
    MUST(note(w, "empty-items", 1, "their loadings would come from the prior alone: leave them out",
              "items without any value: %s", shown(&empty)));
  if (constant.count)
    MUST(note(w, "constant-items", 1,
              "they say nothing about the sources, and their loadings would come from the prior alone: leave them out",
              "items with one value in all rows: %s", shown(&constant)));
  if (segments.count)
    MUST(note(w, "empty-segments", 1, "their means and variances come from the prior alone: leave them out",
              "segments without any value: %s", shown(&segments)));
  if (many.count)
    MUST(note(
        w, "many-levels", 1,
        "that is a measurement, an age or an identifier and not an item: leave it out, or divide it into few levels",
        "items with more than %d levels: %s", MANY_LEVELS, shown(&many)));
  return BLICA_OK;
}

/* Items in single segments. Those that are empty everywhere, and segments without any value, have been named. */
static blica_status judge_columns(work *w, const bool *nothing, const bool *void_segment) {
  const blica_counts *c = w->c;
  blica_check *f = w->found;
  names absent = {.count = 0}, constant = {.count = 0};
  bool varies = false;
  for (int s = 0; s < c->u; s++) {
    int varying = 0;
    for (int i = 0; i < f->n; i++) {
      const int level = only_level(w, s, s + 1, i);
      const double missing = c->samples[s] - present(w, s, i);
      f->missing[i] += missing, f->missing_values += missing;
      f->constant_columns += level != -2;
      varying += level == -2;
      if (level == -1 && !nothing[i] && !void_segment[s])
        add(&absent, "'%.40s' in '%.40s'", w->item[i], c->segments[s]);
      if (level >= 0)
        add(&constant, "'%.40s' in '%.40s' (always %.40s)", w->item[i], c->segments[s], level_name(w, i, level));
    }
    varies = varies || varying > 1;
  }
  f->absent_columns = absent.count;
  if (!varies)
    MUST(note(w, "nothing-varies", 2,
              "without two items that vary together there is nothing to fit: look how the data were read",
              "in no segment do two items vary"));
  if (absent.count)
    MUST(note(
        w, "absent-items", 1,
        "what such a segment would say about them is taken from the other segments, as if they were the same there",
        "items without values in a segment: %s", shown(&absent)));
  if (constant.count)
    MUST(note(w, "constant-columns", 0, "their correlations there are taken as 0",
              "items with one value in a segment: %s", shown(&constant)));
  return BLICA_OK;
}

/* ---- two items ---- */

/* The table of two items in segment s, levels from the lowest; returns its flags as blica_correlate sets them. */
static int judge_table(const work *w, int s, int i, int j, int rows, int columns) {
  double share[4], total = 0, some_row[2] = {0}, four[4];
  int used_rows = 0, used_columns = 0;
  if (!w->coding) {
    blica_counts_table(w->c, s, i, j, four);
    for (int k = 0; k < 4; k++) w->cell[k] = four[3 - k]; /* 00, 01, 10, 11 */
    return bl_table_shares(four, w->c->exact, share);
  }
  total = bl_counts_cells(w->c, w->coding, s, i, j, w->cell);
  if (!(total > 0)) return BLICA_PAIR_EMPTY;
  int row_of[2] = {0}, column_of[2] = {0};
  for (int a = 0; a < rows; a++) {
    some_row[0] = 0;
    for (int b = 0; b < columns; b++) some_row[0] += w->cell[a * columns + b];
    if (some_row[0] > 1e-9 * total && used_rows++ < 2) row_of[used_rows - 1] = a;
  }
  for (int b = 0; b < columns; b++) {
    some_row[1] = 0;
    for (int a = 0; a < rows; a++) some_row[1] += w->cell[a * columns + b];
    if (some_row[1] > 1e-9 * total && used_columns++ < 2) column_of[used_columns - 1] = b;
  }
  if (used_rows < 2 || used_columns < 2) return BLICA_PAIR_CONSTANT;
  if (used_rows > 2 || used_columns > 2) return 0; /* empty cells of such a table stay empty, which does no harm */
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++) four[3 - 2 * a - b] = fmax(w->cell[row_of[a] * columns + column_of[b]], 0);
  return bl_table_shares(four, w->c->exact, share);
}

/* Rows of the table over all segments that would have to be others for the column to follow from the row (step: columns
 * apart in a row, 1; the other way round: rows); and, in *rare, rows that do not have the commonest value of what is to
 * follow. */
static double apart(const double *all, int rows, int columns, int row_step, int column_step, double *rare) {
  double sum = 0, apart = 0, most_column = 0;
  for (int a = 0; a < rows; a++) {
    double row = 0, most = 0;
    for (int b = 0; b < columns; b++) {
      row += all[a * row_step + b * column_step];
      most = fmax(most, all[a * row_step + b * column_step]);
    }
    sum += row, apart += row - most;
  }
  for (int b = 0; b < columns; b++) {
    double column = 0;
    for (int a = 0; a < rows; a++) column += all[a * row_step + b * column_step];
    most_column = fmax(most_column, column);
  }
  *rare = sum - most_column;
  return apart;
}

/* Whether the commonest value of each row lies on the diagonal, or (reversed) on the other one. */
static bool diagonal(const double *all, int size, bool reversed) {
  for (int a = 0; a < size; a++)
    for (int b = 0; b < size; b++)
      if (all[a * size + b] > all[a * size + (reversed ? size - 1 - a : a)]) return false;
  return true;
}

/* Adds the pair when one of the two follows from the other. */
static void judge_copies(work *w, int i, int j, int rows, int columns, double together, names *copies) {
  double rare_j, rare_i;
  const double j_of_i = apart(w->all, rows, columns, columns, 1, &rare_j),
               i_of_j = apart(w->all, columns, rows, 1, columns, &rare_i);
  const bool follows_j = rare_j >= MINORITY && j_of_i <= APART * rare_j,
             follows_i = rare_i >= MINORITY && i_of_j <= APART * rare_i;
  if (!follows_i && !follows_j) return;
  const double off = follows_j ? j_of_i : i_of_j;
  char but[48] = "";
  if (off >= 0.5) snprintf(but, sizeof but, " but %.15g of", round(off));
  const char *first = w->item[follows_j ? j : i], *second = w->item[follows_j ? i : j];
  if (rows == columns && follows_i && follows_j && diagonal(w->all, rows, false))
    add(copies, "'%.40s' is the same as '%.40s' in all%s %.15g rows", w->item[j], w->item[i], but, together);
  else if (rows == columns && follows_i && follows_j && diagonal(w->all, rows, true))
    add(copies, "'%.40s' is '%.40s' reversed in all%s %.15g rows", w->item[j], w->item[i], but, together);
  else
    add(copies, "'%.40s' follows from '%.40s' in all%s %.15g rows", first, second, but, together);
}

/* Counts the flags of a pair over segments; notes pairs that no row has together and items that are copies. */
static void judge_pair(work *w, int i, int j, const bool *nothing, names *never, names *copies) {
  const int rows = bl_plane(w->coding, i + 1) - bl_plane(w->coding, i) + 1,
            columns = bl_plane(w->coding, j + 1) - bl_plane(w->coding, j) + 1;
  blica_check *f = w->found;
  double together = 0;
  memset(w->all, 0, (size_t)(rows * columns) * sizeof *w->all);
  for (int s = 0; s < w->c->u; s++) {
    const int flags = judge_table(w, s, i, j, rows, columns);
    if (flags < 0) continue;
    f->zero_cells += (flags & BLICA_PAIR_ZERO_CELL) != 0;
    f->constant_pairs += (flags & BLICA_PAIR_CONSTANT) != 0;
    f->empty_pairs += (flags & BLICA_PAIR_EMPTY) != 0;
    if (flags & BLICA_PAIR_EMPTY) continue;
    for (int k = 0; k < rows * columns; k++) w->all[k] += fmax(w->cell[k], 0), together += fmax(w->cell[k], 0);
  }
  if (!(together > 0) && !nothing[i] && !nothing[j]) add(never, "'%.40s' and '%.40s'", w->item[i], w->item[j]);
  if (together > 0) judge_copies(w, i, j, rows, columns, together, copies);
}

static blica_status judge_pairs(work *w, const bool *nothing) {
  blica_check *f = w->found;
  names never = {.count = 0}, copies = {.count = 0};
  for (int j = 1; j < f->n; j++)
    for (int i = 0; i < j; i++) judge_pair(w, i, j, nothing, &never, &copies);
  f->never_together = never.count, f->copies = copies.count;
  const double tables = 0.5 * f->n * (f->n - 1.0) * f->u;
  if (never.count)
    MUST(
        note(w, "never-together", 1,
             "how the two are related is inferred through other items alone; where a form or a wave can be chosen, let "
             "some rows have both",
             "items that no row has both of: %s", shown(&never)));
  if (copies.count)
    MUST(note(
        w, "identical-items", 1,
        "such items make a source of their own and the axes look better determined than they are: keep one of them",
        "%s", shown(&copies)));
  if (f->zero_cells)
    MUST(note(w, "empty-cells", (double)f->zero_cells > OFTEN * tables,
              "the correlations of these pairs are bounded rather than measured; more rows in a segment would help",
              "%lld of %.0f two-by-two tables (pairs times segments, %.3g %%) have an empty cell",
              (long long)f->zero_cells, tables, 100 * (double)f->zero_cells / tables));
  return BLICA_OK;
}

/* ---- the whole ---- */

/* Describes the counts, judges items, segments and pairs, and makes the list of findings. */
static blica_status check_counts(blica_ctx *ctx, const blica_counts *counts, blica_check **out) {
  BL_AUTO(blica_check) *found = NULL;
  BL_AUTO(blica_coding) *coding = NULL;
  BL_OWNED bool *nothing = NULL, *void_segment = NULL;
  BL_OWNED double *all = NULL, *cell = NULL;
  int levels = 2;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &found));
  MUST(blica_counts_coding(ctx, counts, &coding));
  found->n = coding ? coding->items : counts->n, found->u = counts->u;
  for (int i = 0; i < found->n; i++) {
    const int own = bl_plane(coding, i + 1) - bl_plane(coding, i) + 1;
    levels = own > levels ? own : levels;
  }
  MUST(bl_alloc_for(ctx, found, (size_t)found->n, &found->missing));
  MUST(bl_alloc(ctx, (size_t)found->n, &nothing));
  MUST(bl_alloc(ctx, (size_t)counts->u, &void_segment));
  MUST(bl_alloc(ctx, (size_t)(levels * levels), &all));
  MUST(bl_alloc(ctx, (size_t)(levels * levels), &cell));
  work w = {ctx, counts, coding, coding ? coding->names : counts->variables, found, all, cell};
  MUST(judge_size(&w));
  MUST(judge_items(&w, nothing, void_segment));
  MUST(judge_columns(&w, nothing, void_segment));
  MUST(judge_pairs(&w, nothing));
  *out = bl_take(&found);
  return BLICA_OK;
}

blica_status blica_check_counts(blica_ctx *ctx, const blica_counts *counts, blica_check **out) {
  BL_NEED_OUT(ctx, out, counts);
  return check_counts(ctx, counts, out);
}

void blica_check_free(blica_check *check) {
  if (!check) return;
  bl_free(check->findings);
  bl_free(check);
}

blica_status bl_check_before_fit(blica_ctx *ctx, const blica_counts *counts, bool allow_unidentified) {
  static const char *const told[] = {"transposed",   "empty-items",    "constant-items",  "empty-segments",
                                     "absent-items", "never-together", "identical-items", "nothing-varies"};
  BL_AUTO(blica_check) *found = NULL;
  MUST(check_counts(ctx, counts, &found));
  for (int i = 0; i < found->count; i++) {
    const blica_finding *f = &found->findings[i];
    if (strcmp(f->code, "nothing-varies") == 0 && !allow_unidentified)
      return bl_fail(ctx, BLICA_ERR_DATA, "%s: %s", f->found, f->advice);
    for (size_t k = 0; k < sizeof told / sizeof *told; k++)
      if (strcmp(f->code, told[k]) == 0) bl_warn(ctx, "%s: %s", f->found, f->advice);
  }
  return BLICA_OK;
}
