/* assess.c - blica_assess: errors, angles, change and fit of an estimate, from the rows that it was fitted to. */
#include <math.h>
#include <string.h>

#include "base/option.h"
#include "data/coding.h"
#include "estimate/estimate.h"
#include "inference/axes.h"
#include "inference/refits.h"
#include "inference/scores/change_test.h"
#include "inference/scores/item_scores.h"
#include "inference/errors.h"
#include "inference/scores/m2.h"
#include "inference/scores/row_scores.h"
#include "inference/verdict.h"
#include "num/normal/normal.h"
#include "ranks/facts.h"

enum { NORMAL_DRAWS = 500 };

#define ASSESS(name) #name, BL_FIELD(blica_assess_options, name)

static const blica_option assess_table[] = {
    BL_ROW(ASSESS(bootstrap), BLICA_OPT_INT, "auto", 20, 1e6, "auto=-1|none=0", "DRAWS",
           "Refits of rows that are drawn anew within segments; none: asymptotic errors only. auto: 200, fewer for "
           "large models, as docs/uncertainty.md says."),
    BL_ROW(ASSESS(block_length), BLICA_OPT_INT, "auto", 1, 1e9, "auto=0", "ROWS",
           "Rows that follow each other and are taken as one unit by errors, tests and refits, as in a time series; "
           "1: rows are independent. auto: by the dependence that the rows show."),
    BL_ROW(ASSESS(level), BLICA_OPT_REAL, "0.95", 0.5, 0.9999, NULL, "SHARE", "Coverage of the intervals."),
    BL_ROW(ASSESS(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the draws. The same seed gives the same numbers."),
};

BL_OPTION_TABLE(assess, assess_table)

void blica_assessment_free(blica_assessment *a) {
  if (!a) return;
  bl_free(a->variables);
  bl_free(a->segments);
  bl_free(a);
}

/* An array of NaN, freed with a. */
static blica_status nans(blica_ctx *ctx, blica_assessment *a, size_t count, double **out) {
  blica_status status = bl_alloc_for(ctx, a, count, out);
  for (size_t i = 0; status == BLICA_OK && i < count; i++) (*out)[i] = NAN;
  return status;
}

/* As many refits as cost little: 200 where a fit is small, fewer in proportion to n^2 k u, none for methods whose fits
 * need rows. It does not depend on the clock, so that results repeat. */
static int default_draws(const blica_model *m) {
  const bl_estimator *method = bl_method_named(m->method);
  if (method && method->method->needs_rows) return 0;
  return (int)fmax(20, fmin(200, 2e7 / ((double)m->n * m->n * m->k * m->u)));
}

/* Allocates an assessment; NaN where nothing is computed yet. */
static blica_status create_assessment(blica_ctx *ctx, const blica_model *m, int draws, blica_assessment **out) {
  blica_status status;
  blica_assessment *a = NULL;
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u, planes = (size_t)m->planes;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &a));
  a->n = m->n, a->k = m->k, a->u = m->u, a->planes = m->planes, a->draws = a->draws_planned = draws,
  a->parameters = (int64_t)(n * k + u * k);
  a->expected_mcs = a->change_p = a->srmr = a->m2 = a->m2_p = a->rmsea2 = a->rmsea2_low = a->rmsea2_high = NAN;
  a->distance = a->refit_mcs = a->refit_gain = a->chance_mcs = a->srmr_unbiased = a->srmr_low = a->srmr_high = NAN;
  a->margin_p = a->margin_size = a->margin_shift = NAN, a->margin_item = a->margin_segment = -1;
  a->lag = a->lag_z = a->decay = a->inflation = a->draws_per_segment = a->change_beyond_p = a->tails_p = NAN;
  TRY(bl_copy_texts(ctx, m->n, (const char *const *)m->variables, &a->variables));
  TRY(bl_copy_texts(ctx, m->u, (const char *const *)m->segments, &a->segments));
  TRY(nans(ctx, a, n * k, &a->mixing_se));
  TRY(nans(ctx, a, k * u, &a->log_variance_se));
  TRY(nans(ctx, a, planes * u, &a->threshold_se));
  TRY(nans(ctx, a, k * u, &a->mean_se));
  TRY(nans(ctx, a, planes, &a->cut_se));
  TRY(nans(ctx, a, n * k, &a->mixing_low));
  TRY(nans(ctx, a, n * k, &a->mixing_high));
  TRY(nans(ctx, a, k * u, &a->variance_low));
  TRY(nans(ctx, a, k * u, &a->variance_high));
  TRY(nans(ctx, a, k, &a->angle));
  TRY(nans(ctx, a, k, &a->angle_bound));
  TRY(nans(ctx, a, k, &a->source_change_p));
  TRY(nans(ctx, a, u, &a->segment_srmr));
  TRY(nans(ctx, a, u, &a->segment_m2));
  TRY(nans(ctx, a, n, &a->item_srmr));
  if (draws) {
    TRY(nans(ctx, a, n * k, &a->mixing_se_bootstrap));
    TRY(nans(ctx, a, k * u, &a->log_variance_se_bootstrap));
    TRY(nans(ctx, a, k * u, &a->mean_se_bootstrap));
    TRY(nans(ctx, a, k, &a->stability));
  }
  *out = bl_take(&a);
done:
  blica_assessment_free(a);
  return status;
}

