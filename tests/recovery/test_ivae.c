/* The linear iVAE as a method: recovery of a simulated model, what a fit returns, missing
 * values, the same bits for any number of threads, interrupt and time limit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "base/base.h"
#include "context.h"
#include "ivae_fits.h"
#include "model/model.h"

static blica_data *simulated(double missing, blica_model **truth) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = 6, o.sources = 2, o.segments = 20, o.samples = 500;
  blica_data *data, *out;
  assert_int_equal(blica_simulate(ctx, &o, truth, &data, NULL), BLICA_OK);
  if (missing == 0) return data;
  int8_t *x = malloc((size_t)data->rows * 6);
  int32_t *segment = malloc((size_t)data->rows * sizeof *segment);
  unsigned lcg = 1;
  int64_t row = 0;
  for (int s = 0; s < data->u; s++)
    for (int64_t r = 0; r < data->samples[s]; r++, row++) {
      segment[row] = s;
      for (int i = 0; i < 6; i++) {
        int8_t one = (int8_t)(data->ones[s][i * data->words[s] + r / 64] >> (r % 64) & 1);
        lcg = lcg * 1664525u + 1013904223u;
        x[row * 6 + i] = lcg / 4294967296.0 < missing ? BLICA_MISSING : one;
      }
    }
  assert_int_equal(blica_pack(ctx, &(blica_table){.rows = row, .n = 6, .x = x, .segment = segment, .u = 20}, &out),
                   BLICA_OK);
  blica_data_free(data);
  free(x), free(segment);
  return out;
}

static double recovered(const blica_model *truth, const blica_model *model) {
  int matching[2];
  double cosine[2], mcs;
  assert_int_equal(blica_compare(ctx, truth->n, truth->k, truth->mixing, model->mixing, &mcs, matching, cosine),
                   BLICA_OK);
  return mcs;
}

static void test_recovers(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    blica_model *truth;
    blica_data *data = simulated(i * 0.1, &truth);
    blica_fit_options o = options_for(2);
    blica_model *model = fit(data, &o);
    double mcs = recovered(truth, model);
    print_message("%lld missing: MCS %.3f\n", (long long)data->missing, mcs);
    assert_compare(mcs, >, 0.9);
    blica_model_free(model);
    blica_model_free(truth);
    blica_data_free(data);
  }
}

static void test_threads(void **state) {
  (void)state;
  blica_model *truth, *first = NULL;
  blica_data *data = simulated(0.05, &truth);
  blica_fit_options o = options_for(3);
  o.starts = 2, o.max_iterations = 15;
  static const int threads[] = {1, 2, 7};
  for (int i = 0; i < 3; i++) {
    blica_set_threads(ctx, threads[i]);
    blica_model *model = fit(data, &o);
    assert_int_equal(model->fit.stop, BLICA_STOP_ITERATIONS);
    if (!first) {
      first = model;
      continue;
    }
    assert_memory_equal(model->mixing, first->mixing, 18 * sizeof(double));
    assert_memory_equal(model->variances, first->variances, 60 * sizeof(double));
    assert_memory_equal(model->means, first->means, 60 * sizeof(double));
    assert_memory_equal(&model->fit.objective, &first->fit.objective, sizeof(double));
    blica_model_free(model);
  }
  blica_set_threads(ctx, 0);
  blica_model_free(first);
  blica_model_free(truth);
  blica_data_free(data);
}

static int stop_at_5(const blica_progress *progress, void *user) {
  ++*(int *)user;
  return progress->iteration >= 5;
}

static void test_interrupt_and_time(void **state) {
  (void)state;
  int polls = 0;
  blica_model *truth;
  blica_data *data = simulated(0, &truth);
  blica_fit_options o = options_for(2);
  blica_set_poll(ctx, stop_at_5, &polls);
  blica_model *model = fit(data, &o);
  assert_compare(polls, >=, 5);
  assert_int_equal(model->fit.stop, BLICA_STOP_INTERRUPTED);
  assert_int_equal(model->fit.iterations, 5);
  assert_int_equal(model->fit.n_starts, 1);
  blica_model_free(model);
  blica_set_poll(ctx, NULL, NULL);
  o.max_seconds = 1e-9;
  model = fit(data, &o);
  assert_int_equal(model->fit.stop, BLICA_STOP_TIME);
  assert_true(isfinite(model->mixing[0]));
  blica_model_free(model);
  blica_model_free(truth);
  blica_data_free(data);
}

static void test_needs_rows(void **state) {
  (void)state;
  blica_model *truth, *model;
  blica_data *data = simulated(0, &truth);
  blica_counts *counts;
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  blica_fit_options o = options_for(2);
  blica_input input = {.counts = counts};
  assert_int_equal(blica_fit(ctx, &input, &o, &model), BLICA_ERR_ARGUMENT);
  assert_null(model);
  assert_non_null(strstr(blica_message(ctx), "'ivae' needs the rows"));
  blica_counts_free(counts);
  blica_model_free(truth);
  blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_recovers),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_interrupt_and_time),
      cmocka_unit_test(test_needs_rows),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
