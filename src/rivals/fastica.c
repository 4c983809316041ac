/* fastica.c - fastICA on the pooled binary rows, the paper's other baseline: it takes 0 and 1 for real numbers and
 * ignores the segments.
 *
 * What the model then holds: A in the model's latent scale to first order (x - 1/2 is about sqrt(c/2pi) A z, the
 * slope of the link at 0); the variances are those of the estimated components in each segment; the means
 * are solved from the thresholds as for other methods. */
#include <math.h>

#include "data/pack.h"
#include "estimate/multistart.h"
#include "model/model.h"
#include "num/linear/blas.h"
#include "num/rng.h"
#include "rivals/rivals.h"

static const double LEAST_VARIANCE = 1e-6; /* of a component that is constant in a segment; 1 over all rows */

/* Data that all starts share. */
typedef struct {
  bl_fastica *fastica;
  double best; /* objective of the starts so far */
} shared;

/* The objective is computed at the end of a start only: until then the best one so far is shown. */
static int after_iteration(int64_t iteration, double change, void *user) {
  bl_start *s = user;
  (void)change;
  s->loop_poll.progress = (blica_progress){"fit", -1, ((const shared *)s->all->user)->best, s->index, iteration};
  bl_start_poll(s);
  return bl_start_stopped(s) ? BL_STOP_REQUESTED : BL_CONTINUE;
}

static blica_status run_start(bl_start *s) {
  const blica_fit_options *o = s->all->problem->options;
  shared *all = s->all->user;
  bl_stage stage = bl_stage_below(&s->stage, "iterations");
  bl_rng rng = bl_rng_make(o->seed, (uint64_t)s->index);
  bl_fastica_options options = {.contrast = o->contrast,
                                .max_iterations = o->max_iterations,
                                .tolerance = o->tolerance,
                                .hook = after_iteration,
                                .user = s,
                                .stage = &stage};
  bl_fastica_result result;
  for (size_t i = 0; i < s->all->size; i++) s->theta[i] = bl_rng_normal(&rng);
  blica_status status = bl_fastica_run(s->ctx, all->fastica, &options, s->theta, &result);
  if (status != BLICA_OK) return status;
  bl_start_set_kind(s, "random");
  s->iterations = s->record.evaluations = result.iterations;
  s->record.objective = bl_fastica_negentropy(all->fastica, options.contrast, s->theta);
  s->record.gradient = result.change;
  s->record.stop = bl_start_stop(s, result.converged);
  all->best = fmax(all->best, s->record.objective);
  return BLICA_OK;
}

/* Variances of the components in segment s, from its pair counts. */
static void segment_variances(const blica_counts *counts, int s, int k, const double *unmixing, double *mean, double *c,
                              double *variances) {
  int n = counts->n;
  bl_pooled_covariance(counts, s, s + 1, mean, c);
  for (int j = 0; j < k; j++) {
    const double *b = unmixing + (size_t)j * n;
    double sum = 0;
    for (int i = 0; i < n; i++)
      for (int l = 0; l < n; l++) sum += b[i] * c[l + (size_t)i * n] * b[l];
    variances[j] = fmax(sum, LEAST_VARIANCE);
  }
}

static blica_status fill_model(blica_ctx *ctx, const bl_problem *problem, const bl_fastica *fastica, const double *w,
                               blica_model *model) {
  blica_status status;
  int n = model->n, k = model->k;
  BL_OWNED double *unmixing = NULL, *mean = NULL, *c = NULL;
  double scale = sqrt(2 * 3.14159265358979323846 / model->link); /* 1 / (sqrt(c) phi(0)) */
  TRY(bl_alloc(ctx, (size_t)n * (size_t)k, &unmixing));
  TRY(bl_alloc(ctx, (size_t)n, &mean));
  TRY(bl_alloc(ctx, bl_mul((size_t)n, (size_t)n), &c));
  bl_dgemm('N', 'N', n, k, k, scale, bl_fastica_dewhitening(fastica), n, w, k, 0, model->mixing, n);
  bl_dgemm('N', 'N', n, k, k, 1, bl_fastica_whitening(fastica), n, w, k, 0, unmixing, n);
  for (int s = 0; s < model->u; s++)
    segment_variances(problem->counts, s, k, unmixing, mean, c, model->variances + (size_t)s * k);
done:
  return status;
}

blica_status bl_estimate_fastica(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  blica_status status;
  MUST(bl_data_plain(ctx, problem->data, "method fastica", false));
  shared own = {.best = NAN};
  bl_multistart all = {.problem = problem,
                       .run = run_start,
                       .user = &own,
                       .count = problem->options->starts,
                       .size = bl_mul((size_t)model->k, (size_t)model->k),
                       .factor = 1,
                       .keep = true};
  if (problem->data->missing)
    bl_warn(ctx, "fastica: %lld missing values are replaced by the mean of their variable",
            (long long)problem->data->missing);
  TRY(bl_fastica_create(ctx, problem->data, problem->counts, model->k, &own.fastica));
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  TRY(fill_model(ctx, problem, own.fastica, all.best->theta, model));
  TRY(bl_report_note(ctx, &model->fit, "distinct_rows", (double)bl_fastica_patterns(own.fastica)));
  *means_done = false;
done:
  bl_multistart_free(&all);
  bl_free(own.fastica);
  return status;
}
