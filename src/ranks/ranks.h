/* ranks.h - names exchanged between ranks. */
#ifndef BL_RANKS_H
#define BL_RANKS_H

#include "base/base.h"

/* root's texts, *count of them, in a new list on every rank, which also gets their number; free with bl_free. */
blica_status bl_broadcast_texts(blica_ctx *ctx, char *const *texts, int *count, int root, const char ***out);

/* The names of variables that root has, *n of them, in a new list; a rank whose own (NULL: it has none) differ fails,
 * it alone. *n is 0 when root has none. */
blica_status bl_agree_on_names(blica_ctx *ctx, char **own, int own_n, int root, int *n, const char ***names);

#endif
