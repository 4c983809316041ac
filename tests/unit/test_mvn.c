/* Orthant probabilities: 30-digit references, identities, derivatives, instruction sets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "num/mvn.h"
#include "num/rng.h"

enum { LARGEST = 20 };

typedef struct {
  char kind[16];
  int n;
  double log_p, mean[LARGEST], cov[LARGEST * LARGEST];
  uint8_t x[LARGEST];
} reference;

static int read_reference(FILE *file, reference *r) {
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

/* Every probability is within its stated error, and the stated errors are small. */
static void test_reference(void **state) {
  (void)state;
  blica_ctx *ctx;
  reference r;
  int rows = 0, outside = 0;
  double worst_small = 0, worst_large = 0;
  char header[128];
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  FILE *file = fopen("tests/data/mvn_reference.csv", "r");
  assert_non_null(file);
  assert_non_null(fgets(header, sizeof header, file));
  while (read_reference(file, &r)) {
    double log_p, error;
    assert_int_equal(bl_mvn_orthant(ctx, r.n, r.mean, r.cov, r.x, 1e-6, 1, &log_p, &error), BLICA_OK);
    double miss = fabs(log_p - r.log_p);
    if (miss > error) {
      printf("%s n=%d: log p %.15g, reference %.15g, miss %.3g, stated %.3g\n", r.kind, r.n, log_p, r.log_p, miss, error);
      outside++;
    }
    assert_true(miss < 2 * error);
    if (r.n <= 5)
      worst_small = fmax(worst_small, error);
    else
      worst_large = fmax(worst_large, error);
    rows++;
  }
  fclose(file);
  printf("%d orthants, %d outside their stated error; largest stated error of log p %.3g (n <= 5), %.3g (n <= 20)\n",
         rows, outside, worst_small, worst_large);
  assert_true(rows > 40);
  assert_true(outside == 0);
  assert_true(worst_small < 1e-4);
  assert_true(worst_large < 2e-2);
  blica_ctx_free(ctx);
}

/* A model as the paper draws it: cov = I + c A V A', mean = sqrt(c) A mu. */
static void draw(int n, int k, uint64_t seed, double *mean, double *cov) {
  bl_rng rng = bl_rng_make(seed, 3);
  double c = 0.39269908169872414;
  memset(cov, 0, sizeof *cov * (size_t)(n * n));
  memset(mean, 0, sizeof *mean * (size_t)n);
  for (int l = 0; l < k; l++) {
    double a[LARGEST], sd = 0.5 + 2.5 * bl_rng_uniform(&rng), mu = bl_rng_uniform(&rng) - 0.5;
    for (int i = 0; i < n; i++) a[i] = 6 * bl_rng_uniform(&rng) - 3;
    for (int i = 0; i < n; i++) {
      mean[i] += sqrt(c) * a[i] * mu;
      for (int j = 0; j < n; j++) cov[i * n + j] += c * a[i] * a[j] * sd * sd;
    }
  }
  for (int i = 0; i < n; i++) cov[i * n + i] += 1.0;
}

typedef struct {
  blica_ctx *ctx;
  int n;
  int64_t count;
  double mean[LARGEST], cov[LARGEST * LARGEST];
  uint8_t *x;
  double *log_p, *weight, *score_mean, *score_cov;
  bl_mvn_tree *tree;
  bl_mvn_work *work;
} full;

