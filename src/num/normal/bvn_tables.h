/* bvn_tables.h - log-likelihoods of 2x2 tables under bivariate normal distributions, many tables at once. */
#ifndef BL_BVN_TABLES_H
#define BL_BVN_TABLES_H

#include <stdint.h>

#include "blica.h"
#include "num/simd.h"

/* `count` tables that share their second variable: thresholds h [count] and k, cells [count] each, correlations
 * -1 < rho < 1. Sets value to minus the log-likelihood, sum of -cell log P, and slope to its derivative in rho. Arrays
 * are read and written up to the next multiple of eight. */
typedef struct {
  const double *h, *below, *above; /* Phi(h), Phi(-h) */
  double k, k_below, k_above;
  const double *n11, *n10, *n01, *n00, *rho;
  double *value, *slope;
} bl_bvn_tables;

BL_KERNEL(void, bl_bvn_tables, const bl_bvn_tables *tables, int count);
static inline void bl_bvn_tables_run(blica_simd level, const bl_bvn_tables *tables, int count) {
  BL_AT(level, bl_bvn_tables)(tables, count);
}

#endif
