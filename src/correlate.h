/* correlate.h - what other stages need of the correlations' file. */
#ifndef BL_CORRELATE_H
#define BL_CORRELATE_H

#include "base/base.h"

/* Phi^-1 of the share of ones of every variable and segment, by the same rule for constant columns as
 * blica_correlate. */
void bl_thresholds(const blica_counts *counts, double *thresholds /* [n,u] */);

/* blica_correlate; without errors, cor->se is NULL and half of the memory is saved. With own, correlations and flags of a
 * segment stay with the rank that owns it, and counts need have the tables of this rank's segments only. */
blica_status bl_correlate(blica_ctx *ctx, const blica_counts *counts, bool errors, bool own, blica_cor **out);

#endif
