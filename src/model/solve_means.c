/* solve_means.c - means of the sources, and cuts of the items, from the observed thresholds of all segments.
 *
 * In segment s the model says t_is sqrt(M_s,ii) = sqrt(c) (A mu_s)_i - tau_i. Weighted least squares, the weight being
 * the precision of t_is (delta method: N phi(t)^2 / (Phi(t) Phi(-t))) over M_s,ii. With k = n the means fit exactly and
 * the cuts stay 0. Else W_s^1/2 sqrt(c) A = Q_s R_s in each segment eliminates mu_s, and the cuts solve
 *     sum_s W_s^1/2 (I - Q_s Q_s') W_s^1/2 (tau + b_s) = 0,   b_is = t_is sqrt(M_s,ii),
 * an item of L levels having L - 1 rows and cuts, of no weight where they are freed or t is NaN, as nobody was asked,
 * by conjugate gradients, whose answer is one of many: adding sqrt(c) A d to tau and d to every mu_s changes nothing
 * (bl_model_center chooses among them). Accuracy: the residual falls to 1e-12 of its first size, or stays where
 * rounding keeps it. Checked: tests/recovery/test_cuts.c recovers cuts and means from exact counts. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"

enum { MOST_STEPS = 1000 };
#define SMALL 1e-12

typedef struct {
  blica_ctx *ctx;
  blica_model *model;
  int n, k, u;    /* n is the number of cuts: of rows of the system */
  int *item;      /* [n] item of each cut */
  double *q;      /* [n,k,u] Q_s */
  double *weight; /* [n,u] W_s^1/2 */
  double *b;      /* [n,u] */
  double *work;   /* [n+k] */
} system_of;

/* Rows of the system of segment s: weights and right-hand side. */
static void rows_of(system_of *z, int s) {
  const blica_model *m = z->model;
  double *weight = z->weight + (size_t)s * z->n, *b = z->b + (size_t)s * z->n;
  bl_model_margins(m, s, z->work, NULL);
  for (int i = 0; i < z->n; i++) {
    double t = m->thresholds[i + (size_t)s * z->n], scale = sqrt(z->work[z->item[i]]);
    double density = bl_phi_density(t) * sqrt(fmax(m->samples[s], 1.0));
    weight[i] = z->k == z->n ? 1 : density / sqrt(bl_phi_cdf(t) * bl_phi_cdf(-t)) / scale;
    b[i] = t * scale;
    if (bl_freed(m, z->item[i], s) || isnan(t)) weight[i] = b[i] = 0;
  }
}

/* mu_s by least squares, given the cuts. */
static blica_status means_of(system_of *z, int s, double *a /* [n,k] */, double *right /* [n] */, int *pivots) {
  blica_model *m = z->model;
  const double *weight = z->weight + (size_t)s * z->n, *b = z->b + (size_t)s * z->n;
  int rank;
  memset(pivots, 0, sizeof *pivots * (size_t)z->k);
  for (int i = 0; i < z->n; i++) {
    right[i] = weight[i] * (b[i] + m->cuts[i]) / sqrt(m->link);
    for (int j = 0; j < z->k; j++) a[i + (size_t)j * z->n] = weight[i] * m->mixing[z->item[i] + (size_t)j * m->n];
  }
  errno = 0;
  if (bl_dgelsy(z->n, z->k, 1, a, z->n, right, z->n, pivots, 1e-12, &rank) != 0)
    return bl_fail_outside(z->ctx, BLICA_ERR_NUMERIC, "segment '%s': the means of the sources could not be solved",
                           m->segments[s]);
  memcpy(m->means + (size_t)s * z->k, right, (size_t)z->k * sizeof(double));
  return BLICA_OK;
}

/* Q_s of the weighted mixing matrix. */
static blica_status factor(system_of *z, int s) {
  const blica_model *m = z->model;
  double *q = z->q + (size_t)s * z->n * z->k;
  for (int j = 0; j < z->k; j++)
    for (int i = 0; i < z->n; i++)
      q[i + (size_t)j * z->n] = z->weight[i + (size_t)s * z->n] * m->mixing[z->item[i] + (size_t)j * m->n];
  errno = 0;
  if (bl_dgeqrf(z->n, z->k, q, z->n, z->work) != 0 || bl_dorgqr(z->n, z->k, z->k, q, z->n, z->work) != 0)
    return bl_fail_outside(z->ctx, BLICA_ERR_NUMERIC, "segment '%s': the items' cuts could not be solved",
                           m->segments[s]);
  return BLICA_OK;
}

