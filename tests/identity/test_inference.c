/* What a model implies, against differences, exact counts and simulation; and the bootstrap on any number of threads.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "context.h"
#include "inference/implied.h"

static void near(double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("found %.12g, wanted %.12g", found, wanted);
}

static void draw(int n, int k, int u, int64_t samples, int exact, blica_model **model, blica_data **data,
                 blica_counts **counts) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = u, o.samples = samples, o.exact = exact, o.seed = 7;
  assert_int_equal(blica_simulate(ctx, &o, model, data, counts), BLICA_OK);
}

static void slopes_are_differences(void **state) {
  (void)state;
  enum { N = 5, K = 2, PAIRS = 10, M = N * K + K };
  blica_model *m;
  draw(N, K, 3, 10, 0, &m, NULL, NULL);
  double scale[N], rho[PAIRS], up[PAIRS], down[PAIRS], slope[PAIRS * M], v[K];
  for (int c = 0; c < M; c++) {
    const double step = 1e-5;
    double a[N * K];
    for (int side = 0; side < 2; side++) {
      memcpy(a, m->mixing, sizeof a);
      memcpy(v, m->variances + K, sizeof v);
      if (c < N * K)
        a[c] += side ? step : -step;
      else
        v[c - N * K] *= exp(side ? step : -step);
      bl_implied_rho(N, K, m->link, a, v, scale, side ? up : down);
    }
    bl_implied_rho(N, K, m->link, m->mixing, m->variances + K, scale, rho);
    bl_implied_slope(N, K, m->link, m->mixing, m->variances + K, scale, rho, slope);
    for (int at = 0; at < PAIRS; at++) near(slope[at + PAIRS * c], (up[at] - down[at]) / (2 * step), 1e-9);
  }
  blica_model_free(m);
}

static void tables_are_differences(void **state) {
  (void)state;
  const double h = 0.4, k = -1.1, rho = 0.55, step = 1e-5;
  const bl_implied_table t = bl_implied_pair(h, k, rho);
  const double density = exp(-0.5 * h * h) / sqrt(2 * acos(-1));
  near(t.cell[0] + t.cell[1] + t.cell[2] + t.cell[3], 1, 1e-15);
  near(t.density, (blica_bvn(h, k, rho + step) - blica_bvn(h, k, rho - step)) / (2 * step), 1e-8);
  near(t.first * density, (blica_bvn(h + step, k, rho) - blica_bvn(h - step, k, rho)) / (2 * step), 1e-8);
}

/* The model's own exact counts leave no residuals, in whatever order their variables and segments stand. */
static void exact_counts_fit(void **state) {
  (void)state;
  blica_model *m;
  blica_counts *c;
  blica_fitted_values *f, *alone;
  draw(6, 6, 4, 1000, 1, &m, NULL, &c);
  assert_int_equal(blica_fitted(ctx, m, c, &f), BLICA_OK);
  for (int64_t at = 0; at < f->pairs * f->u; at++) {
    near(f->correlation_residual[at], 0, 1e-9);
    near(f->pair_residual[at], 0, 1e-12);
  }
  for (int at = 0; at < 6 * 4; at++) near(f->margin_residual[at], 0, 1e-12);
  near(f->srmr, 0, 1e-9);
  assert_int_equal(blica_fitted(ctx, m, NULL, &alone), BLICA_OK);
  assert_null(alone->correlation_residual);
  assert_memory_equal(alone->correlation, f->correlation, (size_t)(f->pairs * f->u) * sizeof(double));
  blica_fitted_free(f);
  char *first = c->segments[0];
  c->segments[0] = c->segments[3], c->segments[3] = first; /* other names: other segments */
  assert_int_equal(blica_fitted(ctx, m, c, &f), BLICA_OK);
  assert_true(f->srmr > 0.01);
  blica_fitted_free(f);
  blica_fitted_free(alone);
  blica_counts_free(c);
  blica_model_free(m);
}

static blica_assessment *assess(const blica_model *m, const blica_data *d, int threads) {
  blica_assess_options o = blica_assess_options_default();
  blica_assessment *a;
  o.bootstrap = 24, o.simulations = 19;
  blica_set_threads(ctx, threads);
  assert_int_equal(blica_assess(ctx, m, d, &o, &a), BLICA_OK);
  return a;
}

static void same_bits_for_any_threads(void **state) {
  (void)state;
  blica_model *truth, *m;
  blica_data *d;
  blica_fit_options o = blica_fit_options_default();
  draw(5, 2, 6, 200, 0, &truth, &d, NULL);
  o.sources = 2;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = d}, &o, &m), BLICA_OK);
  blica_assessment *one = assess(m, d, 1), *seven = assess(m, d, 7);
  assert_memory_equal(one->mixing_se, seven->mixing_se, 10 * sizeof(double));
  assert_memory_equal(one->mixing_se_bootstrap, seven->mixing_se_bootstrap, 10 * sizeof(double));
  assert_memory_equal(one->mean_se_bootstrap, seven->mean_se_bootstrap, 12 * sizeof(double));
  assert_memory_equal(one->angle, seven->angle, 2 * sizeof(double));
  near(one->change_p, seven->change_p, 0);
  near(one->m2, seven->m2, 0);
  for (int i = 0; i < 10; i++) assert_true(one->mixing_se[i] > 0 && one->mixing_se[i] < 2);
  blica_assessment_free(one);
  blica_assessment_free(seven);
  blica_data_free(d);
  blica_model_free(truth);
  blica_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(slopes_are_differences), cmocka_unit_test(tables_are_differences),
                                     cmocka_unit_test(exact_counts_fit), cmocka_unit_test(same_bits_for_any_threads)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
