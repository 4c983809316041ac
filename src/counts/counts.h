/* counts.h - making, checking and adding blica_counts; counts in long form. */
#ifndef BL_COUNTS_H
#define BL_COUNTS_H

#include "base/base.h"
#include "base/intern.h"
#include "counts/item_sets.h"

/* All zero, with copies of the names. variables and segments may be NULL: the caller sets them. */
blica_status bl_counts_create(blica_ctx *ctx, int n, int u, bool complete, const char *const *variables,
                              const char *const *segments, blica_counts **out);

/* Adds the tables of weighted data to counts, whose segment target[s] is that of the data's segment s. */
blica_status bl_count_weighted(blica_ctx *ctx, const blica_data *data, const int32_t *target, blica_counts *counts);

/* Whether every number can be a count: fails naming path and the first that cannot. Allocates nothing. */
blica_status bl_counts_validate(blica_ctx *ctx, const blica_counts *counts, const char *path);

/* Segment s of part, which has its tables, is added to segment t of sum, which has the same variables. */
void bl_counts_add(blica_counts *sum, int t, const blica_counts *part, int s);
/* Adds the item sets of segment s of part to segment t of sum, which has lists of them; those of sum are dropped when
 * those of part are not known. */
blica_status bl_counts_add_sets(blica_ctx *ctx, blica_counts *sum, int t, const blica_counts *part, int s);
/* Sizes and names of counts that are to be added. */
typedef struct {
  int n, u;
  bool complete;
  char **variables, **segments;
} bl_counts_outline;

/* Makes *sum (when NULL) or gives it room for the segments of what is added, and for n10, n01 and n00 when that is not
 * complete; target [u] is where each segment goes. Fails when the variables are others, naming the first. */
blica_status bl_counts_extend(blica_ctx *ctx, const bl_counts_outline *added, blica_counts **sum, int32_t *target);

/* The rows in the cells of items i < j of segment s, [levels of i, levels of j] row-major; returns their sum. */
double bl_counts_cells(const blica_counts *counts, const blica_coding *coding, int s, int i, int j, double *cell);

/* Counts that a correlation can be made of: fails on a segment of a sample with fewer than two rows,
 * naming it. Not a matter of counting itself: a piece of the data may well hold one row of a segment. */
blica_status bl_counts_check(blica_ctx *ctx, const blica_counts *counts);

/* Counts in long form (counts_csv.c): writes the file, whole or not at all. */
blica_status bl_counts_save_csv(blica_ctx *ctx, const blica_counts *counts, const char *path);
/* Reads that file; errors name line and field. */
blica_status bl_counts_load_csv(blica_ctx *ctx, const char *path, blica_counts **out);

#endif
