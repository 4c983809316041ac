/* sandwich.h - asymptotic covariance of the estimates of A and log v. */
#ifndef BL_SANDWICH_H
#define BL_SANDWICH_H

#include "inference/scores/rows.h"

/* covariance [p,p], p = nk + uk, of (A, log v_1, ..., log v_u) in the model's canonical scale, and bias [p,2], by which
 * the prior shrinks them (0 without one): as it is at the estimate, and further out, where the truth is. counts are
 * those of the rows. BLICA_ERR_NUMERIC when the information is singular: the data leave directions open. */
blica_status bl_sandwich(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                         double *covariance, double *bias);

/* Standard errors of the thresholds, [counts->n,u]; NaN where the column is constant. */
void bl_threshold_errors(const blica_counts *counts, double *error);

#endif
