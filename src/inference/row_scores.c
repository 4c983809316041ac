/* row_scores.c - sums of row scores, in batches that a matrix product takes at once. The scores of a cluster of rows
 * are those of the sum of their influences. Sums run in a fixed order: the same bits for any number of threads. */
#include "inference/row_scores.h"

#include <math.h>
#include <string.h>

#include "inference/dependence.h"
#include "num/blas.h"

enum { BATCH = 128 };

blica_status bl_row_scores_make(blica_ctx *ctx, void *owner, const bl_influence *influence, const bl_rows *rows,
                                size_t m, bl_row_scores *r) {
  *r = (bl_row_scores){.influence = influence, .rows = rows, .q = influence->statistics, .m = m};
  MUST(bl_alloc_for(ctx, owner, (BATCH + 1) * r->q, &r->psi));
  return bl_alloc_for(ctx, owner, BATCH * m, &r->score);
}

blica_status bl_score_sums_make(blica_ctx *ctx, void *owner, size_t m, bl_score_sums *sums) {
  MUST(bl_alloc_for(ctx, owner, bl_mul(m, m + 2), &sums->sum));
  sums->sized = sums->sum + m, sums->product = sums->sized + m;
  return BLICA_OK;
}

/* score [m,count] <- weight' psi [q,count]. */
static void multiply(const bl_row_scores *r, int count, double *score) {
  bl_dgemm('T', 'N', (int)r->m, count, (int)r->q, 1, r->weight, (int)r->q, r->psi, (int)r->q, 0, score, (int)r->m);
}

static void add_products(const bl_row_scores *r, int count, bl_score_sums *sums) {
  multiply(r, count, r->score);
  bl_dsyrk('L', 'N', (int)r->m, count, 1, r->score, (int)r->m, 1, sums->product, (int)r->m);
}

/* Every row is a unit: a pattern of weight w enters as sqrt(w) times its influence. mean [q] <- sum of influences. */
static void sum_rows(const bl_row_scores *r, int s, double *mean, bl_score_sums *sums) {
  const bl_rows *rows = r->rows;
  const int q = (int)r->q;
  for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p += BATCH) {
    const int count = rows->first[s + 1] - p < BATCH ? (int)(rows->first[s + 1] - p) : BATCH;
    for (int c = 0; c < count; c++) {
      double *psi = r->psi + r->q * (size_t)c;
      bl_influence_row(r->influence, rows->x + (size_t)rows->n * (size_t)(p + c), psi);
      bl_daxpy(q, rows->weight[p + c], psi, 1, mean, 1);
      bl_dscal(q, sqrt(rows->weight[p + c]), psi, 1);
    }
    add_products(r, count, sums);
  }
  sums->units = (double)rows->total[s];
}

void bl_row_scores_sum(const bl_row_scores *r, int s, bl_score_sums *sums) {
  const int m = (int)r->m, q = (int)r->q;
  double *mean = r->psi + BATCH * r->q;
  memset(mean, 0, r->q * sizeof *mean);
  memset(sums->sum, 0, r->m * (r->m + 2) * sizeof *mean);
  sum_rows(r, s, mean, sums);
  bl_dgemv('T', q, m, 1, r->weight, q, mean, 1, 0, sums->sum, 1);
  memcpy(sums->sized, sums->sum, r->m * sizeof *mean);
}

void bl_score_sums_centre(const double *mean, size_t m, bl_score_sums *sums) {
  for (size_t c = 0; c < m; c++)
    for (size_t r = c; r < m; r++)
      sums->product[r + m * c] += sums->units * mean[r] * mean[c] - sums->sized[r] * mean[c] - mean[r] * sums->sized[c];
}

void bl_row_scores_lags(const bl_row_scores *r, int s, size_t used, const double *scale, double *z, double *lag) {
  const bl_rows *rows = r->rows;
  const int64_t count = rows->row_first[s + 1] - rows->row_first[s];
  const int64_t *row = rows->row + rows->row_first[s];
  for (int64_t first = 0; first < count; first += BATCH) {
    const int some = count - first < BATCH ? (int)(count - first) : BATCH;
    for (int c = 0; c < some; c++)
      bl_influence_row(r->influence, rows->x + (size_t)rows->n * (size_t)row[first + c], r->psi + r->q * (size_t)c);
    multiply(r, some, r->score);
    for (int c = 0; c < some; c++)
      for (size_t d = 0; d < used; d++) z[d + used * (size_t)(first + c)] = scale[d] * r->score[d + r->m * (size_t)c];
  }
  bl_lag_products(used, count, z, lag);
}
