/* correlate.h - what other stages need of the correlations' file. */
#ifndef BL_CORRELATE_H
#define BL_CORRELATE_H

#include "ranks/placement.h"

/* Phi^-1 of the share of ones of every variable and segment, by the same rule for constant columns as
 * blica_correlate. */
void bl_thresholds(const blica_counts *counts, double *thresholds /* [n,u] */);

/* blica_correlate; without errors, cor->se is NULL and half of the memory is saved. keep says what a rank has in the
 * end; counts need have the tables of all segments for BL_KEEP_ALL, else those of the segments that the rank owns. */
blica_status bl_correlate(blica_ctx *ctx, const blica_counts *counts, bool errors, bl_keep keep, blica_cor **out);

/* The same for counts of items with more than two levels (correlate_levels.c); the coding is taken over. Needs the
 * tables of all segments. */
blica_status bl_correlate_levels(blica_ctx *ctx, const blica_counts *counts, blica_coding *coding, blica_cor **out);

/* One table, cells 00, 01, 10, 11, which sum to more than 0: returns its flags. */
int bl_tetrachoric(blica_simd level, bool exact, const double *cell, double *rho, double *se);

#endif
