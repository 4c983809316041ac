/* same_counts.h - two sets of counts are the same, bit by bit, for tests. After cmocka.h. */
#ifndef TEST_SAME_COUNTS_H
#define TEST_SAME_COUNTS_H

#include <string.h>

#include "blica.h"

static bool equal_arrays(const double *a, const double *b, size_t count) {
  return (!a && !b) || (a && b && memcmp(a, b, count * sizeof *a) == 0);
}

static void assert_same(const blica_counts *a, const blica_counts *b) {
  assert_int_equal(a->n, b->n);
  assert_int_equal(a->u, b->u);
  assert_int_equal(a->exact, b->exact);
  size_t cells = (size_t)(a->pairs * a->u), margins = (size_t)(a->n * a->u);
  for (int s = 0; s < a->u; s++) assert_string_equal(a->segments[s], b->segments[s]);
  for (int i = 0; i < a->n; i++) assert_string_equal(a->variables[i], b->variables[i]);
  assert_true(equal_arrays(a->samples, b->samples, (size_t)a->u));
  assert_true(equal_arrays(a->ones, b->ones, margins));
  assert_true(equal_arrays(a->present, b->present, margins));
  assert_true(equal_arrays(a->n11, b->n11, cells));
  assert_true(equal_arrays(a->n10, b->n10, cells));
  assert_true(equal_arrays(a->n01, b->n01, cells));
  assert_true(equal_arrays(a->n00, b->n00, cells));
}

#endif
