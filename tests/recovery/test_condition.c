/* condition=auto: what it learns where the best target is known to be high or low, that counts and correlations are
 * enough, that threads do not change it, and what it does where nothing can be learned. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "blica.h"
#include "note.h"

static blica_ctx *ctx;
static char warning[512];

static void keep_warning(const char *text, void *user) {
  (void)user;
  strncpy(warning, text, sizeof warning - 1);
}

static int open_context(void **state) {
  (void)state;
  if (blica_ctx_create(&ctx) != BLICA_OK) return -1;
  blica_set_warn(ctx, keep_warning, NULL);
  return 0;
}

static int close_context(void **state) {
  (void)state;
  blica_ctx_free(ctx);
  return 0;
}

static void simulate(int n, int k, int u, int64_t samples, uint64_t seed, blica_model **truth, blica_data **data) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = u, o.samples = samples, o.seed = seed;
  assert_int_equal(blica_simulate(ctx, &o, truth, data, NULL), BLICA_OK);
}

static blica_model *fit(blica_input input, int k, double condition, const char *prior) {
  blica_fit_options o = blica_fit_options_default();
  strcpy(o.method, "blica");
  strcpy(o.prior, prior);
  o.sources = k, o.condition = condition;
  blica_model *model;
  assert_int_equal(blica_fit(ctx, &input, &o, &model), BLICA_OK);
  return model;
}

static double error_of(const blica_model *model, const blica_model *truth) {
  double mcs;
  assert_int_equal(blica_compare(ctx, truth->n, truth->k, truth->mixing, model->mixing, &mcs, NULL, NULL), BLICA_OK);
  return 1 - mcs;
}

/* Sums of errors of auto and of 10 over some data sets, and the range of what was learned. */
static void learn(int n, int k, int64_t samples, double sum[2], double *low, double *high) {
  blica_set_threads(ctx, 1);
  *low = INFINITY, *high = sum[0] = sum[1] = 0;
  for (uint64_t seed = 201; seed <= 203; seed++) {
    blica_model *truth;
    blica_data *data;
    simulate(n, k, 40, samples, seed, &truth, &data);
    blica_model *learned = fit((blica_input){.data = data}, k, BLICA_CONDITION_AUTO, "none");
    blica_model *usual = fit((blica_input){.data = data}, k, 10, "none");
    assert_true(learned->fit.condition == note(learned, "condition_learned"));
    sum[0] += error_of(learned, truth), sum[1] += error_of(usual, truth);
    *low = fmin(*low, learned->fit.condition), *high = fmax(*high, learned->fit.condition);
    blica_model_free(truth), blica_model_free(learned), blica_model_free(usual), blica_data_free(data);
  }
  print_message("n=%d k=%d N=%d: learned %g to %g, error %.4f, with 10 %.4f\n", n, k, (int)samples, *low, *high,
                sum[0] / 3, sum[1] / 3);
}

/* With k < n and many rows regularisation is nothing but bias. */
static void little_where_it_only_biases(void **state) {
  (void)state;
  double sum[2], low, high;
  learn(6, 2, 1000, sum, &low, &high);
  assert_compare(low, >=, 50);
  assert_compare(sum[0], <, 0.2 * sum[1]);
}

/* With k = n and few rows small eigenvalues are noise: nothing above the usual is chosen where it cannot be told to be
 * better. */
static void no_harm_where_eigenvalues_are_noise(void **state) {
  (void)state;
  double sum[2], low, high;
  learn(6, 6, 100, sum, &low, &high);
  assert_compare(high, <=, 10);
  assert_compare(sum[0], <=, 1.05 * sum[1]);
}

/* With still fewer rows the usual is too little. */
static void more_where_rows_are_few(void **state) {
  (void)state;
  double sum[2], low, high;
  learn(6, 6, 50, sum, &low, &high);
  assert_compare(low, <, 10);
  assert_compare(sum[0], <, 0.8 * sum[1]);
}

static void same_from_rows_counts_and_correlations_on_any_threads(void **state) {
  (void)state;
  blica_model *truth, *model[5];
  blica_data *data;
  blica_counts *counts;
  blica_cor *cor;
  simulate(5, 3, 13, 200, 7, &truth, &data);
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  const int threads[] = {1, 2, 7};
  for (int i = 0; i < 5; i++) {
    blica_set_threads(ctx, i < 3 ? threads[i] : 0);
    blica_input input = {i < 3 ? data : NULL, i == 3 ? counts : NULL, i == 4 ? cor : NULL};
    model[i] = fit(input, 3, BLICA_CONDITION_AUTO, "auto");
    assert_true(note(model[i], "condition_learned") >= 2 && note(model[i], "prior_mixing") > 0 &&
                note(model[i], "prior_variance") > 0);
    assert_memory_equal(model[i]->mixing, model[0]->mixing, 15 * sizeof(double));
    assert_true(model[i]->fit.condition == model[0]->fit.condition);
  }
  for (int i = 0; i < 5; i++) blica_model_free(model[i]);
  blica_set_threads(ctx, 0);
  blica_model_free(truth), blica_data_free(data), blica_counts_free(counts), blica_cor_free(cor);
}

static void nothing_to_learn(void **state) {
  (void)state;
  blica_model *truth, *model;
  blica_data *data;
  blica_counts *counts;
  simulate(6, 2, 3, 500, 1, &truth, &data);
  model = fit((blica_input){.data = data}, 2, BLICA_CONDITION_AUTO, "none");
  assert_true(model->fit.condition == 10);
  assert_non_null(strstr(warning, "needs at least 4"));
  blica_model_free(truth), blica_model_free(model), blica_data_free(data);
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = 6, o.sources = 2, o.segments = 8, o.exact = 1;
  assert_int_equal(blica_simulate(ctx, &o, &truth, NULL, &counts), BLICA_OK);
  model = fit((blica_input){.counts = counts}, 2, BLICA_CONDITION_AUTO, "none");
  assert_true(isinf(model->fit.condition));
  assert_compare(error_of(model, truth), <, 1e-10);
  blica_model_free(truth), blica_model_free(model), blica_counts_free(counts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(little_where_it_only_biases), cmocka_unit_test(no_harm_where_eigenvalues_are_noise),
      cmocka_unit_test(more_where_rows_are_few),
      cmocka_unit_test(same_from_rows_counts_and_correlations_on_any_threads), cmocka_unit_test(nothing_to_learn)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
