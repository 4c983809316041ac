/* blica.c - the paper's Algorithm 1: regularise the correlation matrices, then maximise the scaled Gaussian
 * likelihood from several starting points and keep the best end.
 *
 * A start runs in two phases: L-BFGS, which finds its basin, then damped Newton steps to a stationary point
 * (sgauss_newton.c) where the dense system fits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cor/cor.h"
#include "estimate/estimate.h"
#include "estimate/sgauss.h"
#include "estimate/sgauss_precondition.h"
#include "estimate/starts.h"
#include "num/lbfgs.h"

enum {
  HISTORY = 20,         /* L-BFGS pairs */
  PRECONDITIONED = 300, /* preconditioned L-BFGS iterations before Newton takes over */
  POLISH = 3,           /* rounds after the first phase */
  FIRST_POLISH = 1000,  /* number of the first of them, past those of the first phase */
  TRACE = 512           /* points kept of (seconds, value), to tell when a start came near its end */
};

/* One start in progress. */
typedef struct {
  blica_ctx *ctx;
  const bl_problem *problem;
  const bl_sgauss_data *data;
  bl_sgauss *g;
  bl_sgauss_preconditioner *preconditioner;
  double *theta;
  int index;
  bl_stage stage, last; /* of the start, and of its last round */
  blica_start record;
  int64_t iterations_before; /* of earlier phases */
  double begun;
  bool out_of_time, interrupted;
  int traced;
  double trace_seconds[TRACE], trace_value[TRACE];
} run;

static double objective(const double *theta, double *gradient, void *user) {
  return bl_sgauss_eval(((run *)user)->g, theta, gradient);
}

/* Remembers when the value fell by a quarter or more since last time; thins out when full. */
static void trace(run *r, double value) {
  if (r->traced && r->trace_value[r->traced - 1] - value < 0.25) return;
  if (r->traced == TRACE) {
    for (int i = 0; i < TRACE / 2; i++) {
      r->trace_seconds[i] = r->trace_seconds[2 * i + 1];
      r->trace_value[i] = r->trace_value[2 * i + 1];
    }
    r->traced = TRACE / 2;
  }
  r->trace_seconds[r->traced] = bl_seconds() - r->begun;
  r->trace_value[r->traced++] = value;
}

static int after_iteration(int64_t iteration, double value, double gradient_max, void *user) {
  run *r = user;
  (void)gradient_max;
  trace(r, value);
  int64_t done = r->iterations_before + iteration;
  blica_progress progress = {"fit", -1, bl_sgauss_constant(r->data) - value, r->index, done};
  int stop = bl_poll_agreed(r->ctx, &progress, r->problem->deadline);
  if (stop & 1) r->interrupted = true;
  if (stop & 2) r->out_of_time = true;
  if (r->interrupted || r->out_of_time) return BL_CUT_SHORT;
  return done >= r->problem->options->max_iterations ? BL_ENOUGH : BL_GO_ON;
}

static bool uses_newton(const bl_sgauss_data *d) {
  return bl_sgauss_newton_fits(d->n, d->k);
}

static void precondition(double *direction, void *user) {
  bl_sgauss_preconditioner_apply(((run *)user)->preconditioner, direction);
}

/* Some L-BFGS iterations, with the preconditioner built where they begin when it is wanted. */
static blica_status lbfgs_round(run *r, int round, int64_t iterations, bool preconditioned, bl_lbfgs_result *result) {
  bl_stage stage = bl_stage_below(&r->stage, "round %d", round);
  bl_lbfgs_options options = {.history = HISTORY,
                              .max_iterations = iterations,
                              .gradient_tolerance = r->problem->options->tolerance,
                              .hook = after_iteration,
                              .stage = &stage};
  if (preconditioned) {
    if (bl_stage_find(&stage) != BL_STAGE_OVER) bl_sgauss_preconditioner_set(r->preconditioner, r->theta);
    options.precondition = precondition;
    options.max_evaluations = 3 * iterations + 1;
  }
  blica_status status = bl_lbfgs(r->ctx, bl_sgauss_size(r->data), r->theta, objective, r, &options, result);
  if (status != BLICA_OK) return status;
  if (result->end != BL_LBFGS_HOOK) bl_stage_fade(&r->last);
  r->last = stage;
  r->record.objective = result->value;
  r->record.gradient = result->gradient_max;
  r->record.evaluations += result->evaluations;
  r->iterations_before += result->iterations;
  return BLICA_OK;
}