/* Whether the model's segments were found in the rows that it was fitted to. */
static int noted(const blica_model *m) {
  for (int i = 0; i < m->fit.n_notes; i++)
    if (strcmp(m->fit.notes[i].name, BL_SEGMENTS_FOUND) == 0) return 1;
  return 0;
}

/* ---- what cannot be assessed ---- */

/* Fails when the model cannot be assessed: its method has no errors, one segment has several sources, or parameters
 * outnumber correlations. */
static blica_status check_model(blica_ctx *ctx, const blica_model *m) {
  const int64_t statistics = (int64_t)m->u * m->n * (m->n - 1) / 2 + bl_scale_statistics(m->coding, m->n, m->u);
  const int64_t parameters = (int64_t)m->n * m->k + (int64_t)m->u * m->k - m->k;
  if (bl_method_covariance(m) == BL_COVARIANCE_NONE)
    return bl_fail(
        ctx, BLICA_ERR_DATA,
        "the model is of method %s, which fits no correlations; assess models of blica, matched, pairwise or mle",
        m->method);
  if (m->u == 1 && m->k > 1)
    return bl_fail(
        ctx, BLICA_ERR_DATA,
        "the model has one segment ('%s') and %d sources: one segment cannot determine the axes, so there is "
        "nothing to assess; name several segments, or fit one source",
        m->segments[0], m->k);
  if (parameters > statistics)
    return bl_fail(
        ctx, BLICA_ERR_DATA,
        "%d sources of %d variables in %d segments are %lld parameters, but there are only %lld correlations "
        "(%lld degrees of freedom); fit fewer sources",
        m->k, m->n, m->u, (long long)parameters, (long long)statistics, (long long)(statistics - parameters));
  return BLICA_OK;
}

static void warn_about_prior(blica_ctx *ctx, const blica_model *m) {
  if (isnan(m->fit.prior_mixing) || isnan(m->fit.prior_variance))
    bl_warn(ctx, "the model does not say which prior it was fitted with (fit.prior_mixing and fit.prior_variance in "
                 "model.json): errors, angles and the expected MCS are those of a fit without a prior");
}

/* ---- errors and angles ---- */

/* Covariance and, where the information of the full likelihood gives them, errors of means and cuts. */
static blica_status find_covariance(blica_ctx *ctx, const blica_model *m, const bl_rows *rows,
                                    const blica_counts *counts, bool *means, blica_assessment *a) {
  blica_status status = BLICA_OK;
  *means = false;
  if (bl_method_covariance(m) == BL_COVARIANCE_INFORMATION)
    status = bl_information_errors(ctx, m, rows, a->covariance, a->mean_se, a->cut_se, means);
  if (status == BLICA_OK && !*means) status = bl_sandwich(ctx, m, rows, counts, a->covariance);
  return status;
}

/* Angles and expected MCS, and errors of means and cuts unless they are there, by draws of the asymptotic
 * distribution. */
