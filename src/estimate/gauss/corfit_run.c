/* corfit_run.c - the fit of an objective over correlations (corfit.h): several starts, learned priors, the best end.
 *
 * Starts are those of the scaled Gaussian likelihood. Priors A_ij ~ N(0, sd_A^2) and log v ~ N(0, sd_v^2) decide what
 * the data leave open. With prior=auto their scales are learned by empirical Bayes: MacKay's fixed point on
 * Laplace's approximation of the evidence (Neural Computation 4, 1992), sd^2 = sum theta^2 / gamma; method matched
 * averages over log v instead of maximising (corfit_average.c; docs/method.md, equation 29). */
#include "estimate/gauss/corfit_run.h"

#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "estimate/gauss/margins.h"
#include "estimate/driver/multistart.h"
#include "estimate/gauss/sgauss.h"
#include "estimate/gauss/sgauss_precondition.h"
#include "estimate/gauss/starts.h"
#include "num/lbfgs.h"

enum {
  HISTORY = 20,
  SLOPE_ROUNDS = 4,   /* until the gradient is small in the standard scale too */
  PLAIN_ROUND = 150,  /* iterations of L-BFGS without preconditioner, and with it: */
  SHORT_ROUND = 30,   /* in the first rounds, */
  LONG_ROUND = 100,   /* and later */
  SCALE_ROUNDS = 5,   /* of empirical Bayes */
  AVERAGE_ROUNDS = 3, /* the same with the log-variances averaged over, */
  AVERAGE_PAIRS = 2   /* at so many pairs of points */
};
static const double FIRST_SD_MIXING = 3, FIRST_SD_VARIANCE = 1;
/* Laplace's approximation understates the spread of log v, whose likelihood is skewed; learned values are widened by
 * this, chosen on data of other seeds than those of docs/methods.md. */
static const double WIDER = 1.3;
/* Method matched averages over log v only where at least so much of its width counts; chosen on data of the same other
 * seeds. */
static const double LEAST_SHARE = 0.1;
/* Its prior of the rows of A has the power k less this (docs/method.md, equation 32), chosen on data of such seeds. */
static const double ROW_LESS = 3;
static const double ROUGH = 1e-6; /* relative gradient that is enough for comparing starts and learning scales */
static const double START_CONDITION = 10; /* joint diagonalisation wants positive definite matrices */

/* What all starts share. */
typedef struct {
  const bl_settings *options;
  bl_corfit_data *data;
  bl_sgauss_data *starts; /* where they begin */
  double round_change;    /* of A by the last round of learning, relative; NaN: none */
  double misfit;          /* variance of thresholds that sampling does not explain; NaN: margins do not count */
} shared;

/* One start in progress. */
typedef struct {
  bl_start *start;
  shared *all;
  bl_corfit_data *data;
  bl_corfit *fit;
  bl_corfit_average *average;               /* NULL: the objective itself */
  bl_sgauss_preconditioner *preconditioner; /* NULL: none */
  bool scoring;                             /* in this round */
  int rounds;                               /* of L-BFGS */
} run;

static double objective(const double *theta, double *gradient, void *user) {
  bl_start *s = user;
  const run *r = s->own;
  double value =
      r->average ? bl_corfit_average_eval(r->average, theta, gradient) : bl_corfit_eval(r->fit, theta, gradient);
  if (isfinite(value)) s->loop_poll.armed = true; /* from now on there is something to return */
  return value;
}

static bool is_learned(const bl_settings *o) {
  return o->prior == BLICA_PRIOR_AUTO;
}

static double mean_variance(const bl_corfit_data *d, const double *theta, int j) {
  return bl_mean_variance(d->u, theta + (size_t)d->n * d->k + (size_t)j, (size_t)d->k);
}

/* Objective and relative gradient at theta, the latter by A in the scale where the mean variance of each source is 1:
 * without priors the scale is free, and where it drifts a gradient may look as small as one likes. */
static double slope_at(run *r, double *gradient) {
  const bl_corfit_data *d = r->data;
  bl_start *s = r->start;
  s->loop_poll.armed = false; /* what is returned is whole */
  double value = objective(s->theta, gradient, s), most = 0;
  s->record.evaluations++;
  s->record.objective = s->all->constant - value;
  for (int j = 0; j < d->k; j++) {
    double scale = 1 / sqrt(mean_variance(d, s->theta, j));
    for (int i = 0; i < d->n; i++) most = fmax(most, scale * fabs(gradient[i + (size_t)j * d->n]));
  }
  for (size_t i = (size_t)d->n * d->k; i < bl_corfit_size(d); i++) most = fmax(most, fabs(gradient[i]));
  return most / fmax(1, fabs(value));
}

