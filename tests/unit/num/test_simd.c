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
#include "rivals/rivals.h"

static double ulps(double got, long double want) {
  double unit = nextafter(fabs((double)want), INFINITY) - fabs((double)want);
  return (double)(fabsl((long double)got - want) / (long double)unit);
}

static double draw(bl_rng *rng) { /* all sizes, both signs */
  double size = exp2(50 * bl_rng_uniform(rng) - 40.5);
  return bl_rng_uniform(rng) < 0.5 ? size : -size;
}

/* The functions of the rivals' kernel, whose errors are absolute where values are small. */
static void test_softplus(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(2, 0);
  double worst = 0, worst_slope = 0;
  for (int i = 0; i < 200000; i++) {
    double x = draw(&rng), value[BL_LANES] __attribute__((aligned(64))),
           at[BL_LANES] __attribute__((aligned(64))) = {0};
    if (fabs(x) > 700) continue;
    at[1] = x;
    bl_softplus_generic(2, at, value);
    long double y = x, e = expl(-fabsl(y)), want = (y > 0 ? y : 0) + log1pl(e);
    worst = fmax(worst, (double)(fabsl((long double)value[1] - want) / fmaxl(1, want)));
    worst_slope = fmax(worst_slope, ulps(at[1], (y < 0 ? e : 1) / (1 + e)));
  }
  if (!(worst < 4e-16 && worst_slope < 4)) fail_msg("softplus is off by %g, its slope by %g ulp", worst, worst_slope);
}

static void test_contrast(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(3, 0);
  double worst = 0;
  for (int i = 0; i < 200000; i++) {
    double x = draw(&rng), y[BL_LANES] __attribute__((aligned(64))) = {x},
           second[BL_LANES] __attribute__((aligned(64)));
    bl_contrast_slopes_generic(BLICA_CONTRAST_LOGCOSH, 1, y, second);
    worst = fmax(worst, (double)fabsl((long double)y[0] - tanhl((long double)x)));
    worst = fmax(worst, (double)fabsl((long double)second[0] - 1 + tanhl((long double)x) * tanhl((long double)x)));
  }
  if (!(worst < 8e-16)) fail_msg("tanh or its derivative is off by %g", worst);
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
  assert_true(bl_v_exp(bl_v_all(0))[0] == 1);
  assert_compare(bl_v_exp(bl_v_all(-1e9))[0], <, 1e-307);
  assert_compare(bl_v_exp(bl_v_exp_limit(bl_v_all(1e9)))[0], >, 1e307);
  print_message("largest relative error of the vector exponential: %.2f of 2^-52\n", worst / DBL_EPSILON);
  assert_compare(worst, <=, 2 * DBL_EPSILON);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_softplus), cmocka_unit_test(test_contrast),
                                     cmocka_unit_test(test_exp_log),  cmocka_unit_test(test_phi),
                                     cmocka_unit_test(test_inverse),  cmocka_unit_test(test_sine),
                                     cmocka_unit_test(test_exp_plain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
