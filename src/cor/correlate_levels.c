/* correlate_levels.c - from the counts of items with levels to polychoric correlations, thresholds and scales.
 *
 * Counts hold n(x_i >= a, x_j >= b) for all levels; the table of two items follows by differences. Levels that nobody
 * of a segment has (among the rows where both items are present) do not count; with what is left,
 *   one level of either:      BLICA_PAIR_CONSTANT, correlation 0, no standard error;
 *   two by two levels:        a tetrachoric correlation, with the rules of correlate.c;
 *   more:                     the polychoric correlation of num/normal/polychoric_kernel.c; empty cells stay empty.
 * Tables of one shape are solved eight at a time. Thresholds are Phi^-1 of the share at or above a level, a share of 0
 * or 1 being taken as 1/(2N) away from it. */
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "cor/correlate.h"
#include "counts/counts.h"
#include "data/coding.h"
#include "num/normal/normal.h"
#include "num/normal/tables.h"

enum { BLOCK = 64 }; /* pairs of a task */

typedef struct {
  blica_ctx *ctx; /* of the last thread that works, else NULL */
  const blica_counts *counts;
  blica_cor *cor;
  size_t work_size;
  int64_t blocks; /* of a segment */
  double *cuts; /* [columns of counts,u] thresholds of the items; NULL when values are missing: each pair has its own */
  blica_simd level;
  double *work;         /* per thread */
  blica_status *status; /* [tasks] */
} job;

/* Tables of one shape that wait to be solved together. */
typedef struct {
  int rows, columns, count;
  size_t at[BL_LANES]; /* their places in the correlations */
  double total[BL_LANES];
  double *share; /* [rows,columns,8] */
  double *cuts;  /* [rows-1+columns-1,8] */
} batch;

static int levels_of(const blica_coding *coding, int i) {
  return coding->first[i + 1] - coding->first[i] + 1;
}

/* Counts at or above the levels of items i < j of segment s, [rows+1,columns+1], of the rows where both are present. */
static void read_above(const blica_counts *c, const blica_coding *coding, int s, int i, int j, double *above) {
  const int rows = levels_of(coding, i), columns = levels_of(coding, j), stride = columns + 1;
  const int first = coding->first[i], second = coding->first[j];
  const size_t base = (size_t)s * (size_t)c->pairs;
  const double *ones = c->ones + (size_t)s * (size_t)c->n;
  for (int a = 0; a <= rows; a++) above[a * stride + columns] = 0;
  for (int b = 0; b <= columns; b++) above[rows * stride + b] = 0;
  for (int b = 1; b < columns; b++) {
    const size_t at = base + (size_t)blica_pair(first, second + b - 1);
    for (int a = 1; a < rows; a++) above[a * stride + b] = c->n11[at + (size_t)a - 1];
    above[b] = c->n10 ? c->n11[at] + c->n01[at] : ones[second + b - 1];
  }
  const size_t at = base + (size_t)blica_pair(first, second);
  for (int a = 1; a < rows; a++)
    above[a * stride] = c->n10 ? c->n11[at + (size_t)a - 1] + c->n10[at + (size_t)a - 1] : ones[first + a - 1];
  above[0] = c->n10 ? c->n11[at] + c->n10[at] + c->n01[at] + c->n00[at] : c->samples[s];
}

/* Cells [rows,columns] from the counts at or above each level. Returns the least. */
static double take_differences(int rows, int columns, const double *above, double *cell) {
  const double rounding = 1e-9 * above[0];
  double least = 0;
  for (int a = 0; a < rows; a++) {
    const double *n = above + a * (columns + 1), *next = n + columns + 1;
    for (int b = 0; b < columns; b++) {
      double own = n[b] - next[b] - n[b + 1] + next[b + 1];
      own = fabs(own) < rounding ? 0 : own;
      least = own < least ? own : least;
      *cell++ = own;
    }
  }
  return least;
}

/* Levels that somebody has, from the rows at or above each, `step` elements apart. */
static int used_levels(const double *above, int levels, int step) {
  int used = 0;
  for (int a = 0; a < levels; a++) used += above[a * step] - above[(a + 1) * step] > 1e-9 * above[0];
  return used;
}

