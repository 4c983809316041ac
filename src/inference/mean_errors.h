/* mean_errors.h - standard errors of the sources' means and of the items' cuts. */
#ifndef BL_MEAN_ERRORS_H
#define BL_MEAN_ERRORS_H

#include "base/base.h"

/* mean_se [k,u] and cut_se [planes], from the covariance [p,p] of (A, log v) and the sampling errors of the thresholds
 * of the counts, which are in the order of the model. */
blica_status bl_mean_errors(blica_ctx *ctx, const blica_model *model, const blica_counts *counts,
                            const double *covariance, size_t p, uint64_t seed, double *mean_se, double *cut_se);

#endif
