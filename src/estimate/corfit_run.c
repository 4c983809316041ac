/* corfit_run.c - the fit of an objective over correlations (corfit.h): several starts, learned priors, the best end.
 *
 * Starts are those of the scaled Gaussian likelihood. Priors A_ij ~ N(0, sd_A^2) and log v ~ N(0, sd_v^2) decide what
 * the data leave open. With prior=auto their scales are learned by empirical Bayes: MacKay's fixed point on
 * Laplace's approximation of the evidence (Neural Computation 4, 1992), sd^2 = sum theta^2 / gamma; method matched
 * averages over log v instead of maximising (corfit_average.c; docs/method.md, equation 29). */
#include "estimate/corfit_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/share.h"
#include "cor/cor.h"
#include "estimate/sgauss.h"
#include "estimate/sgauss_precondition.h"
#include "estimate/starts.h"
#include "num/lbfgs.h"

enum {
  HISTORY = 20,
  SLOPE_ROUNDS = 4,  /* until the gradient is small in the standard scale too */
  PLAIN_ROUND = 150, /* iterations of L-BFGS without preconditioner, and with it: */
  SHORT_ROUND = 30,  /* in the first rounds, */
  LONG_ROUND = 100,  /* and later */
  SCALE_ROUNDS = 5,  /* of empirical Bayes */
  AVERAGE_ROUNDS = 3 /* the same with the log-variances averaged over */
};
static const double FIRST_SD_MIXING = 3, FIRST_SD_VARIANCE = 1;
/* Laplace's approximation understates the spread of log v, whose likelihood is skewed; learned values are widened by
 * this, chosen on data of other seeds than those of docs/methods.md. */
static const double WIDER = 1.3;
/* Method matched narrows its prior of log v by up to this where k is near n and n is not small, and averages over log v
 * only where at least LEAST_SHARE of its width counts; chosen on data of the same other seeds. */
static const double NARROWER = 0.42, LEAST_SHARE = 0.1;
static const double ROUGH = 1e-6; /* relative gradient that is enough for comparing starts and learning scales */
static const double START_CONDITION = 10; /* joint diagonalisation wants positive definite matrices */

typedef struct {
  blica_ctx *ctx;
  const bl_problem *problem;
  bl_corfit_data *data;
  bl_corfit *fit;
  bl_corfit_average *average; /* NULL: the objective itself */
  bl_sgauss_data *starts;
  bl_sgauss_preconditioner *preconditioner; /* NULL: none */
  double constant;                          /* -f + constant is the objective */
  double *theta;
  int index;
  bl_stage stage;
  blica_start record;
  int64_t iterations_before;
  int rounds;          /* of L-BFGS in this stage */
  double round_change; /* of A by the last round of learning, relative; NaN: none */
  bl_watch watch;
  bool interrupted, out_of_time;
} run;

static double objective(const double *theta, double *gradient, void *user) {
  run *r = user;
  double value =
      r->average ? bl_corfit_average_eval(r->average, theta, gradient) : bl_corfit_eval(r->fit, theta, gradient);
  if (isfinite(value)) r->watch.armed = true; /* from now on there is something to return */
  return value;
}

static void look(run *r) {
  int stop = bl_poll_agreed(r->ctx, &r->watch.progress, r->problem->deadline);
  if (stop & 1) r->interrupted = true;
  if (stop & 2) r->out_of_time = true;
}

static int after_iteration(int64_t iteration, double value, double gradient_max, void *user) {
  run *r = user;
  (void)gradient_max;
  r->watch.progress = (blica_progress){"fit", -1, r->constant - value, r->index, r->iterations_before + iteration};
  look(r);
  return r->interrupted || r->out_of_time ? BL_CUT_SHORT : BL_GO_ON;
}

/* Whether evaluations since the last look were left unfinished. */
static bool cut(void *user) {
  run *r = user;
  if (!r->watch.armed || !r->watch.over) return false;
  look(r);
  return true;
}

