/* sgauss_precondition_low.c - the approximate inverse Hessian of sgauss_precondition.c where k is much smaller than n.
 *
 * With A = Q R, Q [n,k] of orthonormal columns, all its n x n matrices are multiples of I - QQ' plus something inside
 * the span of Q: K = (I + A diag(b) A')^-1 = (I - QQ') + Q E Q', E = (I + R diag(b) R')^-1 [k,k], X = K A = Q Z with Z
 * = E R, and sum_s N_s b_k (b_k P_kk + EPSILON) K + ... = sigma (I - QQ') + Q T Q'. So matrices of k x k are factored
 * in place of n x n ones, and nothing larger than n k is kept. With the noise of method matched K = (I + diag(D_i M_ii)
 * + ...)^-1; its diagonal is replaced by its mean lambda. Checked against the other form in
 * tests/unit/num/test_symmetric.c. */
#include "estimate/gauss/sgauss_precondition_low.h"

#include <math.h>
#include <string.h>

#include "num/blas.h"

struct bl_low_preconditioner {
  blica_ctx *ctx;
  const bl_sgauss_data *data;
  const double *noise; /* [n,u] of method matched, or NULL */
  double epsilon;
  double *lambda;    /* [u] */
  double *q, *r;     /* [n,k] Q, [k,k] R upper triangle */
  double *e, *z;     /* [k,k,u] */
  double *t;         /* [k,k,k] Cholesky factors of T */
  double *sigma;     /* [k] */
  double *p, *b;     /* [k,u] a_k' K a_k, c v */
  double *scales;    /* [n,u] diagonal of the scales q */
  double *workspace; /* [n,k] per thread, and k more */
  const double *theta;
};

void bl_low_preconditioner_free(bl_low_preconditioner *p) {
  if (!p) return;
  double *const blocks[] = {p->lambda, p->q, p->r, p->e, p->z, p->t, p->sigma, p->p, p->b, p->scales, p->workspace};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) bl_free(blocks[i]);
  bl_free(p);
}

blica_status bl_low_preconditioner_make(blica_ctx *ctx, const bl_sgauss_data *data, const double *noise, double epsilon,
                                        bl_low_preconditioner **out) {
  blica_status status;
  bl_low_preconditioner *p = NULL;
  const size_t n = (size_t)data->n, k = (size_t)data->k, u = (size_t)data->u;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &p));
  p->ctx = ctx, p->data = data, p->noise = noise, p->epsilon = epsilon;
  TRY(bl_alloc(ctx, u, &p->lambda));
  TRY(bl_alloc(ctx, n * k, &p->q));
  TRY(bl_alloc(ctx, k * k, &p->r));
  TRY(bl_alloc(ctx, bl_mul(k * k, u), &p->e));
  TRY(bl_alloc(ctx, bl_mul(k * k, u), &p->z));
  TRY(bl_alloc(ctx, bl_mul(k * k, k), &p->t));
  TRY(bl_alloc(ctx, k, &p->sigma));
  TRY(bl_alloc(ctx, k * u, &p->p));
  TRY(bl_alloc(ctx, k * u, &p->b));
  if (!noise) TRY(bl_alloc(ctx, bl_mul(n, u), &p->scales));
  TRY(bl_alloc(ctx, bl_mul(n * k, (size_t)bl_max_threads(ctx)) + k, &p->workspace));
  *out = bl_take(&p);
done:
  bl_low_preconditioner_free(p);
  return status;
}

/* A = Q R; workspace holds tau and what LAPACK would allocate. */
static void orthogonal_factor(bl_low_preconditioner *p) {
  const int n = p->data->n, k = p->data->k;
  memcpy(p->q, p->theta, (size_t)n * k * sizeof(double));
  double *tau = p->workspace, *work = tau + k;
  bl_dgeqrf_work(n, k, p->q, n, tau, work, n * k);
  memset(p->r, 0, (size_t)k * k * sizeof(double));
  for (int j = 0; j < k; j++) memcpy(p->r + (size_t)j * k, p->q + (size_t)j * n, (size_t)(j + 1) * sizeof(double));
  bl_dorgqr_work(n, k, k, p->q, n, tau, work, n * k);
}

static size_t local_at(const bl_low_preconditioner *p, int s) {
  return p->noise ? (size_t)(p->data->n + s) * (size_t)p->data->k : bl_sgauss_local(p->data, s);
}

static double row_square(const bl_sgauss_data *d, const double *a, const double *b, int i) {
  double sum = 1;
  for (int j = 0; j < d->k; j++) sum += b[j] * a[i + (size_t)j * d->n] * a[i + (size_t)j * d->n];
  return sum;
}

/* The variance outside the span of A: 1, or with noise the mean of 1 + D_i M_ii. */
static double outside_variance(const bl_low_preconditioner *p, int s, const double *b) {
  double sum = 0;
  for (int i = 0; i < p->data->n && p->noise; i++)
    sum += p->noise[i + (size_t)p->data->n * (size_t)s] * row_square(p->data, p->theta, b, i);
  return 1 + sum / p->data->n;
}

/* The diagonal of the scales, 1 + M_ii K_ii. */
static void fill_scales(const bl_low_preconditioner *p, int s, const double *b, const double *e, double *workspace) {
  const int n = p->data->n, k = p->data->k;
  double *scales = p->scales + (size_t)n * (size_t)s;
  bl_dgemm('N', 'N', n, k, k, 1, p->q, n, e, k, 0, workspace, n);
  for (int i = 0; i < n; i++) {
    double inverse = 1;
    for (int j = 0; j < k; j++) {
      size_t at = (size_t)i + (size_t)j * n;
      inverse += p->q[at] * (workspace[at] - p->q[at]);
    }
    scales[i] = p->data->weight[s] * (1 + row_square(p->data, p->theta, b, i) * inverse);
  }
}