static blica_status asymptotic_draws(blica_ctx *ctx, const blica_model *m, const blica_counts *counts,
                                     double *thresholds, uint64_t seed, bool means, blica_assessment *a) {
  blica_status status;
  const size_t p = (size_t)a->parameters;
  BL_OWNED bl_axes *axes = NULL;
  TRY(bl_axes_normal(ctx, m, a->covariance, p, seed, NORMAL_DRAWS, &axes));
  TRY(bl_axes_summary(ctx, axes, false, a->angle, a->angle_bound, &a->expected_mcs));
  if (!means) status = bl_mean_errors(ctx, m, counts, thresholds, a->covariance, p, seed, a->mean_se, a->cut_se);
  if (status == BLICA_ERR_NUMERIC) { /* errors so large that draws overflow */
    bl_warn(ctx, "no asymptotic errors of the means: %s", blica_message(ctx));
    status = BLICA_OK;
  }
done:
  return status;
}

/* Standard errors of the thresholds, NaN where the column is constant, and their covariance [planes,planes,u]. */
static blica_status threshold_errors(blica_ctx *ctx, const bl_rows *rows, const blica_counts *counts,
                                     double **covariance, blica_assessment *a) {
  const size_t q = (size_t)rows->planes, all = q * (size_t)rows->u;
  BL_OWNED double *t = NULL;
  MUST(bl_alloc(ctx, bl_mul(q, all), covariance));
  MUST(bl_alloc(ctx, all, &t));
  bl_table_thresholds(counts, t);
  MUST(bl_threshold_covariance(ctx, rows, counts, t, *covariance));
  for (size_t at = 0; at < all; at++)
    if (counts->ones[at] > 0 && counts->ones[at] < counts->present[at])
      a->threshold_se[at] = sqrt((*covariance)[at % q * (q + 1) + at / q * q * q]);
  return BLICA_OK;
}

/* Standard errors of all parameters by the covariance of the estimate; warns when that cannot be computed. */
static blica_status asymptotic(blica_ctx *ctx, const blica_model *m, const bl_rows *rows, const blica_counts *counts,
                               uint64_t seed, blica_assessment *a) {
  blica_status status;
  const size_t p = (size_t)a->parameters, nk = (size_t)m->n * m->k;
  BL_OWNED double *thresholds = NULL;
  bool means;
  TRY(threshold_errors(ctx, rows, counts, &thresholds, a));
  TRY(bl_alloc_for(ctx, a, p * p, &a->covariance));
  status = find_covariance(ctx, m, rows, counts, &means, a);
  if (status == BLICA_ERR_NUMERIC) {
    bl_warn(ctx, "no asymptotic errors: %s", blica_message(ctx));
    a->covariance = NULL;
    status = BLICA_OK;
    goto done;
  }
  if (status != BLICA_OK) goto done;
  TRY(asymptotic_draws(ctx, m, counts, thresholds, seed, means, a));
  for (size_t i = 0; i < p; i++)
    *(i < nk ? &a->mixing_se[i] : &a->log_variance_se[i - nk]) = sqrt(fmax(0, a->covariance[i * (p + 1)]));
done:
  return status;
}

/* a [count] becomes the larger of a and b; a number counts as larger than NaN. */
static void take_larger(size_t count, const double *b, double *a) {
  for (size_t i = 0; i < count; i++) a[i] = fmax(a[i], b[i]);
}

/* The bootstrap, or the draws that were finished before an interrupt. Where refits move the estimate further than its
 * asymptotic distribution says, the data determine it less than the curvature at the estimate suggests: the larger
 * errors and angles are reported. Angles are those of the median refit: refits take as many starts as the fit
 * needed, so that a few of them end at another optimum than it would. Errors by replicate weights are reported as they
 * are. */