/* Into that scale; the likelihood stays as it was. */
static void standardise(const bl_corfit_data *d, double *theta) {
  for (int j = 0; j < d->k; j++) {
    double mean = mean_variance(d, theta, j);
    if (!isfinite(log(mean))) continue;
    for (int i = 0; i < d->n; i++) theta[i + (size_t)j * d->n] *= sqrt(mean);
    for (int s = 0; s < d->u; s++) theta[(size_t)d->n * d->k + (size_t)d->k * (size_t)s + (size_t)j] -= log(mean);
  }
}

static void precondition(double *direction, void *user) {
  const bl_start *s = user;
  const run *r = s->own;
  if (r->scoring) bl_sgauss_preconditioner_set(r->preconditioner, s->theta);
  bl_sgauss_preconditioner_apply(r->preconditioner, direction);
}

/* Some iterations: of L-BFGS, with the preconditioner built where they begin when it is wanted, or of Fisher's scoring:
 * without memory, the preconditioner being built in each of them. */
static blica_status lbfgs_round(run *r, int64_t iterations, double tolerance, bool preconditioned,
                                bl_lbfgs_result *result) {
  bl_start *s = r->start;
  bl_stage stage = bl_stage_below(&s->stage, "round %d", r->rounds++);
  const int64_t left = r->all->options->max_iterations - s->iterations;
  bl_lbfgs_options options = {.history = r->scoring ? 0 : HISTORY,
                              .max_iterations = iterations < left ? iterations : left,
                              .gradient_tolerance = tolerance,
                              .hook = bl_start_hook,
                              .unfinished = bl_start_unfinished,
                              .stage = &stage};
  if (preconditioned) {
    if (!r->scoring && bl_stage_find(&stage) != BL_STAGE_OVER)
      bl_sgauss_preconditioner_set(r->preconditioner, s->theta);
    options.precondition = precondition;
    options.max_evaluations = 3 * iterations + 1;
  }
  blica_status status = bl_lbfgs(s->ctx, bl_corfit_size(r->data), s->theta, objective, s, &options, result);
  if (status != BLICA_OK) return status;
  s->iterations += result->iterations;
  s->record.evaluations += result->evaluations;
  return BLICA_OK;
}

/* Iterations of round `round`. */
static int64_t round_length(const run *r, int round, bool preconditioned) {
  if (preconditioned) return r->scoring || round < 3 ? SHORT_ROUND : LONG_ROUND;
  return r->preconditioner ? PLAIN_ROUND : r->all->options->max_iterations;
}

/* L-BFGS in rounds. Near a solution the preconditioner saves most iterations; far from one it may mislead, which shows
 * in long line searches: then a round does without. Where the preconditioner is as good as Fisher's information, every
 * other round is of scoring: a dozen iterations are mostly enough. *there: the gradient is below the tolerance. */
static blica_status descend(run *r, double tolerance, bool near, bool *there) {
  blica_status status = BLICA_OK;
  bool preconditioned = r->preconditioner && near;
  *there = false;
  for (int round = 0; r->start->iterations < r->all->options->max_iterations; round++) {
    bl_lbfgs_result result;
    r->scoring = preconditioned && round % 2 == 0 && bl_sgauss_preconditioner_scores(r->preconditioner);
    TRY(lbfgs_round(r, round_length(r, round, preconditioned), tolerance, preconditioned, &result));
    const bool stuck = result.end == BL_LBFGS_LINE_SEARCH;
    *there = result.end == BL_LBFGS_GRADIENT;
    if (result.end != BL_LBFGS_ITERATIONS && !(stuck && preconditioned)) break;
    preconditioned = r->preconditioner && !(preconditioned && (stuck || result.evaluations > 3 * result.iterations));
  }
done:
  return status;
}

