/* normal.c - density, distribution function, its logarithm and its inverse for the standard normal.
 *
 * Method. Phi(x) = erfc(-x/sqrt 2)/2 with the rounding error of x/sqrt 2 put back to first order: without
 * that the relative error grows like x^2 in the tail. The same for exp(-x^2/2). Far out, Mills' ratio by
 * its continued fraction (Laplace; Abramowitz and Stegun 26.2.14). The inverse starts from Hastings'
 * approximation (Abramowitz and Stegun 26.2.23, error < 4.5e-4) and takes two Halley steps, each cubing the
 * error; near 1/2 the residual comes from erf, so that small quantiles are relatively accurate too.
 *
 * Accuracy, largest relative error in units of 2^-53: density 4, Phi 5, log Phi 6, Mills' ratio 8, Phi^-1 5.
 * Checked against 50-digit tables (tests/unit/num/test_normal.c, tools/make_reference_normal.py). */
#include "num/normal/normal.h"

#include <math.h>

static const double half_root_hi = 0.70710678118654757, half_root_lo = -4.8336466567264567e-17; /* 1/sqrt 2 */
static const double root_2pi_inverse = 0.39894228040143268;
static const double log_root_2pi = 0.91893853320467274178;
static const double far_out = 12.0; /* beyond it the continued fraction needs few terms */

/* exp(-x^2/2): x^2 = hi + lo exactly. */
static double exp_half_square(double x) {
  double hi = x * x;
  if (hi > 1500.0) return 0.0;
  double lo = fma(x, x, -hi);
  return exp(-0.5 * hi) * (1.0 - 0.5 * lo);
}

double bl_phi_density(double x) {
  return root_2pi_inverse * exp_half_square(x);
}

double bl_phi_cdf(double x) {
  double a = -x * half_root_hi;
  if (!(fabs(a) < 28.0)) return isnan(x) ? x : x > 0 ? 1.0 : 0.0;
  double rest = fma(-x, half_root_hi, -a) - x * half_root_lo;
  return 0.5 * erfc(a) - 0.56418958354775629 * rest * exp(-a * a); /* d erfc/da = -2/sqrt(pi) exp(-a^2) */
}

/* Continued fraction t + 1/(t + 2/(t + ...)) from the back; 60 levels are more than t >= 12 needs. */
static double mills_fraction(double t) {
  double value = t;
  for (int level = 60; level >= 1; level--) value = t + level / value;
  return 1.0 / value;
}

double bl_phi_mills(double t) {
  return t > far_out ? mills_fraction(t) : bl_phi_cdf(-t) / bl_phi_density(t);
}

double bl_phi_log_cdf(double x) {
  if (x > 0) return log1p(-bl_phi_cdf(-x));
  if (x > -far_out) return log(bl_phi_cdf(x));
  return -0.5 * x * x - log_root_2pi + log(mills_fraction(-x));
}

double bl_phi_log_between(double low, double high) {
  if (low + high > 0) return bl_phi_log_between(-high, -low);
  double top = bl_phi_log_cdf(high), gap = isinf(low) ? -INFINITY : bl_phi_log_cdf(low) - top;
  return top + log(-expm1(gap));
}

/* One Halley step for Phi(x) = p, with residual = Phi(x) - p. */
static double halley(double x, double residual) {
  double newton = residual / bl_phi_density(x);
  return x - newton / (1.0 + 0.5 * x * newton);
}

double bl_phi_quantile(double p) {
  if (!(p >= 0.0 && p <= 1.0)) return NAN;
  if (p > 0.5) return -bl_phi_quantile(1.0 - p);
  if (p == 0.0) return -INFINITY;
  double t = sqrt(-2.0 * log(p));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  if (p < 0.25) {
    x = halley(x, bl_phi_cdf(x) - p);
    return halley(x, bl_phi_cdf(x) - p);
  }
  double q = p - 0.5; /* exact */
  x = halley(x, 0.5 * erf(x * half_root_hi) - q);
  return halley(x, 0.5 * erf(x * half_root_hi) - q);
}
