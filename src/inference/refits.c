/* refits.c - fits of the same model by its own method: to the same rows, to see whether it is at the optimum, and to
 * rows redrawn within segments, the nonparametric bootstrap.
 *
 * A draw is weights of the distinct rows; draws run side by side, each on one thread with random numbers of its own.
 * Sets of replicate weights take their place where the data have them: the variance is then the sum over sets r of
 * factor_r (estimate_r - estimate)^2 (Wolter, Introduction to Variance Estimation, 2007), which is the mean square of
 * deviations that are stretched by (factor_r sets)^(1/2). Stretched refits show angles and MCS, too.
 *
 * A fit is a function of its data and options, so that the refit of a model that was fitted to these data is the same
 * model. A fit that was stopped early, a model of other data and a model that was never fitted all differ from it; how
 * much that matters is measured in standard errors of the refit (sandwich.c), over all loadings and log-variances. */
#include "inference/refits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "base/split.h"
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
  double *part[BL_DRAWN_PARTS]; /* [size,draws] what a draw estimates, */
  size_t size[BL_DRAWN_PARTS];
  const double *estimate[BL_DRAWN_PARTS]; /* [size] and the model */
  double *finished;                       /* [draws] 1: the draw is there */
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

/* Keeps what draw d estimates, columns matched. */
static void keep(job *b, int d, const blica_model *fit) {
  const size_t k = (size_t)fit->k, at = k * (size_t)d;
  memcpy(b->part[BL_DRAWN_MIXING] + b->size[BL_DRAWN_MIXING] * (size_t)d, b->axes->mixing + (size_t)fit->n * at,
         b->size[BL_DRAWN_MIXING] * sizeof(double));
  for (size_t i = 0; i < b->size[BL_DRAWN_MEANS]; i++) {
    const size_t to = i + b->size[BL_DRAWN_MEANS] * (size_t)d, from = (size_t)b->axes->match[at + i % k] + i / k * k;
    b->part[BL_DRAWN_LOG_VARIANCES][to] = log(fit->variances[from]);
    b->part[BL_DRAWN_MEANS][to] = b->axes->sign[at + i % k] * fit->means[from];
  }
  memcpy(b->part[BL_DRAWN_CUTS] + b->size[BL_DRAWN_CUTS] * (size_t)d, fit->cuts,
         b->size[BL_DRAWN_CUTS] * sizeof(double));
  memcpy(b->part[BL_DRAWN_THRESHOLDS] + b->size[BL_DRAWN_THRESHOLDS] * (size_t)d, fit->thresholds,
         b->size[BL_DRAWN_THRESHOLDS] * sizeof(double));
}

/* Multiplies what distinguishes draw d from the model by a number. */
static blica_status stretch(blica_ctx *ctx, job *b, int d, double by) {
  for (int p = 0; p < BL_DRAWN_PARTS; p++)
    for (size_t i = 0; i < b->size[p]; i++) {
      double *x = &b->part[p][i + b->size[p] * (size_t)d];
      *x = b->estimate[p][i] + by * (*x - b->estimate[p][i]);
    }
  return bl_axes_take(ctx, b->model, b->part[BL_DRAWN_MIXING] + b->size[BL_DRAWN_MIXING] * (size_t)d, d, b->axes);
}

static blica_status one_draw(blica_ctx *ctx, int64_t item, int thread, void *user) {
  job *b = user;
  const int d = (int)item, replicates = b->rows->replicates;
  BL_OWNED double *weight = NULL;
  BL_AUTO(blica_model) *fit = NULL;
  (void)thread;
  MUST(bl_alloc(ctx, (size_t)b->rows->count, &weight));
  if (replicates)
    memcpy(weight, b->rows->replicate + b->rows->count * item, (size_t)b->rows->count * sizeof *weight);
  else
    bl_rows_draw(b->rows, b->seed, d, weight);
  MUST(fit_weighted(ctx, b->rows, weight, &b->options, b->model->freed, &fit));
  if (fit->fit.stop == BLICA_STOP_INTERRUPTED) return BLICA_OK;
  MUST(bl_axes_take(ctx, b->model, fit->mixing, d, b->axes));
  keep(b, d, fit);
  b->finished[d] = 1;
  return replicates ? stretch(ctx, b, d, sqrt(b->rows->replicate_factor[d] * replicates)) : BLICA_OK;
}

