/* Theorems 1 and 3 of the paper as identities of the exact pair probabilities: models that differ and
 * cannot be told apart. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "model/model.h"
#include "num/linear/blas.h"
#include "num/rng.h"
#include "solvers.h"

static blica_model *random_model(int n, int u, uint64_t seed) {
  blica_model *m;
  bl_rng rng = bl_rng_make(seed, 77);
  assert_int_equal(blica_model_create(ctx, n, n, u, &m), BLICA_OK);
  for (int i = 0; i < n * n; i++) m->mixing[i] = 6 * bl_rng_uniform(&rng) - 3;
  for (int i = 0; i < n * u; i++) {
    double sd = 0.5 + 2.5 * bl_rng_uniform(&rng);
    m->variances[i] = sd * sd;
    m->means[i] = bl_rng_uniform(&rng) - 0.5;
  }
  for (int s = 0; s < u; s++) m->samples[s] = 1;
  return m;
}

/* Means of segment s of m that give it the thresholds t. */
static void match_thresholds(blica_model *m, int s, const double *t) {
  int n = m->n;
  double *a = malloc((size_t)(n * n) * sizeof *a), *right = malloc((size_t)n * sizeof *right),
         *diagonal = malloc((size_t)n * sizeof *diagonal);
  int *pivot = malloc((size_t)n * sizeof *pivot);
  memcpy(a, m->mixing, (size_t)(n * n) * sizeof *a);
  bl_model_margins(m, s, diagonal, NULL);
  for (int i = 0; i < n; i++) right[i] = t[i] * sqrt(diagonal[i] / m->link);
  assert_int_equal(solve_general(n, 1, a, pivot, right), 0);
  memcpy(m->means + s * n, right, (size_t)n * sizeof *right);
  free(a);
  free(right);
  free(diagonal);
  free(pivot);
}

static double largest_difference(const blica_model *a, const blica_model *b) {
  blica_counts *p, *q;
  double worst = 0;
  assert_int_equal(blica_simulate_exact(ctx, a, &p), BLICA_OK);
  assert_int_equal(blica_simulate_exact(ctx, b, &q), BLICA_OK);
  for (int s = 0; s < a->u; s++)
    for (int j = 0; j < a->n; j++)
      for (int i = 0; i < j; i++) {
        double x[4], y[4];
        blica_counts_table(p, s, i, j, x);
        blica_counts_table(q, s, i, j, y);
        for (int c = 0; c < 4; c++) worst = fmax(worst, fabs(x[c] - y[c]));
      }
  blica_counts_free(p);
  blica_counts_free(q);
  return worst;
}

static double similarity(const blica_model *a, const blica_model *b) {
  double mcs;
  assert_int_equal(blica_compare(ctx, a->n, a->k, a->mixing, b->mixing, &mcs, NULL, NULL), BLICA_OK);
  return mcs;
}

/* Theorem 1: with two variables the order of the rows of A cannot be known. */
static void row_order_of_two_variables(void **state) {
  (void)state;
  double least_similar = 1;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    blica_model *m = random_model(2, 5, seed), *swapped = random_model(2, 5, seed);
    for (int j = 0; j < 2; j++) {
      swapped->mixing[2 * j] = m->mixing[2 * j + 1];
      swapped->mixing[2 * j + 1] = m->mixing[2 * j];
    }
    assert_compare(largest_difference(m, swapped), >, 1e-4); /* not before the means are adjusted */
    for (int s = 0; s < 5; s++) {
      double t[2];
      bl_model_margins(m, s, NULL, t);
      match_thresholds(swapped, s, t);
    }
    assert_compare(largest_difference(m, swapped), <, 1e-12);
    least_similar = fmin(least_similar, similarity(m, swapped));
    blica_model_free(m);
    blica_model_free(swapped);
  }
  assert_compare(least_similar, <, 0.8); /* the mixing matrices do differ */
}

/* With three variables the same adjustment does not do: the correlations differ. */
static void row_order_of_three_variables(void **state) {
  (void)state;
  blica_model *m = random_model(3, 5, 4), *swapped = random_model(3, 5, 4);
  for (int j = 0; j < 3; j++) {
    swapped->mixing[3 * j] = m->mixing[3 * j + 1];
    swapped->mixing[3 * j + 1] = m->mixing[3 * j];
  }
  for (int s = 0; s < 5; s++) {
    double t[3];
    bl_model_margins(m, s, NULL, t);
    match_thresholds(swapped, s, t);
  }
  assert_compare(largest_difference(m, swapped), >, 1e-3);
  blica_model_free(m);
  blica_model_free(swapped);
}

/* Theorem 3: equal correlations of q are enough, whatever the means were: M^ = Q M Q for a diagonal Q is
 * another model's covariance, A^ = chol((Q M Q - I)/c) with unit variances, and its means can be chosen
 * to give the same thresholds. */
static void means_can_always_be_adjusted(void **state) {
  (void)state;
  enum { N = 5 };
  for (uint64_t seed = 1; seed <= 20; seed++) {
    blica_model *m = random_model(N, 1, seed), *other = random_model(N, 1, seed + 100);
    bl_rng rng = bl_rng_make(seed, 5);
    double covariance[N * N], q[N], t[N];
    for (int i = 0; i < N; i++) q[i] = 1.5 + 2 * bl_rng_uniform(&rng);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        double sum = i == j;
        for (int l = 0; l < N; l++) sum += m->link * m->mixing[i + N * l] * m->mixing[j + N * l] * m->variances[l];
        covariance[i + N * j] = (q[i] * sum * q[j] - (i == j)) / m->link;
      }
    assert_int_equal(bl_dpotrf('L', N, covariance, N), 0);
    for (int l = 0; l < N; l++) {
      other->variances[l] = 1;
      for (int i = 0; i < N; i++) other->mixing[i + N * l] = i >= l ? covariance[i + N * l] : 0;
    }
    assert_compare(largest_difference(m, other), >, 1e-4);
    bl_model_margins(m, 0, NULL, t);
    match_thresholds(other, 0, t);
    assert_compare(largest_difference(m, other), <, 1e-12);
    assert_compare(similarity(m, other), <, 0.95);
    blica_model_free(m);
    blica_model_free(other);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(row_order_of_two_variables),
      cmocka_unit_test(row_order_of_three_variables),
      cmocka_unit_test(means_can_always_be_adjusted),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