/* Iterations before Newton steps take over; random starts first go without preconditioner, longer the larger the
 * problem, since a Newton step far from a solution buys little. */
static int64_t plain_limit(const bl_sgauss_data *d) {
  int64_t limit = 3 * (int64_t)d->n * d->k;
  return limit < 150 ? 150 : limit > 1200 ? 1200 : limit;
}

/* L-BFGS in rounds. Near a solution the preconditioner saves most iterations; far from one it may mislead, which
 * shows in long line searches: then a round does without. */
static blica_status first_phase(run *r, bool good_start) {
  blica_status status;
  const bool newton_soon = uses_newton(r->data) && !bl_start_is_easy(r->data->n, r->data->k);
  bool preconditioned = good_start;
  int64_t plain = good_start ? 0 : plain_limit(r->data);
  int64_t limit = newton_soon ? plain + PRECONDITIONED : r->problem->options->max_iterations;
  TRY(bl_sgauss_preconditioner_make(r->ctx, r->data, NULL, &r->preconditioner));
  for (int round = 0; r->iterations_before < limit; round++) {
    int64_t iterations = preconditioned ? (round < 3 ? 30 : 100) : round == 0 ? plain : 150;
    if (iterations > limit - r->iterations_before) iterations = limit - r->iterations_before;
    bl_lbfgs_result result;
    TRY(lbfgs_round(r, round, iterations, preconditioned, &result));
    bool stuck = result.end == BL_LBFGS_LINE_SEARCH;
    if (result.end != BL_LBFGS_ITERATIONS && !(stuck && preconditioned)) break;
    bool misled = preconditioned && (stuck || result.evaluations > 3 * result.iterations);
    if (misled && newton_soon) break;
    preconditioned = !misled;
  }
done:
  return status;
}

static blica_status second_phase(run *r, int round) {
  const blica_fit_options *o = r->problem->options;
  bl_stage stage = bl_stage_below(&r->stage, "newton %d", round);
  bl_newton_options options = {o->tolerance, o->max_iterations - r->iterations_before, after_iteration, r, &stage};
  bl_newton_result result;
  blica_status status = bl_sgauss_newton(r->ctx, r->g, r->theta, &options, &result);
  if (status != BLICA_OK) return status;
  r->record.objective = result.value;
  r->record.gradient = result.gradient_max;
  r->record.evaluations += result.evaluations;
  r->iterations_before += result.steps;
  return BLICA_OK;
}

/* Value and gradient where the start ended, in the standard scale: what is reported is what the model has. With a prior
 * the scale is part of the point and stays. */
static blica_status settle(run *r) {
  const bl_sgauss_data *d = r->data;
  double *gradient = NULL;
  blica_status status;
  TRY(bl_alloc(r->ctx, bl_sgauss_size(d), &gradient));
  if (d->precision_mixing == 0 && d->precision_variance == 0) bl_sgauss_standard(d, r->theta);
  r->record.objective = bl_sgauss_eval(r->g, r->theta, gradient);
  r->record.gradient = bl_sgauss_slope(d, r->theta, gradient);
  r->record.evaluations++;
done:
  bl_free(gradient);
  return status;
}

static double slope_limit(const run *r) {
  return r->problem->options->tolerance * fmax(1, fabs(r->record.objective));
}

/* Newton steps, or for large problems more of L-BFGS, until the gradient is small in the standard scale too, where it
 * may be larger than in the scale that they ended in. */
