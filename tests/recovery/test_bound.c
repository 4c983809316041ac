/* The bound: what fits to many rows reach, and what follows from its definition. */
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
#include "bound.h"

enum { SETS = 24 };

static double error_of(blica_ctx *ctx, const blica_model *truth, const blica_data *data, const char *method) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *fit;
  double mcs, cosine[8];
  int matching[8];
  o.method = blica_method_find(method);
  o.prior = BLICA_PRIOR_NONE;
  o.sources = truth->k;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &fit), BLICA_OK);
  assert_int_equal(blica_compare(ctx, truth->n, truth->k, truth->mixing, fit->mixing, &mcs, matching, cosine),
                   BLICA_OK);
  blica_model_free(fit);
  return 1 - mcs;
}

/* Many data sets of one model: the mean error of the maximum of the full likelihood is the bound of all rows, that of
 * pairwise, which weighs the tables as if they were independent, is not below that of the pairs. */
static void test_reached(void **state) {
  (void)state;
  blica_ctx *ctx;
  blica_model *truth;
  blica_data *data;
  bl_bound bound;
  blica_simulate_options how = blica_simulate_options_default();
  double mle = 0, squares = 0, pairwise = 0;
  how.variables = 5, how.sources = 2, how.segments = 10, how.samples = 2000, how.seed = 2;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  assert_int_equal(blica_simulate(ctx, &how, &truth, NULL, NULL), BLICA_OK);
  assert_int_equal(bl_bound_at(ctx, truth, 1, &bound), BLICA_OK);
  for (int set = 0; set < SETS; set++) {
    assert_int_equal(blica_simulate_rows(ctx, truth, 100 + (uint64_t)set, &data), BLICA_OK);
    double error = error_of(ctx, truth, data, "mle");
    mle += error / SETS, squares += error * error / SETS;
    pairwise += error_of(ctx, truth, data, "pairwise") / SETS;
    blica_data_free(data);
  }
  double se = sqrt((squares - mle * mle) / (SETS - 1));
  printf("bound %.6f (pairs %.6f), mle %.6f (standard error %.6f), pairwise %.6f\n", bound.full, bound.pairs, mle, se,
         pairwise);
  assert_compare(fabs(mle - bound.full), <, 3 * se + 0.05 * bound.full);
  assert_compare(pairwise, >, bound.pairs - 3 * se);
  blica_model_free(truth);
  blica_ctx_free(ctx);
}

/* Rows hold at least what pair tables hold; ten times the rows, a tenth of the error; priors can only help. */
static void test_definition(void **state) {
  (void)state;
  for (int n = 5; n <= 11; n += 3) { /* exact, exact, simulated rows */
    blica_ctx *ctx;
    blica_model *truth;
    bl_bound bound, more;
    blica_simulate_options how = blica_simulate_options_default();
    how.variables = n, how.sources = 3, how.segments = 6, how.samples = 1000, how.seed = 5;
    assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
    assert_int_equal(blica_simulate(ctx, &how, &truth, NULL, NULL), BLICA_OK);
    assert_int_equal(bl_bound_at(ctx, truth, 1, &bound), BLICA_OK);
    for (int s = 0; s < truth->u; s++) truth->samples[s] *= 10;
    assert_int_equal(bl_bound_at(ctx, truth, 1, &more), BLICA_OK);
    printf("n=%d: rows %.5f, pairs %.5f; with priors %.5f, %.5f\n", n, bound.full, bound.pairs, bound.full_prior,
           bound.pairs_prior);
    assert_compare(bound.full, >, 0);
    assert_compare(bound.full, <, bound.pairs);
    assert_compare(bound.full_prior, <, bound.full);
    assert_compare(bound.pairs_prior, <, bound.pairs);
    assert_compare(fabs(10 * more.full - bound.full), <, 1e-3 * bound.full);
    blica_model_free(truth);
    blica_ctx_free(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reached), cmocka_unit_test(test_definition)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
