/* ep_rows.c - how far expectation propagation is from the truth, by importance sampling.
 *
 * A sample of patterns is drawn with probability in proportion to their rows (systematically, so that the same seed
 * takes the same ones). For each, sources z are drawn from the Gaussian that expectation propagation ended with, a
 * little widened, and P(x) = E[phi(z) prod P(x_i|z) / proposal(z)]. The posterior is log-concave, so the weights
 * behave; with DRAWS draws log P is known to about 1e-3. */
#include <math.h>
#include <string.h>

#include "likelihood/engines.h"
#include "num/rectangles/ep.h"
#include "num/normal/normal.h"
#include "num/rng.h"

enum { SAMPLE = 64, DRAWS = 4096 };
#define WIDEN 1.1 /* of standard deviations */

typedef struct {
  int n, k;
  const double *mean, *loading;
  const uint8_t *x;
  bl_intervals levels;
  double *first, *second, *z; /* posterior; its Cholesky factor replaces second */
} target;

/* log P of item i at its level, its latent variable having mean y and variance 1. */
static double log_level(const bl_intervals *levels, int i, int level, double y) {
  if (!levels->first) return bl_phi_log_cdf(level ? y : -y);
  const double *low = bl_edge_below(levels, i, level), *high = bl_edge_above(levels, i, level);
  return bl_phi_log_between(low ? *low - y : -INFINITY, high ? *high - y : INFINITY);
}

/* log of one importance weight. */
static double log_weight(const target *t, bl_rng *rng) {
  double value = 0.0;
  for (int i = 0; i < t->k; i++) {
    double draw = bl_rng_normal(rng);
    t->z[t->k + i] = draw;
    value += 0.5 * draw * draw + log(WIDEN * t->second[i * t->k + i]);
  }
  for (int i = 0; i < t->k; i++) {
    double sum = t->first[i];
    for (int m = 0; m <= i; m++) sum += WIDEN * t->second[i * t->k + m] * t->z[t->k + m];
    t->z[i] = sum;
    value -= 0.5 * sum * sum;
  }
  for (int i = 0; i < t->n; i++) {
    double y = t->mean[i];
    for (int l = 0; l < t->k; l++) y += t->loading[i * t->k + l] * t->z[l];
    value += log_level(&t->levels, i, t->x[i], y);
  }
  return value;
}

/* log P of a row by importance sampling around its posterior by expectation propagation. */
static double sampled_log_p(const target *t, uint64_t seed, uint64_t stream) {
  bl_rng rng = bl_rng_make(seed, stream);
  double top = -INFINITY, sum = 0.0;
  for (int i = 0; i < t->k; i++)
    for (int j = 0; j < t->k; j++) t->second[i * t->k + j] -= t->first[i] * t->first[j];
  bl_factorise(t->k, t->second, t->second);
  for (int d = 0; d < DRAWS; d++) {
    double w = log_weight(t, &rng);
    sum = w > top ? sum * exp(top - w) + 1.0 : sum + exp(w - top);
    top = fmax(top, w);
  }
  return top + log(sum / DRAWS);
}

/* The pattern that holds the given row, counting rows through all groups. */
static const bl_group *locate(const bl_patterns *p, double row, int64_t *pattern) {
  for (int g = 0; g < p->groups; g++)
    for (int64_t r = 0; r < p->group[g].count; r++) {
      row -= p->group[g].weight[r];
      *pattern = r;
      if (row < 0) return &p->group[g];
    }
  return &p->group[p->groups - 1];
}

/* log P of pattern r of a group by sampling, less that by expectation propagation; z [2k] is workspace. */
static double gap_of(blica_ctx *ctx, const bl_likelihood *l, const bl_params *params, const bl_group *g, int64_t r,
                     uint64_t seed, uint64_t stream, double *z) {
  bl_workspace *workspace = l->workspace[0];
  bl_group_parameters(g, l->segment[g->segment], params, workspace->mean, workspace->loading);
  const bl_intervals levels = bl_group_intervals(g, l->segment[g->segment], params, workspace->edge);
  bl_ep ep = {.n = g->n,
              .k = l->k,
              .mean = workspace->mean,
              .loading = workspace->loading,
              .count = 1,
              .x = g->x + r * g->n,
              .levels = levels,
              .log_p = workspace->log_p,
              .score = workspace->score,
              .first = workspace->first,
              .second = workspace->second,
              .work = workspace->engine};
  bl_ep_run(&ep, blica_simd_level(ctx));
  const target t = {.n = g->n,
                    .k = l->k,
                    .mean = workspace->mean,
                    .loading = workspace->loading,
                    .x = ep.x,
                    .levels = levels,
                    .first = workspace->first,
                    .second = workspace->second,
                    .z = z};
  return sampled_log_p(&t, seed, stream) - workspace->log_p[0];
}

blica_status bl_likelihood_ep_error(blica_ctx *ctx, bl_likelihood *l, const bl_params *params, uint64_t seed,
                                    double *mean, double *error) {
  BL_OWNED double *z = NULL;
  double sum = 0.0, squares = 0.0, rows = 0.0;
  MUST(bl_alloc(ctx, 2 * (size_t)l->k, &z));
  for (int g = 0; g < l->patterns->groups; g++)
    for (int64_t r = 0; r < l->patterns->group[g].count; r++) rows += l->patterns->group[g].weight[r];
  *mean = *error = 0.0;
  if (rows == 0) return BLICA_OK;
  for (int d = 0; d < SAMPLE; d++) {
    int64_t r = 0;
    const bl_group *g = locate(l->patterns, rows * (d + 0.5) / SAMPLE, &r);
    double gap = gap_of(ctx, l, params, g, r, seed, (uint64_t)d, z);
    sum += gap;
    squares += gap * gap;
  }
  *mean = sum / SAMPLE;
  *error = sqrt(fmax(squares / SAMPLE - *mean * *mean, 0.0) / SAMPLE);
  return BLICA_OK;
}
