/* change_test.h - do the variances of the sources change over segments? */
#ifndef BL_CHANGE_TEST_H
#define BL_CHANGE_TEST_H

#include "inference/scores/row_scores.h"

typedef struct {
  double p;           /* against "the same correlations in all segments"; NaN where it could not be computed */
  double beyond_p;    /* the same without what follows the means of the sources; NaN with too few segments */
  bl_dependence rows; /* of each other */
} bl_change;

/* source_p [k] against "the variance of this source is the same in all segments", at least out->p. Same bits for any
 * number of threads. */
blica_status bl_change_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                            bl_change *out, double *source_p);

#endif
