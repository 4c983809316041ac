/* information.h - covariance of maximum-likelihood estimates from the information of the full likelihood. */
#ifndef BL_INFORMATION_H
#define BL_INFORMATION_H

#include "inference/scores/rows.h"

/* covariance [p,p], p = nk + uk, of (A, log v) in the model's canonical scale, and the errors of means [k,u] and cuts
 * [planes], for items of any number of levels. *found is false, and nothing is set, where the information matrix is too
 * large for memory. */
blica_status bl_information_errors(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, double *covariance,
                                   double *mean_se, double *cut_se, bool *found);

#endif
