/* mvn.h - probabilities of rectangles of a multivariate normal distribution, many rectangles of one distribution at a
 * time, with derivatives. Y ~ N(mean, cov); a row x is the rectangle where Y_i is at level x_i (intervals.h). With two
 * levels each that is an orthant: Y_i > 0 where x_i = 1 and Y_i < 0 where x_i = 0. */
#ifndef BL_MVN_H
#define BL_MVN_H

#include "base/base.h"
#include "num/rectangles/intervals.h"

#define BL_MVN_MAX 128   /* largest n of separation of variables */
#define BL_MVN_BLOCK 512 /* points at a time where only values are wanted; the least that a workspace holds */

/* Distinct rows of n variables, sorted for the walk in a fixed order of the variables. */
typedef struct {
  int n;
  int64_t count;
  int *order;   /* [n] the variable at each level */
  int64_t *row; /* [count] the given row at each sorted place */
  uint8_t *x;   /* [count] rows of n: sorted, variables in order */
} bl_mvn_tree;

/* The order of variables that gives small errors for this covariance, n <= BL_MVN_MAX; fixed from then on, so
 * that what is computed stays a smooth function of mean and cov. */
void bl_mvn_order(int n, const double *cov, int *order);
/* Sorts the rows; free with bl_free. */
blica_status bl_mvn_tree_make(blica_ctx *ctx, int n, const int *order, int64_t count,
                              const uint8_t *x /* count rows of n levels, distinct */, bl_mvn_tree **out);

/* The workspace of one thread, for up to n variables with up to `edges` edges. Lattices have up to `points` points when
 * a gradient is wanted, any number when only values are. */
typedef struct {
  int n, edges, points;
  int64_t count;
  double *cholesky, *slope, *offset, *g_slope, *g_offset, *solve, *uniform, *weight, *log_p, *kernel;
  double *edge, *g_edge; /* in the order of the tree, in units of conditional deviations */
  int *first_edge;
} bl_mvn_work;
/* Memory only; free with bl_free. */
blica_status bl_mvn_work_make(blica_ctx *ctx, int n, int edges, int points, int64_t count, bl_mvn_work **out);

/* What is wanted of places low..high-1 of the tree, m of them. The gradient belongs to the sum over those places of
 * weight * log p. */
typedef struct {
  const double *weight; /* [count] by given row; NULL: no gradient */
  double *log_p;        /* [m] */
  double *g_mean;       /* [n] */
  double *g_cov;        /* [n,n] symmetric: d f = sum_ij g_ij d cov_ij */
  double *g_edge;       /* by edge; NULL: not wanted, or two levels each */
} bl_mvn_result;

/* Separation of variables on one randomly shifted lattice of points (a power of 2, 64 .. 8192): (seed, stream)
 * fixes the shift. levels NULL: two each. Returns false when cov is not positive definite. */
bool bl_mvn_lattice(const bl_mvn_tree *tree, const double *mean, const double *cov, const bl_intervals *levels,
                    int64_t low, int64_t high, int points, uint64_t seed, uint64_t stream, blica_simd level,
                    bl_mvn_work *work, const bl_mvn_result *result);

#endif
