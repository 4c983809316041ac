/* Standard errors against plain computations.
 *
 * Of maximum likelihood: with one source the probability of a row is an integral over one variable, here by the
 * trapezoidal rule. Scores are central differences in parameters that keep the mean of log v and the average mean of
 * the source at 0; the inverse of the sum of their squares is the covariance. Of means: with as many sources as items
 * they are a function of A and of the thresholds, whose derivatives give their errors; those drawn are means over 200.
 */
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
#include "inference/errors.h"
#include "inference/scores/row_scores.h"
#include "level_rows.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"
#include "solvers.h"

static void near(const char *what, int at, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("%s %d: %.12g, not %.12g", what, at, found, wanted);
}

/* ---- maximum likelihood ---- */

enum { ITEMS = 4, SEGMENTS = 2, CUTS = 5, FREE = ITEMS + 1 + 1 + CUTS, ALL = ITEMS + 2 * SEGMENTS + CUTS };
static const int levels[ITEMS] = {2, 3, 2, 2}, first_cut[ITEMS] = {0, 1, 3, 4};

/* From the free parameters (A, log v_1, mu_1, cuts) to (A, log v, mu, cuts). */
static void expand(const double *x, const double *rows, double *all) {
  memcpy(all, x, ITEMS * sizeof *all);
  all[ITEMS] = x[ITEMS], all[ITEMS + 1] = -x[ITEMS];
  all[ITEMS + 2] = x[ITEMS + 1], all[ITEMS + 3] = -x[ITEMS + 1] * rows[0] / rows[1];
  memcpy(all + ITEMS + 2 * SEGMENTS, x + ITEMS + 2, CUTS * sizeof *all);
}

static double log_p(double link, const double *all, int s, const int8_t *x) {
  const double h = 0.05, sd = exp(0.5 * all[ITEMS + s]), mu = all[ITEMS + SEGMENTS + s];
  const double *cuts = all + ITEMS + 2 * SEGMENTS;
  double sum = 0;
  for (int node = -170; node <= 170; node++) {
    double product = h * bl_phi_density(h * node);
    for (int i = 0; i < ITEMS; i++) {
      const double location = sqrt(link) * all[i] * (mu + sd * h * node), *own = cuts + first_cut[i];
      if (x[i] == BLICA_MISSING) continue;
      product *= (x[i] ? bl_phi_cdf(location - own[x[i] - 1]) : 1) -
                 (x[i] + 1 < levels[i] ? bl_phi_cdf(location - own[x[i]]) : 0);
    }
    sum += product;
  }
  return log(sum);
}

/* The covariance [ALL,ALL] of all parameters. */
static void plain_covariance(const blica_model *m, const level_rows *y, double *covariance) {
  double x[FREE], all[ALL], information[FREE * FREE] = {0}, jacobian[ALL * FREE], score[FREE], other[ALL];
  memcpy(x, m->mixing, ITEMS * sizeof *x);
  x[ITEMS] = log(m->variances[0]), x[ITEMS + 1] = m->means[0];
  memcpy(x + ITEMS + 2, m->cuts, CUTS * sizeof *x);
  expand(x, m->samples, all);
  near("log v", 1, all[ITEMS + 1], log(m->variances[1]), 1e-9); /* the model is in its canonical scale */
  near("mean", 1, all[ITEMS + 3], m->means[1], 1e-6);
  for (int64_t r = 0; r < y->rows; r++) {
    for (int p = 0; p < FREE; p++) {
      const double keep = x[p], h = 1e-4;
      x[p] = keep + h;
      expand(x, m->samples, all);
      const double up = log_p(m->link, all, y->segment[r], y->x + ITEMS * r);
      x[p] = keep - h;
      expand(x, m->samples, all);
      score[p] = (up - log_p(m->link, all, y->segment[r], y->x + ITEMS * r)) / (2 * h);
      x[p] = keep;
    }
    for (int a = 0; a < FREE; a++)
      for (int b = 0; b < FREE; b++) information[a + FREE * b] += score[a] * score[b];
  }
  assert_int_equal(bl_dpotrf('L', FREE, information, FREE), 0);
  assert_int_equal(bl_dpotri('L', FREE, information, FREE), 0);
  expand((const double[FREE]){0}, m->samples, all);
  for (int p = 0; p < FREE; p++) { /* expand is linear */
    double unit[FREE] = {0};
    unit[p] = 1;
    expand(unit, m->samples, other);
    for (int a = 0; a < ALL; a++) jacobian[a + ALL * p] = other[a];
  }
  for (int a = 0; a < ALL; a++)
    for (int b = 0; b < ALL; b++) {
      covariance[a + ALL * b] = 0;
      for (int p = 0; p < FREE; p++)
        for (int q = 0; q < FREE; q++)
          covariance[a + ALL * b] +=
              jacobian[a + ALL * p] * information[(p > q ? p : q) + FREE * (p > q ? q : p)] * jacobian[b + ALL * q];
    }
}

