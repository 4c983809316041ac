/* facts.h - named facts about a computation: its program, machine, options and input. Ranks compare them before they
 * begin: they take the same decisions because they compute the same numbers from the same input. A checkpoint keeps
 * them, so that a difference can be named when it is resumed. */
#ifndef BL_FACTS_H
#define BL_FACTS_H

#include "files/stage.h"

/* Fails on all ranks, with one message, when program, machine, options or input of any differ from those of the first.
 * Members of input and the model may be NULL. A call of all ranks; alone there is nothing to compare. */
blica_status bl_same(blica_ctx *ctx, const blica_input *input, const blica_model *model, const blica_option *table,
                     int count, const void *options);

/* Opens the checkpoint that the options name (none: *out is NULL), and compares program and options with those that
 * made it. */
blica_status bl_resume_open(blica_ctx *ctx, const blica_option *table, int count, const void *options, double deadline,
                            bl_checkpoint **out);
/* Compares the members of input that are not NULL with those that made the checkpoint (NULL: nothing to compare). */
blica_status bl_resume_input(blica_ctx *ctx, bl_checkpoint *checkpoint, const blica_input *input);

#endif
