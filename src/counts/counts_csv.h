/* counts_csv.h - counts in long form; counts_io.c chooses between this and .npz. */
#ifndef BL_COUNTS_CSV_H
#define BL_COUNTS_CSV_H

#include "base/base.h"

/* Writes the file, whole or not at all. */
blica_status bl_counts_save_csv(blica_ctx *ctx, const blica_counts *counts, const char *path);
/* Fails naming line and field. */
blica_status bl_counts_load_csv(blica_ctx *ctx, const char *path, blica_counts **out);

#endif
