/* mle_sampled.c - maximum (penalised) full likelihood where there are too many variables for integration: stochastic
 * approximation.
 *
 * Method (Robbins and Monro 1951; Gu and Kong, Proc. Natl. Acad. Sci. 95, 1998; averaging: Polyak and Juditsky 1992).
 * A Gibbs sampler gives an unbiased, noisy gradient at a cost of rows times n^2 (likelihood/sampler.h); each step moves
 * theta by GAIN times the Newton step of that gradient, with the information matrix of expectation propagation as its
 * metric: its error costs time, not accuracy. Persistent chains answer to a move of theta by the information of the
 * latent variables at first, so the gain must be small; where steps grow it is halved. Steps come in rounds, each with
 * chains of its own. The result is the mean of theta over the rounds after the
 * first two; their scatter says how far it is off, in standard errors of the parameters, and more rounds follow until
 * that is at most LARGEST_NOISE. Started from matched, under the prior of log v that it learned.
 * Checked: unbiased gradient in tests/unit/num/test_gibbs.c, recovery and same bits in
 * tests/recovery/test_mle_sampled.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/share.h"
#include "estimate/estimate.h"
#include "estimate/mle.h"
#include "likelihood/sampler.h"
#include "num/mvn.h"

enum {
  SWEEPS = 2,        /* a step */
  BURN_IN = 20,      /* steps that new chains make before theta moves */
  OFFER = 25,        /* steps between two states that a checkpoint may keep */
  FIRST_STEPS = 60,  /* of the first round, which only comes near */
  STEPS = 200,       /* of the others */
  FIRST_KEPT = 1,    /* rounds before do not count */
  METRIC_ROUNDS = 2, /* that begin with a new metric */
  MOST_ROUNDS = 12,
  MOST_HALVINGS = 5
};
#define GAIN 0.04
#define LARGEST_STEP 0.3  /* root mean square, in standard errors */
#define LARGEST_NOISE 0.2 /* of the result, in standard errors: adds a twenty-fifth to its variance */
#define GROWN 2.0         /* steps of the last quarter of a round over those of the first: the gain is too large */

typedef struct {
  blica_ctx *ctx;
  const bl_problem *problem;
  bl_mle *m;
  bl_sampler *sampler;
  double *theta, *metric_at;       /* [size] where it is, where the metric is to be made */
  double *gradient, *step, *first; /* [size] */
  double *mean;                    /* [size,MOST_ROUNDS] of theta over the last three quarters of a round */
  double *slope;                   /* [size] mean of the gradients of the last round */
  int rounds, turn;                /* turn: steps of the running round */
  int64_t steps;
  double early, late; /* sums of lengths of the steps of the first and last quarter of a round */
  double gain, begun;
  bool learn; /* the scale of A's prior */
  bool fresh; /* the metric is that of metric_at */
  bool stuck; /* steps grow however small the gain is */
  bool interrupted, out_of_time;
  double metric_precision; /* of A's prior in the metric */
  bl_watch watch;
  blica_start record;
} run;

static void poll(run *r) {
  int stop = bl_poll_agreed(r->ctx, &r->watch.progress, r->problem->deadline);
  if (stop & 1) r->interrupted = true;
  if (stop & 2) r->out_of_time = true;
}

static bool is_cut(const run *r) {
  return r->interrupted || r->out_of_time;
}

/* Elements of A are normal, so the length of a row of A is hardly ever small: its density has a factor length^(k-1).
 * The maximum is taken over log lengths and directions of the rows, where -k log length is part of f; over the elements
 * themselves rows whose length the data leave open would shrink, each by another amount, and bend the columns. Returns
 * this part; adds its gradient unless that is NULL. */
