/* refits.c - fits of the same model by its own method: to the same rows, to see whether it is at the optimum, and to
 * rows redrawn within segments, the nonparametric bootstrap.
 *
 * A draw is weights of the distinct rows; draws run side by side, each on one thread with random numbers of its own.
 *
 * A fit is a function of its data and options, so that the refit of a model that was fitted to these data is the same
 * model. A fit that was stopped early, a model of other data and a model that was never fitted all differ from it; how
 * much that matters is measured in standard errors of the refit (sandwich.c), over all loadings and log-variances. */
#include "inference/refits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "base/share.h"
#include "estimate/estimate.h"
#include "inference/errors.h"
#include "inference/select/select.h"
#include "model/model.h"

static const double STABLE_DEGREES = 30;

typedef struct {
  const blica_model *model;
  const bl_rows *rows;
  uint64_t seed;
  blica_fit_options options;
  bl_axes *axes;
  double *log_variance, *mean; /* [k,u,draws] */
  double *finished;            /* [draws] 1: the draw is there */
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
                                 const uint8_t *freed, blica_model **out) {
  BL_AUTO(blica_counts) *counts = NULL;
  BL_AUTO(blica_data) *data = NULL;
  const bl_estimator *estimator = bl_method_of(options->method, options->condition, false);
  MUST(bl_rows_counts_create(ctx, rows, &counts));
  bl_rows_count(rows, weight, counts);
  if (estimator && estimator->method->needs_rows) MUST(bl_rows_data(ctx, rows, weight, &data));
  return bl_fit(ctx, &(blica_input){.data = data, .counts = counts}, NULL, options, freed, out);
}

/* Fits again with the method and the options of the model, for as long as it takes, to rows of these weights. */
static blica_status refit(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const double *weight,
                          blica_model **out) {
  blica_fit_options options;
  *out = NULL;
  MUST(refit_options(ctx, model, &options));
  if (model->fit.n_starts > 0) options.starts = model->fit.n_starts;
  return fit_weighted(ctx, rows, weight, &options, model->freed, out);
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
  MUST(fit_weighted(ctx, b->rows, weight, &b->options, b->model->freed, &fit));
  if (fit->fit.stop == BLICA_STOP_INTERRUPTED) return BLICA_OK;
  MUST(bl_axes_take(ctx, b->model, fit->mixing, d, b->axes));
  keep(b, d, fit);
  b->finished[d] = 1;
  return BLICA_OK;
}

/* Moves the finished draws to the front; the others are forgotten. */
static void close_ranks(job *b) {
  const size_t k = (size_t)b->model->k, nk = (size_t)b->model->n * k, ku = k * (size_t)b->model->u;
  bl_axes *x = b->axes;
  int kept = 0;
  for (int d = 0; d < x->draws; d++) {
    const size_t from = (size_t)d, to = (size_t)kept;
    if (b->finished[d] == 0) continue;
    memmove(x->mixing + nk * to, x->mixing + nk * from, nk * sizeof(double));
    memmove(x->angle + k * to, x->angle + k * from, k * sizeof(double));
    memmove(b->log_variance + ku * to, b->log_variance + ku * from, ku * sizeof(double));
    memmove(b->mean + ku * to, b->mean + ku * from, ku * sizeof(double));
    x->mcs[to] = x->mcs[from];
    kept++;
  }
  x->draws = kept;
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
  TRY(bl_alloc_for(ctx, b.log_variance, (size_t)draws, &b.finished));
  const bl_places lists[] = {{b.axes->mixing, (size_t)model->n * model->k},
                             {b.axes->mcs, 1},
                             {b.axes->angle, (size_t)model->k},
                             {b.log_variance, ku},
                             {b.mean, ku},
                             {b.finished, 1}};
  status = bl_share_children(ctx, draws, "bootstrap draw", one_draw, &b, 6, lists);
  if (status != BLICA_OK && status != BLICA_ERR_INTERRUPTED) goto done;
  close_ranks(&b);
  if (status != BLICA_OK && b.axes->draws < BL_DRAWS_LEAST) goto done;
  status = BLICA_OK;
  summarise(&b, mixing, log_variance, mean, stability);
  *out = bl_take(&b.axes);
done:
  bl_free(b.axes);
  bl_free(b.log_variance);
  return status;
}

/* ---- is the model the fit of these data? ---- */

static const double SAME_MCS = 0.999; /* columns that agree so well are the same where there are no errors */
static const double ROUNDING = 1e-6;  /* relative difference between the same fits on different processors */

