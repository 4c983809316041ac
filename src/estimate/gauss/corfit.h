/* corfit.h - estimators that see the model through its correlations R_s = corr(I + c A diag(v_s) A').
 *
 * f(A, v) = sum_s F_s(R_s) + |A|^2 / (2 sd_A^2) + |log v|^2 / (2 sd_v^2) - p/2 sum_i log(1 + c |a_i|^2), with F_s a
 * negative (pseudo) log-likelihood of segment s and a_i the rows of A; p is 0 but in method matched (docs/method.md,
 * equation 32). Parameters: theta = [ A [n,k] | log v_1 [k] | ... | log v_u [k] ]. */
#ifndef BL_CORFIT_H
#define BL_CORFIT_H

#include <math.h>

#include "base/share.h"
#include "estimate/gauss/blocks.h"
#include "estimate/gauss/matched_information.h"
#include "num/simd.h"
#include "num/symmetric.h"

typedef struct bl_corfit_data bl_corfit_data;
typedef struct bl_margins bl_margins; /* margins.h */
/* A segment whose objective is a sum over pairs: the sum over the pairs (i,j), i < j, of one j at correlations rho [j],
 * and the slope of each there. */
typedef double (*bl_corfit_pair_term)(const bl_corfit_data *data, int s, int j, const double *rho, double *slope);

struct bl_corfit_data {
  int n, k, u;
  double link;
  const double *weight; /* [u] N_s */
  bl_share share;       /* of the segments among ranks: method matched without lanes */
  double *c; /* method matched: [n,n] correlations of this rank's segments; with lanes all of them, with the noise on
                the diagonal; NULL for large n, where products are made from the pairs of cor */
  double *noise;              /* [n,u] variance that dichotomising and missing values add: method matched, else NULL */
  double *plain;              /* [n,u] variance that dichotomising adds; noise itself where nothing is missing */
  bl_blocks *blocks;          /* method matched where values are missing, else NULL */
  bool lanes;                 /* method matched, small n: c and lane_noise hold vectors of eight segments, all blocks */
  double *lane_noise;         /* with lanes */
  const blica_counts *counts; /* method pairwise */
  const double *thresholds;   /* [n,u]: method pairwise */
  const double *below, *above;                 /* [n,u] Phi of thresholds and of minus thresholds: method pairwise */
  blica_simd level;                            /* method pairwise */
  const double *log_scale;                     /* [n,u] of ordinal items, or NULL: method matched */
  double *scale_precision;                     /* [n,u] of the same */
  const blica_cor *cor;                        /* method matched */
  bl_corfit_pair_term pair;                    /* of a sum over pairs: method pairwise; NULL: method matched */
  size_t work;                                 /* doubles that a term or a block needs */
  double precision_mixing, precision_variance; /* 1/sd^2 of the priors; 0: none */
  double row_power;                            /* p of the prior of A's rows */
  const double *begin; /* theta of the only start, where another method's solution serves; NULL: the usual starts */
  const bl_corfit_data *also; /* an objective of the same theta that is added, without priors of its own; or NULL */
  bool average;               /* learn the priors' scales, and A, with the log-variances averaged over */
  bool common_cuts;           /* margins tell about A and v: cuts are common to all segments */
  bl_margins *margins;        /* the same while scales are learned; NULL: nothing */
};

/* One segment of method matched without lanes and missing values takes this many doubles of workspace. */
size_t bl_corfit_matched_work(int n, int k);
/* The value at a point of n items with the correlations c, and its gradient. */
double bl_matched_block(const bl_matched_point *at, const bl_symmetric *c, double *work, double *gradient_a,
                        double *gradient_v);
size_t bl_matched_block_work(int n, int k); /* doubles that it needs */

/* Eight segments of method matched, one per lane; value and the gradient of A are sums over lanes in lane order. Lanes
 * of weight 0 do not count. */
typedef struct {
  int n, k;
  double link;
  const double *a;            /* [n,k] */
  const bl_v *c, *noise;      /* [n,n], [n] */
  const bl_v *weight, *log_v; /* [1], [k] */
} bl_corfit_block;
BL_KERNEL(void, bl_corfit_lanes, const bl_corfit_block *in, bl_v *work, double *value, double *gradient_a,
          bl_v *gradient_v);
/* Doubles: b, root b, 1/root b [k]; d, psi, 1/psi, diagonal of G [n]; L, W, Z [k,k]; B, F, X, E, GB [n,k]. */
static inline size_t bl_corfit_lanes_work(int n, int k) {
  return (size_t)BL_LANES * (3 * (size_t)k + 4 * (size_t)n + 3 * (size_t)k * k + 5 * (size_t)n * k);
}

/* The same of data->pair, a sum over pairs. */
double bl_corfit_pairs(const bl_corfit_data *data, int s, const double *a, const double *log_v, double *work,
                       double *gradient_a, double *gradient_v);
size_t bl_corfit_pairs_work(int n, int k); /* doubles, also of the two terms below */

/* The same in steps: begin, the parts in any order, end; workspace and the results of all parts, one after the other,
 * of these sizes. */
