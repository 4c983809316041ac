/* The likelihood of the tables of items with levels: its value at exact counts by plain sums, its gradient against
 * central differences, the truth as the minimum for exact counts, the same bits for any number of threads. */
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
#include "estimate/gauss/gauss.h"

static blica_model *truth;
static blica_counts *counts;

static void draw(int n, int k, int u, int levels, int exact) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *rows = NULL;
  o.variables = n, o.sources = k, o.segments = u, o.levels = levels, o.exact = exact, o.seed = 3, o.intercepts = 0.4;
  o.samples = 300;
  assert_int_equal(blica_simulate(ctx, &o, &truth, exact ? NULL : &rows, exact ? &counts : NULL), BLICA_OK);
  if (!exact) assert_int_equal(blica_count(ctx, rows, &counts), BLICA_OK);
  blica_data_free(rows);
}

static void release(void) {
  blica_model_free(truth);
  blica_counts_free(counts);
}

static bl_level_tables *tables_of(double weight, double mixing, double variance) {
  bl_level_tables *t;
  assert_int_equal(bl_level_tables_make(ctx, truth, counts, weight, mixing, variance, &t), BLICA_OK);
  return t;
}

/* At the truth a cell of exact counts has the probability n_ab / N. */
static void value_and_minimum(void **state) {
  (void)state;
  draw(3, 2, 4, 3, 1);
  bl_level_tables *t = tables_of(0.5, 0, 0);
  const size_t size = bl_level_tables_size(t);
  double *theta = calloc(size, sizeof *theta), *gradient = calloc(size, sizeof *gradient), expected = 0, largest = 0;
  for (int s = 0; s < 4; s++)
    for (int j = 1; j < 3; j++)
      for (int i = 0; i < j; i++)
        for (int a = 0; a < 3; a++)
          for (int b = 0; b < 3; b++) {
            double at[2][2]; /* rows at or above the levels a and a + 1, b and b + 1 */
            for (int x = 0; x < 2; x++)
              for (int y = 0; y < 2; y++) {
                double n[4];
                int p = a + x - 1, q = b + y - 1;
                blica_counts_table(counts, s,
                                   2 * i + (p < 0   ? 0
                                            : p > 1 ? 1
                                                    : p),
                                   2 * j + (q < 0   ? 0
                                            : q > 1 ? 1
                                                    : q),
                                   n);
                at[x][y] =
                    p > 1 || q > 1 ? 0 : n[0] + (q < 0 ? n[1] : 0) + (p < 0 ? n[2] : 0) + (p < 0 && q < 0 ? n[3] : 0);
              }
            double cell = at[0][0] - at[1][0] - at[0][1] + at[1][1];
            expected -= 0.5 * cell * log(cell / 300);
          }
  bl_level_tables_take(truth, theta);
  double value = bl_level_tables_eval(t, theta, gradient);
  for (size_t i = 0; i < size; i++) largest = fmax(largest, fabs(gradient[i]));
  print_message("value %.12g, by plain sums %.12g; largest derivative at the truth %.2g\n", value, expected, largest);
  assert_compare(fabs(value - expected), <, 1e-9 * fabs(expected));
  assert_compare(largest, <, 1e-8 * fabs(value));
  free(theta), free(gradient);
  bl_free(t);
  release();
}

static void gradient_by_differences(void **state) {
  (void)state;
  draw(4, 2, 3, 4, 0);
  bl_level_tables *t = tables_of(0.7, 0.3, 0.6);
  const size_t size = bl_level_tables_size(t);
  double *theta = calloc(size, sizeof *theta), *gradient = calloc(size, sizeof *gradient),
         *other = calloc(size, sizeof *other), worst = 0, largest = 0;
  bl_level_tables_take(truth, theta);
  for (size_t i = 0; i < size; i++) theta[i] += 0.05 * sin(7.0 * (double)i);
  bl_level_tables_eval(t, theta, gradient);
  for (size_t i = 0; i < size; i++) {
    const double keep = theta[i], step = 1e-5;
    theta[i] = keep + step;
    double up = bl_level_tables_eval(t, theta, other);
    theta[i] = keep - step;
    double down = bl_level_tables_eval(t, theta, other);
    theta[i] = keep;
    worst = fmax(worst, fabs((up - down) / (2 * step) - gradient[i]));
    largest = fmax(largest, fabs(gradient[i]));
  }
  print_message("gradient off by %.2g of %.3g\n", worst, largest);
  assert_compare(worst, <, 1e-7 * largest);
  free(theta), free(gradient), free(other);
  bl_free(t);
  release();
}

