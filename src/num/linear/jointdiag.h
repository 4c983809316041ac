/* jointdiag.h - approximate joint diagonalisation of positive definite matrices. */
#ifndef BL_JOINTDIAG_H
#define BL_JOINTDIAG_H

#include "base/base.h"

/* Finds b [m,m] that makes all b c_s b' as diagonal as possible: minimises
 * sum_s w_s ( log det diag(b c_s b') - log det(b c_s b') ) / 2. c [m,m,u] is overwritten by b c_s b'.
 * Starts from the whitening of the weighted mean; ends after max_sweeps, or when the largest derivative is below
 * `tolerance` times the largest of all sweeps, or below 1e-9. Fails with BLICA_ERR_NUMERIC when the mean is not
 * positive definite. */
blica_status bl_jointdiag(blica_ctx *ctx, int m, int u, const double *weight, double *c, int max_sweeps,
                          double tolerance, double *b);

#endif
