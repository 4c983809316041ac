/* complete.c - from mixing matrix and variances to the whole model: means from the thresholds, canonical form. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <lapacke.h>

#include "estimate/estimate.h"
#include "model/model.h"
#include "num/normal.h"

/* Means of segment s from its thresholds t: sqrt(c) (A mu)_i = t_i sqrt(M_ii), exactly for k = n, else by least
 * squares weighted with the precision of t_i (delta method: N phi(t)^2 / (Phi(t) Phi(-t))). */
static blica_status solve_means(blica_ctx *ctx, blica_model *model, int s, double *work) {
  const int n = model->n, k = model->k;
  double *a = work, *right = a + (size_t)n * k, *diagonal = right + n;
  const double *t = model->thresholds + (size_t)s * n;
  lapack_int rank, *pivots = NULL;
  blica_status status;
  TRY(bl_alloc(ctx, (size_t)k, &pivots));
  bl_model_margins(model, s, diagonal, NULL);
  for (int i = 0; i < n; i++) {
    double scale = sqrt(diagonal[i]);
    double density = bl_phi_density(t[i]);
    double weight = k == n ? 1 : density / sqrt(bl_phi_cdf(t[i]) * bl_phi_cdf(-t[i])) / scale;
    right[i] = weight * t[i] * scale / sqrt(model->link);
    for (int j = 0; j < k; j++) a[i + (size_t)j * n] = weight * model->mixing[i + (size_t)j * n];
  }
  errno = 0;
  if (LAPACKE_dgelsy(LAPACK_COL_MAJOR, n, k, 1, a, n, right, n, pivots, 1e-12, &rank) != 0)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "segment '%s': the means of the sources could not be solved",
                 model->segments[s]);
  memcpy(model->means + (size_t)s * k, right, (size_t)k * sizeof(double));
done:
  bl_free(pivots);
  return status;
}

blica_status bl_complete_model(blica_ctx *ctx, blica_model *model, bool means_done) {
  blica_status status = BLICA_OK;
  double *work = NULL;
  if (!means_done) {
    TRY(bl_alloc(ctx, (size_t)model->n * model->k + 2 * (size_t)model->n, &work));
    for (int s = 0; s < model->u; s++) TRY(solve_means(ctx, model, s, work));
  }
  TRY(bl_model_canonical(ctx, model));
done:
  bl_free(work);
  return status;
}
