/* mle_start.c - points where the full likelihood's maximum is sought: solutions of other methods. */
#include <math.h>
#include <string.h>

#include "estimate/mle/mle.h"

enum { START_ITERATIONS = 1000 }; /* of the methods that give starting points */
#define START_TOLERANCE 1e-7
/* Norm of sqrt(c) A_i in a starting point; data tell nothing beyond, and the grid's cost grows with it. */
#define STEEPEST 20.0
/* Where sources are as many as variables means beyond 3 are common, and together give the base rates. */
#define LARGEST_MEAN 30.0

/* Scales that a start has learned are where learning them by the full likelihood begins. */
static void take_scales(bl_mle *m, const blica_model *start) {
  double mixing = NAN, variance = NAN;
  bl_model_prior(start, &mixing, &variance);
  if (mixing > 0 && variance > 0) bl_mle_set_prior(m, fmin(fmax(mixing, 0.2), 50.0), fmin(fmax(variance, 0.1), 5.0));
}

/* On few rows a solution may have rows of A without bound: shortened, they are still steps. */
static void shorten_rows(const bl_mle *m, const blica_coding *coding, double link, double *mixing, double *cuts) {
  for (int i = 0; i < m->n; i++) {
    double squares = 0.0;
    for (int j = 0; j < m->k; j++) squares += link * mixing[i + (size_t)j * m->n] * mixing[i + (size_t)j * m->n];
    double scale = STEEPEST / fmax(STEEPEST, sqrt(squares));
    for (int j = 0; j < m->k; j++) mixing[i + (size_t)j * m->n] *= scale;
    for (int p = bl_plane(coding, i); p < bl_plane(coding, i + 1); p++) cuts[p] *= scale;
  }
}

blica_status bl_mle_solution(blica_ctx *ctx, const bl_problem *problem, bl_mle *m, const bl_mle_origin *from,
                             bool learn, const blica_model *shape, double *theta) {
  blica_status status = BLICA_OK;
  blica_model *start = NULL;
  blica_fit_options options = *problem->options;
  bl_problem inner = *problem;
  bool means_done = false;
  int n = shape->n, k = shape->k, u = shape->u;
  options.prior = from->prior;
  options.likelihood_power = 1.0;
  options.starts = m->engine == BLICA_ENGINE_EP ? problem->options->starts : 1; /* the only point, or one of several */
  options.max_iterations = START_ITERATIONS;
  options.tolerance = START_TOLERANCE;
  inner.options = &options;
  inner.stage = bl_stage_below(&problem->stage, "%s", from->name);
  TRY(bl_model_like(ctx, shape, &start));
  TRY(from->estimate(ctx, &inner, start, &means_done));
  if (learn && from->prior == BLICA_PRIOR_AUTO) take_scales(m, start);
  TRY(bl_model_complete(ctx, start, m->cuts > 0, means_done));
  shorten_rows(m, start->coding, start->link, start->mixing, start->cuts);
  memcpy(theta, start->mixing, sizeof(double) * (size_t)n * (size_t)k);
  if (m->cuts) bl_cuts_set(start->coding, n, start->cuts, theta + (size_t)n * (size_t)k);
  for (int s = 0; s < u; s++)
    for (int j = 0; j < k; j++) {
      double v = start->variances[j + (size_t)s * k], mu = start->means[j + (size_t)s * k];
      theta[bl_mle_local(m, s) + (size_t)j] = log(fmin(fmax(v, 1e-3), 1e3));
      theta[bl_mle_local(m, s) + (size_t)(k + j)] = isfinite(mu) ? fmin(fmax(mu, -LARGEST_MEAN), LARGEST_MEAN) : 0.0;
    }
done:
  blica_model_free(start);
  return status;
}
