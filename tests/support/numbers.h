/* numbers.h - arrays of zeros and of random numbers, for tests. After cmocka.h. */
#ifndef TEST_NUMBERS_H
#define TEST_NUMBERS_H

#include <stdlib.h>

#include "num/rng.h"

static double *zeros(size_t count) {
  double *x = calloc(count + 1, sizeof *x);
  assert_non_null(x);
  return x;
}

/* Uniform in +-size. */
static double *random_numbers(size_t count, double size, uint64_t stream) {
  double *x = zeros(count);
  bl_rng rng = bl_rng_make(5, stream);
  for (size_t i = 0; i < count; i++) x[i] = size * (2 * bl_rng_uniform(&rng) - 1);
  return x;
}

#endif
