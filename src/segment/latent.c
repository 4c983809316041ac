/* latent.c - quantiles, cuts and correlations of the normal variables behind items. */
#include "segment/latent.h"

#include <math.h>
#include <string.h>

#include "num/linear/eigen.h"
#include "num/normal/normal.h"

#define MOST_THRESHOLD 5.0
#define LEAST_GAP 1e-6 /* between cuts, in standard deviations */
#define CONDITION 100.0

void bl_latent_cuts(int count, const double *threshold, double sd, double *cut) {
  for (int c = 0; c < count; c++) {
    double at = -sd * fmax(-MOST_THRESHOLD, fmin(MOST_THRESHOLD, threshold[c]));
    cut[c] = c > 0 ? fmax(at, cut[c - 1] + LEAST_GAP * sd) : at;
  }
}

double bl_latent_quantile(double share) {
  return bl_phi_quantile(share < 1e-6 ? 1e-6 : share > 1 - 1e-6 ? 1 - 1e-6 : share);
}

/* C <- (C + d I)/(1 + d), as blica_regularise. */
void bl_latent_condition(int n, double *cor, double *scratch) {
  double low = 0, high = 0;
  memcpy(scratch, cor, sizeof(double) * (size_t)(n * n));
  if (bl_eigen_extremes(n, scratch, scratch + n * n, &low, &high) != 0) return;
  double shift = (high - CONDITION * low) / (CONDITION - 1);
  if (shift <= 0) return;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      if (i != j) cor[i + j * n] /= 1 + shift;
}
