/* corfit_pairwise.c - one segment of the pairwise likelihood, straight from its 2x2 tables.
 *
 * F = -w sum over pairs and cells of n log P, P11 = Phi2(t_i, t_j; rho), the other cells by subtraction, thresholds
 * fixed at the margins, rho = R_ij. A variable takes part in n - 1 tables, so the terms are not independent: w
 * (1/2 by default, times the option `weight`) keeps them from being counted as if they were.
 * d/drho of one table: phi2 (n11/P11 - n10/P10 - n01/P01 + n00/P00). */
#include <float.h>
#include <math.h>

#include <cblas.h>

#include "estimate/corfit.h"
#include "num/bvn.h"
#include "num/normal.h"

static const double RHO_MAX = 1 - 1e-12; /* at 1 the density is infinite; beyond this the value stays as it is */

/* M, G [n,n]; d, diagonal [n]; scaled A [n,k]. */
size_t bl_corfit_pairwise_work(int n, int k) { return 2 * (size_t)n * n + 2 * (size_t)n + (size_t)n * k; }

/* Value of one table and its derivative in rho. Cells that are empty do not count. */
static double table_term(const double cell[4], double h, double k, double rho, double *slope) {
  double p11 = blica_bvn(h, k, rho), ph = bl_phi_cdf(h), pk = bl_phi_cdf(k);
  double p[4] = {p11, ph - p11, pk - p11, bl_phi_cdf(-h) - (pk - p11)};
  const double sign[4] = {1, -1, -1, 1};
  double value = 0, change = 0;
  for (int i = 0; i < 4; i++) {
    if (cell[i] == 0) continue;
    double q = fmax(p[i], DBL_EPSILON);
    value -= cell[i] * log(q);
    change -= sign[i] * cell[i] / q;
  }
  *slope = change * bl_bvn_density(h, k, rho);
  return value;
}

double bl_corfit_pairwise(const bl_corfit_data *data, int s, const double *a, const double *log_v, double *work,
                          double *gradient_a, double *gradient_v) {
  const int n = data->n, k = data->k;
  const size_t nn = (size_t)n * n;
  const double *t = data->thresholds + (size_t)n * s;
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
      double cell[4], slope, rho = m[i + (size_t)j * n] * d[i] * d[j];
      blica_counts_table(data->counts, s, i, j, cell);
      value += data->weight[s] * table_term(cell, t[i], t[j], fmin(fmax(rho, -RHO_MAX), RHO_MAX), &slope);
      slope *= fabs(rho) > RHO_MAX ? 0 : 0.5 * data->weight[s]; /* G is symmetric: each pair stands in it twice */
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
