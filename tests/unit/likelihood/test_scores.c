/* What scores are good for, on rows whose sources are known: their reliability is the squared correlation with the
 * sources, and plausible values give slopes that posterior means do not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/rng.h"

enum { ITEMS = 10, SEGMENTS = 4, EACH = 5000, ROWS = SEGMENTS * EACH, DRAWS = 5 };

static blica_model *model;
static blica_data *data;
static double z[ROWS][2]; /* the sources */
static int8_t x[ROWS][ITEMS];
static int32_t segment[ROWS];

/* The mean of the first source grows from segment to segment; variances differ. */
static void make_model(void) {
  const double means[] = {0, 0, .6, 0, 1.2, 0, 1.8, 0}, variances[] = {1, .5, .5, 2, 1.5, 1, 1, 1.5};
  const double samples[] = {EACH, EACH, EACH, EACH};
  bl_rng rng = bl_rng_make(3, 0);
  assert_int_equal(blica_model_create(ctx, ITEMS, 2, SEGMENTS, &model), BLICA_OK);
  memcpy(model->means, means, sizeof means);
  memcpy(model->variances, variances, sizeof variances);
  memcpy(model->samples, samples, sizeof samples);
  model->link = 0.39269908169872414;
  for (int i = 0; i < 2 * ITEMS; i++) model->mixing[i] = 2.5 * bl_rng_uniform(&rng) - .5;
}

/* The first rows. */
static blica_data *pack_rows(int64_t rows) {
  blica_data *packed;
  const blica_table table = {.rows = rows,
                             .n = ITEMS,
                             .x = x[0],
                             .row_stride = ITEMS,
                             .column_stride = 1,
                             .variables = (const char *const *)model->variables,
                             .segment = segment,
                             .u = SEGMENTS};
  assert_int_equal(blica_pack(ctx, &table, &packed), BLICA_OK);
  return packed;
}

static int make_rows(void **state) {
  bl_rng rng = bl_rng_make(4, 0);
  assert_int_equal(open_context(state), 0);
  make_model();
  for (int r = 0; r < ROWS; r++) {
    const int s = segment[r] = r % SEGMENTS;
    for (int j = 0; j < 2; j++)
      z[r][j] = model->means[j + 2 * s] + sqrt(model->variances[j + 2 * s]) * bl_rng_normal(&rng);
    for (int i = 0; i < ITEMS; i++) {
      const double signal = model->mixing[i] * z[r][0] + model->mixing[i + ITEMS] * z[r][1];
      x[r][i] = sqrt(model->link) * signal + bl_rng_normal(&rng) > 0;
    }
  }
  data = pack_rows(ROWS);
  return 0;
}

static int free_rows(void **state) {
  blica_data_free(data);
  blica_model_free(model);
  return close_context(state);
}

/* Slope of a regression of y on x, from their elements a stride apart, and their squared correlation. */
static double slope_of(const double *y, int y_stride, const double *on, int stride, int from, int step, double *r2) {
  double n = 0, my = 0, mx = 0, xx = 0, xy = 0, yy = 0;
  for (int r = from; r < ROWS; r += step) {
    const double dx = on[(size_t)r * stride] - mx, dy = y[(size_t)r * y_stride] - my;
    mx += dx / ++n, my += dy / n;
    xx += dx * (on[(size_t)r * stride] - mx);
    yy += dy * (y[(size_t)r * y_stride] - my);
    xy += dx * (y[(size_t)r * y_stride] - my);
  }
  *r2 = xy * xy / (xx * yy);
  return xy / xx;
}

