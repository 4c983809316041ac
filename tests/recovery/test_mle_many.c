/* Maximum full likelihood of more than twelve variables: recovery, the same bits on any number of threads, an
 * interrupt, a time limit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "blica.h"
#include "note.h"

enum { N = 13, K = 3, U = 6, SAMPLES = 400 };

static blica_ctx *ctx;
static blica_model *truth;
static blica_data *data;

static int make(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = N, o.sources = K, o.segments = U, o.samples = SAMPLES, o.seed = 3;
  return blica_ctx_create(&ctx) || blica_simulate(ctx, &o, &truth, &data, NULL);
}

static int drop(void **state) {
  (void)state;
  blica_model_free(truth);
  blica_data_free(data);
  blica_ctx_free(ctx);
  return 0;
}

static blica_model *fit_by(const char *method, int threads, double seconds) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *fit;
  o.method = blica_method_find(method);
  o.sources = K, o.max_seconds = seconds;
  blica_set_threads(ctx, threads);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &fit), BLICA_OK);
  return fit;
}

static double error_of(const blica_model *fit) {
  double mcs, cosine[K];
  int matching[K];
  assert_int_equal(blica_compare(ctx, N, K, truth->mixing, fit->mixing, &mcs, matching, cosine), BLICA_OK);
  return 1 - mcs;
}

static void test_recovery(void **state) {
  (void)state;
  blica_model *one = fit_by("mle", 1, INFINITY), *three = fit_by("mle", 3, INFINITY),
              *matched = fit_by("matched", 1, INFINITY);
  blica_loglik_result *at_fit, *at_truth;
  assert_memory_equal(one->mixing, three->mixing, sizeof(double) * N * K);
  assert_memory_equal(one->variances, three->variances, sizeof(double) * K * U);
  assert_memory_equal(one->means, three->means, sizeof(double) * K * U);
  assert_int_equal(blica_loglik(ctx, one, data, NULL, &at_fit), BLICA_OK);
  assert_int_equal(blica_loglik(ctx, truth, data, NULL, &at_truth), BLICA_OK);
  printf("%s after %d steps; 1 - MCS %.5f, matched %.5f; log-likelihood %.1f, recorded %.1f +- %.1f, truth %.1f\n",
         blica_stop_name(one->fit.stop), (int)one->fit.iterations, error_of(one), error_of(matched), at_fit->total,
         note(one, "loglik"), note(one, "loglik_error"), at_truth->total);
  assert_int_equal(one->fit.stop, BLICA_STOP_CONVERGED);
  assert_compare(error_of(one), <, 1.2 * error_of(matched));
  assert_compare(at_fit->total, >, at_truth->total);
  assert_compare(fabs(note(one, "loglik") - at_fit->total), <, note(one, "loglik_error") + at_fit->total_error);
  blica_loglik_result_free(at_fit);
  blica_loglik_result_free(at_truth);
  blica_model_free(one);
  blica_model_free(three);
  blica_model_free(matched);
}

/* The time is over at once: what there is, is returned, and not called converged. */
static void test_time_limit(void **state) {
  (void)state;
  blica_model *fit = fit_by("mle", 1, 1e-9);
  assert_int_equal(fit->fit.stop, BLICA_STOP_TIME);
  for (int i = 0; i < N * K; i++) assert_true(isfinite(fit->mixing[i]));
  blica_model_free(fit);
}

/* As many sources as variables, few rows and no prior: there is no maximum. What there is, is returned. */
static void test_no_maximum(void **state) {
  (void)state;
  blica_simulate_options how = blica_simulate_options_default();
  blica_fit_options o = blica_fit_options_default();
  blica_data *few;
  blica_model *fit;
  how.variables = how.sources = 13, how.segments = 4, how.samples = 100;
  o.method = BLICA_METHOD_MLE;
  o.prior = BLICA_PRIOR_NONE;
  o.sources = 13, o.max_iterations = 300;
  assert_int_equal(blica_simulate(ctx, &how, NULL, &few, NULL), BLICA_OK);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = few}, &o, &fit), BLICA_OK);
  printf("without a prior: %s\n", blica_stop_name(fit->fit.stop));
  assert_int_not_equal(fit->fit.stop, BLICA_STOP_CONVERGED);
  for (int i = 0; i < 13 * 13; i++) assert_true(isfinite(fit->mixing[i]));
  blica_model_free(fit);
  blica_data_free(few);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_recovery), cmocka_unit_test(test_time_limit),
                                     cmocka_unit_test(test_no_maximum)};
  return cmocka_run_group_tests(tests, make, drop);
}
