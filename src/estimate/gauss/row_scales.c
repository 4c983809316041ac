/* row_scales.c - the scales of the rows of A in the curvature of method matched.
 *
 * R = corr(M) hardly changes when a row of A is multiplied: d log R_ij / d log |a_i| = 1/M_ii. Fisher's information
 * about log |a_i| is then, from row and column i of T alone and with (T^-1)_ii about 1/(1/M_ii + D_i), sum_s N_s
 * M_ii^-2 (t - 1)(2t - 1),  t = (1 + D_i)/(1/M_ii + D_i), far less than blocks of columns of A see. The inverse along
 * the unit vector of each row is raised to that of this information; rows do not overlap, so the sum stays positive
 * definite. Without it L-BFGS has to find n flat directions one by one: at n = 300, k = 10 that took 400 iterations. */
#include "estimate/gauss/row_scales.h"

#include <math.h>

blica_status bl_row_scales_make(blica_ctx *ctx, int n, int k, bl_row_scales *rows) {
  blica_status status;
  rows->n = n, rows->k = k;
  TRY(bl_alloc(ctx, (size_t)n * (size_t)k, &rows->unit));
  TRY(bl_alloc(ctx, (size_t)n, &rows->gain));
  TRY(bl_alloc(ctx, (size_t)n, &rows->before));
done:
  return status;
}

void bl_row_scales_free(bl_row_scales *rows) {
  bl_free(rows->unit);
  bl_free(rows->gain);
  bl_free(rows->before);
}

/* Information about log |a_i|. */
static double information(const bl_sgauss_data *d, const double *noise, const double *theta, int i) {
  const size_t n = (size_t)d->n, k = (size_t)d->k;
  double sum = 0;
  for (int s = 0; s < d->u; s++) {
    const double *log_v = theta + n * k + k * (size_t)s, own = noise[(size_t)i + n * (size_t)s];
    double m = 1;
    for (size_t j = 0; j < k; j++) m += d->link * exp(log_v[j]) * theta[(size_t)i + j * n] * theta[(size_t)i + j * n];
    double t = (1 + own) / (1 / m + own);
    sum += d->weight[s] / (m * m) * (t - 1) * (2 * t - 1);
  }
  return sum;
}

void bl_row_scales_set(bl_row_scales *rows, const bl_sgauss_data *d, const double *noise, const double *theta,
                       const double *curvature) {
  const size_t n = (size_t)rows->n, k = (size_t)rows->k;
  for (size_t i = 0; i < n; i++) {
    double squares = 0, steep = 0;
    for (size_t j = 0; j < k; j++) squares += theta[i + j * n] * theta[i + j * n];
    for (size_t j = 0; j < k; j++) {
      rows->unit[i + j * n] = squares > 0 ? theta[i + j * n] / sqrt(squares) : 0;
      steep += rows->unit[i + j * n] * rows->unit[i + j * n] * curvature[i + j * n];
    }
    double flat = squares > 0 ? information(d, noise, theta, (int)i) / squares + d->precision_mixing : steep;
    rows->gain[i] = flat > 0 && flat < steep ? 1 / flat - 1 / steep : 0;
  }
}

void bl_row_scales_remember(bl_row_scales *rows, const double *g) {
  const size_t n = (size_t)rows->n, k = (size_t)rows->k;
  for (size_t i = 0; i < n; i++) rows->before[i] = 0;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < n; i++) rows->before[i] += rows->unit[i + j * n] * g[i + j * n];
}

/* What both inverses, added, have too much: with half of it most steps pass at the first trial. */
static const double BOTH = 0.5;

void bl_row_scales_add(const bl_row_scales *rows, size_t size, double *g) {
  const size_t n = (size_t)rows->n, k = (size_t)rows->k;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < n; i++) g[i + j * n] += rows->gain[i] * rows->before[i] * rows->unit[i + j * n];
  for (size_t i = 0; i < size; i++) g[i] *= BOTH;
}
