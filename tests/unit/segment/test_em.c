/* Hidden states learned by expectation-maximisation: one round against sums over all sequences of states, first states
 * and merging on rows whose states are known, and what a caller gets. */
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
#include "num/rng.h"
#include "segment/segment.h"

enum { ITEMS = 3 };

static void near(const char *what, int at, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("%s, place %d: %.15g, not %.15g", what, at, found, wanted);
}

typedef struct {
  blica_data *data;
  bl_series *series;
  bl_em em;
} sample;

static sample open_rows(int64_t rows, const int8_t *x) {
  sample y = {.em = {.min_length = 1, .deadline = INFINITY}};
  int32_t *segment = calloc((size_t)rows, sizeof *segment);
  assert_int_equal(
      blica_pack(ctx, &(blica_table){.rows = rows, .n = ITEMS, .x = x, .segment = segment, .u = 1}, &y.data), BLICA_OK);
  assert_int_equal(bl_series_make(ctx, y.data, 0, &y.series), BLICA_OK);
  y.em.series = y.series;
  assert_int_equal(bl_emission_make(ctx, y.data, y.series, &y.em.emission), BLICA_OK);
  free(segment);
  return y;
}

static void drop(sample *y) {
  bl_emission_free(y->em.emission);
  bl_series_free(y->series);
  blica_data_free(y->data);
}

/* ---- one round ---- */

enum { SHORT = 11, BIN = 2, STEPS = 6, SEQUENCES = 64 };
/* The fifth row has no value, the last step has one row. */
static const int8_t few[SHORT * ITEMS] = {1, 0, 1, 1, 1, 0,  0, 0, 0, 1, 0, 1, -1, -1, -1, 0, 1,
                                          1, 0, 1, 1, 1, -1, 0, 0, 0, 0, 1, 0, 0,  1,  1,  1};

/* log P of pattern p in state s. */
static double log_p_of(int64_t p, int s) {
  return -1 - 0.3 * (double)(p * (s + 1) % 5) - 0.1 * s;
}

/* P(state of a step | rows), moves and the likelihood by enumeration of the 2^6 sequences. */
static double enumerate(const bl_states *x, const double *step, double *probability, double *moves) {
  double total = 0;
  memset(probability, 0, STEPS * 2 * sizeof *probability), memset(moves, 0, 4 * sizeof *moves);
  for (int round = 0; round < 2; round++)
    for (int code = 0; code < SEQUENCES; code++) {
      double p = x->chain.initial[code & 1];
      for (int t = 0; t < STEPS; t++) p *= exp(step[2 * t + (code >> t & 1)]);
      for (int t = 1; t < STEPS; t++) p *= x->chain.transition[2 * (code >> (t - 1) & 1) + (code >> t & 1)];
      if (round == 0) total += p;
      for (int t = 0; t < STEPS && round; t++) probability[2 * t + (code >> t & 1)] += p / total;
      for (int t = 1; t < STEPS && round; t++) moves[2 * (code >> (t - 1) & 1) + (code >> t & 1)] += p / total;
    }
  return log(total);
}

