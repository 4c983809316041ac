/* placement.c - the rule of placement.h. */
#include "ranks/placement.h"

/* Above so many variables the tables of a segment take 40 kB or more, and its rows are the smaller message. */
enum { OWNED_FROM = 100 };

bl_keep bl_place(const blica_ctx *ctx, const bl_purpose *p, int n) {
  const bool owned = p->fit ? p->correlations && bl_ranks_own_segments(n, p->k) : n > OWNED_FROM;
  return owned && bl_comm(ctx)->size > 1 ? BL_KEEP_SEGMENTS : BL_KEEP_ALL;
}
