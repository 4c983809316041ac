/* Polychoric correlations of single tables: published values, 2x2 tables, empty levels, sampling variance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/normal/tables.h"
#include "num/rng.h"

/* The table of Olsson (1979): rho to 30 digits by mpmath; psych 2.2.9 (correct = FALSE) has .4913712, its thresholds
 * are given to five digits. */
static void test_olsson(void **state) {
  (void)state;
  const double cell[9] = {13, 6, 0, 69, 113, 22, 41, 132, 104};
  double rho, se, t[4];
  int flags;
  assert_int_equal(blica_polychoric(ctx, 3, 3, cell, &rho, &se, t, &flags), BLICA_OK);
  printf("Olsson: %.7f (%.5f), %.5f %.5f %.5f %.5f\n", rho, se, t[0], t[1], t[2], t[3]);
  assert_compare(fabs(rho - 0.491371949113901), <, 1e-12);
  assert_compare(fabs(rho - 0.4913712), <, 1e-6);
  assert_compare(fabs(t[0] + 1.77438), <, 5e-6);
  assert_compare(fabs(t[1] + 0.13577), <, 5e-6);
  assert_compare(fabs(t[2] + 0.68713), <, 5e-6);
  assert_compare(fabs(t[3] - 0.66821), <, 5e-6);
  assert_true(flags == 0 && se > 0.03 && se < 0.06);
}

/* With two by two levels it is the tetrachoric correlation, however many empty levels there are beside them. */
static void test_two_levels(void **state) {
  (void)state;
  const double four[4] = {40, 12, 9, 31}; /* n11 n10 n01 n00 */
  const double wide[12] = {31, 0, 9, 0, 0, 0, 0, 0, 12, 0, 40, 0};
  double rho, se, other, other_se, t[6];
  int flags;
  assert_int_equal(blica_tetrachoric(ctx, four, &rho, &se, t, &flags), BLICA_OK);
  assert_int_equal(blica_polychoric(ctx, 3, 4, wide, &other, &other_se, t, &flags), BLICA_OK);
  assert_compare(fabs(rho - other), <, 1e-14);
  assert_compare(fabs(se - other_se), <, 1e-14);
}

/* The general formula of the variance against the one for 2x2 tables, through a table of 3x2 whose third row is rare.
 */
static void test_variance_is_continuous(void **state) {
  (void)state;
  const double four[4] = {400, 120, 90, 310};
  double rho, se, other, other_se, cell[6] = {310, 90, 120, 400, 1e-7, 1e-7};
  assert_int_equal(blica_tetrachoric(ctx, four, &rho, &se, NULL, NULL), BLICA_OK);
  assert_int_equal(blica_polychoric(ctx, 3, 2, cell, &other, &other_se, NULL, NULL), BLICA_OK);
  assert_compare(fabs(rho - other), <, 1e-6);
  assert_compare(fabs(se / other_se - 1), <, 1e-4);
}

/* The standard error against the scatter of estimates from 1000 samples of 400 rows. */
static void test_sampling_variance(void **state) {
  (void)state;
  const double true_rho = 0.6, h[2] = {-0.8, 0.5}, k[3] = {-1, 0, 1.2};
  bl_rng rng = bl_rng_make(5, 1);
  double sum = 0, squares = 0, error = 0;
  enum { SAMPLES = 1000, ROWS = 400 };
  for (int sample = 0; sample < SAMPLES; sample++) {
    double cell[12] = {0}, rho, se;
    for (int r = 0; r < ROWS; r++) {
      double x = bl_rng_normal(&rng), y = true_rho * x + sqrt(1 - true_rho * true_rho) * bl_rng_normal(&rng);
      int a = (x > h[0]) + (x > h[1]), b = (y > k[0]) + (y > k[1]) + (y > k[2]);
      cell[a * 4 + b]++;
    }
    assert_int_equal(blica_polychoric(ctx, 3, 4, cell, &rho, &se, NULL, NULL), BLICA_OK);
    sum += rho, squares += rho * rho, error += se * se;
  }
  double mean = sum / SAMPLES, sd = sqrt(squares / SAMPLES - mean * mean), stated = sqrt(error / SAMPLES);
  printf("mean %.4f, scatter %.5f, stated %.5f\n", mean, sd, stated);
  assert_compare(fabs(mean - true_rho), <, 0.01);
  assert_compare(fabs(stated / sd - 1), <, 0.08); /* the scatter itself is known to 2 % */
}

/* Thresholds of the margins of eight tables, as a caller gives them. */
static void find_cuts(int rows, int columns, const double *share, double *cuts) {
  for (int t = 0; t < BL_LANES; t++)
    for (int cut = 0; cut < rows + columns - 2; cut++) {
      double below = 0;
      for (int c = 0; c < rows * columns; c++)
        if (cut < rows - 1 ? c / columns <= cut : c % columns <= cut - rows + 1) below += share[c * BL_LANES + t];
      cuts[cut * BL_LANES + t] = bl_polychoric_cut(below);
    }
}

