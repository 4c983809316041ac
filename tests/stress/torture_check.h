/* torture_check.h - objectives written down once more from their definitions, as plainly as can be, and their slopes by
 * differences: what a claim of convergence is held against. Nothing here shares code with src/estimate. */
#ifndef TEST_TORTURE_CHECK_H
#define TEST_TORTURE_CHECK_H

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"
#include "../support/note.h"
#include "num/linear/blas.h"
#include "../support/solvers.h"

/* One more step of symmetric fastICA (log cosh) from the model, in the coordinates of its own components y, where the
 * unmixing is the identity: W = E[tanh(y) y'] - diag E[1 - tanh(y)^2], made orthogonal by Newton's iteration
 * W <- (3 W - W W' W)/2. Returns the largest 1 - |W_jj|, what the method calls the change of a step. */
static inline double plain_fastica(const blica_model *m, const blica_data *d) {
  const int n = m->n, k = m->k;
  double *y = calloc((size_t)d->rows * k, sizeof *y), *gram = calloc((size_t)k * k, sizeof *gram);
  double *b = calloc((size_t)n * k, sizeof *b), *w = calloc((size_t)k * k, sizeof *w),
         *next = calloc((size_t)k * k, sizeof *next);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++)
      for (int v = 0; v < n; v++) gram[i + j * k] += m->mixing[v + i * n] * m->mixing[v + j * n];
  for (int v = 0; v < n; v++)
    for (int j = 0; j < k; j++) b[j + v * k] = m->mixing[v + j * n];
  int *pivots = calloc(k, sizeof *pivots);
  solve_general(k, n, gram, pivots, b); /* pseudo-inverse of A */
  int64_t at = 0;
  for (int s = 0; s < d->u; s++)
    for (int64_t r = 0; r < d->samples[s]; r++, at++)
      for (int v = 0; v < n; v++)
        if (d->ones[s][v * d->words[s] + r / 64] >> (r % 64) & 1)
          for (int j = 0; j < k; j++) y[at * k + j] += b[j + v * k];
  for (int j = 0; j < k; j++) {
    double mean = 0, square = 0;
    for (at = 0; at < d->rows; at++) mean += y[at * k + j] / (double)d->rows;
    for (at = 0; at < d->rows; at++) square += (y[at * k + j] - mean) * (y[at * k + j] - mean) / (double)d->rows;
    for (at = 0; at < d->rows; at++) y[at * k + j] = (y[at * k + j] - mean) / sqrt(square);
  }
  for (at = 0; at < d->rows; at++)
    for (int i = 0; i < k; i++) {
      double g = tanh(y[at * k + i]);
      for (int j = 0; j < k; j++) w[i + j * k] += (g * y[at * k + j] - (i == j) * (1 - g * g)) / (double)d->rows;
    }
  double size = 0, change = 0;
  for (int i = 0; i < k * k; i++) size += w[i] * w[i];
  for (int i = 0; i < k * k; i++) w[i] /= sqrt(size);
  for (int step = 0; step < 200; step++) {
    for (int i = 0; i < k; i++)
      for (int j = 0; j < k; j++) {
        next[i + j * k] = 1.5 * w[i + j * k];
        for (int a = 0; a < k; a++)
          for (int c = 0; c < k; c++) next[i + j * k] -= 0.5 * w[i + a * k] * w[c + a * k] * w[c + j * k];
      }
    memcpy(w, next, (size_t)k * k * sizeof *w);
  }
  for (int j = 0; j < k; j++) change = fmax(change, fabs(1 - fabs(w[j + j * k])));
  free(y), free(gram), free(b), free(w), free(next), free(pivots);
  return change;
}

/* A point and what its objective is made of. Without counts: the scaled Gaussian likelihood (blica) of cor; with
 * counts: the pairwise likelihood; with matched: the matched one; with data: the full one. */
typedef struct {
  int n, k, u;
  double link, weight;
  double *a, *log_v, *mean; /* [n,k], [k,u], [k,u] */
  double precision_mixing, precision_variance, precision_mean;
  const blica_cor *cor;
  const blica_counts *counts;
  const blica_data *data;
  const blica_data *rows; /* with matched: which items rows have together */
  blica_ctx *ctx;
  blica_model *model; /* with data: where the point is put for blica_loglik */
  const double *thresholds, *samples;
  int matched;
} plain;

