/* corfit.c - sum of the segments' terms and the priors; Laplace's approximation.
 *
 * Segments are computed by any thread of any rank into their own slots and added over a fixed tree. The Hessian has arrow shape:
 * log v_s meets only A and itself, so its rows need one segment each; all by central differences of exact
 * gradients. */
#include "estimate/corfit.h"

#include <math.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "estimate/sgauss.h"

struct bl_corfit {
  blica_ctx *ctx;
  const bl_corfit_data *data;
  double *value;      /* [u] */
  double *gradient_a; /* [n,k,u] */
  double *gradient_v; /* [k,u] */
  double *work;       /* per thread */
  bl_share share;     /* of the segments among ranks */
  const double *theta;
};

size_t bl_corfit_size(const bl_corfit_data *d) { return (size_t)d->n * d->k + (size_t)d->u * d->k; }

void bl_corfit_free(bl_corfit *fit) {
  if (!fit) return;
  bl_free(fit->value);
  bl_free(fit->gradient_a);
  bl_free(fit->gradient_v);
  bl_free(fit->work);
  bl_share_free(&fit->share);
  bl_free(fit);
}

blica_status bl_corfit_make(blica_ctx *ctx, const bl_corfit_data *data, bl_corfit **out) {
  blica_status status;
  bl_corfit *fit = NULL;
  const size_t nk = (size_t)data->n * data->k, u = (size_t)data->u;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &fit));
  fit->ctx = ctx, fit->data = data;
  TRY(bl_share_make(ctx, data->u, bl_sgauss_groups(data->n, data->k, data->u), &fit->share));
  TRY(bl_alloc(ctx, u, &fit->value));
  TRY(bl_alloc(ctx, bl_mul(nk, u), &fit->gradient_a));
  TRY(bl_alloc(ctx, (size_t)data->k * u, &fit->gradient_v));
  TRY(bl_alloc(ctx, bl_mul(data->work, (size_t)bl_max_threads(ctx)), &fit->work));
  *out = fit;
  fit = NULL;
done:
  bl_corfit_free(fit);
  return status;
}

static void evaluate_segment(int64_t s, int thread, void *user) {
  bl_corfit *fit = user;
  const bl_corfit_data *d = fit->data;
  const size_t nk = (size_t)d->n * d->k, k = (size_t)d->k;
  fit->value[s] = d->term(d, (int)s, fit->theta, fit->theta + nk + k * (size_t)s, fit->work + d->work * (size_t)thread,
                          fit->gradient_a + nk * (size_t)s, fit->gradient_v + k * (size_t)s);
}

double bl_corfit_eval(bl_corfit *fit, const double *theta, double *gradient) {
  const bl_corfit_data *d = fit->data;
  const size_t nk = (size_t)d->n * d->k, size = bl_corfit_size(d);
  fit->theta = theta;
  const bl_places lists[] = {{fit->value, 1}, {fit->gradient_v, (size_t)d->k}}, sum = {fit->gradient_a, nk};
  bl_share_run(fit->ctx, &fit->share, evaluate_segment, fit);
  if (bl_share_exchange(fit->ctx, &fit->share, 2, lists, &sum) != BLICA_OK) return NAN;
  double value = 0;
  for (int s = 0; s < d->u; s++) value += fit->value[s];
  memcpy(gradient, fit->gradient_a, nk * sizeof *gradient);
  memcpy(gradient + nk, fit->gradient_v, (size - nk) * sizeof *gradient);
  for (size_t i = 0; i < size; i++) {
    double precision = i < nk ? d->precision_mixing : d->precision_variance;
    value += 0.5 * precision * theta[i] * theta[i];
    gradient[i] += precision * theta[i];
  }
  return value;
}

/* ---- Laplace ---- */

typedef struct {
  size_t nk, k;
  double *aa;          /* [nk,nk] */
  double *av;          /* [nk,k,u] */
  double *vv;          /* [k,k,u] */
  double *theta, *up, *down; /* [size] */
} arrow;

static double step_of(double x) { return 1e-4 * fmax(1, fabs(x)); }

/* Columns of A: all segments answer. */
static void mixing_columns(bl_corfit *fit, arrow *h) {
  const bl_corfit_data *d = fit->data;
  for (size_t j = 0; j < h->nk; j++) {
    double keep = h->theta[j], step = step_of(keep);
    h->theta[j] = keep + step;
    bl_corfit_eval(fit, h->theta, h->up);
    h->theta[j] = keep - step;
    bl_corfit_eval(fit, h->theta, h->down);
    h->theta[j] = keep;
    for (size_t i = 0; i < h->nk; i++) h->aa[i + h->nk * j] = (h->up[i] - h->down[i]) / (2 * step);
    for (size_t i = 0; i < h->k * (size_t)d->u; i++)
      h->av[j + h->nk * i] = (h->up[h->nk + i] - h->down[h->nk + i]) / (2 * step);
  }
  for (size_t j = 0; j < h->nk; j++)
    for (size_t i = 0; i < j; i++)
      h->aa[i + h->nk * j] = h->aa[j + h->nk * i] = 0.5 * (h->aa[i + h->nk * j] + h->aa[j + h->nk * i]);
}

