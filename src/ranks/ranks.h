/* ranks.h - names exchanged between ranks. */
#ifndef BL_RANKS_H
#define BL_RANKS_H

#include "base/base.h"

int64_t bl_text_bytes(char *const *texts, int count); /* with their zeros */

/* root's texts, one after the other with their zeros, into a new block on every rank. */
blica_status bl_broadcast_texts(blica_ctx *ctx, char *const *texts, int count, int64_t bytes, int root, char **out);

/* The n names of variables that root has, in a new block, and where each begins; a rank whose own (NULL: it has none)
 * differ fails, it alone. */
blica_status bl_agree_on_names(blica_ctx *ctx, int n, int64_t bytes, char **own, int own_n, int root, char **block,
                               const char ***names);

#endif