/* Leaves out empty rows and columns. */
static void collapse(double *cell, int *rows, int *columns) {
  int kept_rows = 0, kept_columns = 0, all = *columns;
  bool used[BL_POLYCHORIC_MAX] = {false};
  for (int a = 0; a < *rows; a++)
    for (int b = 0; b < all; b++) used[b] |= cell[a * all + b] != 0;
  for (int b = 0; b < all; b++) kept_columns += used[b];
  for (int a = 0; a < *rows; a++) {
    double sum = 0;
    for (int b = 0; b < all; b++) sum += fabs(cell[a * all + b]);
    if (sum == 0) continue;
    for (int b = 0, to = kept_rows * kept_columns; b < all; b++)
      if (used[b]) cell[to++] = cell[a * all + b];
    kept_rows++;
  }
  *rows = kept_rows, *columns = kept_columns;
}

/* A table with at most two levels of each item that anybody has; cell is overwritten. Returns its flags. */
static int small_table(blica_simd level, bool exact, int rows, int columns, double *cell, double *rho, double *se) {
  *rho = 0, *se = NAN;
  collapse(cell, &rows, &columns);
  if (rows < 1 || columns < 1) return BLICA_PAIR_EMPTY;
  return rows < 2 || columns < 2 ? BLICA_PAIR_CONSTANT : bl_tetrachoric(level, exact, cell, rho, se);
}

/* The first lane of x [size,8] into those from count on. */
static void repeat_first(double *x, int size, int count) {
  for (int i = 0; i < size; i++)
    for (int t = count; t < BL_LANES; t++) x[i * BL_LANES + t] = x[i * BL_LANES];
}

static void solve_batch(const job *j, batch *b, double *work) {
  double rho[BL_LANES], variance[BL_LANES];
  if (b->count == 0) return;
  repeat_first(b->share, b->rows * b->columns, b->count);
  repeat_first(b->cuts, b->rows + b->columns - 2, b->count);
  bl_polychoric(j->level, b->rows, b->columns, b->count, b->share, j->cuts ? b->cuts : NULL, work, rho, variance);
  for (int t = 0; t < b->count; t++) {
    j->cor->rho[b->at[t]] = rho[t];
    j->cor->se[b->at[t]] = sqrt(variance[t] / b->total[t]);
  }
  b->count = 0;
}

/* The thresholds of items i and k of segment s, for the table that is added next. */
static void put_cuts(const job *j, batch *b, int s, int i, int k) {
  const double *own = j->cuts + (size_t)s * (size_t)j->counts->n;
  const double *first = own + j->cor->coding->first[i], *second = own + j->cor->coding->first[k];
  double *cuts = b->cuts + b->count;
  for (int a = 0; a < b->rows - 1; a++, cuts += BL_LANES) *cuts = first[a];
  for (int a = 0; a < b->columns - 1; a++, cuts += BL_LANES) *cuts = second[a];
}

static void put_table(batch *b, size_t at, double total, const double *cell) {
  const double scale = 1 / total;
  double *share = b->share + b->count;
  for (int c = 0; c < b->rows * b->columns; c++) share[c * BL_LANES] = cell[c] * scale;
  b->at[b->count] = at, b->total[b->count++] = total;
}

/* The table of a pair: solved here, or put into the batch. */
static blica_status one_pair(const job *j, int s, int i, int k, batch *b, double *work) {
  const int rows = b->rows, columns = b->columns, cells = rows * columns;
  double *cell = work, *above = work + cells;
  size_t at = (size_t)blica_pair(i, k) + (size_t)s * (size_t)j->cor->pairs;
  read_above(j->counts, j->cor->coding, s, i, k, above);
  const double least = take_differences(rows, columns, above, cell);
  if (least < 0 && !j->ctx) return BLICA_ERR_DATA; /* said later, by one thread */
  if (least < 0)
    return bl_fail(j->ctx, BLICA_ERR_DATA,
                   "segment '%s', items '%s' and '%s': a cell of their table has %g rows; counts of levels must fall "
                   "from one level to the next",
                   j->cor->segments[s], j->cor->variables[i], j->cor->variables[k], least);
  int used_rows = used_levels(above, rows, columns + 1), used_columns = used_levels(above, columns, 1);
  j->cor->flags[at] = 0;
  if (used_rows > 1 && used_columns > 1 && used_rows + used_columns > 4) {
    if (j->cuts) put_cuts(j, b, s, i, k);
    put_table(b, at, above[0], cell);
  } else
    j->cor->flags[at] =
        (uint8_t)small_table(j->level, j->counts->exact, rows, columns, cell, &j->cor->rho[at], &j->cor->se[at]);
  return BLICA_OK;
}

