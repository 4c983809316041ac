/* errors.h - asymptotic errors of estimates: of pair-based methods, of maximum likelihood, of means and cuts. */
#ifndef BL_ERRORS_H
#define BL_ERRORS_H

#include "inference/scores/rows.h"

/* covariance [p,p], p = nk + uk, of (A, log v_1, ..., log v_u) around the truth, in the model's canonical scale; what a
 * prior shrinks is in it. counts are those of the rows. BLICA_ERR_NUMERIC when the information is singular: the data
 * leave directions open. */
blica_status bl_sandwich(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                         double *covariance);

/* covariance [p,p], p = nk + uk, of (A, log v) in the model's canonical scale, and the errors of means [k,u] and cuts
 * [planes], for items of any number of levels. *found is false, and nothing is set, where the information matrix is too
 * large for memory. */
blica_status bl_information_errors(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, double *covariance,
                                   double *mean_se, double *cut_se, bool *found);

/* mean_se [k,u] and cut_se [planes], from the covariance [p,p] of (A, log v) and that of the thresholds
 * [planes,planes,u], which is destroyed. Thresholds of items that the counts do not have are unknown. */
blica_status bl_mean_errors(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, double *thresholds,
                            const double *covariance, size_t p, uint64_t seed, double *mean_se, double *cut_se);

#endif
