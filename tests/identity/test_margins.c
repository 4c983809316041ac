/* The margins in method matched: gradient and information against differences, the variance of misfit, and what they
 * are worth when cuts are common to all segments and when they are not. */
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
#include "estimate/gauss/gauss.h"
#include "note.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"
#include "num/rng.h"
#include "solvers.h"

/* Exact correlations of a model with cuts, and theta at that model. */
typedef struct {
  blica_model *truth;
  blica_counts *counts;
  blica_cor *cor;
  bl_gauss *gauss;
  bl_margins *margins;
  bl_term term;
  double *theta, *gradient;
  size_t size;
} problem;

static void make(problem *p, int n, int k, int u) {
  memset(p, 0, sizeof *p);
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = u, o.samples = 2000, o.seed = 4, o.exact = 1, o.intercepts = 2;
  assert_int_equal(blica_simulate(ctx, &o, &p->truth, NULL, &p->counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, p->counts, &p->cor), BLICA_OK);
  const bl_layout layout = {.n = n, .k = k, .u = u, .locals = k, .link = p->truth->link};
  assert_int_equal(bl_gauss_make(ctx, &layout, p->cor, NULL, 1, &p->gauss), BLICA_OK);
  p->size = bl_layout_size(&layout);
  p->theta = calloc(p->size, sizeof(double));
  p->gradient = calloc(p->size, sizeof(double));
  memcpy(p->theta, p->truth->mixing, sizeof(double) * (size_t)(n * k));
  for (int i = 0; i < k * u; i++) p->theta[n * k + i] = log(p->truth->variances[i]);
  assert_int_equal(bl_margins_make(ctx, p->gauss, NULL, &p->margins), BLICA_OK);
  p->term = bl_margins_term(p->margins);
}

/* The variance of misfit at theta, with which the term counts from now on. */
static double renew(problem *p) {
  assert_int_equal(p->term.renew(ctx, p->margins, p->theta), BLICA_OK);
  return bl_margins_misfit(p->margins);
}

static void drop(problem *p) {
  bl_free(p->margins), bl_free(p->gauss);
  free(p->theta), free(p->gradient);
  blica_model_free(p->truth), blica_counts_free(p->counts), blica_cor_free(p->cor);
}

static double term(problem *p, size_t i, double change, double *gradient) {
  const double keep = p->theta[i];
  p->theta[i] = keep + change;
  memset(gradient, 0, p->size * sizeof *gradient);
  const double value = p->term.eval(p->margins, p->theta, gradient);
  p->theta[i] = keep;
  return value;
}

/* Away from the truth, where thresholds are missed. */
static void gradient_is_the_derivative(void **state) {
  (void)state;
  const int sizes[][3] = {{3, 1, 2}, {6, 2, 5}, {9, 4, 3}};
  for (int c = 0; c < 3; c++) {
    problem p;
    make(&p, sizes[c][0], sizes[c][1], sizes[c][2]);
    bl_rng rng = bl_rng_make(7, 0);
    for (size_t i = 0; i < p.size; i++) p.theta[i] += 0.5 * bl_rng_normal(&rng);
    renew(&p);
    double *other = calloc(p.size, sizeof(double));
    term(&p, 0, 0, p.gradient);
    for (size_t i = 0; i < p.size; i++) {
      const double step = 1e-5, up = term(&p, i, step, other), down = term(&p, i, -step, other);
      assert_compare(fabs((up - down) / (2 * step) - p.gradient[i]), <, 1e-6 * (1 + fabs(p.gradient[i])));
    }
    free(other);
    drop(&p);
  }
}

/* With many segments the cuts are as good as known, and the Hessian at the truth is the information. */
static void information_is_the_hessian(void **state) {
  (void)state;
  enum { N = 7, K = 2, U = 300, S = 5 };
  problem p;
  double information[K * K] = {0}, *up, *down, work[64];
  make(&p, N, K, U);
  up = calloc(p.size, sizeof(double)), down = calloc(p.size, sizeof(double));
  assert_compare(renew(&p), <, 1e-6);
  assert_true(p.term.work_size <= 64);
  assert_true(p.term.inform(p.margins, p.theta, S, information, work));
  for (size_t j = 0; j < K; j++) {
    const size_t at = N * K + K * S + j;
    term(&p, at, 1e-4, up), term(&p, at, -1e-4, down);
    for (size_t l = 0; l < K; l++) {
      const double second = (up[N * K + K * S + l] - down[N * K + K * S + l]) / 2e-4;
      assert_compare(fabs(second - information[l + K * j]), <, 0.03 * information[j * (K + 1)]);
    }
  }
  free(up), free(down);
  drop(&p);
}

