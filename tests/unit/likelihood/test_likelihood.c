/* The engines of the full likelihood: grid and expectation propagation beside the lattice, their derivatives, their
 * instruction sets; the posterior of the sources against plain sampling. */
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
#include "likelihood/likelihood.h"
#include "num/rectangles/ep.h"
#include "num/rectangles/grid.h"
#include "num/rectangles/mvn.h"
#include "num/normal/normal.h"
#include "num/rng.h"

enum { N = 5, K = 2, COUNT = 1 << N, SIZE = N * (1 + K) };

typedef struct {
  double mean[N], loading[N * K], p[COUNT], weight[COUNT];
  double g_mean[N], g_loading[N * K], score[COUNT * SIZE], first[COUNT * K], second[COUNT * K * K];
  uint8_t x[COUNT * N];
  bl_grid grid;
  bl_ep ep;
  double *work;
} setting;

static setting *make(double size) {
  setting *t = calloc(1, sizeof *t);
  bl_rng rng = bl_rng_make(3, 1);
  for (int i = 0; i < N; i++) t->mean[i] = bl_rng_normal(&rng);
  for (int i = 0; i < N * K; i++) t->loading[i] = size * bl_rng_normal(&rng);
  for (int r = 0; r < COUNT; r++) {
    t->weight[r] = r * 7919 % 13;
    for (int i = 0; i < N; i++) t->x[r * N + i] = (uint8_t)(r >> (N - 1 - i) & 1);
  }
  size_t work_size = bl_grid_work(N, N, K) + bl_ep_work(N, K);
  t->work = aligned_alloc(64, (work_size + 8) / 8 * 8 * sizeof(double));
  t->grid = (bl_grid){
      .n = N, .k = K, .mean = t->mean, .loading = t->loading, .count = COUNT, .x = t->x, .p = t->p, .work = t->work};
  t->ep = (bl_ep){.n = N,
                  .k = K,
                  .mean = t->mean,
                  .loading = t->loading,
                  .count = COUNT,
                  .x = t->x,
                  .log_p = t->p,
                  .work = t->work};
  double band[K];
  bl_grid_band(N, K, t->loading, band);
  bl_grid_plan(&t->grid, band, 1e-12);
  return t;
}

static void drop(setting *t) {
  free(t->work);
  free(t);
}

static double grid_value(setting *t) {
  bl_grid_run(&t->grid, BLICA_SIMD_SCALAR);
  double sum = 0;
  for (int r = 0; r < COUNT; r++) sum += t->weight[r] * log(t->p[r]);
  return sum;
}

static double ep_value(setting *t) {
  bl_ep_run(&t->ep, BLICA_SIMD_SCALAR);
  double sum = 0;
  for (int r = 0; r < COUNT; r++) sum += t->weight[r] * t->p[r];
  return sum;
}

/* d value / d parameter by central differences. */
static double slope(setting *t, double (*value)(setting *), double *parameter) {
  double keep = *parameter, h = 1e-5;
  *parameter = keep + h;
  double up = value(t);
  *parameter = keep - h;
  double down = value(t);
  *parameter = keep;
  return (up - down) / (2 * h);
}

static void test_grid(void **state) {
  (void)state;
  setting *t = make(1.5);
  double sum = 0, moved[COUNT], largest = 0;
  t->grid.shift = 0.5;
  grid_value(t);
  memcpy(moved, t->p, sizeof moved);
  t->grid.shift = 0;
  t->grid.weight = t->weight, t->grid.g_mean = t->g_mean, t->grid.g_loading = t->g_loading;
  t->grid.score = t->score;
  grid_value(t);
  for (int r = 0; r < COUNT; r++) {
    sum += t->p[r];
    assert_compare(fabs(moved[r] - t->p[r]), <, 1e-11);
  }
  assert_compare(fabs(sum - 1), <, 1e-11);
  t->grid.weight = t->grid.score = NULL;
  for (int i = 0; i < N * K; i++) largest = fmax(largest, fabs(t->g_loading[i]));
  for (int i = 0; i < N; i++)
    for (int l = 0; l <= K; l++) {
      double ours = l ? t->g_loading[i * K + l - 1] : t->g_mean[i], single = 0;
      double numeric = slope(t, grid_value, l ? &t->loading[i * K + l - 1] : &t->mean[i]);
      for (int r = 0; r < COUNT; r++) single += t->weight[r] * t->score[r * SIZE + i * (1 + K) + l];
      assert_compare(fabs(ours - numeric), <, 1e-6 * largest);
      assert_compare(fabs(ours - single), <, 1e-9 * largest);
    }
  drop(t);
}

/* Every instruction set to rounding. */
static void test_levels(void **state) {
  (void)state;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  double grid[COUNT], ep[COUNT];
  setting *t = make(1.0);
  grid_value(t);
  memcpy(grid, t->p, sizeof grid);
  ep_value(t);
  memcpy(ep, t->p, sizeof ep);
  for (int level = BLICA_SIMD_AVX2; level <= BLICA_SIMD_AVX512; level++) {
    blica_set_simd(ctx, (blica_simd)level);
    bl_grid_run(&t->grid, blica_simd_level(ctx));
    for (int r = 0; r < COUNT; r++) assert_compare(fabs(t->p[r] - grid[r]), <, 1e-13);
    bl_ep_run(&t->ep, blica_simd_level(ctx));
    for (int r = 0; r < COUNT; r++) assert_compare(fabs(t->p[r] - ep[r]), <, 1e-9);
  }
  drop(t);
  blica_ctx_free(ctx);
}

/* Derivatives are those of EP's own value; the value is near the truth, nearer for small loadings; one variable is
 * exact. */
