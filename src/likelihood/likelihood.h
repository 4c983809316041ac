/* likelihood.h - the full likelihood of the patterns of a data set under a model: values, gradient, and the
 * scores of single patterns. Work is cut into tasks that do not depend on the number of
 * threads and ranks, which share them; sums run over tasks in their order. */
#ifndef BL_LIKELIHOOD_H
#define BL_LIKELIHOOD_H

#include "base/split.h"
#include "data/patterns.h"

/* Parameters of a model, borrowed. */
typedef struct {
  int n, k, u;
  double link;
  const double *mixing;     /* [n,k] */
  const double *variances;  /* [k,u] */
  const double *means;      /* [k,u] */
  const double *cuts;       /* of all items, one after the other; NULL: 0, of two levels each */
  const blica_model *freed; /* whose segments have A and cuts of their own; NULL: those above are in all */
} bl_params;
bl_params bl_model_params(const blica_model *model); /* borrows the model */

/* How finely to integrate. */
typedef struct {
  int points;        /* lattice: a power of 2 */
  uint64_t seed;     /* lattice: of the shifts */
  uint64_t shift;    /* lattice: which shift; grid: odd numbers move the nodes by half their spacing */
  double grid_error; /* grid: wanted error of a probability */
} bl_accuracy;

typedef struct bl_likelihood bl_likelihood;

/* patterns and segment (segment of the model for each segment of the data) are borrowed. points is the largest
 * lattice of which a gradient or scores will be asked for (at least BL_MVN_BLOCK). */
blica_status bl_likelihood_make(blica_ctx *ctx, const bl_patterns *patterns, const int *segment, int n, int k, int u,
                                blica_engine engine, int points, bl_likelihood **out);
void bl_likelihood_free(bl_likelihood *l);

/* Chooses the order of variables, or the spacing of the grid, at these parameters. To be called before the first
 * evaluation; between calls values are smooth functions of the parameters. */
blica_status bl_likelihood_order(blica_ctx *ctx, bl_likelihood *l, const bl_params *params);

/* log P of every pattern. */
blica_status bl_likelihood_values(blica_ctx *ctx, bl_likelihood *l, const bl_params *params,
                                  const bl_accuracy *accuracy, double *log_p /* [patterns] */);

/* Log-likelihood (NaN: parameters outside the domain) and its gradient; g_cut may be NULL. */
double bl_likelihood_gradient(blica_ctx *ctx, bl_likelihood *l, const bl_params *params, const bl_accuracy *accuracy,
                              double *g_mixing /* [n,k] */, double *g_log_variance /* [k,u] */,
                              double *g_mean /* [k,u] */, double *g_cut /* [cuts] */);

/* Scores of some patterns of one group. */
typedef struct {
  const bl_group *group;
  int k;
  const double *loading; /* n rows of k: sqrt(c v) A of the group's variables */
  int64_t count;
  const int64_t *row;  /* [count] which patterns of the group */
  const double *log_p; /* [count] */
  const double *score; /* [n (1+k), count] d log p / d (mean_i, loading_i1, .., loading_ik), i = 0.. */
  const double *upper; /* [n,count] d log p / d upper end of the row's level, 0 without one; NULL: two levels each */
} bl_scores;

/* Called once per task. With segments (a split of the data's segments) this rank runs the tasks of its
 * segments, those of one segment one after the other in one thread; with NULL it runs its share of the tasks, in any
 * order. What the consumer made is the caller's to exchange. */
typedef void (*bl_scores_fn)(const bl_scores *scores, int thread, void *user);
/* By the grid where it is the engine, else, or with accuracy NULL, by expectation propagation: sampled scores of rare
 * patterns would add their noise to the information. BLICA_ERR_INTERRUPTED when a stop was requested. */
blica_status bl_likelihood_scores(blica_ctx *ctx, bl_likelihood *l, const bl_params *params,
                                  const bl_accuracy *accuracy, const bl_split *segments, bl_scores_fn consumer,
                                  void *user);

/* The error of log P by expectation propagation, measured on a sample of patterns drawn by their number of rows: mean
 * of log P - log P_EP and its standard error. */
blica_status bl_likelihood_ep_error(blica_ctx *ctx, bl_likelihood *l, const bl_params *params, uint64_t seed,
                                    double *mean, double *error);

#define BL_LATTICE_POINTS 8192 /* the most that there are */
/* Log-likelihoods of the segments of the data and their errors, refined until the error of the sum is below
 * options->error or refining would take too long, a lattice having at most most_points points. result has room for u
 * segments; their labels and samples are not touched. value [patterns] gets the log-probability of each; it may be
 * NULL. */
blica_status bl_loglik_run(blica_ctx *ctx, const bl_patterns *patterns, const int *segment, const bl_params *params,
                           const blica_loglik_options *options, int most_points, double *value,
                           blica_loglik_result *result);

/* Which segments of the data are to be found in the model: all, those whose label is not empty, none. */
typedef enum { BL_MATCH_ALL, BL_MATCH_SOME, BL_MATCH_NONE } bl_match;
/* Checks that model and data belong together: variable[p] is the data's column of the model's plane p, and
 * segment[s] the model's segment of the data's segment s (-1: not to be found). */
blica_status bl_likelihood_match(blica_ctx *ctx, const blica_model *model, const blica_data *data, bl_match segments,
                                 int *variable, int *segment);
/* The engine of that name ("auto", "grid", "lattice", "ep"), or a message why it cannot do the model. */
blica_status bl_likelihood_engine(blica_ctx *ctx, blica_engine wanted, int n, int k, blica_engine *engine);

#endif
