/* align.h - counts in the order of a model's columns and segments. */
#ifndef BL_ALIGN_H
#define BL_ALIGN_H

#include "base/base.h"

/* place[i] is where name i of the model stands among the given names. Fails with BLICA_ERR_DATA, naming the first name
 * that only one of them has; `what` says what is named. */
blica_status bl_align_names(blica_ctx *ctx, const char *what, int have, char **model, int given, char **names,
                            int *place);

/* A copy of the counts with columns and segments in the order of the model. Fails with BLICA_ERR_DATA, naming the
 * first name that is missing, when the two do not have the same columns and the same segments. */
blica_status bl_align_counts(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, blica_counts **out);

#endif
