/* axes.c - angles between the columns of an estimate and of draws around it, and the MCS that they lead to.
 *
 * The error of an estimate has, to first order, the distribution of the draws around it, whether these come from the
 * asymptotic normal distribution or from the bootstrap. So the mean MCS of draws against the estimate is what to expect
 * of the estimate against the truth. */
#include "inference/axes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "num/linear/blas.h"
#include "num/rng.h"

blica_status bl_axes_make(blica_ctx *ctx, int n, int k, int draws, bl_axes **out) {
  BL_OWNED bl_axes *axes = NULL;
  const size_t each = (size_t)n * k, count = (size_t)draws;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &axes));
  axes->n = n, axes->k = k, axes->draws = draws;
  MUST(bl_alloc_for(ctx, axes, bl_mul(each, count), &axes->mixing));
  MUST(bl_alloc_for(ctx, axes, bl_mul((size_t)k, count), &axes->match));
  MUST(bl_alloc_for(ctx, axes, bl_mul((size_t)k, count), &axes->sign));
  MUST(bl_alloc_for(ctx, axes, count, &axes->mcs));
  MUST(bl_alloc_for(ctx, axes, bl_mul((size_t)k, count), &axes->angle));
  *out = bl_take(&axes);
  return BLICA_OK;
}

blica_status bl_axes_take(blica_ctx *ctx, const blica_model *model, const double *mixing, int d, bl_axes *axes) {
  const size_t n = (size_t)axes->n, k = (size_t)axes->k, at = k * (size_t)d;
  BL_OWNED double *cosine = NULL;
  MUST(bl_alloc(ctx, k, &cosine));
  MUST(blica_compare(ctx, axes->n, axes->k, model->mixing, mixing, &axes->mcs[d], axes->match + at, cosine));
  for (size_t j = 0; j < k; j++) {
    const double *from = mixing + n * (size_t)axes->match[at + j];
    double *to = axes->mixing + n * (at + j);
    axes->sign[at + j] = cosine[j] < 0 ? -1 : 1;
    axes->angle[at + j] = acos(fmin(1, fabs(cosine[j]))) * 57.29577951308232;
    for (size_t i = 0; i < n; i++) to[i] = axes->sign[at + j] * from[i];
  }
  return BLICA_OK;
}

/* The element that a share of the others is below; sorts the list. */
static double quantile(int count, double share, double *list) {
  qsort(list, (size_t)count, sizeof *list, bl_rising);
  return list[(int)(share * (count - 1) + 0.5)];
}

blica_status bl_axes_summary(blica_ctx *ctx, const bl_axes *axes, bool median, double *angle, double *bound,
                             double *mcs) {
  const int draws = axes->draws;
  BL_OWNED double *list = NULL;
  double mean = 0;
  MUST(bl_alloc(ctx, (size_t)draws, &list));
  for (int j = 0; j < axes->k; j++) {
    double squares = 0;
    for (int d = 0; d < draws; d++) {
      list[d] = axes->angle[j + (size_t)axes->k * d];
      squares += list[d] * list[d] / draws;
    }
    bound[j] = quantile(draws, 0.9, list);
    angle[j] = median ? quantile(draws, 0.5, list) : sqrt(squares);
  }
  for (int d = 0; d < draws; d++) list[d] = axes->mcs[d], mean += axes->mcs[d] / draws;
  *mcs = median ? quantile(draws, 0.5, list) : mean;
  return BLICA_OK;
}

/* x [n] <- the column plus x, less what of x is along the column: lengths do not err by angles. */
static void turn(int n, const double *column, double *x) {
  const double along = bl_ddot(n, column, 1, x, 1) / fmax(bl_ddot(n, column, 1, column, 1), 1e-300);
  bl_daxpy(n, 1 - along, column, 1, x, 1);
}

blica_status bl_axes_normal(blica_ctx *ctx, const blica_model *model, const double *covariance, size_t p, uint64_t seed,
                            int draws, bl_axes **out) {
  blica_status status;
  const int nk = model->n * model->k;
  const size_t size = (size_t)nk;
  BL_OWNED bl_axes *axes = NULL;
  BL_OWNED double *root = NULL, *values = NULL, *z = NULL, *a = NULL;
  *out = NULL;
  bl_blas_hold();
  TRY(bl_axes_make(ctx, model->n, model->k, draws, &axes));
  TRY(bl_alloc(ctx, size * size, &root));
  TRY(bl_alloc(ctx, size, &values));
  TRY(bl_alloc(ctx, size, &z));
  TRY(bl_alloc(ctx, size, &a));
  for (size_t c = 0; c < size; c++) memcpy(root + size * c, covariance + p * c, size * sizeof *root);
  errno = 0;
  if (bl_dsyevd('V', 'L', nk, root, nk, values) != 0)
    TRY(bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "the covariance of the mixing matrix could not be decomposed"));
  for (int d = 0; d < draws; d++) {
    bl_rng rng = bl_rng_make(seed, (uint64_t)d);
    for (int i = 0; i < nk; i++) z[i] = bl_rng_normal(&rng) * sqrt(fmax(0, values[i]));
    bl_dgemv('N', nk, nk, 1, root, nk, z, 1, 0, a, 1);
    for (int j = 0; j < model->k; j++) turn(model->n, model->mixing + (size_t)model->n * j, a + (size_t)model->n * j);
    TRY(bl_axes_take(ctx, model, a, d, axes));
  }
  *out = bl_take(&axes);
done:
  bl_blas_release();
  return status;
}

/* q [k,k] <- an orthonormal matrix, uniform: normal columns made orthogonal one by one. */
static void random_rotation(int k, bl_rng *rng, double *q) {
  for (int c = 0; c < k; c++) {
    double *x = q + (size_t)k * c;
    for (int i = 0; i < k; i++) x[i] = bl_rng_normal(rng);
    for (int b = 0; b < c; b++) bl_daxpy(k, -bl_ddot(k, q + (size_t)k * b, 1, x, 1), q + (size_t)k * b, 1, x, 1);
    bl_dscal(k, 1 / bl_dnrm2(k, x, 1), x, 1);
  }
}

blica_status blica_chance_mcs(blica_ctx *ctx, const blica_model *model, uint64_t seed, double *mcs) {
  BL_NEED(ctx, model, mcs);
  enum { ROTATIONS = 200 };
  const int n = model->n, k = model->k;
  BL_OWNED double *q = NULL, *a = NULL, *cosine = NULL;
  BL_OWNED int *match = NULL;
  *mcs = 0;
  MUST(bl_alloc(ctx, (size_t)k * k, &q));
  MUST(bl_alloc(ctx, (size_t)n * k, &a));
  MUST(bl_alloc(ctx, (size_t)k, &cosine));
  MUST(bl_alloc(ctx, (size_t)k, &match));
  for (int r = 0; r < ROTATIONS; r++) {
    bl_rng rng = bl_rng_make(seed, (9ull << 60) + (uint64_t)r);
    double one;
    random_rotation(k, &rng, q);
    bl_dgemm('N', 'N', n, k, k, 1, model->mixing, n, q, k, 0, a, n);
    MUST(blica_compare(ctx, n, k, model->mixing, a, &one, match, cosine));
    *mcs += one / ROTATIONS;
  }
  return BLICA_OK;
}
