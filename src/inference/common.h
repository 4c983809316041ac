/* common.h - correlations that are the same in all segments, margins being free. */
#ifndef BL_COMMON_H
#define BL_COMMON_H

#include "inference/implied.h"

typedef struct {
  int n, u;
  size_t pairs;
  double *t;               /* [n,u] thresholds */
  bool *used;              /* [n,u] false: the variable is constant there */
  double *rho;             /* [pairs] the common correlations */
  bl_implied_table *table; /* [pairs,u] at the last correlations */
  double *both;            /* [pairs,u] rows with both values; 0 where one of them is not used */
  double *excess;          /* [pairs,u] rows with two ones less those expected */
} bl_common;

blica_status bl_common_make(blica_ctx *ctx, int n, int u, bl_common **out);
void bl_common_free(bl_common *common);

/* Margins of the counts; constant variables do not count. */
void bl_common_margins(const blica_counts *counts, bl_common *common);
/* Score of rho in the table of (i,j) in segment s and its information; fills table, both and excess. */
double bl_common_score(const blica_counts *counts, int s, int i, int j, double rho, double *information,
                       bl_common *common);
/* Margins, and the pairwise maximum-likelihood correlation of every pair, from where rho stands; to 1e-5. */
void bl_common_fit(const blica_counts *counts, bl_common *common);

/* The full symmetric matrix [n,n] of packed correlations. */
void bl_common_matrix(int n, const double *rho, double *matrix);

#endif