static void one_round_is_a_sum_over_sequences(void **state) {
  (void)state;
  sample y = open_rows(SHORT, few);
  const int64_t patterns = y.series->patterns->count;
  double *log_p = calloc((size_t)patterns * 2, sizeof *log_p), step[STEPS * 2] = {0}, wanted[STEPS * 2], moves[4];
  double found[STEPS * 2], steps[STEPS * 2];
  bl_states *x;
  for (int64_t p = 0; p < patterns; p++)
    for (int s = 0; s < 2; s++) log_p[p * 2 + s] = log_p_of(p, s);
  for (int r = 0; r < SHORT; r++)
    for (int s = 0; s < 2 && y.series->patterns->row_pattern[r] >= 0; s++)
      step[r / BIN * 2 + s] += log_p_of(y.series->patterns->row_pattern[r], s);
  assert_int_equal(y.series->patterns->row_pattern[4], -1);
  bl_em_steps(y.series, BIN, 2, log_p, steps);
  for (int i = 0; i < STEPS * 2; i++) near("steps", i, steps[i], step[i], 1e-12);
  assert_int_equal(bl_states_make(ctx, y.series->cells, 2, &x), BLICA_OK);
  x->bin = BIN;
  x->chain.initial[0] = 0.7, x->chain.initial[1] = 0.3;
  for (int i = 0; i < 4; i++) x->chain.transition[i] = (double[]){0.9, 0.1, 0.2, 0.8}[i];
  const double loglik = enumerate(x, step, wanted, moves);
  y.em.min_length = 8; /* a state is left with probability at most 2/8 */
  assert_int_equal(bl_em_expect(ctx, &y.em, log_p, x, found), BLICA_OK);
  near("log-likelihood", 0, x->loglik, loglik, 1e-10);
  for (int i = 0; i < STEPS * 2; i++) near("probability", i, found[i], wanted[i], 1e-10);
  double rows[2] = {0}, ones[2] = {0};
  for (int r = 0; r < SHORT; r++)
    for (int s = 0; s < 2 && r != 4; s++) {
      rows[s] += wanted[r / BIN * 2 + s];
      ones[s] += few[r * ITEMS + 2] == 1 ? wanted[r / BIN * 2 + s] : 0;
    }
  for (int s = 0; s < 2; s++) {
    near("expected rows", s, x->stat[s], rows[s], 1e-10);
    near("expected ones", s, x->stat[(BL_CELL_ONES + 2) * 2 + s], ones[s], 1e-10);
    near("initial", s, x->chain.initial[s], (wanted[s] + 0.01) / 1.02, 1e-10);
    const double out = moves[2 * s + 1 - s] + 0.05, leave = fmin(out / (out + moves[3 * s] + 0.5), 2.0 / 8);
    near("leave", s, x->chain.transition[2 * s + 1 - s], leave, 1e-10);
    near("stay", s, x->chain.transition[3 * s], 1 - leave, 1e-10);
  }
  assert_int_equal(y.em.rounds, 1);
  bl_free(x);
  free(log_p);
  drop(&y);
}

/* A state that stays with probability p for a step of three rows stays with p^(1/3) for one. */
static void steps_become_rows(void **state) {
  (void)state;
  bl_states *x;
  static const double transition[9] = {0.7, 0.2, 0.1, 0.05, 0.9, 0.05, 0, 0, 1};
  assert_int_equal(bl_states_make(ctx, 1, 3, &x), BLICA_OK);
  x->bin = 3;
  memcpy(x->chain.transition, transition, sizeof transition);
  bl_states_to_rows(x);
  assert_int_equal(x->bin, 1);
  near("stay", 0, x->chain.transition[0], cbrt(0.7), 1e-14);
  near("move", 1, x->chain.transition[1], (1 - cbrt(0.7)) * 2 / 3, 1e-14);
  near("move", 2, x->chain.transition[2], (1 - cbrt(0.7)) / 3, 1e-14);
  near("stay", 4, x->chain.transition[4], cbrt(0.9), 1e-14);
  near("stay", 8, x->chain.transition[8], 1, 0);
  bl_free(x);
}

/* ---- rows of known states ---- */

enum { LONG = 1200, RUN = 100 };

/* State of row r: runs of RUN rows, first 0, then 1, ..., then again from 0. */
static int state_of(int r, int states) {
  return r / RUN % states;
}

/* The items of state s are 1 with probability 0.9 (item i = s) or 0.15; state 3 is the same as state 0 but for a few.
 */
static void draw(int states, int8_t *x) {
  bl_rng rng = bl_rng_make(11, (uint64_t)states);
  for (int r = 0; r < LONG; r++)
    for (int i = 0; i < ITEMS; i++) {
      const int s = state_of(r, states);
      x[r * ITEMS + i] = bl_rng_uniform(&rng) < (s % ITEMS == i ? 0.9 : s == 3 ? 0.2 : 0.15);
    }
}

/* Rows and ones of each state by counting. */
static void plain_stat(const int8_t *x, int states, const int *number, double *stat, int item) {
  memset(stat, 0, (size_t)states * sizeof *stat);
  for (int r = 0; r < LONG; r++) stat[number[state_of(r, states)]] += item < 0 ? 1 : x[r * ITEMS + item];
}

