/* optimum.h - is a model what its method finds for these data? */
#ifndef BL_OPTIMUM_H
#define BL_OPTIMUM_H

#include "inference/scores/rows.h"

typedef struct {
  double distance; /* largest difference from a refit, in standard errors of the refit; infinite where the refit has
                      other columns and no errors, NaN where the refit failed */
  double mcs;      /* of the columns against those of the refit */
} bl_optimum;

/* Refits by the model's own method and options, without limits of time and iterations. */
blica_status bl_optimum_find(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                             bl_optimum *out);

/* The first two items that agree in all rows which have both: x_i = x_j, or, of two levels, x_i = 1 - x_j. False when
 * there are none. */
bool bl_optimum_twins(const bl_rows *rows, int *first, int *second);

#endif
