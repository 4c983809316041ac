/* fastica.c - fastICA on the pooled binary rows, the paper's other baseline: it takes 0 and 1 for real numbers and does
 * not look at the segments.
 *
 * What the model then holds: A in the model's latent scale to first order (x - 1/2 is about sqrt(c/2pi) A z, the
 * slope of the link at 0); the variances are those of the estimated components in each segment; the means
 * are solved from the thresholds as for other methods. With or_threshold the rows are read as an OR of binary
 * sources (Himberg and Hyvarinen 2001): entries of A above that share of their column's largest are kept, all equal,
 * and the others are 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/share.h"
#include "estimate/estimate.h"
#include "estimate/fastica_core.h"
#include "num/rng.h"

static const double LEAST_VARIANCE = 1e-6; /* of a component that is constant in a segment; 1 over all rows */

typedef struct {
  blica_ctx *ctx;
  const bl_problem *problem;
  int index; /* of the start */
  double best;
  bool out_of_time, interrupted;
} run;

static bl_contrast contrast_of(const char *name) {
  return strcmp(name, "exp") == 0    ? BL_CONTRAST_EXP
         : strcmp(name, "cube") == 0 ? BL_CONTRAST_CUBE
                                     : BL_CONTRAST_LOGCOSH;
}

static int after_iteration(int64_t iteration, double change, void *user) {
  run *r = user;
  (void)change;
  blica_progress progress = {"fit", -1, r->best, r->index, iteration};
  int stop = bl_poll_agreed(r->ctx, &progress, r->problem->deadline);
  if (stop & 1) r->interrupted = true;
  if (stop & 2) r->out_of_time = true;
  return r->interrupted || r->out_of_time ? BL_CUT_SHORT : BL_GO_ON;
}

static blica_status run_start(run *r, bl_fastica *fastica, double *w, blica_start *record) {
  const blica_fit_options *o = r->problem->options;
  size_t k = (size_t)o->sources;
  bl_start_end end = {record, w, k * k};
  bl_stage start = bl_stage_below(&r->problem->stage, "start %d", r->index),
           stage = bl_stage_below(&start, "iterations");
  bl_rng rng = bl_rng_make(o->seed, (uint64_t)r->index);
  bl_fastica_options options = {.contrast = contrast_of(o->contrast),
                                .deflation = strcmp(o->approach, "deflation") == 0,
                                .max_iterations = o->max_iterations,
                                .tolerance = o->tolerance,
                                .hook = after_iteration,
                                .user = r,
                                .stage = &stage};
  bl_fastica_result result;
  double begun = bl_seconds();
  if (bl_stage_find(&start) == BL_STAGE_OVER) return bl_stage_load(r->ctx, &start, bl_pass_start, &end);
  for (size_t i = 0; i < k * k; i++) w[i] = bl_rng_normal(&rng);
  blica_status status = bl_fastica_run(r->ctx, fastica, &options, w, &result);
  if (status != BLICA_OK) return status;
  snprintf(record->kind, sizeof record->kind, "random");
  record->objective = bl_fastica_negentropy(r->ctx, fastica, options.contrast, w);
  record->gradient = result.change;
  record->iterations = record->evaluations = result.iterations;
  record->seconds = record->seconds_near = bl_seconds() - begun;
  record->stop = result.converged ? BLICA_STOP_CONVERGED
                 : r->interrupted ? BLICA_STOP_INTERRUPTED
                 : r->out_of_time ? BLICA_STOP_TIME
                                  : BLICA_STOP_ITERATIONS;
  bl_stage_over(r->ctx, &start, bl_pass_start, &end);
  return BLICA_OK;
}