static blica_status resample(blica_ctx *ctx, const blica_model *m, const bl_rows *rows, uint64_t seed,
                             blica_assessment *a) {
  BL_OWNED bl_axes *axes = NULL;
  BL_OWNED double *angle = NULL;
  double mcs;
  const size_t k = (size_t)m->k;
  double *const error[BL_DRAWN_PARTS] = {a->mixing_se_bootstrap, a->log_variance_se_bootstrap, a->mean_se_bootstrap,
                                         rows->replicates ? a->cut_se : NULL,
                                         rows->replicates ? a->threshold_se : NULL};
  const blica_status status = bl_bootstrap(ctx, m, rows, a->draws_planned, seed, error, a->stability, &axes);
  a->draws = status == BLICA_OK ? axes->draws : 0;
  if (status == BLICA_OK ? a->draws < a->draws_planned : status == BLICA_ERR_INTERRUPTED && !rows->replicates)
    bl_warn(ctx, "interrupted; numbers are those of %d of %d refits", a->draws, a->draws_planned);
  if (status == BLICA_ERR_INTERRUPTED && !rows->replicates) { /* too few draws: asymptotic errors only */
    a->mixing_se_bootstrap = a->log_variance_se_bootstrap = a->mean_se_bootstrap = a->stability = NULL;
    return BLICA_OK;
  }
  MUST(status);
  MUST(bl_alloc(ctx, 2 * k, &angle));
  MUST(bl_axes_summary(ctx, axes, !rows->replicates, angle, angle + k, &mcs));
  if (rows->replicates) { /* they know of the design, which the asymptotic errors do not */
    double *const own[] = {a->angle, a->angle_bound, a->mixing_se, a->log_variance_se, a->mean_se};
    const size_t size[] = {k, k, (size_t)m->n * k, k * (size_t)m->u, k * (size_t)m->u};
    for (int i = 0; i < 5; i++)
      for (size_t at = 0; at < size[i]; at++) own[i][at] = NAN;
    a->expected_mcs = NAN;
  }
  take_larger(k, angle, a->angle);
  take_larger(k, angle + k, a->angle_bound);
  take_larger((size_t)m->n * k, a->mixing_se_bootstrap, a->mixing_se);
  take_larger(k * (size_t)m->u, a->log_variance_se_bootstrap, a->log_variance_se);
  take_larger(k * (size_t)m->u, a->mean_se_bootstrap, a->mean_se);
  a->expected_mcs = fmin(a->expected_mcs, mcs);
  return BLICA_OK;
}

/* Intervals of A and of the variances from their standard errors. */
static void set_intervals(const blica_model *m, blica_assessment *a) {
  const double z = bl_phi_quantile(0.5 + 0.5 * a->level);
  for (size_t i = 0; i < (size_t)m->n * m->k; i++) {
    a->mixing_low[i] = m->mixing[i] - z * a->mixing_se[i];
    a->mixing_high[i] = m->mixing[i] + z * a->mixing_se[i];
  }
  for (size_t i = 0; i < (size_t)m->k * m->u; i++) {
    a->variance_low[i] = m->variances[i] * exp(-z * a->log_variance_se[i]);
    a->variance_high[i] = m->variances[i] * exp(z * a->log_variance_se[i]);
  }
}

/* ---- fit ---- */

static void item_residuals(const blica_fitted_values *f, double *item) {
  for (int i = 0; i < f->n; i++) {
    double sum = 0;
    int64_t used = 0;
    for (int s = 0; s < f->u; s++)
      for (int j = 0; j < f->n; j++) {
        if (i == j) continue;
        const double r = f->correlation_residual[(i < j ? blica_pair(i, j) : blica_pair(j, i)) + s * f->pairs];
        if (!isnan(r)) sum += r * r, used++;
      }
    item[i] = used ? sqrt(sum / (double)used) : NAN;
  }
}

/* M2 of the correlations, or of the margins; *found is false, with a warning, where it cannot be computed. */
static blica_status m2(blica_ctx *ctx, const blica_model *m, const bl_rows *rows, const blica_counts *counts,
                       bool margins, const blica_assessment *a, bl_m2 *out) {
  const bool fixed = !(a->distance <= bl_verdict_distance);
  const blica_status status = bl_m2_test(ctx, m, rows, counts, margins, fixed, out, margins ? NULL : a->segment_m2);
  if (status != BLICA_ERR_NUMERIC) return status;
  bl_warn(ctx, "no test of fit: %s", blica_message(ctx));
  return BLICA_OK;
}

/* The thresholds against common cuts: all of them by M2, and, where its matrices are small, one item in one segment by
 * the tests of invariance.c, which see what the means of the sources hide from M2. */
static blica_status margin_statistics(blica_ctx *ctx, const blica_model *m, const bl_rows *rows,
                                      const blica_counts *counts, blica_assessment *a) {
  bl_m2 all;
  bl_cut_change one;
  MUST(m2(ctx, m, rows, counts, true, a, &all));
  a->margin_p = all.p, a->margin_size = all.size;
  a->margin_item = all.item, a->margin_segment = all.segment, a->margin_shift = all.shift;
  if (!bl_cut_change_small(m) || !(a->distance <= bl_verdict_distance)) return BLICA_OK;
  MUST(bl_cut_change_test(ctx, m, rows, counts, &one));
  if (isnan(one.p)) return BLICA_OK;
  a->margin_p = fmin(1, 2 * fmin(one.p, isnan(all.p) ? 1 : all.p));
  a->margin_item = one.item, a->margin_segment = one.segment, a->margin_shift = one.shift;
  return BLICA_OK;
}

