/* assign.h - linear assignment. */
#ifndef BL_ASSIGN_H
#define BL_ASSIGN_H

#include "base/base.h"

/* The permutation that minimises sum_j cost[j + match[j] * k] over cost [k,k], all finite. */
blica_status bl_assign(blica_ctx *ctx, int k, const double *cost, int *match /* [k] */);

#endif
