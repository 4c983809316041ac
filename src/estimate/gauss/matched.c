/* matched.c - methods `matched` and `blica`: the terms of what they minimise.
 *
 * matched: the Gaussian likelihood of the correlations with the noise of coarse data on both sides (docs/method.md,
 * equations 19 to 22, 29), with the tables of rare outcomes (30), the scales of ordinal items, and the margins (33).
 * blica: the paper's Algorithm 1. The correlation matrices are regularised, and the likelihood has free scales of the
 * items. */
#include "cor/cor.h"
#include "data/coding.h"
#include "estimate/gauss/rounds.h"
#include "model/model.h"

/* The terms of a fit, which borrows them. */
typedef struct {
  bl_gauss *gauss;
  bl_tables *tables;
  bl_margins *margins;
  bl_item_scales scales;
} fit_terms;

static void free_terms(fit_terms *p) {
  bl_free(p->gauss);
  bl_free(p->tables);
  bl_free(p->margins);
  bl_free(p->scales.precision);
}

/* Where outcomes are rare a share of each segment's weight goes to its tables. */
static blica_status add_tables(blica_ctx *ctx, const bl_problem *problem, bl_criterion *c, fit_terms *p) {
  if (!problem->counts || !bl_is_rare(problem->cor)) return BLICA_OK;
  MUST(bl_tables_make(ctx, &c->layout, problem->counts, problem->cor->thresholds, &p->tables));
  for (int s = 0; s < c->layout.u; s++) {
    const double share = bl_rare_share(problem->cor, s);
    p->tables->weight[s] = 0.5 * problem->options->likelihood_power * share;
    p->gauss->weight[s] *= 1 - share;
  }
  bl_criterion_add(c, bl_tables_term(p->tables));
  return BLICA_OK;
}

/* Adds the term of the scales of ordinal items, if there are any. */
static blica_status add_scales(blica_ctx *ctx, const bl_problem *problem, bl_criterion *c, fit_terms *p) {
  const blica_cor *cor = problem->cor;
  const size_t count = (size_t)cor->n * (size_t)cor->u;
  if (!cor->log_scale) return BLICA_OK;
  p->scales = (bl_item_scales){.layout = c->layout, .log_scale = cor->log_scale};
  MUST(bl_alloc(ctx, count, &p->scales.precision));
  for (size_t i = 0; i < count; i++)
    p->scales.precision[i] = problem->freed && problem->freed[i]
                                 ? 0
                                 : problem->options->likelihood_power / (cor->log_scale_se[i] * cor->log_scale_se[i]);
  bl_criterion_add(c, bl_item_scales_term(&p->scales));
  return BLICA_OK;
}

/* Fits matched: makes the terms of its criterion, runs the rounds and fills the model. */
static blica_status fit_matched(blica_ctx *ctx, const bl_problem *problem, bool average, blica_model *model) {
  blica_status status;
  fit_terms p = {.gauss = NULL};
  bl_gauss_fit fit = {.problem = problem, .average = average};
  bl_criterion *c = &fit.criterion;
  const bool common_cuts = model->k < model->n && model->u > 1 && !bl_coding_ordinal(problem->cor->coding) &&
                           problem->options->thresholds == BLICA_THRESHOLDS_ITEMS;
  c->layout =
      (bl_layout){.n = model->n, .k = model->k, .u = model->u, .locals = model->k, .link = problem->options->link};
  TRY(bl_gauss_make(ctx, &c->layout, problem->cor, NULL, problem->options->likelihood_power, &p.gauss));
  c->gauss = p.gauss;
  bl_criterion_add(c, bl_gauss_term(p.gauss));
  TRY(add_tables(ctx, problem, c, &p));
  TRY(add_scales(ctx, problem, c, &p));
  if (common_cuts && average) TRY(bl_margins_make(ctx, p.gauss, problem->freed, &p.margins));
  fit.margins = p.margins;
  fit.constant = bl_gauss_constant(p.gauss);
  TRY(bl_gauss_fit_run(ctx, &fit, model));
done:
  free_terms(&p);
  return status;
}

blica_status bl_estimate_matched(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  *means_done = false;
  return fit_matched(ctx, problem, true, model);
}

/* Scales of the priors that method matched learns from the correlations; for a method that maximises over A and v
 * alike, so without averaging. */
static blica_status matched_scales(blica_ctx *ctx, const bl_problem *problem, const blica_model *shape,
                                   double *sd_mixing, double *sd_variance) {
  BL_AUTO(blica_model) *scratch = NULL;
  bl_problem inner = *problem;
  blica_fit_options options = *problem->options;
  options.prior = BLICA_PRIOR_AUTO;
  options.starts = 1, options.likelihood_power = 1;
  inner.options = &options;
  inner.stage = bl_stage_below(&problem->stage, "scales");
  MUST(blica_model_create(ctx, shape->n, shape->k, shape->u, &scratch));
  MUST(fit_matched(ctx, &inner, false, scratch));
  bl_model_prior(scratch, sd_mixing, sd_variance);
  return BLICA_OK;
}

/* ---- method blica ---- */

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
  MUST(matched_scales(ctx, problem, model, &o->prior_mixing, &o->prior_variance));
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
