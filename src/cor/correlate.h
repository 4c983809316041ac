/* correlate.h - what other stages need of the correlations' file. */
#ifndef BL_CORRELATE_H
#define BL_CORRELATE_H

#include <math.h>

#include "base/base.h"

/* Cells 11, 10, 01, 00 of a table to shares; returns its flags, negative when a cell is or when they are no numbers of
 * rows. */
int bl_table_shares(const double cell[4], bool exact, double share[4]);
/* Phi^-1 of the share of ones, which is kept away from 0 and 1. */
double bl_share_threshold(double ones, double zeros);
/* Phi^-1 of the share of ones of every variable and segment, by the same rule for constant columns as
 * blica_correlate. */
void bl_thresholds(const blica_counts *counts, double *thresholds /* [n,u] */);

/* blica_correlate; without errors, cor->se is NULL and half of the memory is saved. */
blica_status bl_correlate(blica_ctx *ctx, const blica_counts *counts, bool errors, blica_cor **out);

/* As bl_correlate, for counts of items with more than two levels (correlate_levels.c). Takes over the coding. */
blica_status bl_correlate_levels(blica_ctx *ctx, const blica_counts *counts, blica_coding *coding, blica_cor **out);

/* Fills cor->location, log_scale and log_scale_se of items with three or more levels (log_scale_se is infinite for the
 * others), from the margins in counts (item_scales.c). */
blica_status bl_find_item_scales(blica_ctx *ctx, const blica_counts *counts, blica_cor *cor);

/* One table, cells 00, 01, 10, 11, which sum to more than 0: returns its flags. */
int bl_tetrachoric(blica_simd level, bool exact, const double *cell, double *rho, double *se);

/* The pair with packed index p. */
static inline void bl_unpack_pair(int64_t p, int *i, int *j) {
  int64_t column = (int64_t)((1.0 + sqrt(1.0 + 8.0 * (double)p)) / 2.0);
  while (column * (column - 1) / 2 > p) column--;
  while (column * (column + 1) / 2 <= p) column++;
  *j = (int)column;
  *i = (int)(p - column * (column - 1) / 2);
}

/* Warns of empty cells, constant columns and pairs without a common row, and sets their numbers in cor. */
void bl_correlate_report(blica_ctx *ctx, const blica_counts *counts, blica_cor *cor);

#endif