/* Thresholds with noise of a known variance on top. */
static void misfit_is_the_variance_on_top(void **state) {
  (void)state;
  problem p;
  const double sd = 0.3;
  make(&p, 8, 2, 40);
  bl_rng rng = bl_rng_make(9, 0);
  for (int i = 0; i < 8 * 40; i++) p.cor->thresholds[i] += sd * bl_rng_normal(&rng);
  bl_free(p.margins);
  assert_int_equal(bl_margins_make(ctx, p.gauss, NULL, &p.margins), BLICA_OK);
  const double misfit = renew(&p);
  printf("misfit: standard deviation %.3f, put in %.3f\n", sqrt(misfit), sd);
  assert_compare(fabs(sqrt(misfit) - sd), <, 0.15 * sd);
  drop(&p);
}

/* The term once more, from its definition: a dense system for the cuts and all means. */
static double plain_term(const blica_model *m, double misfit) {
  const int n = m->n, k = m->k, u = m->u, size = n + k * u;
  double *h = calloc((size_t)size * (size_t)size, sizeof *h), *right = calloc((size_t)size, sizeof *right), value = 0;
  double *x = calloc((size_t)size, sizeof *x);
  for (int i = n; i < size; i++) h[i * (size + 1)] = 1.0 / 9;
  for (int s = 0; s < u; s++)
    for (int i = 0; i < n; i++) {
      double total = 1, t = m->thresholds[i + n * s], phi = bl_phi_density(t);
      for (int j = 0; j < k; j++)
        total += m->link * m->mixing[i + n * j] * m->mixing[i + n * j] * m->variances[j + k * s];
      const double root = sqrt(1 / (bl_phi_cdf(t) * bl_phi_cdf(-t) / (phi * phi * m->samples[s]) + misfit));
      memset(x, 0, (size_t)size * sizeof *x); /* root t = x'(cuts, means) + error */
      x[i] = -root / sqrt(total);
      for (int j = 0; j < k; j++) x[n + k * s + j] = root * sqrt(m->link / total) * m->mixing[i + n * j];
      for (int b = 0; b < size; b++) {
        right[b] += x[b] * root * t;
        for (int a = 0; a < size && x[b] != 0; a++) h[a + size * b] += x[a] * x[b];
      }
      value += 0.5 * root * t * root * t;
    }
  for (int i = 0; i < n; i++) h[i * (size + 1)] += 1e-9; /* flat along what means and cuts share but for their prior */
  memcpy(x, right, (size_t)size * sizeof *x);
  assert_int_equal(solve_definite(size, 1, h, right), 0);
  for (int i = 0; i < size; i++) value -= 0.5 * x[i] * right[i];
  free(h), free(right), free(x);
  return value;
}

/* The objective of the last stage at a model: without an average, as from 15 variables on. */
static double whole(bl_evaluator *fit, const blica_model *m, double misfit, double *theta, double *gradient) {
  memcpy(theta, m->mixing, sizeof(double) * (size_t)(m->n * m->k));
  for (int i = 0; i < m->k * m->u; i++) theta[m->n * m->k + i] = log(m->variances[i]);
  return bl_evaluate(fit, theta, gradient) + plain_term(m, misfit);
}

/* Source j in another scale. */
static void scale(blica_model *m, int j, double log_factor) {
  for (int i = 0; i < m->n; i++) m->mixing[i + m->n * j] *= exp(log_factor);
  for (int s = 0; s < m->u; s++) m->variances[j + m->k * s] *= exp(-2 * log_factor);
}

/* A fit that says it has converged is at a minimum of that objective, by differences. A model has scales of its own;
 * the best under the priors are found first. */
