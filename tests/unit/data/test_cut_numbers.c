/* Cuts of numbers: at the quantiles of the best quantizer of a normal variable, of ties, few values, many rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "blica.h"

static blica_ctx *ctx;
static double cut[BLICA_NUMBER_LEVELS];
static int cuts;

static int setup(void **state) {
  (void)state;
  return blica_ctx_create(&ctx) != BLICA_OK;
}

static int teardown(void **state) {
  (void)state;
  blica_ctx_free(ctx);
  return 0;
}

static double normal(double x) {
  return .5 * erfc(-x / sqrt(2));
}

static double density(double x) {
  return isinf(x) ? 0 : exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
}

/* Of 999 quantiles of a normal variable, in no order: each cut is half way between the means of its neighbours, which
 * is what makes a quantizer the best, and the levels keep .99 of the variance. */
static void quantiles_of_a_normal_variable(void **state) {
  (void)state;
  enum { ROWS = 99999 };
  double *x = malloc(ROWS * sizeof *x), kept = 0;
  for (int r = 0; r < ROWS; r++) {
    double z = 0;
    const double p = (((int64_t)r * 7919) % ROWS + .5) / ROWS;
    for (int k = 0; k < 60; k++) z -= (normal(z) - p) / fmax(density(z), 1e-3); /* Newton */
    x[r] = 100 + 15 * z;
  }
  assert_int_equal(blica_cut_numbers(ctx, ROWS, x, cut, &cuts), BLICA_OK);
  assert_int_equal(cuts, 15);
  double mean[16];
  for (int l = 0; l < 16; l++) {
    const double low = l ? (cut[l - 1] - 100) / 15 : -INFINITY, high = l < 15 ? (cut[l] - 100) / 15 : INFINITY;
    const double p = normal(high) - normal(low);
    mean[l] = (density(low) - density(high)) / p;
    kept += p * mean[l] * mean[l];
  }
  for (int l = 0; l < 15; l++) assert_compare(fabs((cut[l] - 100) / 15 - (mean[l] + mean[l + 1]) / 2), <=, 2e-3);
  assert_compare(fabs(kept - .990499), <=, 1e-5);
  free(x);
}

static void few_values_are_all_levels(void **state) {
  (void)state;
  const double x[] = {3, NAN, 1, 1, 7.5, 3, 1}, one[] = {2, NAN, 2};
  assert_int_equal(blica_cut_numbers(ctx, 7, x, cut, &cuts), BLICA_OK);
  assert_int_equal(cuts, 2);
  assert_true(cut[0] == 3 && cut[1] == 7.5);
  assert_int_equal(blica_cut_numbers(ctx, 3, one, cut, &cuts), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "it has 1 different numbers"));
  assert_int_equal(blica_cut_numbers(ctx, 1, one + 1, cut, &cuts), BLICA_ERR_DATA);
  assert_int_equal(blica_cut_numbers(ctx, 0, one, cut, &cuts), BLICA_ERR_DATA);
}

/* Most rows have the lowest number, as costs have zeros; infinities are no cuts. */
static void ties_and_infinities(void **state) {
  (void)state;
  enum { ROWS = 10000 };
  double *x = calloc(ROWS, sizeof *x);
  for (int r = 0; r < 30; r++) x[100 + r] = r + 1;
  assert_int_equal(blica_cut_numbers(ctx, ROWS, x, cut, &cuts), BLICA_OK);
  assert_int_equal(cuts, 1);
  assert_true(cut[0] == 1);
  for (int r = 0; r < ROWS; r++) x[r] = r % 3 == 0 ? -INFINITY : r % 3 == 1 ? INFINITY : r;
  assert_int_equal(blica_cut_numbers(ctx, ROWS, x, cut, &cuts), BLICA_OK);
  for (int l = 0; l < cuts; l++) assert_true(isfinite(cut[l]) && (l == 0 || cut[l] > cut[l - 1]));
  for (int r = 0; r < ROWS; r++) x[r] = r % 2 ? INFINITY : -INFINITY;
  assert_int_equal(blica_cut_numbers(ctx, ROWS, x, cut, &cuts), BLICA_ERR_DATA);
  free(x);
}

/* Rows 1, 3, 5, ... do not count once there are more than the sample takes. */
static void many_rows_are_thinned(void **state) {
  (void)state;
  const int64_t rows = (int64_t)BLICA_NUMBER_SAMPLE + 1;
  double *x = malloc((size_t)rows * sizeof *x);
  for (int64_t r = 0; r < rows; r++) x[r] = r % 2 ? 1e9 : (double)(r % 1000);
  assert_int_equal(blica_cut_numbers(ctx, rows, x, cut, &cuts), BLICA_OK);
  assert_true(cuts == 15 && cut[14] < 1000);
  assert_compare(fabs(cut[7] - 500), <=, 2);
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_of_a_normal_variable),
      cmocka_unit_test(few_values_are_all_levels),
      cmocka_unit_test(ties_and_infinities),
      cmocka_unit_test(many_rows_are_thinned),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
