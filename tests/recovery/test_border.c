/* Few rows, as many sources as variables, hardly regularised: the likelihood rises towards a border without end, and
 * the fit says so. With a prior, or with fewer sources, there is a maximum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "blica.h"
#include "set_word.h"

static blica_stop fit(int k, const char *method, const char *prior, double condition) {
  blica_ctx *ctx;
  blica_data *data;
  blica_model *model;
  blica_simulate_options s = blica_simulate_options_default();
  blica_fit_options o = blica_fit_options_default();
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  s.variables = 6, s.sources = k, s.segments = 20, s.samples = 50, s.seed = 1;
  o.method = blica_method_find(method), set_word(blica_fit_option_table, &o, "prior", prior);
  o.sources = k, o.condition = condition, o.starts = 1;
  assert_int_equal(blica_simulate(ctx, &s, NULL, &data, NULL), BLICA_OK);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &model), BLICA_OK);
  blica_stop stop = model->fit.stop;
  printf("k = %d, %s, prior %s, condition %g: %s\n", k, method, prior, condition, blica_stop_name(stop));
  blica_model_free(model);
  blica_data_free(data);
  blica_ctx_free(ctx);
  return stop;
}

static void test_border(void **state) {
  (void)state;
  assert_int_equal(fit(6, "blica", "none", 100), BLICA_STOP_UNBOUNDED);
  assert_int_equal(fit(6, "blica", "auto", 100), BLICA_STOP_CONVERGED);
  assert_int_equal(fit(2, "blica", "none", 10), BLICA_STOP_CONVERGED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_border)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
