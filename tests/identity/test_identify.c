/* The rank of a model from the ends of the information's spectrum and from all of it: the same answer; with levels
 * against the Jacobian of all thresholds and correlations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "inference/identify.h"
#include "model/model.h"
#include "num/linear/blas.h"

static blica_model *simulated(blica_ctx *ctx, int n, int k, int u, uint64_t seed) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *model;
  o.variables = n, o.sources = k, o.segments = u, o.seed = seed, o.samples = 1;
  assert_int_equal(blica_simulate(ctx, &o, &model, NULL, NULL), BLICA_OK);
  return model;
}

static void both_ways(blica_ctx *ctx, const blica_model *model, bool local) {
  blica_identification *ends, *whole;
  assert_int_equal(bl_identify(ctx, model, 0, &ends), BLICA_OK);
  assert_int_equal(bl_identify(ctx, model, SIZE_MAX, &whole), BLICA_OK);
  print_message("n %d, k %d, u %d: rank %lld of %lld, smallest %.6g and %.6g\n", model->n, model->k, model->u,
                (long long)whole->rank, (long long)whole->parameters, ends->smallest, whole->smallest);
  assert_int_equal(ends->rank, whole->rank);
  assert_int_equal(whole->local, local);
  assert_int_equal(ends->local, local);
  assert_int_equal(ends->design, whole->design);
  assert_compare(fabs(ends->smallest - whole->smallest), <=, 1e-4 * whole->smallest);
  for (int j = 0; j < model->k; j++) assert_true(ends->looseness[j] == whole->looseness[j]);
  blica_identification_free(ends);
  blica_identification_free(whole);
}

static void test_random_models(void **state) {
  (void)state;
  const int sizes[][3] = {{6, 6, 4}, {6, 6, 2}, {10, 3, 5}, {5, 5, 5}, {12, 8, 10}, {30, 20, 12}};
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int t = 0; t < 6; t++)
    for (uint64_t seed = 1; seed <= 3; seed++) {
      blica_model *model = simulated(ctx, sizes[t][0], sizes[t][1], sizes[t][2], seed);
      both_ways(ctx, model, sizes[t][2] > 2);
      blica_model_free(model);
    }
  blica_ctx_free(ctx);
}

/* Two sources whose variances keep one ratio can be turned into each other. */
static void test_proportional_variances(void **state) {
  (void)state;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_model *model = simulated(ctx, 30, 15, 10, 4);
  for (int s = 0; s < model->u; s++) model->variances[3 + s * model->k] = 2 * model->variances[s * model->k];
  both_ways(ctx, model, false);
  blica_model_free(model);
  blica_ctx_free(ctx);
}

/* ---- items with levels ---- */

/* What margins and pairs of a model show: thresholds of all levels and correlations, in all segments. */
static void statistics_of(const blica_model *m, const double *x, double *out) {
  const int n = m->n, k = m->k;
  const double *a = x, *v = a + n * k, *mean = v + m->u * k, *cut = mean + m->u * k;
  for (int s = 0; s < m->u; s++) {
    double variance[16];
    for (int i = 0; i < n; i++) {
      double location = 0;
      variance[i] = 1;
      for (int j = 0; j < k; j++) {
        variance[i] += m->link * a[i + n * j] * a[i + n * j] * exp(v[j + k * s]);
        location += sqrt(m->link) * a[i + n * j] * mean[j + k * s];
      }
      for (int p = bl_plane(m->coding, i); p < bl_plane(m->coding, i + 1); p++)
        *out++ = (location - cut[p]) / sqrt(variance[i]);
      for (int h = 0; h < i; h++) {
        double sum = 0;
        for (int j = 0; j < k; j++) sum += m->link * a[i + n * j] * a[h + n * j] * exp(v[j + k * s]);
        *out++ = sum / sqrt(variance[i] * variance[h]);
      }
    }
  }
}