/* Rows of one segment's log v: only that segment answers. */
static void variance_block(bl_corfit *fit, arrow *h, int s) {
  const bl_corfit_data *d = fit->data;
  double *local = h->theta + h->nk + h->k * (size_t)s, *block = h->vv + h->k * h->k * (size_t)s;
  for (size_t j = 0; j < h->k; j++) {
    double keep = local[j], step = step_of(keep);
    local[j] = keep + step;
    d->term(d, s, h->theta, local, fit->work, h->up, h->up + h->nk);
    local[j] = keep - step;
    d->term(d, s, h->theta, local, fit->work, h->down, h->down + h->nk);
    local[j] = keep;
    for (size_t i = 0; i < h->k; i++) block[i + h->k * j] = (h->up[h->nk + i] - h->down[h->nk + i]) / (2 * step);
  }
  for (size_t j = 0; j < h->k; j++) {
    block[j * (h->k + 1)] += d->precision_variance;
    for (size_t i = 0; i < j; i++)
      block[i + h->k * j] = block[j + h->k * i] = 0.5 * (block[i + h->k * j] + block[j + h->k * i]);
  }
}

static double log_det_of(size_t size, const double *factor) {
  double sum = 0;
  for (size_t i = 0; i < size; i++) sum += 2 * log(factor[i * (size + 1)]);
  return sum;
}

/* Traces of the inverse's two diagonal blocks, by elimination of the v's: with S the Schur complement,
 * tr(H^-1)_A = tr S^-1 and tr(H^-1)_v = sum_s tr(V_s^-1) + tr(V_s^-1 B_s' S^-1 B_s V_s^-1). */
static bool traces(const bl_corfit_data *d, arrow *h, double *trace_a, double *trace_v, double *log_det) {
  const int nk = (int)h->nk, k = (int)h->k;
  *trace_a = *trace_v = *log_det = 0;
  for (int s = 0; s < d->u; s++) {
    double *v = h->vv + h->k * h->k * (size_t)s, *b = h->av + h->nk * h->k * (size_t)s;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', k, v, k) != 0) return false;
    *log_det += log_det_of(h->k, v);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, nk, k, 1, v, k, b, nk);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, nk, k, -1, b, nk, 1, h->aa, nk);
  }
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', nk, h->aa, nk) != 0) return false;
  *log_det += log_det_of(h->nk, h->aa);
  for (int s = 0; s < d->u; s++) {
    double *v = h->vv + h->k * h->k * (size_t)s, *b = h->av + h->nk * h->k * (size_t)s;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, nk, k, 1, v, k, b, nk);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, nk, k, 1, h->aa, nk, b, nk);
    *trace_v += cblas_ddot(nk * k, b, 1, b, 1);
    if (LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', k, v, k) != 0) return false;
    for (int j = 0; j < k; j++) *trace_v += v[j + (size_t)j * k];
  }
  if (LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', nk, h->aa, nk) != 0) return false;
  for (size_t i = 0; i < h->nk; i++) *trace_a += h->aa[i * (h->nk + 1)];
  return true;
}

blica_status bl_corfit_laplace_at(blica_ctx *ctx, bl_corfit *fit, const double *theta, bl_corfit_laplace *out) {
  blica_status status;
  const bl_corfit_data *d = fit->data;
  const size_t size = bl_corfit_size(d), u = (size_t)d->u;
  arrow h = {.nk = (size_t)d->n * d->k, .k = (size_t)d->k};
  memset(out, 0, sizeof *out);
  TRY(bl_alloc(ctx, h.nk * h.nk, &h.aa));
  TRY(bl_alloc(ctx, bl_mul(h.nk * h.k, u), &h.av));
  TRY(bl_alloc(ctx, h.k * h.k * u, &h.vv));
  TRY(bl_alloc(ctx, size, &h.theta));
  TRY(bl_alloc(ctx, size, &h.up));
  TRY(bl_alloc(ctx, size, &h.down));
  memcpy(h.theta, theta, size * sizeof *theta);
  mixing_columns(fit, &h);
  for (int s = (int)fit->share.first; s < fit->share.last; s++) variance_block(fit, &h, s);
  const bl_places blocks = {h.vv, h.k * h.k};
  TRY(bl_share_exchange(ctx, &fit->share, 1, &blocks, NULL));
  double trace_a, trace_v;
  out->positive = traces(d, &h, &trace_a, &trace_v, &out->log_det);
  if (out->positive) {
    out->gamma_mixing = (double)h.nk - d->precision_mixing * trace_a;
    out->gamma_variance = (double)(h.k * u) - d->precision_variance * trace_v;
  }
done:
  bl_free(h.aa);
  bl_free(h.av);
  bl_free(h.vv);
  bl_free(h.theta);
  bl_free(h.up);
  bl_free(h.down);
  return status;
}