static void first_states_are_those_of_the_rows(void **state) {
  (void)state;
  static int8_t x[LONG * ITEMS];
  draw(3, x);
  sample y = open_rows(LONG, x);
  bl_states *found;
  for (uint64_t stream = 0; stream < 3; stream++) { /* k-means++ from one draw may end with two centres in one state */
    int number[3] = {-1, -1, -1}, distinct = 1;
    double wanted[3];
    assert_int_equal(bl_em_start(ctx, &y.em, 3, 2, 1, stream, &found), BLICA_OK);
    for (int s = 0; s < 3; s++) {
      for (int k = 0; k < 3; k++) {
        const double *ones = found->stat + BL_CELL_ONES * 3 + k;
        if (ones[3 * s] > 0.7 * found->stat[k]) number[s] = k;
      }
      distinct = distinct && number[s] >= 0;
    }
    if (distinct && number[0] != number[1] && number[1] != number[2] && number[0] != number[2]) {
      for (int item = -1; item < ITEMS; item++) { /* runs are RUN_ROWS = 25 rows, which divide the states' 100 */
        plain_stat(x, 3, number, wanted, item);
        for (int k = 0; k < 3; k++) near("statistic", item, found->stat[(item + 1) * 3 + k], wanted[k], 1e-9);
      }
      near("initial", 0, found->chain.initial[0], 1.0 / 3, 1e-15);
      near("stay", 0, found->chain.transition[0], 1 - 2.0 / 50, 1e-15); /* steps of 2 rows, runs of 50 */
      near("move", 1, found->chain.transition[1], 1.0 / 50, 1e-15);
      bl_free(found);
      drop(&y);
      return;
    }
    bl_free(found);
  }
  fail_msg("no clustering of three found the states");
}

/* Without return the first states are pieces of equal length, and the last is not left. */
static void states_that_never_return_begin_as_equal_pieces(void **state) {
  (void)state;
  static int8_t x[LONG * ITEMS];
  draw(3, x);
  sample y = open_rows(LONG, x);
  bl_states *found;
  y.em.forward = true;
  assert_int_equal(bl_em_start(ctx, &y.em, 4, 1, 1, 0, &found), BLICA_OK);
  for (int s = 0; s < 4; s++) {
    double ones = 0;
    for (int r = 300 * s; r < 300 * (s + 1); r++) ones += x[r * ITEMS];
    near("rows", s, found->stat[s], 300, 1e-9);
    near("ones", s, found->stat[BL_CELL_ONES * 4 + s], ones, 1e-9);
    near("initial", s, found->chain.initial[s], s == 0, 0);
    for (int r = 0; r < 4; r++)
      near("move", 4 * s + r, found->chain.transition[4 * s + r],
           r == s       ? (s == 3 ? 1 : 1 - 1.0 / 300)
           : r == s + 1 ? 1.0 / 300
                        : 0,
           1e-15);
  }
  bl_free(found);
  drop(&y);
}

/* States 0 and 3 are alike and become one, which has the rows and the moves of both. */
static void the_most_similar_states_are_merged(void **state) {
  (void)state;
  static int8_t x[LONG * ITEMS];
  draw(4, x);
  sample y = open_rows(LONG, x);
  bl_states *from, *to;
  double *weight = calloc((size_t)y.series->patterns->count * 4, sizeof *weight);
  static const double moves[16] = {.7, .1, .1, .1, .2, .6, .1, .1, .1, .1, .7, .1, .3, .1, .1, .5};
  for (int r = 0; r < LONG; r++) weight[y.series->patterns->row_pattern[r] * 4 + state_of(r, 4)]++;
  assert_int_equal(bl_states_make(ctx, y.series->cells, 4, &from), BLICA_OK);
  assert_int_equal(bl_series_expect(ctx, y.series, 4, weight, from->stat), BLICA_OK);
  memcpy(from->chain.transition, moves, sizeof moves);
  for (int s = 0; s < 4; s++) from->chain.initial[s] = (s + 1) / 10.0;
  from->bin = 3;
  assert_int_equal(bl_em_merge(ctx, &y.em, from, &to), BLICA_OK);
  assert_int_equal(to->states, 3);
  assert_int_equal(to->bin, 3);
  for (size_t c = 0; c < y.series->cells; c++) {
    near("both", (int)c, to->stat[3 * c], from->stat[4 * c] + from->stat[4 * c + 3], 1e-12);
    near("second", (int)c, to->stat[3 * c + 1], from->stat[4 * c + 1], 0);
  }
  near("initial", 0, to->chain.initial[0], 0.5, 1e-15), near("initial", 2, to->chain.initial[2], 0.3, 1e-15);
  /* both states have 300 rows: the moves of the new one are means of theirs, moves into it are sums */
  static const double wanted[9] = {.8, .1, .1, .3, .6, .1, .2, .1, .7};
  for (int i = 0; i < 9; i++) near("move", i, to->chain.transition[i], wanted[i], 1e-15);
  bl_free(to);
  /* Without return only neighbours are merged: never 0 and 3. */
  y.em.forward = true;
  assert_int_equal(bl_em_merge(ctx, &y.em, from, &to), BLICA_OK);
  for (int s = 0; s < 3; s++) assert_true(to->stat[s] == 300 || to->stat[s] == 600);
  assert_false(to->stat[0] == 600 && to->stat[1] == 300 && fabs(to->chain.initial[0] - 0.5) < 1e-9);
  bl_free(to), bl_free(from);
  free(weight);
  drop(&y);
}