static double add_lengths(const bl_mle *m, const double *theta, double *gradient) {
  double value = 0.0;
  for (int i = 0; i < m->n && m->precision_mixing > 0; i++) {
    double square = 0.0;
    for (int j = 0; j < m->k; j++) square += theta[i + (size_t)j * m->n] * theta[i + (size_t)j * m->n];
    for (int j = 0; gradient && j < m->k; j++)
      gradient[i + (size_t)j * m->n] -= m->k * theta[i + (size_t)j * m->n] / square;
    value -= 0.5 * m->k * log(square);
  }
  return value;
}

/* Gradient of f, estimated. */
static blica_status sample_gradient(run *r, int sweeps, double *gradient) {
  bl_mle *m = r->m;
  const size_t border = (size_t)m->n * (size_t)m->k, k = (size_t)m->k;
  bl_params params = bl_mle_params(m, r->theta);
  blica_status status = bl_sampler_gradient(r->ctx, r->sampler, &params, sweeps, gradient, m->g_variance, m->g_mean,
                                            m->cuts ? gradient + border : NULL);
  if (status != BLICA_OK) return status;
  for (size_t i = 0; i < border; i++) gradient[i] = m->precision_mixing * r->theta[i] - m->weight * gradient[i];
  (void)add_lengths(m, r->theta, gradient);
  for (size_t i = border; i < border + m->cuts; i++) gradient[i] *= -m->weight;
  for (int s = 0; s < m->u; s++)
    for (size_t j = 0; j < k; j++) {
      size_t at = bl_mle_local(m, s) + j, local = j + (size_t)s * k;
      gradient[at] = m->precision_variance * r->theta[at] - m->weight * m->g_variance[local];
      gradient[at + k] = m->precision_mean * r->theta[at + k] - m->weight * m->g_mean[local];
    }
  r->record.evaluations += sweeps;
  return BLICA_OK;
}

/* The metric, unless there is a fresh one; when it is cut short there is none. */
static blica_status renew_metric(run *r) {
  if (r->fresh) return BLICA_OK;
  r->watch.armed = true;                           /* it may take seconds; steps are short, and end whole */
  const double precision = r->m->precision_mixing; /* learned further since, in a fit that is resumed */
  r->m->precision_mixing = r->metric_precision;
  blica_status status = bl_information_make(r->ctx, r->m->information, r->m, r->metric_at);
  r->m->precision_mixing = precision;
  r->watch.armed = false;
  r->fresh = status == BLICA_OK;
  if (status != BLICA_ERR_INTERRUPTED) return status;
  bl_stage_cut(&r->problem->stage);
  poll(r);
  return BLICA_OK;
}

/* One step; *length is the whole Newton step's, a root mean square in standard errors. */
static blica_status take_step(run *r, double *length) {
  const bl_mle *m = r->m;
  double square = 0.0;
  blica_status status = sample_gradient(r, SWEEPS, r->gradient);
  if (status != BLICA_OK) return status;
  memcpy(r->step, r->gradient, sizeof(double) * m->size);
  bl_information_solve(m->information, r->step);
  for (size_t i = 0; i < m->size; i++) square += r->step[i] * r->gradient[i];
  *length = sqrt(square / (double)m->size);
  double gain = r->gain * *length > LARGEST_STEP ? LARGEST_STEP / *length : r->gain;
  for (size_t i = 0; i < m->size; i++) r->theta[i] -= gain * r->step[i];
  return BLICA_OK;
}

/* One step of a round, after those in which new chains forget where they began. */
static blica_status take_turn(run *r, int steps) {
  const size_t size = r->m->size;
  const int quarter = steps / 4;
  double length = 0, *mean = r->mean + size * (size_t)r->rounds;
  if (r->turn < BURN_IN) return sample_gradient(r, SWEEPS, r->gradient);
  const int t = r->turn - BURN_IN;
  blica_status status = take_step(r, &length);
  if (status != BLICA_OK) return status;
  if (!isfinite(length)) length = INFINITY;
  if (t < quarter) r->early += length;
  if (t >= steps - quarter) r->late += length;
  for (size_t i = 0; i < size && t >= quarter; i++) {
    mean[i] += r->theta[i] / (steps - quarter);
    r->slope[i] += r->gradient[i] / (steps - quarter);
  }
  r->steps++;
  return BLICA_OK;
}