/* out += W^1/2 (I - QQ') W^1/2 x of segment s. */
static void apply(const system_of *z, int s, const double *x, double *out) {
  const double *q = z->q + (size_t)s * z->n * z->k, *weight = z->weight + (size_t)s * z->n;
  double *y = z->work;
  for (int i = 0; i < z->n; i++) y[i] = weight[i] * x[i];
  for (int j = 0; j < z->k; j++) {
    double dot = 0;
    for (int i = 0; i < z->n; i++) dot += q[i + (size_t)j * z->n] * weight[i] * x[i];
    for (int i = 0; i < z->n; i++) y[i] -= dot * q[i + (size_t)j * z->n];
  }
  for (int i = 0; i < z->n; i++) out[i] += weight[i] * y[i];
}

static double dot(int n, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Conjugate gradients, scaled by the sum of the weights of each item. */
static blica_status solve_cuts(system_of *z) {
  const int n = z->n;
  BL_OWNED double *buffer = NULL;
  MUST(bl_alloc(z->ctx, 5 * (size_t)n, &buffer));
  double *r = buffer, *p = r + n, *ap = p + n, *scaled = ap + n, *scale = scaled + n, *x = z->model->cuts;
  memset(x, 0, sizeof(double) * (size_t)n);
  for (int s = 0; s < z->u; s++) {
    apply(z, s, z->b + (size_t)s * n, r);
    for (int i = 0; i < n; i++) scale[i] += z->weight[i + (size_t)s * n] * z->weight[i + (size_t)s * n];
  }
  for (int i = 0; i < n; i++) {
    if (!(scale[i] > 0)) scale[i] = 1; /* of no weight in any segment: its cut stays 0 */
    r[i] = -r[i], p[i] = scaled[i] = r[i] / scale[i];
  }
  double rz = dot(n, r, scaled), first = rz;
  for (int step = 0; step < MOST_STEPS && rz > SMALL * SMALL * first; step++) {
    memset(ap, 0, sizeof(double) * (size_t)n);
    for (int s = 0; s < z->u; s++) apply(z, s, p, ap);
    double curvature = dot(n, p, ap);
    if (!(curvature > 0)) break;
    for (int i = 0; i < n; i++) {
      x[i] += rz / curvature * p[i];
      r[i] -= rz / curvature * ap[i];
      scaled[i] = r[i] / scale[i];
    }
    double next = dot(n, r, scaled);
    for (int i = 0; i < n; i++) p[i] = scaled[i] + next / rz * p[i];
    rz = next;
  }
  return BLICA_OK;
}

blica_status bl_solve_means(blica_ctx *ctx, blica_model *model, bool cuts) {
  const size_t n = (size_t)model->planes, k = (size_t)model->k, u = (size_t)model->u;
  system_of z = {.ctx = ctx, .model = model, .n = model->planes, .k = model->k, .u = model->u};
  BL_OWNED int *item = NULL; /* owns the others */
  double *a;
  int *pivots;
  cuts = (cuts && k < n) || n > (size_t)model->n; /* levels need cuts of their own */
  MUST(bl_alloc(ctx, n, &item));
  z.item = item;
  for (int i = 0; i < model->n; i++)
    for (int p = bl_plane(model->coding, i); p < bl_plane(model->coding, i + 1); p++) z.item[p] = i;
  MUST(bl_alloc_for(ctx, item, bl_mul(n, u), &z.weight));
  MUST(bl_alloc_for(ctx, item, bl_mul(n, u), &z.b));
  MUST(bl_alloc_for(ctx, item, n + k, &z.work));
  MUST(bl_alloc_for(ctx, item, bl_mul(n, k) + n, &a));
  MUST(bl_alloc_for(ctx, item, k, &pivots));
  if (cuts) MUST(bl_alloc_for(ctx, item, bl_mul(bl_mul(n, k), u), &z.q));
  for (int s = 0; s < model->u; s++) {
    rows_of(&z, s);
    if (cuts) MUST(factor(&z, s));
  }
  if (cuts) MUST(solve_cuts(&z));
  for (int c = 1; c < z.n;
       c++) /* where hardly anybody has a level, least squares may put its cuts the wrong way round */
    if (z.item[c] == z.item[c - 1]) model->cuts[c] = fmax(model->cuts[c], model->cuts[c - 1] + 1e-6);
  for (int s = 0; s < model->u; s++) MUST(means_of(&z, s, a, a + n * k, pivots));
  return BLICA_OK;
}

blica_status bl_model_fill_means(blica_ctx *ctx, blica_model *model, bool cuts, bool means_done) {
  if (!means_done) MUST(bl_solve_means(ctx, model, cuts));
  if (cuts) bl_model_center(model);
  MUST(bl_model_canonical(ctx, model));
  return BLICA_OK;
}
