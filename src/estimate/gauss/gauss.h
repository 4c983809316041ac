/* gauss.h - what the methods blica, matched and pairwise minimise: sums of terms that see the model through the
 * correlations R_s = corr(M_s), M_s = I + c A diag(v_s) A'.
 *
 * All have one layout: theta = [ A [n,k] | for each segment: log v_s [k], and log q_s [n] where the scales of the items
 * are free ]. A term is a row in a list; who adds up the rows knows none of them. The Gaussian likelihood
 * (segments.c, its kernel in kernel.h) is a term, so are the tables of pairs (tables.c), the margins (margins.c), the
 * scales of ordinal items and the priors (criterion.c). */
#ifndef BL_GAUSS_H
#define BL_GAUSS_H

#include <math.h>

#include "base/split.h"
#include "num/simd.h"
#include "num/linear/symmetric.h"

/* ---- theta ---- */

typedef struct {
  int n, k, u;
  int locals;  /* parameters of a segment: k, or k + n */
  double link; /* c */
} bl_layout;

/* Where the parameters of segment s begin. */
static inline size_t bl_local(const bl_layout *p, int s) {
  return (size_t)p->n * (size_t)p->k + (size_t)p->locals * (size_t)s;
}
static inline size_t bl_layout_size(const bl_layout *p) { /* doubles of theta */
  return bl_local(p, p->u);
}

/* ---- terms ---- */

#define BL_LEFT_OUT (-INFINITY) /* in place of a value: the user or the clock said stop */

/* A row: what must be there is eval. */
typedef struct {
  void *data;
  /* Makes the workspace of one caller; NULL: the data serve all. */
  blica_status (*open)(blica_ctx *ctx, const void *data, void **work);
  void (*close)(void *work);
  /* Returns the value at theta, NaN outside the domain; adds to the gradient. */
  double (*eval)(void *work, const double *theta, double *gradient);
  /* Before each round in which priors are learned: sets at theta what stays as it is during the round. */
  blica_status (*renew)(blica_ctx *ctx, void *data, const double *theta);
  /* Adds what the term tells about log v of segment s to information [k,k]; theta is that of the last renewal. False:
   * it could not be computed. It needs `work_size` doubles. */
  bool (*inform)(const void *data, const double *theta, int s, double *information, double *work);
  size_t work_size;
} bl_term;

typedef struct bl_gauss bl_gauss;

enum { BL_MOST_TERMS = 5 };
typedef struct {
  bl_layout layout;
  double precision_mixing, precision_variance; /* 1/sd^2 of the priors of A and of log v; 0: none */
  double row_power;                            /* p of docs/method.md, equation 32 */
  const bl_gauss *gauss; /* its Fisher information is taken for that of all terms but the priors */
  int terms;
  bl_term term[BL_MOST_TERMS]; /* all but the priors */
} bl_criterion;

/* Appends a row. */
void bl_criterion_add(bl_criterion *c, bl_term term);

/* Workspace of one caller at a time. Borrows the criterion, to which terms may not be added meanwhile. */
typedef struct bl_evaluator bl_evaluator;
blica_status bl_evaluator_make(blica_ctx *ctx, const bl_criterion *criterion, bl_evaluator **out); /* free it */
void bl_evaluator_free(bl_evaluator *e);
/* The criterion at theta, and its gradient; NaN where it is not defined, or when a stop was requested. */
double bl_evaluate(bl_evaluator *e, const double *theta, double *gradient);

/* D of item i in segment s (docs/method.md, equation 21). */
double bl_coarseness(const blica_cor *cor, int s, int i);

/* The term of the scales that ordinal items show: sum over items and segments of precision/2 (log_scale - 1/2 log
 * M_s,ii - d_i)^2, d_i being the best constant. Observations and their precisions are [n,u]. */
typedef struct {
  bl_layout layout;
  const double *log_scale;
  double *precision;
} bl_item_scales;
bl_term bl_item_scales_term(bl_item_scales *scales); /* its row */

/* ---- sums over segments ---- */

/* Values and gradients of segments, or of groups of them, each in a place of its own, computed by any thread of any
 * rank and added over a fixed tree (base/split.h). */
