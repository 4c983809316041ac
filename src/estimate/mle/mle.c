/* mle.c - maximum (penalised) full likelihood: A, cuts, log v and the means together.
 *
 * Method: section 3 of the paper, f = - weight sum_rows log P(row) + |A|^2/(2 sd_A^2) + |log v|^2/(2 sd_v^2) +
 * |mu|^2/(2 sd_mu^2), the penalties only with a prior. Probabilities by the grid over sources for k <= 2, else by
 * one fixed shifted lattice per segment, so f is a smooth function and its gradient exact (likelihood.h). Minimised by
 * L-BFGS with the inverse of the information matrix of the patterns, sum over rows of score score', as its first
 * metric (mle_information.c); renewed every few iterations until the gradient is below the tolerance. A coarse lattice
 * or grid goes first. Started from the best of the solutions of matched, pairwise and blica.
 * What is recorded of the end is computed once more by finer integrals, those of blica_loglik.
 * Beyond twelve variables by expectation propagation, started from matched under the priors that it learned: its
 * likelihood is an approximation, whose maximum is as near to the truth (docs/likelihood.md).
 * With prior=auto the scales are learned by empirical Bayes between the coarse rounds (mle_information.c).
 * Checked: gradient against central differences, recovery, and stationarity in tests/recovery/test_mle.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/split.h"
#include "estimate/mle/mle.h"
#include "estimate/multistart.h"
#include "num/lbfgs.h"
#include "num/rectangles/mvn.h"

enum {
  HISTORY = 40,
  PRIOR_ROUNDS = 4,  /* of empirical Bayes */
  MAX_HALVINGS = 60, /* of A until its likelihood can be computed */
  RENEW = 12,        /* iterations under the first metric; each next one serves twice as many */
  COARSE_POINTS = 128,
  FINE_POINTS = 512,      /* up to FEW variables; beyond, half as many */
  RECORDED_POINTS = 1024, /* at most, on 8 shifts: what some twenty evaluations cost */
  FEW = 8,
  CONFIRM_ROUNDS = 4 /* of minimising again, by finer integrals */
};
#define COARSE_TOLERANCE 1e-6
#define COARSE_GRID 1e-3
#define FINE_GRID 1e-5
#define RECORDED_ERROR 1e-6 /* relative error of the recorded log-likelihood, where it can be reached */
#define FIRST_SD_MIXING 3.0 /* where learning the scales begins */
#define FIRST_SD_VARIANCE 1.0
#define FLAT 0.02 /* log-likelihood that a round must gain when a row of A tends to infinity */

typedef struct {
  bl_start *start;
  const blica_fit_options *options;
  bl_mle *m;
  blica_model *model;
  int rounds;            /* of all minimisations */
  double known;          /* log-likelihood at theta, when it has just been computed; NaN: not */
  double loglik_error;   /* of the log-likelihood recorded; NaN: not known */
  double gradient_error; /* of the gradient recorded, by the integrals; NaN: not known */
  double shift;          /* of the maximum by the integrals' error, in standard errors; NaN: not known */
  bool learn;            /* the scales of the prior */
  bool unbounded;
  bool confirmed; /* the gradient recorded is that of confirm() */
} run;

static run *run_of(void *start) {
  return ((bl_start *)start)->own;
}

static double objective(const double *theta, double *gradient, void *user) {
  return bl_mle_eval(run_of(user)->m, theta, gradient);
}

static void precondition(double *d, void *user) {
  bl_information_solve(run_of(user)->m->information, d);
}

static int after_iteration(int64_t iteration, double value, double gradient_max, void *user) {
  run *r = run_of(user);
  r->known = r->m->loglik;
  if (bl_start_hook(iteration, value, gradient_max, user) != BL_CONTINUE) return BL_STOP_REQUESTED;
  return r->start->iterations + iteration >= r->options->max_iterations ? BL_LIMIT_REACHED : BL_CONTINUE;
}

/* Without a prior the likelihood may have its supremum at infinity: as a row of A grows, its variable becomes the sign
 * of a combination of sources, and the probabilities tend to limits. `gain` is what the last round brought. */
