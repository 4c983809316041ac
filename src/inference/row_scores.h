/* row_scores.h - scores of single rows along directions: their sums over the rows of a segment, and how much adjacent
 * rows have in common. */
#ifndef BL_ROW_SCORES_H
#define BL_ROW_SCORES_H

#include "inference/influence.h"

/* One thread's: scores U_r = weight' psi_r along m directions, psi_r the influence of the row (influence.h). */
typedef struct {
  const bl_influence *influence; /* of the segment */
  const bl_rows *rows;
  const double *weight; /* [statistics,m] */
  size_t q, m;
  double *psi, *score; /* of one batch */
} bl_row_scores;

/* What the scores of a segment add up to. */
typedef struct {
  double units;    /* sum of the squared sizes of the units: rows, or clusters of rows */
  double *sum;     /* [m] over rows. It owns the other arrays */
  double *sized;   /* [m] over units: size times score */
  double *product; /* [m,m] over units: score score', lower triangle */
} bl_score_sums;

/* Workspace for up to m directions and q statistics, freed with `owner`. */
blica_status bl_row_scores_make(blica_ctx *ctx, void *owner, const bl_influence *influence, const bl_rows *rows,
                                size_t m, bl_row_scores *scores);
/* Sums along m directions, freed with `owner`. */
blica_status bl_score_sums_make(blica_ctx *ctx, void *owner, size_t m, bl_score_sums *sums);

/* Sums over segment s. */
void bl_row_scores_sum(const bl_row_scores *scores, int s, bl_score_sums *sums);
/* product - sized mean' - mean sized' + units mean mean': the product of the scores less n_unit mean. */
void bl_score_sums_centre(const double *mean, size_t m, bl_score_sums *sums);

/* Adds to lag [BL_LAGS+1] the sums over the rows r of segment s of z_r'z_(r+l), rows in the order of the data; z are
 * the first `used` directions of the scores less their mean in the segment, times scale [used]. z [used, rows] is
 * workspace. */
void bl_row_scores_lags(const bl_row_scores *scores, int s, size_t used, const double *scale, double *z, double *lag);

#endif
