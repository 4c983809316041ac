/* plackett.h - the probabilities of all 2^n orthants of a normal distribution, and their derivatives, by Plackett's
 * reduction to integrals of half the dimension: for small n, to any accuracy that quadrature gives. */
#ifndef BL_PLACKETT_H
#define BL_PLACKETT_H

#include "num/rectangles/mvn.h"
#include "num/simd.h"

#define BL_PLACKETT_MAX 12   /* largest n: the cost grows like 1 3 5 .. (n-1) nodes^(n/2) */
#define BL_PLACKETT_NODES 24 /* most nodes of an integral */

/* A Gauss-Legendre rule on (0,1). */
typedef struct {
  int nodes;
  double node[BL_PLACKETT_NODES], weight[BL_PLACKETT_NODES];
} bl_plackett_rule;

/* Eight standardised distributions of m variables at once, lane by lane. */
typedef struct {
  int m;
  const bl_plackett_rule *rule;
  const double *h;   /* [8,m] means over standard deviations */
  const double *rho; /* [8,m(m-1)/2] correlations: of i > j at i(i-1)/2 + j */
  double *moment;    /* [8,2^m] out: E prod_{i in S} sign(Y_i), bit i of S being variable i */
  double *work;      /* bl_plackett_batch_work(m) doubles */
} bl_plackett_batch;

static inline size_t bl_plackett_batch_work(int m) {
  size_t vectors = 0;
  for (; m > 0; m -= 2) vectors += ((size_t)1 << m) + (size_t)m * (size_t)(m + 2);
  return vectors * BL_LANES;
}
BL_KERNEL(void, bl_plackett_batch, const bl_plackett_batch *batch);
static inline void bl_plackett_batch_run(const bl_plackett_batch *batch, blica_simd level) {
  BL_AT(level, bl_plackett_batch)(batch);
}

/* About how many exponentials all orthants of n variables take. */
double bl_plackett_cost(int n, int nodes);

/* The order of variables that needs fewest nodes: each is of those up to it the one least determined by the others. */
void bl_plackett_order(int n, const double *cov, int *order);

/* The workspace of one thread. */
typedef struct {
  int n;
  bl_plackett_rule rule;
  double *h, *deviation, *rho, *factor; /* means over deviations, correlations and their Cholesky factor, in order */
  double *moment, *p;                   /* [2^n] */
  double *by_mean, *by_pair;            /* [2^(n-1),n], [2^(n-2),n(n-1)/2] of each orthant, the signs taken out */
  double *slope;
  double *lane_h, *lane_rho, *lane_moment, *lane_work;
} bl_plackett_work;
/* Memory only, to be freed with bl_free; slopes: derivatives will be asked for. */
blica_status bl_plackett_work_make(blica_ctx *ctx, int n, bool slopes, bl_plackett_work **out);

/* As bl_mvn_lattice, with `nodes` nodes (2 .. BL_PLACKETT_NODES) in each integral. False when cov is not positive
 * definite. */
bool bl_plackett(const bl_mvn_tree *tree, const double *mean, const double *cov, int64_t low, int64_t high, int nodes,
                 blica_simd level, bl_plackett_work *work, const bl_mvn_result *result);

#endif
