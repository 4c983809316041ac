/* Segments found in items with levels: probabilities against the likelihood's engines and against their sum, recovery
 * of known states, and the same bits for any number of threads. */
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
#include "set_word.h"
#include "segment/series.h"
#include "state_rows.h"

enum { ITEMS = 6, SOURCES = 2, STATES = 3, ROWS = 2400, RUN = 200 };
static const int levels[ITEMS] = {4, 3, 4, 2, 4, 3};

typedef struct {
  blica_model *truth;
  int32_t state[ROWS];
  int8_t x[ROWS * ITEMS];
} series;

/* Rows of a simulated model whose state changes every RUN rows; items are cut at -1.2, 0.3 and 1.8. */
static void draw(uint64_t seed, int states, double missing, series *y) {
  const state_rows how = {ITEMS, SOURCES, states, ROWS, RUN, missing, levels, (const double[]){-1.2, 0.3, 1.8}};
  draw_states(&how, seed, &y->truth, y->state, y->x);
}

static blica_data *pack(const series *y, int n, const int32_t *label, int u, const char *const *names) {
  blica_data *data = NULL;
  if (blica_pack(ctx,
                 &(blica_table){.rows = ROWS,
                                .n = n,
                                .x = y->x,
                                .row_stride = ITEMS,
                                .column_stride = 1,
                                .levels = levels,
                                .segment = label,
                                .u = u,
                                .segments = names},
                 &data) != BLICA_OK)
    fail_msg("%s", blica_message(ctx));
  return data;
}

/* Thresholds that belong to the model's means and cuts, so that both speak of the same distribution. */
static void own_thresholds(blica_model *m) {
  for (int s = 0; s < m->u; s++)
    for (int i = 0; i < m->n; i++) {
      double mean = 0, variance = 1;
      for (int j = 0; j < m->k; j++) {
        double a = m->mixing[i + j * m->n];
        mean += sqrt(m->link) * a * m->means[j + s * m->k];
        variance += m->link * a * a * m->variances[j + s * m->k];
      }
      for (int c = m->coding->first[i]; c < m->coding->first[i + 1]; c++)
        m->thresholds[c + s * m->planes] = (mean - m->cuts[c]) / sqrt(variance);
    }
}

/* With two sources rows are integrated over them; with four it is expectation propagation, the same as the
 * likelihood's. */
static void check_rows(int sources, const char *engine) {
  static const int32_t one[ROWS];
  static const char *const names[] = {"1", "2", "3"};
  for (int hole = 0; hole < 2; hole++) {
    series y;
    bl_series *s = NULL;
    bl_emission *e = NULL;
    blica_model *m = NULL;
    blica_loglik_result *wanted = NULL;
    blica_loglik_options o = blica_loglik_options_default();
    blica_fit_options fit = blica_fit_options_default();
    draw(2, STATES, hole ? 0.1 : 0, &y);
    blica_data *labelled = pack(&y, ITEMS, y.state, STATES, names), *plain = pack(&y, ITEMS, one, 1, NULL);
    blica_input input = {.data = labelled};
    fit.sources = sources;
    if (strcmp(engine, "ep") != 0) o.error = 1e-4;
    set_word(blica_loglik_option_table, &o, "engine", engine);
    assert_int_equal(blica_fit(ctx, &input, &fit, &m), BLICA_OK);
    own_thresholds(m);
    assert_int_equal(blica_loglik(ctx, m, labelled, &o, &wanted), BLICA_OK);
    assert_int_equal(bl_series_make(ctx, plain, 0, &s), BLICA_OK);
    assert_int_equal(s->items, ITEMS);
    assert_int_equal(bl_emission_make(ctx, plain, s, &e), BLICA_OK);
    double *log_p = calloc((size_t)s->patterns->count * STATES, sizeof *log_p), total = 0;
    assert_int_equal(bl_emission_model(ctx, e, m, log_p), BLICA_OK);
    assert_string_equal(blica_engine_name(bl_emission_engine(e)), engine);
    for (int t = 0; t < ROWS; t++)
      if (s->patterns->row_pattern[t] >= 0) total += log_p[s->patterns->row_pattern[t] * STATES + y.state[t]];
    if (fabs(total - wanted->total) > 1e-3) fail_msg("log-likelihood %.6f, not %.6f", total, wanted->total);
    free(log_p);
    blica_loglik_result_free(wanted);
    blica_model_free(m);
    bl_emission_free(e);
    bl_series_free(s);
    blica_data_free(labelled);
    blica_data_free(plain);
    blica_model_free(y.truth);
  }
}

static void rows_have_the_probability_of_the_likelihood(void **unused) {
  (void)unused;
  check_rows(2, "grid");
  check_rows(4, "ep");
}

/* All 48 patterns of three items are there. Their probabilities under counts sum to 1; those of a state that has the
 * counts of all rows are near the shares. */