static void a_fit_is_at_the_minimum(void **state) {
  (void)state;
  enum { N = 16, K = 4, U = 6 };
  blica_simulate_options how = blica_simulate_options_default();
  blica_fit_options o = blica_fit_options_default();
  blica_model *m;
  blica_data *rows;
  blica_counts *counts;
  blica_cor *cor;
  bl_gauss *gauss;
  bl_evaluator *fit;
  how.variables = N, how.sources = K, how.segments = U, how.samples = 800, how.seed = 6, how.intercepts = 0.5;
  o.sources = K;
  assert_int_equal(blica_simulate(ctx, &how, NULL, &rows, NULL), BLICA_OK);
  assert_int_equal(blica_count(ctx, rows, &counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  assert_int_equal(blica_fit(ctx, &(blica_input){.cor = cor}, &o, &m), BLICA_OK);
  assert_int_equal(m->fit.stop, BLICA_STOP_CONVERGED);
  const double sd[] = {m->fit.prior_mixing, m->fit.prior_variance}, misfit = pow(note(m, "margin_misfit"), 2);
  bl_criterion criterion = {.layout = {.n = N, .k = K, .u = U, .locals = K, .link = m->link}, .row_power = K - 3};
  criterion.precision_mixing = 1 / (sd[0] * sd[0]), criterion.precision_variance = 1 / (sd[1] * sd[1]);
  assert_int_equal(bl_gauss_make(ctx, &criterion.layout, cor, NULL, 1, &gauss), BLICA_OK);
  bl_criterion_add(&criterion, bl_gauss_term(gauss));
  assert_int_equal(bl_evaluator_make(ctx, &criterion, &fit), BLICA_OK);
  double theta[N * K + K * U], gradient[N * K + K * U], most = 0;
  for (int sweep = 0; sweep < 8; sweep++)
    for (int j = 0; j < K; j++) {
      double low, middle = whole(fit, m, misfit, theta, gradient), high;
      const double h = 1e-3;
      scale(m, j, -h), low = whole(fit, m, misfit, theta, gradient);
      scale(m, j, 2 * h), high = whole(fit, m, misfit, theta, gradient);
      scale(m, j, -h - 0.5 * h * (high - low) / (high - 2 * middle + low));
    }
  const double value = whole(fit, m, misfit, theta, gradient);
  for (int i = 0; i < N * K + K * U; i++) {
    double *x = i < N * K ? &m->mixing[i] : &m->variances[i - N * K], keep = *x, h = 1e-4;
    *x = i < N * K ? keep + h : keep * exp(h);
    const double up = whole(fit, m, misfit, theta, gradient);
    *x = i < N * K ? keep - h : keep * exp(-h);
    most = fmax(most, fabs(up - whole(fit, m, misfit, theta, gradient)) / (2 * h));
    *x = keep;
  }
  printf("objective %.6f, margins %.6f of it, misfit %.4f, largest relative slope %.1e\n", value, plain_term(m, misfit),
         misfit, most / fabs(value));
  assert_compare(plain_term(m, misfit), >, 10);
  assert_compare(most / fabs(value), <, 1e-7);
  bl_evaluator_free(fit), bl_free(gauss);
  blica_cor_free(cor), blica_counts_free(counts), blica_data_free(rows), blica_model_free(m);
}

/* Mean 1 - MCS with margins and without (all cuts 0, so that nothing is said about margins) over some data sets. With
 * `drift` each segment has cuts of its own. */
static void errors(double drift, double error[2]) {
  enum { N = 6, K = 3, U = 20, SAMPLES = 300, SETS = 12 };
  error[0] = error[1] = 0;
  for (int set = 0; set < SETS; set++) {
    blica_simulate_options how = blica_simulate_options_default();
    blica_model *truth, *fit;
    blica_data *data;
    int8_t *x = calloc((size_t)N * U * SAMPLES, 1);
    int32_t *segment = calloc((size_t)U * SAMPLES, sizeof *segment);
    bl_rng rng = bl_rng_make(11, (uint64_t)set);
    how.variables = N, how.sources = K, how.segments = U, how.seed = 50 + (uint64_t)set, how.mean_range = 2;
    assert_int_equal(blica_simulate(ctx, &how, &truth, NULL, NULL), BLICA_OK);
    for (int r = 0; r < U * SAMPLES; r++) {
      const int s = segment[r] = r / SAMPLES;
      static double cut[N];
      double z[K];
      for (int i = 0; r % SAMPLES == 0 && i < N; i++) cut[i] = drift * bl_rng_normal(&rng);
      for (int j = 0; j < K; j++)
        z[j] = truth->means[j + K * s] + sqrt(truth->variances[j + K * s]) * bl_rng_normal(&rng);
      for (int i = 0; i < N; i++) {
        double y = bl_rng_normal(&rng) - cut[i];
        for (int j = 0; j < K; j++) y += sqrt(truth->link) * truth->mixing[i + N * j] * z[j];
        x[r * N + i] = y > 0;
      }
    }
    assert_int_equal(
        blica_pack(ctx, &(blica_table){.rows = U * SAMPLES, .n = N, .x = x, .segment = segment, .u = U}, &data),
        BLICA_OK);
    for (int without = 0; without < 2; without++) {
      blica_fit_options o = blica_fit_options_default();
      double mcs, cosine[K];
      int matching[K];
      o.sources = K;
      o.thresholds = without ? BLICA_THRESHOLDS_NONE : BLICA_THRESHOLDS_ITEMS;
      assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &fit), BLICA_OK);
      assert_int_equal(blica_compare(ctx, N, K, truth->mixing, fit->mixing, &mcs, matching, cosine), BLICA_OK);
      error[without] += (1 - mcs) / SETS;
      blica_model_free(fit);
    }
    blica_model_free(truth), blica_data_free(data);
    free(x), free(segment);
  }
}

static void margins_help_and_do_no_harm(void **state) {
  (void)state;
  double error[2];
  errors(0, error);
  printf("common cuts: 1 - MCS %.4f with margins, %.4f without\n", error[0], error[1]);
  assert_compare(error[0], <, 0.85 * error[1]);
  errors(1.5, error);
  printf("cuts that change: 1 - MCS %.4f with margins, %.4f without\n", error[0], error[1]);
  assert_compare(error[0], <, 1.15 * error[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradient_is_the_derivative), cmocka_unit_test(information_is_the_hessian),
      cmocka_unit_test(misfit_is_the_variance_on_top), cmocka_unit_test(a_fit_is_at_the_minimum),
      cmocka_unit_test(margins_help_and_do_no_harm)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
