/* mle.c - maximum (penalised) full likelihood: A, cuts, log v and the means together.
 *
 * Method: section 3 of the paper, f = - weight sum_rows log P(row) + |A|^2/(2 sd_A^2) + |log v|^2/(2 sd_v^2) +
 * |mu|^2/(2 sd_mu^2), the penalties only with a prior. Probabilities by the grid over sources for k <= 2, else by
 * one fixed shifted lattice per segment, so f is a smooth function and its gradient exact (likelihood.h). Minimised by
 * L-BFGS with the inverse of the information matrix of the patterns, sum over rows of score score', as its first
 * metric (mle_information.c); renewed every few iterations until the gradient is below the tolerance. A coarse lattice
 * or grid goes first. Started from the best of the solutions of matched, pairwise and blica.
 * What is recorded of the end is computed once more by finer integrals, those of blica_loglik.
 * Beyond twelve variables the gradient is sampled instead (mle_sampled.c).
 * With prior=auto the scales are learned by empirical Bayes between the coarse rounds.
 * Checked: gradient against central differences, recovery, and stationarity in tests/recovery/test_mle.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/share.h"
#include "estimate/estimate.h"
#include "estimate/mle.h"
#include "num/lbfgs.h"
#include "num/mvn.h"
#include "num/plackett.h"

enum {
  HISTORY = 40,
  SCALE_ROUNDS = 4,  /* of empirical Bayes */
  MAX_HALVINGS = 60, /* of a starting point until its likelihood can be computed */
  RENEW = 12,        /* iterations under the first metric; each next one serves twice as many */
  COARSE_POINTS = 128,
  FINE_POINTS = 512,      /* up to FEW variables; beyond, half as many */
  RECORDED_POINTS = 1024, /* at most, on 8 shifts: what some twenty evaluations cost */
  FEW = 8,
  COARSE_NODES = 3, /* of the reduction: log-likelihoods to about 0.01 */
  FINE_NODES = 5,   /* to 1e-5; beyond FEW_NODES variables one less */
  FEW_NODES = 6,
  MORE_NODES = 4, /* where line searches fail */
  MOST_NODES = 17,
  CONFIRM_ROUNDS = 4 /* of minimising again, by finer integrals */
};
#define LARGEST_WORK 1e9 /* exponentials of an evaluation by reduction */
#define COARSE_TOLERANCE 1e-6
#define COARSE_GRID 1e-3
#define FINE_GRID 1e-5
#define RECORDED_ERROR 1e-6 /* of the recorded log-likelihood, relative, where it can be had */
#define FIRST_SD_MIXING 3.0 /* where learning the scales begins */
#define FIRST_SD_VARIANCE 1.0
/* The information matrix understates the spread of log v, whose likelihood is skewed: the learned scale is widened by
 * this, chosen on data of other seeds than those of docs/methods.md. */
#define WIDER 1.3
#define SETTLED 0.03 /* relative change of a scale */
#define FLAT 0.02    /* log-likelihood that a round must gain where a row of A stands for infinity */

typedef struct {
  blica_ctx *ctx;
  const bl_problem *problem;
  bl_mle m;
  blica_start record;
  int rounds;     /* of all minimisations */
  int64_t before; /* iterations of earlier rounds */
  double begun;
  double known;          /* log-likelihood at theta, when it has just been computed; NaN: not */
  double loglik_error;   /* of the log-likelihood recorded; NaN: not known */
  double gradient_error; /* of the gradient recorded, by the integrals; NaN: not known */
  double shift;          /* of the maximum by the integrals' error, in standard errors; NaN: not known */
  bool learn;            /* the scales of the prior */
  bool interrupted, out_of_time, unbounded;
  bl_watch watch;
  bool confirmed; /* the gradient recorded is that of confirm() */
} run;

static double objective(const double *theta, double *gradient, void *user) {
  return bl_mle_eval(&((run *)user)->m, theta, gradient);
}

static void look(run *r) {
  int stop = bl_poll_agreed(r->ctx, &r->watch.progress, r->problem->deadline);
  if (stop & 1) r->interrupted = true;
  if (stop & 2) r->out_of_time = true;
}