static bool is_learned(const blica_fit_options *o) {
  return strcmp(o->prior, "auto") == 0 || strcmp(o->prior, "default") == 0;
}

static double mean_variance(const bl_corfit_data *d, const double *theta, int j) {
  double mean = 0;
  for (int s = 0; s < d->u; s++) mean += exp(theta[(size_t)d->n * d->k + (size_t)d->k * (size_t)s + (size_t)j]) / d->u;
  return mean;
}

/* Objective and relative gradient at theta, the latter by A in the scale where the mean variance of each source is 1:
 * without priors the scale is free, and where it drifts a gradient may look as small as one likes. */
static double slope_at(run *r, double *gradient) {
  const bl_corfit_data *d = r->data;
  r->watch.armed = false; /* what is returned is whole */
  double value = objective(r->theta, gradient, r), most = 0;
  r->record.evaluations++;
  r->record.objective = r->constant - value;
  for (int j = 0; j < d->k; j++) {
    double scale = 1 / sqrt(mean_variance(d, r->theta, j));
    for (int i = 0; i < d->n; i++) most = fmax(most, scale * fabs(gradient[i + (size_t)j * d->n]));
  }
  for (size_t i = (size_t)d->n * d->k; i < bl_corfit_size(d); i++) most = fmax(most, fabs(gradient[i]));
  return most / fmax(1, fabs(value));
}

/* Into that scale; the likelihood stays as it was. */
static void standardise(run *r) {
  const bl_corfit_data *d = r->data;
  for (int j = 0; j < d->k; j++) {
    double mean = mean_variance(d, r->theta, j);
    if (!isfinite(log(mean))) continue;
    for (int i = 0; i < d->n; i++) r->theta[i + (size_t)j * d->n] *= sqrt(mean);
    for (int s = 0; s < d->u; s++) r->theta[(size_t)d->n * d->k + (size_t)d->k * (size_t)s + (size_t)j] -= log(mean);
  }
}

/* The largest norm of a row of sqrt(c) A V^1/2 over all segments: how far signals exceed the noise of the link. */
static double steepest(const run *r) {
  const bl_corfit_data *d = r->data;
  const double *log_v = r->theta + (size_t)d->n * d->k;
  double largest = 0;
  for (int s = 0; s < d->u; s++)
    for (int i = 0; i < d->n; i++) {
      double squares = 0;
      for (int j = 0; j < d->k; j++) {
        double a = r->theta[i + (size_t)j * d->n];
        squares += d->link * a * a * exp(log_v[j + (size_t)s * d->k]);
      }
      largest = fmax(largest, squares);
    }
  return sqrt(largest);
}

static void precondition(double *direction, void *user) {
  bl_sgauss_preconditioner_apply(((run *)user)->preconditioner, direction);
}

/* Some L-BFGS iterations, with the preconditioner built where they begin when it is wanted. */
static blica_status lbfgs_round(run *r, int64_t iterations, double tolerance, bool preconditioned,
                                bl_lbfgs_result *result) {
  bl_stage stage = bl_stage_below(&r->stage, "round %d", r->rounds++);
  const int64_t left = r->problem->options->max_iterations - r->iterations_before;
  bl_lbfgs_options options = {.history = HISTORY,
                              .max_iterations = iterations < left ? iterations : left,
                              .gradient_tolerance = tolerance,
                              .hook = after_iteration,
                              .cut = cut,
                              .stage = &stage};
  if (preconditioned) {
    if (bl_stage_find(&stage) != BL_STAGE_OVER) bl_sgauss_preconditioner_set(r->preconditioner, r->theta);
    options.precondition = precondition;
    options.max_evaluations = 3 * iterations + 1;
  }
  blica_status status = bl_lbfgs(r->ctx, bl_corfit_size(r->data), r->theta, objective, r, &options, result);
  if (status != BLICA_OK) return status;
  r->iterations_before += result->iterations;
  r->record.iterations = r->iterations_before;
  r->record.evaluations += result->evaluations;
  return BLICA_OK;
}

