/* blica.c - the paper's Algorithm 1: regularise the correlation matrices, then maximise the scaled Gaussian
 * likelihood from several starting points and keep the best end.
 *
 * A start runs in two phases: L-BFGS, which finds its basin, then damped Newton steps to a stationary point
 * (sgauss_newton.c) where the dense system fits. */
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "estimate/driver/multistart.h"
#include "estimate/gauss/sgauss.h"
#include "estimate/gauss/sgauss_precondition.h"
#include "estimate/gauss/starts.h"
#include "num/lbfgs.h"

enum {
  HISTORY = 20,         /* L-BFGS pairs */
  PRECONDITIONED = 300, /* preconditioned L-BFGS iterations before Newton takes over */
  POLISH = 3,           /* rounds after the first phase */
  FIRST_POLISH = 1000,  /* number of the first of them, past those of the first phase */
  NEWTON_MAX = 200      /* n k of samples up to which Newton steps are taken where L-BFGS does not converge */
};

/* One start in progress. */
typedef struct {
  bl_start *start;
  const bl_settings *options;
  const bl_sgauss_data *data;
  bl_sgauss *g;
  bl_sgauss_preconditioner *preconditioner;
  bl_stage last; /* of its last round */
} run;

static run *run_of(void *start) {
  return ((bl_start *)start)->own;
}

static double objective(const double *theta, double *gradient, void *user) {
  return bl_sgauss_eval(run_of(user)->g, theta, gradient);
}

static bool uses_newton(const bl_sgauss_data *d) {
  return bl_sgauss_newton_fits(d->n, d->k);
}

static void precondition(double *direction, void *user) {
  bl_sgauss_preconditioner_apply(run_of(user)->preconditioner, direction);
}

/* What a round of either optimiser ended with. */
static void record_round(bl_start *s, double value, double gradient, int64_t iterations, int64_t evaluations) {
  s->record.objective = value;
  s->record.gradient = gradient;
  s->record.evaluations += evaluations;
  s->iterations += iterations;
}

/* Some L-BFGS iterations, with the preconditioner built where they begin when it is wanted. */
static blica_status lbfgs_round(run *r, int round, int64_t iterations, bool preconditioned, bl_lbfgs_result *result) {
  bl_start *s = r->start;
  bl_stage stage = bl_stage_below(&s->stage, "round %d", round);
  const int64_t left = r->options->max_iterations - s->iterations;
  bl_lbfgs_options options = {.history = HISTORY,
                              .max_iterations = iterations < left ? iterations : left,
                              .gradient_tolerance = r->options->tolerance,
                              .hook = bl_start_hook,
                              .stage = &stage};
  if (preconditioned) {
    if (bl_stage_find(&stage) != BL_STAGE_OVER) bl_sgauss_preconditioner_set(r->preconditioner, s->theta);
    options.precondition = precondition;
    options.max_evaluations = 3 * iterations + 1;
  }
  blica_status status = bl_lbfgs(s->ctx, bl_sgauss_size(r->data), s->theta, objective, s, &options, result);
  if (status != BLICA_OK) return status;
  if (result->end != BL_LBFGS_HOOK) bl_stage_drop_point(&r->last);
  r->last = stage;
  record_round(s, result->value, result->gradient_max, result->iterations, result->evaluations);
  return BLICA_OK;
}

/* Iterations of random starts before the preconditioner, longer the larger the problem, since a Newton step far from a
 * solution buys little. */
static int64_t plain_limit(const bl_sgauss_data *d) {
  int64_t limit = 3 * (int64_t)d->n * d->k;
  return limit < 150 ? 150 : limit > 1200 ? 1200 : limit;
}

/* Whether L-BFGS alone is to finish the start, a Newton step costing (n k)^2 (n + k) u and more; exact counts deserve
 * the last digits. */
static bool finishes_by_lbfgs(const run *r) {
  const bl_sgauss_data *d = r->data;
  return !uses_newton(d) || ((int64_t)d->n * d->k > NEWTON_MAX && !r->start->all->problem->cor->exact);
}

/* Whether Newton steps are left out where L-BFGS has converged. */
static bool leaves_last_digits(const run *r) {
  return bl_start_is_large(r->data->n, r->data->k) && !r->start->all->problem->cor->exact;
}

/* L-BFGS in rounds. Near a solution the preconditioner saves most iterations; far from one it may mislead, which
 * shows in long line searches: then a round does without. */
