/* sov.h - the innermost loop of probabilities of rectangles: separation of variables over a set of points, for many
 * rectangles of one normal distribution at once. Used by mvn.c; compiled per instruction set. */
#ifndef BL_SOV_H
#define BL_SOV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blica.h"
#include "num/rectangles/intervals.h"
#include "num/simd.h"

#define BL_SOV_BLOCK 64  /* points come in multiples of this */
#define BL_SOV_ARRAYS 11 /* vectors of one double per point that a level of the tree needs */

/* X_i = offset_i + sum_{j<i} slope_ij w_j + w_i in units of its own conditional deviation, w ~ N(0, I). The
 * row x is the rectangle where X_i is at level x_i (intervals.h), edges being in the same units. */
typedef struct {
  int n;
  const double *slope;  /* row-major n x n, strictly lower part */
  const double *offset; /* [n] */
  int64_t count;
  const uint8_t *x; /* count distinct rows of n levels, in lexicographic order */
  bl_intervals levels;
  const double *weight; /* [count]; NULL: no gradient */
  int points;
  const double *uniform; /* [points,n-1] in (0,1) */
  double *log_p;         /* [count] out */
  double *g_offset;      /* [n] gradient of sum weight log p, added to */
  double *g_slope;       /* row-major n x n, likewise */
  double *g_edge;        /* by edge, likewise; not touched for items with one edge */
  double *work;          /* bl_sov_work doubles, 64-byte aligned */
} bl_sov;

static inline size_t bl_sov_work(int n, int points) {
  return (size_t)(n + 1) * BL_SOV_ARRAYS * (size_t)points + 8 * (size_t)n;
}

BL_KERNEL(void, bl_sov_run, const bl_sov *task);
static inline void bl_sov_run(const bl_sov *task, blica_simd level) {
  BL_AT(level, bl_sov_run)(task);
}

#endif