/* All pairs of a block that have the shape of the first that is left. Returns those that are left then. */
static uint64_t one_shape(const job *j, int s, const int *first, const int *second, uint64_t left, double *work,
                          blica_status *status) {
  const blica_coding *coding = j->cor->coding;
  const int begin = __builtin_ctzll(left);
  batch b = {.rows = levels_of(coding, first[begin]), .columns = levels_of(coding, second[begin]), .share = work};
  b.cuts = b.share + BL_LANES * b.rows * b.columns;
  work = b.cuts + BL_LANES * (b.rows + b.columns);
  for (int p = begin; p < BLOCK && *status == BLICA_OK; p++) {
    if (!(left >> p & 1) || levels_of(coding, first[p]) != b.rows || levels_of(coding, second[p]) != b.columns)
      continue;
    left &= ~(UINT64_C(1) << p);
    *status = one_pair(j, s, first[p], second[p], &b, work);
    if (b.count == BL_LANES) solve_batch(j, &b, work);
  }
  solve_batch(j, &b, work);
  return left;
}

/* Estimates up to BLOCK neighbouring pairs of one segment; tables of the same shape go together. */
static void pairs_task(int64_t task, int thread, void *user) {
  job *j = user;
  const int64_t begin = task % j->blocks * BLOCK, count = j->cor->pairs - begin < BLOCK ? j->cor->pairs - begin : BLOCK;
  int first[BLOCK], second[BLOCK], i, k;
  uint64_t left = ~UINT64_C(0) >> (BLOCK - count);
  bl_unpack_pair(begin, &i, &k);
  for (int p = 0; p < count; p++) {
    first[p] = i, second[p] = k;
    if (++i == k) i = 0, k++;
  }
  while (left && j->status[task] == BLICA_OK)
    left = one_shape(j, (int)(task / j->blocks), first, second, left, j->work + (size_t)thread * j->work_size,
                     &j->status[task]);
}

/* Sets the numbers of zero cells, constant and empty pairs, and constant items. */
static void count_flags(blica_cor *cor, const blica_counts *c) {
  for (int64_t p = 0; p < cor->pairs * cor->u; p++) {
    cor->zero_cells += (cor->flags[p] & BLICA_PAIR_ZERO_CELL) != 0;
    cor->constant_pairs += (cor->flags[p] & BLICA_PAIR_CONSTANT) != 0;
    cor->empty_pairs += (cor->flags[p] & BLICA_PAIR_EMPTY) != 0;
  }
  for (int s = 0; s < cor->u; s++)
    for (int i = 0; i < cor->n; i++) {
      bool constant = true; /* every column of the item is */
      for (int p = bl_plane(cor->coding, i); p < bl_plane(cor->coding, i + 1); p++) {
        double ones = c->ones[p + (size_t)s * (size_t)c->n], present = c->present[p + (size_t)s * (size_t)c->n];
        constant &= ones <= 0 || ones >= present;
      }
      cor->constant_columns += constant;
    }
}

/* Thresholds of the tables of complete data, which have the margins of their items. */
static blica_status find_cuts(blica_ctx *ctx, const blica_counts *c, void *owner, double **out) {
  MUST(bl_alloc_for(ctx, owner, bl_mul((size_t)c->n, (size_t)c->u), out));
  for (int s = 0; s < c->u; s++)
    for (int i = 0; i < c->n; i++) {
      const size_t at = (size_t)i + (size_t)s * (size_t)c->n;
      (*out)[at] = bl_polychoric_cut((c->samples[s] - c->ones[at]) / c->samples[s]);
    }
  return BLICA_OK;
}