/* L-BFGS in rounds. Near a solution the preconditioner saves most iterations; far from one it may mislead, which shows
 * in long line searches: then a round does without. *there: the gradient is below the tolerance. */
static blica_status descend(run *r, double tolerance, bool near, bool *there) {
  blica_status status = BLICA_OK;
  bool preconditioned = r->preconditioner && near;
  *there = false;
  for (int round = 0; r->iterations_before < r->problem->options->max_iterations; round++) {
    const int64_t most = r->preconditioner ? PLAIN_ROUND : r->problem->options->max_iterations;
    bl_lbfgs_result result;
    TRY(lbfgs_round(r, preconditioned ? round < 3 ? SHORT_ROUND : LONG_ROUND : most, tolerance, preconditioned,
                    &result));
    const bool stuck = result.end == BL_LBFGS_LINE_SEARCH;
    *there = result.end == BL_LBFGS_GRADIENT;
    if (result.end != BL_LBFGS_ITERATIONS && !(stuck && preconditioned)) break;
    preconditioned = r->preconditioner && !(preconditioned && (stuck || result.evaluations > 3 * result.iterations));
  }
done:
  return status;
}

static blica_status minimise(run *r, double tolerance, bool near) {
  const blica_fit_options *o = r->problem->options;
  double *gradient = NULL, wanted = tolerance;
  bool there;
  blica_status status;
  TRY(bl_alloc(r->ctx, bl_corfit_size(r->data), &gradient));
  for (int round = 0; round < SLOPE_ROUNDS; round++) {
    TRY(descend(r, wanted, near || round > 0, &there));
    r->record.gradient = slope_at(r, gradient);
    if (!there || r->record.gradient <= tolerance) break;
    if (r->data->precision_mixing == 0 && r->data->precision_variance == 0)
      standardise(r);
    else
      wanted *= 0.1;
  }
  r->record.stop = r->record.gradient <= o->tolerance          ? BLICA_STOP_CONVERGED
                   : r->record.gradient <= tolerance           ? BLICA_STOP_COMPARED
                   : r->interrupted                            ? BLICA_STOP_INTERRUPTED
                   : r->out_of_time                            ? BLICA_STOP_TIME
                   : r->iterations_before >= o->max_iterations ? BLICA_STOP_ITERATIONS
                                                               : BLICA_STOP_STALLED;
  bool prior = r->data->precision_mixing > 0 || r->data->precision_variance > 0;
  if (r->record.stop == BLICA_STOP_STALLED && !prior && steepest(r) > BL_INFINITE_ROW)
    r->record.stop = BLICA_STOP_UNBOUNDED;
done:
  bl_free(gradient);
  return status;
}

/* The evaluator and, for method matched, the preconditioner. */
static blica_status open_run(run *r) {
  blica_status status;
  TRY(bl_corfit_make(r->ctx, r->data, &r->fit));
  if (r->data->noise) TRY(bl_sgauss_preconditioner_make(r->ctx, r->starts, r->data->noise, &r->preconditioner));
  bl_watch_set(r->ctx, &r->watch);
  r->rounds = 0;
done:
  return status;
}

static void close_run(run *r) {
  bl_watch_set(r->ctx, NULL);
  bl_sgauss_preconditioner_free(r->preconditioner);
  bl_corfit_free(r->fit);
  r->preconditioner = NULL;
  r->fit = NULL;
}

