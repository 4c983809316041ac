/* Vector normal distribution function and inverse against the 50-digit tables and the scalar versions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "num/normal.h"
#include "num/vmath.h"

static void test_exp_log(void **state) {
  (void)state;
  double worst_exp = 0, worst_log = 0;
  for (double x = -690; x < 300; x += 0.00731) {
    bl_v e = bl_v_exp(bl_v_all(x));
    worst_exp = fmax(worst_exp, fabs(e[3] / exp(x) - 1));
    if (fabs(x) > 1e-3) worst_log = fmax(worst_log, fabs(bl_v_log(bl_v_all(exp(x)))[5] / log(exp(x)) - 1));
  }
  printf("worst relative error: exp %.3g, log %.3g\n", worst_exp, worst_log);
  assert_true(worst_exp < 1e-15);
  assert_true(worst_log < 5e-16);
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
    assert_true(fabs(below[7] / bl_phi_cdf(x) - 1) <= error + 1e-18);
  }
  printf("worst relative error of Phi: %.3g above -10, %.3g above -37; density %.3g\n", near, far, density);
  assert_true(near < 1e-14);
  assert_true(far < 1e-13);
  assert_true(density < 1e-13);
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
  assert_true(worst < 2e-14);
  assert_true(density < 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exp_log), cmocka_unit_test(test_phi),
                                     cmocka_unit_test(test_inverse)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
