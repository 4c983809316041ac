/* starts.h - where a fit of the scaled Gaussian likelihood begins. */
#ifndef BL_STARTS_H
#define BL_STARTS_H

#include "estimate/sgauss.h"

/* Joint diagonalisation of the correlation matrices in their leading k-dimensional subspace: of all segments for
 * index 0, of a random half of them for others. */
blica_status bl_start_jointdiag(blica_ctx *ctx, const bl_sgauss_data *data, uint64_t seed, int index, double *theta);
/* A ~ unif(-3,3), v ~ unif(0.5,1.5), q such that S has a unit diagonal. Start number `index` of a seed. */
blica_status bl_start_random(blica_ctx *ctx, const bl_sgauss_data *data, uint64_t seed, int index, double *theta);

#endif