static full make_full(int n, int k, uint64_t seed, int points) {
  full f = {.n = n, .count = INT64_C(1) << n};
  int order[LARGEST];
  assert_int_equal(blica_ctx_create(&f.ctx), BLICA_OK);
  draw(n, k, seed, f.mean, f.cov);
  f.x = malloc((size_t)(f.count * n));
  f.log_p = malloc(sizeof(double) * (size_t)f.count);
  f.weight = malloc(sizeof(double) * (size_t)f.count);
  f.score_mean = malloc(sizeof(double) * (size_t)(f.count * n));
  f.score_cov = malloc(sizeof(double) * (size_t)(f.count * n * n));
  for (int64_t r = 0; r < f.count; r++) {
    f.weight[r] = (double)(r * 7919 % 13);
    for (int i = 0; i < n; i++) f.x[r * n + i] = (uint8_t)(r >> i & 1);
  }
  bl_mvn_order(n, f.cov, order);
  assert_int_equal(bl_mvn_tree_make(f.ctx, n, order, f.count, f.x, &f.tree), BLICA_OK);
  assert_int_equal(bl_mvn_work_make(f.ctx, n, points, f.count, true, &f.work), BLICA_OK);
  return f;
}

static void drop_full(full *f) {
  bl_mvn_tree_free(f->tree);
  bl_mvn_work_free(f->work);
  blica_ctx_free(f->ctx);
  free(f->x);
  free(f->log_p);
  free(f->weight);
  free(f->score_mean);
  free(f->score_cov);
}

static double weighted(full *f, const double *mean, const double *cov, int points, bl_mvn_result *result) {
  result->log_p = f->log_p;
  assert_true(bl_mvn_lattice(f->tree, mean, cov, 0, f->count, points, 5, 1, blica_simd_level(f->ctx), f->work, result));
  double sum = 0;
  for (int64_t r = 0; r < f->count; r++) sum += f->weight[f->tree->row[r]] * f->log_p[r];
  return sum;
}

static void test_sum_to_one(void **state) {
  (void)state;
  for (int n = 1; n <= 9; n++) {
    full f = make_full(n, n, (uint64_t)n, 128);
    bl_mvn_result result = {0};
    weighted(&f, f.mean, f.cov, 128, &result);
    double sum = 0;
    for (int64_t r = 0; r < f.count; r++) sum += exp(f.log_p[r]);
    assert_true(fabs(sum - 1) < 1e-13);
    drop_full(&f);
  }
}

/* Gradient of the lattice sum against central differences, relative to its largest element. */
static void test_gradient(void **state) {
  (void)state;
  for (int n = 1; n <= 7; n += 2) {
    full f = make_full(n, n > 3 ? 3 : n, 40 + (uint64_t)n, 128);
    double g_mean[LARGEST], g_cov[LARGEST * LARGEST], largest = 0, worst = 0, h = 2e-5;
    bl_mvn_result result = {.weight = f.weight, .g_mean = g_mean, .g_cov = g_cov}, plain = {0};
    weighted(&f, f.mean, f.cov, 128, &result);
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(g_mean[i]));
    for (int i = 0; i < n; i++)
      for (int j = -1; j <= i; j++) {
        double value[2];
        for (int side = 0; side < 2; side++) {
          double mean[LARGEST], cov[LARGEST * LARGEST], step = side ? h : -h;
          memcpy(mean, f.mean, sizeof mean);
          memcpy(cov, f.cov, sizeof cov);
          if (j < 0) mean[i] += step;
          if (j >= 0) cov[i * n + j] += step;
          if (j >= 0 && j < i) cov[j * n + i] += step;
          value[side] = weighted(&f, mean, cov, 128, &plain);
        }
        double slope = (value[1] - value[0]) / (2 * h), ours = j < 0 ? g_mean[i] : (i == j ? 1 : 2) * g_cov[i * n + j];
        worst = fmax(worst, fabs(slope - ours));
      }
    printf("n=%d: worst difference %.3g of largest element %.3g\n", n, worst, largest);
    assert_true(worst < 1e-6 * largest);
    drop_full(&f);
  }
}