static void pass_round(bl_state *state, void *user) {
  run *r = user;
  const size_t bytes = sizeof(double) * r->m->size;
  bl_pass(state, r->theta, bytes);
  bl_pass(state, r->mean + r->m->size * (size_t)r->rounds, bytes);
  bl_pass(state, r->slope, bytes);
  bl_pass_count(state, &r->steps);
  bl_pass_count(state, &r->record.evaluations);
  BL_PASS(state, r->gain);
  BL_PASS(state, r->m->precision_mixing);
}

/* The same inside of a round. */
static void pass_between(bl_state *state, void *user) {
  run *r = user;
  pass_round(state, user);
  bl_pass(state, r->first, sizeof(double) * r->m->size);
  bl_pass_int(state, &r->turn, 0, BURN_IN + STEPS);
  BL_PASS(state, r->early);
  BL_PASS(state, r->late);
  bl_sampler_pass(state, r->sampler);
}

/* Keeps the state when it is time, and when the work is cut short. Only every few steps: chains are gathered first. */
static blica_status offer(run *r, bl_stage *stage) {
  if (!stage->checkpoint || !(is_cut(r) || r->turn % OFFER == 0)) return BLICA_OK;
  blica_status status = bl_sampler_gather(r->ctx, r->sampler);
  if (status == BLICA_OK) bl_stage_offer(r->ctx, stage, is_cut(r) ? BL_CUT_SHORT : BL_GO_ON, pass_between, r);
  return status;
}

/* The scale of A's prior: the root mean square of its elements, which are not shrunk (add_lengths). */
static void learn_scale(bl_mle *m, const double *theta) {
  const size_t border = (size_t)m->n * (size_t)m->k;
  double square = 0.0;
  for (size_t i = 0; i < border; i++) square += theta[i] * theta[i] / (double)border;
  m->precision_mixing = 1.0 / square;
}

static void begin_round(run *r) {
  const size_t bytes = sizeof(double) * r->m->size;
  memcpy(r->theta, r->first, bytes);
  memset(r->mean + r->m->size * (size_t)r->rounds, 0, bytes);
  memset(r->slope, 0, bytes);
  r->turn = 0, r->early = r->late = 0;
  bl_sampler_restart(r->sampler, r->rounds);
}

/* The steps of a round from the present one on; *grown when they became longer and longer. */
static blica_status take_turns(run *r, bl_stage *stage, int steps, bool *grown) {
  blica_status status = BLICA_OK;
  *grown = false;
  while (r->turn < BURN_IN + steps && !is_cut(r) && !*grown) {
    status = take_turn(r, steps);
    *grown = status == BLICA_ERR_NUMERIC || r->late > GROWN * r->early;
    if (*grown) status = BLICA_OK;
    TRY(status);
    r->turn++;
    r->watch.progress = (blica_progress){"fit", -1, NAN, 0, r->steps};
    poll(r);
    if (!*grown) TRY(offer(r, stage));
  }
done:
  return status;
}

