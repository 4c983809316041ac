/* The sampler: random numbers, draws inside of their intervals, and unbiased gradients. */
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
#include "likelihood/sampler.h"
#include "num/rectangles/gibbs.h"
#include "num/normal/normal.h"

enum { ROWS = 8 };

/* One element with three levels, cut at -0.3 and 1.1: probabilities of the levels are known, so are the derivatives of
 * their logarithms in mean and variance. */
static void test_one_element(void **state) {
  (void)state;
  const double cut[] = {-BL_GIBBS_INFINITY, -0.3, 1.1, BL_GIBBS_INFINITY}, mean = 0.4, variance = 2.5;
  const double precision = 1 / variance, sd = sqrt(variance);
  double weight[ROWS], first, second, edge[4];
  uint8_t code[ROWS];
  double *work;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  assert_int_equal(bl_alloc(ctx, bl_gibbs_work(1), &work), BLICA_OK);
  for (int level = 0; level < 3; level++) {
    double *state_q;
    assert_int_equal(bl_alloc(ctx, ROWS, &state_q), BLICA_OK);
    for (int r = 0; r < ROWS; r++) code[r] = (uint8_t)level, weight[r] = r == 0;
    bl_gibbs_law law = {1, 3, &mean, &precision, cut, cut + 1, false, 7};
    bl_gibbs_block block = {code, state_q, weight, 0, 0};
    bl_gibbs_begin(&law, &block);
    bl_gibbs_run(BLICA_SIMD_SCALAR, &law, 1, &block, 3, work, &(bl_gibbs_sums){&first, &second, edge});
    double a = level == 0 ? -40 : (cut[level] - mean) / sd, b = level == 2 ? 40 : (cut[level + 1] - mean) / sd;
    double p = bl_phi_cdf(b) - bl_phi_cdf(a);
    double slope = (bl_phi_density(a) - bl_phi_density(b)) / (p * sd);
    double bend = (a * bl_phi_density(a) - b * bl_phi_density(b)) / (p * variance);
    assert_compare(fabs(first - 3 * slope), <, 1e-12); /* one element: nothing is left to chance */
    assert_compare(fabs(second - 3 * bend), <, 1e-12);
    for (int c = 0; c < 4; c++) { /* its own two ends */
      double want = c == level ? -bl_phi_density(a) : c == level + 1 ? bl_phi_density(b) : 0;
      assert_compare(fabs(edge[c] - 3 * want / (p * sd)), <, 1e-12);
    }
    for (int r = 0; r < ROWS; r++) assert_true(state_q[r] >= cut[level] && state_q[r] <= cut[level + 1]);
    bl_free(state_q);
  }
  bl_free(work);
  blica_ctx_free(ctx);
}

typedef struct {
  blica_ctx *ctx;
  blica_model *truth;
  blica_data *data;
  bl_patterns *patterns;
  int column[16], segment[8];
  bl_params params;
} problem;

static void make(problem *p, int n, int k, int levels, int threads) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = 3, o.samples = 60, o.seed = 3, o.levels = levels;
  assert_int_equal(blica_ctx_create(&p->ctx), BLICA_OK);
  blica_set_threads(p->ctx, threads);
  assert_int_equal(blica_simulate(p->ctx, &o, &p->truth, &p->data, NULL), BLICA_OK);
  for (int i = 0; i < 16; i++) p->column[i] = i, p->segment[i % 8] = i % 8;
  assert_int_equal(bl_patterns_make(p->ctx, p->data, n, p->truth->coding, p->column, false, &p->patterns), BLICA_OK);
  p->params = (bl_params){n,
                          k,
                          3,
                          p->truth->link,
                          p->truth->mixing,
                          p->truth->variances,
                          p->truth->means,
                          levels > 2 ? p->truth->cuts : NULL};
}

static void drop(problem *p) {
  bl_patterns_free(p->patterns);
  blica_data_free(p->data);
  blica_model_free(p->truth);
  blica_ctx_free(p->ctx);
}

