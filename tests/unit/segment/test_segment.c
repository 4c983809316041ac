/* Segments found in rows: expected counts against counting, probabilities against the likelihood's engines, recovery of
 * known states, and the same bits for any number of threads and after a break. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "segment/series.h"
#include "state_rows.h"

enum { ITEMS = 6, SOURCES = 2, STATES = 3, ROWS = 3000 };

typedef struct {
  blica_model *truth;
  blica_data *data;
  int32_t state[ROWS];
  int8_t x[ROWS * ITEMS];
} series;

/* Rows of a simulated model whose state changes every `run` rows; a share of the values is missing. */
static void draw(uint64_t seed, int states, int run, double missing, series *y) {
  static const int32_t one[ROWS];
  static const int levels[ITEMS] = {2, 2, 2, 2, 2, 2};
  const state_rows how = {ITEMS, SOURCES, states, ROWS, run, missing, levels, (const double[]){0}};
  draw_states(&how, seed, &y->truth, y->state, y->x);
  assert_int_equal(
      blica_pack(ctx, &(blica_table){.rows = ROWS, .n = ITEMS, .x = y->x, .segment = one, .u = 1}, &y->data), BLICA_OK);
}

static void drop(series *y) {
  blica_model_free(y->truth);
  blica_data_free(y->data);
}

static void close_to(const double *a, const double *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (fabs(a[i] - b[i]) > 1e-9 * (1 + fabs(b[i]))) fail_msg("place %zu: %.17g, not %.17g", i, a[i], b[i]);
}

/* Weights of 0 and 1 by pattern are labels: half of the patterns in one state, the others in the second. */
static void expected_counts_are_counts(void **unused) {
  (void)unused;
  for (int hole = 0; hole < 2; hole++) {
    series y;
    bl_series *s = NULL;
    blica_data *labelled = NULL;
    blica_counts *wanted = NULL, *got = NULL;
    int32_t label[ROWS];
    draw(1, STATES, 50, hole ? 0.1 : 0, &y);
    assert_int_equal(bl_series_make(ctx, y.data, 0, &s), BLICA_OK);
    double *weight = calloc((size_t)s->patterns->count * 2, sizeof *weight), *stat = calloc(s->cells * 2, sizeof *stat);
    for (int t = 0; t < ROWS; t++) {
      int64_t p = s->patterns->row_pattern[t];
      label[t] = p >= 0 ? (int32_t)(p % 2) : 0;
      if (p >= 0) weight[p * 2 + label[t]] += 1;
    }
    assert_int_equal(bl_series_expect(ctx, s, 2, weight, stat), BLICA_OK);
    assert_int_equal(bl_series_counts(ctx, s, 2, stat, (const char *const *)y.data->variables, &got), BLICA_OK);
    static const char *const names[] = {"1", "2"};
    assert_int_equal(
        blica_pack(ctx, &(blica_table){.rows = ROWS, .n = ITEMS, .x = y.x, .segment = label, .u = 2, .segments = names},
                   &labelled),
        BLICA_OK);
    assert_int_equal(blica_count(ctx, labelled, &wanted), BLICA_OK);
    for (int k = 0; k < 2; k++)
      for (int j = 1; j < ITEMS; j++)
        for (int i = 0; i < j; i++) {
          double a[4], b[4];
          blica_counts_table(got, k, i, j, a);
          blica_counts_table(wanted, k, i, j, b);
          close_to(a, b, 4);
        }
    close_to(got->ones, wanted->ones, 2 * ITEMS);
    close_to(got->present, wanted->present, 2 * ITEMS);
    free(weight);
    free(stat);
    blica_counts_free(wanted);
    blica_counts_free(got);
    blica_data_free(labelled);
    bl_series_free(s);
    drop(&y);
  }
}

/* Thresholds that belong to the model's means, so that both speak of the same distribution. */
static void own_thresholds(blica_model *m) {
  for (int s = 0; s < m->u; s++)
    for (int i = 0; i < m->n; i++) {
      double mean = 0, variance = 1;
      for (int j = 0; j < m->k; j++) {
        double a = m->mixing[i + j * m->n];
        mean += sqrt(m->link) * a * m->means[j + s * m->k];
        variance += m->link * a * a * m->variances[j + s * m->k];
      }
      m->thresholds[i + s * m->n] = mean / sqrt(variance);
    }
}