/* Moves the finished draws to the front; the others are forgotten. */
static void close_ranks(job *b) {
  const size_t k = (size_t)b->model->k, nk = (size_t)b->model->n * k;
  bl_axes *x = b->axes;
  int kept = 0;
  for (int d = 0; d < x->draws; d++) {
    const size_t from = (size_t)d, to = (size_t)kept;
    if (b->finished[d] == 0) continue;
    memmove(x->mixing + nk * to, x->mixing + nk * from, nk * sizeof(double));
    memmove(x->angle + k * to, x->angle + k * from, k * sizeof(double));
    for (int p = 0; p < BL_DRAWN_PARTS; p++)
      memmove(b->part[p] + b->size[p] * to, b->part[p] + b->size[p] * from, b->size[p] * sizeof(double));
    x->mcs[to] = x->mcs[from];
    kept++;
  }
  x->draws = kept;
}

/* error [size] <- standard deviations over draws of one part: from their mean, of replicates from the model. */
static void deviations(const job *b, int part, double *error) {
  const size_t size = b->size[part];
  const int draws = b->axes->draws;
  const bool replicates = b->rows->replicates > 0;
  for (size_t i = 0; i < size; i++) {
    const double *x = b->part[part] + i;
    double centre = replicates ? b->estimate[part][i] : 0, squares = 0;
    for (int d = 0; d < draws && !replicates; d++) centre += x[size * (size_t)d] / draws;
    for (int d = 0; d < draws; d++) squares += pow(x[size * (size_t)d] - centre, 2);
    error[i] = sqrt(squares / (replicates ? draws : draws - 1));
  }
}

static void summarise(const job *b, double *const error[BL_DRAWN_PARTS], double *stability) {
  const int draws = b->axes->draws, k = b->model->k;
  for (int p = 0; p < BL_DRAWN_PARTS; p++)
    if (error[p]) deviations(b, p, error[p]);
  for (int j = 0; j < k; j++) {
    stability[j] = 0;
    for (int d = 0; d < draws; d++)
      stability[j] += (b->axes->angle[j + (size_t)k * d] < STABLE_DEGREES) / (double)draws;
  }
}

/* How many starts the fit took until one came within 1 of the best objective: with fewer, refits end elsewhere. */
static int starts_needed(const blica_model *model) {
  const blica_fit_report *fit = &model->fit;
  int first = 0;
  double best = -INFINITY;
  for (int i = 0; i < fit->n_starts; i++) best = fmax(best, fit->starts[i].objective);
  while (first + 1 < fit->n_starts && !(fit->starts[first].objective > best - 1)) first++;
  return first + 1;
}

blica_status bl_bootstrap(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, int draws, uint64_t seed,
                          double *const error[BL_DRAWN_PARTS], double *stability, bl_axes **out) {
  const size_t n = (size_t)model->n, k = (size_t)model->k, u = (size_t)model->u, planes = (size_t)model->planes;
  BL_OWNED bl_axes *axes = NULL;
  BL_OWNED double *logs = NULL;
  job b = {.model = model, .rows = rows, .seed = seed, .size = {n * k, k * u, k * u, planes, planes * u}};
  *out = NULL;
  MUST(refit_options(ctx, model, &b.options));
  b.options.starts = rows->replicates && model->fit.n_starts > 0 ? model->fit.n_starts : starts_needed(model);
  MUST(bl_axes_make(ctx, model->n, model->k, draws, &axes));
  MUST(bl_alloc(ctx, k * u, &logs));
  for (size_t i = 0; i < k * u; i++) logs[i] = log(model->variances[i]);
  const double *const estimate[] = {model->mixing, logs, model->means, model->cuts, model->thresholds};
  bl_places lists[4 + BL_DRAWN_PARTS] = {{axes->mixing, n * k}, {axes->mcs, 1}, {axes->angle, k}};
  for (int p = 0; p < BL_DRAWN_PARTS; p++) {
    MUST(bl_alloc_for(ctx, axes, bl_mul(b.size[p], (size_t)draws), &b.part[p]));
    b.estimate[p] = estimate[p], lists[3 + p] = (bl_places){b.part[p], b.size[p]};
  }
  MUST(bl_alloc_for(ctx, axes, (size_t)draws, &b.finished));
  b.axes = axes, lists[3 + BL_DRAWN_PARTS] = (bl_places){b.finished, 1};
  const blica_status status = bl_split_children(ctx, draws, rows->replicates ? "replicate" : "bootstrap draw", one_draw,
                                                &b, 4 + BL_DRAWN_PARTS, lists);
  if (status != BLICA_OK && status != BLICA_ERR_INTERRUPTED) return status;
  close_ranks(&b);
  if (status != BLICA_OK && (rows->replicates || axes->draws < BL_DRAWS_LEAST)) return status;
  summarise(&b, error, stability);
  *out = bl_take(&axes);
  return BLICA_OK;
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
