/* correlate.h - what other stages need of the correlations' file. */
#ifndef BL_CORRELATE_H
#define BL_CORRELATE_H

#include "base/base.h"

/* Phi^-1 of the share of ones of every variable and segment, by the same rule for constant columns as
 * blica_correlate. */
void bl_thresholds(const blica_counts *counts, double *thresholds /* [n,u] */);

#endif
