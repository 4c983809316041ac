/* same.h - digests of what a computation starts from, and whether all ranks start from the same. Ranks take the same
 * decisions because they compute the same numbers from the same input; this makes sure of it. */
#ifndef BL_SAME_H
#define BL_SAME_H

#include "base/base.h"

/* Of the counts of segment s, margins included. */
uint64_t bl_counts_digest(const blica_counts *counts, int s);
/* Of the correlations and thresholds of segment s. */
uint64_t bl_cor_digest(const blica_cor *cor, int s);

/* Fails on all ranks, with one message, when program, machine, options or input of any differ from those of the first.
 * Members of input and the model may be NULL. A call of all ranks; alone there is nothing to compare. */
blica_status bl_same(blica_ctx *ctx, const blica_input *input, const blica_model *model, const blica_option *table,
                     int count, const void *options);

#endif
