/* M2 by its definition, row by row and with full matrices, of correlations and of margins, with missing values and
 * levels; its size; tails of the sources; and SRMR and residuals by plain loops. Influences of rows and what a model
 * implies have tests of their own. */
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
#include "inference/implied.h"
#include "inference/scores/influence.h"
#include "inference/scores/m2.h"
#include "inference/scores/pooled.h"
#include "level_rows.h"
#include "model/model.h"
#include "num/linear/blas.h"
#include "num/chi2.h"
#include "num/normal/normal.h"

static void near(const char *what, int at, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("%s %d: %.12g, not %.12g", what, at, found, wanted);
}

/* ---- M2 ---- */

enum { ITEMS = 5, SEGMENTS = 3, PAIRS = 10, COLUMNS = 8, MOST_Q = SEGMENTS * PAIRS, ROWS = 700 };
enum { PARAMETERS = ITEMS + 2 * SEGMENTS + COLUMNS, MOST_PSI = PAIRS + COLUMNS };
static const int levels[ITEMS] = {2, 3, 2, 3, 3};

/* What the model says of the residuals' statistics: correlations, or thresholds. */
static void statistics_of(const blica_model *m, bool margins, double *x) {
  for (int s = 0; s < SEGMENTS; s++) {
    double scale[ITEMS];
    if (margins)
      bl_model_margins(m, s, NULL, x + COLUMNS * s);
    else
      bl_implied_rho(ITEMS, 1, m->link, m->mixing, m->variances + s, scale, x + PAIRS * s);
  }
}

/* Parameter p of A, log v, means and cuts of a copy of the model, moved by a step. */
static void move(blica_model *m, int p, double by) {
  if (p < ITEMS)
    m->mixing[p] += by;
  else if (p < ITEMS + SEGMENTS)
    m->variances[p - ITEMS] *= exp(by);
  else if (p < ITEMS + 2 * SEGMENTS)
    m->means[p - ITEMS - SEGMENTS] += by;
  else
    m->cuts[p - ITEMS - 2 * SEGMENTS] += by;
}

/* u [q,q] <- W - W D (D'W D)^+ D'W, w the diagonal of W; returns the rank of D. */
static int form(blica_model *m, bool margins, int q, const double *w, double *u) {
  double d[MOST_Q * PARAMETERS], x[2][MOST_Q], h[PARAMETERS * PARAMETERS], values[PARAMETERS];
  int rank = 0;
  for (int p = 0; p < PARAMETERS; p++) {
    move(m, p, 1e-5), statistics_of(m, margins, x[1]);
    move(m, p, -2e-5), statistics_of(m, margins, x[0]);
    move(m, p, 1e-5);
    for (int i = 0; i < q; i++) d[i + q * p] = sqrt(w[i]) * (x[1][i] - x[0][i]) / 2e-5;
  }
  bl_dgemm('T', 'N', PARAMETERS, PARAMETERS, q, 1, d, q, d, q, 0, h, PARAMETERS);
  assert_int_equal(bl_dsyevd('V', 'L', PARAMETERS, h, PARAMETERS, values), 0);
  for (int i = 0; i < q * q; i++) u[i] = i % (q + 1) == 0 ? w[i / (q + 1)] : 0;
  for (int c = 0; c < PARAMETERS; c++) {
    double y[MOST_Q] = {0};
    if (!(values[c] > 1e-7 * values[PARAMETERS - 1])) continue;
    rank++;
    for (int i = 0; i < q; i++)
      for (int p = 0; p < PARAMETERS; p++) y[i] += sqrt(w[i]) * d[i + q * p] * h[p + PARAMETERS * c] / sqrt(values[c]);
    for (int i = 0; i < q; i++)
      for (int j = 0; j < q; j++) u[i + q * j] -= y[i] * y[j];
  }
  return rank;
}

static double product(const double *u, int q, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < q; i++)
    for (int j = 0; j < q; j++) sum += x[i] * u[i + q * j] * y[j];
  return sum;
}

