/* torture_average.h - one more round of method matched with learned priors, from a model alone and written down once
 * more from docs/method.md, equations 29 and 32: the widths of the log-variances where the model stands, then A and log
 * v that minimise the mean over them, under the scales that the model records. Slopes by differences. */
#ifndef TEST_TORTURE_AVERAGE_H
#define TEST_TORTURE_AVERAGE_H

#include "num/lbfgs.h"
#include "num/rng.h"
#include "torture_check.h"

enum { AVERAGE_SOURCES = 8, AVERAGE_PAIRS = 8 };

typedef struct {
  plain *p;
  int pairs;
  double *sign, *shift; /* [k,pairs,u] */
} plain_average;

static inline void average_signs(plain_average *a, uint64_t seed) {
  const int k = a->p->k;
  for (a->pairs = 1; a->pairs < k;) a->pairs *= 2;
  a->sign = plain_zeros((size_t)k * a->pairs * a->p->u), a->shift = plain_zeros((size_t)k * a->pairs * a->p->u);
  for (int s = 0; s < a->p->u; s++) {
    bl_rng rng = bl_rng_make(seed, 0x5349474e00000000u + (uint64_t)s);
    for (int j = 0; j < k; j++) {
      int flip = bl_rng_uniform(&rng) < 0.5 ? -1 : 1;
      for (int e = 0; e < a->pairs; e++)
        a->sign[j + k * (e + a->pairs * s)] = flip * (__builtin_popcount((unsigned)(e & j)) % 2 ? -1 : 1);
    }
  }
}

/* Mean over the points of one segment's likelihood and the prior of its log-variances. */
static inline double average_segment(const plain_average *a, int s) {
  plain *p = a->p;
  const int k = p->k;
  double keep[AVERAGE_SOURCES], value = 0, *log_v = p->log_v + s * k;
  memcpy(keep, log_v, (size_t)k * sizeof *keep);
  for (int point = 0; point < 2 * a->pairs; point++) {
    const double *shift = a->shift + k * (point / 2 + a->pairs * s);
    for (int j = 0; j < k; j++) {
      log_v[j] = keep[j] + (point % 2 ? -shift[j] : shift[j]);
      value += p->precision_variance / 2 * log_v[j] * log_v[j] / (2 * a->pairs);
    }
    value += plain_matched(p, s) / (2 * a->pairs);
  }
  memcpy(log_v, keep, (size_t)k * sizeof *keep);
  return value;
}

/* Second derivative along e_i and e_j, differences extrapolated once. */
static inline double average_curvature(const plain_average *a, int s, int i, int j) {
  double *x = a->p->log_v + s * a->p->k, out[2];
  for (int fine = 0; fine < 2; fine++) {
    const double h = fine ? 0.01 : 0.02;
    double sum = 0;
    for (int corner = 0; corner < 4; corner++) {
      const double di = corner & 1 ? h : -h, dj = corner & 2 ? h : -h, keep_i = x[i], keep_j = x[j];
      x[i] += di, x[j] += dj;
      sum += (di * dj > 0 ? 1 : -1) * average_segment(a, s);
      x[i] = keep_i, x[j] = keep_j;
    }
    out[fine] = sum / (4 * h * h);
  }
  return (4 * out[1] - out[0]) / 3;
}

/* Widths that are those of their own mean Hessian. Returns false where that is not positive definite. */
static inline int average_widths(plain_average *a) {
  const int k = a->p->k;
  const double kept = 1 / (1 + pow(a->p->n / 10.0, 6)); /* of the widths */
  double h[AVERAGE_SOURCES * AVERAGE_SOURCES], value[AVERAGE_SOURCES];
  for (int s = 0; s < a->p->u; s++)
    for (int round = 0; round < 30; round++) {
      double most = 0;
      for (int j = 0; j < k; j++)
        for (int i = j; i < k; i++) h[i + k * j] = average_curvature(a, s, i, j);
      if (bl_dsyev('V', 'L', k, h, k, value) != 0 || !(value[0] > 0)) return 0;
      for (int e = 0; e < a->pairs; e++) {
        double *shift = a->shift + k * (e + a->pairs * s), next[AVERAGE_SOURCES] = {0};
        const double *sign = a->sign + k * (e + a->pairs * s);
        for (int m = 0; m < k; m++)
          for (int i = 0; i < k; i++)
            for (int j = 0; j < k; j++) next[i] += sqrt(0.75 * kept / value[m]) * h[i + k * m] * h[j + k * m] * sign[j];
        for (int i = 0; i < k; i++) most = fmax(most, fabs(next[i] - shift[i])), shift[i] = next[i];
      }
      if (most < 1e-7) break;
    }
  return 1;
}

