/* rounds.c - one start, from its point to its end: L-BFGS in rounds, Fisher's scoring, and why it stopped. */
#include "estimate/gauss/rounds.h"

#include <math.h>

#include "num/lbfgs.h"

enum {
  HISTORY = 20,
  SLOPE_ROUNDS = 4,     /* until the gradient is small in the standard scale too */
  FIRST_PLAIN = 1200,   /* most iterations without preconditioner of a start that is not near a solution, */
  PLAIN_ROUND = 150,    /* and of later rounds, and with it: */
  SHORT_ROUND = 30,     /* in the first rounds, */
  LONG_ROUND = 100,     /* and later */
  BEFORE_SCORING = 300, /* preconditioned iterations before scoring takes over */
  SCORING_SMALL = 100,  /* n k up to which scoring ends every start, */
  SCORING_LARGE = 200   /* and those that L-BFGS does not lead to the end */
};
static const double LOG_BOUND = 27.6; /* log 1e12: range of log(c v |a|^2) around 0 */

/* ---- opening ---- */

blica_status bl_run_open(bl_start *start, bl_run *run) {
  blica_status status;
  bl_gauss_fit *fit = start->all->user;
  *run = (bl_run){.start = start, .fit = fit};
  start->own = run;
  TRY(bl_evaluator_make(start->ctx, &fit->criterion, &run->evaluator));
  TRY(bl_preconditioner_make(start->ctx, &fit->criterion, &run->preconditioner));
done:
  return status;
}

void bl_run_close(bl_run *run) {
  if (run->preconditioner.own) run->preconditioner.close(run->preconditioner.own);
  bl_evaluator_free(run->evaluator);
}

static double objective(const double *theta, double *gradient, void *user) {
  bl_start *s = user;
  const bl_run *r = s->own;
  const double value =
      r->average ? bl_average_evaluate(r->average, theta, gradient) : bl_evaluate(r->evaluator, theta, gradient);
  if (isfinite(value)) s->loop_poll.armed = true; /* from now on there is something to return */
  return value;
}

static const bl_layout *layout_of(const bl_run *r) {
  return &r->fit->criterion.layout;
}

static bool has_prior(const bl_run *r) {
  return r->fit->criterion.precision_mixing > 0 || r->fit->criterion.precision_variance > 0;
}

/* ---- the free scale of a source, which trades between its column of A and its variances ---- */

/* log of the mean over segments of v_j, whatever its size. */
static double log_mean_variance(const bl_layout *p, const double *theta, int j) {
  double most = -INFINITY, sum = 0;
  for (int s = 0; s < p->u; s++) most = fmax(most, theta[bl_local(p, s) + (size_t)j]);
  for (int s = 0; s < p->u; s++) sum += exp(theta[bl_local(p, s) + (size_t)j] - most);
  return most + log(sum / p->u);
}

/* Rescales every source so that the mean of its variances is 1; without priors the likelihood stays as it was. A source
 * that a segment does not show has its variance driven to 0 there, and one that explains a singular matrix has it
 * driven to infinity: the likelihood levels off on the way but has no maximum. Beyond LOG_BOUND its change is lost in
 * rounding, so that is where such a variance is put; the model stays finite and a gradient means something. */
static void standardise(const bl_layout *p, double *theta) {
  for (int j = 0; j < p->k; j++) {
    double *a = theta + (size_t)j * p->n, most = 0;
    for (int i = 0; i < p->n; i++) most = fmax(most, fabs(a[i]));
    const double strength = log(p->link) + 2 * log(most);
    for (int s = 0; s < p->u && isfinite(strength); s++) {
      double *log_v = &theta[bl_local(p, s) + (size_t)j];
      *log_v = fmin(fmax(*log_v, -LOG_BOUND - strength), LOG_BOUND - strength);
    }
    const double mean = log_mean_variance(p, theta, j);
    if (!isfinite(mean)) continue;
    for (int s = 0; s < p->u; s++) theta[bl_local(p, s) + (size_t)j] -= mean;
    for (int i = 0; i < p->n; i++) a[i] *= exp(0.5 * mean);
  }
}