static blica_status minimise(run *r, double tolerance, bool near) {
  bl_start *s = r->start;
  const bool prior = r->data->precision_mixing > 0 || r->data->precision_variance > 0;
  BL_OWNED double *gradient = NULL;
  double wanted = tolerance;
  bool there;
  blica_status status;
  TRY(bl_alloc(s->ctx, bl_corfit_size(r->data), &gradient));
  for (int round = 0; round < SLOPE_ROUNDS; round++) {
    TRY(descend(r, wanted, near || round > 0, &there));
    s->record.gradient = slope_at(r, gradient);
    if (!there || s->record.gradient <= tolerance) break;
    if (prior)
      wanted *= 0.1;
    else
      standardise(r->data, s->theta);
  }
  s->record.stop = bl_start_stop(s, s->record.gradient <= r->all->options->tolerance);
  if (s->record.stop != BLICA_STOP_CONVERGED && s->record.gradient <= tolerance) s->record.stop = BLICA_STOP_COMPARED;
  const bl_corfit_data *d = r->data;
  const double *log_v = s->theta + (size_t)d->n * d->k;
  if (s->record.stop == BLICA_STOP_STALLED && !prior &&
      bl_largest_row(d->n, d->k, d->u, d->link, s->theta, log_v, (size_t)d->k) > BL_INFINITE_ROW)
    s->record.stop = BLICA_STOP_UNBOUNDED;
done:
  return status;
}

/* The evaluator and, for method matched, the preconditioner. */
static blica_status open_run(bl_start *s, run *r) {
  blica_status status;
  shared *all = s->all->user;
  *r = (run){.start = s, .all = all, .data = all->data};
  s->own = r;
  TRY(bl_corfit_make(s->ctx, r->data, &r->fit));
  if (r->data->noise) TRY(bl_sgauss_preconditioner_make(s->ctx, all->starts, r->data->noise, &r->preconditioner));
done:
  return status;
}

static void close_run(run *r) {
  bl_sgauss_preconditioner_free(r->preconditioner);
  bl_corfit_free(r->fit);
}

/* Where the start begins: theta, and in the record what kind of start it is. */
static blica_status begin(bl_start *s, bool *jointdiag) {
  blica_status status;
  const shared *all = s->all->user;
  const bl_corfit_data *d = all->data;
  const size_t nk = (size_t)d->n * d->k;
  BL_OWNED double *point = NULL;
  *jointdiag = true;
  if (d->begin) {
    memcpy(s->theta, d->begin, bl_corfit_size(d) * sizeof *point);
    bl_start_set_kind(s, "matched");
    return BLICA_OK;
  }
  *jointdiag = bl_start_by_jointdiag(d->n, d->k, s->index);
  TRY(bl_alloc(s->ctx, bl_sgauss_size(all->starts), &point));
  TRY(bl_start_begin(s->ctx, all->starts, all->options->seed, s->index, jointdiag, point));
  memcpy(s->theta, point, nk * sizeof *point);
  for (int i = 0; i < d->u; i++)
    memcpy(s->theta + nk + (size_t)d->k * i, point + bl_sgauss_local(all->starts, i), (size_t)d->k * sizeof *point);
  bl_start_set_kind(s, bl_start_kind(*jointdiag, s->index));
done:
  return status;
}

static blica_status run_start(bl_start *s) {
  blica_status status;
  run r;
  bool jointdiag;
  TRY(open_run(s, &r));
  TRY(begin(s, &jointdiag));
  const double tolerance = r.all->options->tolerance;
  TRY(minimise(&r, is_learned(r.all->options) ? fmax(ROUGH, tolerance) : tolerance, jointdiag));
done:
  close_run(&r);
  return status;
}

