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
#include <string.h>

#include "estimate/mle/mle.h"
#include "estimate/driver/multistart.h"
#include "likelihood/sampler.h"
#include "num/rectangles/mvn.h"

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
/* The gain is too large when steps of the last quarter of a round are so much longer than those of the first, */
#define GROWN 2.0
#define LEAP 10.0 /* or one step than the mean of the first quarter */

typedef struct {
  bl_start *start;
  blica_ctx *ctx;
  const bl_problem *problem;
  bl_mle *m;
  const blica_model *shape;
  bl_sampler *sampler;
  bl_centre *centre;               /* NULL: there are no cuts */
  double *theta;                   /* [size] that of start */
  double *metric_at;               /* [size] where the metric is to be made */
  double *gradient, *step, *first; /* [size] */
  double *mean;                    /* [size,MOST_ROUNDS] of theta over the last three quarters of a round */
  double *slope;                   /* [size] mean of the gradients of the last round */
  int rounds, step_count;          /* step_count: of the running round */
  double early, late;              /* sums of lengths of the steps of the first and last quarter of a round */
  double gain;
  double shift, loglik_error; /* of the result: how far it may be off, in standard errors; of its log-likelihood */
  bool learn;                 /* the scale of A's prior */
  bool fresh;                 /* the metric is that of metric_at */
  bool stuck;                 /* steps grow however small the gain is */
  double metric_precision;    /* of A's prior in the metric */
} run;

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
  const size_t nk = (size_t)m->n * (size_t)m->k, k = (size_t)m->k;
  bl_params params = bl_mle_params(m, r->theta);
  blica_status status = bl_sampler_gradient(r->ctx, r->sampler, &params, sweeps, gradient, m->g_variance, m->g_mean,
                                            m->cuts ? gradient + nk : NULL);
  if (status != BLICA_OK) return status;
  for (size_t i = 0; i < nk; i++) gradient[i] = m->precision_mixing * r->theta[i] - m->weight * gradient[i];
  (void)add_lengths(m, r->theta, gradient);
  for (size_t i = nk; i < nk + m->cuts; i++) gradient[i] *= -m->weight;
  if (m->cuts) bl_mle_cuts_chain(m, r->theta + nk, gradient + nk);
  for (int s = 0; s < m->u; s++)
    for (size_t j = 0; j < k; j++) {
      size_t at = bl_mle_local(m, s) + j, local = j + (size_t)s * k;
      gradient[at] = m->precision_variance * r->theta[at] - m->weight * m->g_variance[local];
      gradient[at + k] = m->precision_mean * r->theta[at + k] - m->weight * m->g_mean[local];
    }
  r->start->record.evaluations += sweeps;
  return BLICA_OK;
}

/* The metric, unless there is a fresh one; when it is cut short there is none. */
static blica_status renew_metric(run *r) {
  if (r->fresh) return BLICA_OK;
  r->start->loop_poll.armed = true;                /* it may take seconds; steps are short, and end whole */
  const double precision = r->m->precision_mixing; /* learned further since, in a fit that is resumed */
  r->m->precision_mixing = r->metric_precision;
  blica_status status = bl_information_make(r->ctx, r->m->information, r->m, r->metric_at, true);
  r->m->precision_mixing = precision;
  r->start->loop_poll.armed = false;
  r->stuck = r->stuck || (status == BLICA_OK && r->centre && !bl_centre_set(r->centre));
  r->fresh = status == BLICA_OK && !r->stuck;
  if (status != BLICA_ERR_INTERRUPTED) return status;
  bl_stage_freeze(&r->problem->stage);
  bl_start_poll(r->start);
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
  if (r->centre) bl_centre_step(r->centre, r->step);
  for (size_t i = 0; i < m->size; i++) square += r->step[i] * r->gradient[i];
  *length = sqrt(square / (double)m->size);
  double gain = r->gain * *length > LARGEST_STEP ? LARGEST_STEP / *length : r->gain;
  for (size_t i = 0; i < m->size; i++) r->theta[i] -= gain * r->step[i];
  return BLICA_OK;
}

/* One step of a round, after those in which new chains forget where they began. */
static blica_status run_step(run *r, int steps) {
  const size_t size = r->m->size;
  const int quarter = steps / 4;
  double length = 0, *mean = r->mean + size * (size_t)r->rounds;
  if (r->step_count < BURN_IN) return sample_gradient(r, SWEEPS, r->gradient);
  const int t = r->step_count - BURN_IN;
  blica_status status = take_step(r, &length);
  if (status != BLICA_OK) return status;
  const double usual = r->early / (t < quarter ? t : quarter); /* NaN at first */
  if (!isfinite(length) || length > LEAP * usual)
    r->late = INFINITY;
  else if (t < quarter)
    r->early += length;
  else if (t >= steps - quarter)
    r->late += length;
  for (size_t i = 0; i < size && t >= quarter; i++) {
    mean[i] += r->theta[i] / (steps - quarter);
    r->slope[i] += r->gradient[i] / (steps - quarter);
  }
  r->start->iterations++;
  return BLICA_OK;
}

