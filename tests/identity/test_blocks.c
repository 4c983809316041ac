/* Blocks of the matched likelihood where values are missing: which there are, their values against plain computation,
 * gradients against central differences, and exact correlations as the minimum whatever is missing. */
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
#include "cor/cor.h"
#include "counts/item_sets.h"
#include "estimate/gauss/gauss.h"
#include "inference/implied.h"
#include "leave_out.h"
#include "num/linear/blas.h"

enum { N = 8, K = 2, U = 4, ROWS = 300, SIZE = N * K + U * K };

typedef struct {
  blica_model *truth;
  blica_data *data;
  blica_counts *counts;
  blica_cor *cor;
  double plain[N * U], noise[N * U], matrix[N * N], *owner;
  bl_blocks *blocks;
} problem;

/* In the first segment nothing is missing, in the last nothing is there. */
static bool forms(int64_t r, int s, int i, double z) {
  (void)z;
  return s == U - 1 || (s > 0 && i >= 4 && (i >= 6) == (r % 2 == 0));
}
static bool half(int64_t r, int s, int i, double z) {
  (void)r, (void)i;
  return s == U - 1 || (s > 0 && z < 0.5);
}

/* Without sets it is not known which items rows have together. */
static void make(problem *p, is_missing missing, bool sets) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *complete;
  o.variables = N, o.sources = K, o.segments = U, o.samples = ROWS, o.seed = 11;
  assert_int_equal(blica_simulate(ctx, &o, &p->truth, &complete, NULL), BLICA_OK);
  p->data = leave_out(complete, 2, missing);
  assert_non_null(p->data);
  assert_int_equal(blica_count(ctx, p->data, &p->counts), BLICA_OK);
  assert_non_null(p->counts->sets);
  if (!sets) {
    bl_item_sets_free(p->counts->sets);
    p->counts->sets = NULL;
  }
  assert_int_equal(blica_correlate(ctx, p->counts, &p->cor), BLICA_OK);
  for (int i = 0; i < N * U; i++) p->plain[i] = 0.6 + 0.01 * i;
  assert_int_equal(bl_alloc(ctx, 1, &p->owner), BLICA_OK);
  assert_int_equal(bl_blocks_make(ctx, p->owner, p->cor, p->truth->link, p->plain, p->noise, &p->blocks), BLICA_OK);
  blica_data_free(complete);
}

static void drop(problem *p) {
  bl_free(p->owner);
  blica_model_free(p->truth), blica_data_free(p->data), blica_counts_free(p->counts), blica_cor_free(p->cor);
}

/* A case and the kind of its blocks. */
typedef struct {
  is_missing missing;
  bool sets;
  bl_block_kind kind;
  int64_t blocks; /* of a segment with missing values */
} setting;
static const setting settings[] = {{forms, true, BL_BLOCK_ITEM_SET, 2},
                                   {forms, false, BL_BLOCK_PAIRWISE, 1},
                                   {half, true, BL_BLOCK_RANDOM, 1},
                                   {half, false, BL_BLOCK_RANDOM, 1}};
enum { SETTINGS = sizeof settings / sizeof *settings };

static void the_kinds_are_chosen_by_what_is_missing(void **state) {
  (void)state;
  for (int c = 0; c < SETTINGS; c++) {
    problem p;
    make(&p, settings[c].missing, settings[c].sets);
    assert_int_equal(p.blocks->block[0].kind, BL_BLOCK_COMPLETE);
    for (int s = 1; s < U - 1; s++) {
      assert_int_equal(p.blocks->first[s + 1] - p.blocks->first[s], settings[c].blocks);
      assert_int_equal(p.blocks->block[p.blocks->first[s]].kind, settings[c].kind);
    }
    drop(&p);
  }
}

/* So that fits of complete data take the same path as ever. */
static void complete_data_have_no_rows_of_their_own(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *data;
  blica_counts *counts;
  blica_cor *cor;
  o.variables = N, o.sources = K, o.segments = U, o.samples = ROWS;
  assert_int_equal(blica_simulate(ctx, &o, NULL, &data, NULL), BLICA_OK);
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  assert_null(counts->sets);
  assert_null(cor->item_rows);
  assert_null(cor->pair_rows);
  blica_data_free(data), blica_counts_free(counts), blica_cor_free(cor);
}

/* Segment s at theta. */
static double evaluate(problem *p, int s, const double *theta, double *gradient) {
  double *work = malloc(bl_blocks_work(N, K) * sizeof *work);
  const bl_symmetric view = bl_cor_view(p->cor, s);
  const double value = bl_blocks_eval(p->blocks, s, K, 2.0 * ROWS, &view, theta, theta + N * K + K * s, work, gradient,
                                      gradient + N * K);
  free(work);
  return value;
}

static void random_theta(double *theta) {
  bl_rng rng = bl_rng_make(5, 0);
  for (int i = 0; i < SIZE; i++) theta[i] = bl_rng_normal(&rng);
}

