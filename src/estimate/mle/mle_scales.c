/* mle_scales.c - the scales of the priors of the full likelihood, learned by empirical Bayes.
 *
 * One update is MacKay's (Neural Computation 4, 1992): sd^2 = sum theta^2 / gamma, where gamma, the number of
 * parameters that the data determine, is their number less precision times the trace of the posterior covariance, the
 * inverse of the information matrix. */
#include <math.h>
#include <string.h>

#include "estimate/mle/mle.h"

/* The information matrix understates the spread of log v, whose likelihood is skewed: the learned scale is widened by
 * this, chosen on data of other seeds than those of docs/methods.md. */
#define WIDER 1.3
#define SETTLED 0.03 /* relative change of a scale */

/* The learned scale of A or of log v. variance [size] are those of the posterior. */
static double learned_sd(const bl_mle *m, const double *theta, const double *variance, bool mixing, double precision) {
  double squares = 0.0, gamma = 0.0;
  size_t nk = (size_t)m->n * (size_t)m->k, global = nk + m->cuts, k = (size_t)m->k;
  for (size_t i = 0; i < m->size; i++) {
    bool own = mixing ? i < nk : i >= global && (i - global) % (2 * k) < k;
    if (!own) continue;
    squares += theta[i] * theta[i];
    gamma += 1.0 - precision * variance[i];
  }
  return sqrt(squares / fmax(gamma, 1.0));
}

blica_status bl_mle_learn_scales(blica_ctx *ctx, bl_mle *m, const double *theta, bool *settled) {
  blica_status status = BLICA_OK;
  BL_OWNED double *unit = NULL, *variance = NULL;
  TRY(bl_alloc(ctx, m->size, &unit));
  TRY(bl_alloc(ctx, m->size, &variance));
  TRY(bl_information_make(ctx, m->information, m, theta, true));
  for (size_t i = 0; i < m->size; i++) {
    memset(unit, 0, sizeof(double) * m->size);
    unit[i] = 1.0;
    bl_information_solve(m->information, unit);
    variance[i] = unit[i];
  }
  double mixing = learned_sd(m, theta, variance, true, m->precision_mixing);
  double log_variance = learned_sd(m, theta, variance, false, m->precision_variance);
  mixing = fmin(fmax(mixing, 0.2), 50.0);
  log_variance = fmin(fmax(WIDER * log_variance, 0.1), 5.0);
  *settled = fabs(log(mixing * sqrt(m->precision_mixing))) < SETTLED &&
             fabs(log(log_variance * sqrt(m->precision_variance))) < SETTLED;
  bl_mle_set_prior(m, mixing, log_variance);
done:
  return status;
}