/* A correlation of eight tables does not depend on the instruction set, to the bit, nor on the tables beside it or on
 * who computed the thresholds, to rounding; one lane has its root beyond the series, one has empty levels. */
static void test_eight(void **state) {
  (void)state;
  enum { R = 3, C = 4, CELLS = R * C };
  static double work[BL_POLYCHORIC_WORK(R, C)];
  double share[CELLS * BL_LANES], cell[BL_LANES][CELLS], rho[2][BL_LANES], variance[2][BL_LANES];
  bl_rng rng = bl_rng_make(6, 1);
  for (int t = 0; t < BL_LANES; t++) {
    for (int c = 0; c < CELLS; c++) cell[t][c] = 1 + floor(20 * bl_rng_uniform(&rng));
    if (t == 3) memcpy(cell[t], (const double[CELLS]){90, 3, 0, 0, 1, 80, 2, 0, 0, 0, 1, 95}, sizeof cell[t]);
    if (t == 5)
      for (int c = 0; c < CELLS; c++) cell[t][c] *= c / C != 2 && c % C != 1;
    double total = 0;
    for (int c = 0; c < CELLS; c++) total += cell[t][c];
    for (int c = 0; c < CELLS; c++) share[c * BL_LANES + t] = cell[t][c] / total;
  }
  bl_polychoric(BLICA_SIMD_SCALAR, R, C, BL_LANES, share, NULL, work, rho[0], variance[0]);
  for (int level = BLICA_SIMD_AVX2; level <= (int)blica_simd_level(ctx); level++) {
    bl_polychoric((blica_simd)level, R, C, BL_LANES, share, NULL, work, rho[1], variance[1]);
    assert_memory_equal(rho[1], rho[0], sizeof rho[0]);
    assert_memory_equal(variance[1], variance[0], sizeof variance[0]);
  }
  double cuts[(R + C - 2) * BL_LANES];
  find_cuts(R, C, share, cuts);
  bl_polychoric(BLICA_SIMD_SCALAR, R, C, BL_LANES, share, cuts, work, rho[1], variance[1]);
  for (int t = 0; t < BL_LANES; t++) {
    double one, se, total = 0;
    assert_compare(fabs(rho[1][t] - rho[0][t]), <, 1e-13);
    assert_compare(fabs(variance[1][t] / variance[0][t] - 1), <, 1e-10);
    for (int c = 0; c < CELLS; c++) total += cell[t][c];
    assert_int_equal(blica_polychoric(ctx, R, C, cell[t], &one, &se, NULL, NULL), BLICA_OK);
    assert_compare(fabs(one - rho[0][t]), <, 1e-13);
    assert_compare(fabs(se * se * total / variance[0][t] - 1), <, 1e-7);
  }
  assert_compare(rho[0][3], >, 0.9249);
}

/* One row in a cell that a correlation of 0.997 makes all but impossible: the score is rounding there and must not be
 * mistaken for a root. The value is by bisection with 25 digits (mpmath). */
static void test_improbable_cell(void **state) {
  (void)state;
  const double cell[16] = {55, 4, 0, 0, 17, 153, 21, 1, 0, 18, 87, 16, 0, 0, 10, 118};
  double rho, se;
  assert_int_equal(blica_polychoric(ctx, 4, 4, cell, &rho, &se, NULL, NULL), BLICA_OK);
  assert_compare(fabs(rho - 0.971394798336643), <, 1e-12);
}

static void test_refusals(void **state) {
  (void)state;
  const double cell[4] = {1, 2, -1, 3};
  double rho, se;
  int flags;
  assert_int_equal(blica_polychoric(ctx, 2, 2, cell, &rho, &se, NULL, &flags), BLICA_ERR_ARGUMENT);
  assert_int_equal(blica_polychoric(ctx, 1, 4, cell, &rho, &se, NULL, &flags), BLICA_ERR_ARGUMENT);
  const double one[6] = {3, 4, 5, 0, 0, 0}, none[4] = {0};
  assert_int_equal(blica_polychoric(ctx, 2, 3, one, &rho, &se, NULL, &flags), BLICA_OK);
  assert_true(flags == BLICA_PAIR_CONSTANT && rho == 0 && isnan(se));
  assert_int_equal(blica_polychoric(ctx, 2, 2, none, &rho, &se, NULL, &flags), BLICA_OK);
  assert_int_equal(flags, BLICA_PAIR_EMPTY);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_olsson),
                                     cmocka_unit_test(test_two_levels),
                                     cmocka_unit_test(test_variance_is_continuous),
                                     cmocka_unit_test(test_sampling_variance),
                                     cmocka_unit_test(test_eight),
                                     cmocka_unit_test(test_improbable_cell),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
