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

#include "assert_compare.h"
#include "orthant.h"
#include "orthants.h"

/* Every probability is within its stated error, and the stated errors are small. */
static void test_reference(void **state) {
  (void)state;
  blica_ctx *ctx;
  reference r;
  int rows = 0, outside = 0;
  double worst_small = 0, worst_large = 0;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  FILE *file = open_references();
  while (read_reference(file, &r)) {
    double log_p, error;
    assert_true(one_orthant(ctx, r.n, r.mean, r.cov, r.x, 1e-6, &log_p, &error));
    double miss = fabs(log_p - r.log_p);
    if (miss > error) {
      printf("%s n=%d: log p %.15g, reference %.15g, miss %.3g, stated %.3g\n", r.kind, r.n, log_p, r.log_p, miss,
             error);
      outside++;
    }
    assert_compare(miss, <, 2 * error);
    if (r.n <= 5)
      worst_small = fmax(worst_small, error);
    else
      worst_large = fmax(worst_large, error);
    rows++;
  }
  fclose(file);
  printf("%d orthants, %d outside their stated error; largest stated error of log p %.3g (n <= 5), %.3g (n <= 20)\n",
         rows, outside, worst_small, worst_large);
  assert_compare(rows, >, 40);
  assert_true(outside == 0);
  assert_compare(worst_small, <, 1e-4);
  assert_compare(worst_large, <, 2e-2);
  blica_ctx_free(ctx);
}

static full make_full(int n, int k, uint64_t seed, int points) {
  full f;
  bl_mvn_work *work;
  draw_model(&f, n, k, 1.0, seed);
  make_orthants(&f, bl_mvn_order);
  assert_int_equal(bl_mvn_work_make(f.ctx, n, n, points, f.count, &work), BLICA_OK);
  f.work = work;
  return f;
}

static void drop_full(full *f) {
  bl_free(f->work);
  drop_orthants(f);
}

static double weighted(full *f, const double *mean, const double *cov, int points, bl_mvn_result *result) {
  result->log_p = f->log_p;
  assert_true(
      bl_mvn_lattice(f->tree, mean, cov, NULL, 0, f->count, points, 5, 1, blica_simd_level(f->ctx), f->work, result));
  return weighted_sum(f);
}

static void test_sum_to_one(void **state) {
  (void)state;
  for (int n = 1; n <= 9; n++) {
    full f = make_full(n, n, (uint64_t)n, 128);
    bl_mvn_result result = {0};
    weighted(&f, f.mean, f.cov, 128, &result);
    double sum = 0;
    for (int64_t r = 0; r < f.count; r++) sum += exp(f.log_p[r]);
    assert_compare(fabs(sum - 1), <, 1e-13);
    drop_full(&f);
  }
}

/* Gradient of the lattice sum against central differences, relative to its largest element. */
static void test_gradient(void **state) {
  (void)state;
  for (int n = 1; n <= 7; n += 2) {
    full f = make_full(n, n > 3 ? 3 : n, 40 + (uint64_t)n, 128);
    double g_mean[LARGEST], g_cov[LARGEST * LARGEST];
    bl_mvn_result result = {.weight = f.weight, .g_mean = g_mean, .g_cov = g_cov};
    weighted(&f, f.mean, f.cov, 128, &result);
    assert_gradient(&f, weighted, 128, 2e-5, g_mean, g_cov);
    drop_full(&f);
  }
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
    for (int r = 0; r < 64; r++) assert_compare(fabs(value[level][r] - value[0][r]), <, 1e-11);
    for (int e = 0; e < N * N; e++)
      assert_compare(fabs(g_cov[level][e] - g_cov[0][e]), <, 1e-9 * (1 + fabs(g_cov[0][e])));
  }
  for (int64_t low = 0; low < 64; low += 13) {
    bl_mvn_result result = {.log_p = f.log_p};
    memset(f.log_p, 0, sizeof(double) * 64);
    int64_t high = low + 13 < 64 ? low + 13 : 64;
    bl_mvn_lattice(f.tree, f.mean, f.cov, NULL, low, high, POINTS, 5, 1, blica_simd_level(f.ctx), f.work, &result);
    for (int64_t r = 0; r < 64; r++) assert_true(f.log_p[r] == (r < high - low ? value[2][low + r] : 0.0));
  }
  drop_full(&f);
}

/* Far tails and many variables keep their logarithm; a matrix that is no covariance is refused. */
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
  assert_true(one_orthant(ctx, N, mean, cov, x, 1e-6, &log_p, &error));
  assert_compare(fabs(log_p + N * 20.736768949974706), <, 1e-9); /* log Phi(-6) */
  cov[1] = cov[N] = 1.5;
  assert_false(one_orthant(ctx, N, mean, cov, x, 1e-6, &log_p, &error));
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_sum_to_one),
                                     cmocka_unit_test(test_gradient), cmocka_unit_test(test_paths),
                                     cmocka_unit_test(test_edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
