/* Maximum full likelihood of ordinal items: exact gradient in all parameters, recovery, a likelihood not below that of
 * the default fit, levels that nobody has, the same bits on any number of threads; by integration and by sampling. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "context.h"
#include "estimate/mle/mle.h"
#include "mle_gradient.h"
#include "num/rng.h"

static void draw(int n, int k, int segments, int levels, int samples, blica_model **truth, blica_data **data) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = segments, o.samples = samples, o.levels = levels, o.intercepts = 0.5;
  o.seed = 3;
  assert_int_equal(blica_simulate(ctx, &o, truth, data, NULL), BLICA_OK);
}

static void check_gradient(int n, int k, int levels, blica_engine engine) {
  blica_model *truth;
  blica_data *data;
  const blica_fit_options o = blica_fit_options_default();
  bl_mle m = {0};
  draw(n, k, 3, levels, 60, &truth, &data);
  assert_int_equal(bl_mle_make(ctx, data, truth->coding, k, &o, &m), BLICA_OK);
  assert_int_equal(m.engine, engine);
  assert_int_equal(m.size, n * k + n * (levels - 1) + 2 * k * 3);
  check_mle_gradient(&m);
  bl_mle_free(&m);
  blica_data_free(data);
  blica_model_free(truth);
}

static void test_gradient(void **state) {
  (void)state;
  check_gradient(4, 2, 3, BLICA_ENGINE_GRID);
  check_gradient(3, 3, 4, BLICA_ENGINE_LATTICE);
}

static blica_model *fit_by(const char *method, const blica_data *data, int k, int threads) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *fit;
  o.method = blica_method_find(method);
  o.sources = k;
  blica_set_threads(ctx, threads);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &fit), BLICA_OK);
  return fit;
}

static double loglik(const blica_model *m, const blica_data *data, double *error) {
  blica_loglik_result *r;
  assert_int_equal(blica_loglik(ctx, m, data, NULL, &r), BLICA_OK);
  double total = r->total;
  *error = r->total_error;
  blica_loglik_result_free(r);
  return total;
}

static double lack_of(const blica_model *truth, const blica_model *fit) {
  double mcs, cosine[8];
  int matching[8];
  assert_int_equal(blica_compare(ctx, truth->n, truth->k, truth->mixing, fit->mixing, &mcs, matching, cosine),
                   BLICA_OK);
  return 1 - mcs;
}

/* The likelihood recorded, beside the default fit's and the truth's, and how far A and the cuts are off. */
static void check_recovery(int n, int k, int segments, int levels, int samples, double most_lack, double most_off) {
  blica_model *truth;
  blica_data *data;
  draw(n, k, segments, levels, samples, &truth, &data);
  blica_model *mle = fit_by("mle", data, k, 1), *other = fit_by("mle", data, k, 3),
              *matched = fit_by("auto", data, k, 1);
  assert_memory_equal(mle->mixing, other->mixing, sizeof(double) * (size_t)(n * k));
  assert_memory_equal(mle->cuts, other->cuts, sizeof(double) * (size_t)mle->planes);
  double error[3], ours = loglik(mle, data, &error[0]), theirs = loglik(matched, data, &error[1]),
                   at_truth = loglik(truth, data, &error[2]), off = 0;
  for (int p = 0; p < mle->planes; p++)
    off = fmax(off, fabs(mle->cuts[p] - truth->cuts[p]) / (1 + fabs(truth->cuts[p])));
  printf("n=%d k=%d: %s, log-likelihood %.2f, default %.2f, truth %.2f; 1 - MCS %.5f, default %.5f; cuts off by %.2f\n",
         n, k, blica_stop_name(mle->fit.stop), ours, theirs, at_truth, lack_of(truth, mle), lack_of(truth, matched),
         off);
  assert_int_equal(mle->fit.stop, BLICA_STOP_CONVERGED);
  assert_true(ours > theirs - error[0] - error[1] && ours > at_truth);
  assert_true(lack_of(truth, mle) < most_lack && off < most_off);
  for (int i = 0; i < n; i++)
    for (int l = 1; l < levels - 1; l++)
      assert_true(mle->cuts[i * (levels - 1) + l] > mle->cuts[i * (levels - 1) + l - 1]);
  blica_model_free(mle), blica_model_free(other), blica_model_free(matched), blica_model_free(truth);
  blica_data_free(data);
}

static void test_integrated(void **state) {
  (void)state;
  check_recovery(4, 2, 10, 3, 300, 0.005, 0.2);
  check_recovery(3, 3, 12, 3, 300, 0.02, 0.6); /* three items leave their scales open */
}

static void test_many_items(void **state) {
  (void)state;
  check_recovery(13, 3, 6, 3, 300, 0.01, 0.2);
}

/* Of four levels that are declared nobody has the second nor the last. */
static void test_unused_levels(void **state) {
  (void)state;
  enum { N = 4, ROWS = 1200 };
  static int8_t x[ROWS * N];
  static int32_t segment[ROWS];
  const int levels[N] = {4, 2, 2, 2};
  blica_data *data;
  blica_model *truth, *fit;
  bl_rng rng = bl_rng_make(2, 2);
  draw(N, 2, 4, 2, 1, &truth, &data);
  blica_data_free(data);
  for (int r = 0; r < ROWS; r++) {
    double z[2];
    segment[r] = r % 4;
    for (int j = 0; j < 2; j++) z[j] = sqrt(truth->variances[j + segment[r] * 2]) * bl_rng_normal(&rng);
    for (int i = 0; i < N; i++) {
      double q = bl_rng_normal(&rng);
      for (int j = 0; j < 2; j++) q += sqrt(truth->link) * truth->mixing[i + j * N] * z[j];
      x[r * N + i] = (int8_t)(i == 0 ? 2 * (q > 0) : q > 0);
    }
  }
  assert_int_equal(
      blica_pack(ctx, &(blica_table){.rows = ROWS, .n = N, .x = x, .levels = levels, .segment = segment, .u = 4},
                 &data),
      BLICA_OK);
  fit = fit_by("mle", data, 2, 1);
  assert_true(fit->cuts[0] < fit->cuts[1] && fit->cuts[1] < fit->cuts[2] && isfinite(fit->cuts[2]));
  assert_true(fit->cuts[1] - fit->cuts[0] < 0.1);
  blica_model_free(fit), blica_model_free(truth), blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradient), cmocka_unit_test(test_integrated),
                                     cmocka_unit_test(test_many_items), cmocka_unit_test(test_unused_levels)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