/* Of a prior with this standard deviation; 0 without a prior, when it is infinite or was not noted. */
static inline double precision(double sd) {
  return isnan(sd) ? 0 : 1 / (sd * sd);
}

static inline double *plain_zeros(size_t count) {
  return calloc(count ? count : 1, sizeof(double));
}
static inline double plain_cdf(double x) {
  return 0.5 * erfc(-x * 0.70710678118654752440);
}

/* M = I + c A diag(v) A' */
static inline void plain_latent(const plain *p, int s, double *m) {
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->n; j++) {
      double sum = i == j;
      for (int l = 0; l < p->k; l++)
        sum += p->link * p->a[i + l * p->n] * p->a[j + l * p->n] * exp(p->log_v[l + s * p->k]);
      m[i + (size_t)j * p->n] = sum;
    }
}

/* Inverse in place; returns log det, NaN when m is not positive definite. */
static inline double plain_invert(int n, double *m) {
  double log_det = 0;
  if (bl_dpotrf('L', n, m, n) != 0) return NAN;
  for (int i = 0; i < n; i++) log_det += 2 * log(m[(size_t)i * (n + 1)]);
  bl_dpotri('L', n, m, n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) m[i + (size_t)j * n] = m[j + (size_t)i * n];
  return log_det;
}

static inline double plain_scales_value(int n, const double *h, const double *w) {
  double value = 0;
  for (int i = 0; i < n; i++) {
    double sum = 0;
    if (!(w[i] > 0)) return INFINITY;
    for (int j = 0; j < n; j++) sum += h[i + (size_t)j * n] * w[j];
    value += 0.5 * w[i] * sum - log(w[i]);
  }
  return value;
}

/* The least of w'Hw/2 - sum log w over w > 0, by damped Newton: the best scales 1/q for given A and v. */
static inline double plain_scales(int n, const double *h) {
  double *w = plain_zeros(n), *next = plain_zeros(n), *g = plain_zeros(n), *hessian = plain_zeros((size_t)n * n), value;
  for (int i = 0; i < n; i++) w[i] = 1 / sqrt(fabs(h[(size_t)i * (n + 1)]));
  value = plain_scales_value(n, h, w);
  for (int step = 0; step < 100; step++) {
    memcpy(hessian, h, (size_t)n * n * sizeof *h);
    for (int i = 0; i < n; i++) {
      g[i] = 1 / w[i];
      for (int j = 0; j < n; j++) g[i] -= h[i + (size_t)j * n] * w[j];
      hessian[(size_t)i * (n + 1)] += 1 / (w[i] * w[i]);
    }
    if (solve_definite(n, 1, hessian, g) != 0) break;
    double length = 1, trial = INFINITY, most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(g[i] / w[i]));
    for (; length > 1e-10; length /= 2) {
      for (int i = 0; i < n; i++) next[i] = w[i] + length * g[i];
      trial = plain_scales_value(n, h, next);
      if (trial <= value + 1e-15 * fabs(value)) break;
    }
    if (!(length > 1e-10)) break;
    memcpy(w, next, (size_t)n * sizeof *w);
    value = trial;
    if (most < 1e-9) break;
  }
  free(w), free(next), free(g), free(hessian);
  return value;
}

static inline double plain_gaussian(const plain *p, int s) {
  const int n = p->n;
  double *m = plain_zeros((size_t)n * n), *c = plain_zeros((size_t)n * n);
  plain_latent(p, s, m);
  blica_cor_matrix(p->cor, s, c);
  double value = plain_invert(n, m);
  for (int i = 0; i < n * n; i++) m[i] *= c[i];
  value = p->weight * p->samples[s] / 2 * (value + 2 * plain_scales(n, m));
  free(m), free(c);
  return value;
}

