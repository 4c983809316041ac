/* pooled.h - correlations that are the same in all segments, margins being free. */
#ifndef BL_POOLED_H
#define BL_POOLED_H

#include "inference/scores/table.h"

typedef struct {
  int n, u, planes;
  const blica_coding *coding; /* borrowed; NULL: two levels */
  size_t pairs;
  bool shrunk;         /* thresholds of small segments are shrunk, and scores corrected for their errors */
  double *t;           /* [planes,u] thresholds */
  bool *used;          /* [n,u] false: the item is constant there */
  double *rho;         /* [pairs] the common correlations */
  double *score;       /* [pairs,u] of the tables at the last correlations; 0 where one of the items is not used */
  double *information; /* [pairs,u] about them */
  bl_table table;
  double *cell; /* rows of one table */
} bl_pooled;

/* Makes it for counts of the columns of n items; bl_free frees it. */
blica_status bl_pooled_make(blica_ctx *ctx, int n, int u, const blica_coding *coding, bool shrunk, bl_pooled **out);

/* Margins of the counts; constant items do not count. */
void bl_pooled_margins(const blica_counts *counts, bl_pooled *pooled);
/* Score and information of the table of (i,j) in segment s at rho. */
void bl_pooled_score(const blica_counts *counts, int s, int i, int j, double rho, bl_pooled *pooled);
/* Sets the margins and the pairwise maximum-likelihood correlation of every pair, to 1e-5; rho holds the starting
 * points. */
void bl_pooled_fit(const blica_counts *counts, bl_pooled *pooled);

/* The full symmetric matrix [n,n] of packed correlations. */
void bl_pooled_matrix(int n, const double *rho, double *matrix);

#endif
