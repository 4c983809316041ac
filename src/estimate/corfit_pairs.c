/* corfit_pairs.c - one segment whose objective is a sum over pairs of a function of their correlation: the correlations of the
 * model, and the chain rule from them to A and log v (docs/method.md, equation 22). */
#include <math.h>

#include <cblas.h>

#include "estimate/corfit.h"

/* M, G [n,n]; d, diagonal [n]; scaled A [n,k]. */
size_t bl_corfit_pairs_work(int n, int k) { return 2 * (size_t)n * n + 2 * (size_t)n + (size_t)n * k; }

double bl_corfit_pairs(const bl_corfit_data *data, int s, bl_corfit_pair_term term, const double *a, const double *log_v,
                       double *work, double *gradient_a, double *gradient_v) {
  const int n = data->n, k = data->k;
  const size_t nn = (size_t)n * n;
  double *m = work, *g = m + nn, *d = g + nn, *diagonal = d + n, *scaled = diagonal + n, value = 0;
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) scaled[i + (size_t)j * n] = a[i + (size_t)j * n] * data->link * exp(log_v[j]);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, k, 1, scaled, n, a, n, 0, m, n);
  for (int i = 0; i < n; i++) {
    d[i] = 1 / sqrt(1 + m[i + (size_t)i * n]);
    diagonal[i] = 0;
  }
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      double slope, rho = m[i + (size_t)j * n] * d[i] * d[j];
      value += term(data, s, i, j, rho, &slope);
      slope *= 0.5; /* G is symmetric: each pair stands in it twice */
      g[i + (size_t)j * n] = g[j + (size_t)i * n] = slope * d[i] * d[j];
      diagonal[i] += slope * rho;
      diagonal[j] += slope * rho;
    }
  for (int i = 0; i < n; i++) g[i + (size_t)i * n] = -diagonal[i] * d[i] * d[i];
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, k, n, 2, g, n, scaled, n, 0, gradient_a, n);
  for (int j = 0; j < k; j++)
    gradient_v[j] = 0.5 * cblas_ddot(n, gradient_a + (size_t)j * n, 1, a + (size_t)j * n, 1);
  return value;
}
