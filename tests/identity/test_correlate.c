/* Correlations of whole data sets: exact populations come back, symmetries hold, threads and vectors agree. */
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
#include "num/normal/normal.h"
#include "num/rng.h"
#include "tables.h"

static blica_cor *run(const blica_counts *counts, int threads, blica_simd level) {
  blica_ctx *ctx;
  blica_cor *cor;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_set_threads(ctx, threads);
  blica_set_simd(ctx, level);
  if (blica_correlate(ctx, counts, &cor) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  blica_ctx_free(ctx);
  return cor;
}

static blica_counts *population(int n, int u, double **threshold, double **rho, double spread, double limit) {
  bl_rng rng = bl_rng_make(11, (uint64_t)(n * 100 + u));
  int64_t pairs = (int64_t)n * (n - 1) / 2;
  *threshold = malloc((size_t)(n * u) * sizeof(double));
  *rho = malloc((size_t)(pairs * u) * sizeof(double));
  for (int i = 0; i < n * u; i++) (*threshold)[i] = spread * bl_rng_normal(&rng);
  for (int64_t i = 0; i < pairs * u; i++) (*rho)[i] = limit * (2 * bl_rng_uniform(&rng) - 1);
  return tables_exact(n, u, 1.0, *threshold, *rho);
}

static void test_exact(void **state) {
  (void)state;
  double *t, *rho, worst = 0, worst_p = 0;
  blica_counts *counts = population(30, 20, &t, &rho, 0.7, 0.995);
  blica_cor *cor = run(counts, 2, BLICA_SIMD_AUTO);
  for (int s = 0; s < 20; s++)
    for (int j = 1; j < 30; j++)
      for (int i = 0; i < j; i++) {
        int64_t p = blica_pair(i, j) + s * cor->pairs;
        double h = cor->thresholds[i + s * 30], k = cor->thresholds[j + s * 30];
        worst_p = fmax(worst_p, fabs(blica_bvn(h, k, cor->rho[p]) - counts->n11[p]));
        if (bl_bvn_density(h, k, rho[p]) > 0.01) worst = fmax(worst, fabs(cor->rho[p] - rho[p]));
      }
  for (int i = 0; i < 600; i++) assert_compare(fabs(cor->thresholds[i] - t[i]), <, 1e-14);
  printf("exact population: worst |Phi2 - p11| %.2g, worst |rho error| %.2g where phi2 > 0.01\n", worst_p, worst);
  assert_compare(worst_p, <, 2e-15);
  assert_compare(worst, <, 1e-13);
  assert_true(cor->exact && isinf(cor->condition) && isnan(cor->eigen_min[0]));
  blica_cor_free(cor);
  tables_free(counts);
  free(t);
  free(rho);
}

static blica_counts *sample(int n, int u, int rows, uint64_t seed) {
  bl_rng rng = bl_rng_make(seed, 5);
  blica_counts *c = tables_new(n, u, rows, 0);
  double *x = malloc((size_t)n * sizeof *x), *loading = malloc((size_t)n * sizeof *loading);
  for (int s = 0; s < u; s++) {
    for (int i = 0; i < n; i++) loading[i] = 2 * bl_rng_normal(&rng);
    for (int r = 0; r < rows; r++) {
      double f = bl_rng_normal(&rng);
      for (int i = 0; i < n; i++) x[i] = loading[i] * f + bl_rng_normal(&rng) > 0.3 * loading[n - 1 - i];
      for (int i = 0; i < n; i++) c->ones[i + s * n] += x[i];
      for (int j = 1; j < n; j++)
        for (int i = 0; i < j; i++) c->n11[blica_pair(i, j) + s * c->pairs] += x[i] * x[j];
    }
  }
  free(x);
  free(loading);
  return c;
}

static void assert_same(const blica_cor *a, const blica_cor *b) {
  size_t tables = (size_t)(a->pairs * a->u) * sizeof(double);
  assert_memory_equal(a->rho, b->rho, tables);
  assert_memory_equal(a->se, b->se, tables);
  assert_memory_equal(a->flags, b->flags, (size_t)(a->pairs * a->u));
  assert_memory_equal(a->thresholds, b->thresholds, (size_t)(a->n * a->u) * sizeof(double));
}

static void test_bits(void **state) {
  (void)state;
  for (int rows = 20; rows <= 2000; rows *= 10) {
    blica_counts *counts = sample(41, 7, rows, 3);
    blica_cor *base = run(counts, 1, BLICA_SIMD_SCALAR);
    const int threads[] = {1, 2, 7};
    for (int t = 0; t < 3; t++)
      for (int level = BLICA_SIMD_AUTO; level <= BLICA_SIMD_AVX512; level++) {
        blica_cor *other = run(counts, threads[t], (blica_simd)level);
        assert_same(base, other);
        blica_cor_free(other);
      }
    blica_cor_free(base);
    tables_free(counts);
  }
}

/* A single table gives what the whole set gives, bit for bit: no table sees its neighbours. */
static void test_single(void **state) {
  (void)state;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_counts *c = sample(12, 3, 150, 9);
  blica_cor *cor = run(c, 1, BLICA_SIMD_AUTO);
  for (int s = 0; s < 3; s++)
    for (int j = 1; j < 12; j++)
      for (int i = 0; i < j; i++) {
        int64_t p = blica_pair(i, j) + s * c->pairs;
        double a = c->ones[i + s * 12], b = c->ones[j + s * 12], rho, se, t[2];
        double cell[4] = {c->n11[p], a - c->n11[p], b - c->n11[p], 150 - a - b + c->n11[p]};
        int flags;
        assert_int_equal(blica_tetrachoric(ctx, cell, &rho, &se, t, &flags), BLICA_OK);
        assert_true(rho == cor->rho[p] && flags == cor->flags[p] && (se == cor->se[p] || isnan(se)));
        assert_true(t[0] == cor->thresholds[i + s * 12] && t[1] == cor->thresholds[j + s * 12]);
      }
  blica_cor_free(cor);
  tables_free(c);
  blica_ctx_free(ctx);
}

/* x -> 1-x of one variable turns the sign; exchanging two variables changes nothing; more joint ones, more rho. */
static void test_symmetry(void **state) {
  (void)state;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  bl_rng rng = bl_rng_make(1, 2);
  for (int trial = 0; trial < 3000; trial++) {
    double c[4], r[4], se[4];
    for (int i = 0; i < 4; i++) c[i] = floor(exp(6 * bl_rng_uniform(&rng)) - 1);
    double tables[4][4] = {
        {c[0], c[1], c[2], c[3]}, {c[0], c[2], c[1], c[3]}, {c[1], c[0], c[3], c[2]}, {c[0] + 1, c[1], c[2], c[3] + 1}};
    int flags[4];
    for (int i = 0; i < 4; i++)
      assert_int_equal(blica_tetrachoric(ctx, tables[i], &r[i], &se[i], NULL, &flags[i]), BLICA_OK);
    if (flags[0] & ~BLICA_PAIR_ZERO_CELL) continue;
    assert_compare(fabs(r[0] - r[1]), <, 1e-13);
    assert_compare(fabs(r[0] + r[2]), <, 1e-13);
    assert_compare(r[3], >, r[0]);
    assert_compare(fabs(se[0] - se[1]), <, 1e-9 * se[0]);
    assert_compare(fabs(se[0] - se[2]), <, 1e-9 * se[0]);
  }
  blica_ctx_free(ctx);
}

/* With all four cells given, nothing missing: as with joint ones alone. */
static void test_full_tables(void **state) {
  (void)state;
  blica_counts *c = sample(15, 2, 400, 4), *full = tables_new(15, 2, 400, 1);
  memcpy(full->ones, c->ones, 30 * sizeof(double));
  memcpy(full->n11, c->n11, (size_t)(2 * c->pairs) * sizeof(double));
  for (int s = 0; s < 2; s++)
    for (int j = 1; j < 15; j++)
      for (int i = 0; i < j; i++) {
        int64_t p = blica_pair(i, j) + s * c->pairs;
        full->n10[p] = c->ones[i + s * 15] - c->n11[p];
        full->n01[p] = c->ones[j + s * 15] - c->n11[p];
        full->n00[p] = 400 - full->n10[p] - full->n01[p] - c->n11[p];
      }
  blica_cor *a = run(c, 1, BLICA_SIMD_AUTO), *b = run(full, 1, BLICA_SIMD_AUTO);
  assert_same(a, b);
  blica_cor_free(a);
  blica_cor_free(b);
  tables_free(c);
  tables_free(full);
}

/* The standard error is the spread of the estimates over samples. */
static void test_standard_error(void **state) {
  (void)state;
  enum { reps = 2500, rows = 4000 };
  const double cases[3][3] = {{0, 0, 0}, {0.3, -0.6, 0.5}, {0.8, 0.5, -0.8}};
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int which = 0; which < 3; which++) {
    double h = cases[which][0], k = cases[which][1], truth = cases[which][2], p = blica_bvn(h, k, truth);
    double edge[3] = {p, bl_phi_cdf(h), bl_phi_cdf(h) + bl_phi_cdf(k) - p}, sum = 0, squares = 0, errors = 0;
    bl_rng rng = bl_rng_make(99, (uint64_t)which);
    for (int rep = 0; rep < reps; rep++) {
      double cell[4] = {0, 0, 0, 0}, rho, se;
      for (int r = 0; r < rows; r++) {
        double x = bl_rng_uniform(&rng);
        cell[x < edge[0] ? 0 : x < edge[1] ? 1 : x < edge[2] ? 2 : 3]++;
      }
      assert_int_equal(blica_tetrachoric(ctx, cell, &rho, &se, NULL, NULL), BLICA_OK);
      sum += rho;
      squares += rho * rho;
      errors += se * se;
    }
    double mean = sum / reps, sd = sqrt(squares / reps - mean * mean), se = sqrt(errors / reps);
    printf("rho %.1f: spread over samples %.5f, standard error %.5f, bias %.5f\n", truth, sd, se, mean - truth);
    assert_compare(fabs(sd / se - 1), <, 0.05); /* 2500 samples tell the spread to 1.4 % */
    assert_compare(fabs(mean - truth), <, 4 * se / sqrt(reps) + 2 * se * se);
  }
  blica_ctx_free(ctx);
}

