/* placement.h - which rank holds the pair tables and the correlations of which segments.
 *
 * A verb decides this once, from the sizes and from what the tables are for, and passes the answer down; counting and
 * correlating do not ask what comes after them. */
#ifndef BL_PLACEMENT_H
#define BL_PLACEMENT_H

#include "base/base.h"

/* What a rank holds: all segments, or those that it owns, in equal shares as bl_share_make has it. With fewer segments
 * than ranks some own none. */
typedef enum { BL_KEEP_ALL, BL_KEEP_SEGMENTS } bl_keep;

/* The part of counts or correlations that a rank holds: the segments first..last-1. */
struct blica_part {
  int first, last;
};

/* What tables are counted or loaded for. */
typedef struct {
  bool fit;          /* for a fit; false: for correlations or a file */
  int k;             /* sources */
  bool correlations; /* the fit uses the correlations of a segment on the rank that owns it */
} bl_purpose;

/* The sizes on which placement depends. Estimators read them from here, so that work and data are placed alike. */
enum {
  BL_LANES_MAX_N = 32, /* up to this n several segments run side by side in vector lanes */
  BL_NEWTON_MAX = 800, /* up to this n k Newton steps add segments in groups */
  BL_FULL_MAX_N = 300  /* above this n matrices stay in packed pairs */
};

/* Whether a rank needs the correlations of its own segments only. */
static inline bool bl_ranks_own_segments(int n, int k) {
  return n > BL_LANES_MAX_N && (int64_t)n * k > BL_NEWTON_MAX;
}

/* What each rank of ctx holds of segments of n variables. The same answer on all ranks. */
bl_keep bl_place(const blica_ctx *ctx, const bl_purpose *purpose, int n);

#endif
