/* Steps of sampled mle that keep the mean of each source's means (mle_centre.c). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "estimate/mle/mle.h"
#include "num/rng.h"

enum { N = 5, K = 2, U = 3 };

/* The sums of the step's means are 0, and a change of the gradient along the constraints does not matter: so it is
 * Newton's step under the constraints. */
static void step_is_newtons_under_the_constraints(void **state) {
  (void)state;
  blica_simulate_options how = blica_simulate_options_default();
  const bl_settings o = bl_settings_of(NULL);
  blica_data *data;
  bl_mle m = {0};
  bl_centre *centre = NULL;
  how.variables = N, how.sources = K, how.segments = U, how.samples = 200, how.intercepts = 1;
  assert_int_equal(blica_simulate(ctx, &how, NULL, &data, NULL), BLICA_OK);
  assert_int_equal(bl_mle_make(ctx, data, NULL, K, &o, &m), BLICA_OK);
  assert_true(m.cuts > 0 && m.information);
  bl_mle_set_prior(&m, 3, 1);
  double *theta = calloc(m.size, sizeof(double)), *step = calloc(m.size, sizeof(double)),
         *other = calloc(m.size, sizeof(double)), *plain = calloc(m.size, sizeof(double)), largest = 0;
  bl_rng rng = bl_rng_make(3, 0);
  for (size_t i = 0; i < m.size; i++) theta[i] = 0.7 * bl_rng_normal(&rng);
  assert_int_equal(bl_mle_order(&m, theta), BLICA_OK);
  assert_int_equal(bl_information_make(ctx, m.information, &m, theta, true), BLICA_OK);
  assert_int_equal(bl_centre_make(ctx, &m, &centre), BLICA_OK);
  assert_true(bl_centre_set(centre));
  for (size_t i = 0; i < m.size; i++) step[i] = other[i] = plain[i] = bl_rng_normal(&rng);
  for (int s = 0; s < U; s++)
    for (size_t j = 0; j < K; j++) other[bl_mle_local(&m, s) + K + j] += 5 + (double)j;
  double *const steps[] = {step, other, plain};
  for (int i = 0; i < 3; i++) bl_information_solve(m.information, steps[i]);
  bl_centre_step(centre, step), bl_centre_step(centre, other);
  for (size_t i = 0; i < m.size; i++) largest = fmax(largest, fabs(step[i]));
  for (size_t j = 0; j < K; j++) {
    double sum = 0, before = 0;
    for (int s = 0; s < U; s++) {
      sum += step[bl_mle_local(&m, s) + K + j];
      before += plain[bl_mle_local(&m, s) + K + j];
    }
    assert_compare(fabs(sum), <, 1e-10 * largest);
    assert_compare(fabs(before), >, 1e-3 * largest);
  }
  for (size_t i = 0; i < m.size; i++) assert_compare(fabs(step[i] - other[i]), <, 1e-9 * largest);
  bl_free(centre);
  bl_mle_free(&m);
  free(theta), free(step), free(other), free(plain);
  blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(step_is_newtons_under_the_constraints)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