typedef struct {
  int count;
  char text[8][1024];
} heard;

static void hear(const char *text, void *user) {
  heard *h = user;
  if (h->count < 8) snprintf(h->text[h->count++], 1024, "%s", text);
}

static void test_thin_data(void **state) {
  (void)state;
  heard h = {0};
  blica_ctx *ctx;
  blica_cor *cor;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_set_warn(ctx, hear, &h);
  blica_counts *c = tables_new(3, 2, 10, 1); /* segment 1: x2 always 0, x1 and x3 opposed; segment 2: x3 never seen */
  double cells[6][4] = {{0, 5, 0, 5}, {0, 5, 5, 0}, {0, 0, 5, 5}, {3, 2, 2, 3}, {0, 0, 0, 0}, {0, 0, 0, 0}};
  double ones[6] = {5, 0, 5, 5, 5, 0};
  memcpy(c->ones, ones, sizeof ones);
  c->present[5] = 0;
  for (int p = 0; p < 6; p++) {
    c->n11[p] = cells[p][0];
    c->n10[p] = cells[p][1];
    c->n01[p] = cells[p][2];
    c->n00[p] = cells[p][3];
  }
  assert_int_equal(blica_correlate(ctx, c, &cor), BLICA_OK);
  const uint8_t flags[6] = {BLICA_PAIR_CONSTANT, BLICA_PAIR_ZERO_CELL, BLICA_PAIR_CONSTANT, 0,
                            BLICA_PAIR_EMPTY,    BLICA_PAIR_EMPTY};
  assert_memory_equal(cor->flags, flags, 6);
  assert_true(cor->constant_pairs == 2 && cor->zero_cells == 1 && cor->empty_pairs == 2 && cor->constant_columns == 2);
  assert_true(cor->rho[0] == 0 && isnan(cor->se[0]) && cor->rho[1] < -.9 && cor->rho[4] == 0 && isnan(cor->se[5]));
  assert_true(fabs(cor->thresholds[1] - bl_phi_quantile(1 / 20.)) < 1e-15 && cor->thresholds[5] == 0);
  assert_int_equal(h.count, 3);
  assert_non_null(strstr(h.text[0], "segment '1': 'x2' is always 0; segment '2': 'x3' has no value"));
  assert_non_null(strstr(h.text[1], "1 of 6 tables have an empty cell, which was filled: segment '1': 'x1' and 'x3'"));
  assert_non_null(strstr(h.text[2], "2 of 6 tables have no row"));
  blica_cor_free(cor);
  c->n10[3] = -4;
  assert_int_equal(blica_correlate(ctx, c, &cor), BLICA_ERR_DATA);
  assert_null(cor);
  assert_non_null(strstr(blica_message(ctx), "segment '2', variables 'x1' and 'x2'"));
  tables_free(c);
  blica_ctx_free(ctx);
}