static bool runs_away(const run *r, const double *theta, double gain) {
  const bl_mle *m = r->m;
  return m->precision_mixing == 0 && gain < FLAT * m->weight &&
         bl_is_unbounded(m->n, m->k, m->u, m->link, theta, theta + bl_mle_local(m, 0), 2 * (size_t)m->k);
}

/* One L-BFGS round. Its value is NaN when it was stopped before its first evaluation was over. */
static blica_status lbfgs_round(run *r, double *theta, double tolerance, int64_t iterations, bl_lbfgs_result *result) {
  blica_status status = BLICA_OK;
  bl_start *s = r->start;
  bl_mle *m = r->m;
  bl_stage stage = bl_stage_below(&s->stage, "round %d", r->rounds++);
  const bl_lbfgs_options options = {.history = HISTORY,
                                    .max_iterations = m->information ? iterations : r->options->max_iterations,
                                    .gradient_tolerance = tolerance,
                                    .hook = after_iteration,
                                    .unfinished = bl_start_unfinished,
                                    .precondition = m->information ? precondition : NULL,
                                    .stage = &stage};
  *result = (bl_lbfgs_result){.value = NAN};
  if (bl_stage_find(&stage) != BL_STAGE_NONE) r->known = m->loglik = NAN;
  if (m->information && bl_stage_find(&stage) != BL_STAGE_OVER)
    status = bl_information_make(s->ctx, m->information, m, theta, true);
  if (status == BLICA_ERR_INTERRUPTED && bl_start_unfinished(s)) {
    bl_stage_freeze(&stage);
    return BLICA_OK;
  }
  TRY(status);
  TRY(bl_lbfgs(s->ctx, m->size, theta, objective, s, &options, result));
  s->iterations += result->iterations;
  s->record.evaluations += result->evaluations;
  if (isnan(result->value)) goto done;
  s->record.objective = -result->value;
  s->record.gradient = result->gradient_max / fmax(1.0, fabs(result->value));
done:
  return status;
}

/* f and its gradient at theta, A being shrunk until they can be computed. */
static blica_status shrink_until_finite(run *r, double *theta, double *gradient, double *value) {
  blica_status status = BLICA_OK;
  bl_mle *m = r->m;
  *value = NAN;
  for (int halving = 0; halving < MAX_HALVINGS && !isfinite(*value) && !bl_start_unfinished(r->start); halving++) {
    for (int j = 0; halving > 0 && j < m->n * m->k; j++) theta[j] /= 2;
    TRY(bl_mle_order(m, theta));
    *value = bl_mle_eval(m, theta, gradient);
  }
done:
  return status;
}

/* L-BFGS rounds at one accuracy until the tolerance, a limit, or no more progress. */
static blica_status minimise(run *r, double *theta, double tolerance) {
  blica_status status = BLICA_OK;
  double last = INFINITY;
  int most = r->m->precision_mixing > 0 ? 5 : 2; /* without a prior, test more often whether it runs away */
  for (int round = 0;; round++) {
    bl_lbfgs_result result;
    TRY(lbfgs_round(r, theta, tolerance, RENEW << (round < most ? round : most), &result));
    if (isnan(result.value)) break;
    if (runs_away(r, theta, result.end == BL_LBFGS_GRADIENT ? 0.0 : last - result.value)) r->unbounded = true;
    if (r->unbounded || result.end == BL_LBFGS_GRADIENT || result.end == BL_LBFGS_HOOK) break;
    bool stalled = result.end == BL_LBFGS_LINE_SEARCH && result.iterations == 0;
    if (stalled || (round > 2 && last - result.value <= 1e-14 * fabs(last))) break;
    last = result.value;
  }
done:
  return status;
}

/* ---- where it begins: solutions of other methods ---- */

/* A method whose solution is a starting point. */
typedef struct {
  const char *name;
  blica_prior prior;
  bl_estimate_fn estimate;
} origin;

enum { START_ITERATIONS = 1000 }; /* of the methods that give starting points */
#define START_TOLERANCE 1e-7
/* Norm of sqrt(c) A_i in a starting point; data tell nothing beyond, and the grid's cost grows with it. */
#define STEEP_START 20.0
/* Where sources are as many as variables means beyond 3 are common, and together give the base rates. */
#define LARGEST_MEAN 30.0