static void rows_have_the_probability_of_the_likelihood(void **unused) {
  (void)unused;
  for (int hole = 0; hole < 2; hole++) {
    series y;
    bl_series *s = NULL;
    bl_emission *e = NULL;
    blica_data *labelled = NULL;
    blica_loglik_result *wanted = NULL;
    blica_loglik_options o = blica_loglik_options_default();
    int32_t label[ROWS];
    draw(2, 1, ROWS, hole ? 0.1 : 0, &y);
    o.error = 1e-4;
    own_thresholds(y.truth);
    memset(label, 0, sizeof label);
    assert_int_equal(blica_pack(ctx,
                                &(blica_table){.rows = ROWS,
                                               .n = ITEMS,
                                               .x = y.x,
                                               .variables = (const char *const *)y.truth->variables,
                                               .segment = label,
                                               .u = 1,
                                               .segments = (const char *const *)y.truth->segments},
                                &labelled),
                     BLICA_OK);
    assert_int_equal(bl_series_make(ctx, y.data, 0, &s), BLICA_OK);
    assert_int_equal(bl_emission_make(ctx, y.data, s, &e), BLICA_OK);
    double *log_p = calloc((size_t)s->patterns->count, sizeof *log_p), total = 0;
    assert_int_equal(bl_emission_model(ctx, e, y.truth, log_p), BLICA_OK);
    o.engine = bl_emission_engine(e);
    assert_int_equal(blica_loglik(ctx, y.truth, labelled, &o, &wanted), BLICA_OK);
    for (int t = 0; t < ROWS; t++)
      if (s->patterns->row_pattern[t] >= 0) total += log_p[s->patterns->row_pattern[t]];
    if (fabs(total - wanted->total) > 1e-2) fail_msg("log-likelihood %.6f, not %.6f", total, wanted->total);
    free(log_p);
    blica_loglik_result_free(wanted);
    bl_emission_free(e);
    bl_series_free(s);
    blica_data_free(labelled);
    drop(&y);
  }
}

/* Share of pairs of rows, in a sample, on which two labellings agree whether they belong together. */
static double agreement(const int32_t *a, const int32_t *b) {
  bl_rng rng = bl_rng_make(1, 1);
  int same = 0;
  enum { PAIRS = 20000 };
  for (int i = 0; i < PAIRS; i++) {
    int p = (int)(bl_rng_uniform(&rng) * ROWS), q = (int)(bl_rng_uniform(&rng) * ROWS);
    same += (a[p] == a[q]) == (b[p] == b[q]);
  }
  return (double)same / PAIRS;
}

