/* horn.c - parallel analysis (Horn, Psychometrika 30, 1965) that keeps margins and levels in every segment,
 * and the minimum average partial (Velicer, Psychometrika 41, 1976), as psych's VSS computes it. */
#include "inference/select/select.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/split.h"
#include "inference/scores/pooled.h"
#include "num/linear/blas.h"
#include "num/rng.h"

typedef struct {
  const bl_rows *rows;
  uint64_t seed;
  double *values; /* [n,references] */
} job;

/* Eigenvalues, largest first, of packed correlations. */
static bool eigenvalues(int n, const double *rho, double *matrix, double *values) {
  bl_pooled_matrix(n, rho, matrix);
  errno = 0;
  if (bl_dsyevd('N', 'L', n, matrix, n, values) != 0) return false;
  for (int i = 0; i < n / 2; i++) {
    const double keep = values[i];
    values[i] = values[n - 1 - i], values[n - 1 - i] = keep;
  }
  return true;
}

/* Rows of segment s with every item permuted among the rows that have it, added to counts. */
static void permute_segment(const bl_rows *rows, int s, bl_rng *rng, int8_t *x, blica_counts *counts) {
  const int n = rows->n;
  const int64_t total = rows->total[s];
  for (int64_t row = 0; row < total; row++)
    for (int i = 0; i < n; i++)
      x[row + total * i] = rows->x[(size_t)n * (size_t)rows->row[rows->row_first[s] + row] + (size_t)i];
  for (int i = 0; i < n; i++) {
    int8_t *item = x + total * i;
    for (int64_t r = total - 1; r > 0; r--) {
      int64_t other = (int64_t)(bl_rng_uniform(rng) * (double)(r + 1));
      if (other > r) other = r;
      if (item[r] == BLICA_MISSING || item[other] == BLICA_MISSING) continue;
      const int8_t keep = item[r];
      item[r] = item[other], item[other] = keep;
    }
  }
  int8_t *one = x + total * n;
  for (int64_t r = 0; r < total; r++) {
    for (int i = 0; i < n; i++) one[i] = x[r + total * i];
    bl_rows_add(rows, one, bl_row_weight(rows, rows->row_first[s] + r), s, counts);
  }
}

/* Eigenvalues of one data set in which the values of each item are permuted within segments. */
static blica_status reference_task(blica_ctx *ctx, int64_t index, int thread, void *user) {
  const job *b = user;
  const bl_rows *rows = b->rows;
  int64_t most = 0;
  (void)thread;
  BL_AUTO(blica_counts) *counts = NULL;
  BL_OWNED bl_pooled *pooled = NULL;
  BL_OWNED int8_t *x = NULL;
  BL_OWNED double *matrix = NULL;
  for (int s = 0; s < rows->u; s++) most = rows->total[s] > most ? rows->total[s] : most;
  MUST(bl_rows_counts_create(ctx, rows, &counts));
  MUST(bl_pooled_make(ctx, rows->n, rows->u, rows->coding, false, &pooled));
  MUST(bl_alloc(ctx, bl_mul((size_t)most + 1, (size_t)rows->n), &x));
  MUST(bl_alloc(ctx, (size_t)rows->n * rows->n, &matrix));
  for (int s = 0; s < rows->u; s++) {
    bl_rng rng = bl_rng_make(b->seed, (3ull << 60) + ((uint64_t)index << 28) + (uint64_t)s);
    permute_segment(rows, s, &rng, x, counts);
  }
  bl_pooled_fit(counts, pooled);
  if (!eigenvalues(rows->n, pooled->rho, matrix, b->values + (size_t)rows->n * (size_t)index))
    MUST(bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "the eigenvalues of reference data did not converge"));
  return BLICA_OK;
}

blica_status bl_horn(blica_ctx *ctx, const bl_rows *rows, const blica_counts *counts, int references, uint64_t seed,
                     double *eigenvalue, double *reference) {
  blica_status status;
  const int n = rows->n;
  job b = {.rows = rows, .seed = seed};
  BL_OWNED bl_pooled *pooled = NULL;
  BL_OWNED double *matrix = NULL, *list = NULL;
  bl_blas_hold();
  TRY(bl_alloc(ctx, bl_mul((size_t)n, (size_t)references), &b.values));
  TRY(bl_alloc(ctx, (size_t)references, &list));
  TRY(bl_alloc(ctx, (size_t)n * n, &matrix));
  TRY(bl_pooled_make(ctx, n, rows->u, rows->coding, false, &pooled));
  bl_pooled_fit(counts, pooled);
  if (!eigenvalues(n, pooled->rho, matrix, eigenvalue))
    TRY(bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "the eigenvalues of the common correlations did not converge"));
  const bl_places values = {b.values, (size_t)n};
  TRY(bl_split_children(ctx, references, "parallel analysis, reference", reference_task, &b, 1, &values));
  for (int i = 0; i < n; i++) {
    for (int r = 0; r < references; r++) list[r] = b.values[i + (size_t)n * (size_t)r];
    qsort(list, (size_t)references, sizeof *list, bl_rising);
    reference[i] = list[(int)(0.95 * (references - 1) + 0.5)];
  }
done:
  bl_blas_release();
  bl_free(b.values);
  return status;
}

/* ---- minimum average partial ---- */

/* Average squared correlation of a covariance matrix off its diagonal. */
static double average(int n, const double *matrix) {
  double sum = 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) {
      const double product = matrix[i + (size_t)i * n] * matrix[j + (size_t)j * n];
      if (!(matrix[i + (size_t)i * n] > 0 && matrix[j + (size_t)j * n] > 0)) return NAN;
      sum += 2 * matrix[i + (size_t)j * n] * matrix[i + (size_t)j * n] / product;
    }
  return sum / ((double)n * (n - 1));
}

blica_status bl_map(blica_ctx *ctx, const blica_counts *counts, int most, double *map) {
  blica_status status;
  BL_AUTO(blica_counts) *pooled = NULL;
  BL_AUTO(blica_cor) *cor = NULL;
  BL_OWNED double *matrix = NULL, *vectors = NULL, *values = NULL;
  bl_blas_hold();
  TRY(bl_rows_pool(ctx, counts, &pooled));
  TRY(blica_correlate(ctx, pooled, &cor));
  const int n = cor->n;
  TRY(bl_alloc(ctx, (size_t)n * n, &matrix));
  TRY(bl_alloc(ctx, (size_t)n * n, &vectors));
  TRY(bl_alloc(ctx, (size_t)n, &values));
  bl_pooled_matrix(n, cor->rho, matrix);
  memcpy(vectors, matrix, (size_t)n * n * sizeof *matrix);
  errno = 0;
  if (bl_dsyevd('V', 'L', n, vectors, n, values) != 0)
    TRY(bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "the eigenvalues of the pooled correlations did not converge"));
  for (int m = 0; m <= most; m++) {
    map[m] = m < n ? average(n, matrix) : NAN;
    if (m >= n) continue;
    const double *x = vectors + (size_t)(n - 1 - m) * n;
    bl_dger(n, n, -fmax(0, values[n - 1 - m]), x, 1, x, 1, matrix, n);
  }
done:
  bl_blas_release();
  return status;
}