typedef struct {
  blica_ctx *ctx;
  bl_layout layout;
  int together;   /* segments to a place */
  bl_split split; /* of the places among ranks */
  double *value;  /* [places] BL_LEFT_OUT: a stop was requested */
  double *mixing; /* [n,k,places] gradient by A */
  double *local;  /* [locals,together,places] by the parameters of the segments */
} bl_places_of_segments;
/* Makes the places. */
blica_status bl_segments_open(blica_ctx *ctx, const bl_layout *layout, int together, bl_places_of_segments *p);
void bl_segments_close(bl_places_of_segments *p);
/* The sum of all values, once every rank has filled its places; adds to the gradient. */
double bl_segments_add(bl_places_of_segments *p, double *gradient);

/* ---- the Gaussian likelihood ---- */

typedef struct bl_blocks bl_blocks;

/* F = sum_s N_s/2 [ log det T_s + tr((C_s + D_s) T_s^-1) ], T = Q M Q + D: with scales q that are free (blica, D = 0)
 * or q_i = M_ii^-1/2 (matched, D the noise of coarse data). Same D on both sides: exact correlations put the minimum at
 * the truth whatever D is. */
struct bl_gauss {
  bl_layout layout;
  const blica_cor *cor;
  double *shrink; /* [u] of correlations: what is off the diagonal of C_s is shrink_s times that of cor */
  double
      *samples;   /* [u] N_s of the information, in which tables of rare outcomes count as samples of this likelihood */
  double *weight; /* [u] N_s of the value */
  double *noise;  /* [n,u] D, with what missing values add */
  double *plain;  /* [n,u] D; noise itself where nothing is missing */
  bl_blocks *blocks; /* where values are missing, else NULL */
  bool lanes;        /* small n: c and lane_noise hold vectors of eight segments, one group after the other */
  double *c, *lane_noise;
};
/* Borrows cor. shift [u]: C is (C + d I)/(1 + d), NULL: not at all. power multiplies N_s. Free with bl_free. */
blica_status bl_gauss_make(blica_ctx *ctx, const bl_layout *layout, const blica_cor *cor, const double *shift,
                           double power, bl_gauss **out);
bl_term bl_gauss_term(bl_gauss *gauss); /* its row */
/* - sum N_s n/2 log 2 pi, which makes the negative value a log-likelihood. */
double bl_gauss_constant(const bl_gauss *gauss);

/* A segment, or some items of it, at a point. */
typedef struct {
  int n, k;
  double link, weight; /* c, N_s */
  const double *a;     /* [n,k] */
  const double *log_v; /* [k] */
  const double *log_q; /* [n] free scales; NULL: q_i = M_ii^-1/2 */
  const double *noise; /* [n] D */
} bl_point;
bl_point bl_gauss_point(const bl_gauss *gauss, const double *theta, int s); /* with the samples of the information */
/* The value at a point with the correlations c, and its gradient in A [n,k] and in the local parameters. */
double bl_gauss_segment(const bl_point *at, const bl_symmetric *c, double *work, double *mixing, double *local);
size_t bl_gauss_segment_work(int n, int k); /* doubles of work */

/* Eight segments of the same likelihood, one in each SIMD lane. */
typedef struct {
  int n, k;
  bool free_scales;
  double link;
  const double *a;                            /* [n,k] */
  const bl_v *c, *noise, *weight, *parameter; /* [n,n], [n], [1], [locals] */
} bl_lanes;
/* The sum of the values over lanes with weight, and its gradient by A; by the local parameters lane by lane. */
BL_KERNEL(double, bl_gauss_lanes, const bl_lanes *in, bl_v *work, double *mixing, bl_v *local);
size_t bl_gauss_parts_size(int n, int k); /* doubles of work of one lane */

/* ---- missing values (blocks.c; docs/method.md, equations 34 to 36) ---- */

/* A block is a list of items and a number of rows. Its correlations are those of the segment, pooled over all rows that
 * have both items; its noise is D of the items, or more where a value is missing in some of the rows:
 *   COMPLETE   all items, all rows, D;
 *   ITEM_SET   the rows that have one set of items, D; a segment has a block for each of its sets when they are few;
 *   RANDOM     all items that have values, all rows, D + tau (1/p - 1): values missing at random;
 *   PAIRWISE   the same where some pairs are hardly ever seen together: correlations, also those of the model, are
 *              multiplied by omega_ij = W_ij/(p_i p_j), and the noise is (1 + D)/p - 1. p and W are the shares of rows
 *              with a value of the item, of both. */
typedef enum { BL_BLOCK_COMPLETE, BL_BLOCK_ITEM_SET, BL_BLOCK_RANDOM, BL_BLOCK_PAIRWISE } bl_block_kind;

