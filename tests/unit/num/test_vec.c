/* Vector elementary functions against long double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "num/rng.h"
#include "num/vec.h"

static double ulps(double got, long double want) {
  double unit = nextafter(fabs((double)want), INFINITY) - fabs((double)want);
  return (double)(fabsl((long double)got - want) / (long double)unit);
}

static double draw(bl_rng *rng) { /* all sizes, both signs */
  double size = exp2(50 * bl_rng_uniform(rng) - 40.5);
  return bl_rng_uniform(rng) < 0.5 ? size : -size;
}

static void test_exp(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(1, 0);
  double worst = 0;
  for (int i = 0; i < 200000; i++) {
    double x = draw(&rng);
    if (fabs(x) > 708) continue;
    double got = vec_exp(vec_all(x))[1];
    worst = fmax(worst, ulps(got, expl((long double)x)));
  }
  if (!(worst < 2)) fail_msg("exp is off by %g ulp", worst);
  assert_true(vec_exp(vec_all(0))[0] == 1);
  assert_true(vec_exp(vec_all(-1e9))[0] < 1e-307 && vec_exp(vec_all(1e9))[0] > 1e307);
}

static void test_softplus(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(2, 0);
  double worst = 0, worst_slope = 0;
  for (int i = 0; i < 200000; i++) {
    double x = draw(&rng);
    if (fabs(x) > 700) continue;
    vec slope, at = vec_all(x), value = vec_softplus(at, vec_exp_small(-vec_abs(at)), &slope);
    long double y = x, e = expl(-fabsl(y));
    worst = fmax(worst, ulps(value[1], (y > 0 ? y : 0) + log1pl(e)));
    worst_slope = fmax(worst_slope, ulps(slope[1], (y < 0 ? e : 1) / (1 + e)));
  }
  if (!(worst < 4 && worst_slope < 4)) fail_msg("softplus is off by %g ulp, its slope by %g", worst, worst_slope);
}

static void test_tanh(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(3, 0);
  double worst = 0;
  for (int i = 0; i < 200000; i++) {
    double x = draw(&rng), got = vec_tanh(vec_all(x))[0];
    worst = fmax(worst, (double)fabsl((long double)got - tanhl((long double)x)));
  }
  if (!(worst < 3e-16)) fail_msg("tanh is off by %g", worst);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exp), cmocka_unit_test(test_softplus),
                                     cmocka_unit_test(test_tanh)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
