/* The minimiser finds known minima and reports truthfully how it ended. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "num/lbfgs.h"

enum { SIZE = 60 };

/* Ill-conditioned quadratic with minimum at x_i = i, value -1. */
static double quadratic(const double *x, double *g, void *user) {
  (void)user;
  double f = -1;
  for (int i = 0; i < SIZE; i++) {
    double weight = pow(10, 4.0 * i / (SIZE - 1)), e = x[i] - i;
    f += 0.5 * weight * e * e;
    g[i] = weight * e;
  }
  return f;
}

static double rosenbrock(const double *x, double *g, void *user) {
  (void)user;
  double f = 0;
  for (int i = 0; i < SIZE; i++) g[i] = 0;
  for (int i = 0; i + 1 < SIZE; i++) {
    double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    f += 100 * a * a + b * b;
    g[i] += -400 * a * x[i] - 2 * b;
    g[i + 1] += 200 * a;
  }
  return f;
}

/* x - w log x, defined for x > 0 only: the search must step back from NaN. */
static double barrier(const double *x, double *g, void *user) {
  (void)user;
  double f = 0;
  for (int i = 0; i < SIZE; i++) {
    f += x[i] - (i + 1) * log(x[i]);
    g[i] = 1 - (i + 1) / x[i];
  }
  return f;
}

static bl_lbfgs_result run(bl_objective objective, double *x, double tolerance, int64_t limit) {
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  bl_lbfgs_options options = {.history = 10, .max_iterations = limit, .gradient_tolerance = tolerance};
  bl_lbfgs_result result;
  assert_int_equal(bl_lbfgs(ctx, SIZE, x, objective, NULL, &options, &result), BLICA_OK);
  blica_ctx_free(ctx);
  return result;
}

static void finds_quadratic_minimum(void **state) {
  (void)state;
  double x[SIZE] = {0};
  bl_lbfgs_result r = run(quadratic, x, 1e-9, 2000);
  assert_int_equal(r.end, BL_LBFGS_GRADIENT);
  for (int i = 0; i < SIZE; i++) assert_compare(fabs(x[i] - i), <, 1e-8);
  assert_compare(fabs(r.value + 1), <, 1e-14);
}

static void finds_rosenbrock_minimum(void **state) {
  (void)state;
  double x[SIZE];
  for (int i = 0; i < SIZE; i++) x[i] = i % 2 ? 1 : -1.2;
  bl_lbfgs_result r = run(rosenbrock, x, 1e-10, 5000);
  assert_int_equal(r.end, BL_LBFGS_GRADIENT);
  double g[SIZE];
  rosenbrock(x, g, NULL);
  for (int i = 0; i < SIZE; i++) assert_compare(fabs(g[i]), <=, 1e-10);
}

static void steps_back_from_outside_the_domain(void **state) {
  (void)state;
  double x[SIZE];
  for (int i = 0; i < SIZE; i++) x[i] = 0.01;
  bl_lbfgs_result r = run(barrier, x, 1e-10, 5000);
  assert_int_equal(r.end, BL_LBFGS_GRADIENT);
  for (int i = 0; i < SIZE; i++) assert_compare(fabs(x[i] - (i + 1)), <, 1e-5);
}

static void stops_at_the_iteration_limit(void **state) {
  (void)state;
  double x[SIZE] = {0};
  bl_lbfgs_result r = run(quadratic, x, 1e-12, 3);
  assert_int_equal(r.end, BL_LBFGS_ITERATIONS);
  assert_int_equal(r.iterations, 3);
}

typedef struct {
  int evaluations, most;
} patience;

static double cut_rosenbrock(const double *x, double *g, void *user) {
  patience *p = user;
  if (++p->evaluations <= p->most) return rosenbrock(x, g, NULL);
  for (int i = 0; i < SIZE; i++) g[i] = NAN;
  return NAN;
}

static bool is_cut(void *user) {
  return ((patience *)user)->evaluations > ((patience *)user)->most;
}

/* Wherever an evaluation is cut, the best point so far is returned with its own value, and nothing is evaluated after.
 */
static void ends_at_the_last_point_when_cut(void **state) {
  (void)state;
  blica_ctx *ctx;
  double before = INFINITY;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int most = 0; most < 60; most++) {
    patience p = {0, most};
    double x[SIZE], g[SIZE];
    bl_lbfgs_options options = {
        .history = 10, .max_iterations = 5000, .gradient_tolerance = 1e-10, .unfinished = is_cut};
    bl_lbfgs_result r;
    for (int i = 0; i < SIZE; i++) x[i] = i % 2 ? 1 : -1.2;
    assert_int_equal(bl_lbfgs(ctx, SIZE, x, cut_rosenbrock, &p, &options, &r), BLICA_OK);
    assert_int_equal(r.end, BL_LBFGS_HOOK);
    assert_int_equal(p.evaluations, most + 1);
    if (most == 0) {
      assert_true(isnan(r.value) && x[0] == -1.2 && x[1] == 1);
      continue;
    }
    assert_true(r.value == rosenbrock(x, g, NULL) && r.value <= before && r.evaluations <= most);
    before = r.value;
  }
  assert_compare(before, <, 100);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_quadratic_minimum), cmocka_unit_test(finds_rosenbrock_minimum),
      cmocka_unit_test(steps_back_from_outside_the_domain), cmocka_unit_test(stops_at_the_iteration_limit),
      cmocka_unit_test(ends_at_the_last_point_when_cut)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
