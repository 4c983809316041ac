/* Polling inside evaluations: an unfinished evaluation says so, and what is returned is whole. */
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

static blica_ctx *ctx;
static blica_data *data;

static int set_up(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = 9, o.sources = 3, o.segments = 6, o.samples = 200, o.seed = 5;
  return blica_ctx_create(&ctx) != BLICA_OK || blica_simulate(ctx, &o, NULL, &data, NULL) != BLICA_OK;
}

static int tear_down(void **state) {
  (void)state;
  blica_data_free(data);
  blica_ctx_free(ctx);
  return 0;
}

/* Past its deadline a gradient, values and scores of the likelihood are unfinished; without being armed, or without a
 * poll, whole. */
static void likelihood_is_unfinished(void **state) {
  (void)state;
  const blica_fit_options o = blica_fit_options_default();
  bl_mle m = {0};
  bl_loop_poll poll = {.deadline = -1};
  assert_int_equal(bl_mle_make(ctx, data, NULL, 3, &o, &m), BLICA_OK);
  double *theta = malloc(sizeof(double) * m.size), *g = malloc(sizeof(double) * m.size),
         *log_p = malloc(sizeof(double) * (size_t)m.patterns->count);
  for (size_t i = 0; i < m.size; i++) theta[i] = 0.1 * (double)(i % 7) - 0.3;
  assert_int_equal(bl_mle_order(&m, theta), BLICA_OK);
  double whole = bl_mle_eval(&m, theta, g);
  assert_true(isfinite(whole));
  bl_loop_poll_set(ctx, &poll);
  assert_true(bl_mle_eval(&m, theta, g) == whole && !poll.stopped);
  poll.armed = true;
  assert_true(isnan(bl_mle_eval(&m, theta, g)) && poll.stopped);
  bl_params params = bl_mle_params(&m, theta);
  assert_int_equal(bl_likelihood_values(ctx, m.likelihood, &params, &m.accuracy, log_p), BLICA_ERR_INTERRUPTED);
  assert_int_equal(bl_information_make(ctx, m.information, &m, theta, true), BLICA_ERR_INTERRUPTED);
  poll.armed = false;
  assert_true(bl_mle_eval(&m, theta, g) == whole);
  bl_loop_poll_set(ctx, NULL);
  free(theta), free(g), free(log_p);
  bl_mle_free(&m);
}

/* A limit that is over at once: a model all the same, whose numbers belong together. */
static void no_time_at_all(void **state) {
  (void)state;
  static const char *const methods[] = {"blica", "matched", "pairwise", "mle", "ivae"};
  for (int i = 0; i < 5; i++) {
    blica_fit_options o = blica_fit_options_default();
    blica_model *m;
    o.method = blica_method_find(methods[i]);
    o.sources = 3, o.max_seconds = 0;
    assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &m), BLICA_OK);
    printf("%s: %s, objective %g\n", methods[i], blica_stop_name(m->fit.stop), m->fit.objective);
    assert_int_equal(m->fit.stop, BLICA_STOP_TIME);
    assert_true(isfinite(m->fit.objective));
    for (int j = 0; j < 27; j++) assert_true(isfinite(m->mixing[j]));
    blica_model_free(m);
  }
}

static int stop_at_once(const blica_progress *progress, void *user) {
  (void)progress;
  return ++*(int *)user > 0;
}

/* A user who says stop in an evaluation of the log-likelihood. */
static void loglik_is_interrupted(void **state) {
  (void)state;
  blica_fit_options o = blica_fit_options_default();
  blica_model *m;
  blica_loglik_result *result;
  int polls = 0;
  o.sources = 3;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &m), BLICA_OK);
  assert_int_equal(blica_loglik(ctx, m, data, NULL, &result), BLICA_OK);
  blica_loglik_result_free(result);
  blica_set_poll(ctx, stop_at_once, &polls);
  assert_int_equal(blica_loglik(ctx, m, data, NULL, &result), BLICA_ERR_INTERRUPTED);
  assert_null(result);
  assert_compare(polls, >, 0);
  blica_set_poll(ctx, NULL, NULL);
  blica_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(likelihood_is_unfinished), cmocka_unit_test(no_time_at_all),
                                     cmocka_unit_test(loglik_is_interrupted)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
