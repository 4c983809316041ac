/* Single tables: published values, the roots of 50-digit probabilities, hard and thin tables. */
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
#include "blica.h"
#include "num/normal/normal.h"
#include "num/rng.h"
#include "num/normal/tables.h"

static double correlation(double n11, double n10, double n01, double n00, int *flags) {
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  double rho, se, t[2], cell[4] = {n11, n10, n01, n00};
  assert_int_equal(blica_tetrachoric(ctx, cell, &rho, &se, t, flags), BLICA_OK);
  blica_ctx_free(ctx);
  return rho;
}

static double joint(double p1, double p2, double p11) {
  return correlation(1e6 * p11, 1e6 * (p1 - p11), 1e6 * (p2 - p11), 1e6 * (1 - p1 - p2 + p11), NULL);
}

static void test_kirk(void **state) { /* Kirk (1973): joints given to 6 digits */
  (void)state;
  assert_compare(fabs(joint(.5, .5, .333333) - .5), <, 3e-6);
  assert_compare(fabs(joint(.5, .5, .1150267) + .75), <, 3e-6);
  assert_compare(fabs(joint(.5, .5, .397584) - .8), <, 3e-6);
  assert_compare(fabs(joint(.158655254, .158655254, .145003) - .99), <, 1e-5);
}

/* Mplus' answers for sparse tables. It adds 1/2 to an empty cell whatever the margins, which turns a cell that
 * independence would leave almost as empty into a positive correlation; here the fill is e/(1+2e), so the sign never
 * turns. */
static void test_sparse(void **state) {
  (void)state;
  int flags;
  assert_true(fabs(correlation(20, 85, 1610, 61661, &flags) - .35) < 5e-3 && flags == 0);
  const double table[3][4] = {{0, 14, 193, 44268}, {0, 768, 105, 62503}, {0, 47, 265, 24875}};
  const double mplus[3] = {.24, -.10, 0};
  for (int i = 0; i < 3; i++) {
    const double *t = table[i];
    double ours = correlation(t[0], t[1], t[2], t[3], &flags);
    assert_int_equal(flags, BLICA_PAIR_ZERO_CELL);
    double half = correlation(t[0] + .5, t[1] - .5, t[2] - .5, t[3] + .5, &flags);
    printf("sparse table %d: rho %.4f; with 1/2 in the empty cell %.4f; Mplus %.2f\n", i, ours, half, mplus[i]);
    assert_compare(fabs(half - mplus[i]), <, 1.1e-2); /* the same root, the other rule */
    assert_compare(ours, <, 0);
    assert_compare(ours, >, -.2);
  }
}

static void test_thin(void **state) {
  (void)state;
  int flags;
  double opposed = correlation(0, 50, 50, 0, &flags);
  assert_true(opposed < -.99 && opposed > -1 && flags == BLICA_PAIR_ZERO_CELL);
  assert_true(correlation(50, 0, 0, 50, &flags) == -opposed);
  assert_compare(fabs(correlation(0, 1, 1, 98, &flags)), <, .05); /* an empty cell that says nothing */
  assert_true(correlation(10, 0, 0, 0, &flags) == 0 && flags == BLICA_PAIR_CONSTANT);
  assert_true(correlation(0, 0, 5, 5, &flags) == 0 && flags == BLICA_PAIR_CONSTANT);
  assert_true(correlation(0, 0, 0, 0, &flags) == 0 && flags == BLICA_PAIR_EMPTY);
  assert_true(correlation(25, 25, 25, 25, &flags) == 0 && flags == 0);
  double near = correlation(499999, 1, 1, 499999, &flags);
  assert_compare(near, >, .9999);
  assert_compare(near, <, 1);
  for (int i = 0; i < 4096; i++) { /* every small table: defined, inside (-1,1), sign of the determinant */
    double a = i & 7, b = i >> 3 & 7, c = i >> 6 & 7, d = i >> 9 & 7, rho = correlation(a, b, c, d, &flags);
    assert_compare(rho, >, -1);
    assert_compare(rho, <, 1);
    if (flags == 0 || flags == BLICA_PAIR_ZERO_CELL)
      assert_true(a * d == b * c ? fabs(rho) < 1e-15 : (rho > 0) == (a * d > b * c));
  }
}

static void test_bad(void **state) {
  (void)state;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  double rho, bad[2][4] = {{1, -1, 3, 4}, {1, NAN, 3, 4}};
  for (int i = 0; i < 2; i++)
    assert_int_equal(blica_tetrachoric(ctx, bad[i], &rho, NULL, NULL, NULL), BLICA_ERR_ARGUMENT);
  assert_non_null(blica_message(ctx));
  blica_ctx_free(ctx);
}

/* Feed Phi2(h,k;rho) from the 50-digit table back: rho must come out as well as double cells can tell. A table moved
 * by 2e-16 moves theta = asin(rho) by 2e-16 2 pi/f(theta). */
