/* chi2.c - chi-square probabilities by the incomplete gamma function: its series for small arguments, Lentz's continued
 * fraction for large ones (Abramowitz and Stegun 6.5.29, 6.5.31), to about 1e-13; noncentral as a Poisson mixture,
 * summed from its largest term outwards. Checked against R's pchisq in tests/unit/num/test_chi2.c. */
#include "num/chi2.h"

#include <math.h>

enum { TERMS = 100000 };
static const double SMALL = 1e-16;

/* log Gamma(a), a > 0, by Stirling's series (Abramowitz and Stegun 6.1.41) from 12 upwards, to 1e-14. lgamma writes a
 * variable that all threads share. */
static double log_gamma(double a) {
  double product = 1;
  while (a < 12) product *= a++;
  const double u = 1 / (a * a);
  const double tail = (1.0 / 12 - u * (1.0 / 360 - u * (1.0 / 1260 - u * (1.0 / 1680 - u / 1188)))) / a;
  return (a - 0.5) * log(a) - a + 0.91893853320467274178 + tail - log(product);
}

/* Lower regularised incomplete gamma function for x < a + 1. */
static double series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int i = 1; i < TERMS && term > SMALL * sum; i++) sum += term *= x / (a + i);
  return sum * exp(a * log(x) - x - log_gamma(a));
}

/* The upper one for x >= a + 1. */
static double fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < TERMS; i++) {
    const double factor = -i * (i - a);
    b += 2;
    d = 1 / (factor * d + b);
    c = b + factor / c;
    h *= d * c;
    if (fabs(d * c - 1) < SMALL) break;
  }
  return h * exp(a * log(x) - x - log_gamma(a));
}

static double lower(double x, double df) {
  const double a = df / 2, y = x / 2;
  if (!(y > 0)) return 0;
  return y < a + 1 ? series(a, y) : 1 - fraction(a, y);
}

double bl_chi2_upper(double x, double df) {
  const double a = df / 2, y = x / 2;
  if (!(y > 0)) return 1;
  return y < a + 1 ? 1 - series(a, y) : fraction(a, y);
}

/* P(X <= x) with noncentrality lambda. */
static double noncentral(double x, double df, double lambda) {
  const double mean = lambda / 2, middle = floor(mean);
  double sum = 0;
  for (int side = -1; side <= 1; side += 2)
    for (double j = side < 0 ? middle : middle + 1; j >= 0; j += side) {
      const double weight = mean > 0 ? exp(j * log(mean) - mean - log_gamma(j + 1)) : j == 0;
      if (weight < 1e-17) break;
      sum += weight * lower(x, df + 2 * j);
    }
  return sum;
}

double bl_chi2_noncentrality(double x, double df, double p) {
  if (!(noncentral(x, df, 0) > p)) return 0;
  double low = 0, high = fmax(x, 1);
  while (noncentral(x, df, high) > p) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
    const double middle = 0.5 * (low + high);
    *(noncentral(x, df, middle) > p ? &low : &high) = middle;
  }
  return 0.5 * (low + high);
}
