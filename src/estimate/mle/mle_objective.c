/* mle_objective.c - the penalised full likelihood of a data set as a function of A, cuts, log v and mu.
 */
#include <math.h>
#include <string.h>

#include "estimate/mle/mle.h"
#include "num/rectangles/mvn.h"

/* Where one engine becomes faster than the other, for a gradient. */
enum { GRID_VARIABLES = 20, LATTICE_VARIABLES = 12 };
enum { LARGEST_GLOBAL = 600 };
static const double LARGEST_METRIC = 1 << 25; /* doubles of the information matrices of all segments */
/* Norms of the columns of sqrt(c) A V^1/2, times each other in a segment, beyond which a step function fits as well.
 * The grid's nodes grow with the product (to 10^6 for two sources), and the lattice's covariance loses its digits. */
static const double STEEPEST = 22500;

static blica_engine choose_engine(int n, int k) {
  if (k <= 2 && n <= GRID_VARIABLES) return BLICA_ENGINE_GRID;
  return n <= LATTICE_VARIABLES ? BLICA_ENGINE_LATTICE : BLICA_ENGINE_EP;
}

blica_status bl_mle_make(blica_ctx *ctx, const blica_data *data, const blica_coding *coding, int k,
                         const blica_fit_options *options, bl_mle *m) {
  blica_status status = BLICA_OK;
  size_t local = (size_t)k * (size_t)data->u;
  m->ctx = ctx;
  m->coding = coding;
  m->n = coding ? coding->items : data->n, m->k = k, m->u = data->u;
  const bool ordinal = bl_coding_ordinal(coding);
  m->cuts = ordinal || (k < m->n && options->thresholds == BLICA_THRESHOLDS_ITEMS) ? (size_t)bl_plane(coding, m->n) : 0;
  m->size = (size_t)m->n * (size_t)k + m->cuts + 2 * local;
  m->link = options->link;
  m->weight = options->likelihood_power;
  m->accuracy = (bl_accuracy){.points = BL_MVN_BLOCK, .seed = options->seed, .grid_error = 1e-9};
  const double global = (double)m->n * k + (double)m->cuts;
  const bool metric = global <= LARGEST_GLOBAL && global * global * m->u <= LARGEST_METRIC;
  m->engine = choose_engine(m->n, k);
  TRY(bl_alloc(ctx, (size_t)data->n, &m->column)); /* owns the other arrays */
  TRY(bl_alloc_for(ctx, m->column, (size_t)m->u, &m->segment));
  for (int p = 0; p < data->n; p++) m->column[p] = p;
  for (int s = 0; s < m->u; s++) m->segment[s] = s;
  TRY(bl_patterns_make(ctx, data, m->n, coding, m->column, false, &m->patterns));
  TRY(bl_likelihood_make(ctx, m->patterns, m->segment, m->n, k, m->u, m->engine, BL_MVN_BLOCK, &m->likelihood));
  TRY(bl_alloc_for(ctx, m->column, m->cuts, &m->cut));
  TRY(bl_alloc_for(ctx, m->column, local, &m->variances));
  TRY(bl_alloc_for(ctx, m->column, local, &m->means));
  TRY(bl_alloc_for(ctx, m->column, local, &m->g_variance));
  TRY(bl_alloc_for(ctx, m->column, local, &m->g_mean));
  if (metric) TRY(bl_information_alloc(ctx, m, &m->information));
done:
  return status;
}

void bl_mle_free(bl_mle *m) {
  bl_information_free(m->information);
  bl_likelihood_free(m->likelihood);
  bl_patterns_free(m->patterns);
  bl_free(m->column);
}

void bl_mle_store(const bl_mle *m, const double *theta, blica_model *model) {
  memcpy(model->mixing, theta, sizeof(double) * (size_t)m->n * (size_t)m->k);
  if (m->cuts) bl_cuts_of(m->coding, m->n, theta + (size_t)m->n * (size_t)m->k, model->cuts);
  for (int s = 0; s < m->u; s++)
    for (int j = 0; j < m->k; j++) {
      model->variances[j + (size_t)s * m->k] = exp(theta[bl_mle_local(m, s) + (size_t)j]);
      model->means[j + (size_t)s * m->k] = theta[bl_mle_local(m, s) + (size_t)(m->k + j)];
    }
}

blica_status bl_mle_order(bl_mle *m, const double *theta) {
  bl_params params = bl_mle_params(m, theta);
  return bl_likelihood_order(m->ctx, m->likelihood, &params);
}

