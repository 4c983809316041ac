/* lanczos.h - a few eigenvalues at the ends of a large symmetric matrix that is only multiplied by vectors. */
#ifndef BL_LANCZOS_H
#define BL_LANCZOS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "num/rng.h"
#include "num/linear/symmetric.h"

typedef struct {
  int low, high;    /* how many of the smallest and of the largest */
  double tolerance; /* residual relative to the largest |eigenvalue| at which an eigenvalue is done */
  int max_steps;    /* at most n are taken */
} bl_lanczos_options;

size_t bl_lanczos_work(int n, const bl_lanczos_options *options); /* doubles that a run needs */

/* values [low+high], the smallest in rising order, then the largest in rising order; residual [low+high], each a bound
 * of the distance to an eigenvalue; vectors [n,low+high] of unit length, or NULL. Returns 0 when all are within the
 * tolerance, 1 when max_steps was not enough (values and residuals are set all the same), -1 when a number is not
 * finite. */
int bl_lanczos(const bl_symmetric *matrix, const bl_lanczos_options *options, double *work, double *values,
               double *residual, double *vectors);

/* The same where products come from elsewhere: after bl_lanczos_begin, while bl_lanczos_vector(run) is not NULL, set
 * bl_lanczos_product(run) to the matrix times that vector and call bl_lanczos_step; then bl_lanczos_end. work as above.
 */
typedef struct {
  const bl_lanczos_options *o;
  int n, limit, steps; /* limit: most steps; steps: taken */
  int next;            /* steps after which eigenvalues are computed */
  bool done, failed;
  double size;
  double *basis;         /* [n,limit+1] */
  double *alpha, *beta;  /* [limit] */
  double *project;       /* [limit+1] */
  double *d, *e, *small; /* copies of alpha and beta; [limit,wanted] eigenvectors of the projection */
  void *support;         /* [2 wanted] of LAPACK's integers */
  double *values, *residual, *tile;
  bl_rng rng;
} bl_lanczos_run;
/* Begins a run; work is borrowed until its end. */
void bl_lanczos_begin(bl_lanczos_run *run, int n, const bl_lanczos_options *options, double *work);
const double *bl_lanczos_vector(const bl_lanczos_run *run); /* to be multiplied next */
double *bl_lanczos_product(const bl_lanczos_run *run);      /* where the product goes */
void bl_lanczos_step(bl_lanczos_run *run);                  /* takes the product */
/* Returns what bl_lanczos does. */
int bl_lanczos_end(const bl_lanczos_run *run, double *values, double *residual, double *vectors);

/* Several matrices in packed pairs side by side, the parts of their products shared by threads (num/linear/products.h);
 * same bits as bl_lanczos. `end` gets what bl_lanczos returns (and errno as it was when it failed), in the calling
 * thread.
 */
typedef struct {
  int count;
  const bl_lanczos_options *o;
  bl_symmetric (*matrix)(int s, void *user);
  void (*end)(int s, int outcome, int error, const bl_lanczos_run *run, void *user);
  int (*stop)(void *user); /* asked now and then */
  void *user;
} bl_lanczos_job;
/* Returns when all have ended or job->stop said so. */
blica_status bl_lanczos_together(blica_ctx *ctx, int n, const bl_lanczos_job *job);

#endif
