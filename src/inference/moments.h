/* moments.h - margins and pairs of a segment, whitened, for M2. */
#ifndef BL_MOMENTS_H
#define BL_MOMENTS_H

#include "inference/implied.h"
#include "inference/rows.h"
#include "num/plackett.h"

/* One segment at a time. */
typedef struct {
  blica_ctx *ctx;
  const blica_model *model; /* at which things are computed */
  const bl_rows *rows;
  const blica_counts *counts;
  int n, k, columns;
  size_t pairs, q, m; /* pairs of items; q moments, m = nk + k parameters beside the thresholds */
  int *member;        /* [2,q] columns of a moment; of a margin twice the same. Owns the other arrays */
  size_t *moment_at;  /* [columns,columns] the moment of two columns of different items, the lower first */
  bool *used;         /* [columns] */
  double *t, *p, *scale, *rho;
  bl_implied_table *table; /* [q] of pairs */
  double *three, *four;    /* probabilities of three and four ones */
  double *xi;              /* [q,q] */
  double *z;               /* [q, columns + m + 1] slopes in thresholds and parameters, residuals */
  double *slope;           /* [pairs,m] */
  bl_plackett_rule rule;
  double *h, *r, *moment, *work;
} bl_moments;

/* Sets of 1 to 4 columns of different items, sets[1] to sets[4]. */
void bl_moments_sets(const blica_coding *coding, int n, double sets[5]);

/* Allocates; ctx, rows, counts, n, k, columns, pairs, q and m are set. */
blica_status bl_moments_make(bl_moments *moments);
void bl_moments_free(bl_moments *moments);

/* Segment s at moments->model: *pairs is the number of pairs used; in z, below the first `columns` rows, are the
 * slopes in A and log v (columns `columns` .. columns + m - 1) and the residuals (the last). */
blica_status bl_moments_segment(bl_moments *moments, int s, int64_t *pairs);

#endif