/* Scales that a start has learned are where learning them by the full likelihood begins. */
static void take_priors(bl_mle *m, const blica_model *start) {
  double mixing = NAN, variance = NAN;
  bl_model_prior(start, &mixing, &variance);
  if (mixing > 0 && variance > 0) bl_mle_set_prior(m, fmin(fmax(mixing, 0.2), 50.0), fmin(fmax(variance, 0.1), 5.0));
}

/* On few rows a solution may have rows of A without bound: shortened, they are still steps. */
static void shorten_rows(const bl_mle *m, const blica_coding *coding, double link, double *mixing, double *cuts) {
  for (int i = 0; i < m->n; i++) {
    double squares = 0.0;
    for (int j = 0; j < m->k; j++) squares += link * mixing[i + (size_t)j * m->n] * mixing[i + (size_t)j * m->n];
    double scale = STEEP_START / fmax(STEEP_START, sqrt(squares));
    for (int j = 0; j < m->k; j++) mixing[i + (size_t)j * m->n] *= scale;
    for (int p = bl_plane(coding, i); p < bl_plane(coding, i + 1); p++) cuts[p] *= scale;
  }
}

/* Its solution as a point; with learn, the scales that it learned become those of m's priors. */
static blica_status solution_of(blica_ctx *ctx, const bl_problem *problem, bl_mle *m, const origin *from, bool learn,
                                const blica_model *shape, double *theta) {
  blica_status status = BLICA_OK;
  blica_model *start = NULL;
  blica_fit_options options = *problem->options;
  bl_problem inner = *problem;
  bool means_done = false;
  int n = shape->n, k = shape->k, u = shape->u;
  options.prior = from->prior;
  options.likelihood_power = 1.0;
  options.starts = m->engine == BLICA_ENGINE_EP ? problem->options->starts : 1; /* the only point, or one of several */
  options.max_iterations = START_ITERATIONS;
  options.tolerance = START_TOLERANCE;
  inner.options = &options;
  inner.stage = bl_stage_below(&problem->stage, "%s", from->name);
  TRY(bl_model_like(ctx, shape, &start));
  TRY(from->estimate(ctx, &inner, start, &means_done));
  if (learn && from->prior == BLICA_PRIOR_AUTO) take_priors(m, start);
  TRY(bl_model_fill_means(ctx, start, m->cuts > 0, means_done));
  shorten_rows(m, start->coding, start->link, start->mixing, start->cuts);
  memcpy(theta, start->mixing, sizeof(double) * (size_t)n * (size_t)k);
  if (m->cuts) bl_cuts_set(start->coding, n, start->cuts, theta + (size_t)n * (size_t)k);
  for (int s = 0; s < u; s++)
    for (int j = 0; j < k; j++) {
      double v = start->variances[j + (size_t)s * k], mu = start->means[j + (size_t)s * k];
      theta[bl_mle_local(m, s) + (size_t)j] = log(fmin(fmax(v, 1e-3), 1e3));
      theta[bl_mle_local(m, s) + (size_t)(k + j)] = isfinite(mu) ? fmin(fmax(mu, -LARGEST_MEAN), LARGEST_MEAN) : 0.0;
    }
done:
  blica_model_free(start);
  return status;
}

static const origin origins[] = {{"matched", BLICA_PRIOR_AUTO, bl_estimate_matched},
                                 {"pairwise", BLICA_PRIOR_FIXED, bl_estimate_pairwise},
                                 {"blica", BLICA_PRIOR_NONE, bl_estimate_blica}};
enum { ORIGINS = sizeof origins / sizeof *origins };

/* Whether the user or the clock said stop, to all ranks. */
static bool is_over(const bl_start *s) {
  return bl_any(s->ctx, bl_interrupted(s->ctx) || bl_seconds() > s->all->problem->deadline);
}