static inline double average_slope(plain_average *a, double *x, int from, int to) {
  const double keep = *x, h = 5e-4 * fmax(1, fabs(keep)), weight[4] = {1, -8, 8, -1}, at[4] = {-2, -1, 1, 2};
  double slope = 0;
  for (int i = 0; i < 4; i++) {
    *x = keep + at[i] * h;
    for (int s = from; s < to; s++) slope += weight[i] * average_segment(a, s);
  }
  *x = keep;
  return slope / (12 * h);
}

static inline double average_objective(const double *theta, double *gradient, void *user) {
  plain_average *a = user;
  plain *p = a->p;
  const int nk = p->n * p->k, locals = p->k * p->u;
  double value = 0;
  memcpy(p->a, theta, (size_t)nk * sizeof *theta);
  memcpy(p->log_v, theta + nk, (size_t)locals * sizeof *theta);
  for (int s = 0; s < p->u; s++) value += average_segment(a, s);
  for (int i = 0; i < nk; i++) {
    value += p->precision_mixing / 2 * theta[i] * theta[i];
    gradient[i] = average_slope(a, &p->a[i], 0, p->u) + p->precision_mixing * theta[i];
  }
  const double power = fmax(0, p->k - 3); /* of the norms of the rows of A: equation 32 */
  for (int i = 0; i < p->n; i++) {
    double norm = 1;
    for (int j = 0; j < p->k; j++) norm += p->link * theta[i + j * p->n] * theta[i + j * p->n];
    value -= power / 2 * log(norm);
    for (int j = 0; j < p->k; j++) gradient[i + j * p->n] -= power * p->link * theta[i + j * p->n] / norm;
  }
  for (int i = 0; i < locals; i++) gradient[nk + i] = average_slope(a, &p->log_v[i], i / p->k, i / p->k + 1);
  return value;
}

/* What one more round changes: of A, relative to its largest element, and of the objective, relative. False when there
 * are no widths. */
static inline int one_more_round(blica_ctx *ctx, plain *p, uint64_t seed, double *change, double *gain) {
  const size_t nk = (size_t)p->n * p->k, size = nk + (size_t)p->k * p->u;
  plain_average a = {.p = p};
  double *theta = plain_zeros(size), *before = plain_zeros(nk), *gradient = plain_zeros(size), most = 0;
  bl_lbfgs_options options = {.history = 20, .max_iterations = 100, .gradient_tolerance = 1e-7};
  bl_lbfgs_result result;
  average_signs(&a, seed);
  int usable = average_widths(&a);
  if (usable) {
    memcpy(theta, p->a, nk * sizeof *theta), memcpy(before, p->a, nk * sizeof *theta);
    memcpy(theta + nk, p->log_v, (size - nk) * sizeof *theta);
    double value = average_objective(theta, gradient, &a);
    usable = bl_lbfgs(ctx, size, theta, average_objective, &a, &options, &result) == BLICA_OK;
    *change = 0;
    for (size_t i = 0; i < nk; i++)
      most = fmax(most, fabs(theta[i])), *change = fmax(*change, fabs(theta[i] - before[i]));
    *change /= fmax(most, 1e-300);
    *gain = (value - result.value) / fmax(1, fabs(value));
  }
  free(a.sign), free(a.shift), free(theta), free(before), free(gradient);
  return usable;
}

#endif
