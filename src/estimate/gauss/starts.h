/* starts.h - where a fit of the scaled Gaussian likelihood begins. */
#ifndef BL_STARTS_H
#define BL_STARTS_H

#include "estimate/gauss/sgauss.h"

/* Whether start `index` of n variables and k sources begins with joint diagonalisation: the first does, and all of
 * large problems, where random points lead nowhere near, or late (from them the scaled Gaussian likelihood took ten
 * times the evaluations at n = k = 14 to 28, to the same maximum). */
bool bl_start_by_jointdiag(int n, int k, int index);
/* Whether L-BFGS from a good start mostly converges in less time than one Newton step takes. */
bool bl_start_is_large(int n, int k);
/* The point of start `index`: the joint diagonaliser, or where there is none (matrices far from positive definite) a
 * random point; *jointdiag says which, before and after. */
blica_status bl_start_begin(blica_ctx *ctx, const bl_sgauss_data *data, uint64_t seed, int index, bool *jointdiag,
                            double *theta);
const char *bl_start_kind(bool jointdiag, int index); /* its name in the report */

#endif
