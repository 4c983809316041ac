/* placement.c - the rule of placement.h. */
#include "ranks/placement.h"

/* Above so many variables the tables of a segment take 40 kB or more, and its rows are the smaller message. */
enum { OWNED_FROM = 100 };

bl_keep bl_place(const blica_ctx *ctx, const bl_purpose *p, int n, int u) {
  const int size = bl_comm(ctx)->size;
  if (size == 1) return BL_KEEP_ALL;
  if (!p->fit) return n > OWNED_FROM ? BL_KEEP_SEGMENTS : BL_KEEP_ALL;
  const bool cut = bl_ranks_cut_segments(n, p->k, u, size);
  if (cut && p->parts) return BL_KEEP_PARTS;
  return cut || !p->correlations || !bl_ranks_own_segments(n, p->k) ? BL_KEEP_ALL : BL_KEEP_SEGMENTS;
}
