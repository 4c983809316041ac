/* posterior.h - posterior moments of the sources of rows. */
#ifndef BL_POSTERIOR_H
#define BL_POSTERIOR_H

#include <stddef.h>
#include <stdint.h>

#include "blica.h"
#include "num/rectangles/intervals.h"

/* Rows with the same variables present, under one segment: Y = mean + B z + e, z and e standard normal. */
typedef struct {
  int n, k;
  const double *mean;    /* [n] */
  const double *loading; /* n rows of k: B */
  bl_intervals levels;
  double rest; /* expectation propagation ends where means move by less, in standard deviations */
  int64_t count;
  const uint8_t *x;    /* count rows of n levels */
  double *log_p;       /* [count] out */
  double *moments;     /* [k + k k, count] out: E[z|x] and the covariance */
  const double *start; /* [2 n, count] sites of expectation propagation to begin with; NULL: none */
  double *sites;       /* [2 n, count] out: where it ended */
  double *work;        /* bl_posterior_work doubles, 64-byte aligned */
} bl_posterior;

/* Lower Cholesky factor of a covariance, both k rows of k; l may be matrix, and keeps what is above the diagonal. */
void bl_factorise(int k, const double *matrix, double *l);

/* Doubles of work for up to count rows. */
size_t bl_posterior_work(int n, int k, int64_t count);
/* The moments of all rows. Those of a row do not depend on the other rows. */
void bl_posterior_run(const bl_posterior *posterior, blica_simd level);
/* Only log_p, and that roughly: from the sites in start, which belong to another segment. */
void bl_posterior_guess(const bl_posterior *posterior, blica_simd level);

#endif