static blica_segmentation *find(const blica_data *data, int states, int points) {
  blica_segmentation *r = NULL;
  blica_segment_options o = blica_segment_options_default();
  o.sources = SOURCES, o.states = states, o.change_points = points, o.starts = 2;
  if (states == 0) o.max_states = 6;
  if (blica_segment(ctx, data, &o, &r) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return r;
}

/* The fewest states within one standard error of the largest held-out log-likelihood. */
static int fewest_by_heldout(const blica_segmentation *r) {
  int best = -1;
  for (int i = 0; i < r->n_trials; i++)
    if (!isnan(r->trials[i].heldout) && (best < 0 || r->trials[i].heldout > r->trials[best].heldout)) best = i;
  assert_compare(best, >=, 0);
  int fewest = best;
  while (fewest > 0 && r->trials[best].heldout - r->trials[fewest - 1].heldout <= r->trials[fewest - 1].heldout_se)
    fewest--;
  return r->trials[fewest].states;
}

static void states_are_found(void **unused) {
  (void)unused;
  for (int points = 0; points < 2; points++) {
    series y;
    draw(3, STATES, points ? ROWS / STATES : 250, 0.02, &y);
    blica_segmentation *r = find(y.data, 0, points);
    int64_t run = 0, rows = 0;
    assert_int_equal(r->states, STATES);
    assert_int_equal(fewest_by_heldout(r), STATES);
    if (agreement(r->state, y.state) < 0.95) fail_msg("agreement %g", agreement(r->state, y.state));
    assert_int_equal(r->state[0], 0);
    for (int t = 0; t < ROWS; t++) {
      double sum = 0;
      for (int s = 0; s < r->states; s++) sum += r->probability[t * r->states + s];
      assert_compare(fabs(sum - 1), <, 1e-9);
      run = t > 0 && r->state[t] != r->state[t - 1] ? 1 : run + 1;
      if (t + 1 < ROWS && r->state[t + 1] != r->state[t]) assert_compare(run, >=, 10);
    }
    for (int s = 0; s < r->states; s++) rows += (int64_t)llround(r->expected_rows[s]);
    assert_compare(llabs(rows - ROWS), <=, STATES);
    if (points)
      for (int s = 0; s < STATES; s++) assert_int_equal(r->runs[s], 1);
    assert_int_equal(r->model->u, STATES);
    double mcs, cosine[SOURCES];
    int matching[SOURCES];
    blica_compare(ctx, ITEMS, SOURCES, y.truth->mixing, r->model->mixing, &mcs, matching, cosine);
    assert_compare(mcs, >, 0.95);
    blica_segmentation_free(r);
    drop(&y);
  }
}

static void rows_that_do_not_change_have_one_state(void **unused) {
  (void)unused;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    series y;
    draw(seed, 1, ROWS, 0, &y);
    blica_segmentation *r = find(y.data, 0, 0);
    assert_int_equal(r->states, 1);
    blica_segmentation_free(r);
    drop(&y);
  }
}

/* With one state rows are independent: each has the probability that the rows outside its fold give it. Folds are
 * blocks of 20 rows here, every fifth. */
static void heldout_rows_of_one_state_are_scored_by_the_others(void **unused) {
  (void)unused;
  enum { BLOCK = 20, FOLDS = 5 };
  series y;
  bl_series *s = NULL;
  bl_emission *e = NULL;
  double total = 0;
  draw(1, 1, ROWS, 0.05, &y);
  blica_segmentation *r = find(y.data, 0, 0);
  assert_int_equal(bl_series_make(ctx, y.data, 0, &s), BLICA_OK);
  assert_int_equal(bl_emission_make(ctx, y.data, s, &e), BLICA_OK);
  const size_t patterns = (size_t)s->patterns->count;
  double *log_p = calloc(patterns, sizeof *log_p), *stat = calloc(s->cells, sizeof *stat);
  for (int f = 0; f < FOLDS; f++) {
    double *weight = calloc(patterns, sizeof *weight);
    for (int t = 0; t < ROWS; t++)
      if (t / BLOCK % FOLDS != f) weight[s->patterns->row_pattern[t]]++;
    assert_int_equal(bl_series_expect(ctx, s, 1, weight, stat), BLICA_OK);
    assert_int_equal(bl_emission_counts(ctx, e, 1, stat, log_p), BLICA_OK);
    for (int t = 0; t < ROWS; t++)
      if (t / BLOCK % FOLDS == f) total += log_p[s->patterns->row_pattern[t]];
    free(weight);
  }
  assert_int_equal(r->trials[0].states, 1);
  if (fabs(r->trials[0].heldout - total) > 1e-6) fail_msg("held out %.9g, not %.9g", r->trials[0].heldout, total);
  free(log_p), free(stat);
  bl_emission_free(e);
  bl_series_free(s);
  blica_segmentation_free(r);
  drop(&y);
}

static void same(const blica_segmentation *a, const blica_segmentation *b) {
  const size_t S = (size_t)a->states;
  assert_int_equal(a->states, b->states);
  assert_int_equal(a->rounds, b->rounds);
  assert_true(a->loglik == b->loglik);
  assert_memory_equal(a->state, b->state, ROWS * sizeof *a->state);
  assert_memory_equal(a->probability, b->probability, ROWS * S * sizeof(double));
  assert_memory_equal(a->transition, b->transition, S * S * sizeof(double));
  assert_memory_equal(a->model->mixing, b->model->mixing, ITEMS * SOURCES * sizeof(double));
  assert_memory_equal(a->model->variances, b->model->variances, SOURCES * S * sizeof(double));
}

