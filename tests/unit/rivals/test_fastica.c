/* fastICA: merged rows, whitening, OR mixtures found exactly, missing values, refusals, and the same bits for any
 * number of threads and any instruction set. Parity with scikit-learn is in tests/parity/fastica.sh. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "set_word.h"
#include "data/patterns.h"
#include "rivals/rivals.h"
#include "num/rng.h"

static blica_ctx *ctx;
static char warning[256];

static void warn(const char *text, void *user) {
  (void)user;
  snprintf(warning, sizeof warning, "%s", text);
}

static int setup(void **state) {
  (void)state;
  if (blica_ctx_create(&ctx)) return 1;
  blica_set_warn(ctx, warn, NULL);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  blica_ctx_free(ctx);
  return 0;
}

enum { SOURCES = 3 };
/* Which variables each source switches on. */
static const int mixing[6][SOURCES] = {{1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1}, {1, 0, 1}};

/* x = OR of rare binary sources through `mixing`, in two segments; variables beyond six are copies of earlier ones with
 * flips. */
static blica_data *or_mixture(int rows, int n, double missing, int8_t **keep) {
  bl_rng rng = bl_rng_make(3, 0);
  int8_t *x = malloc((size_t)rows * (size_t)n);
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  for (int r = 0; r < rows; r++) {
    int on[SOURCES];
    for (int c = 0; c < SOURCES; c++) on[c] = bl_rng_uniform(&rng) < 0.05;
    for (int i = 0; i < n; i++) {
      int value = 0;
      for (int c = 0; c < SOURCES; c++) value |= mixing[i % 6][c] & on[c];
      if (i >= 6) value ^= bl_rng_uniform(&rng) < 0.2;
      x[r * n + i] = bl_rng_uniform(&rng) < missing ? BLICA_MISSING : (int8_t)value;
    }
    segment[r] = r % 2;
  }
  blica_data *data;
  if (blica_pack(ctx, &(blica_table){.rows = rows, .n = n, .x = x, .segment = segment, .u = 2}, &data) != BLICA_OK)
    fail_msg("%s", blica_message(ctx));
  free(segment);
  if (keep)
    *keep = x;
  else
    free(x);
  return data;
}

static void check_patterns(int n, double missing) {
  int rows = 500;
  int8_t *x;
  blica_data *data = or_mixture(rows, n, missing, &x);
  bl_row_keys k;
  assert_int_equal(bl_row_keys_make(ctx, data, 0, data->u, n, NULL, &k), BLICA_OK);
  int64_t total = 0;
  for (int64_t a = 0; a < k.count; a++) {
    const uint64_t *present = k.key + a * 2 * k.words, *ones = present + k.words;
    int64_t seen = 0;
    for (int r = 0; r < rows; r++) {
      int same = 1;
      for (int i = 0; same && i < n; i++) same = x[r * n + i] == (bl_bit(present, i) ? bl_bit(ones, i) : BLICA_MISSING);
      seen += same;
    }
    assert_int_equal(seen, k.weight[a]);
    total += seen;
  }
  assert_int_equal(total, rows); /* every row in exactly one pattern */
  bl_row_keys_free(&k);
  blica_data_free(data);
  free(x);
}

static void test_patterns(void **state) {
  (void)state;
  check_patterns(6, 0);
  check_patterns(6, 0.1);
  check_patterns(70, 0);
  check_patterns(130, 0.01);
}

