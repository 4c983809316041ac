/* parallel.h - numbers of components from eigenvalues: parallel analysis and Velicer's test. */
#ifndef BL_HORN_H
#define BL_HORN_H

#include "inference/scores/rows.h"

/* Eigenvalues [n] of the correlations common to all segments, and the 95 % quantiles [n] of the same under independent
 * items: within every segment the values of each item are permuted, so that margins, levels and missing values stay. */
blica_status bl_horn(blica_ctx *ctx, const bl_rows *rows, const blica_counts *counts, int references, uint64_t seed,
                     double *eigenvalue, double *reference);

/* Velicer's minimum average partial: average squared partial correlation after m = 0..most components of the
 * correlations of all rows pooled; NaN where a component leaves no variance. */
blica_status bl_map(blica_ctx *ctx, const blica_counts *counts, int most, double *map);

#endif
