/* What a model implies, against differences, exact counts and simulation; and the bootstrap on any number of threads.
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
#include "inference/select/select.h"
#include "inference/implied.h"
#include "inference/scores/influence.h"
#include "inference/refits.h"
#include "inference/errors.h"
#include "inference/verdict.h"
#include "num/normal/normal.h"

static void near(double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("found %.12g, wanted %.12g", found, wanted);
}

static int item_levels = 2; /* of simulated items */

static void draw(int n, int k, int u, int64_t samples, int exact, blica_model **model, blica_data **data,
                 blica_counts **counts) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = u, o.samples = samples, o.exact = exact, o.seed = 7,
  o.levels = item_levels;
  assert_int_equal(blica_simulate(ctx, &o, model, data, counts), BLICA_OK);
}

static void slopes_are_differences(void **state) {
  (void)state;
  enum { N = 5, K = 2, PAIRS = 10, M = N * K + K };
  blica_model *m;
  draw(N, K, 3, 10, 0, &m, NULL, NULL);
  double scale[N], rho[PAIRS], up[PAIRS], down[PAIRS], slope[PAIRS * M], v[K];
  for (int c = 0; c < M; c++) {
    const double step = 1e-5;
    double a[N * K];
    for (int side = 0; side < 2; side++) {
      memcpy(a, m->mixing, sizeof a);
      memcpy(v, m->variances + K, sizeof v);
      if (c < N * K)
        a[c] += side ? step : -step;
      else
        v[c - N * K] *= exp(side ? step : -step);
      bl_implied_rho(N, K, m->link, a, v, scale, side ? up : down);
    }
    bl_implied_rho(N, K, m->link, m->mixing, m->variances + K, scale, rho);
    for (int at = 0; at < PAIRS; at++) { /* column at of D' */
      double x[PAIRS] = {0}, row[M], work[N], sparse[3 * K];
      int i = 0, j = 1;
      while (blica_pair(i, j) != at)
        if (++i == j) i = 0, j++;
      x[at] = 1;
      bl_implied_gather(N, K, m->link, m->mixing, m->variances + K, scale, rho, x, work, row);
      bl_implied_pair_slopes(N, K, m->link, m->mixing, m->variances + K, scale, rho[at], i, j, sparse);
      for (int p = 0; p < M; p++) slope[at + PAIRS * p] = row[p];
      for (int l = 0; l < K; l++) {
        near(sparse[l], row[i + N * l], 1e-15), near(sparse[K + l], row[j + N * l], 1e-15);
        near(sparse[2 * K + l], row[N * K + l], 1e-15);
      }
    }
    for (int at = 0; at < PAIRS; at++) near(slope[at + PAIRS * c], (up[at] - down[at]) / (2 * step), 1e-9);
  }
  blica_model_free(m);
}

static void tables_are_differences(void **state) {
  (void)state;
  const double h = 0.4, k = -1.1, rho = 0.55, step = 1e-5;
  const bl_implied_table t = bl_implied_pair(h, k, rho);
  const double density = exp(-0.5 * h * h) / sqrt(2 * acos(-1));
  near(t.cell[0] + t.cell[1] + t.cell[2] + t.cell[3], 1, 1e-15);
  near(t.density, (blica_bvn(h, k, rho + step) - blica_bvn(h, k, rho - step)) / (2 * step), 1e-8);
  near(t.first * density, (blica_bvn(h + step, k, rho) - blica_bvn(h - step, k, rho)) / (2 * step), 1e-8);
}

