/* Cuts of the items: recovered from exact counts and by maximum likelihood, and the paper's model without them. */
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
#include "set_word.h"
#include "model/model.h"

static void draw(int n, int k, int64_t samples, double intercepts, int exact, blica_model **truth, blica_data **data,
                 blica_counts **counts) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = 20, o.samples = samples, o.intercepts = intercepts, o.exact = exact;
  assert_int_equal(blica_simulate(ctx, &o, truth, data, counts), BLICA_OK);
}

/* The largest error of a fitted P(x_i = 1). */
static double share_error(const blica_model *m, const blica_model *truth) {
  double a[16], b[16], worst = 0;
  for (int s = 0; s < m->u; s++) {
    bl_model_margins(m, s, NULL, a);
    bl_model_margins(truth, s, NULL, b);
    for (int i = 0; i < m->n; i++) worst = fmax(worst, fabs(erfc(-a[i] / sqrt(2)) - erfc(-b[i] / sqrt(2))) / 2);
  }
  return worst;
}

static void the_gauge(const blica_model *m) {
  for (int j = 0; j < m->k; j++) {
    double sum = 0, total = 0;
    for (int s = 0; s < m->u; s++) sum += m->samples[s] * m->means[j + s * m->k], total += m->samples[s];
    assert_compare(fabs(sum / total), <, 1e-12);
  }
}

/* Of exact counts cuts and means come out as they went in. */
static void from_exact_counts(void **state) {
  (void)state;
  blica_model *truth, *m;
  blica_counts *counts;
  draw(10, 2, 1000, 2, 1, &truth, NULL, &counts);
  blica_fit_options o = blica_fit_options_default();
  o.sources = 2;
  assert_int_equal(blica_fit(ctx, &(blica_input){.counts = counts}, &o, &m), BLICA_OK);
  the_gauge(m), the_gauge(truth);
  for (int i = 0; i < m->n; i++) assert_compare(fabs(m->cuts[i] - truth->cuts[i]), <, 1e-4);
  for (int i = 0; i < m->k * m->u; i++) assert_compare(fabs(m->means[i] - truth->means[i]), <, 1e-4);
  assert_compare(share_error(m, truth), <, 1e-6);
  blica_model_free(m), blica_model_free(truth), blica_counts_free(counts);
}

static void by_rows(const char *method, const char *thresholds, double *error, double *mcs) {
  blica_model *truth, *m;
  blica_data *data;
  int matching[2];
  double cosine[2];
  draw(10, 2, 1000, 2, 0, &truth, &data, NULL);
  blica_fit_options o = blica_fit_options_default();
  o.sources = 2;
  o.method = blica_method_find(method);
  set_word(blica_fit_option_table, &o, "thresholds", thresholds);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &m), BLICA_OK);
  assert_int_equal(blica_compare(ctx, 10, 2, m->mixing, truth->mixing, mcs, matching, cosine), BLICA_OK);
  *error = share_error(m, truth);
  printf("%s, thresholds %s: share error %.4f, MCS %.5f\n", method, thresholds, *error, *mcs);
  blica_model_free(m), blica_model_free(truth), blica_data_free(data);
}

/* Without cuts two sources cannot carry the base rates of ten items; with them they need not. */
static void from_rows(void **state) {
  (void)state;
  double error, mcs;
  by_rows("auto", "items", &error, &mcs);
  assert_compare(error, <, 0.05);
  assert_compare(mcs, >, 0.99);
  by_rows("mle", "items", &error, &mcs);
  assert_compare(error, <, 0.05);
  assert_compare(mcs, >, 0.99);
  by_rows("auto", "none", &error, &mcs);
  assert_compare(error, >, 0.2);
  assert_compare(mcs, >, 0.99);
  by_rows("mle", "none", &error, &mcs);
  assert_true(error > 0.05 || mcs < 0.99);
}