static inline void plain_to_correlation(int n, double *m) {
  double *d = plain_zeros(n);
  for (int i = 0; i < n; i++) d[i] = 1 / sqrt(m[(size_t)i * (n + 1)]);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) m[i + (size_t)j * n] *= d[i] * d[j];
  free(d);
}

/* Whether row r of segment s has item i. */
static inline int plain_has(const blica_data *d, int s, int64_t r, int i) {
  return !d->present[s] || (d->present[s][i * d->words[s] + r / 64] >> (r % 64) & 1);
}

/* The items of row r of segment s, into item; returns their number. */
static inline int plain_items(const blica_data *d, int s, int64_t r, int *item) {
  int count = 0;
  for (int i = 0; i < d->n; i++)
    if (plain_has(d, s, r, i)) item[count++] = i;
  return count;
}

/* The rows after r of segment s that have the same items as row r, and r itself; 0 if an earlier row has them, too. */
static inline int64_t plain_alike(const blica_data *d, int s, int64_t r) {
  int64_t count = 0;
  for (int64_t other = 0; other < d->samples[s]; other++) {
    int same = 1;
    for (int i = 0; i < d->n && same; i++) same = plain_has(d, s, r, i) == plain_has(d, s, other, i);
    if (same && other < r) return 0;
    count += same;
  }
  return count;
}

/* log det + tr(C inverse) of model and data on some of the items. */
static inline double plain_fit_of(int n, const double *m, const double *c, int count, const int *item) {
  double *part = plain_zeros((size_t)count * count), value;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) part[i + j * count] = m[item[i] + (size_t)item[j] * n];
  value = count > 0 ? plain_invert(count, part) : 0;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) value += part[i + j * count] * c[item[i] + (size_t)item[j] * n];
  free(part);
  return value;
}

/* The Gaussian part of method matched: a block for each set of items that rows have together (docs/method.md, equation
 * 34, which holds where the sets are few). */
static inline double plain_matched_gaussian(const plain *p, int s) {
  const int n = p->n;
  double *m = plain_zeros((size_t)n * n), *c = plain_zeros((size_t)n * n), value = 0;
  int *item = calloc((size_t)n, sizeof *item);
  plain_latent(p, s, m);
  plain_to_correlation(n, m);
  blica_cor_matrix(p->cor, s, c);
  for (int i = 0; i < n; i++) {
    double t = p->thresholds[i + s * n], density = exp(-t * t / 2) / 2.50662827463100050242;
    double noise = plain_cdf(t) * plain_cdf(-t) / (density * density) - 1;
    m[(size_t)i * (n + 1)] += noise;
    c[(size_t)i * (n + 1)] += noise;
  }
  if (p->rows && p->rows->missing) {
    for (int64_t r = 0; r < p->rows->samples[s]; r++) {
      const double alike = (double)plain_alike(p->rows, s, r);
      if (alike > 0) value += alike * plain_fit_of(n, m, c, plain_items(p->rows, s, r, item), item);
    }
  } else {
    for (int i = 0; i < n; i++) item[i] = i;
    value = p->samples[s] * plain_fit_of(n, m, c, n, item);
  }
  free(m), free(c), free(item);
  return p->weight / 2 * value;
}

static inline double plain_pairwise(const plain *p, int s) {
  const int n = p->n;
  double *m = plain_zeros((size_t)n * n), value = 0;
  plain_latent(p, s, m);
  plain_to_correlation(n, m);
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      double cell[4], h = p->thresholds[i + s * n], k = p->thresholds[j + s * n];
      double both = blica_bvn(h, k, fmin(fmax(m[i + (size_t)j * n], -1 + 1e-12), 1 - 1e-12));
      double share[4] = {both, plain_cdf(h) - both, plain_cdf(k) - both, plain_cdf(-h) - plain_cdf(k) + both};
      blica_counts_table(p->counts, s, i, j, cell);
      for (int c = 0; c < 4; c++)
        if (cell[c] != 0) value -= 0.5 * p->weight * cell[c] * log(fmax(share[c], DBL_EPSILON));
    }
  free(m);
  return value;
}

