/* tetra.c - one tetrachoric correlation by a bracketed Newton iteration.
 *
 * With the thresholds h and k fixed by the margins, the maximum likelihood correlation of a 2x2 table solves
 * Phi2(h,k;rho) = p11, and Phi2 increases in rho. Between -0.925 and 0.925 the unknown is theta = asin(rho) and
 * the equation reads  excess(theta) = p11 p00 - p10 p01  (the product form loses no digits near 0). Beyond,
 * the unknown is a = sqrt(1-rho^2) and the equation reads deficit(a) = the smaller cell off the diagonal that
 * rho fills: again a quantity that the table holds without subtraction, so |rho| = 1 - 1e-12 comes out right.
 * Newton steps that leave the bracket are replaced by bisection. A cell below 2^-54 counts as 2^-54: of all
 * correlations that explain the table to rounding, the one nearest to 0.
 *
 * Variance: rho is a function of (p11, p1, p2), so by the delta method
 *   N var(rho) = Var(w)/phi2(h,k;rho)^2,  w = 1-A-B, -A, -B, 0 in the cells 11, 10, 01, 00,
 *   A = Phi((k - rho h)/sqrt(1-rho^2)), B = Phi((h - rho k)/sqrt(1-rho^2));
 * the same as Pearson (1900) and Hamdan (1970, Biometrika 57, 212-215).
 *
 * Accuracy: |Phi2(h,k;rho) - p11| a few 1e-16, as far as rho in double can express it.
 * Checked in tests/unit/num/test_tetra.c and tests/identity/test_correlate.c. */
#include "num/normal/tables.h"

#include <math.h>

#include "num/normal/normal.h"

static const double two_pi = 6.2831853071795864769;
enum { max_steps = 200 };

/* The correlation with this excess of Phi2 over independence, by Newton's method within a bracket. */
static double solve_mid(double h, double k, double excess) {
  double low = -BL_BVN_MID, high = BL_BVN_MID, theta = fmin(fmax(two_pi * excess, 0.9 * low), 0.9 * high);
  for (int i = 0; i < max_steps && high - low > 1e-16; i++) {
    double miss = bl_bvn_excess(h, k, theta) - excess;
    if (miss == 0.0) break;
    *(miss > 0.0 ? &high : &low) = theta;
    double s = sin(theta), slope = exp((h * k * s - 0.5 * (h * h + k * k)) / (1.0 - s * s)) / two_pi;
    double next = theta - miss / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    double step = fabs(next - theta);
    theta = next;
    if (step <= 1e-16 * fabs(theta)) break;
  }
  return sin(theta);
}

/* The correlation near 1 or -1, of sign s, with this deficit of Phi2, by Newton's method within a bracket. */
static double solve_near(double h, double k, double s, double target) {
  double low = 0.0, high = cos(BL_BVN_MID), a = high;
  target = fmax(target, 0x1p-54); /* smaller ones are lost in double precision: take the least extreme rho */
  for (int i = 0; i < max_steps && high - low > 1e-16 * high; i++) {
    double miss = bl_bvn_deficit(h, k, s, a) - target;
    if (miss == 0.0) break;
    *(miss > 0.0 ? &high : &low) = a;
    double next = a - miss / bl_bvn_deficit_slope(h, k, s, a);
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    double step = fabs(next - a);
    a = next;
    if (step <= 1e-16 * a) break;
  }
  return s * sqrt((1.0 - a) * (1.0 + a));
}

double bl_tetra_root(double h, double k, const double share[4]) {
  double excess = share[BL_P11] * share[BL_P00] - share[BL_P10] * share[BL_P01];
  if (excess > 0.0 && excess >= bl_bvn_excess(h, k, BL_BVN_MID))
    return solve_near(h, k, 1.0, fmin(share[BL_P10], share[BL_P01]));
  if (excess < 0.0 && excess <= bl_bvn_excess(h, k, -BL_BVN_MID))
    return solve_near(h, k, -1.0, fmin(share[BL_P11], share[BL_P00]));
  return solve_mid(h, k, excess);
}

double bl_tetra_variance(double h, double k, double rho, const double share[4]) {
  double c = sqrt((1.0 - rho) * (1.0 + rho)), density = bl_bvn_density(h, k, rho);
  double a = bl_phi_cdf((k - rho * h) / c), b = bl_phi_cdf((h - rho * k) / c), both = 1.0 - a - b;
  double mean = share[BL_P11] * both - share[BL_P10] * a - share[BL_P01] * b;
  double spread = share[BL_P11] * (both - mean) * (both - mean) + share[BL_P10] * (a + mean) * (a + mean) +
                  share[BL_P01] * (b + mean) * (b + mean) + share[BL_P00] * mean * mean;
  return spread / (density * density);
}