/* Cells sum to 1, scores and the effect of thresholds are differences, and 2x2 tables are those of bl_implied_pair. */
static void tables_of_levels_are_differences(void **state) {
  (void)state;
  const double h[2] = {0.8, -0.3}, k[3] = {1.1, 0.2, -0.9}, rho = -0.45, step = 1e-5;
  bl_table t, up, down;
  double *owner;
  assert_int_equal(bl_alloc(ctx, 1, &owner), BLICA_OK);
  assert_int_equal(bl_table_make(ctx, owner, 4, &t), BLICA_OK);
  assert_int_equal(bl_table_make(ctx, owner, 4, &up), BLICA_OK);
  assert_int_equal(bl_table_make(ctx, owner, 4, &down), BLICA_OK);
  bl_table_at(3, 4, h, k, rho, &t);
  bl_table_margins(h, k, rho, &t);
  bl_table_at(3, 4, h, k, rho + step, &up);
  bl_table_at(3, 4, h, k, rho - step, &down);
  double sum = 0, mean = 0;
  for (int c = 0; c < 12; c++) {
    sum += t.cell[c];
    mean += t.cell[c] * t.score[c];
    near(t.score[c], (log(up.cell[c]) - log(down.cell[c])) / (2 * step), 1e-7);
  }
  near(sum, 1, 1e-14);
  near(mean, 0, 1e-14);
  /* The mean score at cells of moved thresholds: what `first` says of a row that moves them. */
  double moved[2] = {h[0] + step, h[1]}, change = 0;
  bl_table_at(3, 4, moved, k, rho, &up);
  for (int c = 0; c < 12; c++) change += t.cell[c] * up.score[c] / step;
  const double by_level = -change / bl_phi_density(h[0]); /* of P(x >= 1), with the sign of -C */
  near(t.first[1] - t.first[0], -by_level, 1e-4);
  const double one[1] = {0.4}, other[1] = {-1.1};
  const bl_implied_table two = bl_implied_pair(one[0], other[0], 0.55);
  bl_table_at(2, 2, one, other, 0.55, &t);
  near(t.cell[3], two.cell[0], 1e-15);
  near(t.information, two.information, 1e-12);
  bl_free(owner);
}

/* The sum of squared influences on a correlation is its sampling variance as num/normal/polychoric_kernel.c has it. */
static void influences_add_up_to_the_variance(void **state) {
  (void)state;
  enum { N = 2, L = 3, ROWS = 1000 };
  const double cell[9] = {13, 6, 1, 69, 113, 22, 41, 132, 104};
  double rho, se, total = 0, t[4], sum = 0;
  int8_t x[2 * 9];
  int32_t segment[9] = {0};
  const int levels[N] = {L, L};
  blica_packer *packer;
  blica_data *data;
  bl_rows *rows;
  blica_counts *counts;
  bl_influence *f;
  assert_int_equal(blica_pack_begin_items(ctx, N, NULL, levels, NULL, &packer), BLICA_OK);
  assert_int_equal(blica_pack_segment(ctx, packer, "all", segment), BLICA_OK);
  for (int c = 0; c < 9; c++) {
    x[2 * c] = (int8_t)(c / L), x[2 * c + 1] = (int8_t)(c % L);
    total += cell[c];
    for (int copy = 0; copy < cell[c]; copy++)
      assert_int_equal(blica_pack_rows(ctx, packer, 1, x + 2 * c, segment), BLICA_OK);
  }
  assert_int_equal(blica_pack_end(ctx, packer, &data), BLICA_OK);
  assert_int_equal(blica_polychoric(ctx, L, L, cell, &rho, &se, NULL, NULL), BLICA_OK);
  assert_int_equal(bl_rows_of(ctx, data, &rows), BLICA_OK);
  assert_int_equal(rows->n, N);
  assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
  bl_rows_count(rows, rows->weight, counts);
  bl_table_thresholds(counts, t);
  assert_int_equal(bl_influence_make(ctx, N, rows->coding, BL_SCALES, &f), BLICA_OK);
  bl_influence_describe(counts, 0, &rho, t, NULL, f);
  for (int64_t p = 0; p < rows->count; p++) {
    double psi[3];
    bl_influence_row(f, rows->x + 2 * p, psi);
    sum += rows->weight[p] * psi[0] * psi[0];
  }
  near(sum / (se * se), 1, 1e-9);
  bl_free(f);
  bl_rows_free(rows);
  blica_counts_free(counts);
  blica_data_free(data);
}