static void test_ep(void **state) {
  (void)state;
  double worst[2];
  for (int large = 0; large < 2; large++) {
    setting *t = make(large ? 1.5 : 0.3);
    double exact[COUNT], sum = 0;
    grid_value(t);
    memcpy(exact, t->p, sizeof exact);
    t->ep.score = t->score, t->ep.first = t->first, t->ep.second = t->second;
    ep_value(t);
    worst[large] = 0;
    for (int r = 0; r < COUNT; r++) {
      worst[large] = fmax(worst[large], fabs(t->p[r] - log(exact[r])));
      sum += exp(t->p[r]);
    }
    t->ep.score = NULL;
    double score[COUNT * SIZE];
    memcpy(score, t->score, sizeof score);
    for (int i = 0; i < N; i++)
      for (int l = 0; l <= K; l++) {
        double single = 0, numeric = slope(t, ep_value, l ? &t->loading[i * K + l - 1] : &t->mean[i]);
        for (int r = 0; r < COUNT; r++) single += t->weight[r] * score[r * SIZE + i * (1 + K) + l];
        assert_compare(fabs(single - numeric), <, 1e-6 * (1 + fabs(numeric)));
      }
    printf("loadings %s: largest error of log p %.3g, sum of p %.6f\n", large ? "1.5" : "0.3", worst[large], sum);
    drop(t);
  }
  assert_compare(worst[0], <, 1e-3);
  assert_compare(worst[1], <, 0.5);
  double mean = 0.7, loading = 2.0, log_p, work[64 * 8] __attribute__((aligned(64)));
  uint8_t x = 1;
  bl_ep one = {.n = 1, .k = 1, .mean = &mean, .loading = &loading, .count = 1, .x = &x, .log_p = &log_p, .work = work};
  bl_ep_run(&one, BLICA_SIMD_SCALAR);
  assert_compare(fabs(log_p - bl_phi_log_cdf(0.7 / sqrt(5))), <, 1e-12);
}

/* Rows drawn from a model together with their sources. */
enum { ROWS = 20000 };

static blica_model *draw_model(blica_ctx *ctx, int n, int k) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *model;
  o.variables = n, o.sources = k, o.segments = 2, o.samples = 1, o.seed = 9;
  assert_int_equal(blica_simulate(ctx, &o, &model, NULL, NULL), BLICA_OK);
  return model;
}

static void draw_row(const blica_model *m, int s, bl_rng *rng, double *z, int8_t *x) {
  for (int j = 0; j < m->k; j++) z[j] = m->means[j + s * m->k] + sqrt(m->variances[j + s * m->k]) * bl_rng_normal(rng);
  for (int i = 0; i < m->n; i++) {
    double y = bl_rng_normal(rng);
    for (int j = 0; j < m->k; j++) y += sqrt(m->link) * m->mixing[i + j * m->n] * z[j];
    x[i] = y > 0;
  }
}

/* Coverage of 90 % intervals, and the squared error beside that of posterior means by long-run sampling. */
static void check_sources(int n, int k) {
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_model *m = draw_model(ctx, n, k);
  bl_rng rng = bl_rng_make(4, 4);
  double *z = malloc(sizeof(double) * ROWS * (size_t)k), *sum = calloc((size_t)(2 << n) * (size_t)k, sizeof(double));
  double *hits = calloc((size_t)(2 << n), sizeof(double)), ours = 0, sampled = 0, draw[16];
  int8_t *x = malloc(ROWS * (size_t)n), row[16];
  int32_t *segment = malloc(ROWS * sizeof *segment);
  int64_t covered = 0;
  for (int r = 0; r < ROWS; r++) draw_row(m, segment[r] = r % 2, &rng, z + r * k, x + r * n);
  for (int64_t d = 0; d < 4000000; d++) { /* rejection: posterior means by averaging the sources of equal rows */
    int s = (int)(d % 2), pattern = s;
    draw_row(m, s, &rng, draw, row);
    for (int i = 0; i < n; i++) pattern = 2 * pattern + row[i];
    hits[pattern]++;
    for (int j = 0; j < k; j++) sum[pattern * k + j] += draw[j];
  }
  blica_data *data;
  blica_posterior *posterior;
  assert_int_equal(
      blica_pack(
          ctx,
          &(blica_table){
              .rows = ROWS, .n = n, .x = x, .variables = (const char *const *)m->variables, .segment = segment, .u = 2},
          &data),
      BLICA_OK);
  assert_int_equal(blica_sources(ctx, m, data, NULL, &posterior), BLICA_OK);
  for (int r = 0; r < ROWS; r++) {
    int pattern = segment[r];
    for (int i = 0; i < n; i++) pattern = 2 * pattern + x[r * n + i];
    for (int j = 0; j < k; j++) {
      double error = posterior->mean[r * k + j] - z[r * k + j];
      covered += fabs(error) < 1.6448536269514722 * posterior->sd[r * k + j];
      ours += error * error;
      sampled += pow(sum[pattern * k + j] / fmax(hits[pattern], 1) - z[r * k + j], 2);
    }
  }
  double coverage = (double)covered / ((double)ROWS * k);
  printf("n=%d, k=%d: coverage %.4f, squared error %.5f of that of sampling\n", n, k, coverage, ours / sampled);
  assert_compare(coverage, >, 0.88);
  assert_compare(coverage, <, 0.92);
  assert_compare(fabs(ours / sampled - 1), <, 0.02);
  blica_posterior_free(posterior);
  blica_data_free(data);
  blica_model_free(m);
  blica_ctx_free(ctx);
  free(z), free(sum), free(hits), free(x), free(segment);
}

static void test_sources(void **state) {
  (void)state;
  check_sources(4, 2);
  check_sources(5, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_grid), cmocka_unit_test(test_levels),
                                     cmocka_unit_test(test_ep), cmocka_unit_test(test_sources)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
