/* gibbs.h - draws of normal vectors whose elements are confined to intervals, by Gibbs sampling, and the expected
 * derivatives of the log-probability of the intervals. Eight rows are one block, one row per SIMD lane. */
#ifndef BL_GIBBS_H
#define BL_GIBBS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blica.h"
#include "num/simd.h"

enum { BL_GIBBS_ROWS = 8 };
#define BL_GIBBS_INFINITY 1e30 /* a limit that does not bind */

/* What all rows share: q ~ N(mean, K^-1), q_i in (low, high) of its code. */
typedef struct {
  int n, codes;             /* codes: values that an element's code may have */
  const double *mean;       /* [n] */
  const double *precision;  /* n rows of n: K, positive definite */
  const double *low, *high; /* n rows of codes: -+BL_GIBBS_INFINITY where there is no limit */
  bool one_sided;           /* every interval has one end only */
  uint64_t seed;
} bl_gibbs_law;

/* One block; sweep counts the sweeps that it has had and row is the first row's number: together with the law's seed
 * they determine the random numbers. */
typedef struct {
  const uint8_t *code;  /* n rows of 8 */
  double *q;            /* n rows of 8, inside of the intervals: the state */
  const double *weight; /* [8] */
  uint32_t row, sweep;
} bl_gibbs_block;

/* Sums over sweeps and rows, times the rows' weights. */
typedef struct {
  double *first;  /* [n] d log P / d mean_i */
  double *second; /* n rows of n: E[h h'] - K where h = K (q - mean); d log P / d cov is half of it */
  double *edge;   /* n rows of codes + 1: d log P / d lower end of code c at c, added to that in the upper end of code
                     c - 1; NULL: not wanted; not with one_sided */
} bl_gibbs_sums;

/* Doubles of work, aligned to 64 bytes. */
static inline size_t bl_gibbs_work(int n) { /* S [n,n], d, h, sums of first, of x2 [n] */
  return BL_LANES * ((size_t)n * (size_t)n + 3 * (size_t)n);
}
/* A state to begin with: every element in its interval, at its mean where that is inside. */
static inline void bl_gibbs_begin(const bl_gibbs_law *law, const bl_gibbs_block *block) {
  for (int i = 0; i < law->n; i++)
    for (int lane = 0; lane < BL_LANES; lane++) {
      int at = i * BL_LANES + lane, code = i * law->codes + block->code[at];
      double low = law->low[code], high = law->high[code];
      block->q[at] = fmin(fmax(law->mean[i], low), high);
    }
}
/* Runs so many sweeps over each of `count` blocks; with sums, these are set. sweep is advanced. */
BL_KERNEL(void, bl_gibbs_run, const bl_gibbs_law *law, int64_t count, bl_gibbs_block *block, int sweeps, double *work,
          const bl_gibbs_sums *sums);
static inline void bl_gibbs_run(blica_simd level, const bl_gibbs_law *law, int64_t count, bl_gibbs_block *block,
                                int sweeps, double *work, const bl_gibbs_sums *sums) {
  BL_AT(level, bl_gibbs_run)(law, count, block, sweeps, work, sums);
}

#endif
