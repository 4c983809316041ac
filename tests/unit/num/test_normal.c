/* The normal distribution against 50-digit tables. */
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

typedef struct {
  const char *name;
  double bound; /* relative, in units of 2^-53 */
  double worst, where;
} track;

static void look(track *t, double got, double want, double x) {
  double error = got == want ? 0.0 : fabs(got - want) / fmax(fabs(want), DBL_MIN) * 0x1p53;
  if (!(error <= t->worst)) {
    t->worst = error;
    t->where = x;
  }
}

static int verdict(const track *t) {
  printf("%-14s worst %.2f ulp at %.17g (bound %.0f)\n", t->name, t->worst, t->where, t->bound);
  return t->worst <= t->bound;
}

static void test_table(void **state) {
  (void)state;
  FILE *file = fopen("tests/data/normal_reference.csv", "r");
  assert_non_null(file);
  char line[512];
  assert_non_null(fgets(line, sizeof line, file));
  track t[4] = {{"density", 4, 0, 0}, {"cdf", 5, 0, 0}, {"log cdf", 6, 0, 0}, {"inverse mills", 8, 0, 0}};
  int rows = 0;
  while (fgets(line, sizeof line, file)) {
    char *end = line;
    double v[5];
    for (int i = 0; i < 5; i++) v[i] = strtod(end + (i > 0), &end);
    if (v[1] > DBL_MIN) look(&t[0], bl_phi_density(v[0]), v[1], v[0]);
    if (v[2] > DBL_MIN) look(&t[1], bl_phi_cdf(v[0]), v[2], v[0]);
    if (v[3] < -DBL_MIN) look(&t[2], bl_phi_log_cdf(v[0]), v[3], v[0]);
    if (v[4] > DBL_MIN && v[0] <= 0) look(&t[3], 1 / bl_phi_mills(-v[0]), v[4], v[0]);
    rows++;
  }
  fclose(file);
  assert_compare(rows, >, 900);
  int good = 1;
  for (int i = 0; i < 4; i++) good &= verdict(&t[i]);
  assert_true(good);
}

static void test_quantile(void **state) {
  (void)state;
  FILE *file = fopen("tests/data/quantile_reference.csv", "r");
  assert_non_null(file);
  char line[512];
  assert_non_null(fgets(line, sizeof line, file));
  track t = {"quantile", 5, 0, 0};
  int rows = 0;
  while (fgets(line, sizeof line, file)) {
    char *end;
    double p = strtod(line, &end), x = strtod(end + 1, NULL);
    look(&t, bl_phi_quantile(p), x, p);
    rows++;
  }
  fclose(file);
  assert_compare(rows, >, 900);
  assert_true(verdict(&t));
}

static void test_edges(void **state) {
  (void)state;
  assert_true(bl_phi_cdf(-INFINITY) == 0.0 && bl_phi_cdf(INFINITY) == 1.0 && isnan(bl_phi_cdf(NAN)));
  assert_true(bl_phi_quantile(0) == -INFINITY && bl_phi_quantile(1) == INFINITY && bl_phi_quantile(0.5) == 0);
  assert_true(isnan(bl_phi_quantile(-1e-9)) && isnan(bl_phi_quantile(1.1)) && isnan(bl_phi_quantile(NAN)));
  assert_true(bl_phi_log_cdf(INFINITY) == 0.0 && bl_phi_density(INFINITY) == 0.0 && bl_phi_density(1e200) == 0.0);
  assert_true(bl_phi_quantile(5e-324) < -38.0 && isfinite(bl_phi_quantile(5e-324)));
  for (double t = 11.5; t < 12.5; t += 1e-3) /* no jump where the method changes */
    assert_compare(bl_phi_mills(t), >, bl_phi_mills(t + 1e-3));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_quantile),
                                     cmocka_unit_test(test_edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
