/* sgauss_precondition.h - an approximate inverse Hessian for L-BFGS on large problems. */
#ifndef BL_SGAUSS_PRECONDITION_H
#define BL_SGAUSS_PRECONDITION_H

#include "estimate/gauss/sgauss.h"

typedef struct bl_sgauss_preconditioner bl_sgauss_preconditioner;
/* For f of sgauss.h (noise NULL), or for that of method matched with noise [n,u], whose theta is [ A | log v_1 | ... ].
 * Weights and precisions of the priors are those of data when it is set. */
blica_status bl_sgauss_preconditioner_make(blica_ctx *ctx, const bl_sgauss_data *data, const double *noise,
                                           bl_sgauss_preconditioner **out);
void bl_sgauss_preconditioner_free(bl_sgauss_preconditioner *p);
void bl_sgauss_preconditioner_set(bl_sgauss_preconditioner *p, const double *theta); /* built at theta */
/* Whether it is as good as Fisher's information and as cheap as an evaluation or two, so that it pays to build it in
 * every iteration. */
bool bl_sgauss_preconditioner_scores(const bl_sgauss_preconditioner *p);
void bl_sgauss_preconditioner_apply(bl_sgauss_preconditioner *p, double *g); /* g <- H0 g */

#endif
