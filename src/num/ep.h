/* ep.h - probabilities of rectangles (intervals.h) of Y = mean + B z + e by expectation propagation: any number of
 * variables, an approximation whose error is small but not known beforehand. */
#ifndef BL_EP_H
#define BL_EP_H

#include <stddef.h>
#include <stdint.h>

#include "blica.h"
#include "num/intervals.h"
#include "num/simd.h"

typedef struct {
  int n, k;
  const double *mean;    /* [n] */
  const double *loading; /* n rows of k: B */
  int64_t count;
  const uint8_t *x; /* count rows of n levels */
  bl_intervals levels;
  double *log_p;          /* [count] out */
  double *score;          /* [n (1+k), count] d log p / d (mean_i, B_i); NULL: not wanted */
  double *first, *second; /* [k,count], [k,k,count] E[z|x], E[zz'|x]; with score */
  double *upper;          /* [n,count] d log p / d upper end, 0 where there is none; with score; NULL: not wanted */
  double *work;           /* bl_ep_work doubles, 64-byte aligned */
} bl_ep;

static inline size_t bl_ep_work(int n, int k) {
  return 8 * ((size_t)k * (size_t)k + 2 * (size_t)k + 6 * (size_t)n + (size_t)n * (1 + (size_t)k));
}

BL_KERNEL(void, bl_ep_run, const bl_ep *ep);
static inline void bl_ep_run(const bl_ep *ep, blica_simd level) {
  BL_AT(level, bl_ep_run)(ep);
}

#endif
