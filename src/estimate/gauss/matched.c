/* matched.c - method `matched`: what its objective over correlations is made of.
 *
 * The Gaussian likelihood of the correlations with the noise of coarse data on both sides (docs/method.md, equations 19
 * to 22, 29), with the tables of rare outcomes (30), the scales of ordinal items and the margins (33). Fitted by
 * corfit_run.c. */
#include <math.h>
#include <string.h>

#include "base/share.h"
#include "cor/cor.h"
#include "data/coding.h"
#include "estimate/gauss/corfit_run.h"
#include "estimate/gauss/sgauss.h"
#include "model/model.h"
#include "model/owned.h"
#include "num/normal.h"

/* As for the scaled Gaussian: the matrices of eight segments fit the second-level cache. */
enum { LANES_MAX_N = 32 };

/* What coarsening adds to the variance 1 of q_i: 1/I - 1, I = sum_l (phi(t_l) - phi(t_(l+1)))^2 / p_l the share of the
 * variance that its best score of levels keeps; with two levels p(1-p)/phi(t)^2 - 1. Exact counts carry it
 * as well: it is a property of the data, and the minimum does not depend on it. */
static double coarseness(const blica_cor *cor, int s, int i) {
  const double *t = cor->thresholds + (size_t)cor->planes * (size_t)s;
  int first = bl_plane(cor->coding, i), last = bl_plane(cor->coding, i + 1);
  double density = bl_phi_density(t[first]), kept = 0, before = 0, above = 1;
  if (last - first == 1) return bl_phi_cdf(t[first]) * bl_phi_cdf(-t[first]) / (density * density) - 1;
  for (int p = first; p <= last; p++) {
    double now = p < last ? bl_phi_density(t[p]) : 0, share = p < last ? bl_phi_cdf(t[p]) : 0;
    if (above - share > 1e-12) kept += (now - before) * (now - before) / (above - share);
    before = now, above = share;
  }
  return 1 / kept - 1;
}

/* Eight segments in lanes; those without a segment hold the identity, with some noise. */
static void fill_lanes(const blica_cor *cor, int s, double *matrix, bl_corfit_data *data) {
  const size_t n = (size_t)cor->n, at = (size_t)(s / BL_LANES) * BL_LANES, lane = (size_t)(s % BL_LANES);
  const bool padding = s >= cor->u;
  double *c = data->c + at * n * n + lane, *own = data->lane_noise + at * n + lane;
  if (!padding) blica_cor_matrix(cor, s, matrix);
  for (size_t i = 0; i < n * n; i++) c[i * BL_LANES] = padding ? i % (n + 1) == 0 : matrix[i];
  for (size_t i = 0; i < n; i++) {
    own[i * BL_LANES] = padding ? 1 : data->noise[i + n * (size_t)s];
    c[i * (n + 1) * BL_LANES] += own[i * BL_LANES];
  }
}

blica_status bl_corfit_matched_data(blica_ctx *ctx, const blica_cor *cor, bl_corfit_data *data) {
  blica_status status;
  const size_t n = (size_t)cor->n, padded = ((size_t)cor->u + BL_LANES - 1) / BL_LANES * BL_LANES;
  BL_OWNED double *matrix = NULL;
  data->lanes = cor->n <= LANES_MAX_N && !cor->item_rows;
  data->cor = cor;
  data->work = data->lanes ? bl_corfit_lanes_work(cor->n, data->k) : bl_corfit_matched_work(cor->n, data->k);
  TRY(bl_share_make(ctx, cor->u, bl_sgauss_groups(data->n, data->k, data->u), &data->share));
  TRY(bl_alloc(ctx, n * (size_t)cor->u, &data->noise));
  data->plain = data->noise;
  if (cor->item_rows) TRY(bl_alloc(ctx, n * (size_t)cor->u, &data->plain));
  for (size_t i = 0; i < n * (size_t)cor->u; i++) data->plain[i] = coarseness(cor, (int)(i / n), (int)(i % n));
  if (cor->item_rows) {
    TRY(bl_blocks_make(ctx, cor, data->link, data->plain, data->noise, &data->blocks));
    data->work = bl_blocks_work(data->n, data->k);
  }
  if (data->lanes) { /* every rank holds all */
    TRY(bl_alloc(ctx, n * n, &matrix));
    TRY(bl_alloc(ctx, bl_mul(n * n, padded), &data->c));
    TRY(bl_alloc(ctx, n * padded, &data->lane_noise));
    for (size_t s = 0; s < padded; s++) fill_lanes(cor, (int)s, matrix, data);
  } else if (cor->n <= BL_FULL_MAX_N) {
    const size_t first = (size_t)data->share.first, last = (size_t)data->share.last;
    TRY(bl_alloc(ctx, bl_mul(n * n, last - first), &data->c));
    for (size_t s = first; s < last; s++) blica_cor_matrix(cor, (int)s, data->c + (s - first) * n * n);
  }
done:
  return status;
}

