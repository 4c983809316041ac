/* Method pairwise beyond the size where it tries all starts: the same optimum. */
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

/* The best of a joint-diagonalisation start and two random ones, one table at a time by the scalar distribution
 * function, at a relative gradient of 1e-9. */
static const double REFERENCE = -1300286.5454366298;

static void test_same_optimum(void **state) {
  (void)state;
  blica_ctx *ctx;
  blica_data *data;
  blica_model *model;
  blica_simulate_options how = blica_simulate_options_default();
  blica_fit_options o = blica_fit_options_default();
  how.variables = 26, how.sources = 8, how.segments = 12, how.samples = 500, how.seed = 4;
  o.method = BLICA_METHOD_PAIRWISE;
  o.prior = BLICA_PRIOR_FIXED;
  o.sources = 8, o.prior_mixing = 2, o.prior_variance = 1, o.tolerance = 1e-9;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  assert_int_equal(blica_simulate(ctx, &how, NULL, &data, NULL), BLICA_OK);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &model), BLICA_OK);
  printf("%s after %d iterations, objective off by %.2g of it\n", blica_stop_name(model->fit.stop),
         (int)model->fit.iterations, (model->fit.objective - REFERENCE) / REFERENCE);
  assert_int_equal(model->fit.stop, BLICA_STOP_CONVERGED);
  assert_string_equal(model->fit.starts[0].kind, "matched");
  assert_compare(fabs(model->fit.objective - REFERENCE), <, 1e-10 * fabs(REFERENCE));
  blica_model_free(model);
  blica_data_free(data);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_optimum)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
