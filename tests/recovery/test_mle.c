/* Maximum full likelihood: exact gradient, a real optimum, recovery, the same bits on any number of threads. */
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
#include "estimate/mle/mle.h"
#include "mle_gradient.h"
#include "note.h"
#include "set_word.h"
#include "num/rng.h"

static void draw(blica_ctx *ctx, int n, int k, int samples, blica_model **model, blica_data **data) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = 8, o.samples = samples, o.seed = 3;
  assert_int_equal(blica_simulate(ctx, &o, model, data, NULL), BLICA_OK);
}

/* The objective's gradient against central differences, for each engine. */
static void check_gradient(int n, int k, blica_engine engine) {
  blica_ctx *ctx;
  blica_model *truth;
  blica_data *data;
  const blica_fit_options o = blica_fit_options_default();
  bl_mle m = {0};
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  draw(ctx, n, k, 60, &truth, &data);
  assert_int_equal(bl_mle_make(ctx, data, NULL, k, &o, &m), BLICA_OK);
  assert_int_equal(m.engine, engine);
  check_mle_gradient(&m);
  bl_mle_free(&m);
  blica_data_free(data);
  blica_model_free(truth);
  blica_ctx_free(ctx);
}

static void test_gradient(void **state) {
  (void)state;
  check_gradient(4, 2, BLICA_ENGINE_GRID);
  check_gradient(6, 3, BLICA_ENGINE_LATTICE);
  check_gradient(7, 2, BLICA_ENGINE_GRID);
  check_gradient(9, 3, BLICA_ENGINE_LATTICE);
}

/* What is recorded is the objective to 1e-6, not what the working quadrature gives: blica_loglik knows it to 1e-8. */
static void check_record(blica_ctx *ctx, const blica_model *fit, const blica_data *data) {
  blica_loglik_result *fine;
  blica_loglik_options o = blica_loglik_options_default();
  o.error = 1e-3;
  assert_int_equal(blica_loglik(ctx, fit, data, &o, &fine), BLICA_OK);
  assert_compare(fine->total_error, <=, 1e-3);
  printf("recorded log-likelihood off by %.2g, stated %.2g\n", note(fit, "loglik") - fine->total,
         note(fit, "loglik_error"));
  assert_compare(note(fit, "loglik_error"), <=, 1e-6 * fabs(fine->total));
  assert_compare(fabs(note(fit, "loglik") - fine->total), <=, note(fit, "loglik_error") + fine->total_error);
  if (isinf(fit->fit.prior_mixing))
    assert_compare(fabs(fit->fit.objective - note(fit, "loglik")), <=, 1e-12 * fabs(fine->total));
  blica_loglik_result_free(fine);
}

/* A converged fit has a likelihood above the truth's, by the other route of blica_loglik, and the right mixing matrix.
 */
static void check_fit(int n, int k, const char *prior, double worst_mcs) {
  blica_ctx *ctx;
  blica_model *truth, *fit, *again;
  blica_data *data;
  blica_loglik_result *at_truth, *at_fit;
  blica_fit_options o = blica_fit_options_default();
  double mcs, cosine[8];
  int matching[8];
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  draw(ctx, n, k, 3000, &truth, &data);
  o.method = BLICA_METHOD_MLE;
  set_word(blica_fit_option_table, &o, "prior", prior);
  o.sources = k;
  blica_set_threads(ctx, 1);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &fit), BLICA_OK);
  blica_set_threads(ctx, 3);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &again), BLICA_OK);
  assert_memory_equal(fit->mixing, again->mixing, sizeof(double) * (size_t)(n * k));
  assert_memory_equal(fit->means, again->means, sizeof(double) * (size_t)(8 * k));
  assert_memory_equal(&fit->fit.objective, &again->fit.objective, sizeof(double));
  check_record(ctx, fit, data);
  assert_int_equal(blica_compare(ctx, n, k, truth->mixing, fit->mixing, &mcs, matching, cosine), BLICA_OK);
  assert_int_equal(blica_loglik(ctx, truth, data, NULL, &at_truth), BLICA_OK);
  assert_int_equal(blica_loglik(ctx, fit, data, NULL, &at_fit), BLICA_OK);
  printf("n=%d k=%d prior %s: %s after %d iterations, relative gradient %.2g, MCS %.4f, log-likelihood %.2f above the "
         "truth\n",
         n, k, prior, blica_stop_name(fit->fit.stop), (int)fit->fit.iterations, fit->fit.starts[0].gradient, mcs,
         at_fit->total - at_truth->total);
  assert_int_equal(fit->fit.stop, BLICA_STOP_CONVERGED);
  assert_compare(mcs, >, worst_mcs);
  assert_compare(at_fit->total, >, at_truth->total - at_truth->total_error - at_fit->total_error);
  blica_loglik_result_free(at_truth);
  blica_loglik_result_free(at_fit);
  blica_model_free(again);
  blica_model_free(fit);
  blica_model_free(truth);
  blica_data_free(data);
  blica_ctx_free(ctx);
}

