/* test_gaps.c - missing values in method matched: errors in the designs in which surveys leave items out stay below
 * those of the pairwise likelihood, which is consistent, and fall with the number of rows. */
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
#include "context.h"
#include "counts/item_sets.h"
#include "leave_out.h"

enum { N = 8, K = 2, U = 15 };

static bool forms(int64_t r, int s, int i, double z) {
  (void)s, (void)z;
  return i >= 4 && (i >= 6) == (r % 2 == 0);
}
static bool rotating(int64_t r, int s, int i, double z) {
  (void)r, (void)z;
  return i == 2 * s % N || i == (2 * s + 1) % N;
}
static bool two_rare(int64_t r, int s, int i, double z) {
  (void)r, (void)s;
  return i < 2 && z < 0.9;
}
static bool half(int64_t r, int s, int i, double z) {
  (void)r, (void)s, (void)i;
  return z < 0.5;
}
static bool empty_segment(int64_t r, int s, int i, double z) {
  (void)r, (void)i, (void)z;
  return s == 3;
}

static blica_data *draw(int rows, int levels, uint64_t seed, is_missing missing, blica_model **truth) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *complete;
  o.variables = N, o.sources = K, o.segments = U, o.samples = rows, o.levels = levels, o.seed = seed;
  assert_int_equal(blica_simulate(ctx, &o, truth, &complete, NULL), BLICA_OK);
  blica_data *data = leave_out(complete, levels, missing);
  assert_non_null(data);
  blica_data_free(complete);
  return data;
}

static blica_model *fit(const blica_input *input, const char *method) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *model;
  o.method = blica_method_find(method);
  o.sources = K;
  assert_int_equal(blica_fit(ctx, input, &o, &model), BLICA_OK);
  return model;
}

static double error_of(const blica_model *truth, const blica_input *input, const char *method) {
  blica_model *model = fit(input, method);
  double mcs, cosine[K];
  int matching[K];
  assert_int_equal(blica_compare(ctx, N, K, truth->mixing, model->mixing, &mcs, matching, cosine), BLICA_OK);
  blica_model_free(model);
  return 1 - mcs;
}

/* Mean errors of the default, of the default that does not know which items rows have together, and of pairwise. */
static void measure(int sets, int rows, int levels, is_missing missing, double error[3]) {
  error[0] = error[1] = error[2] = 0;
  for (uint64_t seed = 1; seed <= (uint64_t)sets; seed++) {
    blica_model *truth;
    blica_data *data = draw(rows, levels, seed, missing, &truth);
    blica_counts *counts;
    assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
    bl_item_sets_free(counts->sets);
    counts->sets = NULL;
    error[0] += error_of(truth, &(blica_input){.data = data}, "auto") / sets;
    error[1] += error_of(truth, &(blica_input){.counts = counts}, "auto") / sets;
    error[2] += error_of(truth, &(blica_input){.data = data}, "pairwise") / sets;
    blica_model_free(truth), blica_data_free(data), blica_counts_free(counts);
  }
}

/* Where missing values counted as observed correlations of 0, the errors of the first two designs were .13 and .17. */
static void as_accurate_as_pairwise(void **state) {
  (void)state;
  const struct {
    is_missing missing;
    int levels;
  } design[] = {{forms, 2}, {rotating, 2}, {two_rare, 2}, {half, 2}, {forms, 4}, {rotating, 4}};
  enum { SETS = 8, DESIGNS = sizeof design / sizeof *design };
  double sum[3] = {0};
  for (size_t d = 0; d < DESIGNS; d++) {
    double error[3];
    measure(SETS, 800, design[d].levels, design[d].missing, error);
    for (int i = 0; i < 2; i++) assert_compare(error[i], <, fmax(1.5 * error[2], 0.002));
    for (int i = 0; i < 3; i++) sum[i] += error[i];
  }
  for (int i = 0; i < 2; i++) assert_compare(sum[i], <, 1.1 * sum[2]);
}

static void errors_fall_with_rows(void **state) {
  (void)state;
  is_missing const designs[] = {forms, rotating};
  for (int d = 0; d < 2; d++) {
    double few[3], many[3];
    measure(6, 400, 2, designs[d], few);
    measure(6, 4000, 2, designs[d], many);
    for (int i = 0; i < 2; i++) assert_compare(many[i], <, 0.5 * few[i]);
  }
}

/* Cells for missing values, but no missing value: the bits are those of complete data. */
static void nothing_missing_changes_nothing(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *data;
  blica_counts *plain, *full;
  o.variables = N, o.sources = K, o.segments = U, o.samples = 200, o.seed = 4;
  assert_int_equal(blica_simulate(ctx, &o, NULL, &data, NULL), BLICA_OK);
  assert_int_equal(blica_count(ctx, data, &plain), BLICA_OK);
  assert_int_equal(blica_count(ctx, data, &full), BLICA_OK);
  data->missing = 1;
  blica_counts_free(full);
  full = NULL;
  assert_int_equal(blica_count_add(ctx, data, &full), BLICA_OK);
  assert_null(plain->n10);
  assert_non_null(full->n10);
  blica_model *a = fit(&(blica_input){.counts = plain}, "auto"), *b = fit(&(blica_input){.counts = full}, "auto");
  assert_memory_equal(a->mixing, b->mixing, N * K * sizeof(double));
  assert_memory_equal(a->variances, b->variances, K * U * sizeof(double));
  blica_model_free(a), blica_model_free(b), blica_counts_free(plain), blica_counts_free(full), blica_data_free(data);
}

/* Variances of a segment without values come from the prior: they are about the mean ones. */
static void an_empty_segment_has_the_prior(void **state) {
  (void)state;
  blica_model *truth;
  blica_data *data = draw(400, 2, 6, empty_segment, &truth);
  assert_compare(error_of(truth, &(blica_input){.data = data}, "auto"), <, 0.01);
  blica_model *model = fit(&(blica_input){.data = data}, "auto");
  for (int j = 0; j < K; j++) assert_compare(fabs(log(model->variances[j + 3 * K])), <, 0.5);
  blica_model_free(model), blica_model_free(truth), blica_data_free(data);
}

static void mle_begins_with_a_number(void **state) {
  (void)state;
  is_missing const designs[] = {forms, rotating, empty_segment};
  for (int d = 0; d < 3; d++) {
    blica_model *truth;
    blica_data *data = draw(100, 2, 8, designs[d], &truth);
    assert_compare(error_of(truth, &(blica_input){.data = data}, "mle"), <, 0.05);
    blica_model_free(truth), blica_data_free(data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_accurate_as_pairwise), cmocka_unit_test(errors_fall_with_rows),
                                     cmocka_unit_test(nothing_missing_changes_nothing),
                                     cmocka_unit_test(an_empty_segment_has_the_prior),
                                     cmocka_unit_test(mle_begins_with_a_number)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
