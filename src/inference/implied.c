/* implied.c - correlations and 2x2 tables that a model implies.
 *
 * With b_il = sqrt(c v_l) A_il and M_ii = 1 + sum_l b_il^2, rho_ij = sum_l b_il b_jl / sqrt(M_ii M_jj), so that
 *   d rho_ij / d b_il = b_jl / sqrt(M_ii M_jj) - rho_ij b_il / M_ii.
 * Checked against central differences in tests/identity/test_inference.c. */
#include "inference/implied.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "num/normal/normal.h"
#include "num/dot.h"

static const double RHO_MAX = 1 - 1e-9; /* beyond it the density is too large for double precision */

void bl_implied_rho(int n, int k, double link, const double *mixing, const double *variance, double *scale,
                    double *rho) {
  for (int i = 0; i < n; i++) {
    double m = 1;
    for (int l = 0; l < k; l++) m += link * variance[l] * mixing[i + (size_t)l * n] * mixing[i + (size_t)l * n];
    scale[i] = 1 / sqrt(m);
  }
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      double sum = 0;
      for (int l = 0; l < k; l++) sum += variance[l] * mixing[i + (size_t)l * n] * mixing[j + (size_t)l * n];
      rho[blica_pair(i, j)] = link * sum * scale[i] * scale[j];
    }
}

void bl_implied_pair_slopes(int n, int k, double link, const double *mixing, const double *variance,
                            const double *scale, double rho, int i, int j, double *slope) {
  for (int l = 0; l < k; l++) {
    const double root = sqrt(link * variance[l]), *a = mixing + (size_t)l * n;
    const double bi = root * a[i] * scale[i], bj = root * a[j] * scale[j];
    slope[l] = root * scale[i] * (bj - rho * bi);
    slope[k + l] = root * scale[j] * (bi - rho * bj);
    slope[2 * k + l] = bi * bj - 0.5 * rho * (bi * bi + bj * bj);
  }
}

/* With y the elements of column j above the diagonal of a symmetric matrix, and so r of R: adds their parts to by of
 * the items before j, and returns that of item j. In eight partial sums, which a vector has. */
static double gather_column(int j, const double *y, const double *r, const double *b, double *by) {
  double sum[8] = {0}, rest = 0;
  int i = 0;
  for (; i + 8 <= j; i += 8)
    for (int c = 0; c < 8; c++) {
      by[i + c] += y[i + c] * (b[j] - r[i + c] * b[i + c]);
      sum[c] += y[i + c] * (b[i + c] - r[i + c] * b[j]);
    }
  for (; i < j; i++) by[i] += y[i] * (b[j] - r[i] * b[i]), rest += y[i] * (b[i] - r[i] * b[j]);
  return bl_dot_sum(sum) + rest;
}

/* The part of A_il is root_l scale_i by_il, by_il = sum_j y_ij (b_jl - rho_ij b_il), and that of log v_l half the
 * product of b_l and by_l. */
void bl_implied_gather(int n, int k, double link, const double *mixing, const double *variance, const double *scale,
                       const double *rho, const double *x, double *work, double *out) {
  memset(out, 0, (size_t)n * (size_t)k * sizeof *out);
  for (int l = 0; l < k; l++) {
    const double root = sqrt(link * variance[l]), *a = mixing + (size_t)l * n;
    double *by = out + (size_t)l * n, total = 0;
    for (int i = 0; i < n; i++) work[i] = root * a[i] * scale[i];
    for (int j = 1; j < n; j++) {
      const size_t first = (size_t)blica_pair(0, j);
      by[j] += gather_column(j, x + first, rho + first, work, by);
    }
    for (int i = 0; i < n; i++) total += work[i] * by[i], by[i] *= root * scale[i];
    out[(size_t)n * (size_t)k + (size_t)l] = 0.5 * total;
  }
}

void bl_implied_variance_slope(int n, int k, double link, const double *mixing, const double *variance,
                               const double *scale, const double *rho, double *slope) {
  const size_t pairs = (size_t)n * (n - 1) / 2;
  for (int l = 0; l < k; l++) {
    const double root = sqrt(link * variance[l]), *a = mixing + (size_t)l * n;
    for (int j = 1; j < n; j++)
      for (int i = 0; i < j; i++) {
        const size_t at = (size_t)blica_pair(i, j);
        const double bi = root * a[i] * scale[i], bj = root * a[j] * scale[j];
        slope[at + pairs * (size_t)l] = bi * bj - 0.5 * rho[at] * (bi * bi + bj * bj);
      }
  }
}

bl_implied_table bl_implied_pair(double h, double k, double rho) {
  bl_implied_table t;
  rho = fmin(fmax(rho, -RHO_MAX), RHO_MAX);
  const double ph = bl_phi_cdf(h), pk = bl_phi_cdf(k), rest = sqrt((1 - rho) * (1 + rho));
  t.cell[0] = blica_bvn(h, k, rho);
  t.cell[1] = ph - t.cell[0];
  t.cell[2] = pk - t.cell[0];
  t.cell[3] = bl_phi_cdf(-h) - t.cell[2];
  t.density = bl_bvn_density(h, k, rho);
  t.first = bl_phi_cdf((k - rho * h) / rest);
  t.second = bl_phi_cdf((h - rho * k) / rest);
  double sum = 0;
  for (int c = 0; c < 4; c++) {
    t.cell[c] = fmax(t.cell[c], DBL_EPSILON);
    sum += 1 / t.cell[c];
  }
  t.information = t.density * t.density * sum;
  return t;
}