/* M2, its degrees of freedom and p. */
static double plain_m2(const blica_model *given, const bl_rows *rows, const blica_counts *counts, bool margins, int *df,
                       double *p) {
  const int each = margins ? COLUMNS : PAIRS, q = SEGMENTS * each;
  double *psi = calloc((size_t)(ROWS * q), sizeof *psi), *u = calloc((size_t)(q * q), sizeof *u), w[MOST_Q] = {0},
         e[MOST_Q] = {0}, all[MOST_Q], trace = 0, square = 0;
  int *segment = calloc(ROWS, sizeof *segment), count = 0, used = 0;
  bl_pooled *pooled;
  bl_influence *f;
  blica_model m = *given;
  assert_int_equal(bl_pooled_make(ctx, ITEMS, SEGMENTS, rows->coding, true, &pooled), BLICA_OK);
  assert_int_equal(bl_influence_make(ctx, ITEMS, rows->coding, BL_THRESHOLDS, &f), BLICA_OK);
  bl_pooled_margins(counts, pooled);
  for (int s = 0; s < SEGMENTS; s++) {
    double rho[PAIRS], scale[ITEMS], t[COLUMNS], one[MOST_PSI];
    bl_implied_rho(ITEMS, 1, m.link, m.mixing, m.variances + s, scale, rho);
    bl_model_margins(&m, s, NULL, t);
    bl_influence_describe(counts, s, rho, pooled->t + COLUMNS * s, t, f);
    for (int i = 0; i < each; i++) {
      const double share = bl_phi_cdf(t[i % COLUMNS]), density = bl_phi_density(t[i % COLUMNS]);
      w[i + each * s] = margins ? counts->present[i + COLUMNS * s] * density * density / (share * (1 - share))
                                : f->both[i] * f->information[i];
    }
    const int begin = count;
    for (int64_t r = rows->row_first[s]; r < rows->row_first[s + 1]; r++, count++) {
      bl_influence_row(f, rows->x + ITEMS * rows->row[r], one);
      segment[count] = s;
      for (int i = 0; i < each; i++) {
        psi[i + each * s + q * count] = one[i + (margins ? PAIRS : 0)];
        e[i + each * s] += one[i + (margins ? PAIRS : 0)];
      }
    }
    for (int r = begin; r < count; r++)
      for (int i = each * s; i < each * (s + 1); i++)
        psi[i + q * r] = (psi[i + q * r] - e[i] / (count - begin)) * sqrt((count - begin) / (count - begin - 1.0));
  }
  *df = q - form(&m, margins, q, w, u);
  for (int i = 0; i < q; i++) used += w[i] > 0;
  assert_int_equal(used, q);
  for (int r = 0; r < count; r++) {
    trace += product(u, q, psi + q * r, psi + q * r);
    for (int i = 0; i < q; i++) {
      all[i] = 0;
      for (int j = 0; j < q; j++) all[i] += u[i + q * j] * psi[j + q * r];
    }
    for (int c = 0; c < count; c++) {
      double sum = 0;
      for (int i = each * segment[c]; i < each * (segment[c] + 1); i++) sum += psi[i + q * c] * all[i];
      square += r == c ? 0 : sum * sum;
    }
  }
  const double statistic = product(u, q, e, e);
  bl_free(pooled), bl_free(f);
  free(psi), free(u), free(segment);
  *p = bl_chi2_upper(statistic * trace / square, trace * trace / square);
  return *df + (statistic - trace) * sqrt(*df / square);
}

/* P(chi-square <= x) with noncentrality l: Poisson's mixture. */
static double below(double x, double df, double l) {
  double sum = 0, weight = exp(-l / 2);
  for (int j = 0; j < 400; weight *= l / 2 / ++j) sum += weight * (1 - bl_chi2_upper(x, df + 2 * j));
  return sum;
}

typedef struct {
  blica_model *model;
  bl_rows *rows;
  blica_counts *counts;
} fitted;