static blica_status first_phase(run *r, bool good_start) {
  blica_status status;
  const bool newton_soon = !finishes_by_lbfgs(r);
  bool preconditioned = good_start;
  int64_t plain = good_start ? 0 : plain_limit(r->data);
  const int64_t most = r->options->max_iterations, limit = newton_soon ? plain + PRECONDITIONED : most;
  TRY(bl_sgauss_preconditioner_make(r->start->ctx, r->data, NULL, &r->preconditioner));
  for (int round = 0; r->start->iterations < limit && r->start->iterations < most; round++) {
    int64_t iterations = preconditioned ? (round < 3 ? 30 : 100) : round == 0 ? plain : 150;
    if (iterations > limit - r->start->iterations) iterations = limit - r->start->iterations;
    bl_lbfgs_result result;
    TRY(lbfgs_round(r, round, iterations, preconditioned, &result));
    bool stuck = result.end == BL_LBFGS_LINE_SEARCH;
    if (result.end != BL_LBFGS_ITERATIONS && !(stuck && preconditioned)) break;
    bool preconditioner_fails = preconditioned && (stuck || result.evaluations > 3 * result.iterations);
    if (preconditioner_fails && newton_soon) break;
    preconditioned = !preconditioner_fails;
  }
done:
  return status;
}

static blica_status second_phase(run *r, int round) {
  bl_start *s = r->start;
  bl_stage stage = bl_stage_below(&s->stage, "newton %d", round);
  bl_newton_options options = {r->options->tolerance, r->options->max_iterations - s->iterations, bl_start_hook, s,
                               &stage};
  bl_newton_result result;
  blica_status status = bl_sgauss_newton(s->ctx, r->g, s->theta, &options, &result);
  if (status == BLICA_OK) record_round(s, result.value, result.gradient_max, result.steps, result.evaluations);
  return status;
}

/* Value and gradient where the start ended, in the standard scale: what is reported is what the model has. With a prior
 * the scale is part of the point and stays. */
static blica_status settle(run *r) {
  const bl_sgauss_data *d = r->data;
  bl_start *s = r->start;
  BL_OWNED double *gradient = NULL;
  blica_status status;
  TRY(bl_alloc(s->ctx, bl_sgauss_size(d), &gradient));
  if (d->precision_mixing == 0 && d->precision_variance == 0) bl_sgauss_standard(d, s->theta);
  s->record.objective = bl_sgauss_eval(r->g, s->theta, gradient);
  s->record.gradient = bl_sgauss_slope(d, s->theta, gradient);
  s->record.evaluations++;
done:
  return status;
}

static bool gradient_is_small(const run *r) {
  const blica_start *record = &r->start->record;
  return record->gradient <= r->options->tolerance * fmax(1, fabs(record->objective));
}

/* Newton steps, or for large problems more of L-BFGS, until the gradient is small in the standard scale too, where it
 * may be larger than in the scale that they ended in. */
static blica_status polish(run *r) {
  blica_status status;
  bool there = gradient_is_small(r);
  const bool newton = !finishes_by_lbfgs(r) && !(there && leaves_last_digits(r));
  TRY(settle(r));
  for (int round = 0; round < POLISH && !bl_start_ended(r->start); round++) {
    bl_lbfgs_result result;
    if (!newton && (gradient_is_small(r) || !there)) break;
    TRY(newton ? second_phase(r, round) : lbfgs_round(r, FIRST_POLISH + round, PRECONDITIONED, true, &result));
    there = gradient_is_small(r);
    TRY(settle(r));
    if (!there || gradient_is_small(r)) break;
  }
done:
  return status;
}

static double largest_row(const bl_sgauss_data *d, const double *theta) {
  return bl_largest_row(d->n, d->k, d->u, d->link, theta, theta + bl_sgauss_local(d, 0),
                        bl_sgauss_local(d, 1) - bl_sgauss_local(d, 0));
}

/* Fills the record: objective as a log-likelihood, relative gradient, why it stopped. */
static void finish(run *r) {
  bl_start *s = r->start;
  const bl_sgauss_data *d = r->data;
  const double value = s->record.objective;
  const bool prior = d->precision_mixing > 0 || d->precision_variance > 0;
  s->record.gradient /= fmax(1, fabs(value));
  s->record.objective = s->all->constant - value;
  s->record.stop = bl_start_stop(s, s->record.gradient <= r->options->tolerance);
  if (s->record.stop == BLICA_STOP_STALLED && !prior && largest_row(d, s->theta) > BL_INFINITE_ROW)
    s->record.stop = BLICA_STOP_UNBOUNDED;
}

static void pass_flag(bl_state *state, void *user) {
  bl_pass_flag(state, user);
}

/* Where the start begins or, when a checkpoint has it, the point where the last round ended. */
static blica_status starting_point(run *r, bool *jointdiag) {
  bl_start *s = r->start;
  const size_t size = bl_sgauss_size(r->data);
  r->last = bl_stage_below(&s->stage, "begin");
  if (bl_stage_find(&r->last) == BL_STAGE_OVER)
    return bl_stage_load_at(s->ctx, &r->last, pass_flag, jointdiag, s->theta, size);
  blica_status status = bl_start_begin(s->ctx, r->data, r->options->seed, s->index, jointdiag, s->theta);
  if (status == BLICA_OK) bl_stage_over_at(s->ctx, &r->last, pass_flag, jointdiag, s->theta, size);
  return status;
}

