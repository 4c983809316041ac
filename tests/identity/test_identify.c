/* The rank of a model from the ends of the information's spectrum and from all of it: the same answer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "inference/identify.h"

static blica_model *simulated(blica_ctx *ctx, int n, int k, int u, uint64_t seed) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *model;
  o.variables = n, o.sources = k, o.segments = u, o.seed = seed, o.samples = 1;
  assert_int_equal(blica_simulate(ctx, &o, &model, NULL, NULL), BLICA_OK);
  return model;
}

static void both_ways(blica_ctx *ctx, const blica_model *model, bool local) {
  blica_identification *ends, *whole;
  assert_int_equal(bl_identify(ctx, model, 0, &ends), BLICA_OK);
  assert_int_equal(bl_identify(ctx, model, SIZE_MAX, &whole), BLICA_OK);
  print_message("n %d, k %d, u %d: rank %lld of %lld, smallest %.6g and %.6g\n", model->n, model->k, model->u,
                (long long)whole->rank, (long long)whole->parameters, ends->smallest, whole->smallest);
  assert_int_equal(ends->rank, whole->rank);
  assert_int_equal(whole->local, local);
  assert_int_equal(ends->local, local);
  assert_int_equal(ends->identified, whole->identified);
  assert_true(fabs(ends->smallest - whole->smallest) <= 1e-4 * whole->smallest);
  for (int j = 0; j < model->k; j++) assert_true(ends->looseness[j] == whole->looseness[j]);
  blica_identification_free(ends);
  blica_identification_free(whole);
}

static void test_random_models(void **state) {
  (void)state;
  const int sizes[][3] = {{6, 6, 4}, {6, 6, 2}, {10, 3, 5}, {5, 5, 5}, {12, 8, 10}, {30, 20, 12}};
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int t = 0; t < 6; t++)
    for (uint64_t seed = 1; seed <= 3; seed++) {
      blica_model *model = simulated(ctx, sizes[t][0], sizes[t][1], sizes[t][2], seed);
      both_ways(ctx, model, sizes[t][2] > 2);
      blica_model_free(model);
    }
  blica_ctx_free(ctx);
}

/* Two sources whose variances keep one ratio can be turned into each other. */
static void test_proportional_variances(void **state) {
  (void)state;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_model *model = simulated(ctx, 30, 15, 10, 4);
  for (int s = 0; s < model->u; s++) model->variances[3 + s * model->k] = 2 * model->variances[s * model->k];
  both_ways(ctx, model, false);
  blica_model_free(model);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_models),
                                     cmocka_unit_test(test_proportional_variances)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
