/* corfit_squares.c - one segment of weighted least squares on correlations.
 *
 * F = w/2 sum over pairs of (R_ij - C_ij)^2 / se_ij^2. Pairs without a standard error do not count. Regularisation divides C
 * and se alike, so values under different amounts of it compare. The chain rule is that of docs/method.md, equation 22. Checked: gradient against central differences (tests/identity/test_corfit.c). */
#include <math.h>

#include <cblas.h>

#include "estimate/corfit.h"

/* M, G [n,n]; d, diagonal [n]; scaled A [n,k]. */
size_t bl_corfit_squares_work(int n, int k) { return 2 * (size_t)n * n + 2 * (size_t)n + (size_t)n * k; }

double bl_corfit_squares(const bl_corfit_data *data, int s, const double *a, const double *log_v, double *work,
                         double *gradient_a, double *gradient_v) {
  const int n = data->n, k = data->k;
  const size_t nn = (size_t)n * n;
  const double *rho = data->cor->rho + (size_t)s * (size_t)data->cor->pairs;
  const double *se = data->cor->se + (size_t)s * (size_t)data->cor->pairs;
  double *m = work, *g = m + nn, *d = g + nn, *diagonal = d + n, *scaled = diagonal + n, value = 0;
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) scaled[i + (size_t)j * n] = a[i + (size_t)j * n] * data->link * exp(log_v[j]);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, k, 1, scaled, n, a, n, 0, m, n);
  for (int i = 0; i < n; i++) {
    d[i] = 1 / sqrt(1 + m[i + (size_t)i * n]);
    diagonal[i] = 0;
  }
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++, rho++, se++) {
      double fitted = m[i + (size_t)j * n] * d[i] * d[j], gap = fitted - *rho;
      double weight = isfinite(*se) && *se > 0 ? data->weight[s] / (*se * *se) : 0;
      double slope = 0.5 * weight * gap; /* G is symmetric: each pair stands in it twice */
      value += 0.5 * weight * gap * gap;
      g[i + (size_t)j * n] = g[j + (size_t)i * n] = slope * d[i] * d[j];
      diagonal[i] += slope * fitted;
      diagonal[j] += slope * fitted;
    }
  for (int i = 0; i < n; i++) g[i + (size_t)i * n] = -diagonal[i] * d[i] * d[i];
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, k, n, 2, g, n, scaled, n, 0, gradient_a, n);
  for (int j = 0; j < k; j++)
    gradient_v[j] = 0.5 * cblas_ddot(n, gradient_a + (size_t)j * n, 1, a + (size_t)j * n, 1);
  return value;
}
