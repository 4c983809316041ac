/* corfit_pairwise.c - one segment of the pairwise likelihood, straight from its 2x2 tables.
 *
 * F = -w sum over pairs and cells of n log P, P11 = Phi2(t_i, t_j; rho), the other cells by subtraction, thresholds
 * fixed at the margins, rho = R_ij. A variable takes part in n - 1 tables, so the terms are not independent: w
 * (1/2 by default, times the option `weight`) keeps them from being counted as if they were.
 * d/drho of one table: phi2 (n11/P11 - n10/P10 - n01/P01 + n00/P00). */
#include <float.h>
#include <math.h>

#include "estimate/corfit.h"
#include "num/bvn.h"
#include "num/normal.h"

static const double RHO_MAX = 1 - 1e-12; /* at 1 the density is infinite; beyond this the value stays as it is */

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

double bl_corfit_pairwise_term(const bl_corfit_data *data, int s, int i, int j, double rho, double *slope) {
  const double *t = data->thresholds + (size_t)data->n * s, weight = data->weight[s];
  double cell[4], value;
  blica_counts_table(data->counts, s, i, j, cell);
  value = table_term(cell, t[i], t[j], fmin(fmax(rho, -RHO_MAX), RHO_MAX), slope);
  *slope *= fabs(rho) > RHO_MAX ? 0 : weight;
  return weight * value;
}

double bl_corfit_pairwise(const bl_corfit_data *data, int s, const double *a, const double *log_v, double *work,
                          double *gradient_a, double *gradient_v) {
  return bl_corfit_pairs(data, s, bl_corfit_pairwise_term, a, log_v, work, gradient_a, gradient_v);
}
