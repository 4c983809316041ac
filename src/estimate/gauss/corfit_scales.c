/* corfit_scales.c - what three or more levels add to the correlations: how M_s,ii changes over segments.
 *
 * The margins of an ordinal item give log_scale_is, a noisy observation of 1/2 log M_s,ii up to one constant d_i per
 * item (cor/scales.c). Its negative log-likelihood is added to that of the correlations, d_i eliminated: at its best
 * value the gradient is that of d_i fixed. Checked: gradient against central differences in
 * tests/recovery/test_levels.c. */
#include <math.h>

#include "estimate/gauss/corfit.h"

double bl_corfit_scales(const bl_corfit_data *d, const double *theta, double *gradient) {
  const int n = d->n, k = d->k;
  const double *log_v = theta + (size_t)n * k;
  double value = 0;
  for (int i = 0; i < n; i++) {
    double sum = 0, total = 0, offset = 0;
    for (int pass = 0; pass < 2; pass++) { /* the constant, then the terms */
      for (int s = 0; s < d->u; s++) {
        double precision = d->scale_precision[i + (size_t)s * n], m = 1;
        if (!(precision > 0)) continue;
        for (int j = 0; j < k; j++)
          m += d->link * theta[i + (size_t)j * n] * theta[i + (size_t)j * n] * exp(log_v[j + (size_t)s * k]);
        double miss = d->log_scale[i + (size_t)s * n] - 0.5 * log(m) - offset;
        if (pass == 0) {
          sum += precision * miss, total += precision;
          continue;
        }
        value += 0.5 * precision * miss * miss;
        double slope = -0.5 * precision * miss / m; /* by M_ii */
        for (int j = 0; j < k; j++) {
          double a = theta[i + (size_t)j * n], b = d->link * exp(log_v[j + (size_t)s * k]);
          gradient[i + (size_t)j * n] += slope * 2 * a * b;
          gradient[(size_t)n * k + (size_t)j + (size_t)s * k] += slope * a * a * b;
        }
      }
      if (pass == 0) offset = total > 0 ? sum / total : 0;
    }
  }
  return value;
}

void bl_corfit_scales_information(const bl_corfit_data *d, const double *theta, int s, double *information) {
  const int n = d->n, k = d->k;
  const double *log_v = theta + (size_t)(n + s) * (size_t)k;
  for (int i = 0; i < n; i++) {
    const double precision = d->scale_precision[i + (size_t)s * n];
    double m = 1;
    for (int j = 0; j < k; j++) m += d->link * theta[i + (size_t)j * n] * theta[i + (size_t)j * n] * exp(log_v[j]);
    for (int j = 0; precision > 0 && j < k; j++)
      for (int l = 0; l < k; l++) {
        const double product = d->link * theta[i + (size_t)j * n] * theta[i + (size_t)l * n];
        information[j + (size_t)l * k] += 0.25 * precision * product * product * exp(log_v[j] + log_v[l]) / (m * m);
      }
  }
}