/* difference [nk + uk] of the model from the refit, columns matched by `match`; returns the largest relative one. */
static double differences(const blica_model *m, const blica_model *fit, const int *match, double *difference) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  double most = 0;
  for (size_t j = 0; j < k; j++) {
    const double *own = m->mixing + n * j;
    const size_t at = (size_t)match[j];
    double inner = 0, size = 0;
    for (size_t i = 0; i < n; i++) inner += own[i] * fit->mixing[i + n * at];
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(fit->mixing[i + n * at]));
    for (size_t i = 0; i < n; i++) {
      difference[i + n * at] = (inner < 0 ? -1 : 1) * own[i] - fit->mixing[i + n * at];
      most = fmax(most, fabs(difference[i + n * at]) / fmax(size, 1e-300));
    }
    for (size_t s = 0; s < u; s++) {
      double *d = &difference[n * k + at + k * s];
      *d = log(m->variances[j + k * s]) - log(fit->variances[at + k * s]);
      most = fmax(most, fabs(*d));
    }
  }
  return most;
}

/* Adds sign times the log-likelihood of all pairs of values under the correlations of the model. */
static blica_status add_pairs(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                              double sign, double *gain) {
  BL_AUTO(bl_heldout) *pairs = NULL;
  MUST(bl_heldout_make(ctx, rows, model->k, &pairs));
  for (int s = 0; s < model->u; s++)
    *gain += sign * bl_heldout_score(pairs, counts, counts, s, model, model->variances + (size_t)model->k * s);
  return BLICA_OK;
}

/* In standard errors of the refit; infinite where it has none. */
static blica_status in_errors(blica_ctx *ctx, const blica_model *fit, const bl_rows *rows, const blica_counts *counts,
                              const double *difference, bl_optimum *out) {
  const size_t p = (size_t)(fit->n + fit->u) * (size_t)fit->k;
  BL_OWNED double *covariance = NULL;
  MUST(bl_alloc(ctx, bl_mul(p, p), &covariance));
  const blica_status status = bl_sandwich(ctx, fit, rows, counts, covariance);
  out->distance = out->mcs > SAME_MCS ? 0 : INFINITY;
  if (status == BLICA_ERR_NUMERIC) return BLICA_OK;
  MUST(status);
  for (size_t i = 0; i < p; i++)
    if (covariance[i * (p + 1)] > 0)
      out->distance =
          fmax(isinf(out->distance) ? 0 : out->distance, fabs(difference[i]) / sqrt(covariance[i * (p + 1)]));
  return BLICA_OK;
}

blica_status bl_optimum_find(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                             bl_optimum *out) {
  BL_AUTO(blica_model) *fit = NULL;
  BL_OWNED double *difference = NULL, *cosine = NULL;
  BL_OWNED int *match = NULL;
  *out = (bl_optimum){NAN, NAN, NAN};
  bl_warn_hold(ctx);
  const blica_status status = refit(ctx, model, rows, rows->weight, &fit);
  bl_warn_release(ctx);
  if (status == BLICA_ERR_MEMORY || status == BLICA_ERR_INTERRUPTED) return status;
  if (status != BLICA_OK) {
    bl_warn(ctx, "the model could not be fitted again to these data: %s", blica_message(ctx));
    return BLICA_OK;
  }
  if (fit->fit.stop == BLICA_STOP_INTERRUPTED)
    return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted while the model was fitted again");
  MUST(bl_alloc(ctx, (size_t)(model->n + model->u) * (size_t)model->k, &difference));
  MUST(bl_alloc(ctx, (size_t)model->k, &cosine));
  MUST(bl_alloc(ctx, (size_t)model->k, &match));
  MUST(blica_compare(ctx, model->n, model->k, model->mixing, fit->mixing, &out->mcs, match, cosine));
  out->distance = out->gain = 0;
  if (differences(model, fit, match, difference) <= ROUNDING) return BLICA_OK;
  MUST(add_pairs(ctx, fit, rows, counts, 1, &out->gain));
  MUST(add_pairs(ctx, model, rows, counts, -1, &out->gain));
  return in_errors(ctx, fit, rows, counts, difference, out);
}

/* 1: equal in all rows that have both, -1: opposite, 0: neither. */
static int agreement(const bl_rows *rows, int i, int j) {
  const bool two = bl_levels(rows->coding, i) == 2 && bl_levels(rows->coding, j) == 2;
  bool equal = true, opposite = two;
  int seen = 0, last = -1;
  for (int64_t p = 0; p < rows->count && (equal || opposite); p++) {
    const int8_t *x = rows->x + (size_t)rows->n * (size_t)p;
    if (x[i] == BLICA_MISSING || x[j] == BLICA_MISSING) continue;
    equal = equal && x[i] == x[j], opposite = opposite && x[i] == 1 - x[j];
    seen += x[i] != last, last = x[i];
  }
  return seen < 2 ? 0 : equal - opposite;
}

bool bl_optimum_twins(const bl_rows *rows, int *first, int *second) {
  for (*second = 1; *second < rows->n; (*second)++)
    for (*first = 0; *first < *second; (*first)++)
      if (agreement(rows, *first, *second) != 0) return true;
  return false;
}
