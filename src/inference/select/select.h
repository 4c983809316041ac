/* select.h - criteria by which numbers of sources are compared: the prediction of rows that a model was not fitted to,
 * and the eigenvalues of the correlations. */
#ifndef BL_SELECT_H
#define BL_SELECT_H

#include "inference/scores/pooled.h"

/* One caller's workspace, for models of up to k sources. */
typedef struct {
  const bl_rows *rows;
  bl_table with, without;
  double *cell, *scale, *rho; /* of one table; [n]; [pairs] */
  bl_pooled *pooled;
  double *slope, *score, *before, *information; /* [pairs,k], [k], [k] the step before, [k,k] */
} bl_heldout;

/* Makes the workspace for rows of a model with k sources. */
blica_status bl_heldout_make(blica_ctx *ctx, const bl_rows *rows, int k, bl_heldout **out);
void bl_heldout_free(bl_heldout *heldout);
BL_AUTO_FREE(bl_heldout)

/* Log-likelihood of the tables of segment s of `test` under A [n,k], v [k] and the margins of `train`, less that under
 * independence. Both are counts of the rows. */
double bl_heldout_score(bl_heldout *heldout, const blica_counts *test, const blica_counts *train, int s,
                        const blica_model *model, const double *v);

/* v [k] of segment s, which the model was not fitted to, given its A: the maximum of the pairwise likelihood of `train`
 * under a normal prior of log v of standard deviation sd. */
void bl_heldout_variances(bl_heldout *heldout, const blica_counts *train, int s, const blica_model *model, double sd,
                          double *v);

/* Eigenvalues [n] of the correlations common to all segments, and the 95 % quantiles [n] of the same under independent
 * items: within every segment the values of each item are permuted, so that margins, levels and missing values stay. */
blica_status bl_horn(blica_ctx *ctx, const bl_rows *rows, const blica_counts *counts, int references, uint64_t seed,
                     double *eigenvalue, double *reference);

/* Velicer's minimum average partial: average squared partial correlation after m = 0..most components of the
 * correlations of all rows pooled; NaN where a component leaves no variance. */
blica_status bl_map(blica_ctx *ctx, const blica_counts *counts, int most, double *map);

#endif