/* The model's own exact counts leave no residuals, in whatever order their variables and segments stand. */
static void exact_counts_fit(void **state) {
  (void)state;
  blica_model *m;
  blica_counts *c;
  blica_fitted_values *f, *alone;
  draw(6, 6, 4, 1000, 1, &m, NULL, &c);
  assert_int_equal(blica_fitted(ctx, m, c, &f), BLICA_OK);
  for (int64_t at = 0; at < f->pairs * f->u; at++) {
    near(f->correlation_residual[at], 0, 1e-9);
    near(f->pair_residual[at], 0, 1e-12);
  }
  for (int at = 0; at < 6 * 4; at++) near(f->margin_residual[at], 0, 1e-12);
  near(f->srmr, 0, 1e-9);
  assert_int_equal(blica_fitted(ctx, m, NULL, &alone), BLICA_OK);
  assert_null(alone->correlation_residual);
  assert_memory_equal(alone->correlation, f->correlation, (size_t)(f->pairs * f->u) * sizeof(double));
  blica_fitted_free(f);
  char *first = c->segments[0];
  c->segments[0] = c->segments[3], c->segments[3] = first; /* other names: other segments */
  assert_int_equal(blica_fitted(ctx, m, c, &f), BLICA_OK);
  assert_compare(f->srmr, >, 0.01);
  blica_fitted_free(f);
  blica_fitted_free(alone);
  blica_counts_free(c);
  blica_model_free(m);
}

static blica_assessment *assess(const blica_model *m, const blica_data *d, int threads, int bootstrap) {
  blica_assess_options o = blica_assess_options_default();
  blica_assessment *a;
  o.bootstrap = bootstrap;
  blica_set_threads(ctx, threads);
  assert_int_equal(blica_assess(ctx, m, d, &o, &a), BLICA_OK);
  return a;
}

static void same_bits_for_any_threads(void **state) {
  item_levels = *(int *)*state;
  blica_model *truth, *m;
  blica_data *d;
  blica_fit_options o = blica_fit_options_default();
  draw(5, 2, 6, 200, 0, &truth, &d, NULL);
  o.sources = 2;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = d}, &o, &m), BLICA_OK);
  blica_assessment *one = assess(m, d, 1, 24), *seven = assess(m, d, 7, 24), *asymptotic = assess(m, d, 1, 0);
  assert_memory_equal(one->mixing_se, seven->mixing_se, 10 * sizeof(double));
  assert_memory_equal(one->mixing_se_bootstrap, seven->mixing_se_bootstrap, 10 * sizeof(double));
  assert_memory_equal(one->mean_se_bootstrap, seven->mean_se_bootstrap, 12 * sizeof(double));
  assert_memory_equal(one->angle, seven->angle, 2 * sizeof(double));
  near(one->change_p, seven->change_p, 0);
  near(one->m2, seven->m2, 0);
  assert_memory_equal(one->mean_se, seven->mean_se, 12 * sizeof(double));
  for (int i = 0; i < 12; i++) { /* two ways to the same error: the bootstrap has 24 draws */
    assert_compare(asymptotic->mean_se[i], >, 0.4 * one->mean_se_bootstrap[i]);
    assert_compare(asymptotic->mean_se[i], <, 2.5 * one->mean_se_bootstrap[i]);
  }
  assert_int_equal(one->planes, 5 * (item_levels - 1));
  for (int i = 0; i < one->planes; i++) assert_true(one->cut_se[i] > 0 && one->cut_se[i] < 1);
  for (int i = 0; i < 10; i++) assert_true(one->mixing_se[i] > 0 && one->mixing_se[i] < 2);
  blica_assessment_free(one);
  blica_assessment_free(seven);
  blica_assessment_free(asymptotic);
  blica_data_free(d);
  blica_model_free(truth);
  blica_model_free(m);
  item_levels = 2;
}

/* Where variances hardly change, refits move the estimate further than the curvature at the estimate says: their errors
 * and angles are reported. */
