/* Probabilities of rows in a state: from counts the formulas of level_scores.c with the regression of three items
 * written out, of many items sums over completions; from a model of two items a bivariate normal probability. */
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
#include "num/normal/normal.h"
#include "segment/series.h"

enum { STATES = 2 };
#define PRIOR 4.0 /* rows of all states together in each state's counts, as in emission.c */

static void near(const char *what, int64_t row, int s, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance))
    fail_msg("%s, row %lld, state %d: %.15g, not %.15g", what, (long long)row, s, found, wanted);
}

typedef struct {
  level_rows y;
  blica_data *data;
  bl_series *series;
  bl_emission *emission;
  double *stat, *log_p;
} sample;

/* The rows y, which are taken over, a part of each in state 0 and the others in state 1, and log P by their counts. */
static sample take(level_rows y) {
  sample x = {.y = y, .data = pack_level_rows(&y)};
  assert_int_equal(bl_series_make(ctx, x.data, 0, &x.series), BLICA_OK);
  assert_int_equal(bl_emission_make(ctx, x.data, x.series, &x.emission), BLICA_OK);
  const bl_patterns *p = x.series->patterns;
  double *weight = calloc((size_t)p->count * STATES, sizeof *weight);
  x.stat = calloc(x.series->cells * STATES, sizeof *x.stat);
  x.log_p = calloc((size_t)p->count * STATES, sizeof *x.log_p);
  for (int64_t r = 0; r < y.rows; r++) {
    const double share = r % 3 ? 0.2 : 0.9;
    if (p->row_pattern[r] < 0) continue;
    weight[p->row_pattern[r] * STATES] += share, weight[p->row_pattern[r] * STATES + 1] += 1 - share;
  }
  assert_int_equal(bl_series_expect(ctx, x.series, STATES, weight, x.stat), BLICA_OK);
  assert_int_equal(bl_emission_counts(ctx, x.emission, STATES, x.stat, x.log_p), BLICA_OK);
  free(weight);
  return x;
}

static void drop(sample *x) {
  free(x->stat), free(x->log_p);
  bl_emission_free(x->emission);
  bl_series_free(x->series);
  blica_data_free(x->data);
  drop_level_rows(&x->y);
}

static double log_p_of(const sample *x, int64_t row, int s) {
  return x->log_p[x->series->patterns->row_pattern[row] * STATES + s];
}

static void two_items_under_a_model(void **state) {
  (void)state;
  sample x = take(draw_level_rows(2, 1, 200, (const int[]){2, 2}, 0.1, 5));
  double mixing[] = {1.5, 0.8}, variances[] = {0.7, 2.5}, thresholds[] = {0.3, -0.6, -9, 0.4}, means[2] = {0};
  blica_model m = {.n = 2, .k = 1, .u = 2, .planes = 2, .link = 0.4, .mixing = mixing, .variances = variances};
  m.thresholds = thresholds, m.means = means;
  assert_int_equal(bl_emission_model(ctx, x.emission, &m, x.log_p), BLICA_OK);
  for (int s = 0; s < STATES; s++) {
    const double v = m.link * variances[s], h = fmax(-5, thresholds[2 * s]), k = thresholds[2 * s + 1];
    const double rho = v * 1.5 * 0.8 / sqrt((1 + v * 2.25) * (1 + v * 0.64));
    for (int64_t r = 0; r < x.y.rows; r++) {
      const int8_t a = x.y.x[2 * r], b = x.y.x[2 * r + 1];
      if (a == BLICA_MISSING || b == BLICA_MISSING) continue;
      const double p = blica_bvn(a ? h : -h, b ? k : -k, a == b ? rho : -rho);
      near("log P", r, s, log_p_of(&x, r, s), log(p), 1e-6);
    }
  }
  drop(&x);
}

/* Twelve items that share a factor, each row three times: with both values of the last item, and without it. */
static level_rows draw_completions(double missing) {
  static const int two[12] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
  level_rows y = draw_level_rows(12, 1, 300, two, missing, 9);
  bl_rng rng = bl_rng_make(9, 1);
  for (int64_t r = 0; r < y.rows; r++) {
    const double factor = bl_rng_normal(&rng);
    int8_t *x = y.x + 12 * r;
    for (int i = 0; i < 11; i++)
      if (x[i] != BLICA_MISSING) x[i] = factor + 0.9 * bl_rng_normal(&rng) > 0.1 * i - 0.6;
    if (r % 3) memcpy(x, x - 12, 11);
    x[11] = r % 3 == 2 ? BLICA_MISSING : (int8_t)(r % 3);
  }
  return y;
}

/* Of many items, too: a row without the last item is as probable as both of its completions together. */
static void probabilities_of_many_items_add_up(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    sample x = take(draw_completions(holes ? 0.1 : 0));
    assert_int_equal(bl_emission_parameters(x.emission), 12 + 12 * 11 / 2);
    for (int64_t r = 0; r < x.y.rows; r += 3)
      for (int s = 0; s < STATES; s++)
        near("log P", r, s, log(exp(log_p_of(&x, r, s)) + exp(log_p_of(&x, r + 1, s))), log_p_of(&x, r + 2, s), 1e-6);
    drop(&x);
  }
}

/* ---- levels ---- */

enum { ITEMS = 3, LEVELS = 4 };
static int levels[ITEMS];

/* A state's levels: shares, cuts and scores u of unit variance, g the sd of E[Y | level]. */
typedef struct {
  double share[LEVELS], low[LEVELS], high[LEVELS], u[LEVELS], g;
} item;

