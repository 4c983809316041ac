/* pairwise.c - method `pairwise`: the likelihood of all 2x2 tables (docs/method.md, equation 24).
 *
 * Fitted by corfit_run.c; a table's part of the objective is in corfit_pairwise.c. Items with more than two levels have
 * pairwise_levels.c. */
#include <math.h>
#include <string.h>

#include "data/coding.h"
#include "estimate/gauss/corfit_run.h"
#include "model/model.h"
#include "model/owned.h"

/* Many parameters: one start, at the solution of method matched and under the scales that it has learned. */
static blica_status run_from_matched(blica_ctx *ctx, const bl_problem *problem, bl_corfit_data *data,
                                     blica_model *model) {
  blica_status status;
  BL_AUTO(blica_model) *start = NULL;
  BL_OWNED double *begin = NULL;
  bool means_done;
  bl_problem inner = *problem;
  bl_settings options = *problem->options;
  const size_t nk = (size_t)data->n * (size_t)data->k;
  inner.options = &options;
  inner.stage = bl_stage_below(&problem->stage, "matched");
  options.likelihood_power = 1;
  TRY(blica_model_create(ctx, model->n, model->k, model->u, &start));
  TRY(bl_alloc(ctx, bl_corfit_size(data), &begin));
  TRY(bl_estimate_matched(ctx, &inner, start, &means_done));
  memcpy(begin, start->mixing, nk * sizeof *begin);
  for (size_t i = nk; i < bl_corfit_size(data); i++) begin[i] = log(start->variances[i - nk]);
  data->begin = begin;
  options = *problem->options;
  options.starts = 1;
  bl_model_prior(start, &options.prior_mixing, &options.prior_variance);
  if (options.prior != BLICA_PRIOR_NONE) options.prior = BLICA_PRIOR_FIXED;
  inner.stage = problem->stage;
  TRY(bl_corfit_run(ctx, &inner, data, 0, model));
done:
  data->begin = NULL;
  return status;
}

blica_status bl_estimate_pairwise(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  blica_status status;
  BL_OWNED double *weight = NULL, *below = NULL;
  bl_corfit_data data = bl_corfit_pairwise_data(ctx, problem->counts, model, problem->options->link);
  *means_done = false;
  if (bl_coding_ordinal(model->coding)) return bl_estimate_pairwise_levels(ctx, problem, model, means_done);
  TRY(bl_alloc(ctx, (size_t)model->u, &weight));
  for (int s = 0; s < model->u; s++) weight[s] = 0.5 * problem->options->likelihood_power;
  data.weight = weight;
  TRY(bl_corfit_tails(ctx, &data, &below));
  if ((size_t)model->n * (size_t)model->k > BL_LAPLACE_MAX)
    TRY(run_from_matched(ctx, problem, &data, model));
  else
    TRY(bl_corfit_run(ctx, problem, &data, 0, model));
done:
  return status;
}