/* A start that was ended as a duplicate and yet is the best, to its end. */
static blica_status go_on(bl_start *s) {
  blica_status status;
  run r;
  s->stage = bl_stage_below(&s->all->problem->stage, "end");
  TRY(open_run(s, &r));
  TRY(minimise(&r, r.all->options->tolerance, true));
done:
  close_run(&r);
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
static blica_status update_scales(run *r, bool *settled) {
  const size_t nk = (size_t)r->data->n * r->data->k, size = bl_corfit_size(r->data);
  bl_corfit_laplace laplace = {true, (double)nk, (double)(size - nk), 0};
  if (nk <= BL_LAPLACE_MAX) {
    blica_status status = bl_corfit_laplace_at(r->start->ctx, r->fit, r->start->theta, &laplace);
    if (status != BLICA_OK) return status;
  }
  *settled = true;
  if (!laplace.positive || !(laplace.gamma_mixing > 1) || !(laplace.gamma_variance > 1)) return BLICA_OK;
  double sd_mixing = sqrt(1 / r->data->precision_mixing), sd_variance = sqrt(1 / r->data->precision_variance);
  double new_mixing = clamp(sqrt(sum_of_squares(r->start->theta, 0, nk) / laplace.gamma_mixing), 0.1, 100);
  double new_variance =
      clamp(WIDER * sqrt(sum_of_squares(r->start->theta, nk, size) / laplace.gamma_variance), 0.05, 10);
  *settled = fabs(log(new_mixing / sd_mixing)) < 0.05 && fabs(log(new_variance / sd_variance)) < 0.05;
  set_scales(r->data, new_mixing, new_variance);
  return BLICA_OK;
}

/* Whether learning was stopped; what was found under the scales before stays. */
static bool learning_stopped(bl_start *s) {
  if (!bl_start_unfinished(s)) return false;
  s->record.stop = bl_start_stop(s, false);
  return true;
}

/* Minimises under new scales. */
static blica_status learning_round(run *r, double tolerance) {
  const size_t nk = (size_t)r->data->n * r->data->k;
  BL_OWNED double *before = NULL;
  double most = 0, change = 0;
  blica_status status;
  const double *theta = r->start->theta;
  r->all->starts->precision_mixing = r->data->precision_mixing;
  r->all->starts->precision_variance = r->data->precision_variance;
  TRY(bl_alloc(r->start->ctx, nk, &before));
  memcpy(before, theta, nk * sizeof *before);
  TRY(minimise(r, tolerance, true));
  for (size_t i = 0; i < nk; i++) {
    most = fmax(most, fmax(fabs(before[i]), fabs(theta[i])));
    change = fmax(change, fabs(theta[i] - before[i]));
  }
  r->all->round_change = most > 0 ? change / most : 0;
done:
  return status;
}

static blica_status learn_by_laplace(run *r) {
  blica_status status = BLICA_OK;
  bool settled = false;
  for (int round = 0; round < SCALE_ROUNDS && !settled && !bl_start_stopped(r->start); round++) {
    TRY(update_scales(r, &settled));
    if (learning_stopped(r->start)) break;
    TRY(learning_round(r, r->all->options->tolerance));
  }
done:
  return status;
}

/* How much of the uncertainty of the log-variances is averaged over: all of it up to about 8 variables, half at 10,
 * none from 15 on. The noise of equation 19 is that of correlations near 0; the fewer variables, the larger their
 * correlations and the more it overstates (docs/method.md, equation 29). */
static double average_share(int n) {
  const double share = 1 / (1 + pow(n / 10.0, 6));
  return share > LEAST_SHARE ? share : 0;
}

/* The same with the log-variances averaged over: their second moments are those of the prior. Where less than half of
 * their width counts, one pair of points and one round are enough, and without an average A would shrink a little more
 * in every round. */
static blica_status learn_by_average(run *r) {
  blica_status status = BLICA_OK;
  const bl_corfit_data *d = r->data;
  const size_t nk = (size_t)d->n * d->k, size = bl_corfit_size(d);
  const double share = average_share(d->n);
  const bool half = share >= 0.5;
  const int rounds = half ? AVERAGE_ROUNDS : 1, pairs = half ? AVERAGE_PAIRS : 1;
  const double tolerance = r->all->options->tolerance;
  bl_corfit_average *average = NULL;
  BL_OWNED bl_margins *margins = NULL;
  if (d->common_cuts) TRY(bl_margins_make(r->start->ctx, d, &margins));
  r->data->row_power = fmax(0, d->k - ROW_LESS);
  TRY(bl_corfit_average_make(r->start->ctx, r->fit, d, r->all->options->seed, share, pairs, &average));
  for (int round = 0; round < rounds && !bl_start_stopped(r->start); round++) {
    if (d->blocks) TRY(bl_blocks_retune(r->start->ctx, d->blocks, d->k, r->start->theta));
    if (margins) r->all->misfit = bl_margins_learn(margins, r->start->theta);
    r->data->margins = isnan(r->all->misfit) ? NULL : margins;
    const double moments =
        bl_corfit_average_update(average, r->start->theta) + sum_of_squares(r->start->theta, nk, size);
    bl_corfit_laplace laplace = {.positive = false};
    if (nk <= BL_LAPLACE_MAX) TRY(bl_corfit_laplace_at(r->start->ctx, r->fit, r->start->theta, &laplace));
    if (learning_stopped(r->start)) break;
    double gamma = laplace.positive && laplace.gamma_mixing > 1 ? laplace.gamma_mixing : (double)nk;
    set_scales(r->data, clamp(sqrt(sum_of_squares(r->start->theta, 0, nk) / gamma), 0.1, 100),
               clamp(sqrt(moments / (double)(size - nk)), 0.05, 10));
    r->average = average;
    TRY(learning_round(r, round + 1 < rounds ? fmax(ROUGH, tolerance) : tolerance));
  }
done:
  bl_corfit_average_free(average);
  r->average = NULL, r->data->margins = NULL;
  return status;
}

static blica_status learn_scales(bl_start *s) {
  blica_status status;
  run r;
  s->stage = bl_stage_below(&s->all->problem->stage, "learn");
  TRY(open_run(s, &r));
  TRY((r.data->average ? learn_by_average : learn_by_laplace)(&r));
done:
  close_run(&r);
  return status;
}

/* ---- the whole ---- */

/* Variances of the model. Without a prior that of a source which a segment does not show falls without end, and that of
 * one which explains a singular matrix grows; beyond LOG_BOUND its change is long lost in rounding, and it stays there:
 * the model must be finite. */
static void fill_variances(const bl_corfit_data *d, const double *theta, blica_model *model) {
  static const double LOG_BOUND = 300; /* range of log(c v |a|^2) around 0 */
  const double *log_v = theta + (size_t)d->n * d->k;
  for (int j = 0; j < d->k; j++) {
    double most = 0;
    for (int i = 0; i < d->n; i++) most = fmax(most, fabs(theta[i + (size_t)j * d->n]));
    const double strength = log(d->link) + 2 * log(fmax(most, 1e-100));
    for (int s = 0; s < d->u; s++) {
      const size_t at = (size_t)j + (size_t)d->k * (size_t)s;
      model->variances[at] = exp(clamp(log_v[at], -LOG_BOUND - strength, LOG_BOUND - strength));
    }
  }
}

static blica_status report(blica_ctx *ctx, const shared *all, const blica_start *best, blica_fit_report *fit) {
  blica_status status = BLICA_OK;
  const bl_corfit_data *d = all->data;
  if (d->precision_mixing > 0) fit->prior_mixing = sqrt(1 / d->precision_mixing);
  if (d->precision_variance > 0) fit->prior_variance = sqrt(1 / d->precision_variance);
  if (!isnan(all->round_change)) { /* the starts' records are those of the first scales */
    TRY(bl_report_note(ctx, fit, "round_change", all->round_change));
    TRY(bl_report_note(ctx, fit, "learned_gradient", best->gradient));
  }
  if (!isnan(all->misfit)) TRY(bl_report_note(ctx, fit, "margin_misfit", sqrt(all->misfit)));
done:
  return status;
}

/* Runs all starts under the first scales, then learns the scales at the best. */
blica_status bl_corfit_run(blica_ctx *ctx, const bl_problem *problem, bl_corfit_data *data, double constant,
                           blica_model *model) {
  blica_status status;
  const bl_settings *o = problem->options;
  BL_OWNED double *shift = NULL;
  double *low, *high, condition = START_CONDITION;
  shared own = {.options = o, .data = data, .round_change = NAN, .misfit = NAN};
  bl_multistart all = {.problem = problem,
                       .run = run_start,
                       .user = &own,
                       .count = o->starts,
                       .size = bl_corfit_size(data),
                       .constant = constant,
                       .factor = 1,
                       .side_by_side = data->lanes,
                       .keep = true,
                       .n = data->n,
                       .k = data->k};
  if (is_learned(o)) set_scales(data, FIRST_SD_MIXING, FIRST_SD_VARIANCE);
  if (o->prior == BLICA_PRIOR_FIXED) set_scales(data, o->prior_mixing, o->prior_variance);
  TRY(bl_alloc(ctx, 3 * (size_t)model->u, &shift));
  low = shift + model->u, high = low + model->u;
  TRY(bl_agree(ctx, bl_regularise_shifts(ctx, problem->cor, &condition, shift, low, high)));
  TRY(bl_sgauss_data_make(ctx, problem->cor, shift, model->k, o, &own.starts));
  own.starts->precision_mixing = data->precision_mixing, own.starts->precision_variance = data->precision_variance;
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  if (is_learned(o))
    TRY(bl_multistart_continue(ctx, &all, learn_scales, &model->fit));
  else
    TRY(bl_multistart_end(ctx, &all, go_on, &model->fit));
  memcpy(model->mixing, all.best->theta, (size_t)data->n * data->k * sizeof(double));
  fill_variances(data, all.best->theta, model);
  TRY(report(ctx, &own, &all.best->record, &model->fit));
done:
  bl_multistart_free(&all);
  bl_sgauss_data_free(own.starts);
  return status;
}