/* The mean of many gradients against the exact one, in standard errors of the mean over batches. */
static void check_unbiased(int levels, blica_engine engine) {
  enum { N = 5, K = 2, NK = N * K, SIZE = N * K + 2 * K * 3, MOST = SIZE + 3 * N, BATCHES = 40, SWEEPS = 100 };
  const int size = levels > 2 ? SIZE + (levels - 1) * N : SIZE;
  problem p;
  bl_likelihood *exact;
  bl_sampler *sampler;
  double g[MOST], want[MOST], sum[MOST] = {0}, squares[MOST] = {0}, most = 0, total = 0;
  make(&p, N, K, levels, 2);
  assert_int_equal(bl_likelihood_make(p.ctx, p.patterns, p.segment, N, K, 3, engine, 128, &exact), BLICA_OK);
  assert_int_equal(bl_likelihood_order(p.ctx, exact, &p.params), BLICA_OK);
  bl_accuracy accuracy = {.nodes = 12, .grid_error = 1e-12};
  bl_likelihood_gradient(p.ctx, exact, &p.params, &accuracy, want, want + NK, want + NK + 3 * K, want + SIZE);
  assert_int_equal(bl_sampler_make(p.ctx, p.patterns, p.segment, N, K, 3, 5, &sampler), BLICA_OK);
  for (int b = -1; b < BATCHES; b++) { /* the first is for the chains to forget where they began */
    assert_int_equal(bl_sampler_gradient(p.ctx, sampler, &p.params, SWEEPS, g, g + NK, g + NK + 3 * K, g + SIZE),
                     BLICA_OK);
    for (int i = 0; i < size && b >= 0; i++) sum[i] += g[i] / BATCHES, squares[i] += g[i] * g[i] / BATCHES;
  }
  for (int i = 0; i < size; i++) {
    double z = (sum[i] - want[i]) / sqrt((squares[i] - sum[i] * sum[i]) / (BATCHES - 1));
    most = fmax(most, fabs(z));
    total += z * z / size;
  }
  printf("%d levels: of %d derivatives the rms of differences is %.2f standard errors, the largest %.2f\n", levels,
         size, sqrt(total), most);
  assert_compare(sqrt(total), <, 1.6);
  assert_compare(most, <, 4);
  bl_sampler_free(sampler);
  bl_likelihood_free(exact);
  drop(&p);
}

static void test_unbiased(void **state) {
  (void)state;
  check_unbiased(2, BLICA_ENGINE_EXACT);
  check_unbiased(3, BLICA_ENGINE_GRID);
}

/* Threads and SIMD levels do not change a bit. */
static void test_same_bits(void **state) {
  (void)state;
  enum { N = 7, K = 3, SIZE = N * K + 2 * K * 3 + 2 * N };
  double first[SIZE], other[SIZE];
  for (int variant = 0; variant < 4; variant++) {
    problem p;
    bl_sampler *sampler;
    double *g = variant == 0 ? first : other;
    make(&p, N, K, 3, variant == 1 ? 3 : 1);
    if (variant > 1) blica_set_simd(p.ctx, variant == 2 ? BLICA_SIMD_SCALAR : BLICA_SIMD_AVX2);
    assert_int_equal(bl_sampler_make(p.ctx, p.patterns, p.segment, N, K, 3, 5, &sampler), BLICA_OK);
    for (int call = 0; call < 3; call++)
      assert_int_equal(
          bl_sampler_gradient(p.ctx, sampler, &p.params, 5, g, g + N * K, g + N * K + 3 * K, g + SIZE - 2 * N),
          BLICA_OK);
    if (variant > 0) assert_memory_equal(first, other, sizeof first);
    bl_sampler_free(sampler);
    drop(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_element), cmocka_unit_test(test_unbiased),
                                     cmocka_unit_test(test_same_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
