/* correlate_levels.c - from the counts of items with levels to polychoric correlations, thresholds and scales.
 *
 * Counts hold n(x_i >= a, x_j >= b) for all levels; the table of two items follows by differences. Levels that nobody
 * of a segment has (among the rows where both items are present) are left out of its table; what is left is one level
 * of either    BLICA_PAIR_CONSTANT: correlation 0, no standard error two by two levels      a tetrachoric correlation,
 * with the rules of correlate.c more                   the polychoric correlation of num/polychoric.c; empty cells stay
 * empty Thresholds are Phi^-1 of the share at or above a level, a share of 0 or 1 being taken as 1/(2N) away from it.
 */
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "cor/correlate.h"
#include "cor/scales.h"
#include "counts/counts.h"
#include "data/coding.h"
#include "num/normal.h"
#include "num/polychoric.h"

typedef struct {
  blica_ctx *ctx; /* of the last thread that works, else NULL */
  const blica_counts *counts;
  blica_cor *cor;
  size_t work_size;
  blica_simd level;
  double *work;         /* per thread */
  blica_status *status; /* [tasks] */
} job;

/* Cells [rows,columns] of items i < j of segment s, from the cumulative counts. */
static void read_table(const blica_counts *c, const blica_coding *coding, int s, int i, int j, int columns, int rows,
                       double *cell, double *above) {
  const int stride = columns + 1;
  memset(above, 0, sizeof(double) * (size_t)((rows + 1) * stride));
  for (int a = 1; a < rows; a++)
    for (int b = 1; b < columns; b++) {
      double four[4];
      blica_counts_table(c, s, coding->first[i] + a - 1, coding->first[j] + b - 1, four);
      above[a * stride + b] = four[0];
      above[a * stride] = four[0] + four[1];
      above[b] = four[0] + four[2];
      above[0] = four[0] + four[1] + four[2] + four[3];
    }
  for (int a = 0; a < rows; a++)
    for (int b = 0; b < columns; b++) {
      double n = above[a * stride + b] - above[(a + 1) * stride + b] - above[a * stride + b + 1] +
                 above[(a + 1) * stride + b + 1];
      cell[a * columns + b] = fabs(n) < 1e-9 * above[0] ? 0 : n;
    }
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

static blica_status one_pair(const job *j, int s, int i, int k, double *work) {
  const blica_coding *coding = j->cor->coding;
  int rows = coding->first[i + 1] - coding->first[i] + 1, columns = coding->first[k + 1] - coding->first[k] + 1;
  double *cell = work, *rest = work + (size_t)rows * (size_t)columns, total = 0, variance;
  size_t at = (size_t)blica_pair(i, k) + (size_t)s * (size_t)j->cor->pairs;
  int flags = 0;
  read_table(j->counts, coding, s, i, k, columns, rows, cell, rest);
  for (int c = 0; c < rows * columns; c++) {
    total += cell[c];
    if (cell[c] < 0 && !j->ctx) return BLICA_ERR_DATA; /* said later, by one thread */
    if (cell[c] < 0)
      return bl_fail(j->ctx, BLICA_ERR_DATA,
                     "segment '%s', items '%s' and '%s': a cell of their table has %g rows; counts of levels must fall "
                     "from one level to the next",
                     j->cor->segments[s], j->cor->variables[i], j->cor->variables[k], cell[c]);
  }
  collapse(cell, &rows, &columns);
  j->cor->rho[at] = 0, j->cor->se[at] = NAN;
  if (!(total > 0)) {
    flags = BLICA_PAIR_EMPTY;
  } else if (rows < 2 || columns < 2) {
    flags = BLICA_PAIR_CONSTANT;
  } else if (rows == 2 && columns == 2) {
    flags = bl_tetrachoric(j->level, j->counts->exact, cell, &j->cor->rho[at], &j->cor->se[at]);
  } else {
    for (int c = 0; c < rows * columns; c++) cell[c] /= total;
    j->cor->rho[at] = bl_polychoric(j->level, rows, columns, cell, rest, &variance);
    j->cor->se[at] = sqrt(variance / total);
  }
  j->cor->flags[at] = (uint8_t)flags;
  return BLICA_OK;
}

/* All pairs of one item with those before it, in one segment. */
static void pairs_task(int64_t task, int thread, void *user) {
  job *j = user;
  int s = (int)(task / j->cor->n), k = (int)(task % j->cor->n);
  for (int i = 0; i < k && j->status[task] == BLICA_OK; i++)
    j->status[task] = one_pair(j, s, i, k, j->work + (size_t)thread * j->work_size);
}

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

blica_status bl_correlate_levels(blica_ctx *ctx, const blica_counts *counts, blica_coding *coding, blica_cor **out) {
  blica_status status = BLICA_OK;
  job j = {.counts = counts, .level = blica_simd_level(ctx)};
  size_t most = 2;
  *out = NULL;
  for (int i = 0; i < coding->items; i++) {
    size_t levels = (size_t)(coding->first[i + 1] - coding->first[i]) + 1;
    if (levels > most) most = levels;
  }
  TRY(bl_counts_check(ctx, counts));
  TRY(bl_counts_need_whole(ctx, counts));
  TRY(bl_cor_create(ctx, coding->items, counts->u, coding->names, counts->segments, counts->samples, &j.cor));
  TRY(bl_cor_set_coding(ctx, j.cor, coding));
  coding = NULL;
  j.work_size = most * most + BL_POLYCHORIC_WORK(most, most);
  const int64_t tasks = (int64_t)j.cor->n * j.cor->u;
  TRY(bl_alloc(ctx, bl_mul(j.work_size, (size_t)bl_max_threads(ctx)), &j.work));
  TRY(bl_alloc(ctx, (size_t)tasks, &j.status));
  bl_thresholds(counts, j.cor->thresholds);
  j.cor->exact = counts->exact;
  bl_parallel(ctx, tasks, pairs_task, &j);
  j.ctx = ctx;
  for (int64_t t = 0; t < tasks; t++)
    if (j.status[t] != BLICA_OK) {
      j.status[t] = BLICA_OK;
      pairs_task(t, 0, &j);
      TRY(j.status[t]);
    }
  count_flags(j.cor, counts);
  TRY(bl_scales(ctx, counts, j.cor));
  *out = j.cor;
  j.cor = NULL;
done:
  blica_coding_free(coding);
  blica_cor_free(j.cor);
  bl_free(j.work);
  bl_free(j.status);
  return status;
}

blica_status blica_polychoric(blica_ctx *ctx, int rows, int columns, const double *cell, double *rho, double *se,
                              double *threshold, int *flags) {
  BL_NEED(ctx, cell, rho);
  blica_status status = BLICA_OK;
  double *copy = NULL, total = 0, variance = NAN;
  int kept_rows = rows, kept_columns = columns, found = 0;
  if (rows < 2 || columns < 2 || rows > BL_POLYCHORIC_MAX || columns > BL_POLYCHORIC_MAX)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "a table of %d by %d levels; from 2 to %d can be used", rows, columns,
                   BL_POLYCHORIC_MAX);
  for (int c = 0; c < rows * columns; c++) {
    if (!(cell[c] >= 0 && cell[c] <= 0x1p1000))
      return bl_fail(ctx, BLICA_ERR_ARGUMENT, "a cell of the table is %g; cells must be counts, none negative",
                     cell[c]);
    total += cell[c];
  }
  TRY(bl_alloc(ctx, (size_t)(rows * columns + BL_POLYCHORIC_WORK(rows, columns)), &copy));
  memcpy(copy, cell, sizeof(double) * (size_t)(rows * columns));
  for (int a = 1, at = 0; threshold && a < rows + columns; a++) {
    double below = 0;
    if (a == rows) continue;
    for (int c = 0; c < rows * columns; c++)
      below += (a < rows ? c / columns < a : c % columns < a - rows) ? cell[c] : 0;
    threshold[at++] = bl_phi_quantile(fmin(fmax(below / total, 0.5 / total), 1 - 0.5 / total));
  }
  collapse(copy, &kept_rows, &kept_columns);
  *rho = 0;
  if (!(total > 0)) {
    found = BLICA_PAIR_EMPTY;
  } else if (kept_rows < 2 || kept_columns < 2) {
    found = BLICA_PAIR_CONSTANT;
  } else if (kept_rows == 2 && kept_columns == 2) {
    found = bl_tetrachoric(blica_simd_level(ctx), false, copy, rho, &variance);
    variance *= variance * total;
  } else {
    for (int c = 0; c < kept_rows * kept_columns; c++) copy[c] /= total;
    *rho = bl_polychoric(blica_simd_level(ctx), kept_rows, kept_columns, copy, copy + rows * columns, &variance);
  }
  if (se) *se = sqrt(variance / total);
  if (flags) *flags = found;
done:
  bl_free(copy);
  return status;
}
