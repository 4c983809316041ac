/* corfit_matched.c - one segment of the matched Gaussian likelihood.
 *
 * F = N/2 [ log det T + tr((C + D) T^-1) ] with T = R + D and C the tetrachoric correlations. D is the
 * variance that dichotomising adds: the score (x_i - p_i)/phi(t_i) has variance p_i(1-p_i)/phi(t_i)^2 = 1 + D_ii
 * and, to first order, the correlations of q as covariances; and N^-1 (1+D_ii)(1+D_jj) is the sampling variance of
 * a tetrachoric correlation at rho = 0. Since D stands on both sides, the minimum is at R = C for exact C whatever
 * D is: nothing is biased, nothing needs to be regularised, and T is bounded away from singularity.
 * (docs/method.md, equations 19 to 23.)
 *
 * With M_ii = 1 + sum_k b_k A_ik^2, d = M_ii^-1/2, B = d A b^1/2, psi = d^2 + D: T = diag(psi) + B B', inverted by
 * Woodbury's formula. Cost: one product of C with an n x k matrix, from packed pairs for large n, and products of size
 * k. Checked: value against plain factorisation, gradient against central differences (tests/identity/test_corfit.c).
 */
#include <math.h>

#include "estimate/gauss/corfit.h"
#include "num/blas.h"

/* b, root b [k]; d, psi, diagonal of G [n]; B, F, X, E, GB [n,k]; W, Z [k,k]. */
static size_t own_work(int n, int k) {
  return 2 * (size_t)k + 3 * (size_t)n + 5 * (size_t)n * k + 2 * (size_t)k * k;
}

size_t bl_matched_block_work(int n, int k) {
  return own_work(n, k) + bl_symmetric_work(n, k);
}

typedef struct {
  double *b, *root, *d, *psi, *g, *bb, *f, *x, *e, *gb, *w, *z, *product;
} parts;

static parts divide(double *work, int n, int k) {
  const size_t nk = (size_t)n * k;
  parts p = {.b = work, .root = work + k, .d = work + 2 * k};
  p.psi = p.d + n, p.g = p.psi + n;
  p.bb = p.g + n, p.f = p.bb + nk, p.x = p.f + nk, p.e = p.x + nk, p.gb = p.e + nk;
  p.w = p.gb + nk, p.z = p.w + (size_t)k * k;
  p.product = work + own_work(n, k);
  return p;
}

static void multiply(int rows, int columns, int inner, int transposed, const double *a, const double *b, double *c) {
  bl_dgemm(transposed ? 'T' : 'N', 'N', rows, columns, inner, 1, a, transposed ? inner : rows, b, inner, 0, c, rows);
}

/* b, d, psi, B, F = B/psi; returns the sum of log psi. */
static double scale_model(const bl_matched_point *at, parts *p) {
  const int n = at->n, k = at->k;
  const double *a = at->a, *noise = at->noise;
  double log_psi = 0;
  for (int j = 0; j < k; j++) {
    p->b[j] = at->link * exp(at->log_v[j]);
    p->root[j] = sqrt(p->b[j]);
  }
  for (int i = 0; i < n; i++) p->d[i] = 1;
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) p->d[i] += p->b[j] * a[i + (size_t)j * n] * a[i + (size_t)j * n];
  for (int i = 0; i < n; i++) {
    p->psi[i] = 1 / p->d[i] + noise[i];
    p->d[i] = 1 / sqrt(p->d[i]);
    log_psi += log(p->psi[i]);
  }
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      const size_t entry = i + (size_t)j * n;
      p->bb[entry] = p->d[i] * a[entry] * p->root[j];
      p->f[entry] = p->bb[entry] / p->psi[i];
    }
  return log_psi;
}

/* W = (I + B'F)^-1; returns log det (I + B'F), NaN when it cannot be factored. */
static double invert_capacitance(int n, int k, parts *p) {
  multiply(k, k, n, 1, p->bb, p->f, p->w);
  for (int j = 0; j < k; j++) p->w[j + (size_t)j * k] += 1;
  if (bl_dpotrf('L', k, p->w, k) != 0) return NAN;
  double log_det = 0;
  for (int j = 0; j < k; j++) log_det += 2 * log(p->w[j + (size_t)j * k]);
  if (bl_dpotri('L', k, p->w, k) != 0) return NAN;
  for (int j = 0; j < k; j++)
    for (int i = 0; i < j; i++) p->w[i + (size_t)j * k] = p->w[j + (size_t)i * k];
  return log_det;
}

/* G = dF/dT: its product with B and its diagonal; returns tr((C + D) T^-1). */
static double residual(const bl_symmetric *c, int k, double weight, const double *noise, parts *p) {
  const int n = c->n;
  multiply(n, k, k, 0, p->f, p->w, p->x);
  bl_symmetric_product(c, k, p->x, p->e, p->product);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) p->e[i + (size_t)j * n] += noise[i] * p->x[i + (size_t)j * n];
  multiply(k, k, n, 1, p->f, p->e, p->z);
  multiply(n, k, k, 0, p->x, p->z, p->gb);
  double trace = 0;
  for (int i = 0; i < n; i++) {
    double cii = (1 + noise[i]) / p->psi[i];
    p->g[i] = (1 - cii) / p->psi[i];
    trace += cii;
  }
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      size_t at = i + (size_t)j * n;
      double ef = p->e[at] * p->f[at];
      trace -= ef;
      p->g[i] -= p->x[at] * p->f[at] - 2 * ef / p->psi[i] + p->gb[at] * p->f[at];
      p->gb[at] = 0.5 * weight * (p->x[at] - p->e[at] / p->psi[i] + p->gb[at]);
    }
  for (int i = 0; i < n; i++) p->g[i] *= 0.5 * weight;
  return trace;
}

double bl_matched_block(const bl_matched_point *point, const bl_symmetric *c, double *work, double *gradient_a,
                        double *gradient_v) {
  const int n = point->n, k = point->k;
  const double *a = point->a;
  parts p = divide(work, n, k);
  double log_det = scale_model(point, &p);
  log_det += invert_capacitance(n, k, &p);
  double trace = residual(c, k, point->weight, point->noise, &p);
  double *own = p.psi; /* derivative with respect to log M_ii, over -1/2; psi is free now */
  for (int i = 0; i < n; i++) own[i] = p.g[i] * (p.d[i] * p.d[i] - 1);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) own[i] += p.gb[i + (size_t)j * n] * p.bb[i + (size_t)j * n];
  for (int j = 0; j < k; j++) {
    double slope = 0;
    for (int i = 0; i < n; i++) {
      size_t at = i + (size_t)j * n;
      double square = p.d[i] * p.d[i];
      double chain = p.d[i] * p.gb[at] / p.root[j] - square * a[at] * (p.g[i] + own[i]);
      gradient_a[at] = 2 * p.b[j] * chain;
      slope += p.b[j] * a[at] * chain;
    }
    gradient_v[j] = slope;
  }
  return 0.5 * point->weight * (log_det + trace);
}