/* R + D and C + D of a block, by their definitions; returns the number of items. */
static int define(const problem *p, const bl_block *b, int s, const double *theta, double *t, double *c) {
  double rho[N * (N - 1) / 2], scale[N], v[K];
  const size_t pairs = (size_t)p->cor->pairs * (size_t)s;
  for (int j = 0; j < K; j++) v[j] = exp(theta[N * K + K * s + j]);
  bl_implied_rho(N, K, p->truth->link, theta, v, scale, rho);
  for (int y = 0; y < b->n; y++)
    for (int x = 0; x < b->n; x++) {
      const int i = b->item ? b->item[x] : x, j = b->item ? b->item[y] : y;
      const double all = p->cor->samples[s], pi = bl_cor_item_rows(p->cor, s, i) / all;
      double omega = 1, own = p->plain[i + N * s];
      if (b->kind == BL_BLOCK_RANDOM || b->kind == BL_BLOCK_PAIRWISE) own = (1 + own) / pi - 1;
      if (i != j && b->kind == BL_BLOCK_PAIRWISE)
        omega = bl_cor_pair_rows(p->cor, s, i < j ? i : j, i < j ? j : i) / all /
                (pi * bl_cor_item_rows(p->cor, s, j) / all);
      const int64_t at = i < j ? blica_pair(i, j) : i > j ? blica_pair(j, i) : 0;
      t[x + b->n * y] = i == j ? 1 + own : omega * rho[at];
      c[x + b->n * y] = i == j ? 1 + own : omega * p->cor->rho[pairs + (size_t)at];
    }
  return b->n;
}

static void values_are_the_definition(void **state) {
  (void)state;
  double theta[SIZE], gradient[SIZE], t[N * N], c[N * N];
  random_theta(theta);
  for (int which = 0; which < SETTINGS; which++) {
    problem p;
    make(&p, settings[which].missing, settings[which].sets);
    for (int s = 0; s < U; s++) {
      double value = 0;
      for (int64_t q = p.blocks->first[s]; q < p.blocks->first[s + 1]; q++) {
        const bl_block *b = &p.blocks->block[q];
        if (b->n < 2) continue;
        const int n = define(&p, b, s, theta, t, c);
        assert_int_equal(bl_dpotrf('L', n, t, n), 0);
        assert_int_equal(bl_dpotrs('L', n, n, t, n, c, n), 0);
        for (int i = 0; i < n; i++) value += ROWS * b->share * (2 * log(t[i * (n + 1)]) + c[i * (n + 1)]);
      }
      assert_compare(fabs(evaluate(&p, s, theta, gradient) - value), <=, 1e-12 * fabs(value));
      if (s == U - 1) assert_compare(value, ==, 0);
    }
    drop(&p);
  }
}

static void gradients_are_derivatives(void **state) {
  (void)state;
  double theta[SIZE], gradient[N * K + K], other[N * K + K];
  random_theta(theta);
  for (int which = 0; which < SETTINGS; which++) {
    problem p;
    make(&p, settings[which].missing, settings[which].sets);
    for (int s = 0; s < U; s++) {
      evaluate(&p, s, theta, gradient);
      for (int i = 0; i < N * K + K; i++) {
        double *x = &theta[i < N * K ? i : i + K * s], keep = *x, h = 1e-5;
        *x = keep + h;
        const double up = evaluate(&p, s, theta, other);
        *x = keep - h;
        const double down = evaluate(&p, s, theta, other);
        *x = keep;
        assert_compare(fabs((up - down) / (2 * h) - gradient[i]), <, 2e-6 * (1 + fabs(gradient[i])));
      }
    }
    drop(&p);
  }
}

static void exact_correlations_are_the_minimum(void **state) {
  (void)state;
  double theta[SIZE], gradient[N * K + K], scale[N];
  for (int which = 0; which < SETTINGS; which++) {
    problem p;
    make(&p, settings[which].missing, settings[which].sets);
    memcpy(theta, p.truth->mixing, N * K * sizeof *theta);
    for (int i = 0; i < U * K; i++) theta[N * K + i] = log(p.truth->variances[i]);
    for (int s = 0; s < U; s++) {
      bl_implied_rho(N, K, p.truth->link, p.truth->mixing, p.truth->variances + K * s, scale,
                     p.cor->rho + p.cor->pairs * s);
      const double value = evaluate(&p, s, theta, gradient);
      for (int i = 0; i < N * K + K; i++) assert_compare(fabs(gradient[i]), <=, 1e-12 * fabs(value));
    }
    drop(&p);
  }
}

/* tau_i is 1/(T^-1)_ii, T = R + D. */
static void noise_of_random_gaps_is_what_items_do_not_explain(void **state) {
  (void)state;
  double theta[SIZE], t[N * N], c[N * N];
  problem p;
  random_theta(theta);
  make(&p, half, false);
  assert_int_equal(bl_blocks_retune(ctx, p.blocks, K, theta), BLICA_OK);
  for (int s = 1; s < U - 1; s++) {
    bl_block b = p.blocks->block[p.blocks->first[s]];
    b.kind = BL_BLOCK_COMPLETE;
    define(&p, &b, s, theta, t, c);
    assert_int_equal(bl_dpotrf('L', N, t, N), 0);
    assert_int_equal(bl_dpotri('L', N, t, N), 0);
    for (int i = 0; i < N; i++) {
      const double more = ROWS / bl_cor_item_rows(p.cor, s, i) - 1, d = p.plain[i + N * s];
      assert_compare(fabs(p.noise[i + N * s] - d - more / t[i * (N + 1)]), <, 1e-12);
    }
  }
  assert_memory_equal(p.noise, p.plain, N * sizeof(double));
  drop(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_kinds_are_chosen_by_what_is_missing),
                                     cmocka_unit_test(complete_data_have_no_rows_of_their_own),
                                     cmocka_unit_test(values_are_the_definition),
                                     cmocka_unit_test(gradients_are_derivatives),
                                     cmocka_unit_test(exact_correlations_are_the_minimum),
                                     cmocka_unit_test(noise_of_random_gaps_is_what_items_do_not_explain)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