static void test_reliability(void **state) {
  blica_posterior *p;
  blica_reliability *sum = NULL;
  double r2;
  (void)state;
  assert_int_equal(blica_sources(ctx, model, data, NULL, &p), BLICA_OK);
  assert_int_equal(blica_reliability_add(ctx, model, data, p, &sum), BLICA_OK);
  for (int j = 0; j < 2; j++) {
    slope_of(&z[0][j], 2, p->mean + j, 2, 0, 1, &r2);
    assert_compare(fabs(blica_reliability_of(sum, j, -1) - r2), <, .015);
    for (int s = 0; s < SEGMENTS; s++) {
      slope_of(&z[0][j], 2, p->mean + j, 2, s, SEGMENTS, &r2);
      assert_compare(fabs(blica_reliability_of(sum, j, s) - r2), <, .03);
    }
    assert_true(isnan(blica_reliability_of(sum, j, SEGMENTS))); /* no row is of unknown segment */
  }
  assert_true(isnan(blica_reliability_of(NULL, 0, -1)));
  /* rows that come again leave it as it is */
  const double once = blica_reliability_of(sum, 0, -1);
  assert_int_equal(blica_reliability_add(ctx, model, data, p, &sum), BLICA_OK);
  assert_compare(fabs(blica_reliability_of(sum, 0, -1) - once), <, 1e-12);
  p->rows--;
  assert_int_equal(blica_reliability_add(ctx, model, data, p, &sum), BLICA_ERR_ARGUMENT);
  assert_true(sum->few == 0 && sum->none == 0);
  blica_reliability_free(sum);
  blica_posterior_free(p);
}

/* The segment's number regressed on the first source, and the second source on the first: the posterior means, whose
 * variance is too small and whose errors go together, give other slopes than the sources do. */
static void test_plausible_values(void **state) {
  static double number[ROWS];
  blica_sources_options o = blica_sources_options_default();
  blica_posterior *p;
  double r2, drawn[2] = {0};
  (void)state;
  o.draws = DRAWS;
  for (int r = 0; r < ROWS; r++) number[r] = segment[r];
  assert_int_equal(blica_sources(ctx, model, data, &o, &p), BLICA_OK);
  const double truth[] = {slope_of(number, 1, z[0], 2, 0, 1, &r2), slope_of(&z[0][1], 2, z[0], 2, 0, SEGMENTS, &r2)};
  const double means[] = {slope_of(number, 1, p->mean, 2, 0, 1, &r2),
                          slope_of(p->mean + 1, 2, p->mean, 2, 0, SEGMENTS, &r2)};
  for (int d = 0; d < DRAWS; d++) {
    const double *own = p->draws + 2 * d;
    drawn[0] += slope_of(number, 1, own, 2 * DRAWS, 0, 1, &r2) / DRAWS;
    drawn[1] += slope_of(own + 1, 2 * DRAWS, own, 2 * DRAWS, 0, SEGMENTS, &r2) / DRAWS;
  }
  print_message("slopes: sources %.3f %.3f, posterior means %.3f %.3f, plausible values %.3f %.3f\n", truth[0],
                truth[1], means[0], means[1], drawn[0], drawn[1]);
  assert_compare(fabs(drawn[0] / truth[0] - 1), <, .03);
  assert_compare(fabs(means[0] / truth[0] - 1), >, .1);
  assert_compare(fabs(drawn[1] - truth[1]), <, .04);
  assert_compare(fabs(means[1] - truth[1]), >, .1);
  blica_posterior_free(p);
}

/* Items left out by a row are counted, and its scores are drawn to the mean of the segment. */
static void test_few_answers(void **state) {
  blica_data *gaps;
  blica_posterior *p;
  blica_reliability *sum = NULL;
  (void)state;
  for (int i = 0; i < ITEMS; i++) {
    x[0][i] = BLICA_MISSING;
    if (i < 6) x[4][i] = BLICA_MISSING;
    if (i < 5) x[8][i] = BLICA_MISSING;
  }
  gaps = pack_rows(12);
  assert_int_equal(blica_sources(ctx, model, gaps, NULL, &p), BLICA_OK);
  assert_int_equal(blica_reliability_add(ctx, model, gaps, p, &sum), BLICA_OK);
  assert_true(p->answers[0] == 0 && p->answers[4] == 4 && p->answers[8] == 5 && p->answers[1] == ITEMS);
  assert_true(sum->none == 1 && sum->few == 2);
  assert_true(p->mean[0] == 0 && p->sd[0] == 1);
  blica_reliability_free(sum);
  blica_posterior_free(p);
  blica_data_free(gaps);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reliability), cmocka_unit_test(test_plausible_values),
                                     cmocka_unit_test(test_few_answers)};
  return cmocka_run_group_tests(tests, make_rows, free_rows);
}