/* Where the start begins: theta, and in the record what kind of start it is. */
static blica_status begin(run *r, bool *jointdiag) {
  blica_status status;
  const bl_corfit_data *d = r->data;
  const size_t nk = (size_t)d->n * d->k;
  double *point = NULL;
  *jointdiag = true;
  if (d->begin) {
    memcpy(r->theta, d->begin, bl_corfit_size(d) * sizeof *point);
    snprintf(r->record.kind, sizeof r->record.kind, "matched");
    return BLICA_OK;
  }
  *jointdiag = bl_start_by_jointdiag(d->n, d->k, r->index);
  TRY(bl_alloc(r->ctx, bl_sgauss_size(r->starts), &point));
  TRY(bl_start_begin(r->ctx, r->starts, r->problem->options->seed, r->index, jointdiag, point));
  memcpy(r->theta, point, nk * sizeof *point);
  for (int s = 0; s < d->u; s++)
    memcpy(r->theta + nk + (size_t)d->k * s, point + bl_sgauss_local(r->starts, s), (size_t)d->k * sizeof *point);
  snprintf(r->record.kind, sizeof r->record.kind, "%s", bl_start_kind(*jointdiag, r->index));
done:
  bl_free(point);
  return status;
}

static blica_status run_start(run *r) {
  blica_status status;
  double begun = bl_seconds();
  bool jointdiag;
  bl_start_end end = {&r->record, r->theta, bl_corfit_size(r->data)};
  if (bl_stage_find(&r->stage) == BL_STAGE_OVER) {
    TRY(bl_stage_load(r->ctx, &r->stage, bl_pass_start, &end));
    r->iterations_before = r->record.iterations;
    goto done;
  }
  TRY(open_run(r));
  TRY(begin(r, &jointdiag));
  const bool learn = is_learned(r->problem->options);
  TRY(minimise(r, learn ? fmax(ROUGH, r->problem->options->tolerance) : r->problem->options->tolerance, jointdiag));
  r->record.seconds = r->record.seconds_near = bl_seconds() - begun;
  bl_stage_over(r->ctx, &r->stage, bl_pass_start, &end);
done:
  close_run(r);
  return status;
}

/* ---- empirical Bayes ---- */

static double clamp(double x, double low, double high) {
  return fmin(fmax(x, low), high);
}

static void set_scales(bl_corfit_data *data, double sd_mixing, double sd_variance) {
  data->precision_mixing = 1 / (sd_mixing * sd_mixing);
  data->precision_variance = 1 / (sd_variance * sd_variance);
}

static double sum_of_squares(const double *x, size_t from, size_t to) {
  double sum = 0;
  for (size_t i = from; i < to; i++) sum += x[i] * x[i];
  return sum;
}

/* One update of the scales; *settled when they hardly change any more. */
static blica_status compute_scales(run *r, bool *settled) {
  const size_t nk = (size_t)r->data->n * r->data->k, size = bl_corfit_size(r->data);
  bl_corfit_laplace laplace = {true, (double)nk, (double)(size - nk), 0};
  if (nk <= BL_LAPLACE_MAX) {
    blica_status status = bl_corfit_laplace_at(r->ctx, r->fit, r->theta, &laplace);
    if (status != BLICA_OK) return status;
  }
  *settled = true;
  if (!laplace.positive || !(laplace.gamma_mixing > 1) || !(laplace.gamma_variance > 1)) return BLICA_OK;
  double sd_mixing = sqrt(1 / r->data->precision_mixing), sd_variance = sqrt(1 / r->data->precision_variance);
  double new_mixing = clamp(sqrt(sum_of_squares(r->theta, 0, nk) / laplace.gamma_mixing), 0.1, 100);
  double new_variance = clamp(WIDER * sqrt(sum_of_squares(r->theta, nk, size) / laplace.gamma_variance), 0.05, 10);
  *settled = fabs(log(new_mixing / sd_mixing)) < 0.05 && fabs(log(new_variance / sd_variance)) < 0.05;
  set_scales(r->data, new_mixing, new_variance);
  return BLICA_OK;
}

typedef struct {
  bl_corfit_data *data;
  bool *settled;
} scales;

static void pass_scales(bl_state *state, void *user) {
  scales *s = user;
  BL_PASS(state, s->data->precision_mixing);
  BL_PASS(state, s->data->precision_variance);
  bl_pass_flag(state, s->settled);
}

