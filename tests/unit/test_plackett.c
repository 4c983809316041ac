/* Orthants by reduction: 30-digit references, separation of variables, identities, derivatives, instruction sets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "num/plackett.h"
#include "num/rng.h"

enum { LARGEST = 20 };

typedef struct {
  blica_ctx *ctx;
  int n;
  int64_t count;
  double mean[LARGEST], cov[LARGEST * LARGEST];
  double *log_p, *weight, *score_mean, *score_cov;
  bl_mvn_tree *tree;
  bl_plackett_work *work;
} full;

/* All orthants of the distribution in f. */
static void make_full(full *f, int n) {
  int order[BL_PLACKETT_MAX];
  f->n = n;
  f->count = INT64_C(1) << n;
  assert_int_equal(blica_ctx_create(&f->ctx), BLICA_OK);
  uint8_t *x = malloc((size_t)(f->count * n));
  f->log_p = malloc(sizeof(double) * (size_t)f->count);
  f->weight = malloc(sizeof(double) * (size_t)f->count);
  f->score_mean = malloc(sizeof(double) * (size_t)(f->count * n));
  f->score_cov = malloc(sizeof(double) * (size_t)(f->count * n * n));
  for (int64_t r = 0; r < f->count; r++) {
    f->weight[r] = (double)(r * 7919 % 13);
    for (int i = 0; i < n; i++) x[r * n + i] = (uint8_t)(r >> i & 1);
  }
  bl_plackett_order(n, f->cov, order);
  assert_int_equal(bl_mvn_tree_make(f->ctx, n, order, f->count, x, &f->tree), BLICA_OK);
  assert_int_equal(bl_plackett_work_make(f->ctx, n, true, &f->work), BLICA_OK);
  free(x);
}

static void drop_full(full *f) {
  bl_mvn_tree_free(f->tree);
  bl_plackett_work_free(f->work);
  blica_ctx_free(f->ctx);
  free(f->log_p);
  free(f->weight);
  free(f->score_mean);
  free(f->score_cov);
}

/* A model as the paper draws it, loadings times size. */
static void draw(full *f, int n, int k, double size, uint64_t seed) {
  bl_rng rng = bl_rng_make(seed, 3);
  double c = 0.39269908169872414;
  memset(f, 0, sizeof *f);
  for (int l = 0; l < k; l++) {
    double a[LARGEST], sd = 0.5 + 2.5 * bl_rng_uniform(&rng), mu = bl_rng_uniform(&rng) - 0.5;
    for (int i = 0; i < n; i++) a[i] = size * (6 * bl_rng_uniform(&rng) - 3);
    for (int i = 0; i < n; i++) {
      f->mean[i] += sqrt(c) * a[i] * mu / size;
      for (int j = 0; j < n; j++) f->cov[i * n + j] += c * a[i] * a[j] * sd * sd;
    }
  }
  for (int i = 0; i < n; i++) f->cov[i * n + i] += 1.0;
  make_full(f, n);
}

static double weighted(full *f, const double *mean, const double *cov, int nodes, bl_mvn_result *result) {
  result->log_p = f->log_p;
  assert_true(bl_plackett(f->tree, mean, cov, 0, f->count, nodes, blica_simd_level(f->ctx), f->work, result));
  double sum = 0;
  for (int64_t r = 0; r < f->count; r++) sum += f->weight[f->tree->row[r]] * f->log_p[r];
  return sum;
}

static double log_p_of(const full *f, int64_t given) {
  for (int64_t r = 0; r < f->count; r++)
    if (f->tree->row[r] == given) return f->log_p[r];
  return NAN;
}

static int read_reference(FILE *file, full *f, double *log_p, int64_t *given) {
  static char line[65536];
  if (!fgets(line, sizeof line, file)) return 0;
  char *at = strchr(line, ',');
  memset(f, 0, sizeof *f);
  f->n = (int)strtol(at + 1, &at, 10);
  *log_p = strtod(at + 1, &at);
  for (int i = 0; i < f->n; i++) f->mean[i] = strtod(at + 1, &at);
  for (int i = 0; i < f->n * f->n; i++) f->cov[i] = strtod(at + 1, &at);
  *given = 0;
  for (int i = 0; i < f->n; i++) *given |= (int64_t)strtol(at + 1, &at, 10) << i;
  return 1;
}