/* The best of these solutions by penalised full likelihood. */
static blica_status best_start(run *r, double *theta) {
  blica_status status = BLICA_OK;
  bl_start *s = r->start;
  BL_OWNED double *trial = NULL, *gradient = NULL;
  double best = INFINITY, value;
  TRY(bl_alloc(s->ctx, r->m->size, &trial));
  TRY(bl_alloc(s->ctx, r->m->size, &gradient));
  const int origins_used = r->m->engine == BLICA_ENGINE_EP ? 1 : ORIGINS;
  for (int i = 0; i < origins_used && !(i > 0 && is_over(s)); i++) {
    char note[sizeof r->model->fit.notes->name];
    status = solution_of(s->ctx, s->all->problem, r->m, &origins[i], r->learn, r->model, trial);
    if (status == BLICA_OK) status = shrink_until_finite(r, trial, gradient, &value);
    if (status == BLICA_ERR_INTERRUPTED && i > 0) { /* one start is enough for a best so far */
      status = BLICA_OK;
      break;
    }
    TRY(status);
    if (bl_start_unfinished(s)) break;
    s->loop_poll.armed = true; /* there is a point to return */
    snprintf(note, sizeof note, "start_%s", origins[i].name);
    if (isfinite(value)) TRY(bl_report_note(s->ctx, &r->model->fit, note, -value));
    if (i > 0 && !(value < best)) continue;
    best = value;
    r->known = r->m->loglik;
    s->record.gradient = bl_mle_slope(r->m, trial, gradient, value);
    memcpy(theta, trial, sizeof(double) * r->m->size);
    bl_start_set_kind(s, origins[i].name);
  }
done:
  return status;
}

/* Adds the error of expectation propagation to m->loglik. It is measured on a sample of rows; three of its standard
 * errors are the error that is left. */
static blica_status add_lack(run *r, const double *theta) {
  bl_mle *m = r->m;
  const bl_params params = bl_mle_params(m, theta);
  const double rows = (double)m->patterns->rows;
  double lack, error;
  MUST(bl_likelihood_ep_error(r->start->ctx, m->likelihood, &params, r->options->seed, &lack, &error));
  m->loglik += rows * lack;
  r->loglik_error = 3 * rows * error;
  return BLICA_OK;
}

/* m->loglik as accurate as blica_loglik makes it, with its error; not beyond what the fine integrals can do. */
static blica_status refine_loglik(run *r, const double *theta) {
  blica_status status = BLICA_OK;
  bl_mle *m = r->m;
  bl_params params = bl_mle_params(m, theta);
  blica_loglik_options options = blica_loglik_options_default();
  blica_loglik_result fine = {.u = m->u};
  options.error = RECORDED_ERROR * fmax(1.0, fabs(m->loglik));
  options.seed = r->options->seed;
  /* the engine that did the fit, whose cost is known to be bearable there: a grid's nodes grow with the loadings */
  options.engine = m->engine == BLICA_ENGINE_LATTICE ? BLICA_ENGINE_AUTO : m->engine;
  TRY(bl_alloc(r->start->ctx, (size_t)m->u, &fine.loglik));
  TRY(bl_alloc(r->start->ctx, (size_t)m->u, &fine.error));
  status = bl_loglik_run(r->start->ctx, m->patterns, m->segment, &params, &options, RECORDED_POINTS, NULL, &fine);
  if (status == BLICA_OK && isfinite(fine.total) && isfinite(fine.total_error)) {
    m->loglik = fine.total;
    r->loglik_error = fine.total_error;
  } else if (status == BLICA_ERR_DATA || status == BLICA_ERR_INTERRUPTED) {
    status = BLICA_OK;
  }
done:
  bl_free(fine.loglik);
  bl_free(fine.error);
  return status;
}

/* The objective at theta itself, as it is recorded: the last evaluation may have been a trial point, or in a run before
 * a resume, and what serves for finding the maximum is off by more where patterns are rare. A fit that was cut short
 * ends at once, with the working value. */
