/* counts.h - making and checking blica_counts, inside the library. */
#ifndef BL_COUNTS_H
#define BL_COUNTS_H

#include "base/base.h"
#include "base/intern.h"
#include "ranks/placement.h"

/* All zero, with copies of the names. variables and segments may be NULL: the caller sets them. */
blica_status bl_counts_create(blica_ctx *ctx, int n, int u, bool complete, const char *const *variables,
                              const char *const *segments, blica_counts **out);
/* The same with tables of the segments first..last-1 only. */
blica_status bl_counts_create_part(blica_ctx *ctx, int n, int u, bool complete, const char *const *variables,
                                   const char *const *segments, int first, int last, blica_counts **out);
/* The first segment with tables here, and one past the last. */
static inline int bl_counts_first(const blica_counts *c) {
  return c->part ? c->part->first : 0;
}
static inline int bl_counts_last(const blica_counts *c) {
  return c->part ? c->part->last : c->u;
}
static inline bool bl_counts_whole(const blica_counts *c) {
  return bl_counts_first(c) == 0 && bl_counts_last(c) == c->u;
}
/* Fails unless the tables of all segments are here. */
blica_status bl_counts_need_whole(blica_ctx *ctx, const blica_counts *counts);

/* From counts of a rank's own segments (taken over; NULL when it has none) to counts of all u segments with tables of
 * its own only: ranks have the segments one rank's after another's, in equal shares as bl_share_make has it. A call of
 * all ranks. */
blica_status bl_counts_distribute(blica_ctx *ctx, blica_counts *own, int n, int u, char *const *variables,
                                  char *const *segments, blica_counts **out);
/* blica_count_begin and blica_counts_load_ranks for a purpose (ranks/placement.h). */
blica_status bl_counter_begin(blica_ctx *ctx, const bl_purpose *purpose, blica_counter **out);
/* The counts of a file; of an .npz, the part that this rank needs for the purpose. */
blica_status bl_counts_load_placed(blica_ctx *ctx, const char *path, const bl_purpose *purpose, blica_counts **out);
/* The data's counts with tables of this rank's own segments only. A call of all ranks, which all have the same data. */
blica_status bl_count_own(blica_ctx *ctx, const blica_data *data, blica_counts **out);
/* blica_count_add by this process alone. */
blica_status bl_count_alone(blica_ctx *ctx, const blica_data *data, blica_counts **sum);

/* Allocates the cells n10, n01, n00 of complete counts and fills them from the margins. */
blica_status bl_counts_expand(blica_ctx *ctx, blica_counts *counts);

/* Segment s of part, which has its tables, is added to segment t of sum, which has the same variables. */
void bl_counts_add(blica_counts *sum, int t, const blica_counts *part, int s);
/* Whose counts are added: sizes and names. */
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

#endif