/* The same, unless a checkpoint has the scales of this round. */
static blica_status update_scales(run *r, int round, bool *settled) {
  scales own = {r->data, settled};
  bl_stage stage = bl_stage_below(&r->stage, "scales %d", round);
  if (bl_stage_find(&stage) == BL_STAGE_OVER) return bl_stage_load(r->ctx, &stage, pass_scales, &own);
  blica_status status = compute_scales(r, settled);
  if (status == BLICA_OK) bl_stage_over(r->ctx, &stage, pass_scales, &own);
  return status;
}

/* What was found under the scales before stays. */
static bool cut_learning(run *r) {
  if (!cut(r)) return false;
  r->record.stop = r->interrupted ? BLICA_STOP_INTERRUPTED : BLICA_STOP_TIME;
  return true;
}

/* Minimises under new scales. */
static blica_status learning_round(run *r, double tolerance) {
  const size_t nk = (size_t)r->data->n * r->data->k;
  double *before = NULL, most = 0, change = 0;
  blica_status status;
  r->starts->precision_mixing = r->data->precision_mixing;
  r->starts->precision_variance = r->data->precision_variance;
  TRY(bl_alloc(r->ctx, nk, &before));
  memcpy(before, r->theta, nk * sizeof *before);
  TRY(minimise(r, tolerance, true));
  for (size_t i = 0; i < nk; i++) {
    most = fmax(most, fmax(fabs(before[i]), fabs(r->theta[i])));
    change = fmax(change, fabs(r->theta[i] - before[i]));
  }
  r->round_change = most > 0 ? change / most : 0;
done:
  bl_free(before);
  return status;
}

static blica_status learn_by_laplace(run *r) {
  blica_status status = BLICA_OK;
  bool settled = false;
  for (int round = 0; round < SCALE_ROUNDS && !settled && !r->interrupted && !r->out_of_time; round++) {
    TRY(update_scales(r, round, &settled));
    if (cut_learning(r)) break;
    TRY(learning_round(r, r->problem->options->tolerance));
  }
done:
  return status;
}

/* How much of the uncertainty of the log-variances is averaged over: all of it up to about 8 variables, half at 10,
 * none from 15 on. The noise of equation 19 is that of correlations near 0; the fewer variables, the larger their
 * correlations and the more it overstates (docs/method.md, equation 29). */
static double average_share(int n) {
  return 1 / (1 + pow(n / 10.0, 6));
}

/* The same with the log-variances averaged over: their second moments are those of the prior. Without an average the
 * scales are updated once, since A would shrink a little more every time. */
static blica_status learn_by_average(run *r) {
  blica_status status = BLICA_OK;
  const bl_corfit_data *d = r->data;
  const size_t nk = (size_t)d->n * d->k, size = bl_corfit_size(d);
  const double share = average_share(d->n), narrower = 1 - NARROWER * (1 - share) * d->k / d->n;
  const bool wide = share > LEAST_SHARE;
  const int rounds = wide ? AVERAGE_ROUNDS : 1;
  const double tolerance = r->problem->options->tolerance;
  bl_corfit_average *average = NULL;
  TRY(bl_corfit_average_make(r->ctx, r->fit, d, r->problem->options->seed, share, &average));
  for (int round = 0; round < rounds && !r->interrupted && !r->out_of_time; round++) {
    double moments = bl_corfit_average_spread(average, r->theta) + sum_of_squares(r->theta, nk, size);
    bl_corfit_laplace laplace = {.positive = false};
    if (nk <= BL_LAPLACE_MAX) TRY(bl_corfit_laplace_at(r->ctx, r->fit, r->theta, &laplace));
    if (cut_learning(r)) break;
    double gamma = laplace.positive && laplace.gamma_mixing > 1 ? laplace.gamma_mixing : (double)nk;
    set_scales(r->data, clamp(sqrt(sum_of_squares(r->theta, 0, nk) / gamma), 0.1, 100),
               clamp(narrower * sqrt(moments / (double)(size - nk)), 0.05, 10));
    if (wide) r->average = average;
    TRY(learning_round(r, round + 1 < rounds ? fmax(ROUGH, tolerance) : tolerance));
  }
done:
  bl_corfit_average_free(average);
  r->average = NULL;
  return status;
}