/* From a point to the end of the start: from a new starting point, or from where it stands, near a solution. */
static blica_status maximise(bl_start *s, bool anew) {
  blica_status status;
  run r = {.start = s, .options = s->all->problem->options, .data = s->all->user};
  bool good_start = !anew || bl_start_by_jointdiag(r.data->n, r.data->k, s->index);
  s->own = &r;
  TRY(bl_sgauss_make(s->ctx, r.data, &r.g));
  if (anew) {
    TRY(starting_point(&r, &good_start));
    bl_start_set_kind(s, bl_start_kind(good_start, s->index));
  }
  TRY(first_phase(&r, good_start));
  TRY(polish(&r));
  finish(&r);
done:
  bl_sgauss_preconditioner_free(r.preconditioner);
  bl_sgauss_free(r.g);
  return status;
}

static blica_status run_start(bl_start *s) {
  return maximise(s, true);
}

/* A start that was ended as a duplicate and yet is the best, to its end. */
static blica_status go_on(bl_start *s) {
  s->stage = bl_stage_below(&s->all->problem->stage, "end");
  return maximise(s, false);
}

static void fill_model(const bl_sgauss_data *d, const double *theta, blica_model *model) {
  memcpy(model->mixing, theta, (size_t)model->n * model->k * sizeof(double));
  for (int s = 0; s < model->u; s++)
    for (int j = 0; j < model->k; j++)
      model->variances[j + (size_t)s * model->k] = exp(theta[bl_sgauss_local(d, s) + (size_t)j]);
}

/* The shifts of the regularisation, into the record of the fit. */
static blica_status regularise(blica_ctx *ctx, const blica_cor *cor, double condition, blica_fit_report *fit) {
  blica_status status;
  double begun = bl_seconds();
  TRY(bl_alloc(ctx, (size_t)cor->u, &fit->shift));
  TRY(bl_alloc(ctx, (size_t)cor->u, &fit->eigen_min));
  TRY(bl_alloc(ctx, (size_t)cor->u, &fit->eigen_max));
  TRY(bl_agree(ctx, bl_regularise_shifts(ctx, cor, &condition, fit->shift, fit->eigen_min, fit->eigen_max)));
  fit->condition = condition;
  fit->seconds_regularise = bl_seconds() - begun;
done:
  return status;
}

/* A prior of fixed scales in place of a learned one, whose scales are those that method matched learns from the same
 * correlations. */
static blica_status settle_prior(blica_ctx *ctx, const bl_problem *problem, const blica_model *model, bl_settings *o) {
  if (o->prior != BLICA_PRIOR_AUTO) return BLICA_OK;
  blica_status status = bl_matched_scales(ctx, problem, model, &o->prior_mixing, &o->prior_variance);
  if (status == BLICA_OK) o->prior = BLICA_PRIOR_FIXED;
  return status;
}

static void set_prior(const bl_settings *o, blica_model *model, bl_sgauss_data *data) {
  if (o->prior != BLICA_PRIOR_FIXED) return;
  data->precision_mixing = 1 / (o->prior_mixing * o->prior_mixing);
  data->precision_variance = 1 / (o->prior_variance * o->prior_variance);
  model->fit.prior_mixing = o->prior_mixing;
  model->fit.prior_variance = o->prior_variance;
}

blica_status bl_estimate_blica(blica_ctx *ctx, const bl_problem *caller, blica_model *model, bool *means_done) {
  blica_status status;
  bl_settings o = *caller->options;
  bl_problem problem = *caller;
  bl_sgauss_data *data = NULL;
  bl_multistart all = {.problem = &problem, .run = run_start, .count = o.starts, .factor = 1, .keep = true};
  *means_done = false;
  problem.options = &o;
  TRY(settle_prior(ctx, &problem, model, &o));
  if (o.condition == BLICA_CONDITION_DEFAULT) o.condition = problem.cor->exact ? INFINITY : 10;
  TRY(regularise(ctx, problem.cor, o.condition, &model->fit));
  TRY(bl_sgauss_data_make(ctx, problem.cor, model->fit.shift, model->k, &o, &data));
  set_prior(&o, model, data);
  all.user = data;
  all.size = bl_sgauss_size(data);
  all.constant = bl_sgauss_constant(data);
  all.side_by_side = data->lanes && o.starts > 1;
  all.n = data->n, all.k = data->k;
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  TRY(bl_multistart_end(ctx, &all, go_on, &model->fit));
  fill_model(data, all.best->theta, model);
done:
  bl_multistart_free(&all);
  bl_sgauss_data_free(data);
  return status;
}