static void pass_round(bl_state *state, void *user) {
  run *r = user;
  const size_t bytes = sizeof(double) * r->m->size;
  bl_pass(state, r->theta, bytes);
  bl_pass(state, r->mean + r->m->size * (size_t)r->rounds, bytes);
  bl_pass(state, r->slope, bytes);
  bl_pass_count(state, &r->start->iterations);
  bl_pass_count(state, &r->start->record.evaluations);
  BL_PASS(state, r->gain);
  BL_PASS(state, r->m->precision_mixing);
}

/* The same inside of a round. */
static void pass_between(bl_state *state, void *user) {
  run *r = user;
  pass_round(state, user);
  bl_pass(state, r->first, sizeof(double) * r->m->size);
  bl_pass_int(state, &r->step_count, 0, BURN_IN + STEPS);
  BL_PASS(state, r->early);
  BL_PASS(state, r->late);
  bl_sampler_pass(state, r->sampler);
}

/* Keeps the state when it is time, and when the work is cut short. Only every few steps: chains are gathered first. */
static blica_status offer(run *r, bl_stage *stage) {
  if (!stage->checkpoint || !(bl_start_stopped(r->start) || r->step_count % OFFER == 0)) return BLICA_OK;
  blica_status status = bl_sampler_gather(r->ctx, r->sampler);
  if (status == BLICA_OK)
    bl_stage_offer(r->ctx, stage, bl_start_stopped(r->start) ? BL_STOP_REQUESTED : BL_CONTINUE, pass_between, r);
  return status;
}

/* The scale of A's prior: the root mean square of its elements, which are not shrunk (add_lengths). */
static void learn_scale(bl_mle *m, const double *theta) {
  const size_t nk = (size_t)m->n * (size_t)m->k;
  double square = 0.0;
  for (size_t i = 0; i < nk; i++) square += theta[i] * theta[i] / (double)nk;
  m->precision_mixing = 1.0 / square;
}

static void begin_round(run *r) {
  const size_t bytes = sizeof(double) * r->m->size;
  memcpy(r->theta, r->first, bytes);
  memset(r->mean + r->m->size * (size_t)r->rounds, 0, bytes);
  memset(r->slope, 0, bytes);
  r->step_count = 0, r->early = r->late = 0;
  bl_sampler_restart(r->sampler, r->rounds);
}

/* The steps of a round from the present one on; *grown when they became longer and longer. */
static blica_status run_steps(run *r, bl_stage *stage, int steps, bool *grown) {
  blica_status status = BLICA_OK;
  *grown = false;
  while (r->step_count < BURN_IN + steps && !bl_start_stopped(r->start) && !*grown) {
    status = run_step(r, steps);
    *grown = status == BLICA_ERR_NUMERIC || r->late > GROWN * r->early;
    if (*grown) status = BLICA_OK;
    TRY(status);
    r->step_count++;
    r->start->loop_poll.progress = (blica_progress){"fit", -1, NAN, 0, r->start->iterations};
    bl_start_poll(r->start);
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
  const int64_t left = r->problem->options->max_iterations - r->start->iterations;
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
    status = run_steps(r, &stage, steps, &grown);
    if (status != BLICA_OK || !grown || bl_start_stopped(r->start)) break;
    r->stuck = halving == MOST_HALVINGS;
    r->gain *= 0.5;
    begin_round(r);
  }
  bl_stage_leave(r->ctx, &stage);
  TRY(status);
  if (bl_start_stopped(r->start) || r->stuck) goto done;
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
  const size_t size = r->m->size, global = (size_t)r->m->n * (size_t)r->m->k + r->m->cuts;
  const int kept = r->rounds - FIRST_KEPT;
  double squares = 0.0;
  if (kept < 1) return INFINITY;
  memset(r->theta, 0, sizeof(double) * size);
  for (int round = FIRST_KEPT; round < r->rounds; round++)
    for (size_t i = 0; i < size; i++) r->theta[i] += r->mean[i + size * (size_t)round] / kept;
  for (int round = FIRST_KEPT; round < r->rounds; round++) {
    for (size_t i = 0; i < global; i++) r->step[i] = r->mean[i + size * (size_t)round] - r->theta[i];
    squares += bl_information_square(r->m->information, r->step);
  }
  return kept < 2 || !r->fresh ? INFINITY : sqrt(squares / ((double)global * kept * (kept - 1)));
}

