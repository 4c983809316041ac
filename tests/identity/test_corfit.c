/* Methods matched and pairwise: values against plain computation, gradients against central differences,
 * exact correlations as the minimum, Laplace's Hessian, threads. */
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
#include "estimate/gauss/corfit.h"
#include "estimate/gauss/matched_information.h"
#include "num/blas.h"
#include "num/rng.h"

/* Counts of a small sample, their correlations, and a random point. */
typedef struct {
  blica_model *truth;
  blica_data *rows;
  blica_counts *counts;
  blica_cor *cor;
  bl_corfit_data data;
  double *weight, *theta, *gradient, *tails;
  size_t size;
} problem;

typedef enum { PAIRWISE, MATCHED, KINDS } kind;

static void make(problem *p, int n, int k, int u, int exact, kind which) {
  memset(p, 0, sizeof *p);
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = u, o.samples = 200, o.seed = 3, o.exact = exact;
  assert_int_equal(blica_simulate(ctx, &o, &p->truth, exact ? NULL : &p->rows, exact ? &p->counts : NULL), BLICA_OK);
  if (!exact) assert_int_equal(blica_count(ctx, p->rows, &p->counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, p->counts, &p->cor), BLICA_OK);
  p->weight = calloc((size_t)u, sizeof *p->weight);
  for (int s = 0; s < u; s++) p->weight[s] = which == MATCHED ? 150 + s : 0.5;
  p->data = bl_corfit_pairwise_data(ctx, p->counts, p->truth, p->truth->link);
  p->data.weight = p->weight, p->data.thresholds = p->cor->thresholds, p->data.cor = p->cor;
  if (which == MATCHED) p->data.pair = NULL, p->data.work = bl_corfit_matched_work(n, k);
  assert_int_equal(bl_corfit_tails(ctx, &p->data, &p->tails), BLICA_OK);
  p->data.c = calloc((size_t)(n * n * u), sizeof(double));
  p->data.noise = calloc((size_t)(n * u), sizeof(double));
  for (int s = 0; s < u; s++) {
    blica_cor_matrix(p->cor, s, p->data.c + n * n * s);
    for (int i = 0; i < n; i++) p->data.noise[i + n * s] = 0.5 + 0.1 * i;
  }
  p->size = bl_corfit_size(&p->data);
  p->theta = calloc(p->size, sizeof(double));
  p->gradient = calloc(p->size, sizeof(double));
  bl_rng rng = bl_rng_make(5, 0);
  for (size_t i = 0; i < p->size; i++) p->theta[i] = bl_rng_normal(&rng);
}

static void drop(problem *p) {
  bl_free(p->tails);
  free(p->weight), free(p->theta), free(p->gradient), free(p->data.c), free(p->data.noise);
  blica_model_free(p->truth), blica_data_free(p->rows), blica_counts_free(p->counts), blica_cor_free(p->cor);
}

static const int sizes[][3] = {{3, 1, 2}, {5, 2, 4}, {4, 4, 3}, {7, 5, 2}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double evaluate(problem *p, const double *theta, double *gradient) {
  bl_corfit *fit;
  assert_int_equal(bl_corfit_make(ctx, &p->data, &fit), BLICA_OK);
  double value = bl_corfit_eval(fit, theta, gradient);
  bl_corfit_free(fit);
  return value;
}

static void matched_value_is_the_definition(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++) {
    problem p;
    make(&p, sizes[c][0], sizes[c][1], sizes[c][2], 0, MATCHED);
    int n = p.data.n, k = p.data.k;
    double total = 0, *m = calloc((size_t)(n * n), sizeof(double)), *right = calloc((size_t)(n * n), sizeof(double));
    for (int s = 0; s < p.data.u; s++) {
      const double *lv = p.theta + n * k + k * s;
      double diagonal[16];
      for (int i = 0; i < n; i++) {
        diagonal[i] = 1;
        for (int l = 0; l < k; l++) diagonal[i] += p.data.link * exp(lv[l]) * p.theta[i + l * n] * p.theta[i + l * n];
      }
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
          double sum = i == j;
          for (int l = 0; l < k; l++) sum += p.data.link * exp(lv[l]) * p.theta[i + l * n] * p.theta[j + l * n];
          m[i + j * n] = sum / sqrt(diagonal[i] * diagonal[j]) + (i == j ? p.data.noise[i + n * s] : 0);
        }
      memcpy(right, p.data.c + n * n * s, (size_t)(n * n) * sizeof(double));
      for (int i = 0; i < n; i++) right[i * (n + 1)] += p.data.noise[i + n * s];
      assert_int_equal(bl_dpotrf('L', n, m, n), 0);
      bl_dpotrs('L', n, n, m, n, right, n);
      for (int i = 0; i < n; i++) total += 0.5 * p.weight[s] * (2 * log(m[i + i * n]) + right[i + i * n]);
    }
    assert_compare(fabs(evaluate(&p, p.theta, p.gradient) - total), <, 1e-12 * fabs(total));
    free(m), free(right);
    drop(&p);
  }
}

