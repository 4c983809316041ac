/* Items with levels: exact counts give back correlations, scales, cuts and the mixing matrix; samples of three levels
 * identify what two levels cannot. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "set_word.h"
#include "data/coding.h"
#include "model/model.h"

static void draw(int n, int segments, int levels, int64_t samples, int exact, uint64_t seed, blica_model **truth,
                 blica_data **data, blica_counts **counts) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = o.sources = n, o.segments = segments, o.samples = samples, o.exact = exact, o.levels = levels;
  o.seed = seed;
  assert_int_equal(blica_simulate(ctx, &o, truth, data, counts), BLICA_OK);
}

static double covariance(const blica_model *m, int s, int i, int j) {
  double sum = i == j;
  for (int l = 0; l < m->k; l++)
    sum += m->link * m->mixing[i + l * m->n] * m->mixing[j + l * m->n] * m->variances[l + s * m->k];
  return sum;
}

static void exact_correlations_and_scales(void **state) {
  (void)state;
  blica_model *truth;
  blica_counts *counts;
  blica_cor *cor;
  draw(4, 10, 4, 1000, 1, 1, &truth, NULL, &counts);
  assert_int_equal(counts->n, 12);
  assert_string_equal(counts->variables[4], "x2[0<1<2<3]>=2");
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  assert_int_equal(cor->n, 4);
  assert_int_equal(cor->planes, 12);
  double worst = 0, off = 0;
  for (int i = 0; i < 4; i++) {
    double mean = 0, gap[10];
    for (int s = 0; s < 10; s++) {
      for (int j = i + 1; j < 4; j++) {
        double rho = covariance(truth, s, i, j) / sqrt(covariance(truth, s, i, i) * covariance(truth, s, j, j));
        worst = fmax(worst, fabs(rho - cor->rho[blica_pair(i, j) + s * cor->pairs]));
      }
      gap[s] = cor->log_scale[i + s * 4] - 0.5 * log(covariance(truth, s, i, i));
      mean += gap[s] / 10;
    }
    for (int s = 0; s < 10; s++) off = fmax(off, fabs(gap[s] - mean));
  }
  printf("correlations off by %.2g, log scales by %.2g\n", worst, off);
  assert_compare(worst, <, 1e-9);
  assert_compare(off, <, 1e-4);
  for (int p = 0; p < 120; p++) assert_compare(fabs(cor->thresholds[p] - truth->thresholds[p]), <, 1e-9);
  blica_cor_free(cor), blica_counts_free(counts), blica_model_free(truth);
}

static double fitted_mcs(const blica_input *input, const blica_model *truth, const char *prior, blica_model **out) {
  int matching[6];
  double cosine[6], mcs;
  blica_fit_options o = blica_fit_options_default();
  o.sources = truth->k;
  set_word(blica_fit_option_table, &o, "prior", prior);
  if (!input->data) o.tolerance = 1e-9; /* exact counts: as close as they lead */
  assert_int_equal(blica_fit(ctx, input, &o, out), BLICA_OK);
  assert_int_equal(blica_compare(ctx, truth->n, truth->k, (*out)->mixing, truth->mixing, &mcs, matching, cosine),
                   BLICA_OK);
  return mcs;
}

/* Three levels and three segments identify A of three items and sources, which two levels never do. */
static void exact_counts_give_the_model(void **state) {
  (void)state;
  for (int n = 3; n <= 5; n++) {
    blica_model *truth, *m;
    blica_counts *counts;
    draw(n, 3, 3, 1000, 1, 2, &truth, NULL, &counts);
    double mcs = fitted_mcs(&(blica_input){.counts = counts}, truth, "none", &m);
    printf("n = k = %d, 3 segments, 3 levels: 1 - MCS %.2g\n", n, 1 - mcs);
    assert_compare(mcs, >, 1 - 1e-7);
    if (n == 4)
      for (int p = 0; p < m->planes; p++)
        assert_compare(fabs(m->cuts[p] - truth->cuts[p]), <, 1e-3 * fabs(truth->cuts[p]) + 1e-3);
    blica_model_free(m), blica_model_free(truth), blica_counts_free(counts);
  }
}

static void samples_of_three_levels(void **state) {
  (void)state;
  double two = 0, three = 0;
  for (uint64_t seed = 1; seed <= 3; seed++)
    for (int levels = 2; levels <= 3; levels++) {
      blica_model *truth, *m;
      blica_data *data;
      draw(3, 40, levels, 1000, 0, seed, &truth, &data, NULL);
      double miss = 1 - fitted_mcs(&(blica_input){.data = data}, truth, "default", &m);
      *(levels == 2 ? &two : &three) += miss / 3;
      blica_model_free(m), blica_model_free(truth), blica_data_free(data);
    }
  printf("mean 1 - MCS with two levels %.4f, with three %.4f\n", two, three);
  assert_compare(three, <, 0.01);
  assert_compare(two, >, 0.03);
}

static void files_keep_levels(void **state) {
  (void)state;
  blica_model *truth, *again;
  blica_data *data;
  char path[] = "/tmp/blica-levels-XXXXXX";
  assert_compare(mkstemp(path), >=, 0);
  draw(3, 4, 4, 50, 0, 1, &truth, &data, NULL);
  assert_int_equal(blica_model_save(ctx, truth, path), BLICA_OK);
  assert_int_equal(blica_model_load(ctx, path, &again), BLICA_OK);
  assert_int_equal(again->planes, 9);
  assert_memory_equal(again->cuts, truth->cuts, 9 * sizeof(double));
  assert_string_equal(again->coding->labels[3], "3");
  remove(path);
  blica_fit_options o = blica_fit_options_default();
  o.sources = 2;
  o.method = BLICA_METHOD_FASTICA;
  blica_model *none;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &none), BLICA_ERR_ARGUMENT);
  assert_non_null(strstr(blica_message(ctx), "'x1' has 4"));
  blica_model_free(truth), blica_model_free(again), blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(exact_correlations_and_scales),
                                     cmocka_unit_test(exact_counts_give_the_model),
                                     cmocka_unit_test(samples_of_three_levels), cmocka_unit_test(files_keep_levels)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
