/* M2 and its RMSEA from the probabilities of all patterns, and SRMR and residuals by plain loops.
 *
 * With one source the latent variables share one normal factor, so that the probability of a pattern is an integral
 * over it, here by the trapezoidal rule. Moments are sums over patterns, their slopes central differences, and M2 is
 * what LAPACK's least squares leave of the whitened residuals when all parameters, thresholds included, may move. */
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
#include "inference/limited.h"
#include "level_rows.h"
#include "num/blas.h"
#include "num/chi2.h"
#include "num/normal.h"
#include "set_word.h"

static void near(const char *what, int at, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("%s %d: %.12g, not %.12g", what, at, found, wanted);
}

/* ---- all patterns ---- */

enum {
  ITEMS = 4,
  SEGMENTS = 2,
  COLUMNS = 6,
  PAIRS_OF_COLUMNS = 13,
  MOMENTS = COLUMNS + PAIRS_OF_COLUMNS,
  PATTERNS = 36
};
enum { PARAMETERS = ITEMS + SEGMENTS, ALL = SEGMENTS * COLUMNS + PARAMETERS, STATISTICS = SEGMENTS * MOMENTS };
static const int levels[ITEMS] = {2, 3, 2, 3};
static const int item[COLUMNS] = {0, 1, 1, 2, 3, 3}, level[COLUMNS] = {1, 1, 2, 1, 1, 2};

/* The two columns of a moment, the same twice for a margin. */
static void members(int moment, int *c, int *d) {
  int at = COLUMNS;
  *c = *d = moment;
  for (int second = 1; second < COLUMNS && moment >= COLUMNS; second++)
    for (int first = 0; first < second; first++)
      if (item[first] != item[second] && at++ == moment) *c = first, *d = second;
}

static int levels_of(int pattern, int i) {
  for (int before = 0; before < i; before++) pattern /= levels[before];
  return pattern % levels[i];
}

