/* bvn.c - the bivariate normal distribution function.
 *
 * Method (Drezner and Wesolowsky 1990; Genz 2004, Statistics and Computing 14, 251-260). For |rho| < 0.925
 *   Phi2(h,k;rho) = Phi(h)Phi(k) + 1/(2 pi) int_0^asin(rho) exp(-(h^2+k^2-2hk sin w)/(2 cos^2 w)) dw      (1)
 * by Gauss-Legendre. Beyond, back from perfect correlation s = sign(rho), with x = sqrt(1-r^2), b = |h-sk|:
 *   Phi2(h,k;rho) = Phi2(h,k;s) - s/(2 pi) int_0^a exp(-b^2/(2x^2)) g(x) dx,  a = sqrt(1-rho^2),          (2)
 *   g(x) = exp(-s h k/(1+sqrt(1-x^2)))/sqrt(1-x^2).
 * g is even in x; three terms of its Taylor series are integrated in closed form through
 *   I_m = int_0^a x^2m exp(-b^2/(2x^2)) dx = (a^(2m+1) exp(-b^2/(2a^2)) - b^2 I_(m-1))/(2m+1)             (3)
 * and what remains, O(x^6), by Gauss-Legendre. All exponents are added before exp, so nothing overflows.
 *
 * Accuracy: absolute error < 1e-15 (1e-14 is promised) for all h, k, rho, from 3448 values with 50 digits
 * (tests/unit/num/test_bvn.c, tools/make_reference_bvn.py). */
#include "num/normal/normal.h"

#include <math.h>

#include "blica.h"
#include "num/gauss.h"

static const double two_pi = 6.2831853071795864769;
enum { half_order = 10 };

double bl_bvn_density(double h, double k, double rho) {
  double c2 = (1.0 - rho) * (1.0 + rho);
  double cross =
      rho > 0 ? (h - k) * (h - k) + 2.0 * (1.0 - rho) * h * k : (h + k) * (h + k) - 2.0 * (1.0 + rho) * h * k;
  if (isinf(h) || isinf(k)) return 0.0;
  if (c2 <= 0.0) return cross > 0.0 ? 0.0 : INFINITY;
  return exp(-cross / (2.0 * c2)) / (two_pi * sqrt(c2));
}

double bl_bvn_excess(double h, double k, double theta) {
  double squares = 0.5 * (h * h + k * k), product = h * k, half = 0.5 * theta, sum = 0.0;
  for (int i = 0; i < half_order; i++) {
    double sine_low = sin(half * (1.0 - bl_gauss20_node[i])), sine_high = sin(half * (1.0 + bl_gauss20_node[i]));
    sum += bl_gauss20_weight[i] * (exp((product * sine_low - squares) / (1.0 - sine_low * sine_low)) +
                                   exp((product * sine_high - squares) / (1.0 - sine_high * sine_high)));
  }
  return half * sum / two_pi;
}

double bl_bvn_deficit_slope(double h, double k, double s, double a) {
  if (a <= 0.0) return h == s * k ? exp(-0.5 * s * h * k) / two_pi : 0.0;
  double b = h - s * k, root = sqrt(1.0 - a * a);
  return exp(-0.5 * (b / a) * (b / a) - s * h * k / (1.0 + root)) / (root * two_pi);
}

/* The closed form of the three Taylor terms, times exp(-s h k/2); 0 when it cannot reach 1e-40. */
static double deficit_series(double b, double product, double c2, double c4, double a) {
  double t = b / a, exponent = -0.5 * (t * t + product);
  if (exponent < -95.0) return 0.0;
  double scale = exp(exponent), square = b * b;
  double i0 = a - b * bl_phi_mills(t);
  double i1 = (a * a * a - square * i0) / 3.0;
  double i2 = (a * a * a * a * a - square * i1) / 5.0;
  return scale * (i0 + c2 * i1 + c4 * i2);
}

double bl_bvn_deficit(double h, double k, double s, double a) {
  if (a <= 0.0) return 0.0;
  double b = fabs(h - s * k), product = s * h * k;
  /* g(x) = exp(-product/2) (1 + c2 x^2 + c4 x^4 + ...): from 1/(1+sqrt(1-y)) = 1/2 + y/8 + y^2/16 + ... */
  double c2 = 0.5 - product / 8.0;
  double c4 = 0.375 - product / 8.0 + product * product / 128.0;
  double sum = 0.0;
  for (int i = 0; i < half_order; i++) {
    for (int side = -1; side <= 1; side += 2) {
      double x = 0.5 * a * (1.0 + side * bl_gauss20_node[i]), y = x * x, root = sqrt(1.0 - y);
      double exponent = -0.5 * (b * b / y + product);
      if (exponent < -95.0) continue;
      /* exp(-product/(1+root)) relative to exp(-product/2): the difference is product y/(2 (1+root)^2) */
      double ratio = exp(-0.5 * product * y / ((1.0 + root) * (1.0 + root))) / root;
      sum += bl_gauss20_weight[i] * exp(exponent) * (ratio - (1.0 + y * (c2 + c4 * y)));
    }
  }
  double value = (0.5 * a * sum + deficit_series(b, product, c2, c4, a)) / two_pi;
  return value > 0.0 ? value : 0.0;
}

static double clip(double p) {
  return p < 0.0 ? 0.0 : p > 1.0 ? 1.0 : p;
}

double blica_bvn(double h, double k, double rho) {
  if (isnan(h) || isnan(k) || !(fabs(rho) <= 1.0)) return NAN;
  if (h == -INFINITY || k == -INFINITY) return 0.0;
  if (h == INFINITY) return bl_phi_cdf(k);
  if (k == INFINITY) return bl_phi_cdf(h);
  if (fabs(rho) <= 0.9249) {
    if (h * h + k * k > 3000.0) return bl_phi_cdf(h) * bl_phi_cdf(k);
    return clip(bl_phi_cdf(h) * bl_phi_cdf(k) + bl_bvn_excess(h, k, asin(rho)));
  }
  double a = sqrt((1.0 - fabs(rho)) * (1.0 + fabs(rho)));
  if (rho > 0.0) return clip(bl_phi_cdf(fmin(h, k)) - bl_bvn_deficit(h, k, 1.0, a));
  double opposite = h + k <= 0.0 ? 0.0 : h > k ? bl_phi_cdf(k) - bl_phi_cdf(-h) : bl_phi_cdf(h) - bl_phi_cdf(-k);
  return clip(opposite + bl_bvn_deficit(h, k, -1.0, a));
}
