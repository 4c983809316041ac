/* sgauss_scale.c - the free scale of each source, which trades between its column of A and its variances.
 *
 * A source that a segment does not show has its variance driven to 0 there, and one that explains a singular matrix has
 * it driven to infinity: the likelihood levels off on the way and never ends. Beyond LOG_BOUND its change is lost in
 * rounding, so that is where such a variance is put; the model stays finite and a gradient means something. */
#include <math.h>

#include "estimate/gauss/sgauss.h"

static const double LOG_BOUND = 27.6; /* log 1e12: range of log(c v |a|^2) around 0 */

static double log_strength(const bl_sgauss_data *d, const double *a) {
  double most = 0;
  for (int i = 0; i < d->n; i++) most = fmax(most, fabs(a[i]));
  return log(d->link) + 2 * log(most);
}

/* log of the mean over segments of v_j, whatever its size. */
static double log_mean_variance(const bl_sgauss_data *d, const double *theta, int j) {
  double most = -INFINITY, sum = 0;
  for (int s = 0; s < d->u; s++) most = fmax(most, theta[bl_sgauss_local(d, s) + (size_t)j]);
  for (int s = 0; s < d->u; s++) sum += exp(theta[bl_sgauss_local(d, s) + (size_t)j] - most);
  return most + log(sum / d->u);
}

void bl_sgauss_standard(const bl_sgauss_data *d, double *theta) {
  for (int j = 0; j < d->k; j++) {
    double *a = theta + (size_t)j * d->n, strength = log_strength(d, a);
    for (int s = 0; s < d->u && isfinite(strength); s++) {
      double *log_v = &theta[bl_sgauss_local(d, s) + (size_t)j];
      *log_v = fmin(fmax(*log_v, -LOG_BOUND - strength), LOG_BOUND - strength);
    }
    double mean = log_mean_variance(d, theta, j);
    for (int s = 0; s < d->u; s++) theta[bl_sgauss_local(d, s) + (size_t)j] -= mean;
    for (int i = 0; i < d->n; i++) a[i] *= exp(0.5 * mean);
  }
}

double bl_sgauss_slope(const bl_sgauss_data *d, const double *theta, const double *gradient) {
  const size_t nk = (size_t)d->n * d->k, size = bl_sgauss_size(d);
  double most = 0;
  for (int j = 0; j < d->k; j++) {
    double scale = exp(-0.5 * log_mean_variance(d, theta, j));
    for (int i = 0; i < d->n; i++) most = fmax(most, scale * fabs(gradient[i + (size_t)j * d->n]));
  }
  for (size_t i = nk; i < size; i++) most = fmax(most, fabs(gradient[i]));
  return most;
}