/* Records the objective and the relative gradient where the start is, the latter by A in the scale where the mean
 * variance of each source is 1: without priors the scale is free, and where it drifts a gradient may look as small as
 * one likes. */
static void record_slope(bl_run *r, double *gradient) {
  const bl_layout *p = layout_of(r);
  bl_start *s = r->start;
  double most = 0;
  s->loop_poll.armed = false; /* what is returned is whole */
  const double value = objective(s->theta, gradient, s);
  s->record.evaluations++;
  s->record.objective = s->all->constant - value;
  for (int j = 0; j < p->k; j++) {
    const double scale = exp(-0.5 * log_mean_variance(p, s->theta, j));
    for (int i = 0; i < p->n; i++) most = fmax(most, scale * fabs(gradient[i + (size_t)j * p->n]));
  }
  for (size_t i = bl_local(p, 0); i < bl_layout_size(p); i++) most = fmax(most, fabs(gradient[i]));
  s->record.gradient = most / fmax(1, fabs(value));
}

/* ---- rounds ---- */

static void precondition(double *direction, void *user) {
  const bl_start *s = user;
  const bl_run *r = s->own;
  if (r->set_each_time) r->preconditioner.set(r->preconditioner.own, s->theta);
  r->preconditioner.apply(r->preconditioner.own, direction);
}

static int64_t iterations_left(const bl_run *r) {
  return r->fit->problem->options->max_iterations - r->start->iterations;
}

/* Some iterations of L-BFGS, with the preconditioner built where they begin when it is wanted, or without memory, the
 * preconditioner being built in each of them. */
static blica_status lbfgs_round(bl_run *r, int64_t iterations, double tolerance, bool preconditioned,
                                bl_lbfgs_result *result) {
  bl_start *s = r->start;
  bl_stage stage = bl_stage_below(&s->stage, "round %d", r->rounds++);
  bl_lbfgs_options options = {.history = r->set_each_time ? 0 : HISTORY,
                              .max_iterations = iterations < iterations_left(r) ? iterations : iterations_left(r),
                              .gradient_tolerance = tolerance,
                              .hook = bl_start_hook,
                              .unfinished = bl_start_unfinished,
                              .stage = &stage};
  if (preconditioned) {
    if (!r->set_each_time && bl_stage_find(&stage) != BL_STAGE_OVER)
      r->preconditioner.set(r->preconditioner.own, s->theta);
    options.precondition = precondition;
    options.max_evaluations = 3 * iterations + 1;
  }
  blica_status status = bl_lbfgs(s->ctx, bl_layout_size(layout_of(r)), s->theta, objective, s, &options, result);
  if (status != BLICA_OK) return status;
  s->iterations += result->iterations;
  s->record.evaluations += result->evaluations;
  return BLICA_OK;
}

/* Whether scoring is to end the start that L-BFGS has led there, or not; exact counts deserve the last digits. */
static bool wants_scoring(const bl_run *r, bool there) {
  const bl_layout *p = layout_of(r);
  const int64_t size = (int64_t)p->n * p->k;
  if (!r->fit->scores || !bl_scoring_fits(p)) return false;
  return r->fit->problem->cor->exact || size <= SCORING_SMALL || (!there && size <= SCORING_LARGE);
}

/* Iterations of a round. */
static int64_t round_length(const bl_run *r, int round, bool preconditioned) {
  const int64_t size = 3 * (int64_t)layout_of(r)->n * layout_of(r)->k;
  if (!r->preconditioner.own) return iterations_left(r);
  if (preconditioned) return r->set_each_time || round < 3 ? SHORT_ROUND : LONG_ROUND;
  return round > 0 || size < PLAIN_ROUND ? PLAIN_ROUND : size < FIRST_PLAIN ? size : FIRST_PLAIN;
}