blica_status bl_correlate_levels(blica_ctx *ctx, const blica_counts *counts, blica_coding *coding, blica_cor **out) {
  BL_AUTO(blica_coding) *own = coding;
  BL_AUTO(blica_cor) *cor = NULL;
  BL_OWNED double *work = NULL; /* owns the others */
  job j = {.counts = counts, .level = blica_simd_level(ctx)};
  size_t most = 2;
  *out = NULL;
  for (int i = 0; i < coding->items; i++) {
    size_t levels = (size_t)(coding->first[i + 1] - coding->first[i]) + 1;
    if (levels > most) most = levels;
  }
  MUST(bl_counts_check(ctx, counts));
  MUST(bl_cor_create(ctx, coding->items, counts->u, coding->names, counts->segments, counts->samples, true, &cor));
  MUST(bl_cor_set_coding(ctx, cor, coding));
  own = NULL;
  j.cor = cor;
  j.work_size = BL_LANES * (most * most + 2 * most) + BL_POLYCHORIC_WORK(most, most);
  j.blocks = (j.cor->pairs + BLOCK - 1) / BLOCK;
  const int64_t tasks = j.blocks * j.cor->u;
  MUST(bl_alloc(ctx, bl_mul(j.work_size, (size_t)bl_max_threads(ctx)), &work));
  j.work = work;
  MUST(bl_alloc_for(ctx, j.work, (size_t)tasks, &j.status));
  if (!counts->n10) MUST(find_cuts(ctx, counts, j.work, &j.cuts));
  bl_thresholds(counts, j.cor->thresholds);
  cor->exact = counts->exact;
  bl_parallel(ctx, tasks, pairs_task, &j);
  j.ctx = ctx;
  for (int64_t t = 0; t < tasks; t++)
    if (j.status[t] != BLICA_OK) {
      j.status[t] = BLICA_OK;
      pairs_task(t, 0, &j);
      MUST(j.status[t]);
    }
  count_flags(cor, counts);
  MUST(bl_find_item_scales(ctx, counts, cor));
  MUST(bl_cor_keep_rows(ctx, counts, cor));
  *out = bl_take(&cor);
  return BLICA_OK;
}

blica_status blica_polychoric(blica_ctx *ctx, int rows, int columns, const double *cell, double *rho, double *se,
                              double *threshold, int *flags) {
  BL_NEED(ctx, cell, rho);
  BL_OWNED double *copy = NULL;
  double total = 0, error = NAN;
  int found = 0;
  if (rows < 2 || columns < 2 || rows > BL_POLYCHORIC_MAX || columns > BL_POLYCHORIC_MAX)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "a table of %d by %d levels; from 2 to %d can be used", rows, columns,
                   BL_POLYCHORIC_MAX);
  for (int c = 0; c < rows * columns; c++) {
    if (!(cell[c] >= 0 && cell[c] <= 0x1p1000))
      return bl_fail(ctx, BLICA_ERR_ARGUMENT, "a cell of the table is %g; cells must be counts, none negative",
                     cell[c]);
    total += cell[c];
  }
  const int cells = rows * columns;
  MUST(bl_alloc(ctx, (size_t)((1 + BL_LANES) * cells + BL_POLYCHORIC_WORK(rows, columns)), &copy));
  memcpy(copy, cell, sizeof(double) * (size_t)cells);
  for (int a = 1, at = 0; threshold && a < rows + columns; a++) {
    double below = 0;
    if (a == rows) continue;
    for (int c = 0; c < cells; c++) below += (a < rows ? c / columns < a : c % columns < a - rows) ? cell[c] : 0;
    threshold[at++] = bl_phi_quantile(fmin(fmax(below / total, 0.5 / total), 1 - 0.5 / total));
  }
  collapse(copy, &rows, &columns);
  if (rows < 2 || columns < 2 || rows + columns == 4) {
    found = small_table(blica_simd_level(ctx), false, rows, columns, copy, rho, &error);
  } else {
    double *share = copy + cells, all_rho[BL_LANES], variance[BL_LANES];
    for (int c = 0; c < rows * columns * BL_LANES; c++) share[c] = copy[c / BL_LANES] / total;
    bl_polychoric(blica_simd_level(ctx), rows, columns, 1, share, NULL, share + BL_LANES * cells, all_rho, variance);
    *rho = all_rho[0], error = sqrt(variance[0] / total);
  }
  if (se) *se = error;
  if (flags) *flags = found;
  return BLICA_OK;
}