static blica_status polish(run *r) {
  blica_status status;
  const bool newton = uses_newton(r->data);
  bool there = r->record.gradient <= slope_limit(r);
  TRY(settle(r));
  for (int round = 0; round < POLISH && !r->interrupted && !r->out_of_time; round++) {
    bl_lbfgs_result result;
    bool enough = r->record.gradient <= slope_limit(r);
    if (newton ? enough && bl_start_is_easy(r->data->n, r->data->k) && !r->problem->cor->exact : enough || !there)
      break;
    TRY(newton ? second_phase(r, round) : lbfgs_round(r, FIRST_POLISH + round, PRECONDITIONED, true, &result));
    there = r->record.gradient <= slope_limit(r);
    TRY(settle(r));
    if (!there || r->record.gradient <= slope_limit(r)) break;
  }
done:
  return status;
}

/* Fills the record: objective as a log-likelihood, relative gradient, why it stopped. */
static void finish(run *r) {
  const blica_fit_options *o = r->problem->options;
  double value = r->record.objective;
  blica_start *record = &r->record;
  record->gradient /= fmax(1, fabs(value));
  record->objective = bl_sgauss_constant(r->data) - value;
  record->iterations = r->iterations_before;
  record->seconds = bl_seconds() - r->begun;
  record->seconds_near = record->seconds;
  for (int i = r->traced - 1; i >= 0 && r->trace_value[i] - value <= 1; i--) record->seconds_near = r->trace_seconds[i];
  record->stop = record->gradient <= o->tolerance          ? BLICA_STOP_CONVERGED
                 : r->interrupted                          ? BLICA_STOP_INTERRUPTED
                 : r->out_of_time                          ? BLICA_STOP_TIME
                 : record->iterations >= o->max_iterations ? BLICA_STOP_ITERATIONS
                                                           : BLICA_STOP_STALLED;
  bool prior = r->data->precision_mixing > 0 || r->data->precision_variance > 0;
  if (record->stop == BLICA_STOP_STALLED && !prior && bl_sgauss_steepest(r->data, r->theta) > BL_INFINITE_ROW)
    record->stop = BLICA_STOP_UNBOUNDED;
}

static void pass_flag(bl_state *state, void *user) {
  bl_pass_flag(state, user);
}

/* Where the start begins or, when a checkpoint has it, the point where the last round ended. */
static blica_status starting_point(run *r, bool *jointdiag) {
  const size_t size = bl_sgauss_size(r->data);
  r->last = bl_stage_below(&r->stage, "begin");
  if (bl_stage_find(&r->last) == BL_STAGE_OVER)
    return bl_stage_load_at(r->ctx, &r->last, pass_flag, jointdiag, r->theta, size);
  blica_status status = bl_start_begin(r->ctx, r->data, r->problem->options->seed, r->index, jointdiag, r->theta);
  if (status == BLICA_OK) bl_stage_over_at(r->ctx, &r->last, pass_flag, jointdiag, r->theta, size);
  return status;
}

static blica_status run_start(run *r) {
  blica_status status;
  bl_start_end end = {&r->record, r->theta, bl_sgauss_size(r->data)};
  bool jointdiag = bl_start_by_jointdiag(r->data->n, r->data->k, r->index);
  r->stage = bl_stage_below(&r->problem->stage, "start %d", r->index);
  if (bl_stage_find(&r->stage) == BL_STAGE_OVER) return bl_stage_load(r->ctx, &r->stage, bl_pass_start, &end);
  r->begun = bl_seconds();
  TRY(bl_sgauss_make(r->ctx, r->data, &r->g));
  TRY(starting_point(r, &jointdiag));
  snprintf(r->record.kind, sizeof r->record.kind, "%s", bl_start_kind(jointdiag, r->index));
  TRY(first_phase(r, jointdiag));
  TRY(polish(r));
  finish(r);
  bl_stage_over(r->ctx, &r->stage, bl_pass_start, &end);
done:
  bl_sgauss_preconditioner_free(r->preconditioner);
  bl_sgauss_free(r->g);
  r->preconditioner = NULL;
  r->g = NULL;
  return status;
}

/* All starts: side by side when a start is too small to share among threads, else one after the other. */
typedef struct {
  blica_ctx *ctx;
  run *runs;
  blica_status *status; /* [starts] */
  char (*message)[BL_MESSAGE];
  bl_share share;      /* of the starts among ranks */
  blica_start *record; /* [starts] */
} campaign;

