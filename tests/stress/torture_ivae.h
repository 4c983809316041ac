/* torture_ivae.h - the bound that method ivae maximises, written down once more from docs/rivals.md at a model and its
 * encoder, and its slopes by differences. The noise is that of the start that was best: a model does not say which of
 * its sources had which noise and with which sign, so all orders and signs are tried until the recorded loss comes out.
 */
#ifndef TEST_TORTURE_IVAE_H
#define TEST_TORTURE_IVAE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"
#include "model/model.h"
#include "num/rng.h"

enum { IVAE_SOURCES = 5 }; /* 5! 2^5 orders and signs are enough */

typedef struct {
  const blica_data *data;
  int n, k, u, draws, analytic;
  double *a, *log_v, *mean;      /* [n,k] logistic decoder, [k,u], [k,u] */
  double *encoder, *encoder_log; /* [k,n+u+1], the bias last */
  double *noise;                 /* [k,draws,rows], rows segment after segment */
  int order[IVAE_SOURCES], sign[IVAE_SOURCES];
} plain_ivae;

static inline uint64_t ivae_noise_seed(uint64_t seed, uint64_t start) {
  uint64_t x = seed + 0x9e3779b97f4a7c15u * (2 + 16 * start + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static inline double ivae_softplus(double x) {
  return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* Negative bound of one row. */
static inline double ivae_row(const plain_ivae *p, int s, const double *x /* 0, 1, or 1/2 for missing */,
                              const double *noise) {
  const int n = p->n, k = p->k, width = n + p->u + 1;
  double mean[IVAE_SOURCES], log_v[IVAE_SOURCES], loss = 0;
  for (int c = 0; c < k; c++) {
    mean[c] = p->encoder[c + (width - 1) * k] + p->encoder[c + (n + s) * k];
    log_v[c] = p->encoder_log[c + (width - 1) * k] + p->encoder_log[c + (n + s) * k];
    for (int i = 0; i < n; i++) mean[c] += p->encoder[c + i * k] * x[i], log_v[c] += p->encoder_log[c + i * k] * x[i];
    double prior = p->log_v[c + s * k], gap = mean[c] - p->mean[c + s * k];
    if (p->analytic) loss += 0.5 * (prior - log_v[c] + (exp(log_v[c]) + gap * gap) * exp(-prior) - 1);
  }
  for (int d = 0; d < p->draws; d++) {
    double z[IVAE_SOURCES], own = 0;
    for (int c = 0; c < k; c++) {
      double e = p->sign[c] * noise[d * k + p->order[c]], prior = p->log_v[c + s * k];
      z[c] = mean[c] + exp(0.5 * log_v[c]) * e;
      double gap = z[c] - p->mean[c + s * k];
      if (!p->analytic) own += 0.5 * (prior + gap * gap * exp(-prior) - log_v[c] - e * e);
    }
    for (int i = 0; i < n; i++) {
      double y = 0;
      for (int c = 0; c < k; c++) y += p->a[i + c * n] * z[c];
      if (x[i] != 0.5) own += ivae_softplus(x[i] > 0 ? -y : y);
    }
    loss += own / p->draws;
  }
  return loss;
}

/* Mean over all rows, or the part of it that segment `only` answers for. */
static inline double ivae_value(const plain_ivae *p, int only) {
  const blica_data *d = p->data;
  double loss = 0, *x = calloc((size_t)p->n, sizeof *x);
  int64_t row = 0;
  for (int s = 0; s < d->u; row += d->samples[s++])
    for (int64_t r = 0; r < d->samples[s] && (only < 0 || only == s); r++) {
      for (int i = 0; i < p->n; i++) {
        int64_t at = i * d->words[s] + r / 64;
        int present = !d->present[s] || (d->present[s][at] >> (r % 64) & 1);
        x[i] = present ? (double)(d->ones[s][at] >> (r % 64) & 1) : 0.5;
      }
      loss += ivae_row(p, s, x, p->noise + (row + r) * p->draws * p->k);
    }
  free(x);
  return loss / (double)d->rows;
}

/* Next order and sign; 0 when all were seen. */
static inline int ivae_next(plain_ivae *p, long *at) {
  long signs = 1L << p->k, orders = 1;
  for (int c = 2; c <= p->k; c++) orders *= c;
  if (*at >= signs * orders) return 0;
  long bits = *at % signs, code = *at / signs;
  int left[IVAE_SOURCES], count = p->k;
  for (int c = 0; c < p->k; c++) left[c] = c;
  for (int c = 0; c < p->k; c++) {
    int take = (int)(code % count);
    p->sign[c] = bits >> c & 1 ? -1 : 1;
    p->order[c] = left[take];
    code /= count;
    left[take] = left[--count];
  }
  ++*at;
  return 1;
}

static inline void ivae_take(plain_ivae *p, const blica_model *m, const blica_data *data, const blica_fit_options *o) {
  const int n = m->n, k = m->k, u = m->u, width = n + u + 1;
  *p =
      (plain_ivae){.data = data, .n = n, .k = k, .u = u, .draws = o->draws, .analytic = strcmp(o->kl, "analytic") == 0};
  p->a = calloc((size_t)n * k, sizeof(double));
  p->log_v = calloc((size_t)k * u, sizeof(double)), p->mean = calloc((size_t)k * u, sizeof(double));
  p->encoder = calloc((size_t)k * width, sizeof(double)), p->encoder_log = calloc((size_t)k * width, sizeof(double));
  p->noise = calloc((size_t)data->rows * p->draws * k, sizeof(double));
  for (int i = 0; i < n * k; i++) p->a[i] = m->mixing[i] * sqrt(m->link / 0.39269908169872414);
  for (int i = 0; i < k * u; i++) p->log_v[i] = log(m->variances[i]), p->mean[i] = m->means[i];
  memcpy(p->encoder, m->encoder->mean_weight, (size_t)k * (width - 1) * sizeof(double));
  memcpy(p->encoder_log, m->encoder->logvar_weight, (size_t)k * (width - 1) * sizeof(double));
  memcpy(p->encoder + (size_t)k * (width - 1), m->encoder->mean_bias, (size_t)k * sizeof(double));
  memcpy(p->encoder_log + (size_t)k * (width - 1), m->encoder->logvar_bias, (size_t)k * sizeof(double));
  for (int64_t r = 0; r < data->rows; r++) {
    bl_rng rng = bl_rng_make(ivae_noise_seed(o->seed, (uint64_t)m->fit.best_start), (uint64_t)r);
    for (int i = 0; i < p->draws * k; i++) p->noise[r * p->draws * k + i] = bl_rng_normal(&rng);
  }
}

static inline void ivae_free(plain_ivae *p) {
  free(p->a), free(p->log_v), free(p->mean), free(p->encoder), free(p->encoder_log), free(p->noise);
}

/* About `count` slopes of one array, in the scale where the mean variance of each source is 1: power says how they
 * scale. */
static inline double ivae_slopes(plain_ivae *p, double *x, int size, int by_column, int power, int local, int count) {
  const double weight[4] = {1, -8, 8, -1}, at[4] = {-2, -1, 1, 2};
  double most = 0;
  for (int i = 0; i < size; i += 1 + size / count) {
    int c = by_column ? i / p->n : i % p->k;
    double variance = 0, slope = 0, keep = x[i];
    for (int s = 0; s < p->u; s++) variance += exp(p->log_v[c + s * p->k]) / p->u;
    double sd = sqrt(variance), scale = pow(sd, power), h = 5e-4 * scale; /* a step of 5e-4 in that scale */
    for (int e = 0; e < 4; e++) {
      x[i] = keep + at[e] * h;
      slope += weight[e] * ivae_value(p, local ? i / p->k : -1);
    }
    x[i] = keep;
    most = fmax(most, fabs(slope / (12 * h) * scale));
  }
  return most;
}

/* Largest relative slope over about `count` coordinates of each kind; *loss is the value by its definition, NaN (and
 * the result too) when no order and signs of the noise give the recorded one. */
static inline double plain_ivae_slope(const blica_model *m, const blica_data *data, const blica_fit_options *o,
                                      double recorded, int count, double *loss) {
  plain_ivae p;
  long at = 0;
  double most = NAN;
  ivae_take(&p, m, data, o);
  *loss = NAN;
  while (ivae_next(&p, &at)) {
    double value = ivae_value(&p, -1);
    if (fabs(value - recorded) > 1e-9 * fmax(1, fabs(recorded))) continue;
    *loss = value;
    most = ivae_slopes(&p, p.a, p.n * p.k, 1, -1, 0, count);
    most = fmax(most, ivae_slopes(&p, p.log_v, p.k * p.u, 0, 0, 1, count));
    most = fmax(most, ivae_slopes(&p, p.mean, p.k * p.u, 0, 1, 1, count));
    most = fmax(most, ivae_slopes(&p, p.encoder, p.k * (p.n + p.u + 1), 0, 1, 0, count));
    most = fmax(most, ivae_slopes(&p, p.encoder_log, p.k * (p.n + p.u + 1), 0, 0, 0, count));
    most /= fmax(1, fabs(value));
    break;
  }
  ivae_free(&p);
  return most;
}

#endif