/* SRMR of segments and items, M2 of pairs and, where the model has cuts, of margins. */
static blica_status fit_statistics(blica_ctx *ctx, const blica_model *m, const bl_rows *rows,
                                   const blica_counts *counts, blica_assessment *a) {
  blica_status status;
  blica_fitted_values *fitted = NULL;
  bl_m2 pairs;
  bool cuts = false;
  if (m->freed) bl_warn_hold(ctx); /* what is freed counts as missing here, and is not */
  status = blica_fitted(ctx, m, counts, &fitted);
  if (m->freed) bl_warn_release(ctx);
  TRY(status);
  a->srmr = fitted->srmr;
  memcpy(a->segment_srmr, fitted->segment_srmr, (size_t)a->u * sizeof(double));
  item_residuals(fitted, a->item_srmr);
  TRY(m2(ctx, m, rows, counts, false, a, &pairs));
  a->m2 = pairs.m2, a->df = pairs.df, a->m2_p = pairs.p;
  a->rmsea2 = pairs.rmsea2, a->rmsea2_low = pairs.rmsea2_low, a->rmsea2_high = pairs.rmsea2_high;
  a->srmr_unbiased = pairs.size, a->srmr_low = pairs.size_low, a->srmr_high = pairs.size_high;
  if (a->distance <= bl_verdict_distance) TRY(bl_tails_test(ctx, m, rows, counts, &a->tails_p));
  for (int p = 0; p < m->planes; p++) cuts = cuts || m->cuts[p] != 0;
  if (cuts && m->u > 1) TRY(margin_statistics(ctx, m, rows, counts, a));
done:
  blica_fitted_free(fitted);
  return status;
}

/* ---- design ---- */

/* Counts statistics and unknowns, and finds the rank at the model; a rank that cannot be computed stays unknown. */
static blica_status judge_design(blica_ctx *ctx, const blica_model *m, blica_assessment *a) {
  blica_identification *found = NULL;
  int64_t statistics, unknowns;
  blica_status status =
      blica_identify_count(ctx, m->n, m->k, m->u, blica_ordinal_items(m->coding), &statistics, &unknowns);
  if (status != BLICA_OK) return status;
  a->surplus = statistics - unknowns;
  status = blica_identify(ctx, m, &found);
  if (status == BLICA_OK) a->rank = found->rank, a->rank_parameters = found->parameters;
  blica_identification_free(found);
  return status == BLICA_ERR_NUMERIC || status == BLICA_ERR_ARGUMENT ? BLICA_OK : status;
}

/* ---- the right point ---- */

/* Refits the model from its own point and stores how far it moves; names two identical items, if there are any. */
static blica_status compare_refit(blica_ctx *ctx, const blica_model *m, const bl_rows *rows, const blica_counts *counts,
                                  blica_assessment *a) {
  bl_optimum found;
  a->twin[0] = a->twin[1] = -1;
  int twin[2];
  if (bl_optimum_twins(rows, &twin[0], &twin[1])) a->twin[0] = twin[0], a->twin[1] = twin[1];
  MUST(bl_optimum_find(ctx, m, rows, counts, &found));
  a->distance = found.distance, a->refit_mcs = found.mcs, a->refit_gain = found.gain;
  return BLICA_OK;
}

/* ---- change ---- */

/* Tests whether the sources change over segments, and the dependence of neighbouring rows. */
static blica_status test_change(blica_ctx *ctx, const blica_model *m, const bl_rows *rows, const blica_counts *counts,
                                blica_assessment *a) {
  bl_change found;
  if (m->u == 1) return BLICA_OK;
  MUST(bl_change_test(ctx, m, rows, counts, &found, a->source_change_p));
  a->change_p = found.p, a->change_beyond_p = found.beyond_p;
  a->lag = found.rows.lag, a->lag_z = found.rows.z, a->decay = found.rows.decay;
  a->inflation = found.rows.inflation, a->draws_per_segment = found.rows.draws;
  if (a->segments_found) a->change_p = NAN;
  for (int j = 0; j < m->k && (a->segments_found || !(a->distance <= bl_verdict_distance)); j++)
    a->source_change_p[j] = NAN;
  return BLICA_OK;
}