static blica_status final_objective(run *r, const double *theta) {
  blica_status status = BLICA_OK;
  BL_OWNED double *gradient = NULL;
  bl_mle *m = r->m;
  r->loglik_error = NAN;
  TRY(bl_alloc(r->start->ctx, m->size, &gradient));
  if (bl_start_stopped(r->start) && !isnan(r->known)) {
    m->loglik = r->known;
  } else {
    r->start->loop_poll.armed = false; /* what is returned is whole */
    double value = bl_mle_eval(m, theta, gradient);
    if (!r->confirmed) r->start->record.gradient = bl_mle_slope(m, theta, gradient, value);
    r->start->loop_poll.armed = true;
  }
  const bool propagated = m->engine == BLICA_ENGINE_EP, stopped = bl_start_stopped(r->start);
  if (propagated && !stopped) TRY(add_lack(r, theta));
  bl_information_free(m->information); /* room for the finer integrals */
  bl_likelihood_free(m->likelihood);
  m->information = NULL;
  m->likelihood = NULL;
  if (!propagated && !stopped) TRY(refine_loglik(r, theta));
  r->start->record.objective = m->weight * m->loglik - bl_mle_penalty(m, theta, NULL);
done:
  return status;
}

/* The claim of convergence against finer integrals. Where they put the gradient above the tolerance, what the two
 * gradients differ in is added to the working one (a constant, so that it stays the gradient of a function) and the
 * minimum sought again: a fine gradient for each round, and the rounds gain what the two rules agree in. */
static blica_status confirm(run *r, double *theta) {
  blica_status status = BLICA_OK;
  bl_mle *m = r->m;
  bl_mle_fine fine = {.error = NAN, .shift = NAN};
  BL_OWNED double *tilt = NULL;
  double *pivot, tolerance = r->options->tolerance;
  TRY(bl_mle_fine_make(r->start->ctx, m, &fine));
  TRY(bl_alloc(r->start->ctx, 2 * m->size, &tilt));
  pivot = tilt + m->size;
  for (int round = 0; !bl_start_stopped(r->start) && !r->unbounded; round++) {
    if (m->precision_mixing == 0) bl_mle_standard(m, theta);
    m->tilt = NULL;
    double value = bl_mle_eval(m, theta, tilt);
    r->start->record.evaluations += 2;
    r->start->record.gradient = bl_mle_slope(m, theta, tilt, value);
    bool finer = bl_mle_fine_gradient(m, theta, tolerance, &fine);
    if (bl_start_unfinished(r->start)) break;
    if (finer) r->start->record.gradient = bl_mle_slope(m, theta, fine.gradient, fine.value);
    r->gradient_error = fine.error;
    r->shift = fine.shift;
    r->confirmed = true;
    if (r->start->record.gradient <= tolerance || round == CONFIRM_ROUNDS) break;
    r->confirmed = false;
    for (size_t i = 0; i < m->size; i++) tilt[i] = finer ? fine.gradient[i] - tilt[i] : 0.0;
    memcpy(pivot, theta, sizeof(double) * m->size);
    m->tilt = tilt, m->pivot = pivot;
    TRY(minimise(r, theta, tolerance * pow(0.3, round + 1)));
  }
done:
  m->tilt = NULL;
  bl_mle_fine_free(&fine);
  return status;
}

/* Whether the integrals are too rough for a claim about the maximum. By lattices their error is measured in standard
 * errors of the parameters; expectation propagation has a likelihood of its own, and is at its maximum. */
static bool is_rough(const run *r) {
  if (r->gradient_error <= r->options->tolerance || r->m->engine == BLICA_ENGINE_EP) return false;
  if (r->m->engine == BLICA_ENGINE_LATTICE) return !(r->shift <= BL_MLE_SHIFT);
  return r->gradient_error > r->options->tolerance;
}

/* Records notes about the accuracy of the integrals. */
static blica_status report_fit(blica_ctx *ctx, const run *r, blica_fit_report *fit) {
  blica_status status = BLICA_OK;
  const bl_mle *m = r->m;
  TRY(bl_mle_report(ctx, m, r->loglik_error, r->shift, fit));
  if (!isnan(r->gradient_error)) TRY(bl_report_note(ctx, fit, "gradient_error", r->gradient_error));
  if (m->engine == BLICA_ENGINE_LATTICE) TRY(bl_report_note(ctx, fit, "lattice_points", m->accuracy.points));
done:
  return status;
}