/* 30-digit values: closed forms, one-factor integrals, products. Correlations reach 0.99 in them, so many nodes. */
static void test_reference(void **state) {
  (void)state;
  char header[128];
  double expected, worst = 0;
  int64_t given;
  int rows = 0;
  full f;
  FILE *file = fopen("tests/data/mvn_reference.csv", "r");
  assert_non_null(file);
  assert_non_null(fgets(header, sizeof header, file));
  while (read_reference(file, &f, &expected, &given)) {
    if (f.n > 8) continue;
    make_full(&f, f.n);
    bl_mvn_result result = {0};
    weighted(&f, f.mean, f.cov, f.n <= 5 ? 24 : f.n <= 7 ? 16 : 10, &result);
    worst = fmax(worst, fabs(exp(log_p_of(&f, given)) - exp(expected)));
    rows++;
    drop_full(&f);
  }
  fclose(file);
  printf("%d orthants, largest error of a probability %.2g\n", rows, worst);
  assert_true(rows >= 36);
  assert_true(worst < 1e-13);
}

/* Each rule is better than the one before, the last two agree, and separation of variables agrees within its error. */
static void test_convergence(void **state) {
  (void)state;
  static const double most[] = {1e-4, 1e-5, 1e-6, 1e-8, 1e-11, 1e-14};
  static const int nodes[] = {2, 3, 4, 6, 9, 14};
  full f;
  draw(&f, 6, 6, 1.0, 8);
  double best[64], log_p, error;
  bl_mvn_result result = {0};
  weighted(&f, f.mean, f.cov, 20, &result);
  memcpy(best, f.log_p, sizeof best);
  for (int rule = 0; rule < 6; rule++) {
    double worst = 0;
    weighted(&f, f.mean, f.cov, nodes[rule], &result);
    for (int r = 0; r < 64; r++) worst = fmax(worst, fabs(exp(f.log_p[r]) - exp(best[r])));
    printf("%d nodes: %.2g\n", nodes[rule], worst);
    assert_true(worst < most[rule]);
  }
  for (int r = 0; r < 64; r += 9) {
    uint8_t x[6];
    for (int i = 0; i < 6; i++) x[f.tree->order[i]] = f.tree->x[r * 6 + i];
    assert_int_equal(bl_mvn_orthant(f.ctx, 6, f.mean, f.cov, x, 1e-4, 1, &log_p, &error), BLICA_OK);
    assert_true(fabs(log_p - best[r]) < error);
  }
  drop_full(&f);
}

/* Probabilities sum to 1 whatever the rule; scores average to zero. */
static void test_sums(void **state) {
  (void)state;
  for (int n = 1; n <= 8; n++) {
    full f;
    draw(&f, n, n, 2.0, (uint64_t)n);
    bl_mvn_result result = {.score_mean = f.score_mean, .score_cov = f.score_cov};
    weighted(&f, f.mean, f.cov, 4, &result);
    double sum = 0, zero[LARGEST * (LARGEST + 1)] = {0};
    for (int64_t r = 0; r < f.count; r++) {
      double p = exp(f.log_p[r]);
      sum += p;
      for (int e = 0; e < n; e++) zero[e] += p * f.score_mean[r * n + e];
      for (int e = 0; e < n * n; e++) zero[n + e] += p * f.score_cov[r * n * n + e];
    }
    assert_true(fabs(sum - 1) < 1e-13);
    for (int e = 0; e < n + n * n; e++) assert_true(fabs(zero[e]) < 1e-12);
    drop_full(&f);
  }
}

