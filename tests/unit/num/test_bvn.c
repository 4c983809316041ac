/* Bivariate normal probabilities against 50-digit values, and the identities they keep. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "blica.h"
#include "num/normal/normal.h"
#include "num/rng.h"

static void test_table(void **state) {
  (void)state;
  FILE *file = fopen("tests/data/bvn_reference.csv", "r");
  assert_non_null(file);
  char line[512];
  assert_non_null(fgets(line, sizeof line, file));
  double worst = 0, at[3] = {0, 0, 0};
  int rows = 0;
  while (fgets(line, sizeof line, file)) {
    char *end = line;
    double v[4];
    for (int i = 0; i < 4; i++) v[i] = strtod(end + (i > 0), &end);
    double error = fabs(blica_bvn(v[0], v[1], v[2]) - v[3]);
    if (!(error <= worst)) {
      worst = error;
      for (int i = 0; i < 3; i++) at[i] = v[i];
    }
    rows++;
  }
  fclose(file);
  printf("%d values, worst absolute error %.3g at h=%.17g k=%.17g rho=%.17g\n", rows, worst, at[0], at[1], at[2]);
  assert_compare(rows, >, 3000);
  assert_compare(worst, <, 1e-15);
}

/* Identities at random points: symmetry, reflection, complement, density = derivative. */
static void test_identities(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(7, 1);
  for (int i = 0; i < 20000; i++) {
    double h = 3 * bl_rng_normal(&rng), k = 3 * bl_rng_normal(&rng), rho = 2 * bl_rng_uniform(&rng) - 1;
    if (i % 3 == 0) rho = rho > 0 ? 1 - pow(10, -12 * bl_rng_uniform(&rng)) : pow(10, -12 * bl_rng_uniform(&rng)) - 1;
    double p = blica_bvn(h, k, rho);
    assert_compare(fabs(p - blica_bvn(k, h, rho)), <, 3e-16);
    assert_compare(fabs(p + blica_bvn(h, -k, -rho) - bl_phi_cdf(h)), <, 1e-15);
    assert_compare(fabs(p - blica_bvn(-h, -k, rho) - (bl_phi_cdf(h) - bl_phi_cdf(-k))), <, 1e-15);
    assert_compare(p, >=, 0);
    assert_compare(p, <=, fmin(bl_phi_cdf(h), bl_phi_cdf(k)) + 1e-15);
    double step = 1e-5 * (1 - fabs(rho));
    double slope = (blica_bvn(h, k, rho + step) - blica_bvn(h, k, rho - step)) / (2 * step);
    assert_compare(fabs(slope - bl_bvn_density(h, k, rho)), <, 1e-15 / step + 1e-6 * slope + 1e-9);
  }
}

static void test_closed_forms(void **state) {
  (void)state;
  for (int i = -1000; i <= 1000; i++) { /* Sheppard: Phi2(0,0;rho) = 1/4 + asin(rho)/(2 pi) */
    double rho = i / 1000.0;
    assert_compare(fabs(blica_bvn(0, 0, rho) - (0.25 + asin(rho) / 6.2831853071795864769)), <, 2e-16);
  }
  assert_true(blica_bvn(1, 2, 1) == bl_phi_cdf(1) && blica_bvn(-1, 1, -1) == 0 && blica_bvn(-1, 0.5, -1) == 0);
  assert_true(isnan(blica_bvn(0, 0, 1.1)) && isnan(blica_bvn(NAN, 0, 0)) && isnan(blica_bvn(0, 0, NAN)));
  assert_true(blica_bvn(INFINITY, INFINITY, 0.3) == 1 && blica_bvn(-INFINITY, INFINITY, 0.3) == 0);
  assert_true(blica_bvn(1e200, 1e200, 0.3) == 1 && blica_bvn(-1e200, 3, 0.99) == 0 && blica_bvn(1e200, 0, 0.99) == 0.5);
  assert_true(blica_bvn(1e200, -1e200, 0.99) == 0 && blica_bvn(1e200, 1e200, -0.99) == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_identities),
                                     cmocka_unit_test(test_closed_forms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
