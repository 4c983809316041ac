/* align.h - counts in the order of a model's variables and segments. */
#ifndef BL_ALIGN_H
#define BL_ALIGN_H

#include "base/base.h"

/* A copy of the counts with variables and segments in the order of the model. Fails with BLICA_ERR_DATA, naming the
 * first name that is missing, when the two do not have the same variables and the same segments. */
blica_status bl_align_counts(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, blica_counts **out);

#endif