/* Log-likelihood: expectation propagation, and what it lacks on a sample of rows. */
static blica_status record_loglik(run *r) {
  blica_status status;
  bl_mle *m = r->m;
  double lack = 0, rows = 0, *error = &r->loglik_error;
  *error = NAN;
  bl_mle_eval(m, r->theta, r->gradient);
  bl_params params = bl_mle_params(m, r->theta);
  TRY(bl_likelihood_ep_error(r->ctx, m->likelihood, &params, r->problem->options->seed, &lack, error));
  for (int g = 0; g < m->patterns->groups; g++)
    for (int64_t p = 0; p < m->patterns->group[g].count; p++) rows += m->patterns->group[g].weight[p];
  m->loglik += rows * lack;
  *error *= rows;
  r->start->record.objective = m->weight * m->loglik - bl_mle_penalty(m, r->theta) - add_lengths(m, r->theta, NULL);
done:
  return status;
}

static blica_stop why_stopped(const run *r) {
  const bl_mle *m = r->m;
  if (m->precision_mixing == 0 && bl_mle_largest_row(m, r->theta) > BL_INFINITE_ROW) return BLICA_STOP_UNBOUNDED;
  if (r->stuck) return BLICA_STOP_STALLED;
  const blica_stop stop = bl_start_stop(r->start, r->shift <= LARGEST_NOISE);
  return stop == BLICA_STOP_STALLED ? BLICA_STOP_INTEGRATION : stop;
}

static blica_status make_run(run *r) {
  blica_status status;
  const bl_mle *m = r->m;
  double **vectors[] = {&r->metric_at, &r->gradient, &r->step, &r->first, &r->slope};
  TRY(bl_alloc(r->ctx, bl_mul(m->size, MOST_ROUNDS), &r->mean)); /* owns the vectors */
  for (int i = 0; i < 5; i++) TRY(bl_alloc_for(r->ctx, r->mean, m->size, vectors[i]));
  if (m->cuts) TRY(bl_centre_make(r->ctx, m, &r->centre));
  TRY(bl_sampler_make(r->ctx, m->patterns, m->segment, m->n, m->k, m->u, r->problem->options->seed, &r->sampler));
done:
  return status;
}

static void free_run(run *r) {
  bl_free(r->mean);
  bl_free(r->centre);
  bl_sampler_free(r->sampler);
}

/* Rounds until their mean is accurate enough. */
static blica_status run_rounds(run *r) {
  blica_status status = BLICA_OK;
  const size_t bytes = sizeof(double) * r->m->size;
  while (!bl_start_stopped(r->start) && r->rounds < MOST_ROUNDS &&
         r->start->iterations < r->problem->options->max_iterations && !(r->shift <= LARGEST_NOISE)) {
    TRY(run_round(r));
    if (bl_start_stopped(r->start) || r->stuck) break;
    if (r->rounds > FIRST_KEPT + 1) TRY(renew_metric(r));
    memcpy(r->first, r->theta, bytes);
    r->shift = average(r);
    if (!(r->shift <= LARGEST_NOISE) && r->rounds < MOST_ROUNDS) memcpy(r->theta, r->first, bytes);
  }
  if (r->rounds > FIRST_KEPT) r->shift = average(r);
done:
  return status;
}

static blica_status run_start(bl_start *s) {
  blica_status status;
  run *r = s->all->user;
  const bl_mle_origin matched = {"matched", BLICA_PRIOR_AUTO, bl_estimate_matched};
  r->start = s;
  r->theta = s->theta;
  TRY(make_run(r));
  TRY(bl_mle_solution(s->ctx, r->problem, r->m, &matched, r->learn, r->shape, s->theta));
  if (r->m->precision_mixing == 0) bl_mle_standard(r->m, s->theta);
  bl_start_set_kind(s, matched.name);
  bl_start_poll(s);
  TRY(run_rounds(r));
  TRY(record_loglik(r));
  s->record.gradient = bl_mle_slope(r->m, s->theta, r->slope, s->record.objective);
  s->record.stop = why_stopped(r);
done:
  free_run(r);
  return status;
}

blica_status bl_mle_sampled(blica_ctx *ctx, const bl_problem *problem, bl_mle *m, blica_model *model) {
  blica_status status;
  const blica_prior prior = problem->options->prior;
  run r = {.ctx = ctx,
           .problem = problem,
           .m = m,
           .shape = model,
           .gain = GAIN,
           .shift = INFINITY,
           .learn = prior == BLICA_PRIOR_AUTO};
  bl_multistart all = {.problem = problem, .run = run_start, .user = &r, .count = 1, .size = m->size, .factor = 1};
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  bl_mle_store(m, all.best->theta, model);
  TRY(bl_mle_report(ctx, m, r.loglik_error, r.shift, &model->fit));
done:
  bl_multistart_free(&all);
  return status;
}