/* Each move that the rows make needs a parameter, beside those of the emissions. */
static void score_counts_the_moves_that_are_made(void **state) {
  (void)state;
  bl_series series = {.rows = 500};
  bl_states *x;
  static const double moves[9] = {.99, .01, 0, .001, .999, 0, .0, .1, .9};
  assert_int_equal(bl_states_make(ctx, 1, 3, &x), BLICA_OK);
  memcpy(x->chain.transition, moves, sizeof moves);
  x->stat[0] = 300, x->stat[1] = 195, x->stat[2] = 5;
  /* expected moves: 3, 0.195 and 0.5: one is more than half a move */
  near("score", 0, bl_search_score(&series, x, -1000, 12), -1000 - 0.5 * 13 * log(500), 1e-10);
  x->bin = 10;
  near("score", 1, bl_search_score(&series, x, -1000, 12), -1000 - 0.5 * 12 * log(500), 1e-10);
  bl_free(x);
}

/* ---- what a caller gets ---- */

/* States are numbered by their first appearance; runs shorter than min_length are none. */
static void results_are_numbered_by_first_appearance(void **state) {
  (void)state;
  static int8_t x[LONG * ITEMS];
  draw(3, x);
  for (int r = 250; r < 254; r++) x[r * ITEMS] = 1, x[r * ITEMS + 1] = x[r * ITEMS + 2] = 0; /* as in state 0 */
  sample y = open_rows(LONG, x);
  blica_segmentation *r;
  bl_states *s;
  const size_t patterns = (size_t)y.series->patterns->count;
  double *log_p = calloc(patterns * 3, sizeof *log_p);
  static const int number[3] = {2, 0, 1}; /* of the states here, by the state of the rows */
  for (int t = 0; t < LONG; t++)
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < ITEMS; i++) {
        double *to = &log_p[y.series->patterns->row_pattern[t] * 3 + number[k]];
        *to = (i ? *to : 0) + log((k == i) == x[t * ITEMS + i] ? 0.9 : 0.1);
      }
  assert_int_equal(bl_states_make(ctx, y.series->cells, 3, &s), BLICA_OK);
  for (int i = 0; i < 9; i++) s->chain.transition[i] = i % 4 ? 0.015 : 0.97;
  for (int k = 0; k < 3; k++) s->chain.initial[k] = 1.0 / 3;
  assert_int_equal(bl_alloc(ctx, 1, &r), BLICA_OK);
  y.em.min_length = 20;
  assert_int_equal(bl_segment_result(ctx, &y.em, &s, log_p, r), BLICA_OK);
  int agree = 0;
  for (int t = 0; t < LONG; t++) {
    int most = 0;
    for (int k = 1; k < 3; k++)
      if (r->probability[3 * t + k] > r->probability[3 * t + most]) most = k;
    if (t % RUN > 10 && t % RUN < RUN - 10) assert_int_equal(r->state[t], state_of(t, 3));
    agree += most == state_of(t, 3);
  }
  assert_compare(agree, >, 0.95 * LONG);
  for (int k = 0; k < 3; k++) {
    double sum = 0;
    for (int t = 0; t < LONG; t++) sum += r->probability[3 * t + k];
    near("expected rows", k, r->expected_rows[k], sum, 1e-9);
    assert_int_equal(r->runs[k], 4);
    near("moves", k, r->transition[3 * k] + r->transition[3 * k + 1] + r->transition[3 * k + 2], 1, 1e-12);
    assert_compare(r->transition[3 * k + (k + 1) % 3], >, 2 * r->transition[3 * k + (k + 2) % 3]); /* 0, 1, 2, 0, ... */
  }
  free(log_p);
  bl_free(s);
  blica_segmentation_free(r);
  drop(&y);
}

