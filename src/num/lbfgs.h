/* lbfgs.h - limited-memory BFGS minimisation with a strong-Wolfe line search. */
#ifndef BL_LBFGS_H
#define BL_LBFGS_H

#include "files/stage.h"

/* Value and gradient at x. A value of NaN or +infinity means: outside the domain, step back. */
typedef double (*bl_objective)(const double *x, double *gradient, void *user);
/* After each iteration: BL_CONTINUE, or why the run ends here, BL_LIMIT_REACHED or BL_STOP_REQUESTED. */
typedef int (*bl_iteration_hook)(int64_t iteration, double value, double gradient_max, void *user);
/* Called after each evaluation. True: the evaluation is unfinished because a stop was requested; the run ends at the
 * last point. */
typedef bool (*bl_evaluation_check)(void *user);
/* d <- H0 d, an approximate inverse Hessian in place of the usual multiple of the identity. */
typedef void (*bl_precondition)(double *d, void *user);

typedef struct {
  int history; /* pairs kept, as in 20; 0: none, the preconditioner alone says where to go */
  int64_t max_iterations;
  int64_t max_evaluations;        /* 0: no limit; ends like max_iterations, where line searches grow long */
  double gradient_tolerance;      /* stop when max|g| <= tolerance * max(1, |f|) */
  bl_iteration_hook hook;         /* may be NULL */
  bl_evaluation_check unfinished; /* may be NULL */
  bl_precondition precondition;   /* may be NULL */
  bl_stage *stage;                /* where a checkpoint keeps the state; may be NULL */
} bl_lbfgs_options;

typedef enum { BL_LBFGS_GRADIENT, BL_LBFGS_ITERATIONS, BL_LBFGS_HOOK, BL_LBFGS_LINE_SEARCH } bl_lbfgs_end;

typedef struct {
  double value, gradient_max; /* NaN when the first evaluation was unfinished */
  int64_t iterations, evaluations;
  bl_lbfgs_end end; /* BL_LBFGS_HOOK: the hook or `unfinished` stopped it */
} bl_lbfgs_result;

/* Minimises from x [size], which holds the best point on return. Allocates once, before the first
 * iteration. user is passed to all callbacks. With a stage that a checkpoint has, continues from the state (x must
 * be the point it began from, for the preconditioner's sake) or takes the result: same bits as without the break. */
blica_status bl_lbfgs(blica_ctx *ctx, size_t size, double *x, bl_objective objective, void *user,
                      const bl_lbfgs_options *options, bl_lbfgs_result *result);

#endif