/* A = dewhitening W', unmixing = W whitening. */
static void unwhiten(const bl_fastica *fastica, int n, int k, const double *w, double *mixing, double *unmixing) {
  const double *white = bl_fastica_whitening(fastica), *dewhite = bl_fastica_dewhitening(fastica);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      double a = 0, b = 0;
      for (int c = 0; c < k; c++) {
        a += dewhite[i + (size_t)c * n] * w[(size_t)j * k + c];
        b += w[(size_t)j * k + c] * white[(size_t)c * n + i];
      }
      mixing[i + (size_t)j * n] = a;
      unmixing[i + (size_t)j * n] = b;
    }
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

static void threshold_column(int n, double share, double *a) {
  double largest = 0;
  for (int i = 0; i < n; i++)
    if (fabs(a[i]) > fabs(largest)) largest = a[i];
  for (int i = 0; i < n; i++) a[i] = a[i] / largest >= share ? 1 : 0;
}

static blica_status fill_model(blica_ctx *ctx, const bl_problem *problem, const bl_fastica *fastica, const double *w,
                               blica_model *model) {
  blica_status status;
  int n = model->n, k = model->k;
  double *unmixing = NULL, *mean = NULL, *c = NULL, share = problem->options->or_threshold;
  double scale = sqrt(2 * 3.14159265358979323846 / model->link); /* 1 / (sqrt(c) phi(0)) */
  TRY(bl_alloc(ctx, (size_t)n * (size_t)k, &unmixing));
  TRY(bl_alloc(ctx, (size_t)n, &mean));
  TRY(bl_alloc(ctx, bl_mul((size_t)n, (size_t)n), &c));
  unwhiten(fastica, n, k, w, model->mixing, unmixing);
  for (int i = 0; i < n * k; i++) model->mixing[i] *= scale;
  for (int s = 0; s < model->u; s++)
    segment_variances(problem->counts, s, k, unmixing, mean, c, model->variances + (size_t)s * k);
  for (int j = 0; share > 0 && j < k; j++) threshold_column(n, share, model->mixing + (size_t)j * n);
done:
  bl_free(unmixing);
  bl_free(mean);
  bl_free(c);
  return status;
}

static blica_status run_starts(run *r, bl_fastica *fastica, double *w, double *best, blica_fit_report *fit) {
  blica_status status = BLICA_OK;
  const blica_fit_options *o = r->problem->options;
  int done = 0;
  for (; done < o->starts && !r->interrupted && !r->out_of_time; done++) {
    r->index = done;
    TRY(run_start(r, fastica, w, &fit->starts[done]));
    if (done > 0 && !(fit->starts[done].objective > r->best)) continue;
    r->best = fit->starts[done].objective;
    fit->best_start = done;
    memcpy(best, w, (size_t)o->sources * (size_t)o->sources * sizeof *best);
  }
  fit->n_starts = done;
  const blica_start *start = &fit->starts[fit->best_start];
  fit->objective = start->objective;
  fit->iterations = start->iterations;
  fit->evaluations = start->evaluations;
  fit->stop = start->stop;
done:
  return status;
}

blica_status bl_estimate_fastica(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  blica_status status;
  bl_fastica *fastica = NULL;
  double *w = NULL, *best = NULL;
  size_t kk = bl_mul((size_t)model->k, (size_t)model->k);
  run r = {.ctx = ctx, .problem = problem, .best = NAN};
  if (problem->data->missing)
    bl_warn(ctx, "fastica: %lld missing values are put at the mean of their variable",
            (long long)problem->data->missing);
  TRY(bl_fastica_create(ctx, problem->data, problem->counts, model->k, &fastica));
  TRY(bl_alloc(ctx, kk, &w));
  TRY(bl_alloc(ctx, kk, &best));
  TRY(bl_report_starts(ctx, &model->fit, problem->options->starts));
  TRY(run_starts(&r, fastica, w, best, &model->fit));
  TRY(fill_model(ctx, problem, fastica, best, model));
  TRY(bl_report_note(ctx, &model->fit, "distinct_rows", (double)bl_fastica_patterns(fastica)));
  *means_done = false;
done:
  bl_fastica_free(fastica);
  bl_free(w);
  bl_free(best);
  return status;
}
