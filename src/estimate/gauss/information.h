/* information.h - Fisher's information of the Gaussian likelihood, and what is built on it: the arrow-shaped system of
 * all segments, Fisher's scoring, preconditioners of L-BFGS. */
#ifndef BL_INFORMATION_H
#define BL_INFORMATION_H

#include "files/stage.h"
#include "estimate/gauss/gauss.h"

/* ---- one segment ---- */

/* The information about A and the local parameters: adds that about A to mixing [nk,nk], sets cross [nk,locals] and
 * local [locals,locals]. False: R + D could not be inverted. */
bool bl_information(const bl_point *at, double *mixing, double *cross, double *local, double *work);
/* That about log v alone [k,k], at the cost n^3; without free scales. */
bool bl_variances_information(const bl_point *at, double *variances, double *work);
size_t bl_information_work(int n, int k); /* doubles of work, for both */

/* d_i = M_ii^-1/2 of item i, and its row of B = diag(d) A diag(c v)^1/2, from root [k], the roots of c v. */
double bl_information_row(const bl_point *at, const double *root, int i, double *row /* [k] */);
/* The information about a symmetric F, by which the covariance of the sources, in units of their standard deviations,
 * changes to I + F: log v_j changes F_jj. Sets root [k] and W = (I + B' diag(psi)^-1 B)^-1 [k,k]; sets among [k,k], the
 * information about the diagonal of F; and, unless pairs is NULL, for i < j pairs[i + j k], that about F_ij = F_ji
 * alone. Without free scales. Cost: k^4 + n k^3. False: W could not be computed. */
bool bl_sources_information(const bl_point *at, double *root, double *w, double *among, double *pairs, double *work);
size_t bl_sources_information_work(int k, bool pairs); /* doubles of work */

/* ---- all segments ---- */

/* A matrix in which the parameters of a segment meet only each other and A. Lower triangles count. */
typedef struct {
  blica_ctx *ctx;
  bl_layout layout;
  int groups;     /* segments are summed in this many groups, so that the bits do not depend on threads */
  double *mixing; /* [nk,nk,groups]; the first is that of A; owns the others */
  double *cross;  /* [nk,locals,u] */
  double *local;  /* [locals,locals,u] */
  double *work;   /* of the information, per group */
  bool *broken;   /* [groups] */
} bl_arrow;
/* Makes room. */
blica_status bl_arrow_make(blica_ctx *ctx, const bl_layout *layout, bl_arrow *out);
void bl_arrow_free(bl_arrow *a); /* its memory; the struct is the caller's */
/* Fisher's information of the criterion's likelihood at theta, with that of the priors of A and log v. */
bool bl_arrow_inform(bl_arrow *a, const bl_criterion *criterion, const double *theta);
/* The factors of the matrix, from which it can be solved; false where it is not positive definite. */
bool bl_arrow_factor(bl_arrow *a);
/* Computes the traces of the inverse over A and over the local parameters from the factors, and overwrites these. */
bool bl_arrow_traces(bl_arrow *a, double *trace_mixing, double *trace_local);

/* Damped steps of Fisher's scoring from theta until the gradient is below tolerance * max(1,|f|) and no longer falls.
 * At exact counts the information is the Hessian. With a stage that a checkpoint has, takes up its state or result. */
typedef struct {
  double tolerance;
  int64_t max_steps;
  int (*hook)(int64_t step, double value, double gradient_max, void *user); /* as bl_iteration_hook */
  void *user;
  bl_stage *stage; /* where a checkpoint keeps the state */
} bl_scoring_options;
typedef struct {
  double value, gradient_max;
  int64_t steps, evaluations;
  bool stopped; /* by the hook */
} bl_scoring_result;
bool bl_scoring_fits(const bl_layout *layout); /* whether its matrix, of (n k)^2, is not too large */
/* Minimises the criterion from theta, which holds the best point on return. */
blica_status bl_scoring(blica_ctx *ctx, const bl_criterion *criterion, bl_evaluator *e, double *theta,
                        const bl_scoring_options *options, bl_scoring_result *result);

/* ---- preconditioners ---- */

/* An approximate inverse of the Hessian. */
typedef struct {
  void *own;                                   /* NULL: none */
  void (*close)(void *own);                    /* frees it */
  void (*set)(void *own, const double *theta); /* builds it at theta; the priors are those of the criterion then */
  void (*apply)(void *own, double *g);         /* g <- H0 g */
  bool scores; /* as good as the information and as cheap as an evaluation or two: it pays to build it in every step */
} bl_preconditioner;
/* Preconditions by the whole information: for small problems with priors, without free scales. */
blica_status bl_precondition_whole(blica_ctx *ctx, const bl_criterion *criterion, bl_preconditioner *out);
bool bl_precondition_whole_fits(const bl_criterion *criterion); /* whether it serves */
/* The one that suits the criterion: with free scales by columns of A with their log-variances, else by rows or none. */
blica_status bl_preconditioner_make(blica_ctx *ctx, const bl_criterion *criterion, bl_preconditioner *out);
/* Preconditions by rows of A and covariances of the sources: for few sources of many items, without free scales. */
blica_status bl_precondition_rows(blica_ctx *ctx, const bl_criterion *criterion, bl_preconditioner *out);
bool bl_precondition_rows_fits(const bl_layout *layout); /* whether it serves */

#endif
