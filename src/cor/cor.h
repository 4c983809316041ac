/* cor.h - making and copying blica_cor. */
#ifndef BL_COR_H
#define BL_COR_H

#include "base/base.h"
#include "num/symmetric.h"

/* Zeros; names copied; condition infinite, eigenvalues NaN. Without errors se is NULL. */
blica_status bl_cor_create(blica_ctx *ctx, int n, int u, char **variables, char **segments, const double *samples,
                           bool errors, blica_cor **out);
/* The matrix of a segment, for products. */
bl_symmetric bl_cor_view(const blica_cor *cor, int s);
/* Items' levels: the coding is taken over unless the call fails, and thresholds get room for all of its columns. */
blica_status bl_cor_set_coding(blica_ctx *ctx, blica_cor *cor, blica_coding *coding);
blica_status bl_cor_copy(blica_ctx *ctx, const blica_cor *cor, blica_cor **out); /* a deep copy */

enum { BL_LANCZOS_FROM = 300 }; /* above so many variables eigenvalues are found by products, which threads may share */

/* What blica_regularise would do, without a copy: per segment [u] the shift d and the eigenvalues at both ends. The
 * default condition is replaced by the one it stands for. */
blica_status bl_regularise_shifts(blica_ctx *ctx, const blica_cor *cor, double *condition, double *shift, double *low,
                                  double *high);

#endif
