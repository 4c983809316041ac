/* Posterior moments of single rows, beside importance sampling from a heavy-tailed proposal: designs from 3 to 100
 * items and 1 to 10 sources, with steep and flat loadings, levels and rare values. The sampling error of each reference
 * is below 0.01 standard deviations in a mean. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "likelihood/engines.h"
#include "num/normal/normal.h"
#include "num/rng.h"

enum { MOST_N = 100, MOST_K = 10, ROWS = 10, FREEDOM = 8 };
#define LINK 0.39269908169872414

typedef struct {
  int n, k, levels;
  double mixing, sd_low, sd_high, intercepts;
} design;

static double mean[MOST_N], loading[MOST_N * MOST_K], edge[MOST_N * 3];
static int first_edge[MOST_N + 1];
static uint8_t x[ROWS * MOST_N];
static double log_p[ROWS], moments[ROWS * MOST_K * (1 + MOST_K)];
static _Alignas(64) double work[400000];

/* A model as `blica simulate` draws it, and rows. */
static bl_posterior draw_problem(const design *d, uint64_t seed) {
  bl_rng rng = bl_rng_make(seed, 1);
  const int cuts = d->levels - 1;
  for (int i = 0; i < d->n; i++) {
    mean[i] = d->intercepts * bl_rng_normal(&rng) + (cuts - 1);
    first_edge[i + 1] = (i + 1) * cuts;
    for (int c = 0; c < cuts; c++) edge[i * cuts + c] = 2.0 * c;
    for (int j = 0; j < d->k; j++) loading[i * d->k + j] = d->mixing * (2 * bl_rng_uniform(&rng) - 1) * sqrt(LINK);
  }
  for (int j = 0; j < d->k; j++) {
    const double sd = d->sd_low + (d->sd_high - d->sd_low) * bl_rng_uniform(&rng);
    for (int i = 0; i < d->n; i++) loading[i * d->k + j] *= sd;
  }
  for (int r = 0; r < ROWS; r++) {
    double z[MOST_K];
    for (int j = 0; j < d->k; j++) z[j] = bl_rng_normal(&rng);
    for (int i = 0; i < d->n; i++) {
      double y = mean[i] + bl_rng_normal(&rng);
      for (int j = 0; j < d->k; j++) y += loading[i * d->k + j] * z[j];
      x[r * d->n + i] = 0;
      for (int c = 0; c < cuts; c++) x[r * d->n + i] += y > edge[i * cuts + c];
    }
  }
  assert_true(bl_posterior_work(d->n, d->k, ROWS) <= sizeof work / sizeof *work);
  return (bl_posterior){.n = d->n,
                        .k = d->k,
                        .mean = mean,
                        .loading = loading,
                        .rest = 1e-6,
                        .count = ROWS,
                        .x = x,
                        .log_p = log_p,
                        .levels = {cuts > 1 ? first_edge : NULL, edge},
                        .moments = moments,
                        .work = work};
}

static double log_level(const bl_posterior *p, int i, int level, double y) {
  if (!p->levels.first) return bl_phi_log_cdf(level ? y : -y);
  const double *low = bl_edge_below(&p->levels, i, level), *high = bl_edge_above(&p->levels, i, level);
  return bl_phi_log_between(low ? *low - y : -INFINITY, high ? *high - y : INFINITY);
}

/* Mean, standard deviation and log P of row r by draws from a t distribution around the given moments. */
static double reference(const bl_posterior *p, int r, int draws, double *center, double *sd) {
  const int k = p->k;
  const double *own = moments + r * k * (1 + k), *cov = own + k, wide = 1.1;
  double l[MOST_K * MOST_K], top = -INFINITY, sum = 0, one[MOST_K] = {0}, two[MOST_K] = {0};
  bl_rng rng = bl_rng_make(99, (uint64_t)r);
  for (int i = 0; i < k; i++)
    for (int j = 0; j <= i; j++) {
      double s = cov[i * k + j];
      for (int m = 0; m < j; m++) s -= l[i * k + m] * l[j * k + m];
      l[i * k + j] = i == j ? sqrt(s) : s / l[j * k + j];
    }
  for (int d = 0; d < draws; d++) {
    double normal[MOST_K], z[MOST_K], chi = 0, norm = 0, value = 0;
    for (int f = 0; f < FREEDOM; f++) chi += pow(bl_rng_normal(&rng), 2);
    for (int j = 0; j < k; j++) norm += pow(normal[j] = bl_rng_normal(&rng) * sqrt(FREEDOM / chi), 2);
    for (int j = 0; j < k; j++) {
      z[j] = own[j];
      for (int m = 0; m <= j; m++) z[j] += wide * l[j * k + m] * normal[m];
      value -= 0.5 * z[j] * z[j];
    }
    value += 0.5 * (FREEDOM + k) * log1p(norm / FREEDOM);
    for (int i = 0; i < p->n; i++) {
      double y = mean[i];
      for (int j = 0; j < k; j++) y += loading[i * k + j] * z[j];
      value += log_level(p, i, x[r * p->n + i], y);
    }
    const double scale = value > top ? exp(top - value) : 1;
    top = fmax(top, value);
    sum = sum * scale + exp(value - top);
    for (int j = 0; j < k; j++) {
      one[j] = one[j] * scale + exp(value - top) * (z[j] - own[j]);
      two[j] = two[j] * scale + exp(value - top) * pow(z[j] - own[j], 2);
    }
  }
  double log_density = lgamma(0.5 * (FREEDOM + k)) - lgamma(0.5 * FREEDOM) - 0.5 * k * log(0.5 * FREEDOM);
  for (int j = 0; j < k; j++) {
    log_density -= log(wide * l[j * k + j]);
    center[j] = own[j] + one[j] / sum;
    sd[j] = sqrt(two[j] / sum - pow(one[j] / sum, 2));
  }
  return top + log(sum / draws) - log_density; /* factors of 2 pi cancel */
}

