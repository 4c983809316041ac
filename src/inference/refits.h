/* refits.h - fits of the same model to the same rows, and to rows redrawn within segments. */
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

/* Standard deviations over draws of A [n,k], log v [k,u], means [k,u] (columns matched to the model's), and the share
 * of draws in which a column stays within 30 degrees [k]. *out has the draws: after an interrupt those that were
 * finished, if they are BL_DRAWS_LEAST or more, else it fails. Same bits for any number of threads. */
blica_status bl_bootstrap(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, int draws, uint64_t seed,
                          double *mixing, double *log_variance, double *mean, double *stability, bl_axes **out);

#endif
