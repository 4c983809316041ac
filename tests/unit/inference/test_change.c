/* The test of changing variances of one source by its definition, row by row: with one source there is one direction,
 * so that every matrix is a number. Correlations and thresholds common to all segments are those of pooled.c, the
 * influence of a row that of influence.c; both have tests of their own. */
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
#include "inference/scores/change_test.h"
#include "inference/scores/pooled.h"
#include "inference/scores/influence.h"
#include "level_rows.h"
#include "num/chi2.h"

enum { N = 5, PAIRS = 10, SEGMENTS = 3, ROWS = 420 };

/* d rho for a unit change of the variance of the leading factor, its eigenvector by power iteration. */
static void direction(const double *rho, double *d) {
  double matrix[N * N], x[N] = {1, -1, 1, -1, 1}, value = 0;
  bl_pooled_matrix(N, rho, matrix);
  for (int round = 0; round < 3000; round++) {
    double y[N], square = 0;
    for (int i = 0; i < N; i++) {
      y[i] = 0;
      for (int j = 0; j < N; j++) y[i] += matrix[i + N * j] * x[j];
      square += y[i] * y[i];
    }
    value = sqrt(square);
    for (int i = 0; i < N; i++) x[i] = y[i] / value;
  }
  for (int j = 1; j < N; j++)
    for (int i = 0; i < j; i++) {
      const double r = rho[blica_pair(i, j)];
      d[blica_pair(i, j)] = 0.5 * value * (2 * x[i] * x[j] - r * (x[i] * x[i] + x[j] * x[j]));
    }
}

/* p from the scores of single rows. */
static double plain_p(const bl_rows *rows, const blica_counts *counts, double inflation) {
  bl_pooled *common;
  bl_influence *f;
  double d[PAIRS], *score = calloc((size_t)rows->count, sizeof *score), total = 0, mean = 0, r = 0;
  double h[SEGMENTS] = {0}, statistic = 0, expected = 0, variance = 0;
  assert_int_equal(bl_pooled_make(ctx, N, SEGMENTS, rows->coding, true, &common), BLICA_OK);
  assert_int_equal(bl_influence_make(ctx, N, rows->coding, BL_SCALES, &f), BLICA_OK);
  bl_pooled_fit(counts, common);
  direction(common->rho, d);
  for (int s = 0; s < SEGMENTS; s++) {
    bl_influence_describe(counts, s, common->rho, common->t + common->planes * s, NULL, f);
    for (int p = 0; p < PAIRS; p++) h[s] += d[p] * d[p] * f->information[p] * f->both[p];
    for (int64_t at = rows->first[s]; at < rows->first[s + 1]; at++) {
      double psi[PAIRS + N];
      bl_influence_row(f, rows->x + N * at, psi);
      for (int p = 0; p < PAIRS; p++) score[at] += psi[p] * d[p] * f->information[p] * f->both[p];
      mean += rows->weight[at] * score[at], total += rows->weight[at];
    }
  }
  mean /= total;
  for (int s = 0; s < SEGMENTS; s++)
    for (int64_t at = rows->first[s]; at < rows->first[s + 1]; at++)
      r += inflation * rows->weight[at] * pow(score[at] - mean, 2) * (double)rows->total[s] / h[s] / total;
  for (int s = 0; s < SEGMENTS; s++) {
    const double j = h[s] * r, q = 1 / j - 1 / (j + h[s] * h[s] / 4), other = 1 - (double)rows->total[s] / total;
    double sum = 0;
    for (int64_t at = rows->first[s]; at < rows->first[s + 1]; at++) sum += rows->weight[at] * (score[at] - mean);
    statistic += sum * sum * q, expected += other * q * j, variance += 2 * other * q * j * q * j;
  }
  bl_free(common), bl_free(f);
  free(score);
  return bl_chi2_upper(2 * statistic * expected / variance, 2 * expected * expected / variance);
}

static void p_is_that_of_the_rows(void **state) {
  (void)state;
  static const int kinds[2][N] = {{2, 2, 2, 2, 2}, {3, 2, 4, 2, 3}};
  for (int trial = 0; trial < 4; trial++) {
    level_rows y = draw_level_rows(N, SEGMENTS, ROWS, kinds[trial % 2], trial > 1 ? 0.25 : 0, (uint64_t)trial);
    blica_fit_options o = blica_fit_options_default();
    blica_model *model;
    blica_counts *counts;
    bl_rows *rows;
    bl_change found;
    double source_p;
    blica_data *data = pack_level_rows(&y);
    o.sources = 1;
    assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &model), BLICA_OK);
    assert_int_equal(bl_rows_make(ctx, model, data, &rows), BLICA_OK);
    assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
    bl_rows_count(rows, rows->weight, counts);
    assert_int_equal(bl_change_test(ctx, model, rows, counts, &found, &source_p), BLICA_OK);
    const double wanted = plain_p(rows, counts, found.rows.inflation);
    if (fabs(found.p - wanted) > 1e-6 * (1e-3 + wanted))
      fail_msg("trial %d: p %.12g, not %.12g", trial, found.p, wanted);
    assert_compare(source_p, >=, found.p);
    bl_rows_free(rows);
    blica_counts_free(counts);
    blica_model_free(model);
    blica_data_free(data);
    drop_level_rows(&y);
  }
}

/* One source of sd 1 or, with change, 1 and 2 in turn; its mean rises over the segments. */
static bl_change of_one_source(bool skewed, bool changing) {
  enum { MANY = 10, EACH = 400 };
  static const int two[N] = {2, 2, 2, 2, 2};
  level_rows y = {N, MANY, MANY * EACH, two, malloc(MANY * EACH * N), malloc(MANY * EACH * sizeof(int32_t))};
  bl_rng rng = bl_rng_make(3, 18);
  blica_fit_options o = blica_fit_options_default();
  blica_model *model;
  blica_counts *counts;
  bl_rows *rows;
  bl_change found;
  double source_p;
  for (int64_t r = 0; r < y.rows; r++) {
    const int s = y.segment[r] = (int32_t)(r % MANY);
    const double plain = skewed ? -log(bl_rng_uniform(&rng)) - 1 : bl_rng_normal(&rng);
    const double z = (changing && s % 2 ? 2 : 1) * plain + 0.25 * (s - 4.5);
    for (int i = 0; i < N; i++) y.x[r * N + i] = (i % 2 ? -1 : 1.2) * z + bl_rng_normal(&rng) > 0;
  }
  blica_data *data = pack_level_rows(&y);
  o.sources = 1;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &model), BLICA_OK);
  assert_int_equal(bl_rows_make(ctx, model, data, &rows), BLICA_OK);
  assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
  bl_rows_count(rows, rows->weight, counts);
  assert_int_equal(bl_change_test(ctx, model, rows, counts, &found, &source_p), BLICA_OK);
  bl_rows_free(rows);
  blica_counts_free(counts);
  blica_model_free(model);
  blica_data_free(data);
  drop_level_rows(&y);
  return found;
}

/* A skewed source whose mean changes looks like a changing variance, but only along with the mean. */
static void skewed_sources_change_with_their_means(void **state) {
  (void)state;
  bl_change found = of_one_source(true, false);
  assert_compare(found.p, <, 1e-4);
  assert_compare(found.beyond_p, >, 0.05);
  found = of_one_source(false, true);
  assert_compare(found.beyond_p, <, 1e-4);
  found = of_one_source(false, false);
  assert_compare(found.p, >, 0.05);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(p_is_that_of_the_rows),
                                     cmocka_unit_test(skewed_sources_change_with_their_means)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
