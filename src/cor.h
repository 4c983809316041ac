/* cor.h - making and copying blica_cor. */
#ifndef BL_COR_H
#define BL_COR_H

#include "base/base.h"

/* Zeros; names copied; condition infinite, eigenvalues NaN. */
blica_status bl_cor_create(blica_ctx *ctx, int n, int u, char **variables, char **segments, const double *samples,
                           blica_cor **out);
blica_status bl_cor_copy(blica_ctx *ctx, const blica_cor *cor, blica_cor **out);

#endif