/* With as many sources as items both are one model in two coordinates. */
static void square_models_agree(void **state) {
  (void)state;
  blica_model *truth, *with, *without;
  blica_data *data;
  blica_loglik_result *a, *b;
  draw(4, 4, 500, 1, 0, &truth, &data, NULL);
  blica_fit_options o = blica_fit_options_default();
  o.sources = 4;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &with), BLICA_OK);
  o.thresholds = BLICA_THRESHOLDS_NONE;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &without), BLICA_OK);
  assert_memory_equal(with->mixing, without->mixing, 16 * sizeof(double));
  for (int i = 0; i < 4; i++) assert_true(with->cuts[i] != 0 && without->cuts[i] == 0);
  assert_int_equal(blica_loglik(ctx, with, data, NULL, &a), BLICA_OK);
  assert_int_equal(blica_loglik(ctx, without, data, NULL, &b), BLICA_OK);
  assert_compare(fabs(a->total - b->total), <, a->total_error + b->total_error + 1e-9 * fabs(b->total));
  blica_loglik_result_free(a), blica_loglik_result_free(b);
  blica_model_free(with), blica_model_free(without), blica_model_free(truth), blica_data_free(data);
}

/* With fewer sources than items, means and cuts solve a weighted least squares problem: the residual of item i in
 * segment s counts with N_s phi(t)^2 / (Phi(t) Phi(-t)) / M_s,ii. Both sets of normal equations, by plain formulas. */
static void means_are_weighted(void **state) {
  (void)state;
  enum { N = 4, K = 2, U = 3 };
  const double a[N * K] = {1, 0.5, -0.3, 0.8, 0.2, -1, 0.7, 0.4}, v[K * U] = {1, 2, 0.5, 3, 2, 0.25};
  const double t[N * U] = {-1.5, 0.2, 0.9, -0.1, 0.3, 1.8, -0.7, 0.4, -0.2, 0.6, 0.1, -2}, samples[U] = {50, 3000, 400};
  double weight[N * U], residual[N * U];
  blica_model *m;
  assert_int_equal(blica_model_create(ctx, N, K, U, &m), BLICA_OK);
  memcpy(m->mixing, a, sizeof a), memcpy(m->variances, v, sizeof v);
  memcpy(m->thresholds, t, sizeof t), memcpy(m->samples, samples, sizeof samples);
  assert_int_equal(bl_solve_means(ctx, m, true), BLICA_OK);
  for (int s = 0; s < U; s++)
    for (int i = 0; i < N; i++) {
      double variance = 1, mean = 0, x = t[i + s * N];
      for (int j = 0; j < K; j++) {
        variance += m->link * a[i + j * N] * a[i + j * N] * v[j + s * K];
        mean += sqrt(m->link) * a[i + j * N] * m->means[j + s * K];
      }
      weight[i + s * N] =
          samples[s] * exp(-x * x) / (1.5707963267948966 * erfc(-x / sqrt(2)) * erfc(x / sqrt(2))) / variance;
      residual[i + s * N] = x * sqrt(variance) + m->cuts[i] - mean;
    }
  for (int i = 0; i < N; i++) {
    double sum = 0, size = 0;
    for (int c = i; c < N * U; c += N) sum += weight[c] * residual[c], size += weight[c] * fabs(residual[c]);
    if (fabs(sum) > 1e-9 * size) fail_msg("cut of item %d: gradient %g of %g", i, sum, size);
  }
  for (int s = 0; s < U; s++)
    for (int j = 0; j < K; j++) {
      double sum = 0, size = 0;
      for (int i = 0; i < N; i++) {
        double term = weight[i + s * N] * residual[i + s * N] * a[i + j * N];
        sum += term, size += fabs(term);
      }
      if (fabs(sum) > 1e-9 * size) fail_msg("mean of source %d in segment %d: gradient %g of %g", j, s, sum, size);
    }
  blica_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(from_exact_counts), cmocka_unit_test(from_rows),
                                     cmocka_unit_test(square_models_agree), cmocka_unit_test(means_are_weighted)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