/* E, Z, P and the diagonal of the scales of one segment. */
static void prepare_segment(int64_t s, int thread, void *user) {
  bl_low_preconditioner *p = user;
  const bl_sgauss_data *d = p->data;
  const int k = d->k;
  const size_t kk = (size_t)k * k;
  const double *local = p->theta + local_at(p, (int)s);
  double *e = p->e + kk * (size_t)s, *z = p->z + kk * (size_t)s, *b = p->b + (size_t)k * (size_t)s;
  for (int j = 0; j < k; j++) {
    b[j] = d->link * exp(local[j]);
    for (int i = 0; i < k; i++) z[i + (size_t)j * k] = p->r[i + (size_t)j * k] * b[j];
  }
  bl_dgemm('N', 'T', k, k, k, 1, z, k, p->r, k, 0, e, k);
  p->lambda[s] = outside_variance(p, (int)s, b);
  for (int j = 0; j < k; j++) e[(size_t)j * (k + 1)] += p->lambda[s];
  bl_dpotrf('L', k, e, k);
  bl_dpotri('L', k, e, k);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < j; i++) e[i + (size_t)j * k] = e[j + (size_t)i * k];
  bl_dgemm('N', 'N', k, k, k, 1, e, k, p->r, k, 0, z, k);
  for (int j = 0; j < k; j++)
    p->p[j + (size_t)k * (size_t)s] = bl_ddot(k, p->r + (size_t)j * k, 1, z + (size_t)j * k, 1);
  if (!p->noise) fill_scales(p, (int)s, b, e, p->workspace + (size_t)d->n * k * (size_t)thread);
}

/* sigma and the factor of T for column j of A. */
static void factor_column(int64_t j, int thread, void *user) {
  (void)thread;
  bl_low_preconditioner *p = user;
  const bl_sgauss_data *d = p->data;
  const int n = d->n, k = d->k;
  const size_t kk = (size_t)k * k;
  double *t = p->t + kk * (size_t)j, sigma = 0, trace = 0;
  memset(t, 0, kk * sizeof *t);
  for (int s = 0; s < d->u; s++) {
    size_t at = (size_t)j + (size_t)k * (size_t)s;
    double scale = d->weight[s] * p->b[at], share = p->b[at] * p->p[at], lifted = share + p->epsilon;
    sigma += scale * lifted / p->lambda[s];
    bl_daxpy((int)kk, scale * lifted, p->e + kk * (size_t)s, 1, t, 1);
    bl_dsyr('L', k, scale * p->b[at] * (1 - 2 * share / lifted), p->z + kk * (size_t)s + (size_t)j * k, 1, t, k);
  }
  for (int i = 0; i < k; i++) trace += t[(size_t)i * (k + 1)];
  double lift = 1e-9 * (trace + (n - k) * sigma) / n + d->precision_mixing;
  for (int i = 0; i < k; i++) t[(size_t)i * (k + 1)] += lift;
  p->sigma[j] = sigma + lift;
  bl_dpotrf('L', k, t, k);
}

void bl_low_preconditioner_set(bl_low_preconditioner *p, const double *theta) {
  p->theta = theta;
  orthogonal_factor(p);
  bl_parallel(p->ctx, p->data->u, prepare_segment, p);
  bl_parallel(p->ctx, p->data->k, factor_column, p);
}

/* Column j and its log-variances; inside and solved [k]. */
static void apply_column(const bl_low_preconditioner *p, int j, double *g, double *inside, double *solved) {
  const bl_sgauss_data *d = p->data;
  const int n = d->n, k = d->k;
  double *column = g + (size_t)j * n;
  bl_dgemv('T', n, k, 1, p->q, n, column, 1, 0, inside, 1);
  memcpy(solved, inside, (size_t)k * sizeof *solved);
  for (int s = 0; s < d->u; s++) {
    size_t at = (size_t)j + (size_t)k * (size_t)s;
    double tie = 2 * p->b[at] / (p->b[at] * p->p[at] + p->epsilon);
    bl_daxpy(k, -tie * g[local_at(p, s) + (size_t)j], p->z + (size_t)k * at, 1, solved, 1);
  }
  bl_dpotrs('L', k, 1, p->t + (size_t)k * k * (size_t)j, k, solved, k);
  bl_dscal(n, 1 / p->sigma[j], column, 1);
  for (int i = 0; i < k; i++) inside[i] = solved[i] - inside[i] / p->sigma[j];
  bl_dgemv('N', n, k, 1, p->q, n, inside, 1, 1, column, 1);
  for (int s = 0; s < d->u; s++) {
    size_t at = (size_t)j + (size_t)k * (size_t)s;
    double share = p->b[at] * p->p[at], tie = 2 * p->b[at] / (share + p->epsilon);
    double *v = &g[local_at(p, s) + (size_t)j];
    *v = *v / (0.5 * d->weight[s] * share * (share + p->epsilon) + d->precision_variance) -
         tie * bl_ddot(k, p->z + (size_t)k * at, 1, solved, 1);
  }
}

void bl_low_preconditioner_apply(const bl_low_preconditioner *p, double *g) {
  const bl_sgauss_data *d = p->data;
  for (int j = 0; j < d->k; j++) apply_column(p, j, g, p->workspace, p->workspace + d->k);
  for (int s = 0; s < d->u && !p->noise; s++)
    for (int i = 0; i < d->n; i++)
      g[bl_sgauss_local(d, s) + (size_t)(d->k + i)] /= p->scales[i + (size_t)d->n * (size_t)s];
}

double bl_low_preconditioner_outside(const bl_low_preconditioner *p, int j) {
  return p->sigma[j];
}
