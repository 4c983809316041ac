/* matched_precondition.h - an approximate inverse Hessian of method matched for few sources of many items. */
#ifndef BL_MATCHED_PRECONDITION_H
#define BL_MATCHED_PRECONDITION_H

#include "estimate/gauss/sgauss.h"

/* Whether it serves: for larger k its cost exceeds what it saves, and small problems are solved before it pays. */
static inline bool bl_matched_precondition_fits(int n, int k) {
  return 4 * k <= n && k <= 24 && n * k > 200;
}

typedef struct bl_matched_preconditioner bl_matched_preconditioner;
/* Sizes, weights and precisions of the priors are those of data when it is set; noise [n,u]. */
blica_status bl_matched_preconditioner_make(blica_ctx *ctx, const bl_sgauss_data *data, const double *noise,
                                            bl_matched_preconditioner **out);
void bl_matched_preconditioner_free(bl_matched_preconditioner *p);
/* Built at theta = [ A | log v_1 | ... ]. */
void bl_matched_preconditioner_set(bl_matched_preconditioner *p, const double *theta);
void bl_matched_preconditioner_apply(bl_matched_preconditioner *p, double *g); /* g <- H0 g */

#endif