/* The length of blocks for which the variance of sums over autoregressive rows is most accurate (Carlstein, Annals of
 * Statistics 14, 1986), scores falling by the square of what items fall by; at most a fifth of a segment. */
static int64_t block_length(const bl_rows *rows, double decay) {
  const double r = decay * decay, total = (double)rows->row_first[rows->u];
  const double best = cbrt(6 * r * r / pow(1 - r * r, 2) * total);
  return (int64_t)fmax(2, fmin(ceil(best), floor(total / rows->u / 5)));
}

/* Rows that depend on those before them become blocks, unless the data have clusters or strata. */
static blica_status take_blocks(blica_ctx *ctx, int64_t given, bl_rows *rows, blica_assessment *a) {
  if (rows->cluster || rows->stratum) return BLICA_OK;
  const bool dependent = a->inflation > 1;
  if (given > 0) a->block_length = given;
  if (!given && dependent) a->block_length = block_length(rows, a->decay);
  return a->block_length > 1 && !rows->unit_first ? bl_rows_block(ctx, rows, a->block_length) : BLICA_OK;
}

/* Pairs of an item and a segment that are free, of items that are common in some. */
static int count_freed(const blica_model *m) {
  int count = 0;
  for (int i = 0; i < m->n; i++) {
    int own = 0;
    for (int s = 0; s < m->u; s++) own += bl_freed(m, i, s) > 0;
    count += own < m->u ? own : 0;
  }
  return count;
}

blica_status blica_assess(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                          const blica_assess_options *given, blica_assessment **out) {
  BL_NEED_OUT(ctx, out, model, data, given);
  blica_status status;
  blica_assess_options own, *options = &own;
  blica_assessment *a = NULL;
  BL_AUTO(bl_rows) *rows = NULL;
  BL_AUTO(blica_counts) *counts = NULL;
  bl_poll_reset(ctx);
  TRY(BL_TAKE_OPTIONS(ctx, assess, given, &own));
  int count;
  const blica_option *table = blica_assess_option_table(&count);
  TRY(bl_same(ctx, &(blica_input){.data = data}, model, table, count, options));
  TRY(check_model(ctx, model));
  warn_about_prior(ctx, model);
  TRY(bl_rows_make(ctx, model, data, &rows));
  TRY(bl_rows_counts_create(ctx, rows, &counts));
  bl_rows_count(rows, rows->weight, counts);
  if (rows->replicates && options->bootstrap >= 0)
    FAIL(ctx, BLICA_ERR_ARGUMENT,
         "bootstrap is %d, but errors come from the %d replicate weights of the rows; leave one of the two out",
         options->bootstrap, rows->replicates);
  const int draws = options->bootstrap < 0 ? default_draws(model) : options->bootstrap;
  TRY(create_assessment(ctx, model, rows->replicates ? rows->replicates : draws, &a));
  a->level = options->level, a->replicates = rows->replicates;
  a->segments_found = data->segments_found || noted(model);
  for (int s = 0; s < model->u; s++) a->rows += rows->size[s];
  a->freed = count_freed(model);
  if (rows->cluster) a->clusters = rows->unit_of[rows->u];
  for (int s = 0; rows->stratum && s < model->u; s++) a->strata += bl_strata(rows, s);
  if (options->block_length > 1 && !rows->unit_first) TRY(bl_rows_block(ctx, rows, options->block_length));
  TRY(judge_design(ctx, model, a));
  TRY(compare_refit(ctx, model, rows, counts, a));
  const bool fitted = a->distance <= bl_verdict_distance;
  TRY(blica_chance_mcs(ctx, model, options->seed, &a->chance_mcs));
  TRY(test_change(ctx, model, rows, counts, a));
  TRY(take_blocks(ctx, options->block_length, rows, a));
  if (fitted) TRY(asymptotic(ctx, model, rows, counts, options->seed, a));
  TRY(fit_statistics(ctx, model, rows, counts, a));
  if (a->draws && fitted) TRY(resample(ctx, model, rows, options->seed, a));
  set_intervals(model, a);
  bl_verdict(a);
  *out = bl_take(&a);
done:
  blica_assessment_free(a);
  return status;
}