/* The prior adds |A|^2 precision_mixing / 2 + |log v|^2 precision_variance / 2, and the weight is a factor on the rest.
 */
static void weight_and_prior(void **state) {
  (void)state;
  draw(3, 2, 3, 3, 0);
  bl_level_tables *plain = tables_of(1, 0, 0), *all = tables_of(0.7, 0.3, 0.6);
  const size_t size = bl_level_tables_size(plain);
  double *theta = calloc(size, sizeof *theta), *gradient = calloc(size, sizeof *gradient);
  bl_level_tables_take(truth, theta);
  double expected = 0.7 * bl_level_tables_eval(plain, theta, gradient);
  for (int i = 0; i < 6; i++) expected += 0.5 * 0.3 * truth->mixing[i] * truth->mixing[i];
  for (int i = 0; i < 6; i++) expected += 0.5 * 0.6 * pow(log(truth->variances[i]), 2);
  const double value = bl_level_tables_eval(all, theta, gradient);
  assert_compare(fabs(value - expected), <, 1e-12 * fabs(expected));
  free(theta), free(gradient);
  bl_free(plain), bl_free(all);
  release();
}

static void same_bits(void **state) {
  (void)state;
  draw(4, 3, 5, 3, 0);
  double *theta = NULL, *first = NULL, *gradient = NULL, value = 0;
  for (int threads = 1; threads <= 7; threads += 3) {
    blica_set_threads(ctx, threads);
    bl_level_tables *t = tables_of(0.5, 0.1, 0.1);
    const size_t size = bl_level_tables_size(t);
    if (!theta)
      theta = calloc(size, sizeof *theta), first = calloc(size, sizeof *first), gradient = calloc(size, sizeof *first);
    bl_level_tables_take(truth, theta);
    double now = bl_level_tables_eval(t, theta, threads == 1 ? first : gradient);
    if (threads == 1)
      value = now;
    else
      assert_true(now == value && memcmp(first, gradient, size * sizeof *first) == 0);
    bl_free(t);
  }
  blica_set_threads(ctx, 0);
  free(theta), free(first), free(gradient);
  release();
}

/* A fit of exact counts is the model that made them, cuts and means included; of three items in three segments, too. */
static void exact_counts_give_the_model(void **state) {
  (void)state;
  draw(3, 3, 3, 3, 1);
  blica_fit_options o = blica_fit_options_default();
  blica_model *m;
  double mcs, cosine[3];
  int matching[3];
  o.sources = 3, o.tolerance = 1e-12;
  o.method = BLICA_METHOD_PAIRWISE, o.prior = BLICA_PRIOR_NONE;
  assert_int_equal(blica_fit(ctx, &(blica_input){.counts = counts}, &o, &m), BLICA_OK);
  assert_int_equal(blica_compare(ctx, 3, 3, m->mixing, truth->mixing, &mcs, matching, cosine), BLICA_OK);
  print_message("1 - MCS %.2g\n", 1 - mcs);
  assert_compare(mcs, >, 1 - 1e-6);
  for (int p = 0; p < 6; p++) assert_compare(fabs(m->cuts[p] - truth->cuts[p]), <, 1e-3 * (1 + fabs(truth->cuts[p])));
  blica_model_free(m);
  release();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(value_and_minimum), cmocka_unit_test(gradient_by_differences),
                                     cmocka_unit_test(same_bits), cmocka_unit_test(weight_and_prior),
                                     cmocka_unit_test(exact_counts_give_the_model)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