static void gradients_are_derivatives(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++)
    for (int which = 0; which < KINDS; which++) {
      problem p;
      make(&p, sizes[c][0], sizes[c][1], sizes[c][2], 0, (kind)which);
      p.data.precision_mixing = 0.2, p.data.precision_variance = 0.6;
      if (which == MATCHED) p.data.row_power = sizes[c][1];
      double *other = calloc(p.size, sizeof(double));
      evaluate(&p, p.theta, p.gradient);
      for (size_t i = 0; i < p.size; i++) {
        double keep = p.theta[i], h = 1e-5;
        p.theta[i] = keep + h;
        double up = evaluate(&p, p.theta, other);
        p.theta[i] = keep - h;
        double down = evaluate(&p, p.theta, other);
        p.theta[i] = keep;
        assert_compare(fabs((up - down) / (2 * h) - p.gradient[i]), <, 2e-6 * (1 + fabs(p.gradient[i])));
      }
      free(other);
      drop(&p);
    }
}

/* Whatever the noise, exact correlations put the minimum at the truth. */
static void truth_is_stationary_for_exact_counts(void **state) {
  (void)state;
  for (int which = 0; which < KINDS; which++) {
    problem p;
    make(&p, 6, 3, 5, 1, (kind)which);
    memcpy(p.theta, p.truth->mixing, 18 * sizeof(double));
    for (int i = 0; i < 15; i++) p.theta[18 + i] = log(p.truth->variances[i]);
    double value = evaluate(&p, p.theta, p.gradient);
    for (size_t i = 0; i < p.size; i++) assert_compare(fabs(p.gradient[i]), <, 1e-11 * fmax(1000, fabs(value)));
    drop(&p);
  }
}

/* With exact counts the Hessian at the truth is Fisher's information. */
static void information_is_the_hessian_at_the_truth(void **state) {
  (void)state;
  enum { N = 6, K = 3, U = 5, NK = N * K };
  problem p;
  make(&p, N, K, U, 1, MATCHED);
  memcpy(p.theta, p.truth->mixing, NK * sizeof(double));
  for (int i = 0; i < K * U; i++) p.theta[NK + i] = log(p.truth->variances[i]);
  double *mixing = calloc(NK * NK, sizeof(double)), *cross = calloc((size_t)(NK * K * U), sizeof(double)),
         *variances = calloc((size_t)(K * K * U), sizeof(double)),
         *work = calloc(bl_matched_mixing_work(N, K), sizeof(double)), *down = calloc(p.size, sizeof(double));
  for (int s = 0; s < U; s++) {
    const bl_matched_point at = {N, K, p.data.link, p.weight[s], p.theta, p.theta + NK + K * s, p.data.noise + N * s};
    assert_true(bl_matched_mixing(&at, mixing, cross + NK * K * s, variances + K * K * s, work));
  }
  for (int j = 0; j < (int)p.size; j++) {
    const double keep = p.theta[j], step = 1e-5;
    const int source = (j - NK) % K, own = (j - NK) / K;
    p.theta[j] = keep + step;
    evaluate(&p, p.theta, p.gradient);
    p.theta[j] = keep - step;
    evaluate(&p, p.theta, down);
    p.theta[j] = keep;
    for (int i = 0; i < NK; i++) {
      const double wanted = (p.gradient[i] - down[i]) / (2 * step);
      const double got = j < NK ? mixing[i + NK * j] : cross[i + NK * (source + K * own)];
      assert_compare(fabs(got - wanted), <, 1e-5 * fmax(1, fabs(wanted)));
    }
    for (int i = 0; j >= NK && i < K; i++) {
      const int at = NK + K * own + i;
      const double wanted = (p.gradient[at] - down[at]) / (2 * step);
      assert_compare(fabs(variances[i + K * (source + K * own)] - wanted), <, 1e-5 * fmax(1, fabs(wanted)));
    }
  }
  free(mixing), free(cross), free(variances), free(work), free(down);
  drop(&p);
}

