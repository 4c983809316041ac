/* correlate.h - what other stages need of the correlations' file. */
#ifndef BL_CORRELATE_H
#define BL_CORRELATE_H

#include "base/base.h"

/* Phi^-1 of the share of ones of every variable and segment, by the same rule for constant columns as
 * blica_correlate. */
void bl_thresholds(const blica_counts *counts, double *thresholds /* [n,u] */);

/* What correlations and flags a rank has in the end: all; or, as it makes them, those of the segments that it owns; or
 * those of the parts of segments that it multiplies (num/products.h). Counts need have the tables of the segments that
 * it owns only, but for all. */
typedef enum { BL_KEEP_ALL, BL_KEEP_SEGMENTS, BL_KEEP_PARTS } bl_keep;

/* blica_correlate; without errors, cor->se is NULL and half of the memory is saved. */
blica_status bl_correlate(blica_ctx *ctx, const blica_counts *counts, bool errors, bl_keep keep, blica_cor **out);

#endif