static void check(const design *d, int draws, double mean_error, double sd_error, double p_error) {
  const bl_posterior p = draw_problem(d, 7);
  double means = 0, sds = 0, values = 0, center[MOST_K], sd[MOST_K];
  bl_posterior_run(&p, BLICA_SIMD_SCALAR);
  for (int r = 0; r < ROWS; r++) {
    const double *own = moments + r * d->k * (1 + d->k);
    const double value = reference(&p, r, draws / (d->n + 5), center, sd);
    values += pow(log_p[r] - value, 2) / ROWS;
    for (int j = 0; j < d->k; j++) {
      means += pow((own[j] - center[j]) / sd[j], 2) / (ROWS * d->k);
      sds += pow(sqrt(own[d->k + j * (d->k + 1)]) / sd[j] - 1, 2) / (ROWS * d->k);
    }
  }
  printf("n=%d k=%d levels %d: means off by %.4f sd, sd by %.4f, log P by %.4f\n", d->n, d->k, d->levels, sqrt(means),
         sqrt(sds), sqrt(values));
  assert_compare(sqrt(means), <, mean_error);
  assert_compare(sqrt(sds), <, sd_error);
  assert_compare(sqrt(values), <, p_error);
}

static void test_accuracy(void **state) {
  static const design designs[] = {{3, 1, 2, 3, .5, 3, 0},   {3, 2, 2, 3, .5, 3, 0},    {8, 2, 2, 3, .5, 3, 0},
                                   {6, 3, 2, 3, .5, 3, 0},   {12, 2, 2, 3, .2, 8, 0},   {20, 5, 2, 3, .2, 8, 0},
                                   {20, 8, 2, 3, .5, 3, 0},  {40, 5, 2, 3, .5, 3, 0},   {40, 5, 2, .7, .5, 3, 0},
                                   {60, 4, 2, 3, .5, 3, 0},  {100, 10, 2, 3, .5, 3, 0}, {10, 3, 4, 3, .5, 3, .5},
                                   {20, 5, 4, 3, .5, 3, .5}, {15, 3, 2, 3, .5, 3, 3}};
  (void)state;
  for (size_t d = 0; d < sizeof designs / sizeof *designs; d++) check(&designs[d], 800000, 0.02, 0.03, 0.03);
}

/* One source, and two with few items: nothing but the sampling error of the reference is left. */
static void test_exact(void **state) {
  static const design designs[] = {{5, 1, 2, 3, .2, 8, 0}, {30, 1, 2, 3, .2, 8, 0}, {10, 2, 2, 3, .5, 3, 0}};
  (void)state;
  for (size_t d = 0; d < sizeof designs / sizeof *designs; d++) check(&designs[d], 2000000, 0.006, 0.006, 0.006);
}

/* What a row gets depends neither on the rows beside it nor on the instruction set. */
static void test_alone(void **state) {
  static const design designs[] = {{9, 2, 2, 3, .5, 3, 0}, {20, 5, 2, 3, .2, 8, 0}, {10, 3, 4, 3, .5, 3, .5}};
  static const blica_simd levels[] = {BLICA_SIMD_SCALAR, BLICA_SIMD_AVX2, BLICA_SIMD_AVX512};
  double together[ROWS * MOST_K * (1 + MOST_K)], log_together[ROWS];
  blica_ctx *ctx;
  (void)state;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (size_t d = 0; d < sizeof designs / sizeof *designs; d++) {
    bl_posterior p = draw_problem(&designs[d], 8);
    const int each = p.k * (1 + p.k);
    bl_posterior_run(&p, BLICA_SIMD_SCALAR);
    memcpy(together, moments, sizeof together);
    memcpy(log_together, log_p, sizeof log_together);
    p.count = 1;
    for (int l = 0; l < 3; l++) {
      blica_set_simd(ctx, levels[l]);
      for (int r = 0; r < ROWS; r++) {
        p.x = x + r * p.n;
        bl_posterior_run(&p, blica_simd_level(ctx));
        assert_memory_equal(moments, together + r * each, sizeof(double) * (size_t)each);
        assert_memory_equal(log_p, log_together + r, sizeof(double));
      }
    }
  }
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy), cmocka_unit_test(test_exact),
                                     cmocka_unit_test(test_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