/* Whether work since the last look was left unfinished. */
static bool cut(void *user) {
  run *r = user;
  if (!r->watch.armed || !r->watch.over) return false;
  look(r);
  return true;
}

static void precondition(double *d, void *user) {
  bl_information_solve(((run *)user)->m.information, d);
}

static int after_iteration(int64_t iteration, double value, double gradient_max, void *user) {
  run *r = user;
  int64_t done = r->before + iteration;
  (void)gradient_max;
  r->known = r->m.loglik;
  r->watch.progress = (blica_progress){"fit", -1, -value, 0, done};
  look(r);
  if (r->interrupted || r->out_of_time) return BL_CUT_SHORT;
  return done >= r->problem->options->max_iterations ? BL_ENOUGH : BL_GO_ON;
}

/* Without a prior the likelihood may have its supremum at infinity: as a row of A grows, its variable becomes the sign
 * of a combination of sources, and the probabilities tend to limits. `gain` is what the last round brought. */
static bool runs_away(const run *r, const double *theta, double gain) {
  return r->m.precision_mixing == 0 && gain < FLAT * r->m.weight && bl_mle_steepest(&r->m, theta) > BL_INFINITE_ROW;
}

/* L-BFGS rounds at one accuracy until the tolerance, a limit, or no more progress. */
static blica_status minimise(run *r, double *theta, double tolerance) {
  blica_status status = BLICA_OK;
  double last = INFINITY;
  int most = r->m.precision_mixing > 0 ? 5 : 2; /* without a prior, look more often whether it runs away */
  for (int round = 0;; round++) {
    bl_lbfgs_options options = {.history = HISTORY,
                                .max_iterations = RENEW << (round < most ? round : most),
                                .gradient_tolerance = tolerance,
                                .hook = after_iteration,
                                .cut = cut,
                                .precondition = r->m.information ? precondition : NULL};
    bl_lbfgs_result result;
    bl_stage stage = bl_stage_below(&r->problem->stage, "round %d", r->rounds++);
    options.stage = &stage;
    if (bl_stage_find(&stage) != BL_STAGE_NONE) r->known = r->m.loglik = NAN;
    if (!r->m.information)
      options.max_iterations = r->problem->options->max_iterations;
    else if (bl_stage_find(&stage) != BL_STAGE_OVER)
      status = bl_information_make(r->ctx, r->m.information, &r->m, theta);
    if (status == BLICA_ERR_INTERRUPTED && cut(r)) {
      bl_stage_cut(&stage);
      status = BLICA_OK;
      break;
    }
    TRY(status);
    TRY(bl_lbfgs(r->ctx, r->m.size, theta, objective, r, &options, &result));
    r->before += result.iterations;
    r->record.evaluations += result.evaluations;
    if (isnan(result.value)) break; /* cut in its first evaluation */
    r->record.objective = -result.value;
    r->record.gradient = result.gradient_max / fmax(1.0, fabs(result.value));
    if (runs_away(r, theta, result.end == BL_LBFGS_GRADIENT ? 0.0 : last - result.value)) r->unbounded = true;
    if (r->unbounded || result.end == BL_LBFGS_GRADIENT || result.end == BL_LBFGS_HOOK) break;
    bool stalled = result.end == BL_LBFGS_LINE_SEARCH && result.iterations == 0;
    if (stalled || (round > 2 && last - result.value <= 1e-14 * fabs(last))) break;
    last = result.value;
  }
done:
  return status;
}

static const bl_mle_origin origins[] = {{"matched", "auto", bl_estimate_matched},
                                        {"pairwise", "fixed", bl_estimate_pairwise},
                                        {"blica", "none", bl_estimate_blica}};
enum { ORIGINS = sizeof origins / sizeof *origins };

