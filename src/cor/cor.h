/* cor.h - making, copying and regularising blica_cor, and the check of counts before it. */
#ifndef BL_COR_H
#define BL_COR_H

#include "base/base.h"
#include "num/linear/symmetric.h"

/* Zeros; names copied; condition infinite, eigenvalues NaN. Without errors se is NULL. */
blica_status bl_cor_create(blica_ctx *ctx, int n, int u, char **variables, char **segments, const double *samples,
                           bool errors, blica_cor **out);
/* The matrix of a segment, for products. */
bl_symmetric bl_cor_view(const blica_cor *cor, int s);
/* Items' levels: the coding is taken over unless the call fails, and thresholds get room for all of its columns. */
blica_status bl_cor_set_coding(blica_ctx *ctx, blica_cor *cor, blica_coding *coding);
/* Where values are missing, sets item_rows, pair_rows and sets of cor, which has the segments of counts. */
blica_status bl_cor_keep_rows(blica_ctx *ctx, const blica_counts *counts, blica_cor *cor);
/* The rows of segment s with values of items i < j; of all of them where nothing is missing. */
static inline double bl_cor_pair_rows(const blica_cor *cor, int s, int i, int j) {
  if (!cor->pair_rows) return cor->samples[s];
  return cor->pair_rows[(size_t)s * (size_t)cor->pairs + (size_t)blica_pair(i, j)];
}
/* The rows of segment s with a value of item i. */
static inline double bl_cor_item_rows(const blica_cor *cor, int s, int i) {
  return cor->item_rows ? cor->item_rows[(size_t)i + (size_t)s * (size_t)cor->n] : cor->samples[s];
}
blica_status bl_cor_copy(blica_ctx *ctx, const blica_cor *cor, blica_cor **out); /* a deep copy */
/* A copy in which pairs without common rows have the correlations that k factors predict (cor_fill.c). */
blica_status bl_cor_fill(blica_ctx *ctx, const blica_cor *cor, int k, blica_cor **out);

/* Warns of what a fit cannot repair: items and segments without values, items that are constant or copies of others,
 * pairs that no row has together. Fails when no two items vary, unless that is allowed. */
blica_status bl_check_before_fit(blica_ctx *ctx, const blica_counts *counts, bool allow_unidentified);

enum { BL_LANCZOS_FROM = 300 }; /* above this many variables eigenvalues are found by products */

/* Computes what blica_regularise would do, without a copy: the shift d of each segment [u] and its smallest and largest
 * eigenvalue. The default condition is replaced by its value. */
blica_status bl_regularise_shifts(blica_ctx *ctx, const blica_cor *cor, double *condition, double *shift, double *low,
                                  double *high);

#endif