/* No further start is begun once the user or the clock said stop; the first always is. */
static bool over(const blica_ctx *ctx, const run *r) {
  return bl_interrupted(ctx) || bl_seconds() > r->problem->deadline;
}

static void run_start_alone(int64_t index, int thread, void *user) {
  campaign *c = user;
  run *r = &c->runs[index];
  if (index > 0 && over(c->ctx, r)) return;
  c->status[index] = bl_ctx_fork(c->ctx, thread, &r->ctx);
  if (c->status[index] == BLICA_OK) c->status[index] = run_start(r);
  bl_ctx_join(r->ctx, c->message[index]);
}

/* One after the other, threads and ranks sharing the segments. */
static blica_status run_in_turn(blica_ctx *ctx, run *runs, int starts) {
  blica_status status = BLICA_OK;
  for (int i = 0; i < starts && status == BLICA_OK && !(i > 0 && bl_any(ctx, over(ctx, runs))); i++) {
    runs[i].ctx = ctx;
    status = run_start(&runs[i]);
  }
  return status;
}

/* What the ranks found, to all. */
static blica_status exchange_starts(campaign *c, int starts) {
  blica_status status = BLICA_OK;
  const size_t size = bl_sgauss_size(c->runs[0].data);
  for (int i = 0; i < starts; i++) c->record[i] = c->runs[i].record;
  TRY(bl_share_bytes(c->ctx, &c->share, c->record, sizeof *c->record));
  TRY(bl_share_bytes(c->ctx, &c->share, c->runs[0].theta, size * sizeof(double)));
  for (int i = 0; i < starts; i++) {
    run *r = &c->runs[i];
    bl_start_end end = {&r->record, r->theta, size};
    r->record = c->record[i];
    bool whole = r->record.kind[0] && r->record.stop != BLICA_STOP_TIME && r->record.stop != BLICA_STOP_INTERRUPTED;
    r->stage = bl_stage_below(&r->problem->stage, "start %d", i);
    if (whole) bl_stage_over(c->ctx, &r->stage, bl_pass_start, &end);
  }
done:
  return status;
}

static blica_status run_all(blica_ctx *ctx, run *runs, int starts) {
  blica_status status = BLICA_OK;
  campaign c = {.ctx = ctx, .runs = runs};
  if (!runs[0].data->lanes || starts == 1) return run_in_turn(ctx, runs, starts);
  TRY(bl_alloc(ctx, (size_t)starts, &c.status));
  TRY(bl_alloc(ctx, (size_t)starts, &c.message));
  TRY(bl_alloc(ctx, (size_t)starts, &c.record));
  TRY(bl_share_make(ctx, starts, 0, &c.share));
  bl_share_run(ctx, &c.share, run_start_alone, &c);
  for (int i = 0; i < starts && status == BLICA_OK; i++)
    if (c.status[i] != BLICA_OK)
      status = bl_fail(ctx, c.status[i], "start %d: %s", i + 1, c.message[i][0] ? c.message[i] : "out of memory");
  TRY(bl_agree(ctx, status));
  TRY(exchange_starts(&c, starts));
done:
  bl_share_free(&c.share);
  bl_free(c.status);
  bl_free(c.message);
  bl_free(c.record);
  return status;
}

/* Records the starts that were begun, in order, and takes the best. */
static void take_best(const run *runs, int starts, blica_model *model) {
  blica_fit_report *fit = &model->fit;
  const run *best = &runs[0];
  int begun = 0;
  for (int i = 0; i < starts; i++) {
    if (!runs[i].record.kind[0]) continue;
    if (runs[i].record.objective > best->record.objective) {
      best = &runs[i];
      fit->best_start = begun;
    }
    fit->starts[begun++] = runs[i].record;
  }
  fit->n_starts = begun;
  fit->objective = best->record.objective;
  fit->iterations = best->record.iterations;
  fit->evaluations = best->record.evaluations;
  fit->stop = best->record.stop;
  memcpy(model->mixing, best->theta, (size_t)model->n * model->k * sizeof(double));
  for (int s = 0; s < model->u; s++)
    for (int j = 0; j < model->k; j++)
      model->variances[j + (size_t)s * model->k] = exp(best->theta[bl_sgauss_local(best->data, s) + (size_t)j]);
}