/* The best of these solutions by penalised full likelihood. */
static blica_status best_start(run *r, blica_model *model, double *theta) {
  blica_status status = BLICA_OK;
  double *trial = NULL, *gradient = NULL, best = INFINITY;
  TRY(bl_alloc(r->ctx, r->m.size, &trial));
  TRY(bl_alloc(r->ctx, r->m.size, &gradient));
  for (int i = 0;
       i < ORIGINS && !(i > 0 && bl_any(r->ctx, bl_interrupted(r->ctx) || bl_seconds() > r->problem->deadline)); i++) {
    char note[sizeof model->fit.notes->name];
    bl_watch_set(r->ctx, NULL); /* they have their own */
    status = bl_mle_solution(r->ctx, r->problem, &r->m, &origins[i], r->learn, model, trial);
    if (status == BLICA_ERR_INTERRUPTED && i > 0) { /* one start is enough for a best so far */
      status = BLICA_OK;
      break;
    }
    TRY(status);
    double value = NAN;
    bl_watch_set(r->ctx, &r->watch);
    for (int halving = 0; halving < MAX_HALVINGS && !isfinite(value) && !cut(r); halving++) {
      for (int j = 0; halving > 0 && j < r->m.n * r->m.k; j++) trial[j] /= 2; /* A outside the domain */
      TRY(bl_mle_order(&r->m, trial));
      value = bl_mle_eval(&r->m, trial, gradient);
    }
    if (cut(r)) break;
    r->watch.armed = true; /* there is a point to return */
    snprintf(note, sizeof note, "start_%s", origins[i].name);
    if (isfinite(value)) TRY(bl_report_note(r->ctx, &model->fit, note, -value));
    if (i > 0 && !(value < best)) continue;
    best = value;
    r->known = r->m.loglik;
    r->record.gradient = bl_mle_slope(&r->m, trial, gradient, value);
    memcpy(theta, trial, sizeof(double) * r->m.size);
    strcpy(r->record.kind, origins[i].name);
  }
done:
  bl_free(trial);
  bl_free(gradient);
  return status;
}

/* One group's part of the empirical Bayes update (MacKay 1992): sum theta^2 / gamma, where gamma, the number of
 * parameters that the data determine, is their number less precision times the trace of the posterior covariance. */
static double learned_sd(const run *r, const double *theta, const double *variance, bool mixing, double precision) {
  double squares = 0.0, gamma = 0.0;
  size_t nk = (size_t)r->m.n * (size_t)r->m.k, border = nk + r->m.cuts, k = (size_t)r->m.k;
  for (size_t i = 0; i < r->m.size; i++) {
    bool own = mixing ? i < nk : i >= border && (i - border) % (2 * k) < k;
    if (!own) continue;
    squares += theta[i] * theta[i];
    gamma += 1.0 - precision * variance[i];
  }
  return sqrt(squares / fmax(gamma, 1.0));
}

/* New scales from the information matrix at theta; *settled when they hardly change any more. */
static blica_status compute_scales(run *r, const double *theta, bool *settled) {
  blica_status status = BLICA_OK;
  double *unit = NULL, *variance = NULL;
  bl_mle *m = &r->m;
  TRY(bl_alloc(r->ctx, m->size, &unit));
  TRY(bl_alloc(r->ctx, m->size, &variance));
  TRY(bl_information_make(r->ctx, m->information, m, theta));
  for (size_t i = 0; i < m->size; i++) {
    memset(unit, 0, sizeof(double) * m->size);
    unit[i] = 1.0;
    bl_information_solve(m->information, unit);
    variance[i] = unit[i];
  }
  double mixing = learned_sd(r, theta, variance, true, m->precision_mixing);
  double log_variance = learned_sd(r, theta, variance, false, m->precision_variance);
  mixing = fmin(fmax(mixing, 0.2), 50.0);
  log_variance = fmin(fmax(WIDER * log_variance, 0.1), 5.0);
  *settled = fabs(log(mixing * sqrt(m->precision_mixing))) < SETTLED &&
             fabs(log(log_variance * sqrt(m->precision_variance))) < SETTLED;
  bl_mle_set_prior(m, mixing, log_variance);
done:
  bl_free(unit);
  bl_free(variance);
  return status;
}

typedef struct {
  bl_mle *m;
  bool *settled;
} scales;