/* L-BFGS in rounds. Near a solution the preconditioner saves most iterations; far from one it may mislead, which shows
 * in long line searches: then a round does without, or scoring takes over. Where the preconditioner is as good as
 * Fisher's information, every other round builds it in each iteration: a dozen are mostly enough. *there: the gradient
 * is below the tolerance. */
static blica_status descend(bl_run *r, double tolerance, bool near, bool *there) {
  blica_status status = BLICA_OK;
  const bool scoring_soon = wants_scoring(r, false);
  int64_t spent = 0;
  bool preconditioned = r->preconditioner.own && near;
  *there = false;
  for (int round = 0; iterations_left(r) > 0 && !(scoring_soon && spent >= BEFORE_SCORING); round++) {
    bl_lbfgs_result result;
    r->set_each_time = preconditioned && round % 2 == 0 && r->preconditioner.scores;
    TRY(lbfgs_round(r, round_length(r, round, preconditioned), tolerance, preconditioned, &result));
    const bool stuck = result.end == BL_LBFGS_LINE_SEARCH;
    *there = result.end == BL_LBFGS_GRADIENT;
    if (result.end != BL_LBFGS_ITERATIONS && !(stuck && preconditioned)) break;
    const bool fails = preconditioned && (stuck || result.evaluations > 3 * result.iterations);
    if (fails && scoring_soon) break;
    if (preconditioned || round > 0) spent += result.iterations;
    preconditioned = r->preconditioner.own && !fails;
  }
done:
  return status;
}

/* Minimises by Fisher scoring; *there says whether it converged. */
static blica_status scoring_round(bl_run *r, double tolerance, bool *there) {
  bl_start *s = r->start;
  bl_stage stage = bl_stage_below(&s->stage, "scoring %d", r->rounds++);
  const bl_scoring_options options = {
      .tolerance = tolerance, .max_steps = iterations_left(r), .hook = bl_start_hook, .user = s, .stage = &stage};
  bl_scoring_result result;
  s->loop_poll.armed = false; /* the hook polls after each step, which is short */
  MUST(bl_scoring(s->ctx, &r->fit->criterion, r->evaluator, s->theta, &options, &result));
  s->iterations += result.steps;
  s->record.evaluations += result.evaluations;
  *there = result.gradient_max <= tolerance * fmax(1, fabs(result.value));
  return BLICA_OK;
}

/* ---- the whole ---- */

/* Whether a row of A tends to infinity, so that the likelihood has no maximum. */
static bool is_unbounded(const bl_run *r) {
  const bl_layout *p = layout_of(r);
  const double *theta = r->start->theta;
  return bl_is_unbounded(p->n, p->k, p->u, p->link, theta, theta + bl_local(p, 0), (size_t)p->locals);
}

blica_status bl_run_minimise(bl_run *r, double tolerance, bool near) {
  blica_status status;
  bl_start *s = r->start;
  const double last = r->fit->problem->options->tolerance;
  BL_OWNED double *gradient = NULL;
  double wanted = tolerance;
  bool there;
  TRY(bl_alloc(s->ctx, bl_layout_size(layout_of(r)), &gradient));
  for (int round = 0; round < SLOPE_ROUNDS; round++) {
    TRY(descend(r, wanted, near || round > 0, &there));
    if (wants_scoring(r, there) && !bl_start_ended(s)) TRY(scoring_round(r, wanted, &there));
    if (!has_prior(r)) standardise(layout_of(r), s->theta);
    record_slope(r, gradient);
    if (!there || s->record.gradient <= tolerance) break;
    if (has_prior(r)) wanted *= 0.1;
  }
  s->record.stop = bl_start_stop(s, s->record.gradient <= last);
  if (s->record.stop != BLICA_STOP_CONVERGED && s->record.gradient <= tolerance) s->record.stop = BLICA_STOP_COMPARED;
  if (s->record.stop == BLICA_STOP_STALLED && !has_prior(r) && is_unbounded(r)) s->record.stop = BLICA_STOP_UNBOUNDED;
done:
  return status;
}