/* Scores of single orthants: they average to zero, and their weighted sum is the gradient within lattice error. */
static void test_scores(void **state) {
  (void)state;
  enum { N = 5, POINTS = 8192 };
  full f = make_full(N, N, 77, POINTS);
  double g_mean[N], g_cov[N * N];
  bl_mvn_result result = {.weight = f.weight, .g_mean = g_mean, .g_cov = g_cov, .score_mean = f.score_mean, .score_cov = f.score_cov};
  weighted(&f, f.mean, f.cov, POINTS, &result);
  for (int i = 0; i < N; i++)
    for (int j = -1; j < N; j++) {
      double zero = 0, sum = 0, ours = j < 0 ? g_mean[i] : g_cov[i * N + j];
      for (int64_t r = 0; r < f.count; r++) {
        double score = j < 0 ? f.score_mean[r * N + i] : f.score_cov[(r * N + j) * N + i];
        zero += exp(f.log_p[r]) * score;
        sum += f.weight[f.tree->row[r]] * score;
      }
      assert_true(fabs(zero) < 1e-3);
      assert_true(fabs(sum - ours) < 0.02 * (1 + fabs(ours)));
    }
  drop_full(&f);
}

/* Every instruction set computes the same numbers, to rounding; so does any part of the tree. */
static void test_paths(void **state) {
  (void)state;
  enum { N = 6, POINTS = 256 };
  full f = make_full(N, N, 5, POINTS);
  double value[3][64], g_cov[3][N * N], g_mean[N];
  for (int level = 0; level < 3; level++) {
    blica_set_simd(f.ctx, (blica_simd)(BLICA_SIMD_SCALAR + level));
    bl_mvn_result result = {.weight = f.weight, .g_mean = g_mean, .g_cov = g_cov[level]};
    weighted(&f, f.mean, f.cov, POINTS, &result);
    memcpy(value[level], f.log_p, sizeof value[level]);
    for (int r = 0; r < 64; r++) assert_true(fabs(value[level][r] - value[0][r]) < 1e-11);
    for (int e = 0; e < N * N; e++) assert_true(fabs(g_cov[level][e] - g_cov[0][e]) < 1e-9 * (1 + fabs(g_cov[0][e])));
  }
  for (int64_t low = 0; low < 64; low += 13) {
    bl_mvn_result result = {.log_p = f.log_p};
    memset(f.log_p, 0, sizeof(double) * 64);
    int64_t high = low + 13 < 64 ? low + 13 : 64;
    bl_mvn_lattice(f.tree, f.mean, f.cov, low, high, POINTS, 5, 1, blica_simd_level(f.ctx), f.work, &result);
    for (int64_t r = 0; r < 64; r++)
      assert_true(f.log_p[r] == (r < high - low ? value[2][low + r] : 0.0));
  }
  drop_full(&f);
}

/* Far tails and many variables keep their logarithm; bad input is refused with a message. */
static void test_edges(void **state) {
  (void)state;
  enum { N = 60 };
  blica_ctx *ctx;
  static double mean[N], cov[N * N];
  uint8_t x[N];
  double log_p, error;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int i = 0; i < N; i++) {
    mean[i] = 6;
    cov[i * N + i] = 1;
    x[i] = 0;
  }
  assert_int_equal(bl_mvn_orthant(ctx, N, mean, cov, x, 1e-6, 1, &log_p, &error), BLICA_OK);
  assert_true(fabs(log_p + N * 20.736768949974706) < 1e-9); /* log Phi(-6) */
  cov[1] = cov[N] = 1.5;
  assert_int_equal(bl_mvn_orthant(ctx, N, mean, cov, x, 1e-6, 1, &log_p, &error), BLICA_ERR_NUMERIC);
  assert_non_null(strstr(blica_message(ctx), "positive definite"));
  assert_int_equal(bl_mvn_orthant(ctx, 200, mean, cov, x, 1e-6, 1, &log_p, &error), BLICA_ERR_ARGUMENT);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_sum_to_one),
                                     cmocka_unit_test(test_gradient), cmocka_unit_test(test_scores),
                                     cmocka_unit_test(test_paths), cmocka_unit_test(test_edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