/* A round, or its result from a checkpoint. */
static blica_status run_round(run *r) {
  blica_status status = BLICA_OK;
  bl_stage stage = bl_stage_below(&r->problem->stage, "round %d", r->rounds);
  const size_t bytes = sizeof(double) * r->m->size;
  const int most = r->rounds == 0 ? FIRST_STEPS : STEPS;
  const int64_t left = r->problem->options->max_iterations - r->steps;
  const int steps = left < most ? (int)left : most;
  bool grown = true;
  if (r->rounds < METRIC_ROUNDS) {
    memcpy(r->metric_at, r->theta, bytes);
    r->metric_precision = r->m->precision_mixing;
    r->fresh = false;
  }
  memcpy(r->first, r->theta, bytes);
  const bl_stage_kept kept = bl_stage_find(&stage);
  if (kept == BL_STAGE_OVER) {
    TRY(bl_stage_load(r->ctx, &stage, pass_round, r));
    r->rounds++;
    goto done;
  }
  begin_round(r);
  if (kept == BL_STAGE_BETWEEN) TRY(bl_stage_load(r->ctx, &stage, pass_between, r));
  TRY(renew_metric(r));
  if (!r->fresh) goto done;
  bl_stage_enter(r->ctx, &stage);
  for (int halving = 0; grown && !r->stuck; halving++) {
    status = take_turns(r, &stage, steps, &grown);
    if (status != BLICA_OK || !grown || is_cut(r)) break;
    r->stuck = halving == MOST_HALVINGS;
    r->gain *= 0.5;
    begin_round(r);
  }
  bl_stage_leave(r->ctx, &stage);
  TRY(status);
  if (is_cut(r) || r->stuck) goto done;
  if (r->rounds < METRIC_ROUNDS) {
    memcpy(r->theta, r->mean + r->m->size * (size_t)r->rounds, bytes);
    if (r->learn) learn_scale(r->m, r->theta);
  }
  bl_stage_over(r->ctx, &stage, pass_round, r);
  r->rounds++;
done:
  return status;
}

/* theta becomes the mean of the rounds that count; returns how far A may be off: the root mean square over its elements
 * in standard errors. */
static double average(run *r) {
  const size_t size = r->m->size, border = (size_t)r->m->n * (size_t)r->m->k + r->m->cuts;
  const int kept = r->rounds - FIRST_KEPT;
  double squares = 0.0;
  if (kept < 1) return INFINITY;
  memset(r->theta, 0, sizeof(double) * size);
  for (int round = FIRST_KEPT; round < r->rounds; round++)
    for (size_t i = 0; i < size; i++) r->theta[i] += r->mean[i + size * (size_t)round] / kept;
  for (int round = FIRST_KEPT; round < r->rounds; round++) {
    for (size_t i = 0; i < border; i++) r->step[i] = r->mean[i + size * (size_t)round] - r->theta[i];
    squares += bl_information_square(r->m->information, r->step);
  }
  return kept < 2 || !r->fresh ? INFINITY : sqrt(squares / ((double)border * kept * (kept - 1)));
}

/* Log-likelihood: expectation propagation, and what it lacks on a sample of rows. */
static blica_status record_loglik(run *r, double *error) {
  blica_status status;
  bl_mle *m = r->m;
  double lack = 0, rows = 0;
  *error = NAN;
  bl_mle_eval(m, r->theta, r->gradient);
  bl_params params = bl_mle_params(m, r->theta);
  TRY(bl_likelihood_ep_error(r->ctx, m->likelihood, &params, r->problem->options->seed, &lack, error));
  for (int g = 0; g < m->patterns->groups; g++)
    for (int64_t p = 0; p < m->patterns->group[g].count; p++) rows += m->patterns->group[g].weight[p];
  m->loglik += rows * lack;
  *error *= rows;
  r->record.objective = m->weight * m->loglik - bl_mle_penalty(m, r->theta) - add_lengths(m, r->theta, NULL);
done:
  return status;
}

