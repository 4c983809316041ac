/* grid.h - probabilities of rectangles (intervals.h) of Y = mean + B z + e, z ~ N(0, I_k) with few sources k, e ~ N(0,
 * I_n): given z the elements of Y are independent, so the probability is a k-dimensional integral. */
#ifndef BL_GRID_H
#define BL_GRID_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blica.h"
#include "num/rectangles/intervals.h"
#include "num/simd.h"

#define BL_GRID_SOURCES 3 /* largest k */
#define BL_GRID_CHUNK 128 /* nodes at a time */

typedef struct {
  int n, k;
  const double *mean;                            /* [n] */
  const double *loading;                         /* n rows of k: B */
  double spacing[BL_GRID_SOURCES], reach, shift; /* nodes (index + shift) * spacing with |z| <= reach */
  int64_t count;
  const uint8_t *x; /* count distinct rows of n levels in lexicographic order */
  bl_intervals levels;
  const double *weight; /* [count]; NULL: no gradient */
  double *p;            /* [count] out */
  double *g_mean;       /* [n] out, of sum weight log p */
  double *g_loading;    /* n rows of k, out */
  double *g_edge;       /* by edge, out; NULL: not wanted */
  double *score;        /* [n (1+k), count] d log p / d (mean_i, B_i), i = 0..n-1; NULL: not wanted */
  double *upper;        /* [n,count] d log p / d upper end, 0 where that is infinite; with score; NULL: not wanted */
  double *work;         /* bl_grid_work doubles, 64-byte aligned */
} bl_grid;

static inline size_t bl_grid_work(int n, int edges, int k) {
  return (5 * ((size_t)n + (size_t)edges) + (size_t)k + 3) * BL_GRID_CHUNK;
}

/* The spacing. The trapezoidal rule converges geometrically for analytic integrands: the Fourier transform of phi(z)
 * prod_i Phi(mean_i + b_i z) falls like exp(-w^2/(2 (1 + sum b_i^2))), so a spacing h leaves an error of about
 * 2 exp(-(2 pi/h)^2/(2 (1 + sum b_i^2))), and a reach r one of about exp(-r^2/2). The first estimate was a hundred
 * times too large wherever it was measured; a factor of 30 of that is used. Checked against 30-digit values, halved
 * spacing and separation of variables: tests/unit/likelihood/test_likelihood.c. */

/* The bandwidth of the integrand in each source, which decides the spacing. */
static inline void bl_grid_band(int n, int k, const double *loading, double *band /* [k] */) {
  for (int l = 0; l < k; l++) {
    double sum = 1.0;
    for (int i = 0; i < n; i++) sum += loading[i * k + l] * loading[i * k + l];
    band[l] = sqrt(sum);
  }
}

/* Spacing and reach for an absolute error of about `error` in each probability; returns the number of nodes. As long as
 * band and error stay, so do the nodes, and the probabilities are smooth functions of mean and loading. */
static inline double bl_grid_plan(bl_grid *grid, const double *band, double error) {
  double nodes = 1.0, digits = sqrt(2.0 * log(2.0 / fmin(30.0 * error, 0.1)));
  grid->reach = sqrt(2.0 * log(2.0 / error));
  grid->shift = 0.0;
  for (int l = 0; l < grid->k; l++) {
    grid->spacing[l] = 6.283185307179586477 / (band[l] * digits);
    nodes *= 2.0 * grid->reach / grid->spacing[l] + 1.0;
  }
  return nodes;
}

BL_KERNEL(void, bl_grid_run, const bl_grid *grid);
static inline void bl_grid_run(const bl_grid *grid, blica_simd level) {
  BL_AT(level, bl_grid_run)(grid);
}

#endif