/* With priors alone (weights near 0) nothing is determined; with much data everything is. */
static void effective_parameters_go_from_none_to_all(void **state) {
  (void)state;
  problem p;
  make(&p, 6, 2, 5, 1, MATCHED);
  memcpy(p.theta, p.truth->mixing, 12 * sizeof(double));
  for (int i = 0; i < 10; i++) p.theta[12 + i] = log(p.truth->variances[i]);
  p.data.precision_mixing = p.data.precision_variance = 1;
  for (int much = 0; much < 2; much++) {
    for (int s = 0; s < 5; s++) p.weight[s] = much ? 1e8 : 1e-6;
    bl_corfit *fit;
    bl_corfit_laplace laplace;
    assert_int_equal(bl_corfit_make(ctx, &p.data, &fit), BLICA_OK);
    assert_int_equal(bl_corfit_laplace_at(ctx, fit, p.theta, &laplace), BLICA_OK);
    assert_true(laplace.positive);
    double total = laplace.gamma_mixing + laplace.gamma_variance;
    if (much)
      assert_compare(fabs(total - (22 - 2)), <, 0.1); /* less the two scales */
    else
      assert_compare(total, <, 0.01);
    bl_corfit_free(fit);
  }
  drop(&p);
}

/* With the priors alone f is quadratic: its mean over N(m, Sigma), Sigma the priors' variance, has the closed form
 * f(m) + share k u / 2, the same share of Sigma for any k; and before widths are set the average is f itself. */
static void average_of_a_quadratic_is_exact(void **state) {
  (void)state;
  double shares[3];
  const int sources[3] = {1, 3, 11}; /* fewer than signs, not a power of two, more than pairs of points */
  for (int c = 0; c < 3; c++) {
    problem p;
    bl_corfit *fit;
    bl_corfit_average *average;
    make(&p, 12, sources[c], 5, 0, MATCHED);
    p.data.precision_mixing = 0.2, p.data.precision_variance = 0.6;
    for (int s = 0; s < 5; s++) p.weight[s] = 0;
    assert_int_equal(bl_corfit_make(ctx, &p.data, &fit), BLICA_OK);
    assert_int_equal(bl_corfit_average_make(ctx, fit, &p.data, 1, 1, 2, &average), BLICA_OK);
    double plain = bl_corfit_eval(fit, p.theta, p.gradient);
    assert_true(bl_corfit_average_eval(average, p.theta, p.gradient) == plain);
    double trace = bl_corfit_average_update(average, p.theta), locals = 5.0 * sources[c];
    assert_compare(fabs(trace - locals / 0.6), <, 1e-7 * trace);
    shares[c] = (bl_corfit_average_eval(average, p.theta, p.gradient) - plain) / (0.5 * locals);
    assert_compare(shares[c], >, 0.5);
    assert_compare(shares[c], <=, 1);
    assert_compare(fabs(shares[c] - shares[0]), <, 1e-7);
    bl_corfit_average_free(average), bl_corfit_free(fit);
    drop(&p);
  }
}

static void gradient_of_the_average(void **state) {
  (void)state;
  problem p;
  bl_corfit *fit;
  bl_corfit_average *average;
  make(&p, 6, 3, 9, 0, MATCHED);
  p.data.precision_mixing = 0.2, p.data.precision_variance = 1;
  assert_int_equal(bl_corfit_make(ctx, &p.data, &fit), BLICA_OK);
  assert_int_equal(bl_corfit_average_make(ctx, fit, &p.data, 1, 1, 2, &average), BLICA_OK);
  bl_corfit_average_update(average, p.theta);
  double *other = calloc(p.size, sizeof(double)), plain = bl_corfit_eval(fit, p.theta, other);
  assert_compare(fabs(bl_corfit_average_eval(average, p.theta, p.gradient) - plain), >, 1); /* there are widths */
  for (size_t i = 0; i < p.size; i++) {
    double keep = p.theta[i], h = 1e-5;
    p.theta[i] = keep + h;
    double up = bl_corfit_average_eval(average, p.theta, other);
    p.theta[i] = keep - h;
    double down = bl_corfit_average_eval(average, p.theta, other);
    p.theta[i] = keep;
    assert_compare(fabs((up - down) / (2 * h) - p.gradient[i]), <, 2e-6 * (1 + fabs(p.gradient[i])));
  }
  free(other);
  bl_corfit_average_free(average), bl_corfit_free(fit);
  drop(&p);
}

