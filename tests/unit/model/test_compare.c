/* Linear assignment against all permutations, and the mean cosine similarity. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/assign.h"
#include "num/rng.h"

static double total(int k, const double *cost, const int *match) {
  double sum = 0;
  for (int i = 0; i < k; i++) sum += cost[i + match[i] * k];
  return sum;
}

/* Least total over all permutations of what stands from `at` on. */
static double brute(int k, const double *cost, int *match, int at) {
  if (at == k) return total(k, cost, match);
  double best = INFINITY;
  for (int j = at; j < k; j++) {
    int keep = match[at];
    match[at] = match[j];
    match[j] = keep;
    double value = brute(k, cost, match, at + 1);
    if (value < best) best = value;
    keep = match[at];
    match[at] = match[j];
    match[j] = keep;
  }
  return best;
}

static void check_permutation(int k, const int *match) {
  int seen[64] = {0};
  for (int i = 0; i < k; i++) {
    assert_in_range(match[i], 0, k - 1);
    assert_int_equal(seen[match[i]]++, 0);
  }
}

static void against_all_permutations(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(7, 1);
  double cost[49];
  int match[7], order[7];
  for (int trial = 0; trial < 400; trial++) {
    int k = 1 + trial % 7;
    for (int i = 0; i < k * k; i++) {
      cost[i] = bl_rng_uniform(&rng) * 2 - 0.5;
      if (trial % 3 == 0) cost[i] = floor(4 * cost[i]); /* many ties */
    }
    for (int i = 0; i < k; i++) order[i] = i;
    assert_int_equal(bl_assign(ctx, k, cost, match), BLICA_OK);
    check_permutation(k, match);
    assert_compare(fabs(total(k, cost, match) - brute(k, cost, order, 0)), <, 1e-14);
  }
}

/* A planted optimum: dual prices make every other entry dearer. */
static void large_planted(void **state) {
  (void)state;
  enum { K = 60 };
  bl_rng rng = bl_rng_make(8, 1);
  double *cost = malloc(K * K * sizeof *cost), a[K], b[K];
  int match[K];
  for (int i = 0; i < K; i++) {
    a[i] = bl_rng_normal(&rng);
    b[i] = bl_rng_normal(&rng);
  }
  for (int i = 0; i < K; i++)
    for (int j = 0; j < K; j++)
      cost[i + j * K] = a[i] + b[j] + (j == (7 * i + 3) % K ? 0 : 0.01 + bl_rng_uniform(&rng));
  assert_int_equal(bl_assign(ctx, K, cost, match), BLICA_OK);
  for (int i = 0; i < K; i++) assert_int_equal(match[i], (7 * i + 3) % K);
  free(cost);
}

static void order_sign_and_scale_do_not_matter(void **state) {
  (void)state;
  double a[] = {1, 2, 3, -1, 0.5, 4, 2, 2, -7}, b[9], mcs, cosine[3];
  int order[] = {2, 0, 1}, matching[3];
  double scale[] = {-1e200, 3e-200, 5};
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) b[i + 3 * order[j]] = a[i + 3 * j] * scale[j];
  assert_int_equal(blica_compare(ctx, 3, 3, a, b, &mcs, matching, cosine), BLICA_OK);
  assert_compare(fabs(mcs - 1), <=, 2.3e-16);
  assert_memory_equal(matching, order, sizeof order);
  assert_compare(cosine[0], <, 0);
  assert_compare(cosine[1], >, 0);
  assert_compare(cosine[2], >, 0);
}

/* cos(t) for t small: 1 - MCS = t^2/2 to the last bits that a double near 1 has. */
static void close_to_one(void **state) {
  (void)state;
  for (double t = 1e-2; t > 2e-9; t /= 3) {
    double a[] = {3, 4}, b[] = {3 * cos(t) - 4 * sin(t), 3 * sin(t) + 4 * cos(t)}, mcs;
    assert_int_equal(blica_compare(ctx, 2, 1, a, b, &mcs, NULL, NULL), BLICA_OK);
    double expected = 2 * sin(t / 2) * sin(t / 2);
    assert_compare(fabs((1 - mcs) - expected), <=, 1.2e-16 + 1e-6 * expected * t);
  }
}

static void equal_matrices_are_exactly_one(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(9, 1);
  double a[200], mcs;
  for (int i = 0; i < 200; i++) a[i] = bl_rng_normal(&rng);
  assert_int_equal(blica_compare(ctx, 20, 10, a, a, &mcs, NULL, NULL), BLICA_OK);
  assert_true(mcs == 1);
}

static void zero_columns_and_bad_values(void **state) {
  (void)state;
  double a[] = {1, 0, 0, 0}, b[] = {1, 0, 0, 1}, mcs, cosine[2];
  assert_int_equal(blica_compare(ctx, 2, 2, a, b, &mcs, NULL, cosine), BLICA_OK);
  assert_true(mcs == 0.5 && cosine[1] == 0);
  a[2] = NAN;
  assert_int_equal(blica_compare(ctx, 2, 2, a, b, &mcs, NULL, NULL), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "first matrix: row 1, column 2"));
  assert_int_equal(blica_compare(ctx, 0, 2, a, b, &mcs, NULL, NULL), BLICA_ERR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(against_all_permutations),           cmocka_unit_test(large_planted),
      cmocka_unit_test(order_sign_and_scale_do_not_matter), cmocka_unit_test(close_to_one),
      cmocka_unit_test(equal_matrices_are_exactly_one),     cmocka_unit_test(zero_columns_and_bad_values),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
