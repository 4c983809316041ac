/* information.c - the inverse of the information of the full likelihood, sum over rows of score score', and of the
 * prior's precision (estimate/mle_information.c), brought to the canonical scale of the model: mean log v is 0, and
 * with cuts the means of a source average to 0. Directions that only change the scale are held by a ridge in the
 * information and vanish in the canonical scale. Checked against the expected information over all patterns of LSAT7
 * (tests/cli/assess.bats). */
#include "inference/errors.h"

#include <math.h>
#include <string.h>

#include "estimate/mle/mle.h"
#include "model/model.h"

enum { SIZE_MOST = 3000 };

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  bl_mle mle;
  blica_data *data;
  double *theta;   /* [size] */
  double *inverse; /* [size,size], freed with theta */
  size_t size;
} job;

/* Sets theta to the parameters of the model. */
static void set_theta(const job *b) {
  const blica_model *m = b->model;
  const size_t nk = (size_t)m->n * m->k;
  memcpy(b->theta, m->mixing, nk * sizeof *b->theta);
  if (b->mle.cuts) bl_cuts_set(m->coding, m->n, m->cuts, b->theta + nk);
  for (int s = 0; s < m->u; s++)
    for (int j = 0; j < m->k; j++) {
      double *own = b->theta + bl_mle_local(&b->mle, s);
      own[j] = log(m->variances[j + (size_t)s * m->k]);
      own[m->k + j] = m->means[j + (size_t)s * m->k];
    }
}

/* The change x of theta less what only changes the scale of source l and, with cuts, its mean. */
static void canonical_source(const job *b, int l, double *x) {
  const blica_model *m = b->model;
  const size_t n = (size_t)m->n, nk = n * (size_t)m->k;
  double scale = 0, centre = 0, rows = 0;
  for (int s = 0; s < m->u; s++) scale += x[bl_mle_local(&b->mle, s) + (size_t)l] / m->u;
  for (int s = 0; s < m->u; s++) {
    double *own = x + bl_mle_local(&b->mle, s);
    own[l] -= scale;
    own[m->k + l] -= 0.5 * scale * m->means[l + (size_t)s * m->k];
    centre += m->samples[s] * own[m->k + l], rows += m->samples[s];
  }
  for (size_t i = 0; i < n; i++) x[i + n * (size_t)l] += 0.5 * scale * m->mixing[i + n * (size_t)l];
  if (!b->mle.cuts) return;
  for (int s = 0; s < m->u; s++) x[bl_mle_local(&b->mle, s) + (size_t)(m->k + l)] -= centre / rows;
  for (int i = 0; i < m->n; i++)
    for (int p = bl_plane(m->coding, i); p < bl_plane(m->coding, i + 1); p++)
      x[nk + (size_t)p] -= sqrt(m->link) * m->mixing[(size_t)i + n * (size_t)l] * centre / rows;
}

static void canonical_and_transpose(const job *b) {
  const size_t p = b->size, nk = (size_t)b->model->n * (size_t)b->model->k;
  for (size_t c = 0; c < p; c++) {
    if (b->mle.cuts) bl_cuts_move(b->model->coding, b->model->n, b->theta + nk, b->inverse + p * c + nk);
    for (int l = 0; l < b->model->k; l++) canonical_source(b, l, b->inverse + p * c);
  }
  for (size_t c = 0; c < p; c++)
    for (size_t r = c + 1; r < p; r++) {
      const double keep = b->inverse[r + p * c];
      b->inverse[r + p * c] = b->inverse[c + p * r], b->inverse[c + p * r] = keep;
    }
}

/* Sets the inverse of the information at the model, for parameters in canonical form. */
static blica_status invert(job *b) {
  MUST(bl_alloc(b->ctx, b->size, &b->theta));
  MUST(bl_alloc_for(b->ctx, b->theta, bl_mul(b->size, b->size), &b->inverse));
  set_theta(b);
  MUST(bl_mle_order(&b->mle, b->theta));
  MUST(bl_information_make(b->ctx, b->mle.information, &b->mle, b->theta, false));
  for (size_t c = 0; c < b->size; c++) {
    b->inverse[c * (b->size + 1)] = 1;
    bl_information_solve(b->mle.information, b->inverse + b->size * c);
  }
  for (int side = 0; side < 2; side++) canonical_and_transpose(b);
  return BLICA_OK;
}

/* The place of parameter i of (A, log v) in theta. */
static size_t place_of(const job *b, size_t i) {
  const size_t nk = (size_t)b->model->n * b->model->k, k = (size_t)b->model->k;
  return i < nk ? i : bl_mle_local(&b->mle, (int)((i - nk) / k)) + (i - nk) % k;
}

static void copy_results(const job *b, double *covariance, double *mean_se, double *cut_se) {
  const blica_model *m = b->model;
  const size_t k = (size_t)m->k, nk = (size_t)m->n * k, p = nk + k * (size_t)m->u, size = b->size;
  for (size_t c = 0; c < p; c++)
    for (size_t r = 0; r < p; r++) covariance[r + p * c] = b->inverse[place_of(b, r) + size * place_of(b, c)];
  for (int s = 0; s < m->u; s++)
    for (size_t j = 0; j < k; j++)
      mean_se[j + k * (size_t)s] = sqrt(fmax(0, b->inverse[(bl_mle_local(&b->mle, s) + k + j) * (size + 1)]));
  for (int i = 0; i < m->planes; i++)
    cut_se[i] = b->mle.cuts ? sqrt(fmax(0, b->inverse[(nk + (size_t)i) * (size + 1)])) : 0;
}

blica_status bl_information_errors(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, double *covariance,
                                   double *mean_se, double *cut_se, bool *found) {
  blica_status status;
  job b = {.ctx = ctx, .model = model};
  blica_fit_options settings = blica_fit_options_default();
  bool cuts = false;
  const double mixing = model->fit.prior_mixing, variance = model->fit.prior_variance;
  *found = false;
  for (int i = 0; i < model->planes; i++) cuts = cuts || model->cuts[i] != 0;
  settings.link = model->link;
  if (!cuts) settings.thresholds = BLICA_THRESHOLDS_NONE;
  TRY(bl_rows_data(ctx, rows, rows->weight, &b.data));
  TRY(bl_mle_make(ctx, b.data, model->coding, model->k, &settings, &b.mle));
  b.size = b.mle.size;
  if (!b.mle.information || b.size > SIZE_MOST) goto done;
  if (isfinite(mixing) && isfinite(variance)) bl_mle_set_prior(&b.mle, mixing, variance);
  TRY(invert(&b));
  copy_results(&b, covariance, mean_se, cut_se);
  *found = true;
done:
  bl_mle_free(&b.mle);
  blica_data_free(b.data);
  bl_free(b.theta);
  return status;
}
