/* sgauss.h - the scaled Gaussian likelihood of section 5.2, its derivatives, and their minimisation.
 *
 * f(A, v, q) = sum_s N_s/2 [ log det S_s + tr(C_s S_s^-1) ],  S_s = Q_s (I + c A diag(v_s) A') Q_s,
 * plus, when asked for, the penalties |A|^2 / (2 sd_A^2) and |log v|^2 / (2 sd_v^2).
 *
 * Parameters: theta = [ A [n,k] | for each segment: log v_s [k], log q_s [n] ]. */
#ifndef BL_SGAUSS_H
#define BL_SGAUSS_H

#include "base/share.h"
#include "base/stage.h"
#include "estimate/options.h"
#include "num/simd.h"
#include "num/symmetric.h"

enum {
  BL_LANES_MAX_N = 32, /* up to this n several segments run side by side in vector lanes */
  BL_NEWTON_MAX = 800, /* up to this n k Newton steps add segments in groups */
  BL_FULL_MAX_N = 300  /* above this n matrices stay in packed pairs */
};

typedef struct {
  int n, k, u;
  double link;
  double precision_mixing, precision_variance; /* 1/sd^2 of the penalties; 0: none */
  double *weight;                              /* [u] N_s */
  double *c; /* correlation matrices: [n,n,u], or with lanes [n,n] vectors of 8 segments, block by block; NULL for large
                n, where the correlations stay where they are: */
  const double *pairs; /* [n(n-1)/2,u] packed, borrowed, each segment's to be multiplied by */
  double *scale;       /* [u] */
  bool lanes;          /* small n: eight segments side by side in SIMD lanes */
  int blocks;          /* of eight segments */
} bl_sgauss_data;

/* Newton steps sum segments in so many groups, so that the bits depend neither on threads nor on ranks. */
enum { BL_NEWTON_GROUPS = 8 };
/* Whether the dense Newton system is used. */
static inline bool bl_sgauss_newton_fits(int n, int k) {
  return (int64_t)n * k <= BL_NEWTON_MAX;
}
/* Groups that no rank's share of the segments may divide; 0: none. */
static inline int bl_sgauss_groups(int n, int k, int u) {
  return bl_sgauss_newton_fits(n, k) && u > BL_NEWTON_GROUPS ? BL_NEWTON_GROUPS : 0;
}

/* Whether an evaluation of a segment, of about so many operations, is worth sharing among threads. */
static inline bool bl_sgauss_worth(int n, int k) {
  return (double)n * k * (2.0 * n + 6.0 * k) >= 5e5;
}
/* Whether threads do better with all segments side by side: when rounds of whole segments would leave many of them
 * waiting. */
static inline bool bl_sgauss_side_by_side(int64_t segments, int threads) {
  if (segments == 0 || threads == 1 || segments >= 2 * threads) return false;
  int64_t rounds = (segments + threads - 1) / threads;
  return (double)segments < 0.85 * (double)(rounds * threads);
}

/* The matrices of cor, shifted (C + d I)/(1 + d) by shift [u] (NULL: not at all), in the layout that suits n. For large
 * n that is cor's own, which must live as long as the data. */
blica_status bl_sgauss_data_make(blica_ctx *ctx, const blica_cor *cor, const double *shift, int k,
                                 const bl_settings *options, bl_sgauss_data **out);
void bl_sgauss_data_free(bl_sgauss_data *data);

/* A point's evaluator: workspace for one caller at a time; the data are shared. */
typedef struct bl_sgauss bl_sgauss;
blica_status bl_sgauss_make(blica_ctx *ctx, const bl_sgauss_data *data, bl_sgauss **out); /* borrows the data */
void bl_sgauss_free(bl_sgauss *g);
const bl_sgauss_data *bl_sgauss_data_of(const bl_sgauss *g); /* what it was made with */

size_t bl_sgauss_size(const bl_sgauss_data *data);                     /* nk + u (k + n) */
static inline size_t bl_sgauss_local(const bl_sgauss_data *d, int s) { /* where segment s begins in theta */
  return (size_t)d->n * d->k + (size_t)s * (d->k + d->n);
}

/* f and its gradient; gradient may be NULL. */
double bl_sgauss_eval(bl_sgauss *g, const double *theta, double *gradient);

/* Constant that turns -f (penalties aside) into the log-likelihood: - sum N_s n/2 log 2 pi. */
double bl_sgauss_constant(const bl_sgauss_data *data);

/* Of a segment of this rank: */
/* The scale of each source chosen so that the mean of its variances is 1 (for a likelihood without penalties, which it
 * leaves as it was), and variances within the range where they change the likelihood. */
void bl_sgauss_standard(const bl_sgauss_data *data, double *theta);
/* Largest derivative in absolute value, those by A as they are in that scale. */
double bl_sgauss_slope(const bl_sgauss_data *data, const double *theta, const double *gradient);

void bl_sgauss_matrix(const bl_sgauss_data *data, int s, double *c /* [n,n] */);
/* The packed pairs of segment s, where matrices are kept packed. */
static inline const double *bl_sgauss_pairs(const bl_sgauss_data *d, int s) {
  size_t n = (size_t)d->n;
  return d->pairs + n * (n - 1) / 2 * (size_t)s;
}
/* The matrix of segment s for products; not with lanes. */
static inline bl_symmetric bl_sgauss_view(const bl_sgauss_data *d, int s) {
  size_t n = (size_t)d->n;
  if (d->c) return (bl_symmetric){.n = d->n, .full = d->c + n * n * (size_t)s};
  return (bl_symmetric){.n = d->n, .pairs = bl_sgauss_pairs(d, s), .scale = d->scale[s]};
}

/* Second derivatives of one segment's term at theta, exact or in expectation (Fisher: C replaced by S).
 * m = k + n local parameters, log v then log q. */
typedef struct bl_sgauss_hessian bl_sgauss_hessian; /* workspace */
/* Borrows the data; free with bl_free. */
blica_status bl_sgauss_hessian_make(blica_ctx *ctx, const bl_sgauss_data *data, bl_sgauss_hessian **out);
/* Adds to aa [nk,nk] (both triangles), sets al [nk,m] and ll [m,m]. Penalties are not included. */
void bl_sgauss_hessian_segment(bl_sgauss_hessian *h, int s, const double *theta, bool fisher, double *aa, double *al,
                               double *ll);

/* Damped Newton steps from theta until the gradient is below tolerance * max(1,|f|) and no longer
 * falls. Needs a matrix of (nk)^2. With a stage that a checkpoint has, takes up its state or result. */
typedef struct {
  double tolerance;
  int64_t max_steps;
  int (*hook)(int64_t step, double value, double gradient_max, void *user); /* as bl_iteration_hook */
  void *user;
  bl_stage *stage; /* where a checkpoint keeps the state */
} bl_newton_options;
typedef struct {
  double value, gradient_max;
  int64_t steps, evaluations;
  bool stopped, positive; /* by the hook; Hessian positive definite apart from the column scales */
} bl_newton_result;
/* From theta, which holds the best point on return. */
blica_status bl_sgauss_newton(blica_ctx *ctx, bl_sgauss *g, double *theta, const bl_newton_options *options,
                              bl_newton_result *result);

#endif
