/* fit_same.h - whether all ranks are about to make the same fit. */
#ifndef BL_FIT_SAME_H
#define BL_FIT_SAME_H

#include "base/base.h"

/* Fails on all ranks, with one message, when program, machine, options or data of any differ from those of the first. A
 * call of all ranks; alone there is nothing to compare. */
blica_status bl_fit_same(blica_ctx *ctx, const blica_input *input, const blica_fit_options *options);

#endif
