/* engines.h - the inside of the full likelihood: tasks, workspaces of threads, and one call for all engines. */
#ifndef BL_LIKELIHOOD_ENGINES_H
#define BL_LIKELIHOOD_ENGINES_H

#include "likelihood/likelihood.h"
#include "num/rectangles/grid.h"
#include "num/rectangles/mvn.h"

typedef struct {
  int group;
  int64_t low, high; /* places in the group's tree (patterns of the group, for EP) */
  bool ok;           /* of the last run */
} bl_task_rows;

/* Tasks of up to that many patterns of one group; they are freed with their owner. */
blica_status bl_tasks_make(blica_ctx *ctx, void *owner, const bl_patterns *patterns, int64_t rows, bl_task_rows **task,
                           int64_t *tasks);

/* One thread's workspace. */
typedef struct {
  double *mean, *loading, *cov, *g_cov; /* of one group */
  double *edge;                         /* of its levels (bl_group_intervals) */
  double *log_p, *weight, *score, *first, *second, *upper;
  int64_t *row;
  double *engine; /* of the grid or of EP */
  bl_mvn_work *lattice;
} bl_workspace;

struct bl_likelihood {
  const bl_patterns *patterns;
  const int *segment;
  int n, k, u;
  blica_engine engine;
  int points;
  int64_t tasks;
  bl_task_rows *task;
  bl_split split;     /* of the tasks among ranks */
  double *value;      /* [tasks] sum of weight log p */
  bl_mvn_tree **tree; /* [groups] */
  double *band;       /* [BL_GRID_SOURCES,groups] bandwidths of the grid, fixed like the order of variables */
  int threads;
  bl_workspace **workspace;
  double *gradient; /* [stride,tasks] */
};

/* Gradient of a task: in mean [n], loading (n rows of k), and with more than two levels in the edges. */
static inline size_t bl_likelihood_stride(const bl_likelihood *l) {
  return (size_t)l->n * (1 + (size_t)l->k) + (l->patterns->ordinal ? (size_t)l->patterns->cuts : 0);
}

/* What a task computes besides workspace->log_p, which it stores by place in the task; workspace->row is the group's
 * pattern at each place. */
typedef struct {
  double *log_p;                       /* [patterns of the group], or NULL */
  const double *weight;                /* [patterns of the group]; NULL: no gradient */
  double value;                        /* out, with weight: sum of weight log p */
  double *g_mean, *g_loading, *g_edge; /* g_edge: with more than two levels */
  bool scores; /* of all rows, to the workspace: by the grid, or with another engine by expectation propagation */
} bl_want;

enum { BL_TASK_ROWS = 512 }; /* patterns of a task: enough to share prefixes, few enough to share work */
/* Makes the workspace of one thread. */
blica_status bl_workspace_make(blica_ctx *ctx, const bl_likelihood *l, bl_workspace **out);
blica_status bl_workspace_scores(blica_ctx *ctx, const bl_likelihood *l,
                                 bl_workspace *workspace); /* adds what scores need */
void bl_workspace_free(bl_workspace *workspace);

/* Sets the means and loadings of the variables present in the group, in its order. */
void bl_group_parameters(const bl_group *g, int s, const bl_params *p, double *mean, double *loading);
/* The levels of a group's items in segment s, as the engines take them. edge holds all cuts. */
bl_intervals bl_group_intervals(const bl_group *g, int s, const bl_params *p, double *edge);
void bl_loading_covariance(int n, int k, const double *loading, double *cov); /* I + B B' */

/* False when the covariance is not positive definite. */
bool bl_engine_run(bl_likelihood *l, const bl_task_rows *task, const bl_params *params, const bl_accuracy *accuracy,
                   blica_simd level, bl_want *want, bl_workspace *workspace);

/* ---- posterior moments of the sources of rows (posterior.c) ---- */

/* Rows with the same variables present, under one segment: Y = mean + B z + e, z and e standard normal. */
typedef struct {
  int n, k;
  const double *mean;    /* [n] */
  const double *loading; /* n rows of k: B */
  bl_intervals levels;
  double rest; /* expectation propagation ends where means move by less, in standard deviations */
  int64_t count;
  const uint8_t *x;    /* count rows of n levels */
  double *log_p;       /* [count] out */
  double *moments;     /* [k + k k, count] out: E[z|x] and the covariance */
  const double *start; /* [2 n, count] sites of expectation propagation to begin with; NULL: none */
  double *sites;       /* [2 n, count] out: where it ended */
  double *work;        /* bl_posterior_work doubles, 64-byte aligned */
} bl_posterior;

/* Lower Cholesky factor of a covariance, both k rows of k; l may be matrix, and keeps what is above the diagonal. */
void bl_factorise(int k, const double *matrix, double *l);

/* Doubles of work for up to count rows. */
size_t bl_posterior_work(int n, int k, int64_t count);
/* The moments of all rows. Those of a row do not depend on the other rows. */
void bl_posterior_run(const bl_posterior *posterior, blica_simd level);
/* Only log_p, and that roughly: from the sites in start, which belong to another segment. */
void bl_posterior_guess(const bl_posterior *posterior, blica_simd level);

#endif