/* Gradient against central differences; the sum of scores is the gradient. */
static void test_gradient(void **state) {
  (void)state;
  for (int n = 1; n <= 7; n++) {
    full f;
    draw(&f, n, n > 3 ? 3 : n, 1.0, 40 + (uint64_t)n);
    int nodes = n <= 5 ? 16 : 12;
    double g_mean[LARGEST], g_cov[LARGEST * LARGEST], largest = 0, worst = 0, h = 1e-4;
    bl_mvn_result result = {.weight = f.weight, .g_mean = g_mean, .g_cov = g_cov, .score_mean = f.score_mean, .score_cov = f.score_cov}, plain = {0};
    weighted(&f, f.mean, f.cov, nodes, &result);
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(g_mean[i]));
    for (int i = 0; i < n; i++)
      for (int j = -1; j <= i; j++) {
        double value[2], sum = 0, ours = j < 0 ? g_mean[i] : g_cov[i * n + j];
        for (int64_t r = 0; r < f.count; r++)
          sum += f.weight[f.tree->row[r]] * (j < 0 ? f.score_mean[r * n + i] : f.score_cov[(r * n + j) * n + i]);
        assert_true(fabs(sum - ours) < 1e-11 * largest);
        for (int side = 0; side < 2; side++) {
          double mean[LARGEST], cov[LARGEST * LARGEST], step = side ? h : -h;
          memcpy(mean, f.mean, sizeof mean);
          memcpy(cov, f.cov, sizeof cov);
          if (j < 0) mean[i] += step;
          if (j >= 0) cov[i * n + j] += step;
          if (j >= 0 && j < i) cov[j * n + i] += step;
          value[side] = weighted(&f, mean, cov, nodes, &plain);
        }
        worst = fmax(worst, fabs((value[1] - value[0]) / (2 * h) - (j < 0 || i == j ? 1 : 2) * ours));
      }
    printf("n=%d: worst difference %.3g of largest element %.3g\n", n, worst, largest);
    assert_true(worst < 1e-6 * largest);
    drop_full(&f);
  }
}

/* Every instruction set to rounding; any part of the orthants has the same bits. */
static void test_levels(void **state) {
  (void)state;
  full f;
  draw(&f, 7, 7, 1.0, 5);
  double value[3][128], g_cov[49], g_mean[7];
  for (int level = 0; level < 3; level++) {
    blica_set_simd(f.ctx, (blica_simd)(BLICA_SIMD_SCALAR + level));
    bl_mvn_result result = {.weight = f.weight, .g_mean = g_mean, .g_cov = g_cov};
    weighted(&f, f.mean, f.cov, 6, &result);
    memcpy(value[level], f.log_p, sizeof value[level]);
    for (int r = 0; r < 128; r++) assert_true(fabs(exp(value[level][r]) - exp(value[0][r])) < 1e-14);
  }
  bl_mvn_result part = {.log_p = f.log_p};
  assert_true(bl_plackett(f.tree, f.mean, f.cov, 17, 40, 6, blica_simd_level(f.ctx), f.work, &part));
  for (int r = 17; r < 40; r++) assert_true(f.log_p[r - 17] == value[2][r]);
  drop_full(&f);
}

/* Not positive definite: refused. */
static void test_edges(void **state) {
  (void)state;
  full f;
  draw(&f, 4, 4, 1.0, 2);
  bl_mvn_result result = {.log_p = f.log_p};
  f.cov[1] = f.cov[4] = 1.01 * sqrt(f.cov[0] * f.cov[5]);
  assert_false(bl_plackett(f.tree, f.mean, f.cov, 0, f.count, 6, blica_simd_level(f.ctx), f.work, &result));
  f.cov[1] = f.cov[4] = NAN;
  assert_false(bl_plackett(f.tree, f.mean, f.cov, 0, f.count, 6, blica_simd_level(f.ctx), f.work, &result));
  drop_full(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_convergence), cmocka_unit_test(test_sums),
                                     cmocka_unit_test(test_gradient), cmocka_unit_test(test_levels), cmocka_unit_test(test_edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