static void test_roots(void **state) {
  (void)state;
  FILE *file = fopen("tests/data/bvn_reference.csv", "r");
  assert_non_null(file);
  char line[512];
  assert_non_null(fgets(line, sizeof line, file));
  double worst = 0, at[3] = {0, 0, 0};
  int rows = 0, near = 0;
  while (fgets(line, sizeof line, file)) {
    char *end = line;
    double v[4];
    for (int i = 0; i < 4; i++) v[i] = strtod(end + (i > 0), &end);
    double h = v[0], k = v[1], rho = v[2], p1 = bl_phi_cdf(h), p2 = bl_phi_cdf(k);
    double share[4] = {v[3], p1 - v[3], p2 - v[3], (1 - p1) - (p2 - v[3])};
    if (!(fmin(fmin(share[0], share[1]), fmin(share[2], share[3])) > 1e-12) || fabs(rho) == 1) continue;
    double c = sqrt((1 - rho) * (1 + rho)), slope = bl_bvn_density(h, k, rho) * c; /* dp/dtheta */
    double found = bl_tetra_root(h, k, share);
    double noise = 4e-16 / slope; /* in theta */
    double bound = noise * (c + noise) + 2 * DBL_EPSILON * (1 + (fabs(h * k)));
    if (!(fabs(found - rho) / bound <= worst)) {
      worst = fabs(found - rho) / bound;
      at[0] = h, at[1] = k, at[2] = rho;
    }
    rows++;
    near += fabs(rho) > 1 - 1e-9;
  }
  fclose(file);
  printf("%d roots, worst %.3g of the bound at h=%.17g k=%.17g rho=%.17g\n", rows, worst, at[0], at[1], at[2]);
  assert_compare(rows, >, 800);
  assert_compare(near, >, 50);
  assert_compare(worst, <, 1);
}

/* 1 - 1e-12 and its like, cells in closed form at h = k = 0: p10 = asin(a)/(2 pi), a = sqrt(1-rho^2). */
static void test_nearly_one(void **state) {
  (void)state;
  for (int e = 2; e <= 15; e++) {
    double rest = pow(10, -e), rho = 1 - rest, a = sqrt((1 - rho) * (1 + rho)), p = asin(a) / 6.2831853071795864769;
    double up[4] = {.5 - p, p, p, .5 - p}, down[4] = {p, .5 - p, .5 - p, p};
    assert_compare(fabs(bl_tetra_root(0, 0, up) - rho), <, 2.3e-16);
    assert_compare(fabs(bl_tetra_root(0, 0, down) + rho), <, 2.3e-16);
  }
  double same[4] = {.3, 0, 0, .7}, within[4] = {.3, 0, .2, .5}, h = bl_phi_quantile(.3);
  assert_true(bl_tetra_root(h, h, same) == 1);
  double rho = bl_tetra_root(h, 0, within); /* any rho above this one explains the table to rounding */
  assert_compare(rho, <, 1);
  assert_compare(fabs(blica_bvn(h, 0, rho) - .3), <, 2e-16);
}

/* Eight at a time against one at a time, on tables of all kinds of margins and correlations. */
static void test_vector(void **state) {
  (void)state;
  enum { count = 4096 };
  static _Alignas(64) double array[8][count];
  bl_tetra_batch batch = {count, {array[0], array[1], array[2], array[3]}, array[4], array[5], array[6], array[7]};
  double worst = 0, worst_variance = 0;
  bl_rng rng = bl_rng_make(8, 8);
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < count; i++) {
      double h = 0.2 * round * bl_rng_normal(&rng), k = 0.2 * round * bl_rng_normal(&rng),
             rho = 2 * bl_rng_uniform(&rng) - 1;
      double p = blica_bvn(h, k, rho);
      double cell[4] = {p, blica_bvn(h, -k, -rho), blica_bvn(-h, k, -rho), blica_bvn(-h, -k, rho)};
      for (int c = 0; c < 4; c++) batch.share[c][i] = cell[c];
      batch.h[i] = h;
      batch.k[i] = k;
    }
    bl_tetra_solve(BLICA_SIMD_AVX2, &batch, count - 3);
    for (int i = 0; i < count - 3; i++) {
      double share[4] = {array[0][i], array[1][i], array[2][i], array[3][i]}, h = array[4][i], k = array[5][i];
      if (fmin(fmin(share[0], share[1]), fmin(share[2], share[3])) < 1e-9) continue;
      double rho = bl_tetra_root(h, k, share), c = sqrt((1 - rho) * (1 + rho)), density = bl_bvn_density(h, k, rho);
      worst = fmax(worst, fabs(batch.rho[i] - rho) * density / (c + 0.1));
      worst_variance = fmax(worst_variance, fabs(batch.variance[i] / bl_tetra_variance(h, k, batch.rho[i], share) - 1));
    }
  }
  printf("eight at a time: probability off by %.2g, variance by %.2g\n", worst, worst_variance);
  assert_compare(worst, <, 2e-15);
  assert_compare(worst_variance, <, 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kirk),  cmocka_unit_test(test_sparse),
                                     cmocka_unit_test(test_thin),  cmocka_unit_test(test_bad),
                                     cmocka_unit_test(test_roots), cmocka_unit_test(test_nearly_one),
                                     cmocka_unit_test(test_vector)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
