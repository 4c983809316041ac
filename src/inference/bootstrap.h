/* bootstrap.h - refits of rows redrawn within segments. */
#ifndef BL_BOOTSTRAP_H
#define BL_BOOTSTRAP_H

#include "inference/axes.h"
#include "inference/scores/rows.h"

/* Fits again with the method and the options of the model, for as long as it takes, to rows of these weights. */
blica_status bl_refit(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const double *weight,
                      blica_model **out);

/* Standard deviations over draws of A [n,k], log v [k,u], means [k,u] (columns matched to the model's), and the share
 * of draws in which a column stays within 30 degrees [k]. *out has the draws. Same bits for any number of threads. */
blica_status bl_bootstrap(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, int draws, uint64_t seed,
                          double *mixing, double *log_variance, double *mean, double *stability, bl_axes **out);

#endif
