/* test_rare.c - rare outcomes: method matched shares its weight with the 2x2 tables, and gains by it.
 *
 * Items have base rates of 5.5 % (thresholds of their own, as no model file has them), drawn here from the model's
 * definition. From correlations alone the tables are not there, so the same fit shows what they are worth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "estimate/gauss/gauss.h"
#include "num/rng.h"

enum { N_ITEMS = 8, SOURCES = 4, SEGMENTS = 20, ROWS = 400 };
static blica_ctx *ctx;

/* x_i = 1 when A z + noise exceeds 1.6 times its standard deviation over all segments. */
static blica_data *draw_rare(const blica_model *truth, uint64_t seed) {
  const int64_t rows = SEGMENTS * ROWS;
  int8_t *x = malloc((size_t)(rows * N_ITEMS));
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  double cut[N_ITEMS];
  blica_data *data;
  bl_rng rng = bl_rng_make(seed, 77);
  for (int i = 0; i < N_ITEMS; i++) {
    double variance = 1 / truth->link;
    for (int j = 0; j < SOURCES * SEGMENTS; j++)
      variance += pow(truth->mixing[i + j % SOURCES * N_ITEMS], 2) * truth->variances[j] / SEGMENTS;
    cut[i] = 1.6 * sqrt(variance);
  }
  for (int64_t r = 0; r < rows; r++) {
    double z[SOURCES];
    segment[r] = (int32_t)(r / ROWS);
    for (int j = 0; j < SOURCES; j++) z[j] = sqrt(truth->variances[j + segment[r] * SOURCES]) * bl_rng_normal(&rng);
    for (int i = 0; i < N_ITEMS; i++) {
      double y = bl_rng_normal(&rng) / sqrt(truth->link) - cut[i];
      for (int j = 0; j < SOURCES; j++) y += truth->mixing[i + j * N_ITEMS] * z[j];
      x[r * N_ITEMS + i] = y > 0;
    }
  }
  assert_int_equal(
      blica_pack(ctx, &(blica_table){.rows = rows, .n = N_ITEMS, .x = x, .segment = segment, .u = SEGMENTS}, &data),
      BLICA_OK);
  free(x), free(segment);
  return data;
}

static blica_model *draw_model(uint64_t seed) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *model;
  o.variables = N_ITEMS, o.sources = SOURCES, o.segments = SEGMENTS, o.samples = ROWS, o.seed = seed;
  assert_int_equal(blica_simulate(ctx, &o, &model, NULL, NULL), BLICA_OK);
  return model;
}

static double error_of(const blica_model *truth, const blica_input *input, const char *method) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *model;
  double mcs, cosine[SOURCES];
  int matching[SOURCES];
  o.sources = truth->k;
  o.method = blica_method_find(method);
  assert_int_equal(blica_fit(ctx, input, &o, &model), BLICA_OK);
  if (strcmp(method, "auto") == 0) assert_string_equal(model->method, "matched");
  assert_int_equal(model->fit.stop, BLICA_STOP_CONVERGED);
  assert_int_equal(blica_compare(ctx, truth->n, truth->k, truth->mixing, model->mixing, &mcs, matching, cosine),
                   BLICA_OK);
  blica_model_free(model);
  return 1 - mcs;
}

static void tables_halve_the_error(void **state) {
  (void)state;
  double with = 0, without = 0;
  for (uint64_t seed = 101; seed <= 103; seed++) {
    blica_counts *counts;
    blica_cor *cor;
    blica_model *truth = draw_model(seed);
    blica_data *data = draw_rare(truth, seed);
    assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
    assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
    assert_true(bl_is_rare(cor));
    const blica_input tables = {.counts = counts}, correlations = {.cor = cor};
    with += error_of(truth, &tables, "auto") / 3, without += error_of(truth, &correlations, "auto") / 3;
    blica_cor_free(cor), blica_counts_free(counts), blica_data_free(data), blica_model_free(truth);
  }
  if (!(with < 0.5 * without)) fail_msg("error with tables %g, without %g", with, without);
}

/* With tables alone, and the variances averaged over, it is no worse than the likelihood of the tables. */
static void as_accurate_as_pairwise(void **state) {
  (void)state;
  double matched = 0, pairwise = 0;
  for (uint64_t seed = 111; seed <= 116; seed++) {
    blica_model *truth = draw_model(seed);
    blica_data *data = draw_rare(truth, seed);
    const blica_input rows = {.data = data};
    matched += error_of(truth, &rows, "auto") / 6, pairwise += error_of(truth, &rows, "pairwise") / 6;
    blica_data_free(data), blica_model_free(truth);
  }
  print_message("mean 1 - MCS %.4f by matched, %.4f by pairwise\n", matched, pairwise);
  assert_compare(matched, <, 1.05 * pairwise);
}

/* Outcomes that are not rare leave the tables out, and the counts are dropped. */
static void common_outcomes_have_no_share(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *truth;
  blica_data *data;
  blica_counts *counts;
  blica_cor *cor;
  o.variables = N_ITEMS, o.sources = SOURCES, o.segments = 4, o.samples = 300, o.seed = 5;
  assert_int_equal(blica_simulate(ctx, &o, &truth, &data, NULL), BLICA_OK);
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  for (int s = 0; s < 4; s++) assert_true(bl_rare_share(cor, s) == 0);
  for (int i = 0; i < N_ITEMS; i++) cor->thresholds[i] = -2.0; /* 2.3 % */
  const double share = bl_rare_share(cor, 0);
  if (!(share > 0.95 && share < 1)) fail_msg("share %g", share);
  blica_cor_free(cor), blica_counts_free(counts), blica_data_free(data), blica_model_free(truth);
}

/* Items with intercepts of sd 2: some are rare and leave a fifth of the tables with an empty cell. From correlations
 * alone, whose empty cells were filled, the same fit has several times the error. */
static void empty_cells_of_rare_items(void **state) {
  (void)state;
  double with = 0, without = 0;
  const uint64_t seeds[] = {8, 17};
  for (int i = 0; i < 2; i++) {
    blica_simulate_options o = blica_simulate_options_default();
    blica_model *truth;
    blica_data *data;
    blica_counts *counts;
    blica_cor *cor;
    o.variables = 10, o.sources = 2, o.segments = 40, o.samples = 1000, o.intercepts = 2, o.seed = seeds[i];
    assert_int_equal(blica_simulate(ctx, &o, &truth, &data, NULL), BLICA_OK);
    assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
    assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
    const blica_input tables = {.counts = counts}, correlations = {.cor = cor};
    with += error_of(truth, &tables, "auto") / 2, without += error_of(truth, &correlations, "auto") / 2;
    blica_cor_free(cor), blica_counts_free(counts), blica_data_free(data), blica_model_free(truth);
  }
  print_message("mean 1 - MCS %.4f with tables, %.4f without\n", with, without);
  assert_compare(with, <, 0.004);
  assert_compare(with, <, 0.3 * without);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_halve_the_error), cmocka_unit_test(as_accurate_as_pairwise),
      cmocka_unit_test(empty_cells_of_rare_items), cmocka_unit_test(common_outcomes_have_no_share)};
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, 1);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  blica_ctx_free(ctx);
  return failed;
}