typedef struct {
  bl_block_kind kind;
  int n;           /* items */
  const int *item; /* [n], ascending; NULL: all */
  double share;    /* of the segment's weight */
} bl_block;

struct bl_blocks {
  const blica_cor *cor;
  double link;
  const double *plain; /* [n,u] D */
  double *noise;       /* [n,u] D, or more: of the information about a segment as a whole, and of RANDOM and PAIRWISE */
  int64_t *first;      /* [u+1] blocks of each segment */
  bl_block *block;
};

/* Borrows cor, in which values are missing, and plain; noise [n,u] is set and borrowed. Freed with owner. */
blica_status bl_blocks_make(blica_ctx *ctx, void *owner, const blica_cor *cor, double link, const double *plain,
                            double *noise, bl_blocks **out);
/* Sets the noise of segments with values missing at random by what the other items explain of each item at theta
 * = [ A | log v_1 | ... ] of k sources: tau_i = 1/((R + D)^-1)_ii. */
blica_status bl_blocks_retune(blica_ctx *ctx, bl_blocks *blocks, int k, const double *theta);
/* The value of segment s, of weight `weight`, and its gradient in A [n,k] and log v [k]. view: its correlations. work:
 * bl_blocks_work(n, k) doubles. */
double bl_blocks_eval(const bl_blocks *blocks, int s, int k, double weight, const bl_symmetric *view, const double *a,
                      const double *log_v, double *work, double *mixing, double *local);
size_t bl_blocks_work(int n, int k); /* doubles */

/* ---- tables of pairs (tables.c; equations 24 and 30) ---- */

/* F = - sum_s weight_s sum over pairs and cells of n log P. */
typedef struct {
  bl_layout layout;
  const blica_counts *counts;
  const double *thresholds; /* [n,u] */
  double *weight;           /* [u] */
  double *below, *above;    /* [n,u] Phi of thresholds and of minus thresholds */
} bl_tables;
/* Borrows counts and thresholds; the caller sets the weights. Free with bl_free. */
blica_status bl_tables_make(blica_ctx *ctx, const bl_layout *layout, const blica_counts *counts,
                            const double *thresholds, bl_tables **out);
bl_term bl_tables_term(bl_tables *tables); /* its row */
/* The share of a segment's weight that its tables get in method matched: what outcomes are rare. */
double bl_rare_share(const blica_cor *cor, int s);
bool bl_is_rare(const blica_cor *cor); /* whether any segment gives its tables a share */

/* ---- margins (margins.c; equation 33) ---- */

/* The term of the margins: the shares of ones inform about A and v when all segments have the same cuts. */
typedef struct bl_margins bl_margins;
/* Borrows gauss. Items that are freed [n,u] in a segment have cuts of their own there, which tell nothing; NULL: none
 * is. Free with bl_free. */
blica_status bl_margins_make(blica_ctx *ctx, const bl_gauss *gauss, const uint8_t *freed, bl_margins **out);
bl_term bl_margins_term(bl_margins *margins); /* its row; it counts from its first renewal on */
/* The variance of misfit of the last renewal: of thresholds, what sampling does not explain. NaN: margins do not count,
 * as where the tables have all of the weight. */
double bl_margins_misfit(const bl_margins *margins);

/* ---- tables of pairs of items with levels, means and cuts included (level_tables.c) ---- */

/* f = - weight sum over segments, pairs of items and cells of n log P
 *     + |A|^2 precision_mixing / 2 + |log v|^2 precision_variance / 2.
 * theta = [ A [n,k] | log v [k,u] | means [k,u] | cuts: of each item the first, then logs of the distances ]. */
typedef struct bl_level_tables bl_level_tables;

/* counts and the model's coding must live as long. The model gives sizes, levels and the link. Free with
 * bl_free. */
blica_status bl_level_tables_make(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, double weight,
                                  double precision_mixing, double precision_variance, bl_level_tables **out);

size_t bl_level_tables_size(const bl_level_tables *tables); /* of theta */
/* The value f at theta and its gradient. */
double bl_level_tables_eval(bl_level_tables *tables, const double *theta, double *gradient);
/* Copies mixing matrix, variances, means and cuts from a model to theta, and back. */
void bl_level_tables_take(const blica_model *model, double *theta);
void bl_level_tables_give(const double *theta, blica_model *model); /* from theta to the model */

#endif
