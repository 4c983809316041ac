/* scale.c - how large the sources are at a point, whose segments stand `stride` doubles apart. */
#include <math.h>

#include "estimate/estimate.h"

double bl_largest_row(int n, int k, int u, double link, const double *mixing, const double *log_v, size_t stride) {
  double largest = 0;
  for (int s = 0; s < u; s++)
    for (int i = 0; i < n; i++) {
      double squares = 0;
      for (int j = 0; j < k; j++) {
        double a = mixing[i + (size_t)j * n];
        squares += link * a * a * exp(log_v[(size_t)s * stride + (size_t)j]);
      }
      largest = fmax(largest, squares);
    }
  return sqrt(largest);
}

double bl_mean_variance(int u, const double *log_v, size_t stride) {
  double mean = 0;
  for (int s = 0; s < u; s++) mean += exp(log_v[(size_t)s * stride]) / u;
  return mean;
}
