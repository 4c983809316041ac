/* corfit_squares.c - one segment of weighted least squares on correlations.
 *
 * F = w/2 sum over pairs of (R_ij - C_ij)^2 / se_ij^2. Pairs without a standard error do not count. Regularisation
 * divides C and se alike, so values under different amounts of it compare. Checked: gradient against central
 * differences (tests/identity/test_corfit.c). */
#include <math.h>

#include "cor/cor.h"
#include "estimate/corfit.h"

double bl_corfit_squares_term(const bl_corfit_data *data, int s, int j, const double *rho, double *slope) {
  const size_t first = (size_t)(s - bl_cor_first(data->cor)) * (size_t)data->cor->pairs + (size_t)blica_pair(0, j);
  double value = 0;
  for (int i = 0; i < j; i++) {
    const double se = data->cor->se[first + (size_t)i], gap = rho[i] - data->cor->rho[first + (size_t)i];
    const double weight = isfinite(se) && se > 0 ? data->weight[s] / (se * se) : 0;
    slope[i] = weight * gap;
    value += 0.5 * weight * gap * gap;
  }
  return value;
}