/* Whether loadings are so large that the engine cannot integrate; the objective has no value there. */
static bool too_steep(const bl_mle *m, const bl_params *p) {
  for (int s = 0; s < m->u; s++) {
    double product = 1;
    for (int j = 0; j < m->k; j++) {
      double squares = 0;
      for (int i = 0; i < m->n; i++) squares += p->mixing[i + (size_t)j * m->n] * p->mixing[i + (size_t)j * m->n];
      double norm = sqrt(1 + m->link * squares * p->variances[j + (size_t)s * m->k]);
      product = m->engine == BLICA_ENGINE_GRID ? product * norm : fmax(product, norm);
    }
    if (!(product <= STEEPEST)) return true;
  }
  return false;
}

/* Elements of A are normal, so the length of a row of A is hardly ever small: its density has a factor length^(k-1).
 * Where many variables leave lengths nearly open the maximum is taken over log lengths and directions of the rows,
 * where -k log length is part of f; over the elements themselves such rows would shrink, each by another amount, and
 * bend the columns. */
static double add_lengths(const bl_mle *m, const double *theta, double *gradient) {
  double value = 0;
  for (int i = 0; i < m->n; i++) {
    double square = 0;
    for (int j = 0; j < m->k; j++) square += theta[i + (size_t)j * m->n] * theta[i + (size_t)j * m->n];
    for (int j = 0; gradient && j < m->k; j++)
      gradient[i + (size_t)j * m->n] -= m->k * theta[i + (size_t)j * m->n] / square;
    value -= 0.5 * m->k * log(square);
  }
  return value;
}

double bl_mle_penalty(const bl_mle *m, const double *theta, double *gradient) {
  const size_t nk = (size_t)m->n * (size_t)m->k, global = nk + m->cuts, k = (size_t)m->k;
  double value = 0.0;
  for (size_t i = 0; i < m->size; i++) {
    double precision = i < nk                       ? m->precision_mixing
                       : i < global                 ? 0.0
                       : (i - global) % (2 * k) < k ? m->precision_variance
                                                    : m->precision_mean;
    value += 0.5 * precision * theta[i] * theta[i];
    if (gradient) gradient[i] += precision * theta[i];
  }
  return m->engine == BLICA_ENGINE_EP && m->precision_mixing > 0 ? value + add_lengths(m, theta, gradient) : value;
}

double bl_mle_eval(bl_mle *m, const double *theta, double *gradient) {
  size_t nk = (size_t)m->n * (size_t)m->k;
  bl_params params = bl_mle_params(m, theta);
  for (size_t i = nk; i < m->size; i++)
    if (!(fabs(theta[i]) < 100)) return NAN; /* log v or a mean beyond anything that data determine */
  if (too_steep(m, &params)) return NAN;
  m->loglik = bl_likelihood_gradient(m->ctx, m->likelihood, &params, &m->accuracy, gradient, m->g_variance, m->g_mean,
                                     m->cuts ? gradient + nk : NULL);
  for (size_t i = 0; i < nk + m->cuts; i++) gradient[i] *= -m->weight;
  if (m->cuts) bl_cuts_chain(m->coding, m->n, theta + nk, gradient + nk);
  for (int s = 0; s < m->u; s++)
    for (int j = 0; j < m->k; j++) {
      const size_t at = bl_mle_local(m, s) + (size_t)j, local = (size_t)j + (size_t)s * (size_t)m->k;
      gradient[at] = -m->weight * m->g_variance[local];
      gradient[at + (size_t)m->k] = -m->weight * m->g_mean[local];
    }
  double value = bl_mle_penalty(m, theta, gradient) - m->weight * m->loglik;
  for (size_t i = 0; m->tilt && i < m->size; i++) {
    value += m->tilt[i] * (theta[i] - m->pivot[i]);
    gradient[i] += m->tilt[i];
  }
  return value;
}

blica_status bl_mle_report(blica_ctx *ctx, const bl_mle *m, double loglik_error, double shift, blica_fit_report *fit) {
  blica_status status;
  TRY(bl_report_note(ctx, fit, "loglik", m->loglik));
  if (isfinite(loglik_error)) TRY(bl_report_note(ctx, fit, "loglik_error", loglik_error));
  if (isfinite(shift)) TRY(bl_report_note(ctx, fit, "integration_shift", shift));
  if (m->precision_mixing > 0) {
    fit->prior_mixing = 1.0 / sqrt(m->precision_mixing);
    fit->prior_variance = 1.0 / sqrt(m->precision_variance);
    TRY(bl_report_note(ctx, fit, "prior_mean", 1.0 / sqrt(m->precision_mean)));
  }
done:
  return status;
}
