/* An estimator added by the recipe of ARCHITECTURE.md, outside src/: a function of type bl_estimate_fn and a row in the
 * table of src/estimate/method.c (cmake/tests.cmake puts it into a copy). Options, fit, assess and select take it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "context.h"

enum { N = 6, K = 2, U = 8 };

static const char *words_of(const blica_option *table, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(table[i].name, "method") == 0) return table[i].words;
  fail_msg("no option method");
  return NULL;
}

static blica_data *rows(void) {
  blica_simulate_options how = blica_simulate_options_default();
  blica_data *data;
  how.variables = N, how.sources = K, how.segments = U, how.samples = 400;
  assert_int_equal(blica_simulate(ctx, &how, NULL, &data, NULL), BLICA_OK);
  return data;
}

static blica_fit_options fit_options(void) {
  blica_fit_options o = blica_fit_options_default();
  o.method = blica_method_find("eigen");
  o.sources = K;
  return o;
}

static void test_listed(void **state) {
  (void)state;
  int count, rows = 0;
  const blica_method *methods = blica_methods(&count);
  for (int i = 0; i < count; i++) rows += strcmp(methods[i].name, "eigen") == 0 && !methods[i].needs_rows;
  assert_int_equal(rows, 1);
  const blica_option *table = blica_fit_option_table(&count);
  assert_non_null(strstr(words_of(table, count), "|eigen=7"));
  table = blica_select_option_table(&count);
  assert_non_null(strstr(words_of(table, count), "|eigen=7"));
  table = blica_segment_option_table(&count);
  assert_null(strstr(words_of(table, count), "eigen"));
}

static void test_fit_and_assess(void **state) {
  (void)state;
  blica_data *data = rows();
  blica_counts *counts;
  blica_model *model, *again;
  blica_assessment *assessed;
  blica_fit_options o = fit_options();
  blica_assess_options how = blica_assess_options_default();
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &model), BLICA_OK);
  assert_string_equal(model->method, "eigen");
  assert_string_equal(model->fit.starts[0].kind, "eigen");
  assert_int_equal(model->fit.stop, BLICA_STOP_CONVERGED);
  assert_true(isinf(model->fit.prior_mixing)); /* it has no prior */
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  assert_int_equal(blica_fit(ctx, &(blica_input){.counts = counts}, &o, &again), BLICA_OK);
  assert_memory_equal(model->mixing, again->mixing, N * K * sizeof(double));
  how.bootstrap = 20;
  assert_int_equal(blica_assess(ctx, model, data, &how, &assessed), BLICA_OK);
  assert_non_null(assessed->covariance); /* of the correlations, as its row says */
  for (int j = 0; j < K; j++) assert_true(assessed->angle[j] > 0 && isfinite(assessed->angle[j]));
  for (int i = 0; i < N * K; i++) assert_true(assessed->mixing_se_bootstrap[i] > 0); /* refitted by the same method */
  blica_assessment_free(assessed);
  blica_model_free(model);
  blica_model_free(again);
  blica_counts_free(counts);
  blica_data_free(data);
}

static void test_select(void **state) {
  (void)state;
  blica_data *data = rows();
  blica_selection *found;
  blica_select_options o = blica_select_options_default();
  o.method = blica_method_find("eigen");
  o.sources[0] = 1, o.sources[1] = 3, o.references = 20;
  assert_int_equal(blica_select(ctx, data, &o, &found), BLICA_OK);
  assert_string_equal(blica_method_name(found->method), "eigen");
  assert_true(found->sources >= 1 && isfinite(found->heldout[2]));
  blica_selection_free(found);
  blica_data_free(data);
}

/* Options whose rows do not name it have no effect on it. */
static void test_refused(void **state) {
  (void)state;
  blica_data *data = rows();
  blica_model *model;
  blica_fit_options o = fit_options();
  o.prior = BLICA_PRIOR_AUTO;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &model), BLICA_ERR_ARGUMENT);
  assert_non_null(strstr(blica_message(ctx), "no effect with method eigen"));
  blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listed),
      cmocka_unit_test(test_fit_and_assess),
      cmocka_unit_test(test_select),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
