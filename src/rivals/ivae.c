/* ivae.c - the linear iVAE baseline (paper, section 5.3 and appendix E): the evidence lower bound of a linear
 * variational autoencoder with a segment-wise Gaussian prior, maximised by L-BFGS under fixed noise.
 *
 * Starts, parameters and stopping follow the published code: weights and biases uniform in +-1/sqrt(fan-in), a history
 * of 200 pairs, strong Wolfe steps. Several starts, each with noise of its own; because the training bound
 * overfits its noise, the starts are compared by the bound under fresh noise, the same for all of them.
 * The decoder's logistic link matches Phi(sqrt(c) y) at c = pi/8, so A = Wf sqrt(pi/8 / c).
 * The divergence from the prior is in closed form, which is less noisy than at the drawn sources. A missing value is
 * left out of the likelihood and enters the encoder as 1/2.
 * Checked: tests/parity/test_published.c against the losses of the published code. */
#include <math.h>

#include "data/pack.h"
#include "rivals/rivals.h"
#include "estimate/multistart.h"
#include "model/model.h"
#include "num/lbfgs.h"
#include "num/rng.h"

enum {
  HISTORY = 200,
  SLOPE_ROUNDS = 4, /* of L-BFGS until the gradient is small in the standard scale too */
  FRESH_ROUNDS = 8  /* fresh noise vectors per row in the comparison of starts */
};
enum { LOSS, FRESH_LOSS, MORE }; /* numbers of a start's end that follow the parameters in theta */

enum { SEED_WEIGHTS = 1, SEED_NOISE, SEED_FRESH }; /* what a derived seed is for */

/* The objects of one start. */
typedef struct {
  bl_ivae *ivae;
  bl_ivae_layout at;
  double *gradient; /* [size] */
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
  const bl_start *s = user;
  return bl_ivae_loss(s->ctx, ((const run *)s->own)->ivae, theta, gradient);
}

/* Mean loss under noise that no start was trained on. */
static double fresh_loss(const bl_start *s, bl_ivae *ivae) {
  double sum = 0;
  for (int round = 0; round < FRESH_ROUNDS; round++) {
    bl_ivae_noise(ivae, derive_seed(s->all->problem->options->seed, SEED_FRESH, (uint64_t)round));
    sum += bl_ivae_loss(s->ctx, ivae, s->theta, NULL);
  }
  return sum / FRESH_ROUNDS;
}

/* Relative gradient at theta in the scale where the mean variance of each source is 1: the bound is the same in all
 * scales, and where the scale drifts a gradient may look as small as one likes. */
static double slope_at(bl_start *start, const run *own) {
  const bl_ivae_layout *at = &own->at;
  const size_t k = (size_t)at->k, u = (size_t)at->u, width = (size_t)at->n + u;
  const double *theta = start->theta, *g = own->gradient;
  double value = bl_ivae_loss(start->ctx, own->ivae, theta, own->gradient), most = 0;
  for (size_t c = 0; c < k; c++) {
    double variance = 0;
    for (size_t s = 0; s < u; s++)
      variance += exp(theta[at->prior_log + c * u + s] + theta[at->prior_log_bias + c]) / (double)u;
    const double sd = sqrt(variance);
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

/* The bound under the noise of this start. */
static blica_status maximise(bl_start *s, const run *own) {
  const blica_fit_options *o = s->all->problem->options;
  blica_status status = BLICA_OK;
  bl_lbfgs_options options = {.history = HISTORY, .gradient_tolerance = o->tolerance, .hook = bl_start_hook};
  for (int round = 0; round < SLOPE_ROUNDS; round++) {
    bl_stage stage = round ? bl_stage_below(&s->stage, "lbfgs %d", round) : bl_stage_below(&s->stage, "lbfgs");
    bl_lbfgs_result result;
    options.stage = &stage;
    options.max_iterations = o->max_iterations - s->iterations;
    TRY(bl_lbfgs(s->ctx, own->at.size, s->theta, objective, s, &options, &result));
    s->iterations += result.iterations;
    s->record.evaluations += result.evaluations + 1;
    s->record.gradient = slope_at(s, own);
    s->theta[own->at.size + LOSS] = result.value;
    if (result.end != BL_LBFGS_GRADIENT || s->record.gradient <= o->tolerance) break;
    options.gradient_tolerance *= 0.1;
  }
done:
  return status;
}

static blica_status run_start(bl_start *s) {
  blica_status status;
  const bl_problem *problem = s->all->problem;
  const blica_fit_options *o = problem->options;
  run own = {.at = bl_ivae_layout_of(problem->data->n, o->sources, problem->data->u)};
  TRY(bl_ivae_create(s->ctx, problem->data, o->sources, true, &own.ivae));
  TRY(bl_alloc(s->ctx, own.at.size, &own.gradient));
  s->own = &own;
  draw_start(&own.at, derive_seed(o->seed, SEED_WEIGHTS, (uint64_t)s->index), s->theta);
  bl_ivae_noise(own.ivae, derive_seed(o->seed, SEED_NOISE, (uint64_t)s->index));
  TRY(maximise(s, &own));
  const double fresh = fresh_loss(s, own.ivae);
  bl_start_set_kind(s, "random");
  s->theta[own.at.size + FRESH_LOSS] = fresh;
  s->record.objective = -fresh * s->all->factor;
  s->record.stop = bl_start_stop(s, s->record.gradient <= o->tolerance);
done:
  bl_free(own.ivae);
  bl_free(own.gradient);
  return status;
}

/* Theta's matrices are by rows, the model's by columns. */
static void fill_model(const bl_ivae_layout *at, const double *theta, blica_model *model) {
  const size_t n = (size_t)at->n, k = (size_t)at->k, u = (size_t)at->u;
  double scale = sqrt(0.39269908169872414 / model->link); /* pi/8 */
  for (size_t j = 0; j < n; j++)
    for (size_t c = 0; c < k; c++) model->mixing[j + c * n] = scale * theta[at->decoder + j * k + c];
  for (size_t c = 0; c < k; c++)
    for (size_t s = 0; s < u; s++) {
      model->means[c + s * k] = theta[at->prior_mean + c * u + s] + theta[at->prior_mean_bias + c];
      model->variances[c + s * k] = exp(theta[at->prior_log + c * u + s] + theta[at->prior_log_bias + c]);
    }
}

blica_status bl_estimate_ivae(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  blica_status status;
  MUST(bl_data_plain(ctx, problem->data, "method ivae", false));
  const bl_ivae_layout at = bl_ivae_layout_of(model->n, model->k, model->u);
  bl_multistart all = {.problem = problem,
                       .run = run_start,
                       .count = problem->options->starts,
                       .size = at.size + MORE,
                       .factor = (double)problem->data->rows,
                       .keep = true};
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  fill_model(&at, all.best->theta, model);
  TRY(bl_report_note(ctx, &model->fit, "training_loss", all.best->theta[at.size + LOSS]));
  TRY(bl_report_note(ctx, &model->fit, "fresh_loss", all.best->theta[at.size + FRESH_LOSS]));
  *means_done = true;
done:
  bl_multistart_free(&all);
  return status;
}