static void threads_do_not_matter(void **unused) {
  (void)unused;
  series y;
  draw(4, STATES, 100, 0.05, &y);
  blica_set_threads(ctx, 1);
  blica_segmentation *one = find(y.data, 0, 0);
  for (int threads = 2; threads <= 7; threads += 5) {
    blica_set_threads(ctx, threads);
    blica_segmentation *more = find(y.data, 0, 0);
    same(one, more);
    blica_segmentation_free(more);
  }
  blica_set_threads(ctx, 0);
  blica_segmentation_free(one);
  drop(&y);
}

static int stop_after(const blica_progress *progress, void *left) {
  (void)progress;
  return --*(int *)left <= 0;
}

static void interrupted_and_resumed_it_ends_in_the_same_bits(void **unused) {
  (void)unused;
  series y;
  blica_segmentation *r = NULL;
  blica_segment_options o = blica_segment_options_default();
  char path[] = "/tmp/blica_segment_XXXXXX";
  draw(5, STATES, 100, 0, &y);
  close(mkstemp(path));
  unlink(path);
  o.sources = SOURCES, o.max_states = 4, o.starts = 2;
  assert_int_equal(blica_segment(ctx, y.data, &o, &r), BLICA_OK);
  blica_segmentation *whole = r;
  o.checkpoint = path, o.checkpoint_seconds = 0, o.resume = 1;
  int stops = 0;
  for (int patience = 1;; patience += 12) {
    int left = patience;
    blica_set_poll(ctx, stop_after, &left);
    assert_int_equal(blica_segment(ctx, y.data, &o, &r), BLICA_OK);
    blica_set_poll(ctx, NULL, NULL);
    if (r->stop == BLICA_STOP_CONVERGED) break;
    assert_int_equal(r->stop, BLICA_STOP_INTERRUPTED);
    stops++;
    assert_compare(r->states, >=, 1);
    assert_compare(r->state[ROWS - 1], <, r->states);
    blica_segmentation_free(r);
  }
  assert_compare(stops, >=, 3);
  same(whole, r);
  blica_segmentation_free(r);
  o.seed = 2;
  assert_int_equal(blica_segment(ctx, y.data, &o, &r), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "seed"));
  unlink(path);
  blica_segmentation_free(whole);
  drop(&y);
}

static void bad_input_is_named(void **unused) {
  (void)unused;
  series y;
  blica_data *other = NULL;
  blica_segmentation *r = NULL;
  blica_segment_options o = blica_segment_options_default();
  draw(6, STATES, 100, 0, &y);
  assert_int_equal(
      blica_pack(ctx, &(blica_table){.rows = ROWS, .n = ITEMS, .x = y.x, .segment = y.state, .u = STATES}, &other),
      BLICA_OK);
  o.sources = SOURCES;
  assert_int_equal(blica_segment(ctx, other, &o, &r), BLICA_ERR_DATA);
  assert_null(r);
  assert_non_null(strstr(blica_message(ctx), "3 segments already"));
  blica_data_free(other);
  static const int32_t one[49];
  assert_int_equal(blica_pack(ctx, &(blica_table){.rows = 49, .n = ITEMS, .x = y.x, .segment = one, .u = 1}, &other),
                   BLICA_OK);
  assert_int_equal(blica_segment(ctx, other, &o, &r), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "49 rows; at least 50"));
  blica_data_free(other);
  o.states = 31, o.min_length = 100;
  assert_int_equal(blica_segment(ctx, y.data, &o, &r), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "31 states of at least 100 rows need 3100 rows"));
  o = blica_segment_options_default();
  o.sources = 7;
  assert_int_equal(blica_segment(ctx, y.data, &o, &r), BLICA_ERR_ARGUMENT);
  drop(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expected_counts_are_counts),
      cmocka_unit_test(rows_have_the_probability_of_the_likelihood),
      cmocka_unit_test(states_are_found),
      cmocka_unit_test(rows_that_do_not_change_have_one_state),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(interrupted_and_resumed_it_ends_in_the_same_bits),
      cmocka_unit_test(bad_input_is_named),
      cmocka_unit_test(heldout_rows_of_one_state_are_scored_by_the_others),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
