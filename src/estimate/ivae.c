/* ivae.c - the linear iVAE baseline (paper, section 5.3 and appendix E): the evidence lower bound of a linear
 * variational autoencoder with a segment-wise Gaussian prior, maximised by L-BFGS under fixed noise.
 *
 * Starts, parameters and stopping follow the published code: weights and biases uniform in +-1/sqrt(fan-in), a history
 * of 200 pairs, strong Wolfe steps. Several starts, each with noise of its own; because the training bound
 * overfits its noise, the starts are compared by the bound under fresh noise, the same for all of them.
 * The decoder's logistic link matches Phi(sqrt(c) y) at c = pi/8, so A = Wf sqrt(pi/8 / c).
 * A missing value is left out of the likelihood and enters the encoder as 1/2.
 * Checked: tests/recovery/test_ivae.c against the losses of the published code. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/share.h"
#include "estimate/estimate.h"
#include "estimate/ivae_loss.h"
#include "model/model.h"
#include "num/lbfgs.h"
#include "num/rng.h"

enum {
  HISTORY = 200,
  SLOPE_ROUNDS = 4, /* of L-BFGS until the gradient is small in the standard scale too */
  FRESH_ROUNDS = 8, /* fresh noise vectors per row in the comparison of starts, times draws */
  TRACE = 512       /* points kept of (seconds, loss), to tell when a start came near its end */
};

enum { SEED_WEIGHTS = 1, SEED_NOISE, SEED_FRESH }; /* what a derived seed is for */

typedef struct {
  blica_ctx *ctx;
  const bl_problem *problem;
  bl_ivae *ivae;
  bl_ivae_layout at;
  double rows;
  int index;                       /* of the start */
  double *theta, *best, *gradient; /* [size] */
  double best_objective;           /* on fresh noise */
  double best_loss, best_fresh;
  double begun;
  bool out_of_time, interrupted;
  int traced;
  double trace_seconds[TRACE], trace_loss[TRACE];
} run;

