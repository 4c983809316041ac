/* Simulated models and data: the rules of section 6, exact probabilities, equal bits on any number of threads. */
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
#include "num/linear/blas.h"

static blica_simulate_options sizes(int n, int k, int u, int64_t samples, uint64_t seed) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n;
  o.sources = k;
  o.segments = u;
  o.samples = samples;
  o.seed = seed;
  return o;
}

static void same_data(const blica_data *a, const blica_data *b) {
  assert_true(a->rows == b->rows && a->u == b->u && a->n == b->n);
  assert_memory_equal(a->row_segment, b->row_segment, (size_t)a->rows * sizeof *a->row_segment);
  for (int s = 0; s < a->u; s++)
    assert_memory_equal(a->ones[s], b->ones[s], (size_t)a->words[s] * (size_t)a->n * sizeof **a->ones);
}

/* 3001 rows: several tasks a segment, the last word part full. n = 21 takes the path of the quantile. */
static void threads_do_not_matter(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 7};
  blica_model *model[3];
  blica_data *data[3];
  for (int n = 5; n <= 21; n += 16) {
    blica_simulate_options o = sizes(n, 4, 3, 3001, 42);
    for (int t = 0; t < 3; t++) {
      blica_set_threads(ctx, threads[t]);
      assert_int_equal(blica_simulate(ctx, &o, &model[t], &data[t], NULL), BLICA_OK);
    }
    blica_set_threads(ctx, 0);
    for (int t = 0; t < 3; t++) {
      assert_memory_equal(model[0]->mixing, model[t]->mixing, (size_t)n * 4 * sizeof(double));
      same_data(data[0], data[t]);
    }
    for (int s = 0; s < 3; s++)
      for (int i = 0; i < n; i++) /* bits past the last row are clear */
        assert_true(data[0]->ones[s][(i + 1) * data[0]->words[s] - 1] >> (3001 % 64) == 0);
    for (int t = 0; t < 3; t++) {
      blica_model_free(model[t]);
      blica_data_free(data[t]);
    }
  }
}

static void seeds_do_matter(void **state) {
  (void)state;
  blica_model *a, *b;
  blica_simulate_options o = sizes(5, 5, 2, 10, 1), p = sizes(5, 5, 2, 10, 2);
  assert_int_equal(blica_simulate(ctx, &o, &a, NULL, NULL), BLICA_OK);
  assert_int_equal(blica_simulate(ctx, &p, &b, NULL, NULL), BLICA_OK);
  assert_true(memcmp(a->mixing, b->mixing, 25 * sizeof(double)) != 0);
  blica_model_free(a);
  blica_model_free(b);
}

static double condition(int n, int k, const double *a) {
  double *copy = malloc((size_t)(n * k) * sizeof *copy), *sigma = malloc((size_t)k * sizeof *sigma);
  memcpy(copy, a, (size_t)(n * k) * sizeof *copy);
  assert_int_equal(bl_dgesvd(n, k, copy, n, sigma), 0);
  double value = sigma[0] / sigma[k - 1];
  free(copy);
  free(sigma);
  return value;
}

/* The condition number of one column is 1. */
static void many_items_of_one_source(void **state) {
  (void)state;
  blica_model *m;
  blica_simulate_options o = sizes(30, 1, 2, 10, 1);
  assert_int_equal(blica_simulate(ctx, &o, &m, NULL, NULL), BLICA_OK);
  blica_model_free(m);
}

/* The model is in canonical form, so the scales drawn show only up to a factor g_j per source: the sds of
 * source j lie in (0.5, 3)/g_j and column j of A in (-3, 3) g_j. */
static void ranges_of_section_6(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    blica_model *m;
    blica_simulate_options o = sizes(8, 8, 40, 10, seed);
    assert_int_equal(blica_simulate(ctx, &o, &m, NULL, NULL), BLICA_OK);
    double a[64];
    for (int j = 0; j < 8; j++) {
      double low = INFINITY, high = 0, largest = 0, mean = 0;
      for (int s = 0; s < 40; s++) {
        double sd = sqrt(m->variances[j + 8 * s]);
        low = fmin(low, sd);
        high = fmax(high, sd);
        mean = fmax(mean, fabs(m->means[j + 8 * s]));
      }
      for (int i = 0; i < 8; i++) largest = fmax(largest, fabs(m->mixing[i + 8 * j]));
      double g = 3 / high; /* at most the true factor's bound */
      assert_compare(high / low, >, 2);
      assert_compare(high / low, <, 6);
      assert_compare(largest / g, <, 3 * 1.35);
      assert_compare(mean * g, <, 0.5 * 1.35);
      for (int i = 0; i < 8; i++) a[i + 8 * j] = m->mixing[i + 8 * j] / g;
    }
    assert_compare(condition(8, 8, a), <, 20 * 1.6);
    assert_string_equal(m->method, "truth");
    blica_model_free(m);
  }
}