static void probabilities_from_counts_sum_to_one(void **unused) {
  (void)unused;
  enum { FEW = 3 };
  static const int32_t one[ROWS];
  series y;
  bl_series *s = NULL;
  bl_emission *e = NULL;
  draw(7, 1, 0, &y);
  blica_data *plain = pack(&y, FEW, one, 1, NULL);
  assert_int_equal(bl_series_make(ctx, plain, 0, &s), BLICA_OK);
  assert_int_equal(bl_emission_make(ctx, plain, s, &e), BLICA_OK);
  const int64_t count = s->patterns->count;
  assert_int_equal(count, levels[0] * levels[1] * levels[2]);
  double *weight = calloc((size_t)count * 2, sizeof *weight), *stat = calloc(s->cells * 2, sizeof *stat);
  double *log_p = calloc((size_t)count * 2, sizeof *log_p), sum[2] = {0}, distance = 0;
  for (int64_t p = 0; p < count; p++) {
    weight[p * 2] = s->patterns->group[0].weight[p];
    weight[p * 2 + 1] = p % 3 == 0 ? weight[p * 2] : 0;
  }
  assert_int_equal(bl_series_expect(ctx, s, 2, weight, stat), BLICA_OK);
  assert_int_equal(bl_emission_counts(ctx, e, 2, stat, log_p), BLICA_OK);
  for (int64_t p = 0; p < count; p++) {
    for (int k = 0; k < 2; k++) sum[k] += exp(log_p[p * 2 + k]);
    distance += fabs(exp(log_p[p * 2]) - weight[p * 2] / ROWS);
  }
  if (fabs(sum[0] - 1) > 1e-6 || fabs(sum[1] - 1) > 1e-6) fail_msg("sums %.6f and %.6f", sum[0], sum[1]);
  if (distance > 0.15) fail_msg("distance %.4f", distance); /* the shares' own noise: up to 0.113 */
  free(weight);
  free(stat);
  free(log_p);
  bl_emission_free(e);
  bl_series_free(s);
  blica_data_free(plain);
  blica_model_free(y.truth);
}

static blica_segmentation *find(const blica_data *data, int states) {
  blica_segmentation *r = NULL;
  blica_segment_options o = blica_segment_options_default();
  o.sources = SOURCES, o.states = states, o.starts = 1;
  if (states == 0) o.max_states = 5;
  if (blica_segment(ctx, data, &o, &r) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return r;
}

static void states_are_found_on_any_number_of_threads(void **unused) {
  (void)unused;
  static const int32_t one[ROWS];
  series y;
  int table[STATES][STATES] = {{0}}, agree = 0;
  draw(4, STATES, 0.05, &y);
  blica_data *plain = pack(&y, ITEMS, one, 1, NULL);
  blica_set_threads(ctx, 1);
  blica_segmentation *r = find(plain, 0);
  blica_set_threads(ctx, 3);
  blica_segmentation *more = find(plain, 0);
  blica_set_threads(ctx, 0);
  assert_int_equal(r->states, STATES);
  assert_int_equal(r->engine, BLICA_ENGINE_GRID);
  assert_compare(r->loglik, ==, more->loglik);
  assert_memory_equal(r->state, more->state, sizeof y.state);
  assert_memory_equal(r->model->mixing, more->model->mixing, ITEMS * SOURCES * sizeof(double));
  for (int t = 0; t < ROWS; t++) table[r->state[t]][y.state[t]]++;
  for (int s = 0; s < STATES; s++) {
    int most = 0;
    for (int k = 0; k < STATES; k++) most = table[s][k] > most ? table[s][k] : most;
    agree += most;
  }
  if (agree < 0.95 * ROWS) fail_msg("%d of %d rows agree", agree, ROWS);
  double mcs, cosine[SOURCES];
  int matching[SOURCES];
  assert_int_equal(r->model->n, ITEMS);
  assert_int_equal(r->model->planes, 14);
  blica_compare(ctx, ITEMS, SOURCES, y.truth->mixing, r->model->mixing, &mcs, matching, cosine);
  if (mcs < 0.99) fail_msg("MCS %g", mcs);
  blica_segmentation_free(r);
  blica_segmentation_free(more);
  blica_data_free(plain);
  blica_model_free(y.truth);
}

static void rows_that_do_not_change_have_one_state(void **unused) {
  (void)unused;
  static const int32_t one[ROWS];
  series y;
  draw(5, 1, 0, &y);
  blica_data *plain = pack(&y, ITEMS, one, 1, NULL);
  blica_segmentation *r = find(plain, 0);
  assert_int_equal(r->states, 1);
  blica_segmentation_free(r);
  blica_data_free(plain);
  blica_model_free(y.truth);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_have_the_probability_of_the_likelihood),
      cmocka_unit_test(probabilities_from_counts_sum_to_one),
      cmocka_unit_test(states_are_found_on_any_number_of_threads),
      cmocka_unit_test(rows_that_do_not_change_have_one_state),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