static fitted fit_rows(const level_rows *y) {
  blica_data *data = pack_level_rows(y);
  blica_fit_options o = blica_fit_options_default();
  fitted f;
  o.sources = 1;
  if (blica_fit(ctx, &(blica_input){.data = data}, &o, &f.model) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  assert_int_equal(bl_rows_make(ctx, f.model, data, &f.rows), BLICA_OK);
  assert_int_equal(bl_rows_counts_create(ctx, f.rows, &f.counts), BLICA_OK);
  bl_rows_count(f.rows, f.rows->weight, f.counts);
  blica_data_free(data);
  return f;
}

static void drop(fitted *f) {
  bl_rows_free(f->rows), blica_counts_free(f->counts), blica_model_free(f->model);
}

static bl_m2 m2_of(const fitted *f, bool margins, bool fixed, double *part) {
  bl_m2 found;
  if (bl_m2_test(ctx, f->model, f->rows, f->counts, margins, fixed, &found, part) != BLICA_OK)
    fail_msg("%s", blica_message(ctx));
  return found;
}

/* Of all rows, some values missing: pairs of rows are all formed, since a segment has few of them. */
static void m2_is_that_of_the_rows(void **state) {
  (void)state;
  int positive = 0;
  for (int trial = 0; trial < 4; trial++) {
    const bool margins = trial % 2;
    level_rows y = draw_level_rows(ITEMS, SEGMENTS, ROWS, levels, trial > 1 ? 0.2 : 0, 12);
    for (int64_t r = 0; r < ROWS; r += 3) y.x[r * ITEMS + 3] = (int8_t)(2 * (y.x[r * ITEMS] == 1)); /* a misfit */
    fitted f = fit_rows(&y);
    double part[SEGMENTS], sum = 0;
    int df;
    double p;
    const double wanted = plain_m2(f.model, f.rows, f.counts, margins, &df, &p);
    const bl_m2 found = m2_of(&f, margins, false, part);
    assert_int_equal(found.df, df);
    near("M2", trial, found.m2, wanted, 1e-4 * wanted);
    for (int s = 0; s < SEGMENTS; s++) sum += part[s];
    near("parts", trial, sum, found.m2, 1e-9 * wanted);
    const double per = df * (double)ROWS / SEGMENTS;
    const double largest = df > 0 && margins ? SEGMENTS * COLUMNS * bl_chi2_upper(found.z * found.z, 1) : 1;
    near("p", trial, found.p, margins ? fmin(1, 2 * fmin(largest, p)) : p, 1e-4 * p + 1e-12);
    near("RMSEA2", trial, found.rmsea2, sqrt(fmax(0, found.m2 - df) / per), 1e-3);
    if (!margins) assert_compare(wanted, >, df + 10); /* the misfit shows */
    if (!margins)
      near("its upper end", trial,
           below(found.m2, df, pow(found.rmsea2_high, 2) * f.rows->row_first[SEGMENTS] / SEGMENTS * df), 0.05, 1e-6);
    if (found.rmsea2_low > 0)
      near("its lower end", trial,
           below(found.m2, df, pow(found.rmsea2_low, 2) * f.rows->row_first[SEGMENTS] / SEGMENTS * df), 0.95, 1e-6);
    positive += found.rmsea2_low > 0;
    assert_true(found.size_low <= found.size && found.size <= found.size_high);
    drop(&f), drop_level_rows(&y);
  }
  assert_compare(positive, >, 0);
}

/* Given parameters, not estimated: all residuals are degrees of freedom. */
static void fixed_parameters_take_no_degrees(void **state) {
  (void)state;
  level_rows y = draw_level_rows(ITEMS, SEGMENTS, ROWS, levels, 0, 13);
  fitted f = fit_rows(&y);
  const bl_m2 at_fit = m2_of(&f, false, true, NULL);
  assert_int_equal(at_fit.df, SEGMENTS * PAIRS);
  for (int i = 0; i < ITEMS; i++) f.model->mixing[i] *= 0.5;
  const bl_m2 moved = m2_of(&f, false, true, NULL), estimated = m2_of(&f, false, false, NULL);
  assert_compare(moved.m2, >, at_fit.m2 + 50);
  assert_compare(estimated.m2, <, moved.m2);
  drop(&f), drop_level_rows(&y);
}

/* A cut that is shifted in one segment shows in the margins, where it is, and not in the correlations; a level that
 * nobody chooses has no residuals. */
static void shifted_cuts_show_in_the_margins(void **state) {
  (void)state;
  enum { MANY = 6000 };
  static const int two[ITEMS] = {2, 2, 2, 2, 3};
  level_rows y = draw_level_rows(ITEMS, SEGMENTS, MANY, two, 0, 14);
  bl_rng rng = bl_rng_make(3, 0);
  for (int64_t r = 0; r < MANY; r++) {
    if (y.segment[r] == 1 && bl_rng_uniform(&rng) < 0.2) y.x[r * ITEMS + 2] = 1;
    if (y.x[r * ITEMS + 4] == 1) y.x[r * ITEMS + 4] = 2;
  }
  fitted f = fit_rows(&y);
  const bl_m2 margins = m2_of(&f, true, false, NULL);
  assert_compare(margins.p, <, 1e-4);
  assert_int_equal(margins.item, 2), assert_int_equal(margins.segment, 1);
  assert_compare(margins.shift, >, 0);
  assert_true(isfinite(m2_of(&f, false, false, NULL).m2));
  drop(&f), drop_level_rows(&y);
}

/* Under the model M2 is chi-square: the mean of p over data sets is a half, and few are small. */
static void p_is_uniform_under_the_model(void **state) {
  (void)state;
  enum { SETS = 60 };
  double mean = 0;
  int small = 0;
  for (int i = 0; i < SETS; i++) {
    blica_simulate_options o = blica_simulate_options_default();
    blica_fit_options how = blica_fit_options_default();
    blica_data *data;
    fitted f;
    o.variables = 6, o.sources = 1, o.segments = 4, o.samples = 150, o.levels = i % 2 ? 4 : 2,
    o.seed = 100 + (uint64_t)i;
    assert_int_equal(blica_simulate(ctx, &o, NULL, &data, NULL), BLICA_OK);
    how.sources = 1;
    assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &how, &f.model), BLICA_OK);
    assert_int_equal(bl_rows_make(ctx, f.model, data, &f.rows), BLICA_OK);
    assert_int_equal(bl_rows_counts_create(ctx, f.rows, &f.counts), BLICA_OK);
    bl_rows_count(f.rows, f.rows->weight, f.counts);
    const double p = m2_of(&f, false, false, NULL).p;
    mean += p / SETS, small += p < 0.05;
    drop(&f), blica_data_free(data);
  }
  near("mean of p", 0, mean, 0.5, 0.13); /* 3.5 standard errors */
  assert_compare(small, <=, 10);
}

