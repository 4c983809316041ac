/* fitted.c - blica_fitted: what a model says of margins, pairs and correlations, and what the data say beside it.
 *
 * SRMR of a segment is the root of the sum of squared residual correlations over n(n+1)/2, the diagonal, which fits
 * exactly, included; the total is the mean over segments, weighted by their rows. Both as lavaan 0.6 has them. */
#include <math.h>
#include <string.h>

#include "inference/scores/rows.h"
#include "inference/implied.h"
#include "model/model.h"
#include "num/normal/normal.h"

void blica_fitted_free(blica_fitted_values *f) {
  if (!f) return;
  bl_free(f->variables);
  bl_free(f->segments);
  bl_free(f);
}

/* Allocates the result; residuals only if they are wanted. */
static blica_status create_fitted(blica_ctx *ctx, const blica_model *m, bool residuals, blica_fitted_values **out) {
  blica_status status;
  blica_fitted_values *f = NULL;
  const int64_t pairs = (int64_t)m->n * (m->n - 1) / 2;
  const bool binary = !bl_coding_ordinal(m->coding);
  const size_t tables = bl_mul((size_t)pairs, (size_t)m->u), margins = bl_mul((size_t)m->planes, (size_t)m->u);
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &f));
  f->n = m->n, f->u = m->u, f->planes = m->planes, f->pairs = pairs, f->srmr = f->srmr_unbiased = NAN;
  TRY(bl_copy_texts(ctx, m->n, (const char *const *)m->variables, &f->variables));
  TRY(bl_copy_texts(ctx, m->u, (const char *const *)m->segments, &f->segments));
  TRY(bl_alloc_for(ctx, f, tables, &f->correlation));
  TRY(bl_alloc_for(ctx, f, margins, &f->margin));
  if (binary) TRY(bl_alloc_for(ctx, f, tables, &f->pair));
  if (residuals) {
    TRY(bl_alloc_for(ctx, f, tables, &f->correlation_residual));
    TRY(bl_alloc_for(ctx, f, margins, &f->margin_residual));
    if (binary) TRY(bl_alloc_for(ctx, f, tables, &f->pair_residual));
    TRY(bl_alloc_for(ctx, f, (size_t)m->u, &f->segment_srmr));
  }
  *out = bl_take(&f);
done:
  blica_fitted_free(f);
  return status;
}

static void fill_segment(const blica_model *m, int s, double *scale, double *threshold, blica_fitted_values *f) {
  const int n = m->n;
  double *rho = f->correlation + (size_t)f->pairs * s;
  bl_implied_rho(n, m->k, m->link, bl_mixing_in(m, s), m->variances + (size_t)m->k * s, scale, rho);
  bl_model_margins(m, s, NULL, threshold);
  for (int p = 0; p < f->planes; p++) f->margin[p + (size_t)s * f->planes] = bl_phi_cdf(threshold[p]);
  for (int j = 1; f->pair && j < n; j++)
    for (int i = 0; i < j; i++)
      f->pair[blica_pair(i, j) + f->pairs * s] = blica_bvn(threshold[i], threshold[j], rho[blica_pair(i, j)]);
}

/* Shares of ones and of pairs of ones. */
static void share_residuals(const blica_counts *c, int s, blica_fitted_values *f) {
  for (int p = 0; p < f->planes; p++) {
    const size_t at = p + (size_t)s * f->planes;
    f->margin_residual[at] = c->present[at] > 0 ? c->ones[at] / c->present[at] - f->margin[at] : NAN;
  }
  for (int j = 1; f->pair && j < f->n; j++)
    for (int i = 0; i < j; i++) {
      const size_t at = (size_t)blica_pair(i, j) + (size_t)f->pairs * s;
      double cell[4];
      blica_counts_table(c, s, i, j, cell);
      const double total = cell[0] + cell[1] + cell[2] + cell[3];
      f->pair_residual[at] = total > 0 ? cell[0] / total - f->pair[at] : NAN;
    }
}

/* *unbiased: mean square of the residuals less what sampling alone makes of it, `parameters` being estimated. */
static void correlation_residuals(const blica_cor *cor, int s, int64_t parameters, blica_fitted_values *f,
                                  double *unbiased) {
  double sum = 0, noise = 0;
  int64_t used = 0;
  for (int64_t pair = 0; pair < f->pairs; pair++) {
    const size_t at = (size_t)(pair + f->pairs * s);
    f->correlation_residual[at] = NAN;
    if (cor->flags[at] & (BLICA_PAIR_CONSTANT | BLICA_PAIR_EMPTY)) continue;
    f->correlation_residual[at] = cor->rho[at] - f->correlation[at];
    sum += f->correlation_residual[at] * f->correlation_residual[at];
    noise += isfinite(cor->se[at]) ? cor->se[at] * cor->se[at] : 0;
    used++;
  }
  const double free = 1 - fmin(1, (double)parameters / fmax(1, (double)(f->pairs * f->u)));
  *unbiased = used ? (sum - free * noise) / (double)(used + f->n) : NAN;
  f->segment_srmr[s] = used ? sqrt(sum / (double)(used + f->n)) : NAN;
}

/* Mean over segments, weighted by rows. */
static double mean_of(const double *x, int u, const double *samples) {
  double sum = 0, rows = 0;
  for (int s = 0; s < u; s++) {
    if (isnan(x[s])) continue;
    sum += samples[s] * x[s];
    rows += samples[s];
  }
  return rows > 0 ? sum / rows : NAN;
}

blica_status blica_fitted(blica_ctx *ctx, const blica_model *model, const blica_counts *counts,
                          blica_fitted_values **out) {
  BL_NEED_OUT(ctx, out, model);
  blica_status status;
  blica_fitted_values *f = NULL;
  BL_AUTO(blica_counts) *aligned = NULL;
  BL_AUTO(blica_cor) *cor = NULL;
  BL_OWNED double *scale = NULL, *threshold = NULL, *unbiased = NULL;
  TRY(create_fitted(ctx, model, counts != NULL, &f));
  TRY(bl_alloc(ctx, (size_t)model->n, &scale));
  TRY(bl_alloc(ctx, (size_t)model->planes, &threshold));
  for (int s = 0; s < model->u; s++) fill_segment(model, s, scale, threshold, f);
  if (counts) {
    TRY(bl_align_counts(ctx, model, counts, &aligned));
    TRY(blica_correlate(ctx, aligned, &cor));
    const int64_t parameters = (int64_t)model->k * (model->n + model->u - 1);
    TRY(bl_alloc(ctx, (size_t)model->u, &unbiased));
    for (int s = 0; s < model->u; s++)
      share_residuals(aligned, s, f), correlation_residuals(cor, s, parameters, f, &unbiased[s]);
    f->srmr = mean_of(f->segment_srmr, model->u, aligned->samples);
    f->srmr_unbiased = sqrt(fmax(0, mean_of(unbiased, model->u, aligned->samples)));
  }
  *out = bl_take(&f);
done:
  blica_fitted_free(f);
  return status;
}
