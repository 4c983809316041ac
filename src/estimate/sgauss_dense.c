/* sgauss_dense.c - the scaled Gaussian likelihood of one segment by BLAS, for n too large for lanes.
 *
 * Same formulas as sgauss_lanes.c. No n x n matrix is formed or factored (Woodbury): one evaluation costs
 * one n x n by n x k product with C and products of size k. */
#include <math.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "estimate/sgauss_kernels.h"

/* Workspace: b, root b [k]; w [n]; L, F [k,k]; X, Y, E [n,k]; that of the product with C. */
size_t bl_sgauss_dense_work(int n, int k) {
  return (size_t)(2 * k + n) + 2 * (size_t)k * k + 3 * (size_t)n * k + bl_symmetric_work(n);
}

/* L <- Cholesky factor of I + B'B; returns its log determinant, or NaN. */
static double factor_capacitance(int k, const double *gram, const double *rb, double *l) {
  for (int j = 0; j < k; j++)
    for (int i = j; i < k; i++) l[i + (size_t)j * k] = gram[i + (size_t)j * k] * rb[i] * rb[j] + (i == j);
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', k, l, k) != 0) return NAN;
  double log_det = 0;
  for (int j = 0; j < k; j++) log_det += 2 * log(l[j + (size_t)j * k]);
  return log_det;
}

/* X <- A b^1/2 (L L')^-1 b^-1/2, by two triangular solves: cheaper than the inverse and its product. */
static void solve_columns(int n, int k, const double *a, const double *rb, const double *l, double *x) {
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) x[i + (size_t)j * n] = a[i + (size_t)j * n] * rb[j];
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, k, 1, l, k, x, n);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, n, k, 1, l, k, x, n);
}

static void multiply(int m, int n, int k, int transposed, const double *a, int lda, const double *b, double *c) {
  cblas_dgemm(CblasColMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, k, 0, c, m);
}

void bl_sgauss_dense(const bl_sgauss_shared *shared, const bl_symmetric *c, double weight, const double *local,
                     double *value, double *gradient_a, double *local_gradient) {
  const int n = shared->n, k = shared->k;
  const size_t nk = (size_t)n * k, kk = (size_t)k * k;
  const double *a = shared->a;
  double *b = shared->work, *rb = b + k, *w = rb + k, *l = w + n, *f = l + kk, *x = f + kk, *y = x + nk,
         *e = y + nk, log_q = 0;
  for (int j = 0; j < k; j++) {
    b[j] = shared->link * exp(local[j]);
    rb[j] = sqrt(b[j]);
  }
  for (int i = 0; i < n; i++) {
    w[i] = exp(-local[k + i]);
    log_q += local[k + i];
  }
  double log_det = factor_capacitance(k, shared->gram, rb, l);
  solve_columns(n, k, a, rb, l, x);
  for (int j = 0; j < k; j++) {
    double inverse = 1 / rb[j];
    for (int i = 0; i < n; i++) {
      x[i + (size_t)j * n] *= inverse;
      y[i + (size_t)j * n] = w[i] * x[i + (size_t)j * n];
    }
  }
  bl_symmetric_product(c, k, y, e, e + nk);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) e[i + (size_t)j * n] *= w[i];
  multiply(k, k, n, 1, a, n, e, f);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) f[i + (size_t)j * k] *= b[i];
  multiply(n, k, k, 0, x, n, f, gradient_a);
  double *dk = y; /* diagonal of D K; y is free now */
  for (int i = 0; i < n; i++) {
    dk[i] = w[i] * w[i] * (c->full ? c->full[i + (size_t)i * n] : 1);
    if (!(dk[i] <= BL_SGAUSS_MAX_D)) dk[i] = NAN;
  }
  for (int j = 0; j < k; j++) {
    double slope = 0;
    for (int i = 0; i < n; i++) {
      size_t at = i + (size_t)j * n;
      dk[i] -= b[j] * e[at] * a[at];
      gradient_a[at] = weight * b[j] * (x[at] - e[at] + gradient_a[at]);
      slope += 0.5 * a[at] * gradient_a[at];
    }
    local_gradient[j] = slope;
  }
  double trace = 0;
  for (int i = 0; i < n; i++) {
    trace += dk[i];
    local_gradient[k + i] = weight * (1 - dk[i]);
  }
  *value = 0.5 * weight * (log_det + 2 * log_q + trace);
}
