/* grid.c - the spacing of the grid over sources.
 *
 * Method: the trapezoidal rule converges geometrically for analytic integrands. The Fourier transform of
 * phi(z) prod_i Phi(mean_i + b_i z) falls like exp(-w^2/(2 (1 + sum b_i^2))), so a spacing h leaves an error of
 * about 2 exp(-(2 pi/h)^2/(2 (1 + sum b_i^2))), and a reach r one of about exp(-r^2/2).
 * The first estimate was a hundred times too large wherever it was measured; a factor of 30 of that is used.
 * Checked against 30-digit values, halved spacing and separation of variables: tests/unit/likelihood/test_likelihood.c.
 */
#include "num/rectangles/grid.h"

#include <math.h>

void bl_grid_band(int n, int k, const double *loading, double *band) {
  for (int l = 0; l < k; l++) {
    double sum = 1.0;
    for (int i = 0; i < n; i++) sum += loading[i * k + l] * loading[i * k + l];
    band[l] = sqrt(sum);
  }
}

double bl_grid_plan(bl_grid *grid, const double *band, double error) {
  double nodes = 1.0, digits = sqrt(2.0 * log(2.0 / fmin(30.0 * error, 0.1)));
  grid->reach = sqrt(2.0 * log(2.0 / error));
  grid->shift = 0.0;
  for (int l = 0; l < grid->k; l++) {
    grid->spacing[l] = 6.283185307179586477 / (band[l] * digits);
    nodes *= 2.0 * grid->reach / grid->spacing[l] + 1.0;
  }
  return nodes;
}