/* P of all patterns at loadings [ITEMS] of the unit factor and thresholds [COLUMNS]. */
static void pattern_probabilities(const double *loading, const double *t, double *p) {
  const double h = 0.05;
  memset(p, 0, PATTERNS * sizeof *p);
  for (int node = -170; node <= 170; node++) {
    const double f = h * node;
    double above[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
      above[c] = bl_phi_cdf((t[c] + loading[item[c]] * f) / sqrt(1 - loading[item[c]] * loading[item[c]]));
    for (int x = 0; x < PATTERNS; x++) {
      double product = h * bl_phi_density(f);
      for (int c = 0; c < COLUMNS; c++) { /* the lowest column of each item stands for it */
        if (level[c] > 1) continue;
        const int l = levels_of(x, item[c]);
        product *= l == 0 ? 1 - above[c] : l + 1 < levels[item[c]] ? above[c] - above[c + 1] : above[c + l - 1];
      }
      p[x] += product;
    }
  }
}

static int has(int pattern, int moment) {
  int c, d;
  members(moment, &c, &d);
  return levels_of(pattern, item[c]) >= level[c] && levels_of(pattern, item[d]) >= level[d];
}

static void moments_of(const double *p, double *moment) {
  for (int a = 0; a < MOMENTS; a++) {
    moment[a] = 0;
    for (int x = 0; x < PATTERNS; x++) moment[a] += has(x, a) * p[x];
  }
}

/* Loadings of the unit factor from A and log v of a segment. */
static void loadings(double link, const double *a, double log_v, double *loading) {
  for (int i = 0; i < ITEMS; i++) {
    const double b = sqrt(link * exp(log_v)) * a[i];
    loading[i] = b / sqrt(1 + b * b);
  }
}

/* theta = A, log v, thresholds of all segments. */
static void all_moments(double link, const double *theta, double *moment) {
  for (int s = 0; s < SEGMENTS; s++) {
    double loading[ITEMS], p[PATTERNS];
    loadings(link, theta, theta[ITEMS + s], loading);
    pattern_probabilities(loading, theta + PARAMETERS + COLUMNS * s, p);
    moments_of(p, moment + MOMENTS * s);
  }
}

/* M2, its parts by segment, and the degrees of freedom. */
static double plain_m2(const blica_model *m, const level_rows *y, double part[SEGMENTS], int *df) {
  double theta[ALL], fitted[STATISTICS], observed[STATISTICS] = {0}, rows[SEGMENTS] = {0};
  double *slope = calloc(ALL * STATISTICS, sizeof *slope), e[ALL + STATISTICS], copy[STATISTICS];
  double *design = calloc(ALL * STATISTICS, sizeof *design);
  for (int64_t r = 0; r < y->rows; r++) {
    int pattern = 0;
    for (int i = ITEMS - 1; i >= 0; i--) pattern = pattern * levels[i] + y->x[r * ITEMS + i];
    rows[y->segment[r]]++;
    for (int a = 0; a < MOMENTS; a++) observed[a + MOMENTS * y->segment[r]] += has(pattern, a);
  }
  memcpy(theta, m->mixing, ITEMS * sizeof *theta);
  for (int s = 0; s < SEGMENTS; s++) {
    theta[ITEMS + s] = log(m->variances[s]);
    for (int a = 0; a < MOMENTS; a++) observed[a + MOMENTS * s] /= rows[s];
    for (int c = 0; c < COLUMNS; c++) theta[PARAMETERS + c + COLUMNS * s] = bl_phi_quantile(observed[c + MOMENTS * s]);
  }
  all_moments(m->link, theta, fitted);
  for (int p = 0; p < ALL; p++) {
    const double keep = theta[p], step = 1e-5;
    double up[STATISTICS], down[STATISTICS];
    theta[p] = keep + step;
    all_moments(m->link, theta, up);
    theta[p] = keep - step;
    all_moments(m->link, theta, down);
    theta[p] = keep;
    for (int a = 0; a < STATISTICS; a++) slope[a + STATISTICS * p] = (up[a] - down[a]) / (2 * step);
  }
  for (int s = 0; s < SEGMENTS; s++) { /* whitened by the Cholesky factor of Xi / N */
    double p[PATTERNS], loading[ITEMS], xi[MOMENTS * MOMENTS] = {0};
    const double *mean = fitted + MOMENTS * s;
    loadings(m->link, m->mixing, theta[ITEMS + s], loading);
    pattern_probabilities(loading, theta + PARAMETERS + COLUMNS * s, p);
    for (int a = 0; a < MOMENTS; a++)
      for (int b = 0; b < MOMENTS; b++) {
        for (int x = 0; x < PATTERNS; x++) xi[a + MOMENTS * b] += has(x, a) * has(x, b) * p[x];
        xi[a + MOMENTS * b] = (xi[a + MOMENTS * b] - mean[a] * mean[b]) / rows[s];
      }
    assert_int_equal(bl_dpotrf('L', MOMENTS, xi, MOMENTS), 0);
    for (int c = 0; c <= ALL; c++)
      for (int a = 0; a < MOMENTS; a++) {
        double *to = c < ALL ? design + STATISTICS * c + MOMENTS * s : e + MOMENTS * s;
        to[a] = c < ALL ? slope[a + MOMENTS * s + STATISTICS * c] : observed[a + MOMENTS * s] - mean[a];
        for (int b = 0; b < a; b++) to[a] -= xi[a + MOMENTS * b] * to[b];
        to[a] /= xi[a + MOMENTS * a];
      }
  }
  double total = 0;
  int rank, pivots[ALL] = {0};
  memcpy(slope, design, ALL * STATISTICS * sizeof *slope);
  memcpy(copy, e, sizeof copy);
  assert_int_equal(bl_dgelsy(STATISTICS, ALL, 1, design, STATISTICS, e, STATISTICS, pivots, 1e-7, &rank), 0);
  for (int s = 0; s < SEGMENTS; s++) {
    part[s] = 0;
    for (int a = MOMENTS * s; a < MOMENTS * (s + 1); a++) {
      double left = copy[a];
      for (int p = 0; p < ALL; p++) left -= slope[a + STATISTICS * p] * e[p];
      part[s] += left * left;
    }
    total += part[s];
  }
  *df = STATISTICS - rank;
  free(slope), free(design);
  return total;
}

/* P(chi-square <= x) with noncentrality l: Poisson's mixture. */
static double below(double x, double df, double l) {
  double sum = 0, weight = exp(-l / 2);
  for (int j = 0; j < 400; weight *= l / 2 / ++j) sum += weight * (1 - bl_chi2_upper(x, df + 2 * j));
  return sum;
}

static blica_model *fit(const level_rows *y, const char *prior) {
  blica_data *data = pack_level_rows(y);
  blica_fit_options o = blica_fit_options_default();
  blica_model *m = NULL;
  o.sources = 1;
  o.method = BLICA_METHOD_PAIRWISE, set_word(blica_fit_option_table, &o, "prior", prior);
  if (blica_fit(ctx, &(blica_input){.data = data}, &o, &m) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  blica_data_free(data);
  return m;
}

/* The rows do not follow one source: a part of the last item copies the first. */
static level_rows draw_misfit(void) {
  level_rows y = draw_level_rows(ITEMS, SEGMENTS, 900, levels, 0, 12);
  for (int64_t r = 0; r < y.rows; r += 4) y.x[r * ITEMS + 3] = (int8_t)(2 * y.x[r * ITEMS]);
  return y;
}

static bl_limited limited(const blica_model *m, const level_rows *y, double *part) {
  blica_data *data = pack_level_rows(y);
  blica_counts *counts;
  bl_rows *rows;
  bl_limited found;
  assert_int_equal(bl_rows_make(ctx, m, data, &rows), BLICA_OK);
  assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
  bl_rows_count(rows, rows->weight, counts);
  if (bl_limited_test(ctx, m, rows, counts, false, &found, part) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  blica_counts_free(counts);
  bl_rows_free(rows);
  blica_data_free(data);
  return found;
}

static void m2_is_that_of_all_patterns(void **state) {
  (void)state;
  level_rows y = draw_misfit();
  blica_model *m = fit(&y, "none");
  double part[SEGMENTS], wanted_part[SEGMENTS];
  int df;
  assert_true(bl_limited_possible(m->coding, ITEMS, 1, SEGMENTS));
  for (int moved = 0; moved < 2; moved++) { /* also where the model is not the estimate */
    if (moved) m->mixing[1] *= 1.1, m->variances[0] *= 0.9;
    const bl_limited found = limited(m, &y, part);
    const double wanted = plain_m2(m, &y, wanted_part, &df), per = df * (double)y.rows / SEGMENTS;
    near("M2", moved, found.m2, wanted, 1e-6 * wanted);
    for (int s = 0; s < SEGMENTS; s++) near("M2 of segment", s, part[s], wanted_part[s], 1e-5 * wanted);
    assert_int_equal(found.df, df);
    assert_compare(wanted, >, df + 10); /* the misfit shows */
    near("p", moved, found.p, bl_chi2_upper(wanted, df), 1e-9);
    near("RMSEA2", moved, found.rmsea2, sqrt((wanted - df) / per), 1e-6);
    near("its lower end", moved, below(wanted, df, found.rmsea2_low * found.rmsea2_low * per), 0.95, 1e-6);
    near("its upper end", moved, below(wanted, df, found.rmsea2_high * found.rmsea2_high * per), 0.05, 1e-6);
  }
  blica_model_free(m);
  drop_level_rows(&y);
}

/* From an estimate that is far off, as a tight prior makes it, steps lead to the minimum. */
static void m2_of_a_shrunk_estimate(void **state) {
  (void)state;
  level_rows y = draw_misfit();
  blica_model *m = fit(&y, "auto"), *free_of_prior = fit(&y, "none");
  double part[SEGMENTS];
  const double wanted = limited(free_of_prior, &y, part).m2;
  for (int i = 0; i < ITEMS; i++) {
    m->mixing[i] = free_of_prior->mixing[i] * (i % 2 ? 0.2 : 0.6);
    free_of_prior->mixing[i] = m->mixing[i];
  }
  memcpy(m->variances, free_of_prior->variances, SEGMENTS * sizeof(double));
  assert_compare(fabs(limited(free_of_prior, &y, part).m2 / wanted - 1), >, 0.01); /* one linear step does not */
  near("M2", 0, limited(m, &y, part).m2, wanted, 0.003 * wanted);
  near("M2 by parts", 0, part[0] + part[1], wanted, 0.003 * wanted);
  blica_model_free(m), blica_model_free(free_of_prior);
  drop_level_rows(&y);
}

/* A model that is that of the rows has an M2 near its degrees of freedom, and RMSEA2 begins at 0. */
static void rmsea_of_a_fit_that_is_too_good(void **state) {
  (void)state;
  level_rows y = draw_level_rows(ITEMS, SEGMENTS, 900, levels, 0, 13);
  blica_model *m = fit(&y, "none");
  double part[SEGMENTS];
  const bl_limited found = limited(m, &y, part);
  assert_compare(found.p, >, 0.01);
  if (found.m2 < (double)found.df) assert_compare(found.rmsea2, ==, 0);
  assert_compare(found.rmsea2_low, <=, found.rmsea2);
  assert_compare(found.rmsea2_high, >=, found.rmsea2);
  blica_model_free(m);
  drop_level_rows(&y);
}

/* ---- residuals ---- */

/* In segment 1 the second item is constant, and the third was never asked: their pairs do not count. */
static void residuals_and_srmr(void **state) {
  (void)state;
  static const int two[5] = {2, 2, 2, 2, 2};
  enum { N = 5, PAIRS = 10 };
  level_rows y = draw_level_rows(N, 2, 500, two, 0.15, 14);
  blica_data *data = pack_level_rows(&y);
  blica_counts *counts;
  blica_cor *cor;
  blica_model *m = NULL;
  blica_fitted_values *f;
  blica_fit_options o = blica_fit_options_default();
  o.sources = 1;
  o.method = BLICA_METHOD_PAIRWISE;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &m), BLICA_OK);
  blica_data_free(data);
  for (int64_t r = 0; r < y.rows; r++)
    if (y.segment[r] == 1) y.x[r * N + 1] = 1, y.x[r * N + 2] = BLICA_MISSING;
  counts = count_level_rows(&y);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  assert_int_equal(blica_fitted(ctx, m, counts, &f), BLICA_OK);
  double total = 0, rows = 0;
  for (int s = 0; s < 2; s++) {
    double squares = 0, used = 0;
    for (int j = 0; j < N; j++)
      for (int i = 0; i <= j; i++) {
        double cell[4], sd[2] = {1, 1}, rho;
        const double both = plain_table(&y, s, i, j, cell);
        if (i == j) {
          if (both > 0) near("margin", i, f->margin_residual[i + N * s], cell[3] / both - f->margin[i + N * s], 1e-12);
          assert_true((both > 0) == !isnan(f->margin_residual[i + N * s]));
          continue;
        }
        const size_t at = (size_t)blica_pair(i, j) + PAIRS * (size_t)s;
        const double v = m->link * m->variances[s];
        sd[0] = sqrt(1 + v * m->mixing[i] * m->mixing[i]), sd[1] = sqrt(1 + v * m->mixing[j] * m->mixing[j]);
        rho = v * m->mixing[i] * m->mixing[j] / (sd[0] * sd[1]);
        near("correlation", (int)at, f->correlation[at], rho, 1e-12);
        if (both > 0) near("pair", (int)at, f->pair_residual[at], cell[3] / both - f->pair[at], 1e-12);
        assert_true((both > 0) == !isnan(f->pair_residual[at]));
        if (s == 1 && (i == 1 || j == 1 || i == 2 || j == 2)) {
          assert_true(isnan(f->correlation_residual[at]));
          continue;
        }
        near("residual", (int)at, f->correlation_residual[at], cor->rho[at] - rho, 1e-12);
        squares += pow(cor->rho[at] - rho, 2), used++;
      }
    near("SRMR", s, f->segment_srmr[s], sqrt(squares / (used + N)), 1e-12);
    total += counts->samples[s] * f->segment_srmr[s], rows += counts->samples[s];
  }
  near("SRMR of all", 0, f->srmr, total / rows, 1e-12);
  blica_fitted_free(f);
  blica_cor_free(cor);
  blica_counts_free(counts);
  blica_model_free(m);
  drop_level_rows(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(m2_is_that_of_all_patterns), cmocka_unit_test(m2_of_a_shrunk_estimate),
      cmocka_unit_test(rmsea_of_a_fit_that_is_too_good), cmocka_unit_test(residuals_and_srmr)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
