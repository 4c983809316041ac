/* pairwise.c - method `pairwise`: the likelihood of the tables of all pairs (docs/method.md, equation 24).
 *
 * One start, at the solution of method matched and under the scales of the priors that it has learned. With two levels
 * thresholds come from the margins, and the tables (tables.c) are the only term. With more, cuts are common to all
 * segments and carry the scales of the items, so that they must be fitted with the rest: mixing matrix, variances,
 * means and cuts together (level_tables.c). */
#include <math.h>
#include <string.h>

#include "data/coding.h"
#include "estimate/gauss/rounds.h"
#include "model/model.h"
#include "num/lbfgs.h"

/* The solution of method matched; sd becomes the scales of the priors that it learned. */
static blica_status first_model(blica_ctx *ctx, const bl_problem *problem, const blica_model *model, double sd[2],
                                blica_model **out) {
  bl_problem inner = *problem;
  blica_fit_options options = *problem->options;
  bool means_done;
  options.likelihood_power = 1;
  if (options.prior == BLICA_PRIOR_NONE) options.prior = BLICA_PRIOR_AUTO;
  inner.options = &options;
  inner.stage = bl_stage_below(&problem->stage, "matched");
  MUST(bl_model_like(ctx, model, out));
  MUST(bl_estimate_matched(ctx, &inner, *out, &means_done));
  bl_model_prior(*out, &sd[0], &sd[1]);
  return BLICA_OK;
}

/* ---- two levels ---- */

static blica_status run_from_matched(blica_ctx *ctx, bl_gauss_fit *fit, blica_model *model) {
  BL_AUTO(blica_model) *start = NULL;
  BL_OWNED double *begin = NULL;
  bl_problem inner = *fit->problem;
  blica_fit_options options = *fit->problem->options;
  double sd[2] = {options.prior_mixing, options.prior_variance};
  const size_t nk = bl_local(&fit->criterion.layout, 0), size = bl_layout_size(&fit->criterion.layout);
  MUST(bl_alloc(ctx, size, &begin));
  MUST(first_model(ctx, fit->problem, model, sd, &start));
  memcpy(begin, start->mixing, nk * sizeof *begin);
  for (size_t i = nk; i < size; i++) begin[i] = log(start->variances[i - nk]);
  options.starts = 1;
  options.prior_mixing = sd[0], options.prior_variance = sd[1];
  if (options.prior != BLICA_PRIOR_NONE) options.prior = BLICA_PRIOR_FIXED;
  inner.options = &options;
  fit->problem = &inner, fit->begin = begin;
  return bl_gauss_fit_run(ctx, fit, model);
}

/* ---- more levels ---- */

enum { HISTORY = 30 };

typedef struct {
  bl_level_tables *tables;
  const double *begin;
} shared;

static double objective(const double *theta, double *gradient, void *user) {
  const bl_start *s = user;
  return bl_level_tables_eval(((const shared *)s->all->user)->tables, theta, gradient);
}

static blica_status run_start(bl_start *s) {
  blica_status status;
  const shared *own = s->all->user;
  const blica_fit_options *o = s->all->problem->options;
  bl_stage stage = bl_stage_below(&s->stage, "lbfgs");
  bl_lbfgs_options options = {.history = HISTORY,
                              .max_iterations = o->max_iterations,
                              .gradient_tolerance = o->tolerance,
                              .hook = bl_start_hook,
                              .stage = &stage};
  bl_lbfgs_result result;
  memcpy(s->theta, own->begin, s->all->size * sizeof(double));
  TRY(bl_lbfgs(s->ctx, s->all->size, s->theta, objective, s, &options, &result));
  bl_start_set_kind(s, "matched");
  s->iterations += result.iterations;
  s->record.evaluations += result.evaluations;
  s->record.objective = -result.value;
  s->record.gradient = result.gradient_max / fmax(1, fabs(result.value));
  s->record.stop = bl_start_stop(s, s->record.gradient <= o->tolerance);
done:
  return status;
}

static blica_status estimate_levels(blica_ctx *ctx, const bl_problem *problem, blica_model *model) {
  blica_status status;
  const blica_fit_options *o = problem->options;
  const bool none = o->prior == BLICA_PRIOR_NONE;
  BL_OWNED double *begin = NULL;
  double sd[2] = {o->prior_mixing, o->prior_variance};
  BL_AUTO(blica_model) *first = NULL;
  shared own = {0};
  bl_multistart all = {.problem = problem, .run = run_start, .user = &own, .count = 1, .factor = 1, .keep = true};
  TRY(first_model(ctx, problem, model, sd, &first));
  TRY(bl_solve_means(ctx, first, true));
  TRY(bl_level_tables_make(ctx, model, problem->counts, 0.5 * o->likelihood_power, none ? 0 : 1 / (sd[0] * sd[0]),
                           none ? 0 : 1 / (sd[1] * sd[1]), &own.tables));
  all.size = bl_level_tables_size(own.tables);
  TRY(bl_alloc(ctx, all.size, &begin));
  bl_level_tables_take(first, begin);
  own.begin = begin;
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  bl_level_tables_give(all.best->theta, model);
  if (!none) model->fit.prior_mixing = sd[0], model->fit.prior_variance = sd[1];
done:
  bl_multistart_free(&all);
  bl_free(own.tables);
  return status;
}

blica_status bl_estimate_pairwise(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  bl_gauss_fit fit = {.problem = problem};
  bl_layout *layout = &fit.criterion.layout;
  BL_OWNED bl_tables *tables = NULL;
  BL_OWNED bl_gauss *gauss = NULL;
  *means_done = bl_coding_ordinal(model->coding);
  if (*means_done) return estimate_levels(ctx, problem, model);
  *layout =
      (bl_layout){.n = model->n, .k = model->k, .u = model->u, .locals = model->k, .link = problem->options->link};
  MUST(bl_tables_make(ctx, layout, problem->counts, model->thresholds, &tables));
  for (int s = 0; s < model->u; s++) tables->weight[s] = 0.5 * problem->options->likelihood_power;
  bl_criterion_add(&fit.criterion, bl_tables_term(tables));
  MUST(bl_gauss_make(ctx, layout, problem->cor, NULL, problem->options->likelihood_power, &gauss));
  fit.criterion.gauss = gauss; /* what the tables tell is about what their correlations do */
  return run_from_matched(ctx, &fit, model);
}
