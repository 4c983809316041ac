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

#include "assert_compare.h"
#include "num/rectangles/plackett.h"
#include "orthant.h"
#include "orthants.h"

static void make_full(full *f) {
  bl_plackett_work *work;
  make_orthants(f, bl_plackett_order);
  assert_int_equal(bl_plackett_work_make(f->ctx, f->n, true, &work), BLICA_OK);
  f->work = work;
}

static void drop_full(full *f) {
  bl_free(f->work);
  drop_orthants(f);
}

static void draw(full *f, int n, int k, double size, uint64_t seed) {
  draw_model(f, n, k, size, seed);
  make_full(f);
}

static double weighted(full *f, const double *mean, const double *cov, int nodes, bl_mvn_result *result) {
  result->log_p = f->log_p;
  assert_true(bl_plackett(f->tree, mean, cov, 0, f->count, nodes, blica_simd_level(f->ctx), f->work, result));
  return weighted_sum(f);
}

static double log_p_of(const full *f, int64_t given) {
  for (int64_t r = 0; r < f->count; r++)
    if (f->tree->row[r] == given) return f->log_p[r];
  return NAN;
}

/* 30-digit values: closed forms, one-factor integrals, products. Correlations reach 0.99 in them, so many nodes. */
static void test_reference(void **state) {
  (void)state;
  double worst = 0;
  int rows = 0;
  reference known;
  FILE *file = open_references();
  while (read_reference(file, &known)) {
    if (known.n > 8) continue;
    full f = {.n = known.n};
    memcpy(f.mean, known.mean, sizeof f.mean);
    memcpy(f.cov, known.cov, sizeof f.cov);
    int64_t given = 0;
    for (int i = 0; i < f.n; i++) given |= (int64_t)known.x[i] << i;
    make_full(&f);
    bl_mvn_result result = {0};
    weighted(&f, f.mean, f.cov, f.n <= 5 ? 24 : f.n <= 7 ? 16 : 10, &result);
    worst = fmax(worst, fabs(exp(log_p_of(&f, given)) - exp(known.log_p)));
    rows++;
    drop_full(&f);
  }
  fclose(file);
  printf("%d orthants, largest error of a probability %.2g\n", rows, worst);
  assert_compare(rows, >=, 36);
  assert_compare(worst, <, 1e-13);
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
    assert_compare(worst, <, most[rule]);
  }
  for (int r = 0; r < 64; r += 9) {
    uint8_t x[6];
    for (int i = 0; i < 6; i++) x[f.tree->order[i]] = f.tree->x[r * 6 + i];
    assert_true(one_orthant(f.ctx, 6, f.mean, f.cov, x, 1e-4, &log_p, &error));
    assert_compare(fabs(log_p - best[r]), <, error);
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
    assert_compare(fabs(sum - 1), <, 1e-13);
    for (int e = 0; e < n + n * n; e++) assert_compare(fabs(zero[e]), <, 1e-12);
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
    double g_mean[LARGEST], g_cov[LARGEST * LARGEST], largest = 0;
    bl_mvn_result result = {
        .weight = f.weight, .g_mean = g_mean, .g_cov = g_cov, .score_mean = f.score_mean, .score_cov = f.score_cov};
    weighted(&f, f.mean, f.cov, nodes, &result);
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(g_mean[i]));
    for (int i = 0; i < n; i++)
      for (int j = -1; j <= i; j++) {
        double sum = 0, ours = j < 0 ? g_mean[i] : g_cov[i * n + j];
        for (int64_t r = 0; r < f.count; r++)
          sum += f.weight[f.tree->row[r]] * (j < 0 ? f.score_mean[r * n + i] : f.score_cov[(r * n + j) * n + i]);
        assert_compare(fabs(sum - ours), <, 1e-11 * largest);
      }
    assert_gradient(&f, weighted, nodes, 1e-4, g_mean, g_cov);
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
    for (int r = 0; r < 128; r++) assert_compare(fabs(exp(value[level][r]) - exp(value[0][r])), <, 1e-14);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_convergence),
                                     cmocka_unit_test(test_sums),      cmocka_unit_test(test_gradient),
                                     cmocka_unit_test(test_levels),    cmocka_unit_test(test_edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
