/* Statistics of weighted rows against plain loops over the rows: shares, tables and counts of states with missing
 * values, states that have lost their rows, scores. */
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
#include "level_rows.h"
#include "segment/series.h"

enum { STATES = 2, MOST = 14 };
static const int two[MOST] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};

static void near(const char *what, int i, int j, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance))
    fail_msg("%s of items %d and %d: %.15g, not %.15g", what, i, j, found, wanted);
}

typedef struct {
  level_rows y;
  blica_data *data;
  bl_series *series;
  double *weight; /* [STATES,patterns] of one row that has the pattern */
  double *stat;   /* [STATES,cells] */
} sample;

/* Rows whose patterns have weights in two states, that of the second scaled by `second`. */
static sample draw(int n, int64_t rows, double missing, double second, uint64_t seed) {
  sample x = {.y = draw_level_rows(n, 1, rows, two, missing, seed)};
  bl_rng rng = bl_rng_make(seed, 3);
  x.data = pack_level_rows(&x.y);
  assert_int_equal(bl_series_make(ctx, x.data, 0, &x.series), BLICA_OK);
  const bl_patterns *p = x.series->patterns;
  double *all = calloc((size_t)p->count * STATES, sizeof *all);
  x.weight = calloc((size_t)p->count * STATES, sizeof *x.weight);
  x.stat = calloc(x.series->cells * STATES, sizeof *x.stat);
  for (int64_t i = 0; i < p->count * STATES; i++) x.weight[i] = bl_rng_uniform(&rng) * (i % STATES ? second : 1);
  for (int64_t r = 0; r < rows; r++)
    for (int s = 0; s < STATES && p->row_pattern[r] >= 0; s++)
      all[p->row_pattern[r] * STATES + s] += x.weight[p->row_pattern[r] * STATES + s];
  assert_int_equal(bl_series_expect(ctx, x.series, STATES, all, x.stat), BLICA_OK);
  free(all);
  return x;
}

static void drop(sample *x) {
  free(x->weight), free(x->stat);
  bl_series_free(x->series);
  blica_data_free(x->data);
  drop_level_rows(&x->y);
}

/* n11, ones of i and of j and rows, over the rows that have both, each row with its weight in state s (s < 0: 1); with
 * i = j of one item. Rows are not sorted, there being one segment. */
static void plain_cells(const sample *x, int s, int i, int j, double cell[4]) {
  memset(cell, 0, 4 * sizeof *cell);
  for (int64_t r = 0; r < x->y.rows; r++) {
    const int8_t a = x->y.x[r * x->y.n + i], b = x->y.x[r * x->y.n + j];
    if (a == BLICA_MISSING || b == BLICA_MISSING) continue;
    const double w = s < 0 ? 1 : x->weight[x->series->patterns->row_pattern[r] * STATES + s];
    cell[0] += w * (a && b), cell[1] += w * a, cell[2] += w * b, cell[3] += w;
  }
}

static void shares_and_tables_are_those_of_weighted_rows(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    sample x = draw(5, 300, holes ? 0.3 : 0, 0.4, 2);
    for (int s = 0; s < STATES; s++)
      for (int j = 0; j < 5; j++) {
        const double prior = 3.5;
        double own[4], all[4];
        plain_cells(&x, s, j, j, own), plain_cells(&x, -1, j, j, all);
        const double base = (all[1] + 0.5) / (all[3] + 1), wanted = (own[1] + prior * base) / (own[3] + prior);
        near("share", j, j, bl_series_share(x.series, STATES, x.stat, s, prior, j), wanted, 1e-12);
        for (int i = 0; i < j; i++) {
          double found[4], p[3], table[4];
          plain_cells(&x, s, i, j, own), plain_cells(&x, -1, i, j, all);
          for (int c = 0; c < 3; c++)
            p[c] = (own[c] + prior * (all[c] + (c ? 0.5 : 0.25)) / (all[3] + 1)) / (own[3] + prior);
          bl_series_table(x.series, STATES, x.stat, s, prior, i, j, found);
          table[0] = p[0], table[1] = p[1] - p[0], table[2] = p[2] - p[0], table[3] = 1 - p[1] - p[2] + p[0];
          for (int c = 0; c < 4; c++) near("table", i, j, found[c], table[c], 1e-12);
        }
      }
    drop(&x);
  }
}

/* The second state has about two rows and gets rows of both states in proportion until it has four. */
static void counts_of_states_and_of_one_without_rows(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    sample x = draw(4, 400, holes ? 0.2 : 0, 0.01, 5);
    blica_counts *c = NULL;
    double rows[STATES];
    assert_int_equal(bl_series_counts(ctx, x.series, STATES, x.stat, (const char *const *)x.data->variables, &c),
                     BLICA_OK);
    for (int s = 0; s < STATES; s++) {
      rows[s] = 0;
      for (int64_t r = 0; r < x.y.rows; r++) {
        const int64_t p = x.series->patterns->row_pattern[r];
        if (p >= 0) rows[s] += x.weight[p * STATES + s];
      }
    }
    assert_true(rows[1] < 4 && rows[0] > 4);
    const double more[STATES] = {0, (4 - rows[1]) / (rows[0] + rows[1])};
    near("rows", 0, 0, c->samples[0], rows[0], 1e-10);
    near("rows", 1, 1, c->samples[1], 4, 1e-12);
    assert_string_equal(c->segments[1], "2");
    for (int s = 0; s < STATES; s++)
      for (int j = 0; j < 4; j++)
        for (int i = 0; i <= j; i++) {
          double a[4], b[4], found[4];
          plain_cells(&x, 0, i, j, a), plain_cells(&x, 1, i, j, b);
          for (int e = 0; e < 4; e++) a[e] = (s ? b[e] : a[e]) + more[s] * (a[e] + b[e]);
          if (i == j) near("ones", i, j, c->ones[i + 4 * s], a[1], 1e-10);
          if (i == j) near("present", i, j, c->present[i + 4 * s], a[3], 1e-10);
          if (i == j) continue;
          blica_counts_table(c, s, i, j, found);
          near("n11", i, j, found[0], a[0], 1e-10), near("n10", i, j, found[1], a[1] - a[0], 1e-10);
          near("n01", i, j, found[2], a[2] - a[0], 1e-10),
              near("n00", i, j, found[3], a[3] - a[1] - a[2] + a[0], 1e-10);
        }
    blica_counts_free(c);
    drop(&x);
  }
}