static blica_status report(run *r, double shift, blica_model *model) {
  blica_status status;
  const bl_mle *m = r->m;
  blica_fit_report *fit = &model->fit;
  double error;
  TRY(record_loglik(r, &error));
  r->record.gradient = bl_mle_slope(m, r->theta, r->slope, r->record.objective);
  r->record.iterations = r->steps;
  r->record.seconds = r->record.seconds_near = bl_seconds() - r->begun;
  const bool endless = m->precision_mixing == 0 && bl_mle_steepest(m, r->theta) > BL_INFINITE_ROW;
  r->record.stop = endless                                           ? BLICA_STOP_UNBOUNDED
                   : r->stuck                                        ? BLICA_STOP_STALLED
                   : shift <= LARGEST_NOISE                          ? BLICA_STOP_CONVERGED
                   : r->interrupted                                  ? BLICA_STOP_INTERRUPTED
                   : r->out_of_time                                  ? BLICA_STOP_TIME
                   : r->steps >= r->problem->options->max_iterations ? BLICA_STOP_ITERATIONS
                                                                     : BLICA_STOP_INTEGRATION;
  TRY(bl_report_starts(r->ctx, fit, 1));
  fit->starts[0] = r->record;
  fit->objective = r->record.objective;
  fit->iterations = r->record.iterations, fit->evaluations = r->record.evaluations;
  fit->stop = r->record.stop;
  bl_mle_store(m, r->theta, model);
  TRY(bl_report_note(r->ctx, fit, "loglik", m->loglik));
  TRY(bl_report_note(r->ctx, fit, "loglik_error", error));
  if (isfinite(shift)) TRY(bl_report_note(r->ctx, fit, "integration_shift", shift));
  if (m->precision_mixing > 0) {
    TRY(bl_report_note(r->ctx, fit, "prior_mixing", 1.0 / sqrt(m->precision_mixing)));
    TRY(bl_report_note(r->ctx, fit, "prior_variance", 1.0 / sqrt(m->precision_variance)));
    TRY(bl_report_note(r->ctx, fit, "prior_mean", 1.0 / sqrt(m->precision_mean)));
  }
done:
  return status;
}

static blica_status make_run(run *r) {
  blica_status status;
  const bl_mle *m = r->m;
  double **vectors[] = {&r->theta, &r->metric_at, &r->gradient, &r->step, &r->first, &r->slope};
  for (int i = 0; i < 6; i++) TRY(bl_alloc(r->ctx, m->size, vectors[i]));
  TRY(bl_alloc(r->ctx, bl_mul(m->size, MOST_ROUNDS), &r->mean));
  TRY(bl_sampler_make(r->ctx, m->patterns, m->segment, m->n, m->k, m->u, NULL, r->problem->options->seed, &r->sampler));
done:
  return status;
}

static void free_run(run *r) {
  double *vectors[] = {r->theta, r->metric_at, r->gradient, r->step, r->first, r->slope, r->mean};
  for (int i = 0; i < 7; i++) bl_free(vectors[i]);
  bl_sampler_free(r->sampler);
}

blica_status bl_mle_sampled(blica_ctx *ctx, const bl_problem *problem, bl_mle *m, blica_model *model) {
  blica_status status;
  const bl_mle_origin matched = {"matched", "auto", bl_estimate_matched};
  double shift = INFINITY;
  run r = {.ctx = ctx,
           .problem = problem,
           .m = m,
           .gain = GAIN,
           .begun = bl_seconds(),
           .watch = {.deadline = problem->deadline, .progress = {"fit", -1, NAN, 0, 0}}};
  r.learn = strcmp(problem->options->prior, "fixed") != 0 && strcmp(problem->options->prior, "none") != 0;
  snprintf(r.record.kind, sizeof r.record.kind, "%s", matched.name);
  TRY(make_run(&r));
  TRY(bl_mle_solution(ctx, problem, m, &matched, r.learn, model, r.theta));
  if (m->precision_mixing == 0) bl_mle_standard(m, r.theta);
  bl_watch_set(ctx, &r.watch);
  poll(&r);
  while (!is_cut(&r) && r.rounds < MOST_ROUNDS && r.steps < problem->options->max_iterations &&
         !(shift <= LARGEST_NOISE)) {
    TRY(run_round(&r));
    if (is_cut(&r) || r.stuck) break;
    if (r.rounds > FIRST_KEPT + 1) TRY(renew_metric(&r));
    memcpy(r.first, r.theta, sizeof(double) * m->size);
    shift = average(&r);
    if (!(shift <= LARGEST_NOISE) && r.rounds < MOST_ROUNDS) memcpy(r.theta, r.first, sizeof(double) * m->size);
  }
  if (r.rounds > FIRST_KEPT) shift = average(&r);
  TRY(report(&r, shift, model));
done:
  bl_watch_set(ctx, NULL);
  free_run(&r);
  return status;
}