enum { BLOCK = 10, BLOCKS = LONG / BLOCK };

/* log P of the held-out rows, by block: every fifth block of ten rows is scored by the counts of the other folds, each
 * row in the state that it has. */
static void score_known_states(const sample *y, int states, double *gain) {
  const size_t patterns = (size_t)y->series->patterns->count, S = (size_t)states;
  double *log_p = calloc(patterns * S, sizeof *log_p), *stat = calloc(y->series->cells * S, sizeof *stat);
  memset(gain, 0, BLOCKS * sizeof *gain);
  for (int f = 0; f < 5; f++) {
    double *weight = calloc(patterns * S, sizeof *weight);
    const int64_t *pattern = y->series->patterns->row_pattern;
    for (int t = 0; t < LONG; t++) weight[pattern[t] * states + state_of(t, states)] += t / BLOCK % 5 != f;
    assert_int_equal(bl_series_expect(ctx, y->series, states, weight, stat), BLICA_OK);
    assert_int_equal(bl_emission_counts(ctx, y->em.emission, states, stat, log_p), BLICA_OK);
    for (int t = 0; t < LONG; t++)
      if (t / BLOCK % 5 == f) gain[t / BLOCK] += log_p[pattern[t] * states + state_of(t, states)];
    free(weight);
  }
  free(log_p), free(stat);
}

static double sum_of(const double *x) {
  double sum = 0;
  for (int b = 0; b < BLOCKS; b++) sum += x[b];
  return sum;
}

/* With one state rows are independent, so that their score is known. With more it is little below that of the known
 * states: eleven moves cost log 100 each. The standard error is that of the sum of the
 * differences between blocks. */
static void the_number_of_states_is_chosen_by_heldout_rows(void **state) {
  (void)state;
  static int8_t x[LONG * ITEMS];
  for (int states = 1; states <= 3; states++) {
    draw(states, x);
    sample y = open_rows(LONG, x);
    blica_segment_options o = blica_segment_options_default();
    blica_segment_trial trials[4] = {{.states = 1}, {.states = 2}, {.states = 3}, {.states = 4}};
    double one[BLOCKS], known[BLOCKS], square = 0;
    int chosen = 3;
    score_known_states(&y, 1, one), score_known_states(&y, states, known);
    y.em.min_length = BLOCK;
    for (int i = 0; i < 4; i++) trials[i].heldout = trials[i].heldout_se = NAN;
    assert_int_equal(bl_choose_states(ctx, &y.em, &o, 4, 4, trials, &chosen), BLICA_OK);
    assert_int_equal(chosen, states);
    const double difference = sum_of(known) - sum_of(one);
    for (int b = 0; b < BLOCKS; b++) square += pow(known[b] - one[b] - difference / BLOCKS, 2);
    const double found = trials[states - 1].heldout, wanted = sum_of(known),
                 error = sqrt(square * BLOCKS / (BLOCKS - 1));
    if (!isnan(trials[0].heldout)) near("held-out rows of one state", 1, trials[0].heldout, sum_of(one), 1e-6);
    if (states > 1) near("held-out rows", states, found, wanted - 29, 29);
    if (states == 2) near("standard error", 1, trials[0].heldout_se / error, 1, 0.2);
    near("standard error of the chosen", states, trials[states - 1].heldout_se, 0, 0);
    drop(&y);
  }
}