/* The shifts of the regularisation, into the record of the fit. */
static blica_status regularise(blica_ctx *ctx, const blica_cor *cor, double condition, blica_fit_report *fit) {
  blica_status status;
  double begun = bl_seconds();
  TRY(bl_alloc(ctx, (size_t)cor->u, &fit->shift));
  TRY(bl_alloc(ctx, (size_t)cor->u, &fit->eigen_min));
  TRY(bl_alloc(ctx, (size_t)cor->u, &fit->eigen_max));
  TRY(bl_regularise_shifts(ctx, cor, &condition, fit->shift, fit->eigen_min, fit->eigen_max));
  fit->condition = condition;
  fit->seconds_regularise = bl_seconds() - begun;
done:
  return status;
}

/* A prior of fixed scales in place of a learned one, whose scales are those that method matched learns from the same
 * correlations. */
static blica_status settle_prior(blica_ctx *ctx, const bl_problem *problem, const blica_model *model,
                                 blica_fit_options *o) {
  if (strcmp(o->prior, "auto") != 0) return BLICA_OK;
  blica_status status = bl_matched_scales(ctx, problem, model, &o->prior_mixing, &o->prior_variance);
  if (status == BLICA_OK) memcpy(o->prior, "fixed", sizeof "fixed");
  return status;
}

/* A number in place of default and auto; chosen under the prior that the fit will have. */
static blica_status settle_condition(blica_ctx *ctx, const bl_problem *problem, blica_model *model,
                                     blica_fit_options *o) {
  blica_status status = BLICA_OK;
  if (o->condition == BLICA_CONDITION_DEFAULT) o->condition = problem->cor->exact ? INFINITY : 10;
  if (o->condition != BLICA_CONDITION_AUTO) return BLICA_OK;
  TRY(bl_choose_condition(ctx, bl_estimate_blica, problem, model->k, &o->condition));
  TRY(bl_report_note(ctx, &model->fit, "condition_learned", o->condition));
done:
  return status;
}

static blica_status set_prior(blica_ctx *ctx, const blica_fit_options *o, blica_model *model, bl_sgauss_data *data) {
  blica_status status = BLICA_OK;
  if (strcmp(o->prior, "fixed") != 0) return BLICA_OK;
  data->precision_mixing = 1 / (o->prior_mixing * o->prior_mixing);
  data->precision_variance = 1 / (o->prior_variance * o->prior_variance);
  TRY(bl_report_note(ctx, &model->fit, "prior_mixing", o->prior_mixing));
  TRY(bl_report_note(ctx, &model->fit, "prior_variance", o->prior_variance));
done:
  return status;
}

blica_status bl_estimate_blica(blica_ctx *ctx, const bl_problem *caller, blica_model *model, bool *means_done) {
  blica_status status;
  blica_fit_options settled = *caller->options, *o = &settled;
  bl_problem own = *caller, *problem = &own;
  bl_sgauss_data *data = NULL;
  run *runs = NULL;
  double *points = NULL; /* the starts' theta, one after the other */
  *means_done = false;
  own.options = o;
  TRY(settle_prior(ctx, problem, model, o));
  TRY(settle_condition(ctx, problem, model, o));
  TRY(regularise(ctx, problem->cor, o->condition, &model->fit));
  TRY(bl_sgauss_data_make(ctx, problem->cor, model->fit.shift, model->k, o, &data));
  TRY(set_prior(ctx, o, model, data));
  TRY(bl_report_starts(ctx, &model->fit, o->starts));
  TRY(bl_alloc(ctx, (size_t)o->starts, &runs));
  TRY(bl_alloc(ctx, bl_mul(bl_sgauss_size(data), (size_t)o->starts), &points));
  for (int i = 0; i < o->starts; i++)
    runs[i] = (run){.problem = problem, .data = data, .index = i, .theta = points + bl_sgauss_size(data) * (size_t)i};
  TRY(run_all(ctx, runs, o->starts));
  take_best(runs, o->starts, model);
done:
  bl_free(points);
  bl_free(runs);
  bl_sgauss_data_free(data);
  return status;
}