/* Directions of all parameters that change no statistic: the null space of the Jacobian by central differences. */
static int free_directions(const blica_model *m) {
  const int parameters = m->n * m->k + 2 * m->u * m->k + m->planes, count = m->u * (m->planes + m->n * (m->n - 1) / 2);
  const double step = 1e-6;
  double *x = calloc((size_t)parameters, sizeof *x), *jacobian = calloc((size_t)parameters * count, sizeof *x);
  double *low = calloc((size_t)count, sizeof *x), *values = calloc((size_t)parameters, sizeof *x), *at = x;
  for (int i = 0; i < m->n * m->k; i++) *at++ = m->mixing[i];
  for (int i = 0; i < m->u * m->k; i++) *at++ = log(m->variances[i]);
  for (int i = 0; i < m->u * m->k; i++) *at++ = m->means[i];
  for (int i = 0; i < m->planes; i++) *at++ = m->cuts[i];
  for (int p = 0; p < parameters; p++) {
    double *column = jacobian + (size_t)p * count, middle = x[p];
    x[p] = middle + step;
    statistics_of(m, x, column);
    x[p] = middle - step;
    statistics_of(m, x, low);
    x[p] = middle;
    for (int i = 0; i < count; i++) column[i] = (column[i] - low[i]) / (2 * step);
  }
  int least = count < parameters ? count : parameters, rank = 0;
  assert_int_equal(bl_dgesvd(count, parameters, jacobian, count, values), 0);
  while (rank < least && values[rank] > 1e-7 * values[0]) rank++;
  free(x), free(jacobian), free(low), free(values);
  return parameters - rank;
}

/* As many sources as items, so that thresholds add nothing for two levels: the two ways must agree. Free beside the
 * directions that the rank counts are a scale and a mean of each source. */
static void test_levels(void **state) {
  (void)state;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int n = 2; n <= 6; n++)
    for (int u = 1; u <= 5; u++)
      for (int levels = 2; levels <= 4; levels++) {
        blica_simulate_options o = blica_simulate_options_default();
        blica_model *model;
        blica_identification *found;
        o.variables = o.sources = n, o.segments = u, o.levels = levels, o.intercepts = 0.5;
        assert_int_equal(blica_simulate(ctx, &o, &model, NULL, NULL), BLICA_OK);
        assert_int_equal(blica_identify(ctx, model, &found), BLICA_OK);
        int open = (int)(found->parameters - found->rank), expected = free_directions(model) - 2 * n;
        print_message("n = k = %d, u = %d, %d levels: %d directions open, by the Jacobian %d\n", n, u, levels, open,
                      expected);
        assert_int_equal(open, expected);
        if (levels > 2 && n > 2 && u > 2) assert_int_equal(found->design, BLICA_YES);
        blica_identification_free(found);
        blica_model_free(model);
      }
  blica_ctx_free(ctx);
}

/* Two items with three levels among six: both kinds of scales at once. */
static void test_mixed_levels(void **state) {
  (void)state;
  blica_ctx *ctx;
  const int levels[] = {2, 3, 2, 2, 4, 2};
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int u = 2; u <= 4; u++) {
    blica_model *model = simulated(ctx, 6, 6, u, 3);
    blica_coding *coding;
    blica_identification *found;
    assert_int_equal(bl_coding_make(ctx, 6, (const char *const *)model->variables, levels, NULL, &coding), BLICA_OK);
    assert_int_equal(bl_model_set_coding(ctx, model, coding), BLICA_OK);
    for (int p = 0; p < model->planes; p++) model->cuts[p] = 0.3 * p;
    assert_int_equal(blica_identify(ctx, model, &found), BLICA_OK);
    assert_int_equal(found->parameters - found->rank, free_directions(model) - 12);
    blica_identification_free(found);
    both_ways(ctx, model, u > 2);
    blica_model_free(model);
  }
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_models),
                                     cmocka_unit_test(test_proportional_variances), cmocka_unit_test(test_levels),
                                     cmocka_unit_test(test_mixed_levels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
