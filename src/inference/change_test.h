/* change_test.h - do the variances of the sources change over segments? */
#ifndef BL_CHANGE_TEST_H
#define BL_CHANGE_TEST_H

#include "inference/rows.h"

/* *p against "the same correlations in all segments"; source_p [k] against "the variance of this source is the same in
 * all segments", at least *p. By `simulations` data sets under each hypothesis; a value is at least 1/(simulations+1).
 * Same bits for any number of threads. */
blica_status bl_change_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                            int simulations, uint64_t seed, double *p, double *source_p);

#endif