/* States that differ in nothing but the correlation of two items: every margin is 1/2. */
static void clustering_sees_correlations(void **state) {
  (void)state;
  static int8_t x[LONG * ITEMS];
  bl_rng rng = bl_rng_make(12, 0);
  for (int r = 0; r < LONG; r++) {
    int8_t *row = x + r * ITEMS;
    row[0] = bl_rng_uniform(&rng) < 0.5, row[2] = bl_rng_uniform(&rng) < 0.5;
    row[1] = bl_rng_uniform(&rng) < 0.95 ? (int8_t)(state_of(r, 2) ? 1 - row[0] : row[0]) : (int8_t)(1 - row[2]);
  }
  sample y = open_rows(LONG, x);
  bl_states *found;
  assert_int_equal(bl_em_start(ctx, &y.em, 2, 1, 1, 0, &found), BLICA_OK);
  for (int s = 0; s < 2; s++) {
    const double both = found->stat[(bl_cell_n11(y.series) + (size_t)blica_pair(0, 1)) * 2 + (size_t)s];
    near("rows", s, found->stat[s], 600, 60);
    near("share of both", s, fabs(both / found->stat[s] - 0.25), 0.23, 0.05);
  }
  bl_free(found);
  drop(&y);
}

/* More clusterings never give a worse state of any number; on rows without states, where there are many maxima, they
 * give better ones. */
static void the_best_of_several_clusterings_is_kept(void **state) {
  (void)state;
  static int8_t x[LONG * ITEMS];
  bl_rng rng = bl_rng_make(13, 0);
  for (int i = 0; i < LONG * ITEMS; i++) x[i] = bl_rng_uniform(&rng) < 0.4;
  sample y = open_rows(LONG, x);
  double before[5] = {0};
  int better = 0;
  y.em.min_length = 5;
  for (int starts = 1; starts <= 6; starts++) {
    blica_segment_options o = blica_segment_options_default();
    bl_search search = {.most = 0};
    o.starts = starts;
    assert_int_equal(bl_search_run(ctx, &y.em, &o, 1, 4, &search), BLICA_OK);
    for (int s = 1; s <= 4; s++) {
      if (starts > 1) assert_compare(search.best[s]->loglik, >=, before[s]);
      better += starts > 1 && search.best[s]->loglik > before[s];
      before[s] = search.best[s]->loglik;
    }
    bl_search_free(&search);
  }
  assert_compare(better, >, 0);
  drop(&y);
}

/* Rows refined one by one: the score is that of the states by their own counts, or of a model with one A for all
 * states, whichever is better; here the model is, which has fewer parameters and loses little. */
static void a_candidate_has_the_score_of_its_model(void **state) {
  (void)state;
  static int8_t x[LONG * ITEMS];
  draw(3, x);
  for (int states = 1; states <= 3; states += 2) {
    sample y = open_rows(LONG, x);
    blica_segment_options o = blica_segment_options_default();
    bl_segment g = {.data = y.data, .options = &o};
    bl_search search = {.most = 0};
    bl_candidate *c;
    o.sources = 1, y.em.min_length = 10;
    assert_int_equal(bl_search_run(ctx, &y.em, &o, states, states, &search), BLICA_OK);
    assert_int_equal(bl_candidate_make(ctx, &g, &y.em, search.best[states], &c), BLICA_OK);
    /* A, and thresholds and a variance of each state, less the scale */
    const int parameters = 3 + states * (3 + 1) - 1;
    near("score", states, c->score, bl_search_score(y.series, c->states, c->states->loglik, parameters), 1e-9);
    bl_candidate_free(c);
    bl_search_free(&search);
    drop(&y);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_round_is_a_sum_over_sequences),
                                     cmocka_unit_test(steps_become_rows),
                                     cmocka_unit_test(first_states_are_those_of_the_rows),
                                     cmocka_unit_test(states_that_never_return_begin_as_equal_pieces),
                                     cmocka_unit_test(the_most_similar_states_are_merged),
                                     cmocka_unit_test(score_counts_the_moves_that_are_made),
                                     cmocka_unit_test(results_are_numbered_by_first_appearance),
                                     cmocka_unit_test(a_candidate_has_the_score_of_its_model),
                                     cmocka_unit_test(clustering_sees_correlations),
                                     cmocka_unit_test(the_best_of_several_clusterings_is_kept),
                                     cmocka_unit_test(the_number_of_states_is_chosen_by_heldout_rows)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
