/* refits.h - fits of the same model to the same rows, and to rows redrawn within segments or weighted by replicates. */
#ifndef BL_REFITS_H
#define BL_REFITS_H

#include "inference/axes.h"
#include "inference/scores/rows.h"

typedef struct {
  double distance; /* largest difference from a refit, in standard errors of the refit; infinite where the refit has
                      other columns and no errors, NaN where the refit failed */
  double mcs;      /* of the columns against those of the refit */
  double gain;     /* log-likelihood of all pairs of values under the refit less that under the model */
} bl_optimum;

/* Refits by the model's own method and options, without limits of time and iterations. */
blica_status bl_optimum_find(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                             bl_optimum *out);

/* The first two items that agree in all rows which have both: x_i = x_j, or, of two levels, x_i = 1 - x_j. False when
 * there are none. */
bool bl_optimum_twins(const bl_rows *rows, int *first, int *second);

enum { BL_DRAWS_LEAST = 20 }; /* fewer finished draws are not used */

/* The parts of a draw, columns matched to those of the model: [n,k], [k,u], [k,u], [planes], [planes,u]. */
enum { BL_DRAWN_MIXING, BL_DRAWN_LOG_VARIANCES, BL_DRAWN_MEANS, BL_DRAWN_CUTS, BL_DRAWN_THRESHOLDS, BL_DRAWN_PARTS };

/* Standard deviations over draws of these parts, where error is not NULL, and the share of draws in which a column
 * stays within 30 degrees [k]. If rows have replicate weights, each of these makes one draw. *out has the draws: after
 * an interrupt those that were finished, if they are BL_DRAWS_LEAST or more and no replicates, else it fails. Same bits
 * for any number of threads. */
blica_status bl_bootstrap(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, int draws, uint64_t seed,
                          double *const error[BL_DRAWN_PARTS], double *stability, bl_axes **out);

#endif