/* The share of all tables that have an empty cell. */
static inline double plain_empty(const plain *p) {
  const int64_t all = p->cor->pairs * p->u;
  double empty = 0;
  for (int64_t i = 0; i < all; i++) empty += (p->cor->flags[i] & BLICA_PAIR_ZERO_CELL) != 0;
  return empty / (double)all;
}

/* The share of a segment's weight that its tables have in method matched: docs/method.md, equation 30. */
static inline double plain_rare(const plain *p, int s) {
  const double pairs = 0.5 * p->n * (p->n - 1.0);
  double both = 0, one = 0;
  if (!p->counts || p->counts->exact) return 0;
  for (int j = 1; j < p->n; j++)
    for (int i = 0; i < j; i++) {
      double a = plain_cdf(-fabs(p->thresholds[i + s * p->n])), b = plain_cdf(-fabs(p->thresholds[j + s * p->n]));
      double r = fmax(0, 1 - a / 0.25) * fmax(0, 1 - b / 0.25), e = p->samples[s] * a * b / 100;
      both += fmin(1, 2 * sqrt(r)) / (1 + e * e) / pairs;
      one += fmax(0, 1 - fmin(a, b) / 0.25) / pairs;
    }
  const double filled = 1 - exp(-plain_empty(p) * one / 0.02), share = fmax(both, filled > 0.1 ? filled : 0);
  return share < 0.01 ? 0 : fmin(share, 1);
}

static inline double plain_matched(const plain *p, int s) {
  const double share = plain_rare(p, s);
  return (1 - share) * plain_matched_gaussian(p, s) + (share > 0 ? share * plain_pairwise(p, s) : 0);
}

/* The full likelihood has an engine with an error bound of its own, blica_loglik, checked against 50-digit values. */
static inline double plain_full(const plain *p) {
  blica_loglik_options o = blica_loglik_options_default();
  blica_loglik_result *result = NULL;
  o.error = 1e-7;
  memcpy(p->model->mixing, p->a, (size_t)p->n * p->k * sizeof(double));
  memcpy(p->model->means, p->mean, (size_t)p->k * p->u * sizeof(double));
  for (int i = 0; i < p->k * p->u; i++) p->model->variances[i] = exp(p->log_v[i]);
  if (blica_loglik(p->ctx, p->model, p->data, &o, &result) != BLICA_OK) return NAN;
  double value = -p->weight * result->total;
  blica_loglik_result_free(result);
  return value;
}

static inline double plain_segment(const plain *p, int s) {
  return p->matched ? plain_matched(p, s) : p->counts ? plain_pairwise(p, s) : plain_gaussian(p, s);
}

static inline double plain_prior(const plain *p) {
  double value = 0;
  for (int i = 0; i < p->n * p->k; i++) value += p->precision_mixing / 2 * p->a[i] * p->a[i];
  for (int i = 0; i < p->k * p->u; i++)
    value += p->precision_variance / 2 * p->log_v[i] * p->log_v[i] + p->precision_mean / 2 * p->mean[i] * p->mean[i];
  return value;
}

static inline double plain_value(const plain *p) {
  double value = plain_prior(p);
  if (p->data) return value + plain_full(p);
  for (int s = 0; s < p->u; s++) value += plain_segment(p, s);
  return value;
}

/* Slope along one coordinate: all segments answer for A, one for what is its own. Differences of order 4. */
static inline double plain_slope(plain *p, double *x, int s, double unit) {
  const double keep = *x, h = 5e-4 * unit, weight[4] = {1, -8, 8, -1}, at[4] = {-2, -1, 1, 2};
  double slope = 0;
  for (int i = 0; i < 4; i++) {
    *x = keep + at[i] * h;
    double value = p->data ? plain_value(p) : plain_prior(p);
    for (int o = s < 0 ? 0 : s; !p->data && o < (s < 0 ? p->u : s + 1); o++) value += plain_segment(p, o);
    slope += weight[i] * value;
  }
  *x = keep;
  return slope / (12 * h);
}

/* Largest slope in absolute value over about `count` coordinates of each kind, evenly spread. Slopes by A and the means
 * are those in the scale where the mean variance of the source is 1: at other scales they can be made as small as one
 * likes. */