/* An independent seed for each purpose and index (the finaliser of SplitMix64). */
static uint64_t derive_seed(uint64_t seed, uint64_t purpose, uint64_t index) {
  uint64_t x = seed + 0x9e3779b97f4a7c15u * (purpose + 16 * index + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static void draw_weights(bl_rng *rng, size_t count, int fan_in, double *to) {
  double range = 1 / sqrt(fan_in);
  for (size_t i = 0; i < count; i++) to[i] = range * (2 * bl_rng_uniform(rng) - 1);
}

static void draw_start(const bl_ivae_layout *at, uint64_t seed, double *theta) {
  bl_rng rng = bl_rng_make(seed, 0);
  draw_weights(&rng, at->decoder - at->prior_mean, at->u, theta + at->prior_mean);
  draw_weights(&rng, at->mean - at->decoder, at->k, theta + at->decoder);
  draw_weights(&rng, at->size - at->mean, at->n + at->u, theta + at->mean);
}

static double objective(const double *theta, double *gradient, void *user) {
  run *r = user;
  return bl_ivae_loss(r->ctx, r->ivae, theta, gradient);
}

/* Remembers when the loss of all rows fell by a quarter or more; thins out when full. */
static void trace(run *r, double loss) {
  if (r->traced && (r->trace_loss[r->traced - 1] - loss) * r->rows < 0.25) return;
  if (r->traced == TRACE) {
    for (int i = 0; i < TRACE / 2; i++) {
      r->trace_seconds[i] = r->trace_seconds[2 * i + 1];
      r->trace_loss[i] = r->trace_loss[2 * i + 1];
    }
    r->traced = TRACE / 2;
  }
  r->trace_seconds[r->traced] = bl_seconds() - r->begun;
  r->trace_loss[r->traced++] = loss;
}

static int after_iteration(int64_t iteration, double loss, double gradient_max, void *user) {
  run *r = user;
  (void)gradient_max;
  trace(r, loss);
  blica_progress progress = {"fit", -1, -loss * r->rows, r->index, iteration};
  int stop = bl_poll_agreed(r->ctx, &progress, r->problem->deadline);
  if (stop & 1) r->interrupted = true;
  if (stop & 2) r->out_of_time = true;
  return r->interrupted || r->out_of_time ? BL_CUT_SHORT : BL_GO_ON;
}

/* Mean loss under noise that no start was trained on; the KL in closed form, which has the least spread. */
static double fresh_loss(run *r) {
  double sum = 0;
  bl_ivae_set_analytic(r->ivae, true);
  for (int round = 0; round < FRESH_ROUNDS; round++) {
    bl_ivae_noise(r->ctx, r->ivae, derive_seed(r->problem->options->seed, SEED_FRESH, (uint64_t)round));
    sum += bl_ivae_loss(r->ctx, r->ivae, r->theta, NULL);
  }
  return sum / FRESH_ROUNDS;
}

/* Relative gradient at theta in the scale where the mean variance of each source is 1: the bound is the same in all
 * scales, and where the scale drifts a gradient may look as small as one likes. */
static double slope_at(run *r) {
  const bl_ivae_layout *at = &r->at;
  const size_t k = (size_t)at->k, u = (size_t)at->u, width = (size_t)at->n + u;
  double value = bl_ivae_loss(r->ctx, r->ivae, r->theta, r->gradient), most = 0;
  for (size_t c = 0; c < k; c++) {
    double variance = 0;
    for (size_t s = 0; s < u; s++)
      variance += exp(r->theta[at->prior_log + c * u + s] + r->theta[at->prior_log_bias + c]) / (double)u;
    const double sd = sqrt(variance), *g = r->gradient;
    for (size_t i = 0; i < (size_t)at->n; i++) most = fmax(most, fabs(g[at->decoder + i * k + c]) / sd);
    for (size_t i = 0; i < u; i++)
      most = fmax(most, fmax(sd * fabs(g[at->prior_mean + c * u + i]), fabs(g[at->prior_log + c * u + i])));
    for (size_t i = 0; i < width; i++)
      most = fmax(most, fmax(sd * fabs(g[at->mean + c * width + i]), fabs(g[at->log + c * width + i])));
    most = fmax(most, fmax(sd * fabs(g[at->prior_mean_bias + c]), fabs(g[at->prior_log_bias + c])));
    most = fmax(most, fmax(sd * fabs(g[at->mean_bias + c]), fabs(g[at->log_bias + c])));
  }
  return most / fmax(1, fabs(value));
}

/* The bound under the noise of this start; *result counts all rounds. */
static blica_status maximise(run *r, const bl_stage *start, bl_lbfgs_result *result, double *slope) {
  const blica_fit_options *o = r->problem->options;
  blica_status status = BLICA_OK;
  bl_lbfgs_result all = {.iterations = 0};
  bl_lbfgs_options options = {.history = HISTORY, .gradient_tolerance = o->tolerance, .hook = after_iteration};
  for (int round = 0; round < SLOPE_ROUNDS; round++) {
    bl_stage stage = round ? bl_stage_below(start, "lbfgs %d", round) : bl_stage_below(start, "lbfgs");
    options.stage = &stage;
    options.max_iterations = o->max_iterations - all.iterations;
    TRY(bl_lbfgs(r->ctx, r->at.size, r->theta, objective, r, &options, result));
    all.iterations += result->iterations;
    all.evaluations += result->evaluations + 1;
    *slope = slope_at(r);
    if (result->end != BL_LBFGS_GRADIENT || *slope <= o->tolerance) break;
    options.gradient_tolerance *= 0.1;
  }
  result->iterations = all.iterations;
  result->evaluations = all.evaluations;
done:
  return status;
}

static blica_stop why_stopped(const run *r, double slope, const bl_lbfgs_result *result) {
  if (slope <= r->problem->options->tolerance) return BLICA_STOP_CONVERGED;
  if (r->interrupted) return BLICA_STOP_INTERRUPTED;
  if (r->out_of_time) return BLICA_STOP_TIME;
  return result->end == BL_LBFGS_ITERATIONS ? BLICA_STOP_ITERATIONS : BLICA_STOP_STALLED;
}

/* Takes the start when it is the best so far. */
static void compare(run *r, const blica_start *record, double loss, double fresh) {
  if (r->index > 0 && !(record->objective > r->best_objective)) return;
  r->best_objective = record->objective;
  r->best_loss = loss;
  r->best_fresh = fresh;
  memcpy(r->best, r->theta, r->at.size * sizeof *r->best);
}

/* A start that is over, for a checkpoint. */
typedef struct {
  bl_start_end end;
  double loss, fresh;
} start_end;

static void pass_end(bl_state *state, void *user) {
  start_end *e = user;
  bl_pass_start(state, &e->end);
  BL_PASS(state, e->loss);
  BL_PASS(state, e->fresh);
}

static blica_status run_start(run *r, blica_start *record) {
  const blica_fit_options *o = r->problem->options;
  start_end end = {.end = {record, r->theta, r->at.size}};
  bl_stage start = bl_stage_below(&r->problem->stage, "start %d", r->index);
  bl_lbfgs_result result;
  blica_status status;
  if (bl_stage_find(&start) == BL_STAGE_OVER) {
    TRY(bl_stage_load(r->ctx, &start, pass_end, &end));
    compare(r, record, end.loss, end.fresh);
    goto done;
  }
  r->begun = bl_seconds();
  r->traced = 0;
  draw_start(&r->at, derive_seed(o->seed, SEED_WEIGHTS, (uint64_t)r->index), r->theta);
  bl_ivae_noise(r->ctx, r->ivae, derive_seed(o->seed, SEED_NOISE, (uint64_t)r->index));
  bl_ivae_set_analytic(r->ivae, strcmp(o->kl, "analytic") == 0);
  TRY(maximise(r, &start, &result, &record->gradient));
  end.loss = result.value;
  end.fresh = fresh_loss(r);
  snprintf(record->kind, sizeof record->kind, "random");
  record->objective = -end.fresh * r->rows;
  record->iterations = result.iterations;
  record->evaluations = result.evaluations;
  record->seconds = record->seconds_near = bl_seconds() - r->begun;
  for (int i = r->traced - 1; i >= 0 && (r->trace_loss[i] - result.value) * r->rows <= 1; i--)
    record->seconds_near = r->trace_seconds[i];
  record->stop = why_stopped(r, record->gradient, &result);
  bl_stage_over(r->ctx, &start, pass_end, &end);
  compare(r, record, end.loss, end.fresh);
done:
  return status;
}

/* Theta's matrices are by rows, the model's by columns. */
static blica_status fill_model(blica_ctx *ctx, const bl_ivae_layout *at, const double *theta, blica_model *model) {
  blica_status status;
  size_t n = (size_t)at->n, k = (size_t)at->k, u = (size_t)at->u, width = n + u;
  double scale = sqrt(0.39269908169872414 / model->link); /* pi/8 */
  for (size_t j = 0; j < n; j++)
    for (size_t c = 0; c < k; c++) model->mixing[j + c * n] = scale * theta[at->decoder + j * k + c];
  for (size_t c = 0; c < k; c++)
    for (size_t s = 0; s < u; s++) {
      model->means[c + s * k] = theta[at->prior_mean + c * u + s] + theta[at->prior_mean_bias + c];
      model->variances[c + s * k] = exp(theta[at->prior_log + c * u + s] + theta[at->prior_log_bias + c]);
    }
  TRY(bl_encoder_create(ctx, at->n, at->k, at->u, &model->encoder));
  for (size_t c = 0; c < k; c++) {
    for (size_t i = 0; i < width; i++) {
      model->encoder->mean_weight[c + i * k] = theta[at->mean + c * width + i];
      model->encoder->logvar_weight[c + i * k] = theta[at->log + c * width + i];
    }
    model->encoder->mean_bias[c] = theta[at->mean_bias + c];
    model->encoder->logvar_bias[c] = theta[at->log_bias + c];
  }
done:
  return status;
}

static blica_status fill_report(blica_ctx *ctx, const run *r, int done, blica_fit_report *fit) {
  blica_status status;
  fit->n_starts = done; /* an interrupt leaves later ones out */
  for (int i = 1; i < done; i++)
    if (fit->starts[i].objective > fit->starts[fit->best_start].objective) fit->best_start = i;
  const blica_start *best = &fit->starts[fit->best_start];
  fit->objective = best->objective;
  fit->iterations = best->iterations;
  fit->evaluations = best->evaluations;
  fit->stop = best->stop;
  TRY(bl_report_note(ctx, fit, "training_loss", r->best_loss));
  TRY(bl_report_note(ctx, fit, "fresh_loss", r->best_fresh));
done:
  return status;
}

blica_status bl_estimate_ivae(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  blica_status status;
  const blica_fit_options *o = problem->options;
  int done = 0;
  run r = {.ctx = ctx,
           .problem = problem,
           .at = bl_ivae_layout_of(model->n, model->k, model->u),
           .rows = (double)problem->data->rows};
  TRY(bl_ivae_create(ctx, problem->data, model->k, o->draws, false, &r.ivae));
  TRY(bl_alloc(ctx, r.at.size, &r.theta));
  TRY(bl_alloc(ctx, r.at.size, &r.best));
  TRY(bl_alloc(ctx, r.at.size, &r.gradient));
  TRY(bl_report_starts(ctx, &model->fit, o->starts));
  while (done < o->starts && !r.interrupted && !r.out_of_time) {
    r.index = done;
    TRY(run_start(&r, &model->fit.starts[done++]));
  }
  TRY(fill_report(ctx, &r, done, &model->fit));
  TRY(fill_model(ctx, &r.at, r.best, model));
  *means_done = true;
done:
  bl_ivae_free(r.ivae);
  bl_free(r.theta);
  bl_free(r.best);
  bl_free(r.gradient);
  return status;
}
