/* rounds.h - the fit of a criterion (gauss.h): where its starts begin, how one is led to its end, how the scales of the
 * priors are learned. Methods blica, matched and pairwise fill in a bl_gauss_fit and call bl_gauss_fit_run. */
#ifndef BL_ROUNDS_H
#define BL_ROUNDS_H

#include "estimate/multistart.h"
#include "estimate/gauss/information.h"

/* Where starts begin: what they need of the correlations. */
typedef struct {
  bl_layout layout;
  const blica_cor *cor;
  double *shrink; /* [u] what is off the diagonal of C_s is shrink_s times that of cor; to be freed */
} bl_starts;
/* shift [u]: C is (C + d I)/(1 + d); NULL: as much as joint diagonalisation wants. */
blica_status bl_starts_make(blica_ctx *ctx, const bl_layout *layout, const blica_cor *cor, const double *shift,
                            bl_starts *out);
/* Sets theta to the point of start `index`: the joint diagonaliser or, where it fails (matrices far from positive
 * definite), a random point; *jointdiag says which. */
blica_status bl_start_begin(blica_ctx *ctx, const bl_starts *starts, uint64_t seed, int index, bool *jointdiag,
                            double *theta);

typedef struct {
  const bl_problem *problem;
  bl_criterion criterion;
  double constant;     /* added to objectives */
  const double *shift; /* [u] of the correlations that starts see; NULL: as much as they want */
  bool scores;         /* Fisher's scoring ends a start */
  bool average;        /* priors are learned, and A, with the log-variances averaged over */
  bl_margins *margins; /* a term more while priors are learned; NULL: none */
  const double *begin; /* theta of the only start, where another method's solution serves; NULL: the usual starts */
  /* set by bl_gauss_fit_run: */
  bl_starts starts;
  double round_change; /* of A by the last round of learning, relative; NaN: none */
} bl_gauss_fit;

/* Runs the starts that the options ask for, learns the scales of the priors when they are to be learned (in the
 * criterion), and fills mixing, variances and fit of the model from the best. */
blica_status bl_gauss_fit_run(blica_ctx *ctx, bl_gauss_fit *fit, blica_model *model);

/* ---- one start ---- */

typedef struct bl_average bl_average;

typedef struct {
  bl_start *start;
  bl_gauss_fit *fit;
  bl_evaluator *evaluator;
  bl_average *average; /* of the criterion; NULL: the criterion itself */
  bl_preconditioner preconditioner;
  bool set_each_time; /* in this round */
  int rounds;         /* of L-BFGS and of scoring */
} bl_run;
blica_status bl_run_open(bl_start *start, bl_run *run); /* becomes start->own */
void bl_run_close(bl_run *run);
/* Minimises from the point of the start until the relative gradient is at most the tolerance; else the record says why
 * it stopped. near: the point is thought to be near a solution. */
blica_status bl_run_minimise(bl_run *run, double tolerance, bool near);

/* ---- for learning the scales of the priors (average.c) ---- */

enum { BL_LAPLACE_MAX = 200 }; /* n k up to which Laplace's approximation is used */
/* Laplace's approximation at a minimum: effective numbers of parameters, gamma = p - tr(H^-1) / sd^2, of A and of log
 * v. *positive is false, and nothing else is set, when H is not positive definite. */
typedef struct {
  bool positive;
  double gamma_mixing, gamma_variance;
} bl_laplace;
/* H is Fisher's information of the criterion's Gaussian likelihood. */
blica_status bl_laplace_at(blica_ctx *ctx, const bl_criterion *criterion, const double *theta, bl_laplace *out);

/* The criterion averaged over normal distributions of the log-variances, of whose variance a share counts; at first
 * they have no width. Borrows criterion and e; seed: of the pairs of points at which it is evaluated, at most `pairs`.
 * Without free scales. */
blica_status bl_average_make(blica_ctx *ctx, bl_evaluator *e, const bl_criterion *criterion, uint64_t seed,
                             double share, int pairs, bl_average **out);
void bl_average_free(bl_average *average);
double bl_average_evaluate(bl_average *average, const double *theta, double *gradient); /* as bl_evaluate */
/* Sets the widths from what the terms tell at theta; returns the sum of all variances of log v. */
double bl_average_update(bl_average *average, const double *theta);

#endif
