/* blica.c - the paper's Algorithm 1: regularise the correlation matrices, then maximise the Gaussian likelihood with
 * free scales of the items from several starting points and keep the best end. */
#include "cor/cor.h"
#include "estimate/gauss/rounds.h"

/* The shifts of the regularisation, into the record of the fit. */
static blica_status regularise(blica_ctx *ctx, const blica_cor *cor, double condition, blica_fit_report *fit) {
  double begun = bl_seconds();
  MUST(bl_alloc(ctx, (size_t)cor->u, &fit->shift));
  MUST(bl_alloc(ctx, (size_t)cor->u, &fit->eigen_min));
  MUST(bl_alloc(ctx, (size_t)cor->u, &fit->eigen_max));
  MUST(bl_agree(ctx, bl_regularise_shifts(ctx, cor, &condition, fit->shift, fit->eigen_min, fit->eigen_max)));
  fit->condition = condition;
  fit->seconds_regularise = bl_seconds() - begun;
  return BLICA_OK;
}

/* A prior of fixed scales in place of a learned one, whose scales are those that method matched learns from the same
 * correlations. */
static blica_status fix_prior(blica_ctx *ctx, const bl_problem *problem, const blica_model *model,
                              blica_fit_options *o) {
  if (o->prior != BLICA_PRIOR_AUTO) return BLICA_OK;
  MUST(bl_matched_scales(ctx, problem, model, &o->prior_mixing, &o->prior_variance));
  o->prior = BLICA_PRIOR_FIXED;
  return BLICA_OK;
}

blica_status bl_estimate_blica(blica_ctx *ctx, const bl_problem *caller, blica_model *model, bool *means_done) {
  blica_fit_options o = *caller->options;
  bl_problem problem = *caller;
  bl_gauss_fit fit = {.problem = &problem, .scores = true};
  bl_layout *layout = &fit.criterion.layout;
  BL_OWNED bl_gauss *gauss = NULL;
  *means_done = false;
  problem.options = &o;
  *layout = (bl_layout){.n = model->n, .k = model->k, .u = model->u, .locals = model->k + model->n, .link = o.link};
  MUST(fix_prior(ctx, &problem, model, &o));
  if (o.condition == BLICA_CONDITION_DEFAULT) o.condition = problem.cor->exact ? INFINITY : 10;
  MUST(regularise(ctx, problem.cor, o.condition, &model->fit));
  MUST(bl_gauss_make(ctx, layout, problem.cor, model->fit.shift, o.likelihood_power, &gauss));
  bl_criterion_add(&fit.criterion, bl_gauss_term(gauss));
  fit.criterion.gauss = gauss;
  fit.constant = bl_gauss_constant(gauss);
  fit.shift = model->fit.shift;
  return bl_gauss_fit_run(ctx, &fit, model);
}
