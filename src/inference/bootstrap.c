/* bootstrap.c - the nonparametric bootstrap: each segment's rows are drawn with replacement, as weights of its distinct
 * rows; the counts are redrawn so, and the model is fitted again by the same method. Draws run side by side, each on
 * one thread with random numbers of its own. */
#include "inference/bootstrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "base/share.h"
#include "estimate/method.h"
#include "model/model.h"

static const double STABLE_DEGREES = 30;

typedef struct {
  const blica_model *model;
  const bl_rows *rows;
  uint64_t seed;
  blica_fit_options options;
  bl_axes *axes;
  double *log_variance, *mean; /* [k,u,draws] */
} job;

/* An option of the fit that a refit repeats: not where its state is kept, nor for how long it may run. */
static bool repeated(const char *name) {
  return bl_option_decides(name) && strcmp(name, "max_iterations") != 0;
}

/* The options that the model was fitted with. */
static blica_status refit_options(blica_ctx *ctx, const blica_model *model, blica_fit_options *o) {
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  *o = blica_fit_options_default();
  const bool fitted = bl_method_named(model->method) != NULL;
  if (fitted) o->method = blica_method_find(model->method);
  o->sources = model->k;
  o->starts = 1;
  o->link = model->link;
  o->seed = model->fit.seed;
  if (fitted) o->prior = isfinite(model->fit.prior_mixing) ? BLICA_PRIOR_AUTO : BLICA_PRIOR_NONE;
  if (bl_method_covariance(model) == BL_COVARIANCE_REGULARISED && model->fit.condition > 1)
    o->condition = model->fit.condition;
  for (int i = 0; i < model->fit.n_options; i++)
    for (int t = 0; t < count; t++) {
      if (strcmp(table[t].name, model->fit.options[i].name) != 0 || !repeated(table[t].name)) continue;
      MUST(blica_option_set(ctx, &table[t], o, model->fit.options[i].value));
    }
  for (int t = 0; t < count; t++) /* records of earlier versions hold options that had no effect */
    if (table[t].initial && !bl_option_works(&table[t], table, count, o))
      MUST(blica_option_set(ctx, &table[t], o, table[t].initial));
  return BLICA_OK;
}

static blica_status fit_weighted(blica_ctx *ctx, const bl_rows *rows, const double *weight, blica_fit_options *options,
                                 blica_model **out) {
  BL_AUTO(blica_counts) *counts = NULL;
  BL_AUTO(blica_data) *data = NULL;
  const bl_estimator *estimator = bl_method_of(options->method, options->condition, false);
  MUST(bl_rows_counts_create(ctx, rows, &counts));
  bl_rows_count(rows, weight, counts);
  if (estimator && estimator->method->needs_rows) MUST(bl_rows_data(ctx, rows, weight, &data));
  return blica_fit(ctx, &(blica_input){.data = data, .counts = counts}, options, out);
}

blica_status bl_refit(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const double *weight,
                      blica_model **out) {
  blica_fit_options options;
  *out = NULL;
  MUST(refit_options(ctx, model, &options));
  if (model->fit.n_starts > 0) options.starts = model->fit.n_starts;
  return fit_weighted(ctx, rows, weight, &options, out);
}

static void keep(job *b, int d, const blica_model *fit) {
  const size_t k = (size_t)fit->k, u = (size_t)fit->u, at = k * (size_t)d;
  for (size_t s = 0; s < u; s++)
    for (size_t j = 0; j < k; j++) {
      const size_t to = j + k * (s + u * (size_t)d), from = (size_t)b->axes->match[at + j] + k * s;
      b->log_variance[to] = log(fit->variances[from]);
      b->mean[to] = b->axes->sign[at + j] * fit->means[from];
    }
}

static blica_status one_draw(blica_ctx *ctx, int64_t item, int thread, void *user) {
  job *b = user;
  const int d = (int)item;
  BL_OWNED double *weight = NULL;
  BL_AUTO(blica_model) *fit = NULL;
  (void)thread;
  MUST(bl_alloc(ctx, (size_t)b->rows->count, &weight));
  bl_rows_draw(b->rows, b->seed, d, weight);
  MUST(fit_weighted(ctx, b->rows, weight, &b->options, &fit));
  MUST(bl_axes_take(ctx, b->model, fit->mixing, d, b->axes));
  keep(b, d, fit);
  return BLICA_OK;
}

/* Standard deviation over draws of element i of `count`. */
static double deviation(const double *x, size_t i, size_t count, int draws) {
  double mean = 0, squares = 0;
  for (int d = 0; d < draws; d++) mean += x[i + count * (size_t)d] / draws;
  for (int d = 0; d < draws; d++) squares += pow(x[i + count * (size_t)d] - mean, 2);
  return sqrt(squares / (draws - 1));
}

static void summarise(const job *b, double *mixing, double *log_variance, double *mean, double *stability) {
  const size_t nk = (size_t)b->model->n * b->model->k, ku = (size_t)b->model->k * b->model->u;
  const int draws = b->axes->draws, k = b->model->k;
  for (size_t i = 0; i < nk; i++) mixing[i] = deviation(b->axes->mixing, i, nk, draws);
  for (size_t i = 0; i < ku; i++) {
    log_variance[i] = deviation(b->log_variance, i, ku, draws);
    mean[i] = deviation(b->mean, i, ku, draws);
  }
  for (int j = 0; j < k; j++) {
    stability[j] = 0;
    for (int d = 0; d < draws; d++)
      stability[j] += (b->axes->angle[j + (size_t)k * d] < STABLE_DEGREES) / (double)draws;
  }
}

blica_status bl_bootstrap(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, int draws, uint64_t seed,
                          double *mixing, double *log_variance, double *mean, double *stability, bl_axes **out) {
  blica_status status;
  const size_t ku = (size_t)model->k * model->u;
  job b = {.model = model, .rows = rows, .seed = seed};
  *out = NULL;
  TRY(refit_options(ctx, model, &b.options));
  TRY(bl_axes_make(ctx, model->n, model->k, draws, &b.axes));
  TRY(bl_alloc(ctx, bl_mul(ku, (size_t)draws), &b.log_variance));
  TRY(bl_alloc_for(ctx, b.log_variance, bl_mul(ku, (size_t)draws), &b.mean));
  const bl_places lists[] = {{b.axes->mixing, (size_t)model->n * model->k},
                             {b.axes->mcs, 1},
                             {b.axes->angle, (size_t)model->k},
                             {b.log_variance, ku},
                             {b.mean, ku}};
  TRY(bl_share_children(ctx, draws, "bootstrap draw", one_draw, &b, 5, lists));
  summarise(&b, mixing, log_variance, mean, stability);
  *out = bl_take(&b.axes);
done:
  bl_free(b.axes);
  bl_free(b.log_variance);
  return status;
}
