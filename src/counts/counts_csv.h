/* counts_csv.h - counts in long form; counts_io.c chooses between this and .npz. */
#ifndef BL_COUNTS_CSV_H
#define BL_COUNTS_CSV_H

#include "base/base.h"
#include "ranks/relay.h"

/* In long form, through the relay, which brings what other ranks hold. */
blica_status bl_counts_save_csv(blica_ctx *ctx, const blica_counts *counts, bl_relay *relay, const char *path);
/* Fails naming line and field. */
blica_status bl_counts_load_csv(blica_ctx *ctx, const char *path, blica_counts **out);

/* Allocation-free: whether every number can be a count. Fails naming path and the first that cannot. */
blica_status bl_counts_validate(blica_ctx *ctx, const blica_counts *counts, const char *path);

#endif