void bl_corfit_matched_free(bl_corfit_data *data) {
  bl_share_free(&data->share);
  bl_free(data->c);
  if (data->plain != data->noise) bl_free(data->plain);
  bl_free(data->noise);
  bl_free(data->blocks);
  bl_free(data->lane_noise);
}

static blica_status scale_weights(blica_ctx *ctx, const blica_cor *cor, double share, double **weight) {
  blica_status status = bl_alloc(ctx, (size_t)cor->u, weight);
  for (int s = 0; status == BLICA_OK && s < cor->u; s++) (*weight)[s] = share * cor->samples[s];
  return status;
}

/* Where outcomes are rare a share of each segment's weight goes to its tables. The caller frees *shares
 * and *tails. */
static blica_status add_tables(blica_ctx *ctx, const bl_problem *problem, double *weight, bl_corfit_data *tables,
                               bl_corfit_data *data, double **shares, double **tails) {
  blica_status status;
  const size_t u = (size_t)data->u;
  double *own;
  TRY(bl_alloc(ctx, u, shares));
  own = *shares;
  for (size_t s = 0; s < u; s++) {
    const double share = bl_corfit_rare_share(problem->cor, (int)s);
    own[s] = 0.5 * problem->options->likelihood_power * share;
    weight[s] *= 1 - share;
  }
  tables->weight = own;
  TRY(bl_corfit_tails(ctx, tables, tails));
  data->also = tables;
done:
  return status;
}

/* What the margins of ordinal items say of their scales. */
static blica_status scale_observations(blica_ctx *ctx, const bl_problem *problem, bl_corfit_data *data) {
  const blica_cor *cor = problem->cor;
  const size_t count = (size_t)cor->n * (size_t)cor->u;
  blica_status status = bl_alloc(ctx, count, &data->scale_precision);
  for (size_t i = 0; status == BLICA_OK && i < count; i++)
    data->scale_precision[i] = problem->options->likelihood_power / (cor->log_scale_se[i] * cor->log_scale_se[i]);
  data->log_scale = cor->log_scale;
  return status;
}

static blica_status estimate(blica_ctx *ctx, const bl_problem *problem, bool average, blica_model *model) {
  blica_status status;
  BL_OWNED double *weight = NULL, *shares = NULL, *tails = NULL;
  double constant = 0;
  bl_corfit_data tables = bl_corfit_pairwise_data(ctx, problem->counts, model, problem->options->link);
  bl_corfit_data data = {
      .n = model->n, .k = model->k, .u = model->u, .link = problem->options->link, .average = average};
  TRY(scale_weights(ctx, problem->cor, problem->options->likelihood_power, &weight));
  data.weight = weight;
  TRY(bl_corfit_matched_data(ctx, problem->cor, &data));
  tables.thresholds = problem->cor->thresholds;
  if (problem->counts && bl_corfit_is_rare(problem->cor))
    TRY(add_tables(ctx, problem, weight, &tables, &data, &shares, &tails));
  if (problem->cor->log_scale) TRY(scale_observations(ctx, problem, &data));
  data.common_cuts = model->k < model->n && model->u > 1 && !bl_coding_ordinal(problem->cor->coding) &&
                     problem->options->thresholds == BLICA_THRESHOLDS_ITEMS;
  for (int s = 0; s < model->u; s++) constant -= 0.5 * weight[s] * model->n * log(6.283185307179586477);
  TRY(bl_corfit_run(ctx, problem, &data, constant, model));
done:
  bl_corfit_matched_free(&data);
  bl_free(data.scale_precision);
  return status;
}

blica_status bl_estimate_matched(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  *means_done = false;
  return estimate(ctx, problem, true, model);
}

/* For methods that maximise over A and v alike, so without averaging. */
blica_status bl_matched_scales(blica_ctx *ctx, const bl_problem *problem, const blica_model *shape, double *sd_mixing,
                               double *sd_variance) {
  BL_AUTO(blica_model) *scratch = NULL;
  bl_problem inner = *problem;
  bl_settings options = *problem->options;
  options.prior = BLICA_PRIOR_AUTO;
  options.starts = 1, options.likelihood_power = 1;
  inner.options = &options;
  inner.stage = bl_stage_below(&problem->stage, "scales");
  MUST(blica_model_create(ctx, shape->n, shape->k, shape->u, &scratch));
  MUST(estimate(ctx, &inner, false, scratch));
  bl_model_prior(scratch, sd_mixing, sd_variance);
  return BLICA_OK;
}
