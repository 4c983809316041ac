/* sgauss_precondition_low.h - the preconditioner of sgauss_precondition.c for k much smaller than n: same matrix, n k
 * numbers. */
#ifndef BL_SGAUSS_PRECONDITION_LOW_H
#define BL_SGAUSS_PRECONDITION_LOW_H

#include "estimate/gauss/sgauss.h"

typedef struct bl_low_preconditioner bl_low_preconditioner;
/* Borrows the data and the noise. */
blica_status bl_low_preconditioner_make(blica_ctx *ctx, const bl_sgauss_data *data, const double *noise, double epsilon,
                                        bl_low_preconditioner **out);
void bl_low_preconditioner_free(bl_low_preconditioner *p);
void bl_low_preconditioner_set(bl_low_preconditioner *p, const double *theta); /* at theta */
/* Inverse times gradient, in place. */
void bl_low_preconditioner_apply(const bl_low_preconditioner *p, double *gradient);
/* The curvature of column j outside the span of A. */
double bl_low_preconditioner_outside(const bl_low_preconditioner *p, int j);

#endif