/* Products from the packed pairs, as for large n, against those from full matrices. */
static void pairs_are_the_full_matrices(void **state) {
  (void)state;
  problem p;
  make(&p, 9, 4, 3, 0, MATCHED);
  double *gradient = calloc(p.size, sizeof(double)), full = evaluate(&p, p.theta, p.gradient), *c = p.data.c, most = 0;
  p.data.c = NULL;
  double packed = evaluate(&p, p.theta, gradient);
  p.data.c = c;
  for (size_t i = 0; i < p.size; i++) most = fmax(most, fabs(p.gradient[i]));
  assert_compare(fabs(packed - full), <=, 1e-13 * fabs(full));
  for (size_t i = 0; i < p.size; i++) assert_compare(fabs(gradient[i] - p.gradient[i]), <=, 1e-12 * most);
  free(gradient);
  drop(&p);
}

/* Eight segments in lanes, padding included, against the plain term, at every SIMD level. */
static void lanes_are_the_plain_term(void **state) {
  (void)state;
  const int shapes[][3] = {{2, 1, 1}, {5, 2, 8}, {6, 6, 13}, {11, 7, 17}};
  for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++)
    for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
      problem p;
      blica_set_simd(ctx, (blica_simd)level);
      make(&p, shapes[c][0], shapes[c][1], shapes[c][2], 0, MATCHED);
      int n = p.data.n, u = p.data.u;
      bl_corfit_data wide = {.n = n, .k = p.data.k, .u = u, .link = p.data.link, .weight = p.weight};
      assert_int_equal(bl_corfit_matched_data(ctx, p.cor, &wide), BLICA_OK);
      assert_true(wide.lanes);
      for (int s = 0; s < u; s++)
        for (int i = 0; i < n; i++) {
          p.data.noise[i + n * s] = wide.lane_noise[(s / BL_LANES * n + i) * BL_LANES + s % BL_LANES];
          assert_true(p.data.noise[i + n * s] == wide.noise[i + n * s]);
        }
      double *gradient = calloc(p.size, sizeof(double)), most = 0;
      double plain = evaluate(&p, p.theta, p.gradient);
      bl_corfit_data keep = p.data;
      p.data = wide;
      double value = evaluate(&p, p.theta, gradient);
      p.data = keep;
      for (size_t i = 0; i < p.size; i++) most = fmax(most, fabs(p.gradient[i]));
      assert_compare(fabs(value - plain), <=, 1e-13 * fabs(plain));
      for (size_t i = 0; i < p.size; i++) assert_compare(fabs(gradient[i] - p.gradient[i]), <=, 1e-12 * most);
      bl_corfit_matched_free(&wide), free(gradient);
      drop(&p);
    }
  blica_set_simd(ctx, BLICA_SIMD_AUTO);
}

static void threads_do_not_change_bits(void **state) {
  (void)state;
  for (int which = 0; which < KINDS; which++) {
    problem p;
    make(&p, 5, 3, 13, 0, (kind)which);
    double *again = calloc(p.size, sizeof(double));
    blica_set_threads(ctx, 1);
    double one = evaluate(&p, p.theta, p.gradient);
    for (int threads = 2; threads <= 7; threads += 5) {
      blica_set_threads(ctx, threads);
      double many = evaluate(&p, p.theta, again);
      assert_memory_equal(&one, &many, sizeof one);
      assert_memory_equal(p.gradient, again, p.size * sizeof(double));
    }
    blica_set_threads(ctx, 0);
    free(again);
    drop(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(matched_value_is_the_definition),
                                     cmocka_unit_test(gradients_are_derivatives),
                                     cmocka_unit_test(truth_is_stationary_for_exact_counts),
                                     cmocka_unit_test(information_is_the_hessian_at_the_truth),
                                     cmocka_unit_test(effective_parameters_go_from_none_to_all),
                                     cmocka_unit_test(average_of_a_quadratic_is_exact),
                                     cmocka_unit_test(gradient_of_the_average),
                                     cmocka_unit_test(pairs_are_the_full_matrices),
                                     cmocka_unit_test(lanes_are_the_plain_term),
                                     cmocka_unit_test(threads_do_not_change_bits)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
