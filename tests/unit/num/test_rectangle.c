/* Probabilities of rectangles: closed forms, and derivatives beside differences of values that are computed by another
 * rule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/normal/normal.h"
#include "num/rng.h"

enum { MOST = 12 };

static double value_of(const blica_rectangle *r, double *error) {
  double value;
  assert_int_equal(blica_mvn(ctx, r, &value, error, NULL), BLICA_OK);
  return value;
}

/* Equal correlations of 1/2: orthants have probability 1/(n+1). Independent ones: products. */
static void test_closed_forms(void **state) {
  double cov[MOST * MOST], lower[MOST], upper[MOST], error;
  (void)state;
  for (int n = 1; n <= MOST; n++) {
    for (int i = 0; i < n * n; i++) cov[i] = i % (n + 1) ? 2 : 4;
    for (int i = 0; i < n; i++) lower[i] = 0, upper[i] = INFINITY;
    blica_rectangle r = {.n = n, .lower = lower, .upper = upper, .cov = cov, .error = 1e-5, .seed = (uint64_t)n};
    double value = value_of(&r, &error);
    assert_compare(fabs(value - 1.0 / (n + 1)), <=, error);
    assert_compare(error, <, 1e-4);
    double product = 1;
    for (int i = 0; i < n * n; i++) cov[i] = i % (n + 1) ? 0 : 1 + i;
    for (int i = 0; i < n; i++) {
      lower[i] = i % 3 ? -1.0 - i : -INFINITY, upper[i] = i % 3 == 2 ? INFINITY : 0.5 + i;
      const double sd = sqrt(cov[i * (n + 1)]);
      product *= bl_phi_cdf(upper[i] / sd) - bl_phi_cdf(lower[i] / sd);
    }
    value = value_of(&r, &error);
    assert_compare(fabs(value - product), <=, error);
    assert_compare(error, <, 1e-9); /* no variable tells of another */
  }
  blica_rectangle open = {.n = 3, .cov = (const double[]){1, 0, 0, 0, 1, 0, 0, 0, 1}};
  assert_true(value_of(&open, &error) == 1 && error == 0);
}

/* A random model of two factors. */
static blica_rectangle draw(int n, uint64_t seed, double *lower, double *upper, double *mean, double *loading,
                            double *unique) {
  bl_rng rng = bl_rng_make(seed, 0);
  for (int i = 0; i < n; i++) {
    const int kind = (int)(4 * bl_rng_uniform(&rng));
    lower[i] = kind == 0 || kind == 3 ? -INFINITY : -1 - bl_rng_uniform(&rng);
    upper[i] = kind == 1 || kind == 3 ? INFINITY : 0.5 + bl_rng_uniform(&rng);
    mean[i] = bl_rng_uniform(&rng) - 0.5;
    unique[i] = 0.5 + bl_rng_uniform(&rng);
    loading[i] = bl_rng_normal(&rng), loading[i + n] = bl_rng_normal(&rng);
  }
  return (blica_rectangle){.n = n,
                           .k = 2,
                           .lower = lower,
                           .upper = upper,
                           .mean = mean,
                           .loading = loading,
                           .unique = unique,
                           .error = 1e-12};
}

static double difference(const blica_rectangle *r, double *at) {
  const double kept = *at, step = 1e-4;
  double error;
  if (isinf(kept)) return 0;
  *at = kept + step;
  const double above = value_of(r, &error);
  *at = kept - step;
  const double below = value_of(r, &error);
  *at = kept;
  return (above - below) / (2 * step);
}

/* The derivatives are those of lattices; the values that are compared come from the grid over two factors. */
static void test_gradient(void **state) {
  double lower[MOST], upper[MOST], mean[MOST], loading[2 * MOST], unique[MOST], value, error, whole_error;
  double room[3 * MOST + MOST * MOST], cov[MOST * MOST];
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    const int n = 2 + (int)seed % 6;
    blica_rectangle r = draw(n, seed, lower, upper, mean, loading, unique);
    blica_rectangle_gradient g = {room, room + n, room + 2 * n, room + 3 * n};
    assert_int_equal(blica_mvn(ctx, &r, &value, &error, &g), BLICA_OK);
    assert_compare(error, <, 1e-9);
    for (int i = 0; i < n; i++) {
      assert_compare(fabs(g.lower[i] - difference(&r, &lower[i])), <, 2e-5);
      assert_compare(fabs(g.upper[i] - difference(&r, &upper[i])), <, 2e-5);
      assert_compare(fabs(g.mean[i] - difference(&r, &mean[i])), <, 2e-5);
      assert_compare(fabs(g.cov[i * (n + 1)] - difference(&r, &unique[i])), <, 1e-4);
      for (int l = 0; l < 2; l++) { /* d cov = d loading loading' + loading d loading' */
        double by_loading = 0;
        for (int j = 0; j < n; j++) by_loading += 2 * g.cov[i + j * n] * loading[j + l * n];
        assert_compare(fabs(by_loading - difference(&r, &loading[i + l * n])), <, 4e-4);
      }
    }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        cov[i + j * n] = loading[i] * loading[j] + loading[i + n] * loading[j + n] + (i == j ? unique[i] : 0);
    r.k = 0, r.cov = cov, r.error = 1e-5;
    assert_compare(fabs(value_of(&r, &whole_error) - value), <=, whole_error + error);
  }
}

static void test_bad_input(void **state) {
  const double zero[2] = {0, 0}, one[2] = {1, 1}, unit[4] = {1, 0, 0, 1}, singular[4] = {1, 1, 1, 1};
  const double lopsided[4] = {1, .5, .1, 1}, negative[4] = {-1, 0, 0, 1};
  double value, error;
  (void)state;
  blica_rectangle r = {.n = 2, .lower = zero, .upper = one, .cov = unit};
  assert_int_equal(blica_mvn(ctx, &r, &value, &error, NULL), BLICA_OK);
  r.cov = singular;
  assert_int_equal(blica_mvn(ctx, &r, &value, &error, NULL), BLICA_ERR_NUMERIC);
  r.cov = lopsided;
  assert_int_equal(blica_mvn(ctx, &r, &value, &error, NULL), BLICA_ERR_ARGUMENT);
  r.cov = negative;
  assert_int_equal(blica_mvn(ctx, &r, &value, &error, NULL), BLICA_ERR_ARGUMENT);
  r.cov = unit, r.upper = zero;
  assert_int_equal(blica_mvn(ctx, &r, &value, &error, NULL), BLICA_ERR_ARGUMENT);
  r.upper = one, r.n = 129;
  assert_int_equal(blica_mvn(ctx, &r, &value, &error, NULL), BLICA_ERR_ARGUMENT);
  r.n = 2, r.cov = NULL;
  assert_int_equal(blica_mvn(ctx, &r, &value, &error, NULL), BLICA_ERR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_gradient),
                                     cmocka_unit_test(test_bad_input)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