static void pass_scales(bl_state *state, void *user) {
  scales *s = user;
  BL_PASS(state, s->m->precision_mixing);
  BL_PASS(state, s->m->precision_variance);
  BL_PASS(state, s->m->precision_mean);
  bl_pass_flag(state, s->settled);
}

/* The same, unless a checkpoint has the scales of this round. */
static blica_status learn_scales(run *r, int round, const double *theta, bool *settled) {
  scales own = {&r->m, settled};
  bl_stage stage = bl_stage_below(&r->problem->stage, "scales %d", round);
  if (bl_stage_find(&stage) == BL_STAGE_OVER) return bl_stage_load(r->ctx, &stage, pass_scales, &own);
  blica_status status = compute_scales(r, theta, settled);
  if (status == BLICA_OK) bl_stage_over(r->ctx, &stage, pass_scales, &own);
  return status;
}

/* m->loglik as accurate as blica_loglik makes it; not where the working value is all there is: by expectation
 * propagation, or beyond what the fine integrals can do. */
static blica_status refine_loglik(run *r, const double *theta) {
  blica_status status = BLICA_OK;
  bl_mle *m = &r->m;
  bl_params params = bl_mle_params(m, theta);
  blica_loglik_options options = blica_loglik_options_default();
  blica_loglik_result fine = {.u = m->u};
  options.error = RECORDED_ERROR * fmax(1.0, fabs(m->loglik));
  options.seed = r->problem->options->seed;
  /* the engine that did the fit, whose cost is known to be bearable there: a grid's nodes grow with the loadings */
  strcpy(options.engine, m->engine == BL_ENGINE_LATTICE ? "auto" : bl_engine_name(m->engine));
  TRY(bl_alloc(r->ctx, (size_t)m->u, &fine.loglik));
  TRY(bl_alloc(r->ctx, (size_t)m->u, &fine.error));
  status = bl_loglik_run(r->ctx, m->patterns, m->segment, &params, &options, RECORDED_POINTS, &fine);
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
  double *gradient = NULL;
  bl_mle *m = &r->m;
  r->loglik_error = NAN;
  TRY(bl_alloc(r->ctx, m->size, &gradient));
  if ((r->interrupted || r->out_of_time) && !isnan(r->known)) {
    m->loglik = r->known;
  } else {
    r->watch.armed = false; /* what is returned is whole */
    double value = bl_mle_eval(m, theta, gradient);
    if (!r->confirmed) r->record.gradient = bl_mle_slope(m, theta, gradient, value);
    r->watch.armed = true;
  }
  bl_information_free(m->information); /* room for the finer integrals */
  bl_likelihood_free(m->likelihood);
  m->information = NULL;
  m->likelihood = NULL;
  if (m->engine != BL_ENGINE_EP && !r->interrupted && !r->out_of_time) TRY(refine_loglik(r, theta));
  r->record.objective = m->weight * m->loglik - bl_mle_penalty(m, theta);
done:
  bl_free(gradient);
  return status;
}

/* The claim of convergence against finer integrals. Where they put the gradient above the tolerance, what the two
 * gradients differ in is added to the working one (a constant, so that it stays the gradient of a function) and the
 * minimum sought again: a fine gradient for each round, and the rounds gain what the two rules agree in. */