static void the_larger_errors_are_reported(void **state) {
  (void)state;
  blica_simulate_options drawn = blica_simulate_options_default();
  blica_fit_options o = blica_fit_options_default();
  blica_assess_options with = blica_assess_options_default(), without = with;
  blica_model *m;
  blica_data *d;
  blica_assessment *a, *b;
  drawn.variables = 6, drawn.sources = 2, drawn.segments = 5, drawn.samples = 100, drawn.seed = 7;
  drawn.sd_low = 1, drawn.sd_high = 1.1;
  assert_int_equal(blica_simulate(ctx, &drawn, NULL, &d, NULL), BLICA_OK);
  o.sources = 2;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = d}, &o, &m), BLICA_OK);
  with.bootstrap = 40, without.bootstrap = 0;
  assert_int_equal(blica_assess(ctx, m, d, &with, &a), BLICA_OK);
  assert_int_equal(blica_assess(ctx, m, d, &without, &b), BLICA_OK);
  assert_compare(a->expected_mcs, <, b->expected_mcs);
  for (int j = 0; j < 2; j++) assert_true(a->angle[j] >= b->angle[j] && a->angle_bound[j] >= b->angle_bound[j]);
  int wider = 0;
  for (int i = 0; i < 12; i++) {
    near(a->mixing_se[i], fmax(b->mixing_se[i], a->mixing_se_bootstrap[i]), 0);
    near(a->mixing_high[i] - a->mixing_low[i], 2 * 1.959963984540054 * a->mixing_se[i], 1e-9);
    wider += a->mixing_se[i] > b->mixing_se[i];
  }
  assert_compare(wider, >=, 6);
  for (int i = 0; i < 10; i++) {
    near(a->log_variance_se[i], fmax(b->log_variance_se[i], a->log_variance_se_bootstrap[i]), 0);
    near(a->mean_se[i], fmax(b->mean_se[i], a->mean_se_bootstrap[i]), 0);
  }
  blica_assessment_free(a), blica_assessment_free(b);
  blica_data_free(d);
  blica_model_free(m);
}

/* Refits of the bootstrap have the options of the fit: a tight prior keeps all variances equal. */
static void refits_have_the_options_of_the_fit(void **state) {
  (void)state;
  blica_model *truth, *m;
  blica_data *d;
  blica_assessment *a;
  blica_fit_options o = blica_fit_options_default();
  blica_assess_options options = blica_assess_options_default();
  draw(5, 2, 6, 200, 0, &truth, &d, NULL);
  o.sources = 2, o.prior_variance = 0.001;
  o.prior = BLICA_PRIOR_FIXED;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = d}, &o, &m), BLICA_OK);
  options.bootstrap = 20;
  assert_int_equal(blica_assess(ctx, m, d, &options, &a), BLICA_OK);
  for (int i = 0; i < 12; i++) assert_true(a->log_variance_se_bootstrap[i] < 0.01);
  blica_assessment_free(a);
  blica_data_free(d);
  blica_model_free(truth);
  blica_model_free(m);
}