/* Every allocation failing once: an error, nothing returned, nothing lost. */
typedef struct {
  int left, live;
} meter;

static void *metered(void *old, size_t size, void *user) {
  meter *m = user;
  if (size == 0) {
    m->live -= old != NULL;
    free(old);
    return NULL;
  }
  if (m->left-- == 0) return NULL;
  m->live++;
  return malloc(size);
}

static void test_memory(void **state) {
  (void)state;
  blica_counts *c = sample(6, 2, 50, 1);
  int refused = 0;
  for (int k = 0;; k++) {
    meter m = {-1, 0};
    blica_ctx *ctx;
    blica_cor *cor = NULL, *out = NULL;
    assert_int_equal(blica_ctx_create_with(metered, &m, &ctx), BLICA_OK);
    m.left = k;
    blica_status status = blica_correlate(ctx, c, &cor);
    if (status == BLICA_OK) status = blica_regularise(ctx, cor, 10, &out);
    assert_true((status == BLICA_OK) == (out != NULL));
    assert_true(status == BLICA_OK || status == BLICA_ERR_MEMORY);
    refused += status != BLICA_OK;
    blica_cor_free(cor);
    blica_cor_free(out);
    blica_ctx_free(ctx);
    assert_int_equal(m.live, 0);
    if (status == BLICA_OK) break;
  }
  assert_compare(refused, >, 30);
  tables_free(c);
}

static int stop(const blica_progress *progress, void *user) {
  (void)user;
  assert_string_equal(progress->stage, "correlate");
  assert_compare(progress->fraction, >, 0);
  assert_compare(progress->fraction, <=, 1);
  return 1;
}

static void test_interrupt(void **state) {
  (void)state;
  blica_ctx *ctx;
  blica_cor *cor;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_set_poll(ctx, stop, NULL);
  blica_counts *c = sample(6, 2, 50, 1);
  assert_int_equal(blica_correlate(ctx, c, &cor), BLICA_ERR_INTERRUPTED);
  assert_null(cor);
  tables_free(c);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),     cmocka_unit_test(test_bits),        cmocka_unit_test(test_single),
      cmocka_unit_test(test_symmetry),  cmocka_unit_test(test_full_tables), cmocka_unit_test(test_standard_error),
      cmocka_unit_test(test_thin_data), cmocka_unit_test(test_memory),      cmocka_unit_test(test_interrupt)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
