/* polychoric.c - polychoric correlations of tables, thresholds fixed by their margins (Olsson 1979, Psychometrika 44,
 * 443-460: the two-step estimate). The kernel is polychoric_kernel.c.
 *
 * P_ab(rho) is the probability of a rectangle, four values of Phi2; its derivative P'_ab the same combination of
 * densities (Plackett 1954). The score sum_ab s_ab P'_ab / P_ab has one root where it falls. Where the likelihood grows
 * up to |rho| = 1 the bound BL_POLYCHORIC_BOUND is the answer.
 *
 * Variance by the delta method, the thresholds' own errors included: with s = P'/P the score of a cell, I = sum P s^2,
 *   N var(rho) = Var(w) / I^2,   w_ab = s_ab - sum_m c_m z_m(a) - sum_m d_m z_m(b),
 *   z_m(a) = (1[a <= m] - Phi(h_m)) / phi(h_m),   c_m = sum_ab s_ab dP_ab/dh_m;
 * for two by two levels this is the variance of num/normal/tetra.c.
 * Accuracy: the root to 1e-13 of rho, less where observed cells are improbable (1.4e-12 was seen in a table of
 * psychTools::spi). Checked against tables with 50 digits in tests/unit/num/test_accuracy.c, against num/normal/tetra.c
 * for 2x2 and against simulated sampling variances in test_polychoric.c. */
#include "num/normal/polychoric.h"

#include <math.h>

#include "num/normal/normal.h"

#define FURTHEST 37 /* the threshold of a level that nobody is below or above */

double bl_polychoric_cut(double below) {
  return fmin(fmax(bl_phi_quantile(fmin(below, 1)), -FURTHEST), FURTHEST);
}