/* Answers and words of each question; axes are certified only where the other three allow it. */
static void the_verdict_follows_the_numbers(void **state) {
  (void)state;
  const struct {
    double angle, p, rmsea2, srmr, distance, chance;
    int twin;
    double draws;
    const char *answers, *axes;
  } cases[] = {{5, 1e-3, 0.01, 0.01, 0, 0.5, -1, 100, "yes yes yes yes", "Axes: well determined"},
               {15, 1e-3, 0.01, 0.01, 0, 0.5, -1, 100, "yes yes yes weak", "Axes: roughly"},
               {40, 1e-3, 0.01, 0.01, 0, 0.5, -1, 100, "yes yes yes no", "Axes: poorly"},
               {50, 1e-3, 0.01, 0.01, 0, 0.5, -1, 100, "yes yes yes no", "Axes: undetermined"},
               {5, 0.03, 0.01, 0.01, 0, 0.5, -1, 100, "yes weak yes weak", "Axes: roughly"},
               {5, 0.2, 0.01, 0.01, 0, 0.5, -1, 100, "yes no yes no", "Axes: undetermined"},
               {5, 1e-3, 0.06, 0.06, 0, 0.5, -1, 100, "yes yes weak weak", "Axes: roughly"},
               {5, 1e-3, 0.12, 0.15, 0, 0.5, -1, 100, "yes yes no no", "Axes: not to be trusted"},
               {5, 1e-3, 0.01, 0.01, 0.2, 0.5, -1, 100, "yes yes no unknown", "Axes: not assessed"},
               {5, 1e-3, 0.01, 0.01, INFINITY, 0.5, -1, 100, "yes yes no unknown", "Axes: not assessed"},
               {5, 1e-3, 0.01, 0.01, NAN, 0.5, -1, 100, "yes yes unknown unknown", "Axes: not assessed"},
               {5, 1e-3, 0.01, 0.01, 0, 0.95, -1, 100, "yes yes yes no", "Axes: poorly"},
               {5, 1e-3, 0.01, 0.01, 0, 0.5, 0, 100, "yes yes no no", "Axes: not to be trusted"},
               {5, 1e-3, 0.01, 0.01, 0, 0.5, -1, 10, "yes unknown yes unknown", "Axes: not known"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double angle[2] = {2, cases[i].angle};
    char answers[64] = "", *names[2] = {"a", "b"};
    blica_assessment a = {.n = 2, .k = 2, .u = 4, .rank = 7, .rank_parameters = 7, .angle = angle, .variables = names};
    a.change_p = cases[i].p, a.expected_mcs = 0.96, a.chance_mcs = cases[i].chance, a.distance = cases[i].distance;
    a.srmr = a.srmr_unbiased = cases[i].srmr, a.rmsea2 = cases[i].rmsea2, a.m2 = 10, a.m2_p = 1e-4, a.df = 5;
    a.twin[0] = cases[i].twin, a.twin[1] = 1, a.margin_p = a.tails_p = NAN, a.margin_item = -1;
    a.draws_per_segment = cases[i].draws, a.inflation = cases[i].draws < 100 ? 3 : 1;
    bl_verdict(&a);
    for (int q = 0; q < BLICA_QUESTIONS; q++) strcat(strcat(answers, q ? " " : ""), blica_answer_name(a.answer[q]));
    assert_string_equal(answers, cases[i].answers);
    assert_true(strncmp(a.verdict[BLICA_AXES], cases[i].axes, strlen(cases[i].axes)) == 0);
    a.tails_p = 1e-3; /* heavy tails or careless rows: fit and axes are at most weak */
    const blica_answer fit = a.answer[BLICA_FIT], axes = a.answer[BLICA_AXES];
    bl_verdict(&a);
    assert_int_equal(a.answer[BLICA_FIT], fit == BLICA_YES ? BLICA_WEAK : fit);
    assert_int_equal(a.answer[BLICA_AXES], axes == BLICA_YES ? BLICA_WEAK : axes);
  }
  assert_string_equal(blica_question_name(BLICA_FIT), "fit");
  assert_null(blica_question_name(BLICA_QUESTIONS));
}

/* A model that was fitted to these rows is its own refit, to the bit; a loading that is moved by half a standard error
 * is found to be off by that; items that agree in all rows are named. */
static void the_distance_is_in_standard_errors(void **state) {
  (void)state;
  blica_model *m;
  blica_data *d;
  blica_counts *counts;
  bl_rows *rows;
  bl_optimum found;
  blica_fit_options o = blica_fit_options_default();
  double covariance[22 * 22];
  int twin[2];
  draw(5, 2, 6, 300, 0, NULL, &d, NULL);
  o.sources = 2;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = d}, &o, &m), BLICA_OK);
  assert_int_equal(bl_rows_make(ctx, m, d, &rows), BLICA_OK);
  assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
  bl_rows_count(rows, rows->weight, counts);
  assert_int_equal(bl_optimum_find(ctx, m, rows, counts, &found), BLICA_OK);
  near(found.distance, 0, 0);
  assert_int_equal(bl_sandwich(ctx, m, rows, counts, covariance), BLICA_OK);
  m->mixing[3] += 0.5 * sqrt(covariance[3 * 23]);
  assert_int_equal(bl_optimum_find(ctx, m, rows, counts, &found), BLICA_OK);
  near(found.distance, 0.5, 1e-6);
  assert_false(bl_optimum_twins(rows, &twin[0], &twin[1]));
  for (int64_t p = 0; p < rows->count; p++) rows->x[5 * p + 4] = (int8_t)(1 - rows->x[5 * p + 2]);
  assert_true(bl_optimum_twins(rows, &twin[0], &twin[1]));
  assert_int_equal(twin[0], 2), assert_int_equal(twin[1], 4);
  bl_rows_free(rows);
  blica_counts_free(counts);
  blica_data_free(d);
  blica_model_free(m);
}

