/* influence.h - what single rows of a segment change of its statistics: correlations of pairs, and either the scales of
 * ordinal items or the thresholds of all columns; or of thresholds alone. */
#ifndef BL_INFLUENCE_H
#define BL_INFLUENCE_H

#include "inference/scores/table.h"

typedef enum { BL_SCALES, BL_THRESHOLDS, BL_TABLE_SCORES, BL_MARGINS } bl_statistics;

typedef struct {
  int n;
  const blica_coding *coding; /* borrowed */
  bl_statistics kind;
  size_t pairs;        /* the first statistics are correlations, or with BL_TABLE_SCORES, for method pairwise and two
                          levels, half the scores of 2x2 tables; with BL_MARGINS there are none, */
  size_t statistics;   /* the others n log-scales, if any item is ordinal, or with BL_THRESHOLDS and BL_MARGINS the
                          thresholds of all columns */
  double *information; /* [pairs] about a correlation in one row, thresholds known */
  double *both;        /* [pairs] rows with both items */
  double *derivatives; /* [2,pairs] with scores: second and first derivative of the objective in the correlation */
  double *kept;        /* [n] share of the variance of q_i that its levels show */
  double *precision;   /* [n] about the log-scale, in all rows; 0: not an ordinal item */
  double *change;      /* by pair: of both levels [L_i,L_j], of the first's [L_i], of the second's [L_j] */
  size_t *place;       /* [pairs] where those begin */
  double *on_scale;    /* [planes + n] by level */
  double *on_margin;   /* [2,planes] with thresholds: of a value below the column's level, and at or above it */
  double *cell;        /* rows of one table */
  bl_table table;
} bl_influence;

/* Makes it for n items; borrows the coding, which may be NULL. bl_free frees it. */
blica_status bl_influence_make(blica_ctx *ctx, int n, const blica_coding *coding, bl_statistics kind,
                               bl_influence **out);

/* Computes the influences in segment s of the counts at correlations rho [pairs] and thresholds t [planes]. Those on
 * thresholds are at margin [planes], so that their sums are the distance of the data from there. With BL_MARGINS rho
 * and t may be NULL. */
void bl_influence_describe(const blica_counts *counts, int s, const double *rho, const double *t, const double *margin,
                           bl_influence *f);

/* Sets psi [statistics] to the influence of the row of levels x [n]. */
void bl_influence_row(const bl_influence *f, const int8_t *x, double *psi);

#endif
