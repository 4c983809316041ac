/* level_tables.h - the likelihood of the tables of all pairs of items with levels, means and cuts included. */
#ifndef BL_LEVEL_TABLES_H
#define BL_LEVEL_TABLES_H

#include "base/base.h"

/* f = - weight sum over segments, pairs of items and cells of n log P
 *     + |A|^2 precision_mixing / 2 + |log v|^2 precision_variance / 2.
 * theta = [ A [n,k] | log v [k,u] | means [k,u] | cuts: of each item the first, then logs of the distances ]. */
typedef struct bl_level_tables bl_level_tables;

/* counts and the model's coding must live as long. The model gives sizes, levels and the link. Free with
 * bl_free. */
blica_status bl_level_tables_make(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, double weight,
                                  double precision_mixing, double precision_variance, bl_level_tables **out);

size_t bl_level_tables_size(const bl_level_tables *tables); /* of theta */
/* The value f at theta and its gradient. */
double bl_level_tables_eval(bl_level_tables *tables, const double *theta, double *gradient);
/* Between theta and the mixing matrix, variances, means and cuts of a model. */
void bl_level_tables_take(const blica_model *model, double *theta);
void bl_level_tables_give(const double *theta, blica_model *model); /* from theta to the model */

#endif