/* Given A, the exact counts of a segment show its variances. */
static void variances_of_a_new_segment(void **state) {
  (void)state;
  blica_model *m;
  blica_data *d;
  blica_counts *c;
  bl_rows *rows;
  bl_heldout *h;
  draw(6, 2, 4, 500, 0, &m, &d, NULL);
  assert_int_equal(blica_simulate_exact(ctx, m, &c), BLICA_OK);
  assert_int_equal(bl_rows_of(ctx, d, &rows), BLICA_OK);
  assert_int_equal(bl_heldout_make(ctx, rows, 2, &h), BLICA_OK);
  for (int s = 0; s < 4; s++) {
    double v[2], one[2] = {1, 1};
    const double *truth = m->variances + 2 * s;
    bl_heldout_variances(h, c, s, m, 1e3, v);
    for (int l = 0; l < 2; l++) near(log(v[l]), log(truth[l]), 1e-3);
    assert_compare(bl_heldout_score(h, c, c, s, m, v), >, bl_heldout_score(h, c, c, s, m, one));
    bl_heldout_variances(h, c, s, m, 1e-3, v);
    for (int l = 0; l < 2; l++) near(v[l], 1, 0.01);
  }
  bl_heldout_free(h);
  bl_rows_free(rows);
  blica_counts_free(c);
  blica_data_free(d);
  blica_model_free(m);
}

/* Margins of every level and correlations of a model with levels fit its own exact counts. */
static void exact_counts_of_levels_fit(void **state) {
  (void)state;
  blica_model *m;
  blica_counts *c;
  blica_fitted_values *f;
  item_levels = 4;
  draw(5, 2, 3, 1000, 1, &m, NULL, &c);
  item_levels = 2;
  assert_int_equal(blica_fitted(ctx, m, c, &f), BLICA_OK);
  assert_int_equal(f->planes, 15);
  assert_null(f->pair);
  for (int64_t at = 0; at < f->pairs * f->u; at++) near(f->correlation_residual[at], 0, 1e-8);
  for (int at = 0; at < 15 * 3; at++) near(f->margin_residual[at], 0, 1e-12);
  near(f->srmr, 0, 1e-8);
  blica_fitted_free(f);
  blica_counts_free(c);
  blica_model_free(m);
}

int main(void) {
  static int two = 2, four = 4;
  const struct CMUnitTest tests[] = {cmocka_unit_test(slopes_are_differences),
                                     cmocka_unit_test(tables_are_differences),
                                     cmocka_unit_test(exact_counts_fit),
                                     cmocka_unit_test(exact_counts_of_levels_fit),
                                     cmocka_unit_test(variances_of_a_new_segment),
                                     cmocka_unit_test(the_larger_errors_are_reported),
                                     cmocka_unit_test(the_verdict_follows_the_numbers),
                                     cmocka_unit_test(the_distance_is_in_standard_errors),
                                     cmocka_unit_test(refits_have_the_options_of_the_fit),
                                     cmocka_unit_test(tables_of_levels_are_differences),
                                     cmocka_unit_test(influences_add_up_to_the_variance),
                                     cmocka_unit_test_prestate(same_bits_for_any_threads, &two),
                                     cmocka_unit_test_prestate(same_bits_for_any_threads, &four)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