/* Exact pair probabilities against a large sample: chi-square of all cells of all pairs. */
static void sample_agrees_with_exact(void **state) {
  (void)state;
  enum { N = 6, K = 3, U = 4 };
  blica_simulate_options o = sizes(N, K, U, 200000, 5);
  blica_model *m;
  blica_data *data;
  blica_counts *sample, *exact;
  assert_int_equal(blica_simulate(ctx, &o, &m, &data, NULL), BLICA_OK);
  assert_int_equal(blica_count(ctx, data, &sample), BLICA_OK);
  assert_int_equal(blica_simulate_exact(ctx, m, &exact), BLICA_OK);
  assert_int_equal(exact->exact, 1);
  double worst = 0, sum = 0;
  int cells = 0;
  for (int s = 0; s < U; s++)
    for (int j = 0; j < N; j++)
      for (int i = 0; i < j; i++) {
        double a[4], b[4], total = 0;
        blica_counts_table(sample, s, i, j, a);
        blica_counts_table(exact, s, i, j, b);
        for (int c = 0; c < 4; c++) {
          double z = (a[c] - b[c]) / sqrt(b[c] * (1 - b[c] / 200000));
          worst = fmax(worst, fabs(z));
          sum += z * z;
          cells++;
          total += b[c];
        }
        assert_compare(fabs(total - 200000), <, 1e-9);
      }
  /* 240 dependent standard normals: 4.5 is beyond 1 in 600 sets; */
  assert_compare(worst, <, 4.5);
  assert_compare(sum / cells, >, 0.4);
  assert_compare(sum / cells, <, 1.8);
  blica_model_free(m);
  blica_data_free(data);
  blica_counts_free(sample);
  blica_counts_free(exact);
}

/* The correlations and thresholds of exact counts are those of the model. */
static void exact_counts_give_the_model_back(void **state) {
  (void)state;
  enum { N = 7, K = 7, U = 5 };
  blica_simulate_options o = sizes(N, K, U, 1000, 9);
  blica_model *m;
  blica_counts *counts;
  blica_cor *cor;
  o.exact = 1;
  assert_int_equal(blica_simulate(ctx, &o, &m, NULL, &counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  for (int s = 0; s < U; s++)
    for (int j = 0; j < N; j++) {
      assert_compare(fabs(cor->thresholds[j + s * N] - m->thresholds[j + s * N]), <, 1e-12);
      for (int i = 0; i < j; i++) {
        double cov = 0, vi = 1, vj = 1;
        for (int l = 0; l < K; l++) {
          double v = m->link * m->variances[l + s * K], ai = m->mixing[i + l * N], aj = m->mixing[j + l * N];
          cov += ai * aj * v;
          vi += ai * ai * v;
          vj += aj * aj * v;
        }
        assert_compare(fabs(cor->rho[blica_pair(i, j) + s * cor->pairs] - cov / sqrt(vi * vj)), <, 1e-10);
      }
    }
  blica_model_free(m);
  blica_counts_free(counts);
  blica_cor_free(cor);
}

static void refuse(const blica_simulate_options *o, const char *what) {
  blica_model *m = (blica_model *)1;
  blica_data *d = (blica_data *)1;
  assert_int_equal(blica_simulate(ctx, o, &m, &d, NULL), BLICA_ERR_ARGUMENT);
  assert_null(m);
  assert_null(d);
  assert_non_null(strstr(blica_message(ctx), what));
}

static void bad_options(void **state) {
  (void)state;
  blica_simulate_options o = sizes(3, 4, 2, 10, 1);
  refuse(&o, "4 sources of 3 variables");
  o = sizes(1, 1, 2, 10, 1);
  refuse(&o, "option variables: '1'");
  o = sizes(3, 0, 2, 10, 1);
  refuse(&o, "option sources: '0'");
  o = sizes(3, 3, 0, 10, 1);
  refuse(&o, "option segments: '0'");
  o = sizes(3, 3, 2, 0, 1);
  refuse(&o, "option samples: '0'");
  o = sizes(3, 3, 2, 10, 1);
  o.sd_low = 4;
  refuse(&o, "sd_low is 4");
  o.sd_low = NAN;
  refuse(&o, "sd_low");
}

static void bad_samples_of_a_model(void **state) {
  (void)state;
  blica_model *m;
  blica_data *d;
  blica_counts *c;
  blica_simulate_options o = sizes(3, 3, 2, 10, 1);
  assert_int_equal(blica_simulate(ctx, &o, &m, NULL, NULL), BLICA_OK);
  m->samples[1] = 2.5;
  assert_int_equal(blica_simulate_rows(ctx, m, 1, &d), BLICA_ERR_ARGUMENT);
  assert_null(d);
  assert_int_equal(blica_simulate_exact(ctx, m, &c), BLICA_OK); /* nominal numbers may be fractional */
  blica_counts_free(c);
  m->samples[1] = 0;
  assert_int_equal(blica_simulate_exact(ctx, m, &c), BLICA_ERR_ARGUMENT);
  assert_null(c);
  blica_model_free(m);
}

static int stop_at_once(const blica_progress *progress, void *user) {
  (void)progress;
  (void)user;
  return 1;
}

static void interrupt(void **state) {
  (void)state;
  blica_ctx *own;
  blica_model *m;
  blica_data *d;
  blica_simulate_options o = sizes(3, 3, 2, 10, 1);
  assert_int_equal(blica_ctx_create(&own), BLICA_OK);
  blica_set_poll(own, stop_at_once, NULL);
  assert_int_equal(blica_simulate(own, &o, &m, &d, NULL), BLICA_ERR_INTERRUPTED);
  assert_null(m);
  assert_null(d);
  blica_ctx_free(own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(seeds_do_matter),
      cmocka_unit_test(many_items_of_one_source),
      cmocka_unit_test(ranges_of_section_6),
      cmocka_unit_test(sample_agrees_with_exact),
      cmocka_unit_test(exact_counts_give_the_model_back),
      cmocka_unit_test(bad_options),
      cmocka_unit_test(bad_samples_of_a_model),
      cmocka_unit_test(interrupt),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