static blica_model *fit(const blica_data *data, int sources) {
  blica_fit_options o = blica_fit_options_default();
  o.method = BLICA_METHOD_FASTICA;
  o.sources = sources;
  blica_input input = {.data = data};
  blica_model *model;
  if (blica_fit(ctx, &input, &o, &model) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return model;
}

/* The large entries of the columns of A are those of the OR mixture, in some order. */
static void check_or(double missing) {
  blica_data *data = or_mixture(20000, 6, missing, NULL);
  blica_model *model = fit(data, SOURCES);
  int found = 0;
  for (int c = 0; c < SOURCES; c++)
    for (int j = 0; j < SOURCES; j++) {
      const double *a = model->mixing + (size_t)j * 6;
      double largest = 0;
      int same = 1;
      for (int i = 0; i < 6; i++) largest = fmax(largest, fabs(a[i]));
      for (int i = 0; i < 6; i++) same &= (a[i] > 0.5 * largest) == mixing[i][c];
      found += same;
    }
  assert_int_equal(found, SOURCES);
  assert_int_equal(model->fit.stop, BLICA_STOP_CONVERGED);
  for (int i = 0; i < 2 * SOURCES; i++) assert_true(model->variances[i] > 0 && isfinite(model->means[i]));
  blica_model_free(model);
  blica_data_free(data);
}

static void test_or(void **state) {
  (void)state;
  check_or(0);
  warning[0] = 0;
  check_or(0.02);
  assert_non_null(strstr(warning, "missing values are replaced by the mean"));
}

/* From exact pair counts: whitened rows have covariance I, and A is the pseudo-inverse of the unmixing. */
static void test_whitening(void **state) {
  (void)state;
  int n = 12, k = 5;
  blica_data *data = or_mixture(3000, n, 0.05, NULL);
  blica_counts *counts;
  bl_fastica *f;
  double mean[12], c[144];
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  assert_int_equal(bl_fastica_create(ctx, data, counts, k, &f), BLICA_OK);
  bl_pooled_covariance(counts, 0, 2, mean, c);
  const double *white = bl_fastica_whitening(f), *dewhite = bl_fastica_dewhitening(f);
  for (int a = 0; a < k; a++)
    for (int b = 0; b < k; b++) {
      double variance = 0, product = 0;
      for (int i = 0; i < n; i++) {
        product += white[a * n + i] * dewhite[i + b * n];
        for (int j = 0; j < n; j++) variance += white[a * n + i] * c[i + j * n] * white[b * n + j];
      }
      assert_compare(fabs(variance - (a == b)), <, 1e-12);
      assert_compare(fabs(product - (a == b)), <, 1e-12);
    }
  /* cube: E[(w x)^3 x'] - 3 w is the fixed point; with a single step, E x_c^2 = 1 shows that weights add up to N */
  double w[25] = {0};
  for (int a = 0; a < k; a++) w[a * 6] = 1;
  double normal = bl_fastica_negentropy(f, BLICA_CONTRAST_EXP, w);
  assert_true(normal > 0 &&
              normal < k * 0.0858); /* |E G| <= 1 and E G(normal) = -.7071: each term is below (1-.7071)^2 */
  bl_free(f);
  blica_counts_free(counts);
  blica_data_free(data);
}

static void test_bits(void **state) {
  (void)state;
  static const char *const contrasts[] = {"logcosh", "exp", "cube"};
  static const int threads[] = {1, 2, 7};
  blica_data *data = or_mixture(5000, 20, 0.01, NULL);
  blica_input input = {.data = data};
  for (int c = 0; c < 3; c++) {
    blica_model *first = NULL;
    for (int t = 0; t < 3; t++)
      for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
        blica_fit_options o = blica_fit_options_default();
        o.method = BLICA_METHOD_FASTICA;
        set_word(blica_fit_option_table, &o, "contrast", contrasts[c]);
        o.sources = 7, o.starts = 2, o.max_iterations = 20;
        blica_set_threads(ctx, threads[t]);
        blica_set_simd(ctx, (blica_simd)level);
        blica_model *model;
        assert_int_equal(blica_fit(ctx, &input, &o, &model), BLICA_OK);
        if (!first) {
          first = model;
          continue;
        }
        assert_memory_equal(model->mixing, first->mixing, 140 * sizeof(double));
        assert_memory_equal(model->variances, first->variances, 14 * sizeof(double));
        assert_memory_equal(&model->fit.objective, &first->fit.objective, sizeof(double));
        blica_model_free(model);
      }
    blica_model_free(first);
  }
  blica_set_threads(ctx, 1);
  blica_set_simd(ctx, BLICA_SIMD_AUTO);
  blica_data_free(data);
}

static int stop_at_2(const blica_progress *progress, void *user) {
  (void)user;
  return progress->iteration >= 2;
}

static void test_stops(void **state) {
  (void)state;
  blica_data *data = or_mixture(2000, 12, 0, NULL);
  blica_set_poll(ctx, stop_at_2, NULL);
  blica_model *model = fit(data, 5);
  blica_set_poll(ctx, NULL, NULL);
  assert_int_equal(model->fit.stop, BLICA_STOP_INTERRUPTED);
  assert_int_equal(model->fit.iterations, 2);
  for (int i = 0; i < 60; i++) assert_true(isfinite(model->mixing[i]));
  blica_model_free(model);
  blica_data_free(data);
}

static void test_rank(void **state) {
  (void)state;
  int8_t x[400];
  int32_t segment[100] = {0};
  for (int r = 0; r < 100; r++) {
    x[r * 4] = (int8_t)(r & 1);
    x[r * 4 + 1] = (int8_t)(r & 1); /* a copy */
    x[r * 4 + 2] = (int8_t)(r >> 1 & 1);
    x[r * 4 + 3] = 1; /* a constant */
  }
  blica_data *data;
  blica_counts *counts;
  bl_fastica *f;
  assert_int_equal(blica_pack(ctx, &(blica_table){.rows = 100, .n = 4, .x = x, .segment = segment, .u = 1}, &data),
                   BLICA_OK);
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  assert_int_equal(bl_fastica_create(ctx, data, counts, 3, &f), BLICA_ERR_DATA);
  assert_null(f);
  assert_non_null(strstr(blica_message(ctx), "span 2 dimensions"));
  assert_int_equal(bl_fastica_create(ctx, data, counts, 2, &f), BLICA_OK);
  assert_int_equal(bl_fastica_patterns(f), 4);
  bl_free(f);
  blica_counts_free(counts);
  blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_patterns), cmocka_unit_test(test_or),    cmocka_unit_test(test_whitening),
      cmocka_unit_test(test_bits),     cmocka_unit_test(test_stops), cmocka_unit_test(test_rank),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
