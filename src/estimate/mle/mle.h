/* mle.h - the penalised full likelihood as a function of one vector, and the metric for its minimisation.
 *
 * Parameters: theta = [ A [n,k] | cuts or none | for each segment: log v_s [k], mu_s [k] ]. Where k = n and all items
 * have two levels the means reach every base rate and cuts would be redundant; estimate.h has the form of cuts. */
#ifndef BL_MLE_H
#define BL_MLE_H

#include <math.h>

#include "estimate/estimate.h"
#include "likelihood/likelihood.h"
#include "model/model.h"

typedef struct bl_information bl_information;

typedef struct {
  blica_ctx *ctx;
  int n, k, u;
  const blica_coding *coding; /* of the items; NULL: two levels each */
  size_t cuts;                /* of all items, or 0 */
  size_t size;                /* of theta: nk + cuts + 2ku */
  double link, weight;
  double precision_mixing, precision_variance, precision_mean; /* 1/sd^2; 0: no prior */
  blica_engine engine;
  bl_accuracy accuracy;
  bl_patterns *patterns;
  int *column, *segment;
  bl_likelihood *likelihood;
  bl_information *information;                     /* NULL: too large for a dense matrix */
  double *cut;                                     /* [cuts] */
  double *variances, *means, *g_variance, *g_mean; /* [k,u] */
  double loglik;                                   /* at the last evaluation, without weight or penalties */
  const double *tilt, *pivot;                      /* [size] f has tilt'(theta - pivot) added; NULL: nothing */
} bl_mle;

/* Chooses the engine and packs the patterns; call bl_mle_free after a failure, too. Borrows the coding. */
blica_status bl_mle_make(blica_ctx *ctx, const blica_data *data, const blica_coding *coding, int k,
                         const blica_fit_options *options, bl_mle *m);
void bl_mle_free(bl_mle *m);
static inline size_t bl_mle_local(const bl_mle *m, int s) { /* where segment s begins in theta */
  return (size_t)m->n * (size_t)m->k + m->cuts + 2 * (size_t)s * (size_t)m->k;
}
/* The point theta as the likelihood takes it; its variances, means and cuts are copied into m. */
static inline bl_params bl_mle_params(bl_mle *m, const double *theta) {
  for (int s = 0; s < m->u; s++)
    for (int j = 0; j < m->k; j++) {
      const double *own = theta + bl_mle_local(m, s);
      m->variances[j + (size_t)s * m->k] = exp(own[j]);
      m->means[j + (size_t)s * m->k] = own[m->k + j];
    }
  if (m->cuts) bl_cuts_of(m->coding, m->n, theta + (size_t)m->n * (size_t)m->k, m->cut);
  return (bl_params){m->n, m->k, m->u, m->link, theta, m->variances, m->means, m->cuts ? m->cut : NULL, NULL};
}
/* Chooses the order of variables, or the spacing of the grid, for points near theta. */
blica_status bl_mle_order(bl_mle *m, const double *theta);
/* The terms of f beside -weight log-likelihood and the tilt; adds their gradient unless that is NULL. */
double bl_mle_penalty(const bl_mle *m, const double *theta, double *gradient);
/* f and its gradient; NaN outside the domain. */
double bl_mle_eval(bl_mle *m, const double *theta, double *gradient);

/* A fit has converged when integration error moves its maximum by at most this many standard errors. */
#define BL_MLE_SHIFT 0.1
/* A point as the model's mixing matrix, variances and means. */
void bl_mle_store(const bl_mle *m, const double *theta, blica_model *model);

/* Scales of the priors of A and log v, and the usual one of the means. */
static inline void bl_mle_set_prior(bl_mle *m, double sd_mixing, double sd_variance) {
  m->precision_mixing = 1.0 / (sd_mixing * sd_mixing);
  m->precision_variance = 1.0 / (sd_variance * sd_variance);
  m->precision_mean = 1.0 / (BL_MEAN_SD * BL_MEAN_SD);
}

/* One update of the scales by empirical Bayes, from the information matrix at theta; *settled when they hardly changed.
 * BLICA_ERR_INTERRUPTED: the scales are as before. */
blica_status bl_mle_learn_priors(blica_ctx *ctx, bl_mle *m, const double *theta, bool *settled);
/* Notes of the log-likelihood and of the priors' scales; NaN or infinity: without the note. */
blica_status bl_mle_report(blica_ctx *ctx, const bl_mle *m, double loglik_error, double shift, blica_fit_report *fit);

/* Relative gradient, max |df/dtheta| / max(1, |f|), in the scale where the mean variance of each source is 1. */
double bl_mle_slope(const bl_mle *m, const double *theta, const double *gradient, double value);
/* Brings theta to that scale; the likelihood does not change. */
void bl_mle_standard(const bl_mle *m, double *theta);

/* The gradient by finer integrals than those in use. */
typedef struct {
  bl_accuracy accuracy;
  double value, *gradient; /* [size] */
  double error;            /* relative, of this gradient; by lattices, of the gradient in use. NaN: not known yet */
  double shift;            /* by lattices: how far their error moves the maximum, in standard errors. NaN: not known */
  double *other, *squares; /* workspace */
} bl_mle_fine;
blica_status bl_mle_fine_make(blica_ctx *ctx, const bl_mle *m, bl_mle_fine *fine); /* memory only */
void bl_mle_fine_free(bl_mle_fine *fine);
/* Sets value, gradient and error at theta. The first call chooses the rule: its error is a tenth of the tolerance or as
 * small as possible. False when no rule is finer: then lattices set error only, and expectation propagation nothing. */
bool bl_mle_fine_gradient(bl_mle *m, const double *theta, double tolerance, bl_mle_fine *fine);

/* The information matrix: sum over rows of score score', plus the prior's precision, with A in a border and a block
 * for each segment. */
blica_status bl_information_alloc(blica_ctx *ctx, const bl_mle *m, bl_information **out);
void bl_information_free(bl_information *information);
/* Computes the matrix at theta and factors it; rough: by scores of expectation propagation, which are good enough for a
 * metric. BLICA_ERR_INTERRUPTED when a stop was requested. */
blica_status bl_information_make(blica_ctx *ctx, bl_information *information, bl_mle *m, const double *theta,
                                 bool rough);
void bl_information_solve(const bl_information *information, double *d /* d <- inverse times d */);

#endif
