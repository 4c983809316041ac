/* placement.h - which rank holds the pair tables and the correlations of which segments.
 *
 * A verb decides this once, from the sizes and from what the tables are for, and passes the answer down; counting and
 * correlating do not ask what comes after them. */
#ifndef BL_PLACEMENT_H
#define BL_PLACEMENT_H

#include "base/base.h"

/* What a rank holds: all segments; the segments that it owns, in equal shares as bl_share_make has it; or the parts of
 * segments that it multiplies (num/products.h), where there are fewer segments than ranks. */
typedef enum { BL_KEEP_ALL, BL_KEEP_SEGMENTS, BL_KEEP_PARTS } bl_keep;

/* The part of counts or correlations that a rank holds: the segments first..last-1 or, of correlations, `tables` pairs
 * from pair first_pair of segment first on. */
struct blica_part {
  int first, last;
  int64_t first_pair, tables;
};

/* What tables are counted or loaded for. */
typedef struct {
  bool fit;          /* for a fit; false: for correlations or a file */
  int k;             /* sources */
  bool correlations; /* the fit uses the correlations of a segment on the rank that owns it */
  bool parts;        /* several ranks can hold parts of one segment */
} bl_purpose;

/* The sizes on which placement depends. Estimators read them from here, so that work and data are placed alike. */
enum {
  BL_LANES_MAX_N = 32, /* up to this n several segments run side by side in vector lanes */
  BL_NEWTON_MAX = 800, /* up to this n k Newton steps add segments in groups */
  BL_FULL_MAX_N = 300  /* above this n matrices stay in packed pairs, and their products can be shared */
};

/* Whether a rank needs the correlations of its own segments only. */
static inline bool bl_ranks_own_segments(int n, int k) {
  return n > BL_LANES_MAX_N && (int64_t)n * k > BL_NEWTON_MAX;
}

/* Whether ranks share the work inside a segment, because there are more of them than segments; with purpose.parts they
 * share its pairs, too (BL_KEEP_PARTS). One segment of n = 4000 on two ranks then takes 135 MB, and 198 MB on the owner
 * of its counts, in place of 234 MB; two segments of n = 2000 are fitted 2.3 times as fast by four ranks
 * (bench/results/scaling.md, mpi.md). With fewer variables the messages cost more than the work that is saved: at n = k
 * = 100 nothing was gained.
 */
static inline bool bl_ranks_cut_segments(int n, int k, int u, int ranks) {
  return u < ranks && n > BL_FULL_MAX_N && (int64_t)n * k > BL_NEWTON_MAX;
}

/* What each rank of ctx holds of n variables in u segments. The same answer on all ranks. */
bl_keep bl_place(const blica_ctx *ctx, const bl_purpose *purpose, int n, int u);

#endif