static item describe(const sample *x, int s, int i) {
  item t = {.g = 0};
  int plane = 0;
  for (int before = 0; before < i; before++) plane += levels[before] - 1;
  double above = 1;
  for (int l = 0; l < levels[i]; l++) {
    const double next = l + 1 < levels[i] ? bl_series_share(x->series, STATES, x->stat, s, PRIOR, plane + l) : 0;
    t.share[l] = above - next;
    t.low[l] = l ? -bl_phi_quantile(above) : -1e3;
    t.high[l] = l + 1 < levels[i] ? -bl_phi_quantile(next) : 1e3;
    t.u[l] = (bl_phi_density(t.low[l]) - bl_phi_density(t.high[l])) / t.share[l];
    t.g += t.share[l] * t.u[l] * t.u[l];
    above = next;
  }
  t.g = sqrt(t.g);
  for (int l = 0; l < levels[i]; l++) t.u[l] /= t.g;
  return t;
}

/* R: the correlation of the scores, from the shares of the pairs of columns, by Abel summation. */
static double correlation(const sample *x, int s, int i, int j, const item *t) {
  int first = 0, second = 0;
  double sum = 0;
  for (int before = 0; before < i; before++) first += levels[before] - 1;
  for (int before = 0; before < j; before++) second += levels[before] - 1;
  for (int a = 1; a < levels[i]; a++)
    for (int b = 1; b < levels[j]; b++) {
      double p[4];
      bl_series_table(x->series, STATES, x->stat, s, PRIOR, first + a - 1, second + b - 1, p);
      sum += (t[i].u[a] - t[i].u[a - 1]) * (t[j].u[b] - t[j].u[b - 1]) * (p[0] - (p[0] + p[1]) * (p[0] + p[2]));
    }
  return sum;
}

/* sin(a R) / sin(a), a the solution of 1 - a^2 / 6 + a^4 / 120 = g (sin(a) / a by its series). */
static double latent(double r, double g) {
  double a = fmin(sqrt(10 - sqrt(100 - 120 * (1 - g))), acos(0));
  return sin(a * r) / sin(a);
}

static double probability(const item *t, int level, double mean, double variance) {
  const double sd = sqrt(variance);
  return bl_phi_cdf((t->high[level] - mean) / sd) - bl_phi_cdf((t->low[level] - mean) / sd);
}

typedef struct {
  item t[ITEMS];
  double r[ITEMS][ITEMS], c[ITEMS][ITEMS]; /* R; Cov(Y_i, u_j) */
} state_of_items;

static state_of_items describe_all(const sample *x, int s) {
  state_of_items m;
  for (int i = 0; i < ITEMS; i++) m.t[i] = describe(x, s, i);
  for (int i = 0; i < ITEMS; i++)
    for (int j = 0; j < ITEMS; j++) {
      m.r[i][j] = i == j ? 1 : correlation(x, s, i < j ? i : j, i < j ? j : i, m.t);
      m.c[i][j] = i == j ? m.t[i].g : latent(m.r[i][j], m.t[i].g * m.t[j].g) * m.t[j].g;
    }
  return m;
}

/* P of levels v of the n items in have. */
static double chain(const state_of_items *m, int n, const int *have, const int *v) {
  const item *t = m->t;
  double p = t[have[0]].share[v[0]];
  if (n > 1) {
    const double b = m->c[have[1]][have[0]];
    p *= probability(&t[have[1]], v[1], b * t[have[0]].u[v[0]], 1 - b * b);
  }
  if (n > 2) { /* the regression on two scores, whose correlation is R */
    const double q = m->r[0][1], det = 1 - q * q, b0 = (m->c[2][0] - q * m->c[2][1]) / det,
                 b1 = (m->c[2][1] - q * m->c[2][0]) / det;
    p *= probability(&t[2], v[2], b0 * t[0].u[v[0]] + b1 * t[1].u[v[1]], 1 - b0 * m->c[2][0] - b1 * m->c[2][1]);
  }
  return p;
}

static void check_chain(const int *wanted_levels, int parameters) {
  memcpy(levels, wanted_levels, sizeof levels);
  sample x = take(draw_level_rows(ITEMS, 1, 500, levels, 0.15, 6));
  assert_int_equal(bl_emission_parameters(x.emission), parameters);
  for (int s = 0; s < STATES; s++) {
    const state_of_items m = describe_all(&x, s);
    for (int64_t row = 0; row < x.y.rows; row++) {
      int have[ITEMS], n = 0, v[ITEMS];
      for (int i = 0; i < ITEMS; i++)
        if (x.y.x[ITEMS * row + i] != BLICA_MISSING) v[n] = x.y.x[ITEMS * row + i], have[n++] = i;
      if (n == 0) continue;
      near("log P", row, s, log_p_of(&x, row, s), log(chain(&m, n, have, v)), 1e-9);
    }
  }
  drop(&x);
}

static void levels_follow_one_probit_after_the_other(void **state) {
  (void)state;
  check_chain((const int[]){3, 4, 2}, 6 + 3);
}

static void plain_items_follow_the_same_probits(void **state) {
  (void)state;
  check_chain((const int[]){2, 2, 2}, 3 + 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_items_under_a_model), cmocka_unit_test(plain_items_follow_the_same_probits),
      cmocka_unit_test(probabilities_of_many_items_add_up), cmocka_unit_test(levels_follow_one_probit_after_the_other)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