static blica_status confirm(run *r, double *theta) {
  blica_status status = BLICA_OK;
  bl_mle *m = &r->m;
  bl_mle_fine fine = {.error = NAN, .shift = NAN};
  double *tilt = NULL, *pivot, tolerance = r->problem->options->tolerance;
  TRY(bl_mle_fine_make(r->ctx, m, &fine));
  TRY(bl_alloc(r->ctx, 2 * m->size, &tilt));
  pivot = tilt + m->size;
  for (int round = 0; !r->interrupted && !r->out_of_time && !r->unbounded; round++) {
    if (m->precision_mixing == 0) bl_mle_standard(m, theta);
    m->tilt = NULL;
    double value = bl_mle_eval(m, theta, tilt);
    r->record.evaluations += 2;
    r->record.gradient = bl_mle_slope(m, theta, tilt, value);
    bool finer = bl_mle_fine_gradient(m, theta, tolerance, &fine);
    if (cut(r)) break;
    if (finer) r->record.gradient = bl_mle_slope(m, theta, fine.gradient, fine.value);
    r->gradient_error = fine.error;
    r->shift = fine.shift;
    r->confirmed = true;
    if (r->record.gradient <= tolerance || round == CONFIRM_ROUNDS) break;
    r->confirmed = false;
    for (size_t i = 0; i < m->size; i++) tilt[i] = finer ? fine.gradient[i] - tilt[i] : 0.0;
    memcpy(pivot, theta, sizeof(double) * m->size);
    m->tilt = tilt, m->pivot = pivot;
    TRY(minimise(r, theta, tolerance * pow(0.3, round + 1)));
  }
done:
  m->tilt = NULL;
  bl_mle_fine_free(&fine);
  bl_free(tilt);
  return status;
}

/* Whether the integrals are too rough for a claim about the maximum. By lattices their error is measured in standard
 * errors of the parameters; by expectation propagation it is not known. */
static bool is_rough(const run *r) {
  if (r->gradient_error <= r->problem->options->tolerance) return false;
  if (r->m.engine == BL_ENGINE_EP || r->m.engine == BL_ENGINE_LATTICE) return !(r->shift <= BL_MLE_SHIFT);
  return r->gradient_error > r->problem->options->tolerance;
}

static blica_status report(run *r, const double *theta, blica_model *model) {
  blica_status status = BLICA_OK;
  const bl_mle *m = &r->m;
  blica_fit_report *fit = &model->fit;
  bl_mle_store(m, theta, model);
  bool converged = r->confirmed && r->record.gradient <= r->problem->options->tolerance;
  r->record.iterations = r->before;
  r->record.seconds = r->record.seconds_near = bl_seconds() - r->begun;
  r->record.stop = r->unbounded     ? BLICA_STOP_UNBOUNDED
                   : converged      ? is_rough(r) ? BLICA_STOP_INTEGRATION : BLICA_STOP_CONVERGED
                   : r->interrupted ? BLICA_STOP_INTERRUPTED
                   : r->out_of_time ? BLICA_STOP_TIME
                   : r->before >= r->problem->options->max_iterations ? BLICA_STOP_ITERATIONS
                                                                      : BLICA_STOP_STALLED;
  TRY(bl_report_starts(r->ctx, fit, 1));
  fit->starts[0] = r->record;
  fit->objective = r->record.objective;
  fit->iterations = r->record.iterations;
  fit->evaluations = r->record.evaluations;
  fit->stop = r->record.stop;
  TRY(bl_report_note(r->ctx, fit, "loglik", m->loglik));
  if (!isnan(r->loglik_error)) TRY(bl_report_note(r->ctx, fit, "loglik_error", r->loglik_error));
  if (!isnan(r->gradient_error)) TRY(bl_report_note(r->ctx, fit, "gradient_error", r->gradient_error));
  if (!isnan(r->shift)) TRY(bl_report_note(r->ctx, fit, "integration_shift", r->shift));
  if (m->engine == BL_ENGINE_LATTICE) TRY(bl_report_note(r->ctx, fit, "lattice_points", m->accuracy.points));
  if (m->engine == BL_ENGINE_PLACKETT) TRY(bl_report_note(r->ctx, fit, "quadrature_nodes", m->accuracy.nodes));
  if (m->precision_mixing > 0) {
    TRY(bl_report_note(r->ctx, fit, "prior_mixing", 1.0 / sqrt(m->precision_mixing)));
    TRY(bl_report_note(r->ctx, fit, "prior_variance", 1.0 / sqrt(m->precision_variance)));
    TRY(bl_report_note(r->ctx, fit, "prior_mean", 1.0 / sqrt(m->precision_mean)));
  }
done:
  return status;
}

/* The reduction's gradient is that of the integrals, not of the rule: near singular covariances too few nodes make it
 * disagree with the values, and line searches fail. */
