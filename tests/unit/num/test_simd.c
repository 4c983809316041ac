/* Vector functions against long double, libm and the scalar normal distribution. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "num/normal/normal.h"
#include "num/rng.h"
#include "num/simd.h"

static double ulps(double got, long double want) {
  double unit = nextafter(fabs((double)want), INFINITY) - fabs((double)want);
  return (double)(fabsl((long double)got - want) / (long double)unit);
}

static double draw(bl_rng *rng) { /* all sizes, both signs */
  double size = exp2(50 * bl_rng_uniform(rng) - 40.5);
  return bl_rng_uniform(rng) < 0.5 ? size : -size;
}

static void test_exp_fused(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(1, 0);
  double worst = 0;
  for (int i = 0; i < 200000; i++) {
    double x = draw(&rng);
    if (fabs(x) > 708) continue;
    double got = bl_v_exp_fused(bl_v_all(x))[1];
    worst = fmax(worst, ulps(got, expl((long double)x)));
  }
  if (!(worst < 2)) fail_msg("exp is off by %g ulp", worst);
  assert_true(bl_v_exp_fused(bl_v_all(0))[0] == 1);
  assert_compare(bl_v_exp_fused(bl_v_all(-1e9))[0], <, 1e-307);
  assert_compare(bl_v_exp_fused(bl_v_exp_limit(bl_v_all(1e9)))[0], >, 1e307);
}

static void test_softplus(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(2, 0);
  double worst = 0, worst_slope = 0;
  for (int i = 0; i < 200000; i++) {
    double x = draw(&rng);
    if (fabs(x) > 700) continue;
    bl_v slope, at = bl_v_all(x), value = bl_v_softplus(at, bl_v_exp_fused(-bl_v_abs(at)), &slope);
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
    double x = draw(&rng), got = bl_v_tanh(bl_v_all(x))[0];
    worst = fmax(worst, (double)fabsl((long double)got - tanhl((long double)x)));
  }
  if (!(worst < 3e-16)) fail_msg("tanh is off by %g", worst);
}

static void test_exp_log(void **state) {
  (void)state;
  double worst_exp = 0, worst_log = 0;
  for (double x = -690; x < 300; x += 0.00731) {
    bl_v e = bl_v_exp(bl_v_all(x));
    worst_exp = fmax(worst_exp, fabs(e[3] / exp(x) - 1));
    if (fabs(x) > 1e-3) worst_log = fmax(worst_log, fabs(bl_v_log(bl_v_all(exp(x)))[5] / log(exp(x)) - 1));
  }
  printf("worst relative error: exp %.3g, log %.3g\n", worst_exp, worst_log);
  assert_compare(worst_exp, <, 1e-15);
  assert_compare(worst_log, <, 5e-16);
}

static void test_phi(void **state) {
  (void)state;
  double near = 0, far = 0, density = 0;
  for (double x = -36.9; x < 9; x += 0.000613) {
    bl_v below, above, phi;
    bl_v_phi(bl_v_all(x), &below, &above, &phi);
    double error = fabs(below[1] / bl_phi_cdf(x) - 1);
    if (x > -10) near = fmax(near, error);
    far = fmax(far, error);
    density = fmax(density, fabs(phi[2] / bl_phi_density(x) - 1));
    assert_true(below[0] + above[0] == 1.0 || x < -5 || x > 5);
    bl_v_phi(bl_v_all(-x), &above, &below, &phi);
    assert_compare(fabs(below[7] / bl_phi_cdf(x) - 1), <=, error + 1e-18);
  }
  printf("worst relative error of Phi: %.3g above -10, %.3g above -37; density %.3g\n", near, far, density);
  assert_compare(near, <, 1e-14);
  assert_compare(far, <, 1e-13);
  assert_compare(density, <, 1e-13);
}

static void test_inverse(void **state) {
  (void)state;
  double worst = 0, density = 0;
  for (double t = -640; t < -1e-4; t += 0.00377) {
    double p = exp(t), x = bl_phi_quantile(p);
    bl_v over, y = bl_v_phi_inverse(bl_v_all(p), &over);
    double error = fabs(y[6] - x);
    worst = fmax(worst, error);
    density = fmax(density, fabs(over[4] * bl_phi_density(x) - 1));
  }
  printf("worst error of Phi^-1 %.3g, relative of 1/density %.3g\n", worst, density);
  assert_compare(worst, <, 2e-14);
  assert_compare(density, <, 1e-12);
}

static void test_sine(void **state) {
  (void)state;
  double worst = 0;
  for (int i = -100000; i <= 100000; i += 8) {
    bl_v w;
    for (int lane = 0; lane < BL_LANES; lane++) w[lane] = 1.26e-5 * (i + lane > 100000 ? 100000 : i + lane);
    bl_v s = bl_v_sin(w);
    for (int lane = 0; lane < BL_LANES; lane++)
      worst = fmax(worst, w[lane] == 0 ? fabs(s[lane]) : fabs(s[lane] / sin(w[lane]) - 1));
  }
  printf("worst relative error %.2g\n", worst);
  assert_compare(worst, <, 4e-16);
}

static void test_exp_plain(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(1, 0);
  double worst = 0;
  for (int i = 0; i < 100000; i++) {
    bl_v x;
    for (int l = 0; l < BL_LANES; l++) x[l] = (i % 2 ? 1400 : 4) * (bl_rng_uniform(&rng) - 0.5);
    bl_v y = bl_v_exp(x);
    for (int l = 0; l < BL_LANES; l++) worst = fmax(worst, fabs(y[l] / exp(x[l]) - 1));
  }
  print_message("largest relative error of the vector exponential: %.2f of 2^-52\n", worst / DBL_EPSILON);
  assert_compare(worst, <=, 2 * DBL_EPSILON);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exp_fused), cmocka_unit_test(test_softplus),
                                     cmocka_unit_test(test_tanh),      cmocka_unit_test(test_exp_log),
                                     cmocka_unit_test(test_phi),       cmocka_unit_test(test_inverse),
                                     cmocka_unit_test(test_sine),      cmocka_unit_test(test_exp_plain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