/* More patterns than one block: the blocks add up, on any number of threads. */
static void blocks_of_patterns_add_up(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads += 2) {
    blica_set_threads(ctx, threads);
    sample x = draw(MOST, 9000, 0.05, 0.5, 7);
    assert_compare(x.series->patterns->count, >, 2 * 2048);
    for (int s = 0; s < STATES; s++)
      for (int j = 1; j < MOST; j += 4)
        for (int i = 0; i < j; i += 3) {
          double wanted[4], found[4];
          const size_t pair = (size_t)blica_pair(i, j), both = bl_cell_both(x.series) + pair;
          const size_t pairs = (size_t)x.series->pairs, S = STATES, at = (size_t)s;
          plain_cells(&x, s, i, j, wanted);
          found[0] = x.stat[(bl_cell_n11(x.series) + pair) * S + at];
          for (size_t e = 0; e < 3; e++) found[1 + e] = x.stat[(both + e * pairs) * S + at];
          for (int e = 0; e < 4; e++) near("cell", i, j, found[e], wanted[e], 1e-9 * wanted[e]);
        }
    drop(&x);
  }
  blica_set_threads(ctx, 0);
}

/* Up to ten items the scores are the items, standardised by the shares of all rows; a missing value counts as 0. */
static void scores_of_few_items_are_standardised(void **state) {
  (void)state;
  sample x = draw(6, 500, 0.2, 0.5, 3);
  assert_int_equal(x.series->d, 6);
  for (int64_t r = 0; r < 50; r++)
    for (int i = 0; i < 6; i++) {
      double all[4];
      plain_cells(&x, -1, i, i, all);
      const double base = (all[1] + 0.5) / (all[3] + 1), share = (all[1] + base) / (all[3] + 1);
      const int8_t value = x.y.x[r * 6 + i];
      const double wanted = value == BLICA_MISSING ? 0 : (value - share) / sqrt(share * (1 - share));
      near("score", (int)r, i, x.series->score[x.series->patterns->row_pattern[r] * 6 + i], wanted, 1e-10);
    }
  drop(&x);
}

/* The scores of more items are principal components: uncorrelated over the rows, with variance 1, and the eigenvalues
 * of the directions fall: no score explains more of the items than the one before it. */
static void scores_of_many_items_are_principal_components(void **state) {
  (void)state;
  sample x = draw(MOST, 3000, 0, 0.5, 4);
  double explained[10];
  assert_int_equal(x.series->d, 10);
  for (int b = 0; b < 10; b++) {
    for (int a = 0; a <= b; a++) {
      double sum = 0;
      for (int64_t r = 0; r < x.y.rows; r++) {
        const double *score = x.series->score + x.series->patterns->row_pattern[r] * 10;
        sum += score[a] * score[b] / (double)x.y.rows;
      }
      near("products of scores", a, b, sum, a == b, 5e-3); /* a prior of one row is in the correlations */
    }
    explained[b] = 0;
    for (int i = 0; i < MOST; i++) {
      double sum = 0;
      const double share = x.series->centre[i], sd = sqrt(share * (1 - share));
      for (int64_t r = 0; r < x.y.rows; r++)
        sum += (x.y.x[r * MOST + i] - share) / sd * x.series->score[x.series->patterns->row_pattern[r] * 10 + b];
      explained[b] += pow(sum / (double)x.y.rows, 2);
    }
    if (b > 0) assert_compare(explained[b], <, explained[b - 1] + 1e-3);
  }
  drop(&x);
}

static void latent_cuts_are_bounded_and_grow(void **state) {
  (void)state;
  double cut[4];
  bl_latent_cuts(4, (const double[]){9, 1, 1, -2}, 2, cut);
  near("cut", 0, 0, cut[0], -10, 0), near("cut", 1, 1, cut[1], -2, 0);
  near("cut", 2, 2, cut[2], -2 + 2e-6, 1e-15), near("cut", 3, 3, cut[3], 4, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shares_and_tables_are_those_of_weighted_rows),
                                     cmocka_unit_test(counts_of_states_and_of_one_without_rows),
                                     cmocka_unit_test(blocks_of_patterns_add_up),
                                     cmocka_unit_test(scores_of_few_items_are_standardised),
                                     cmocka_unit_test(scores_of_many_items_are_principal_components),
                                     cmocka_unit_test(latent_cuts_are_bounded_and_grow)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