static blica_status learn_scales(run *r) {
  blica_status status;
  r->stage = bl_stage_below(&r->problem->stage, "learn");
  TRY(open_run(r));
  TRY((r->data->average ? learn_by_average : learn_by_laplace)(r));
done:
  close_run(r);
  return status;
}

/* ---- all starts ---- */

/* Variances of the model. Without a prior that of a source which a segment does not show falls without end, and that of
 * one which explains a singular matrix grows; beyond LOG_BOUND its change is long lost in rounding, and it stays there:
 * the model must be finite. */
static void fill_variances(const run *best, blica_model *model) {
  static const double LOG_BOUND = 300; /* range of log(c v |a|^2) around 0 */
  const bl_corfit_data *d = best->data;
  const double *log_v = best->theta + (size_t)d->n * d->k;
  for (int j = 0; j < d->k; j++) {
    double most = 0;
    for (int i = 0; i < d->n; i++) most = fmax(most, fabs(best->theta[i + (size_t)j * d->n]));
    const double strength = log(d->link) + 2 * log(fmax(most, 1e-100));
    for (int s = 0; s < d->u; s++) {
      const size_t at = (size_t)j + (size_t)d->k * (size_t)s;
      model->variances[at] = exp(clamp(log_v[at], -LOG_BOUND - strength, LOG_BOUND - strength));
    }
  }
}

static blica_status fill_report(blica_ctx *ctx, const run *best, blica_model *model) {
  blica_status status;
  blica_fit_report *fit = &model->fit;
  const bl_corfit_data *d = best->data;
  const size_t nk = (size_t)d->n * d->k;
  fit->objective = best->record.objective;
  fit->iterations = best->record.iterations;
  fit->evaluations = best->record.evaluations;
  fit->stop = best->record.stop;
  memcpy(model->mixing, best->theta, nk * sizeof(double));
  fill_variances(best, model);
  status = BLICA_OK;
  if (d->precision_mixing > 0) TRY(bl_report_note(ctx, fit, "prior_mixing", sqrt(1 / d->precision_mixing)));
  if (d->precision_variance > 0) TRY(bl_report_note(ctx, fit, "prior_variance", sqrt(1 / d->precision_variance)));
  if (!isnan(best->round_change)) { /* the starts' records are those of the first scales */
    TRY(bl_report_note(ctx, fit, "round_change", best->round_change));
    TRY(bl_report_note(ctx, fit, "learned_gradient", best->record.gradient));
  }
done:
  return status;
}

/* Small problems run on one thread each, side by side: an evaluation is too short to be shared. Every rank does all of
 * them then. */
typedef struct {
  blica_ctx *ctx;
  run *runs;
  blica_status (*step)(run *);
  blica_status *status;
  char (*message)[BL_MESSAGE];
} campaign;

static void step_alone(int64_t index, int thread, void *user) {
  campaign *c = user;
  run *r = &c->runs[index];
  if (r->index > 0 && !r->record.kind[0] && (bl_interrupted(c->ctx) || bl_seconds() > r->problem->deadline)) return;
  c->status[index] = bl_ctx_fork(c->ctx, thread, &r->ctx);
  if (c->status[index] == BLICA_OK) c->status[index] = c->step(r);
  bl_ctx_join(r->ctx, c->message[index]);
}