static void errors_of_maximum_likelihood(void **state) {
  (void)state;
  level_rows y = draw_level_rows(ITEMS, SEGMENTS, 400, levels, 0.05, 3);
  blica_data *data = pack_level_rows(&y);
  blica_model *m = NULL;
  bl_rows *rows;
  blica_fit_options o = blica_fit_options_default();
  enum { P = ITEMS + SEGMENTS };
  double covariance[P * P], mean_se[SEGMENTS], cut_se[CUTS], wanted[ALL * ALL];
  bool found;
  o.sources = 1;
  o.method = BLICA_METHOD_MLE, o.prior = BLICA_PRIOR_NONE;
  if (blica_fit(ctx, &(blica_input){.data = data}, &o, &m) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  assert_int_equal(bl_rows_make(ctx, m, data, &rows), BLICA_OK);
  assert_int_equal(bl_information_errors(ctx, m, rows, covariance, mean_se, cut_se, &found), BLICA_OK);
  assert_true(found);
  plain_covariance(m, &y, wanted);
  for (int a = 0; a < P; a++)
    for (int b = 0; b < P; b++) {
      const double scale = sqrt(wanted[a * (ALL + 1)] * wanted[b * (ALL + 1)]);
      near("covariance", a + P * b, covariance[a + P * b] / scale, wanted[a + ALL * b] / scale, 2e-3);
    }
  for (int s = 0; s < SEGMENTS; s++)
    near("mean", s, mean_se[s] / sqrt(wanted[(ITEMS + SEGMENTS + s) * (ALL + 1)]), 1, 2e-3);
  for (int c = 0; c < CUTS; c++)
    near("cut", c, cut_se[c] / sqrt(wanted[(ITEMS + 2 * SEGMENTS + c) * (ALL + 1)]), 1, 2e-3);
  bl_rows_free(rows);
  blica_data_free(data);
  blica_model_free(m);
  drop_level_rows(&y);
}

/* ---- means from thresholds ---- */

enum { N = 3, U = 2 };

/* mu of segment s: A^-1 of t sqrt(M) over sqrt(c). */
static void means_of(const blica_model *m, int s, const double *mixing, const double *log_v, const double *t,
                     double *mu) {
  double a[N * N];
  int pivots[N];
  memcpy(a, mixing, sizeof a);
  for (int i = 0; i < N; i++) {
    double variance = 1;
    for (int l = 0; l < N; l++) variance += m->link * mixing[i + N * l] * mixing[i + N * l] * exp(log_v[l + N * s]);
    mu[i] = t[i] * sqrt(variance / m->link);
  }
  assert_int_equal(solve_general(N, 1, a, pivots, mu), 0);
}

/* Covariance of the shares of ones of two items in a segment, by a loop over its rows; over all rows but one for them.
 */
static double plain_spread(const level_rows *y, int s, int i, int j, double pi, double pj) {
  double sum = 0, have_i = 0, have_j = 0, rows = 0;
  for (int64_t r = 0; r < y->rows; r++) {
    const int8_t *x = y->x + r * y->n;
    if (y->segment[r] != s) continue;
    have_i += x[i] != BLICA_MISSING, have_j += x[j] != BLICA_MISSING;
    for (int c = 0; c < y->n; c++)
      if (x[c] != BLICA_MISSING && ++rows) break; /* rows without any value are none */
    if (x[i] != BLICA_MISSING && x[j] != BLICA_MISSING) sum += (x[i] - pi) * (x[j] - pj);
  }
  return sum / have_i / have_j * rows / (rows - 1);
}

/* The mean squares of 20 seeds, 4000 draws: what is left of chance is 1 % of an error. `times`: as if there were as
 * many times more rows. */
static void check_means(double times, double covariance_of_model) {
  enum { P = N * N + N * U };
  level_rows y = draw_level_rows(N, U, 900, (const int[]){2, 2, 2}, 0.5, 8);
  blica_counts *counts = count_level_rows(&y);
  blica_data *data = pack_level_rows(&y);
  bl_rows *rows;
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *m;
  double covariance[P * P] = {0}, mean_se[N * U], cut_se[N], log_v[N * U], squares[N * U] = {0};
  o.variables = o.sources = N, o.segments = U, o.samples = 10, o.seed = 2;
  assert_int_equal(blica_simulate(ctx, &o, &m, NULL, NULL), BLICA_OK);
  for (int s = 0; s < U; s++) {
    for (int i = 0; i < N; i++)
      m->thresholds[i + N * s] = bl_phi_quantile(counts->ones[i + N * s] / counts->present[i + N * s]);
    for (int l = 0; l < N; l++) log_v[l + N * s] = log(m->variances[l + N * s]);
  }
  for (int s = 0; s < U; s++) means_of(m, s, m->mixing, log_v, m->thresholds + N * s, m->means + N * s);
  for (int i = 0; i < P; i++) covariance[i * (P + 1)] = covariance_of_model * (1 + i % 3);
  covariance[1] = covariance[P] = 0.5 * covariance_of_model;
  assert_int_equal(bl_rows_of(ctx, data, &rows), BLICA_OK);
  for (uint64_t seed = 1; seed <= 20; seed++) {
    double thresholds[N * N * U];
    assert_int_equal(bl_threshold_covariance(ctx, rows, counts, m->thresholds, thresholds), BLICA_OK);
    for (int at = 0; at < N * N * U; at++) thresholds[at] /= times;
    assert_int_equal(bl_mean_errors(ctx, m, counts, thresholds, covariance, P, seed, mean_se, cut_se), BLICA_OK);
    for (int l = 0; l < N * U; l++) squares[l] += mean_se[l] * mean_se[l] / 20;
  }
  for (int s = 0; s < U; s++) {
    double slope[(P + N) * N], spread[(P + N) * (P + N)] = {0}, x[P + N];
    memcpy(x, m->mixing, N * N * sizeof *x), memcpy(x + N * N, log_v, sizeof log_v);
    memcpy(x + P, m->thresholds + N * s, N * sizeof *x);
    for (int p = 0; p < P + N; p++) {
      const double keep = x[p];
      double up[N], down[N];
      x[p] = keep + 1e-5;
      means_of(m, s, x, x + N * N, x + P, up);
      x[p] = keep - 1e-5;
      means_of(m, s, x, x + N * N, x + P, down);
      x[p] = keep;
      for (int l = 0; l < N; l++) slope[p + (P + N) * l] = (up[l] - down[l]) / 2e-5;
    }
    for (int p = 0; p < P; p++)
      for (int q = 0; q < P; q++) spread[p + (P + N) * q] = covariance[p + P * q];
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        spread[P + i + (P + N) * (P + j)] = plain_spread(&y, s, i, j, bl_phi_cdf(x[P + i]), bl_phi_cdf(x[P + j])) /
                                            (bl_phi_density(x[P + i]) * bl_phi_density(x[P + j]) * times);
    for (int l = 0; l < N; l++) {
      double variance = 0;
      for (int p = 0; p < P + N; p++)
        for (int q = 0; q < P + N; q++)
          variance += slope[p + (P + N) * l] * spread[p + (P + N) * q] * slope[q + (P + N) * l];
      near("error of mean", l + N * s, sqrt(squares[l + N * s] / variance), 1, 0.04);
    }
  }
  for (int i = 0; i < N; i++) near("error of cut", i, cut_se[i], 0, 0); /* there are no cuts */
  bl_rows_free(rows);
  blica_data_free(data);
  blica_counts_free(counts);
  blica_model_free(m);
  drop_level_rows(&y);
}

/* Both parts of the errors, and each when the other is next to nothing. */
static void errors_of_means(void **state) {
  (void)state;
  check_means(1, 1e-4);
  check_means(1, 1e-9);
  check_means(1e5, 1e-4);
}

/* The first start of this fit ends at a poor optimum, as do most refits that take no other: they must not be taken for
 * what the data leave open. */
static void refits_take_the_starts_that_the_fit_needed(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  blica_fit_options how = blica_fit_options_default();
  blica_assess_options draws = blica_assess_options_default();
  blica_model *truth, *m;
  blica_data *data;
  blica_assessment *a;
  o.variables = 7, o.sources = how.sources = 3, o.segments = 8, o.samples = 150, o.seed = 302;
  assert_int_equal(blica_simulate(ctx, &o, &truth, NULL, NULL), BLICA_OK);
  truth->samples[0] *= 20;
  assert_int_equal(blica_simulate_rows(ctx, truth, o.seed, &data), BLICA_OK);
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &how, &m), BLICA_OK);
  assert_compare(m->fit.starts[0].objective, <, m->fit.starts[m->fit.best_start].objective - 5);
  draws.bootstrap = 20;
  assert_int_equal(blica_assess(ctx, m, data, &draws, &a), BLICA_OK);
  assert_compare(a->expected_mcs, >, 0.95); /* with one start each 0.88 */
  blica_assessment_free(a), blica_data_free(data), blica_model_free(m), blica_model_free(truth);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(errors_of_maximum_likelihood), cmocka_unit_test(errors_of_means),
                                     cmocka_unit_test(refits_take_the_starts_that_the_fit_needed)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