/* ---- tails ---- */

static double tails_of(const fitted *f) {
  double p;
  if (bl_tails_test(ctx, f->model, f->rows, f->counts, &p) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return p;
}

/* Six items of one source in four segments, the source normal or t with 3 degrees of freedom. */
static level_rows draw_tails(bool heavy, int many, double missing, uint64_t seed) {
  static const int two[6] = {2, 2, 2, 2, 2, 2}, four[6] = {4, 4, 4, 4, 4, 4};
  level_rows y = draw_level_rows(6, 4, 4000, many ? four : two, missing, seed);
  bl_rng rng = bl_rng_make(seed, 3);
  for (int64_t r = 0; r < y.rows; r++) {
    double factor = bl_rng_normal(&rng), chi = 0;
    for (int i = 0; i < 3; i++) chi += pow(bl_rng_normal(&rng), 2);
    if (heavy) factor /= sqrt(chi);
    for (int i = 0; i < 6; i++) {
      const double q = (i % 2 ? -0.8 : 0.9) * (1 + 0.3 * y.segment[r]) * factor + bl_rng_normal(&rng) - 0.1 * i;
      if (y.x[r * 6 + i] != BLICA_MISSING) y.x[r * 6 + i] = (int8_t)((q > 0) + (many ? (q > 1) + (q > -1) : 0));
    }
  }
  return y;
}

static void heavy_tails_are_seen(void **state) {
  (void)state;
  enum { SETS = 20 };
  int found[2] = {0};
  for (int i = 0; i < 2 * SETS; i++) {
    level_rows y = draw_tails(i % 2, i % 4 > 1, i % 3 == 0 ? 0.2 : 0, 40 + (uint64_t)i);
    fitted f = fit_rows(&y);
    const double p = tails_of(&f);
    found[i % 2] += p <= 0.05;
    drop(&f), drop_level_rows(&y);
  }
  assert_compare(found[0], <=, 4); /* 3 in 1000 if the size is 5 % */
  assert_compare(found[1], >=, 14);
}

/* To first order the test does not see errors of the loadings; nor which end of an item is called 1. */
static void errors_of_loadings_do_not_count(void **state) {
  (void)state;
  level_rows y = draw_tails(true, 1, 0.1, 31);
  fitted f = fit_rows(&y);
  double z[3];
  for (int i = 0; i < 3; i++) {
    const double factor[3] = {1, 0.97, 1.03};
    for (int j = 0; j < 6; j++) f.model->mixing[j] *= factor[i];
    z[i] = -bl_phi_quantile(tails_of(&f));
    for (int j = 0; j < 6; j++) f.model->mixing[j] /= factor[i];
  }
  assert_compare(z[0], >, 4);
  near("smaller loadings", 0, z[1], z[0], 0.05), near("larger loadings", 0, z[2], z[0], 0.05);
  drop(&f);
  for (int64_t r = 0; r < y.rows; r++)
    if (y.x[r * 6 + 1] != BLICA_MISSING) y.x[r * 6 + 1] = (int8_t)(3 - y.x[r * 6 + 1]);
  f = fit_rows(&y);
  near("reversed item", 1, -bl_phi_quantile(tails_of(&f)), z[0], 1e-3);
  drop(&f), drop_level_rows(&y);
}

/* ---- residuals ---- */

/* In segment 1 the second item is constant, and the third was never asked: their pairs do not count. */
static void residuals_and_srmr(void **state) {
  (void)state;
  static const int two[5] = {2, 2, 2, 2, 2};
  enum { N = 5 };
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(m2_is_that_of_the_rows),
                                     cmocka_unit_test(fixed_parameters_take_no_degrees),
                                     cmocka_unit_test(shifted_cuts_show_in_the_margins),
                                     cmocka_unit_test(p_is_uniform_under_the_model),
                                     cmocka_unit_test(heavy_tails_are_seen),
                                     cmocka_unit_test(errors_of_loadings_do_not_count),
                                     cmocka_unit_test(residuals_and_srmr)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