static blica_status run_steps(blica_ctx *ctx, run *runs, int count, blica_status (*step)(run *)) {
  blica_status status = BLICA_OK;
  campaign c = {.ctx = ctx, .runs = runs, .step = step};
  for (int i = 0; i < count && !runs->data->lanes; i++) {
    if (i > 0 && bl_any(ctx, bl_interrupted(ctx) || bl_seconds() > runs->problem->deadline)) {
      bl_stage_cut(&runs->problem->stage);
      break;
    }
    runs[i].ctx = ctx;
    TRY(step(&runs[i]));
  }
  if (!runs->data->lanes) return BLICA_OK;
  TRY(bl_alloc(ctx, (size_t)count, &c.status));
  TRY(bl_alloc(ctx, (size_t)count, &c.message));
  bl_parallel(ctx, count, step_alone, &c);
  for (int i = 0; i < count; i++)
    if (c.status[i] != BLICA_OK)
      FAIL(ctx, c.status[i], "start %d: %s", runs[i].index + 1, c.message[i][0] ? c.message[i] : "out of memory");
done:
  bl_free(c.status);
  bl_free(c.message);
  return status;
}

/* Records the starts that were begun, in order; returns the best. */
static run *take_best(run *runs, int starts, blica_fit_report *fit) {
  run *best = runs;
  int begun = 0;
  for (int i = 0; i < starts; i++) {
    if (!runs[i].record.kind[0]) continue;
    if (runs[i].record.objective > best->record.objective) best = &runs[i], fit->best_start = begun;
    fit->starts[begun++] = runs[i].record;
  }
  fit->n_starts = begun;
  return best;
}

/* Runs all starts under the first scales, then learns the scales at the best. */
blica_status bl_corfit_run(blica_ctx *ctx, const bl_problem *problem, bl_corfit_data *data, double constant,
                           blica_model *model) {
  blica_status status;
  const blica_fit_options *o = problem->options;
  const bool learn = is_learned(o);
  double *shift = NULL, *low, *high, condition = START_CONDITION;
  bl_sgauss_data *starts = NULL;
  run *runs = NULL;
  if (learn) set_scales(data, FIRST_SD_MIXING, FIRST_SD_VARIANCE);
  if (strcmp(o->prior, "fixed") == 0) set_scales(data, o->prior_mixing, o->prior_variance);
  TRY(bl_alloc(ctx, 3 * (size_t)model->u, &shift));
  low = shift + model->u, high = low + model->u;
  TRY(bl_regularise_shifts(ctx, problem->cor, &condition, shift, low, high));
  TRY(bl_sgauss_data_make(ctx, problem->cor, shift, model->k, o, &starts));
  starts->precision_mixing = data->precision_mixing, starts->precision_variance = data->precision_variance;
  TRY(bl_report_starts(ctx, &model->fit, o->starts));
  TRY(bl_alloc(ctx, (size_t)o->starts, &runs));
  for (int i = 0; i < o->starts; i++) {
    runs[i] = (run){.problem = problem,
                    .data = data,
                    .starts = starts,
                    .constant = constant,
                    .index = i,
                    .round_change = NAN,
                    .watch = {.deadline = problem->deadline, .progress = {"fit", -1, NAN, i, 0}}};
    runs[i].stage = bl_stage_below(&problem->stage, "start %d", i);
    TRY(bl_alloc(ctx, bl_corfit_size(data), &runs[i].theta));
  }
  TRY(run_steps(ctx, runs, o->starts, run_start));
  run *best = take_best(runs, o->starts, &model->fit);
  if (learn)
    TRY(run_steps(ctx, best, 1, learn_scales)); /* the starts' records stay as compared, under the first scales */
  if (data->lanes) TRY(bl_broadcast(ctx, best->theta, bl_corfit_size(data) * sizeof(double), 0));
  TRY(fill_report(ctx, best, model));
done:
  for (int i = 0; runs && i < o->starts; i++) bl_free(runs[i].theta);
  bl_free(runs);
  bl_sgauss_data_free(starts);
  bl_free(shift);
  return status;
}
