/* m2.h - do the correlations, and do the margins, fit? */
#ifndef BL_M2_H
#define BL_M2_H

#include "inference/scores/rows.h"

typedef struct {
  double m2; /* NaN when it was not computed */
  int64_t df;
  double p;                               /* of margins also by the largest residual */
  double rmsea2, rmsea2_low, rmsea2_high; /* with its 90 % interval */
  double size, size_low, size_high;       /* root mean square residual less sampling noise, with its 90 % interval */
  int item, segment;                      /* of the threshold that is furthest off in standard errors; -1: none */
  double shift, z;                        /* by how much the data are above the model there, and over its error */
} bl_m2;

/* margins: the thresholds of all columns against means and cuts of the model; else the correlations, margins being
 * free. fixed: the parameters are given and not estimated from these rows. counts are those of the rows. segment [u],
 * which may be NULL, receives the parts of M2. */
blica_status bl_m2_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                        bool margins, bool fixed, bl_m2 *out, double *segment);

/* tails.c: *p of sources that have no heavier tails than the normal distribution, at a model that is the optimum for
 * the rows; NaN where no source has four items. */
blica_status bl_tails_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                           double *p);

#endif
