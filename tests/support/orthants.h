/* orthants.h - all orthants of a normal distribution, for tests of what computes their probabilities. */
#ifndef TESTS_ORTHANTS_H
#define TESTS_ORTHANTS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/rectangles/mvn.h"
#include "num/rng.h"

enum { LARGEST = 20 };

/* ---- 30-digit values: closed forms, one-factor integrals, products ---- */

typedef struct {
  char kind[16];
  int n;
  double log_p, mean[LARGEST], cov[LARGEST * LARGEST];
  uint8_t x[LARGEST];
} reference;

static inline FILE *open_references(void) {
  char header[128];
  FILE *file = fopen("tests/data/mvn_reference.csv", "r");
  assert_non_null(file);
  assert_non_null(fgets(header, sizeof header, file));
  return file;
}

static inline int read_reference(FILE *file, reference *r) {
  static char line[65536];
  if (!fgets(line, sizeof line, file)) return 0;
  char *at = strchr(line, ',');
  snprintf(r->kind, sizeof r->kind, "%.*s", (int)(at - line), line);
  r->n = (int)strtol(at + 1, &at, 10);
  r->log_p = strtod(at + 1, &at);
  for (int i = 0; i < r->n; i++) r->mean[i] = strtod(at + 1, &at);
  for (int i = 0; i < r->n * r->n; i++) r->cov[i] = strtod(at + 1, &at);
  for (int i = 0; i < r->n; i++) r->x[i] = (uint8_t)strtol(at + 1, &at, 10);
  return 1;
}

/* ---- a distribution and its 2^n orthants ---- */

typedef struct {
  blica_ctx *ctx;
  int n;
  int64_t count;
  double mean[LARGEST], cov[LARGEST * LARGEST];
  double *log_p, *weight;
  bl_mvn_tree *tree;
  void *work; /* of the method under test */
} full;

/* A model as the paper draws it, loadings times size: cov = I + c A V A', mean = sqrt(c) A mu. */
static inline void draw_model(full *f, int n, int k, double size, uint64_t seed) {
  bl_rng rng = bl_rng_make(seed, 3);
  double c = 0.39269908169872414;
  memset(f, 0, sizeof *f);
  f->n = n;
  for (int l = 0; l < k; l++) {
    double a[LARGEST], sd = 0.5 + 2.5 * bl_rng_uniform(&rng), mu = bl_rng_uniform(&rng) - 0.5;
    for (int i = 0; i < n; i++) a[i] = size * (6 * bl_rng_uniform(&rng) - 3);
    for (int i = 0; i < n; i++) {
      f->mean[i] += sqrt(c) * a[i] * mu / size;
      for (int j = 0; j < n; j++) f->cov[i * n + j] += c * a[i] * a[j] * sd * sd;
    }
  }
  for (int i = 0; i < n; i++) f->cov[i * n + i] += 1.0;
}

/* All orthants of the distribution in f, in the method's order of variables; the work is left to the caller. */
static inline void make_orthants(full *f, void (*order_of)(int n, const double *cov, int *order)) {
  const int n = f->n;
  int order[LARGEST];
  f->count = INT64_C(1) << n;
  assert_int_equal(blica_ctx_create(&f->ctx), BLICA_OK);
  uint8_t *x = malloc((size_t)(f->count * n));
  f->log_p = malloc(sizeof(double) * (size_t)f->count);
  f->weight = malloc(sizeof(double) * (size_t)f->count);
  for (int64_t r = 0; r < f->count; r++) {
    f->weight[r] = (double)(r * 7919 % 13);
    for (int i = 0; i < n; i++) x[r * n + i] = (uint8_t)(r >> i & 1);
  }
  order_of(n, f->cov, order);
  assert_int_equal(bl_mvn_tree_make(f->ctx, n, order, f->count, x, &f->tree), BLICA_OK);
  free(x);
}

static inline void drop_orthants(full *f) {
  bl_free(f->tree);
  blica_ctx_free(f->ctx);
  free(f->log_p);
  free(f->weight);
}

static inline double weighted_sum(const full *f) {
  double sum = 0;
  for (int64_t r = 0; r < f->count; r++) sum += f->weight[f->tree->row[r]] * f->log_p[r];
  return sum;
}

/* The weighted sum of logarithms at another mean and covariance, by the method with its number of points or nodes. */
typedef double (*weighted_fn)(full *f, const double *mean, const double *cov, int fine, bl_mvn_result *result);

/* The derivative by element (i, j) of cov, or by mean[i] where j < 0, from central differences. */
static inline double slope_of(full *f, weighted_fn weighted, int fine, int i, int j, double h) {
  const int n = f->n;
  double value[2];
  bl_mvn_result plain = {0};
  for (int side = 0; side < 2; side++) {
    double mean[LARGEST], cov[LARGEST * LARGEST], step = side ? h : -h;
    memcpy(mean, f->mean, sizeof mean);
    memcpy(cov, f->cov, sizeof cov);
    if (j < 0) mean[i] += step;
    if (j >= 0) cov[i * n + j] += step;
    if (j >= 0 && j < i) cov[j * n + i] += step;
    value[side] = weighted(f, mean, cov, fine, &plain);
  }
  return (value[1] - value[0]) / (2 * h);
}

/* The largest difference between a gradient and central differences, to be small beside the largest slope by a mean. */
static inline void assert_gradient(full *f, weighted_fn weighted, int fine, double h, const double *g_mean,
                                   const double *g_cov) {
  const int n = f->n;
  double largest = 0, worst = 0;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(g_mean[i]));
  for (int i = 0; i < n; i++)
    for (int j = -1; j <= i; j++) {
      double ours = j < 0 ? g_mean[i] : (i == j ? 1 : 2) * g_cov[i * n + j];
      worst = fmax(worst, fabs(slope_of(f, weighted, fine, i, j, h) - ours));
    }
  printf("n=%d: worst difference %.3g of largest element %.3g\n", n, worst, largest);
  assert_true(worst < 1e-6 * largest);
}

#endif
