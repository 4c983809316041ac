/* optimum.c - the distance of a model from the optimum of its own method for the data at hand.
 *
 * A fit is a function of its data and options, so that the refit of a model that was fitted to these data is the same
 * model. A fit that was stopped early, a model of other data and a model that was never fitted all differ from it; how
 * much that matters is measured in standard errors of the refit (sandwich.c), over all loadings and log-variances. */
#include "inference/optimum.h"

#include <math.h>
#include <string.h>

#include "inference/bootstrap.h"
#include "inference/scores/sandwich.h"

static const double SAME_MCS = 0.999; /* columns that agree so well are the same where there are no errors */
static const double ROUNDING = 1e-6;  /* relative difference between the same fits on different processors */

/* difference [nk + uk] of the model from the refit, columns matched by `match`; returns the largest relative one. */
static double differences(const blica_model *m, const blica_model *fit, const int *match, double *difference) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  double most = 0;
  for (size_t j = 0; j < k; j++) {
    const double *own = m->mixing + n * j;
    const size_t at = (size_t)match[j];
    double inner = 0, size = 0;
    for (size_t i = 0; i < n; i++) inner += own[i] * fit->mixing[i + n * at];
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(fit->mixing[i + n * at]));
    for (size_t i = 0; i < n; i++) {
      difference[i + n * at] = (inner < 0 ? -1 : 1) * own[i] - fit->mixing[i + n * at];
      most = fmax(most, fabs(difference[i + n * at]) / fmax(size, 1e-300));
    }
    for (size_t s = 0; s < u; s++) {
      double *d = &difference[n * k + at + k * s];
      *d = log(m->variances[j + k * s]) - log(fit->variances[at + k * s]);
      most = fmax(most, fabs(*d));
    }
  }
  return most;
}

/* In standard errors of the refit; infinite where it has none. */
static blica_status in_errors(blica_ctx *ctx, const blica_model *fit, const bl_rows *rows, const blica_counts *counts,
                              const double *difference, bl_optimum *out) {
  const size_t p = (size_t)(fit->n + fit->u) * (size_t)fit->k;
  BL_OWNED double *covariance = NULL, *bias = NULL;
  MUST(bl_alloc(ctx, bl_mul(p, p), &covariance));
  MUST(bl_alloc(ctx, 2 * p, &bias));
  const blica_status status = bl_sandwich(ctx, fit, rows, counts, covariance, bias);
  out->distance = out->mcs > SAME_MCS ? 0 : INFINITY;
  if (status == BLICA_ERR_NUMERIC) return BLICA_OK;
  MUST(status);
  for (size_t i = 0; i < p; i++)
    if (covariance[i * (p + 1)] > 0)
      out->distance =
          fmax(isinf(out->distance) ? 0 : out->distance, fabs(difference[i]) / sqrt(covariance[i * (p + 1)]));
  return BLICA_OK;
}

blica_status bl_optimum_find(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                             bl_optimum *out) {
  BL_AUTO(blica_model) *fit = NULL;
  BL_OWNED double *difference = NULL, *cosine = NULL;
  BL_OWNED int *match = NULL;
  *out = (bl_optimum){NAN, NAN};
  bl_warn_hold(ctx);
  const blica_status status = bl_refit(ctx, model, rows, rows->weight, &fit);
  bl_warn_release(ctx);
  if (status == BLICA_ERR_MEMORY || status == BLICA_ERR_INTERRUPTED) return status;
  if (status != BLICA_OK) {
    bl_warn(ctx, "the model could not be fitted again to these data: %s", blica_message(ctx));
    return BLICA_OK;
  }
  if (fit->fit.stop == BLICA_STOP_INTERRUPTED)
    return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted while the model was fitted again");
  MUST(bl_alloc(ctx, (size_t)(model->n + model->u) * (size_t)model->k, &difference));
  MUST(bl_alloc(ctx, (size_t)model->k, &cosine));
  MUST(bl_alloc(ctx, (size_t)model->k, &match));
  MUST(blica_compare(ctx, model->n, model->k, model->mixing, fit->mixing, &out->mcs, match, cosine));
  out->distance = 0;
  if (differences(model, fit, match, difference) <= ROUNDING) return BLICA_OK;
  return in_errors(ctx, fit, rows, counts, difference, out);
}

/* 1: equal in all rows that have both, -1: opposite, 0: neither. */
static int agreement(const bl_rows *rows, int i, int j) {
  const bool two = bl_levels(rows->coding, i) == 2 && bl_levels(rows->coding, j) == 2;
  bool equal = true, opposite = two;
  int seen = 0, last = -1;
  for (int64_t p = 0; p < rows->count && (equal || opposite); p++) {
    const int8_t *x = rows->x + (size_t)rows->n * (size_t)p;
    if (x[i] == BLICA_MISSING || x[j] == BLICA_MISSING) continue;
    equal = equal && x[i] == x[j], opposite = opposite && x[i] == 1 - x[j];
    seen += x[i] != last, last = x[i];
  }
  return seen < 2 ? 0 : equal - opposite;
}

bool bl_optimum_twins(const bl_rows *rows, int *first, int *second) {
  for (*second = 1; *second < rows->n; (*second)++)
    for (*first = 0; *first < *second; (*first)++)
      if (agreement(rows, *first, *second) != 0) return true;
  return false;
}