static inline double plain_sd(const plain *p, int j) {
  double variance = 0;
  for (int s = 0; s < p->u; s++) variance += exp(p->log_v[j + s * p->k]) / p->u;
  return sqrt(variance);
}

static inline double plain_gradient(plain *p, int count) {
  double most = 0;
  int mixing = p->n * p->k, local = p->k * p->u;
  for (int i = 0; i < mixing; i += 1 + mixing / count) {
    double sd = plain_sd(p, i / p->n);
    most = fmax(most, fabs(plain_slope(p, &p->a[i], -1, fmax(fabs(p->a[i]), 1 / sd))) / sd);
  }
  for (int i = 0; i < local; i += 1 + local / count) {
    double sd = plain_sd(p, i % p->k);
    most = fmax(most, fabs(plain_slope(p, &p->log_v[i], i / p->k, 1)));
    if (p->data) most = fmax(most, sd * fabs(plain_slope(p, &p->mean[i], i / p->k, sd)));
  }
  return most;
}

/* The model is in canonical scale. Without priors the objective does not depend on it; with them the point that was
 * found is the one whose scale minimises them, source by source, since the likelihood is the same along it. */
static inline void plain_take(plain *p, const blica_model *m) {
  p->n = m->n, p->k = m->k, p->u = m->u, p->link = m->link, p->thresholds = m->thresholds, p->samples = m->samples;
  p->a = plain_zeros((size_t)m->n * m->k), p->log_v = plain_zeros((size_t)m->k * m->u),
  p->mean = plain_zeros((size_t)m->k * m->u);
  memcpy(p->a, m->mixing, (size_t)m->n * m->k * sizeof(double));
  memcpy(p->mean, m->means, (size_t)m->k * m->u * sizeof(double));
  for (int i = 0; i < m->k * m->u; i++) p->log_v[i] = log(m->variances[i]);
  if (!p->data) memset(p->mean, 0, (size_t)m->k * m->u * sizeof(double));
  for (int j = 0; j < p->k && p->precision_mixing > 0; j++) {
    double square = 0, mean = 0, t = 0;
    for (int i = 0; i < p->n; i++) square += p->precision_mixing * p->a[i + j * p->n] * p->a[i + j * p->n];
    for (int s = 0; s < p->u; s++) mean += p->precision_mean * p->mean[j + s * p->k] * p->mean[j + s * p->k];
    for (int step = 0; step < 200; step++) { /* A e^t, log v - 2t, mu e^-t */
      double g = square * exp(2 * t) + 4 * p->u * p->precision_variance * t - mean * exp(-2 * t);
      double h = 2 * square * exp(2 * t) + 4 * p->u * p->precision_variance + 2 * mean * exp(-2 * t);
      t -= fmax(fmin(g / h, 1), -1);
    }
    for (int i = 0; i < p->n; i++) p->a[i + j * p->n] *= exp(t);
    for (int s = 0; s < p->u; s++) p->log_v[j + s * p->k] -= 2 * t, p->mean[j + s * p->k] *= exp(-t);
  }
}

/* With as many sources as variables a fit of the full likelihood has means and no cuts; the model moves what the means
 * have in common into the cuts. This moves it back, so that the prior of the means is the fit's. False when A is
 * singular. */
static inline int plain_cuts_to_means(blica_model *m) {
  const int n = m->n;
  double *a = plain_zeros((size_t)n * n), *shift = plain_zeros(n);
  int *pivots = calloc((size_t)n, sizeof *pivots);
  memcpy(a, m->mixing, (size_t)n * n * sizeof *a);
  for (int i = 0; i < n; i++) shift[i] = -m->cuts[i] / sqrt(m->link);
  int solved = solve_general(n, 1, a, pivots, shift) == 0;
  for (int s = 0; s < m->u && solved; s++)
    for (int j = 0; j < n; j++) m->means[j + s * n] += shift[j];
  if (solved) memset(m->cuts, 0, (size_t)n * sizeof *m->cuts);
  free(a), free(shift), free(pivots);
  return solved;
}

static inline void plain_free(plain *p) {
  free(p->a), free(p->log_v), free(p->mean);
}

#endif