static void test_recovery(void **state) {
  (void)state;
  check_fit(6, 2, "none", 0.99);
  check_fit(6, 2, "fixed", 0.99);
  check_fit(5, 3, "fixed", 0.95);
  check_fit(5, 3, "auto", 0.95);
}

/* Twenty rows per segment: the BLICA solution, tried as a start, has elements of A in the thousands. It must be
 * shortened to something whose likelihood is worth computing (as it was, -573 686, after 13 s in the grid). */
static void test_unbounded_start(void **state) {
  (void)state;
  blica_ctx *ctx;
  blica_data *data;
  blica_model *fitted;
  blica_simulate_options how = blica_simulate_options_default();
  how.variables = 4, how.sources = 2, how.segments = 3, how.samples = 20;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  assert_int_equal(blica_simulate(ctx, &how, NULL, &data, NULL), BLICA_OK);
  blica_fit_options o = blica_fit_options_default();
  o.method = BLICA_METHOD_MLE;
  o.sources = 2, o.max_iterations = 6;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &fitted), BLICA_OK);
  assert_compare(note(fitted, "start_blica"), >, -1000);
  blica_model_free(fitted);
  blica_data_free(data);
  blica_ctx_free(ctx);
}

/* As many sources as variables and no prior: the supremum is at infinity. The fit ends and says so, with a likelihood
 * above that of the penalised fit, which is where it must be. */
static void test_no_maximum(void **state) {
  (void)state;
  blica_ctx *ctx;
  blica_data *data;
  blica_model *plain, *penalised;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  draw(ctx, 4, 4, 400, &plain, &data);
  blica_model_free(plain);
  blica_fit_options o = blica_fit_options_default();
  o.method = BLICA_METHOD_MLE;
  o.sources = 4;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &penalised), BLICA_OK);
  o.prior = BLICA_PRIOR_NONE;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &plain), BLICA_OK);
  blica_loglik_result *with, *without;
  assert_int_equal(blica_loglik(ctx, penalised, data, NULL, &with), BLICA_OK);
  assert_int_equal(blica_loglik(ctx, plain, data, NULL, &without), BLICA_OK);
  printf("prior none: %s after %d iterations, log-likelihood %.3f above the penalised fit (%s)\n",
         blica_stop_name(plain->fit.stop), (int)plain->fit.iterations, without->total - with->total,
         blica_stop_name(penalised->fit.stop));
  assert_int_equal(penalised->fit.stop, BLICA_STOP_CONVERGED);
  assert_int_equal(plain->fit.stop, BLICA_STOP_UNBOUNDED);
  assert_compare(without->total, >, with->total + with->total_error + without->total_error);
  blica_loglik_result_free(with);
  blica_loglik_result_free(without);
  blica_model_free(plain);
  blica_model_free(penalised);
  blica_data_free(data);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradient), cmocka_unit_test(test_recovery),
                                     cmocka_unit_test(test_unbounded_start), cmocka_unit_test(test_no_maximum)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
