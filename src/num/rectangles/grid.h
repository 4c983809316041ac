/* grid.h - probabilities of rectangles (intervals.h) of Y = mean + B z + e, z ~ N(0, I_k) with few sources k, e ~ N(0,
 * I_n): given z the elements of Y are independent, so the probability is a k-dimensional integral. */
#ifndef BL_GRID_H
#define BL_GRID_H

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

/* The bandwidth of the integrand in each source, which decides the spacing. */
void bl_grid_band(int n, int k, const double *loading, double *band /* [k] */);
/* Spacing and reach for an absolute error of about `error` in each probability; returns the number of nodes. As long as
 * band and error stay, so do the nodes, and the probabilities are smooth functions of mean and loading. */
double bl_grid_plan(bl_grid *grid, const double *band, double error);
BL_KERNEL(void, bl_grid_run, const bl_grid *grid);
static inline void bl_grid_run(const bl_grid *grid, blica_simd level) {
  BL_AT(level, bl_grid_run)(grid);
}

#endif