/* Until the gradient is small in the optimiser's scale or in the standard one; confirm() sees to the latter. */
static blica_status minimise_finely(run *r, double *theta) {
  blica_status status;
  BL_OWNED double *gradient = NULL;
  double value;
  TRY(bl_alloc(r->start->ctx, r->m->size, &gradient));
  TRY(shrink_until_finite(r, theta, gradient, &value)); /* finer integrals may fail where coarse ones did not */
  if (bl_start_unfinished(r->start)) goto done;
  TRY(minimise(r, theta, r->options->tolerance));
  if (r->start->record.gradient <= r->options->tolerance || bl_start_stopped(r->start)) goto done;
  value = bl_mle_eval(r->m, theta, gradient);
  r->start->record.evaluations++;
  if (!bl_start_unfinished(r->start)) r->start->record.gradient = bl_mle_slope(r->m, theta, gradient, value);
done:
  return status;
}

/* Minimises with the coarse rule and learns the scales of the priors in rounds. */
static blica_status minimise_coarsely(run *r, double *theta) {
  const double tolerance = fmax(COARSE_TOLERANCE, r->options->tolerance);
  bl_start *s = r->start;
  bool settled = false;
  blica_status status;
  TRY(minimise(r, theta, tolerance));
  for (int round = 0; r->learn && r->m->information && round < PRIOR_ROUNDS && !settled && !bl_start_stopped(s);
       round++) {
    status = bl_mle_learn_priors(s->ctx, r->m, theta, &settled);
    if (status == BLICA_ERR_INTERRUPTED && bl_start_unfinished(s)) break; /* the scales before stay */
    TRY(status);
    TRY(minimise(r, theta, tolerance));
  }
  TRY(bl_mle_order(r->m, theta));
done:
  return status;
}

static blica_status run_start(bl_start *s) {
  blica_status status;
  run *r = s->all->user;
  bl_mle *m = r->m;
  const double tolerance = r->options->tolerance;
  s->own = r;
  r->start = s;
  m->accuracy.points = COARSE_POINTS;
  m->accuracy.grid_error = COARSE_GRID;
  TRY(best_start(r, s->theta));
  TRY(bl_mle_order(m, s->theta));
  if (m->engine != BLICA_ENGINE_EP) TRY(minimise_coarsely(r, s->theta));
  m->accuracy.points = m->n <= FEW ? FINE_POINTS : FINE_POINTS / 2;
  m->accuracy.grid_error = FINE_GRID;
  r->unbounded = false;
  TRY(minimise_finely(r, s->theta));
  if (s->record.gradient <= tolerance) TRY(confirm(r, s->theta));
  TRY(final_objective(r, s->theta));
  s->record.stop = bl_start_stop(s, r->confirmed && s->record.gradient <= tolerance);
  if (s->record.stop == BLICA_STOP_CONVERGED && is_rough(r)) s->record.stop = BLICA_STOP_INTEGRATION;
  if (r->unbounded) s->record.stop = BLICA_STOP_UNBOUNDED;
done:
  return status;
}

blica_status bl_estimate_mle(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  blica_status status;
  const blica_fit_options *o = problem->options;
  const bool fixed = o->prior == BLICA_PRIOR_FIXED, none = o->prior == BLICA_PRIOR_NONE;
  bl_mle m = {0};
  run r = {.options = o, .m = &m, .model = model, .known = NAN, .gradient_error = NAN, .shift = NAN};
  bl_multistart all = {.problem = problem, .run = run_start, .user = &r, .count = 1, .factor = 1};
  r.learn = !fixed && !none;
  TRY(bl_mle_make(ctx, problem->data, model->coding, model->k, o, &m));
  if (!none)
    bl_mle_set_prior(&m, fixed ? o->prior_mixing : FIRST_SD_MIXING, fixed ? o->prior_variance : FIRST_SD_VARIANCE);
  all.size = m.size;
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  bl_mle_store(&m, all.best->theta, model);
  TRY(report_fit(ctx, &r, &model->fit));
  *means_done = true;
done:
  bl_multistart_free(&all);
  bl_mle_free(&m);
  return status;
}
