/* ep.h - probabilities of rectangles (intervals.h) of Y = mean + B z + e, and the posterior of z given one of them, by
 * expectation propagation: any number of variables, an approximation whose error is small but not known beforehand. */
#ifndef BL_EP_H
#define BL_EP_H

#include <stddef.h>
#include <stdint.h>

#include "blica.h"
#include "num/rectangles/intervals.h"
#include "num/simd.h"

typedef struct {
  int n, k;
  const double *mean;    /* [n] */
  const double *loading; /* n rows of k: B; with k = 0 only log_p is found */
  const double *nodes;   /* n rows of BL_LANES: means of BL_LANES problems that share the first row of x; else NULL */
  int64_t count;         /* with nodes: BL_LANES */
  const uint8_t *x;      /* count rows of n levels */
  bl_intervals levels;
  double *log_p;          /* [count] out */
  double *score;          /* [n (1+k), count] d log p / d (mean_i, B_i); NULL: not wanted */
  double *first, *second; /* [k,count], [k,k,count] E[z|x], E[zz'|x]; with score */
  double *upper;          /* [n,count] d log p / d upper end, 0 where that is infinite; with score; NULL: not wanted */
  /* The posterior of z, with log_p corrected to second order. */
  double rest;       /* largest change of a mean in the last sweep, in standard deviations; with posterior */
  double *posterior; /* [k + 2 k k, count] E[z|x], the covariance that EP finds, and what is to be added to it; NULL */
  double *excess; /* [count] trace of the inverse of that covariance times what is to be added, or less than that where
                     no direction has as much; with posterior */
  /* Sites [2 n, count]: precisions and shifts of the Gaussians in mean_i + b_i'z that replace the levels. They hardly
   * depend on mean and B, so those of one problem are a good start for another of the same row. */
  const double *start; /* where to begin; with nodes [2 n] for all; NULL: nowhere */
  double *sites;       /* where it ended; NULL: not wanted */
  double *guess;       /* [count] instead of all other results: log of the integral over z of the sites at the start */
  double *work;        /* bl_ep_work doubles, 64-byte aligned */
} bl_ep;

enum { BL_EP_TENSOR = 10 }; /* sources up to which the second order may go by a tensor */
static inline size_t bl_ep_work(int n, int k) {
  const size_t c = k < BL_EP_TENSOR ? (size_t)k : BL_EP_TENSOR;
  return 8 * (c * c * (c + 1) / 2 + 2 * c * c + 2 * (size_t)k * (size_t)k + 5 * (size_t)k + 8 * (size_t)n +
              (size_t)n * (1 + (size_t)k));
}

BL_KERNEL(void, bl_ep_run, const bl_ep *ep);
static inline void bl_ep_run(const bl_ep *ep, blica_simd level) {
  BL_AT(level, bl_ep_run)(ep);
}

#endif
