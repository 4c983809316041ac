/* Angles between an estimate and draws around it: of columns turned by known angles, and of draws whose covariance is
 * that which was asked for. */
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
#include "inference/axes.h"

static void near(const char *what, int at, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("%s %d: %.12g, not %.12g", what, at, found, wanted);
}

enum { N = 3, K = 2, DRAWS = 12 };
static const double degree = 0.017453292519943295;

/* Columns of length 2 and 3, the first turned by d degrees and the second by 2 d, their order and signs changed. */
static void angles_of_turned_columns(void **state) {
  (void)state;
  double mixing[N * K] = {2, 0, 0, 0, 3, 0}, angle[K], bound[K], mcs, expected = 0, squares = 0;
  blica_model m = {.n = N, .k = K, .mixing = mixing};
  bl_axes *axes;
  assert_int_equal(bl_axes_make(ctx, N, K, DRAWS, &axes), BLICA_OK);
  for (int d = 0; d < DRAWS; d++) {
    const double turn = (d + 1) * degree, sign = d % 3 ? 1 : -1;
    const double first[N] = {5 * cos(turn), 0, 5 * sin(turn)}, second[N] = {0, cos(2 * turn), sin(2 * turn)};
    double draw[N * K];
    for (int i = 0; i < N; i++) draw[i + N * (d % 2)] = first[i], draw[i + N * (1 - d % 2)] = sign * second[i];
    assert_int_equal(bl_axes_take(ctx, &m, draw, d, axes), BLICA_OK);
    near("angle", d, axes->angle[K * d], d + 1, 1e-9);
    near("angle", d, axes->angle[1 + K * d], 2 * (d + 1), 1e-9);
    assert_int_equal(axes->match[K * d], d % 2);
    assert_compare(axes->sign[1 + K * d], ==, sign);
    for (int i = 0; i < N; i++) {
      near("matched", i, axes->mixing[i + N * K * d], first[i], 1e-15);
      near("matched", i, axes->mixing[i + N * (1 + K * d)], second[i], 1e-15);
    }
    near("MCS", d, axes->mcs[d], (cos(turn) + cos(2 * turn)) / 2, 1e-12);
    expected += axes->mcs[d] / DRAWS, squares += (d + 1.0) * (d + 1) / DRAWS;
  }
  assert_int_equal(bl_axes_summary(ctx, axes, false, angle, bound, &mcs), BLICA_OK);
  near("mean MCS", 0, mcs, expected, 1e-12);
  near("root mean square", 0, angle[0], sqrt(squares), 1e-9),
      near("root mean square", 1, angle[1], 2 * sqrt(squares), 1e-9);
  near("90 % quantile", 0, bound[0], 11, 1e-9), near("90 % quantile", 1, bound[1], 22, 1e-9); /* the 11th of 12 */
  assert_int_equal(bl_axes_summary(ctx, axes, true, angle, bound, &mcs), BLICA_OK);
  near("median", 0, angle[0], 7, 1e-9), near("median", 1, angle[1], 14, 1e-9); /* the 7th of 12 */
  near("median MCS", 0, mcs, (cos(6 * degree) + cos(12 * degree)) / 2, 1e-12);
  bl_free(axes);
}

/* Row i, column j of the projection of A's columns across themselves. */
static double across(const double *mixing, int i, int j) {
  const double *a = mixing + N * (j / N);
  const double square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
  return i / N == j / N ? (i == j) - a[i % N] * a[j % N] / square : 0;
}

/* Small draws around a model keep their order and sign: their mean and covariance are those asked for, less what
 * changes the lengths of columns, whatever stands beside the block of A in the covariance. */
static void draws_have_the_covariance(void **state) {
  (void)state;
  enum { M = N * K, P = M + 3, MANY = 20000 };
  double mixing[M] = {2, 0.5, 0, -0.3, 3, 1}, covariance[P * P], root[M * M] = {0}, mean[M] = {0}, found[M * M] = {0},
         wanted[M * M] = {0};
  blica_model m = {.n = N, .k = K, .mixing = mixing};
  bl_axes *axes, *again;
  for (int i = 0; i < P * P; i++) covariance[i] = 77;
  for (int j = 0; j < M; j++)
    for (int i = j; i < M; i++) root[i + M * j] = 0.02 * (i == j ? 1 + 0.2 * j : 0.5 * sin(i + 3 * j));
  for (int j = 0; j < M; j++)
    for (int i = 0; i < M; i++) {
      double sum = 0;
      for (int l = 0; l < M; l++) sum += root[i + M * l] * root[j + M * l];
      covariance[i + P * j] = sum;
    }
  for (int j = 0; j < M; j++)
    for (int i = 0; i < M; i++)
      for (int l = 0; l < M * M; l++)
        wanted[i + M * j] += across(mixing, i, l / M) * covariance[l / M + P * (l % M)] * across(mixing, l % M, j);
  assert_int_equal(bl_axes_normal(ctx, &m, covariance, P, 1, MANY, &axes), BLICA_OK);
  for (int d = 0; d < MANY; d++)
    for (int j = 0; j < M; j++) {
      const double *x = axes->mixing + M * d;
      mean[j] += (x[j] - mixing[j]) / MANY;
      for (int i = 0; i < M; i++) found[i + M * j] += (x[i] - mixing[i]) * (x[j] - mixing[j]) / MANY;
    }
  for (int j = 0; j < M; j++)
    for (int i = 0; i < M; i++) {
      const double v = wanted[i + M * i] * wanted[j + M * j], c = wanted[i + M * j];
      near("mean", j, mean[j], 0, 4.5 * sqrt(wanted[j + M * j] / MANY));
      near("covariance", i + M * j, found[i + M * j], c, 4.5 * sqrt((v + c * c) / MANY));
    }
  assert_int_equal(bl_axes_normal(ctx, &m, covariance, P, 1, 10, &again),
                   BLICA_OK); /* draw d has a stream of its own */
  assert_memory_equal(axes->mixing, again->mixing, 10 * M * sizeof(double));
  bl_free(axes), bl_free(again);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(angles_of_turned_columns),
                                     cmocka_unit_test(draws_have_the_covariance)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