static bool may_refine(const run *r) {
  const bl_mle *m = &r->m;
  const int nodes = m->accuracy.nodes + MORE_NODES;
  return m->engine == BL_ENGINE_PLACKETT && nodes <= MOST_NODES &&
         4 * m->u * bl_plackett_cost(m->n, nodes) <= LARGEST_WORK && !r->unbounded && !r->interrupted &&
         !r->out_of_time && r->before < r->problem->options->max_iterations;
}

/* Until the gradient is small in the optimiser's scale or in the standard one; confirm() sees to the latter. */
static blica_status minimise_finely(run *r, double *theta) {
  const double tolerance = r->problem->options->tolerance;
  blica_status status;
  double *gradient = NULL;
  TRY(bl_alloc(r->ctx, r->m.size, &gradient));
  for (;;) {
    TRY(minimise(r, theta, tolerance));
    if (r->record.gradient <= tolerance || r->interrupted || r->out_of_time) break;
    double value = bl_mle_eval(&r->m, theta, gradient);
    r->record.evaluations++;
    if (cut(r)) break;
    r->record.gradient = bl_mle_slope(&r->m, theta, gradient, value);
    if (r->record.gradient <= tolerance || !may_refine(r)) break;
    r->m.accuracy.nodes += MORE_NODES;
  }
done:
  bl_free(gradient);
  return status;
}

blica_status bl_estimate_mle(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  blica_status status = BLICA_OK;
  const blica_fit_options *o = problem->options;
  run r = {.ctx = ctx,
           .problem = problem,
           .begun = bl_seconds(),
           .known = NAN,
           .gradient_error = NAN,
           .shift = NAN,
           .watch = {.deadline = problem->deadline, .progress = {"fit", -1, NAN, 0, 0}}};
  double *theta = NULL;
  bool fixed = strcmp(o->prior, "fixed") == 0, settled = false;
  r.learn = !fixed && strcmp(o->prior, "none") != 0;
  TRY(bl_mle_make(ctx, problem->data, model->k, o, &r.m));
  if (strcmp(o->prior, "none") != 0)
    bl_mle_set_prior(&r.m, fixed ? o->prior_mixing : FIRST_SD_MIXING, fixed ? o->prior_variance : FIRST_SD_VARIANCE);
  if (r.m.sampled) {
    *means_done = true;
    TRY(bl_mle_sampled(ctx, problem, &r.m, model));
    goto done;
  }
  TRY(bl_alloc(ctx, r.m.size, &theta));
  r.m.accuracy.points = COARSE_POINTS;
  r.m.accuracy.grid_error = COARSE_GRID;
  r.m.accuracy.nodes = COARSE_NODES;
  TRY(best_start(&r, model, theta));
  TRY(bl_mle_order(&r.m, theta));
  if (r.m.engine != BL_ENGINE_EP) {
    TRY(minimise(&r, theta, fmax(COARSE_TOLERANCE, o->tolerance)));
    for (int round = 0;
         r.learn && r.m.information && round < SCALE_ROUNDS && !settled && !r.interrupted && !r.out_of_time; round++) {
      status = learn_scales(&r, round, theta, &settled);
      if (status == BLICA_ERR_INTERRUPTED && cut(&r)) break; /* the scales before stay */
      TRY(status);
      TRY(minimise(&r, theta, fmax(COARSE_TOLERANCE, o->tolerance)));
    }
    TRY(bl_mle_order(&r.m, theta));
  }
  r.m.accuracy.points = r.m.n <= FEW ? FINE_POINTS : FINE_POINTS / 2;
  r.m.accuracy.grid_error = FINE_GRID;
  r.m.accuracy.nodes = r.m.n <= FEW_NODES ? FINE_NODES : FINE_NODES - 1;
  r.unbounded = false;
  TRY(minimise_finely(&r, theta));
  if (r.record.gradient <= o->tolerance) TRY(confirm(&r, theta));
  TRY(final_objective(&r, theta));
  TRY(report(&r, theta, model));
  *means_done = true;
done:
  bl_watch_set(ctx, NULL);
  bl_mle_free(&r.m);
  bl_free(theta);
  return status;
}
