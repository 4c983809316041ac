/* item_scores.h - in every segment, scores of the parameters that all segments share: the cuts of the items, or their
 * rows of the mixing matrix. */
#ifndef BL_ITEM_SCORES_H
#define BL_ITEM_SCORES_H

#include "inference/scores/rows.h"

enum { BL_ITEM_SCORES_SOURCES = 32 }; /* at most */

/* What the correlations of one segment say of its log v. */
typedef struct {
  double *difference;  /* [k] estimated, less those of the model */
  double *variance;    /* [k,k] of that */
  double *information; /* [k,k] the inverse */
  double *slope;       /* [k,m] by the mixing matrix, of the difference */
} bl_own_knowledge;

/* Scores of m parameters: those of item i are place[i] .. place[i+1]-1; others that all segments share follow. The
 * means and variances of each segment are projected out. */
typedef struct {
  int n, u;
  size_t m;
  size_t *place;           /* [n+1] */
  double *share;           /* [u] of the rows */
  double *score;           /* [m,u] */
  double *information;     /* [m,m,u] by which a change of the parameters changes the scores */
  double *variance;        /* [m,m,u] of the scores */
  bl_own_knowledge *known; /* [u] of loadings, else NULL */
} bl_item_scores;

/* Scores of the cuts: compares the thresholds of the margins with those of the model. *out is NULL when the means of
 * the sources fit any thresholds. loadings are the scores of the loadings for the same model and rows. */
blica_status bl_cut_scores(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                           const bl_item_scores *loadings, bl_item_scores **out);
/* Scores of the mixing matrix, for each item one source after another: compares the correlations with those that the
 * model implies for the segment. */
blica_status bl_loading_scores(blica_ctx *ctx, const blica_model *model, const bl_rows *rows,
                               const blica_counts *counts, bl_item_scores **out);
/* The cut that differs most from those of the other segments (invariance.c). */
typedef struct {
  double p; /* of the smallest of all, by Bonferroni's inequality; NaN: nothing was tested */
  int item, segment;
  double shift; /* of its thresholds there, in standard deviations; positive: higher levels are more probable */
} bl_cut_change;

/* Whether the matrices of the tests of cuts stay small: up to some 40 items of two levels, 10 sources, 25 segments. */
bool bl_cut_change_small(const blica_model *model);
/* Tests the cuts of every item in every segment. counts are those of the rows. */
blica_status bl_cut_change_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows,
                                const blica_counts *counts, bl_cut_change *out);
static inline void bl_item_scores_free(bl_item_scores *scores) { /* it owns its arrays */
  bl_free(scores);
}

#endif