#define BL_CORFIT_LEFT_OUT (-INFINITY)         /* in place of a value: the user or the clock said stop */
int bl_corfit_parts(int n);                    /* their number */
size_t bl_corfit_workspace_size(int n, int k); /* doubles of `workspace` */
size_t bl_corfit_result_size(int n);           /* doubles of a part's result */
/* Fills workspace, which all parts read. */
void bl_corfit_pairs_begin(const bl_corfit_data *data, const double *a, const double *log_v, double *workspace);
/* One part's sum over pairs, into its result. */
void bl_corfit_pairs_part(const bl_corfit_data *data, int s, int part, double *workspace, double *result);
/* The value, from the results of all parts, and its gradient. */
double bl_corfit_pairs_end(const bl_corfit_data *data, const double *a, double *workspace, const double *results,
                           double *gradient_a, double *gradient_v);
/* These for all segments side by side; NULL where they are not worth sharing, or enough. */
typedef struct bl_corfit_steps bl_corfit_steps;
/* For the segments of share, which it borrows. Free with bl_free. */
blica_status bl_corfit_steps_make(blica_ctx *ctx, const bl_corfit_data *data, const bl_share *share,
                                  bl_corfit_steps **out);
/* All segments at theta. BL_CORFIT_LEFT_OUT among the values: a stop was requested. */
void bl_corfit_steps_run(bl_corfit_steps *steps, const double *theta, double *value, double *gradient_a,
                         double *gradient_v);

/* Of a segment's weight, the share that its tables get in method matched; whether any segment has one. */
double bl_corfit_rare_share(const blica_cor *cor, int s);
bool bl_corfit_is_rare(const blica_cor *cor); /* whether any segment gives its tables a share */

/* What ordinal items show of their scales: sum over items and segments of precision/2 (log_scale - 1/2 log M_s,ii -
 * d_i)^2, d_i being the best constant. Adds to the gradient (corfit_scales.c). */
double bl_corfit_scales(const bl_corfit_data *data, const double *theta, double *gradient);
/* Adds what the scales of segment s tell about its log v to information [k,k], d_i given. */
void bl_corfit_scales_information(const bl_corfit_data *data, const double *theta, int s, double *information);

/* The data of method pairwise, with the thresholds of shape. Borrows both; the caller sets weights and tails. */
bl_corfit_data bl_corfit_pairwise_data(blica_ctx *ctx, const blica_counts *counts, const blica_model *shape,
                                       double link);
/* Sets below and above, which the caller frees through *block. */
blica_status bl_corfit_tails(blica_ctx *ctx, bl_corfit_data *data, double **block);

/* Fills in what method matched has of its own, in the layout that suits n; cor must live as long as the data. */
blica_status bl_corfit_matched_data(blica_ctx *ctx, const blica_cor *cor, bl_corfit_data *data);
void bl_corfit_matched_free(bl_corfit_data *data);

typedef struct bl_corfit bl_corfit; /* evaluator: workspace for one caller at a time */
blica_status bl_corfit_make(blica_ctx *ctx, const bl_corfit_data *data, bl_corfit **out); /* borrows the data */
void bl_corfit_free(bl_corfit *fit);
size_t bl_corfit_size(const bl_corfit_data *data); /* nk + uk */
/* The value f at theta [size] and its gradient; NaN where it is not defined. */
double bl_corfit_eval(bl_corfit *fit, const double *theta, double *gradient);

/* Segment s of method matched at theta, for Fisher's information. Tables of rare outcomes count as samples of the
 * Gaussian likelihood; what margins of ordinal items show of their scales is left out. */
bl_matched_point bl_corfit_point(const bl_corfit_data *data, const double *theta, int s);

/* f averaged over normal distributions of the log-variances (corfit_average.c), of whose variance a share counts; at
 * first they have no width. */
typedef struct bl_corfit_average bl_corfit_average;
/* Borrows fit and data; seed: of the pairs of points at which f is evaluated, at most as many as `pairs`. */
blica_status bl_corfit_average_make(blica_ctx *ctx, bl_corfit *fit, const bl_corfit_data *data, uint64_t seed,
                                    double share, int pairs, bl_corfit_average **out);
void bl_corfit_average_free(bl_corfit_average *average);
/* The average at theta and its gradient. */
double bl_corfit_average_eval(bl_corfit_average *average, const double *theta, double *gradient);
/* Sets the widths from Fisher's information at theta; returns the sum of all variances of log v. */
double bl_corfit_average_update(bl_corfit_average *average, const double *theta);

/* Laplace's approximation at a minimum: effective numbers of parameters, gamma = p - tr(H^-1) / sd^2, of A and of
 * log v, from the Hessian of f by differences of the gradient, for method matched from Fisher's information. *positive
 * is false, and nothing else is set, when that is not positive definite. */
typedef struct {
  bool positive;
  double gamma_mixing, gamma_variance, log_det;
} bl_corfit_laplace;
/* At theta, a minimum. */
blica_status bl_corfit_laplace_at(blica_ctx *ctx, bl_corfit *fit, const double *theta, bl_corfit_laplace *out);

#endif
