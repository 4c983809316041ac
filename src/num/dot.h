/* dot.h - the inner product in eight partial sums: one chain of additions would wait for each of them. The order of
 * additions is part of the definition, so that the bits are the same wherever it is compiled. */
#ifndef BL_DOT_H
#define BL_DOT_H

#include <stddef.h>

/* Adds the products of elements first to last - 1 to the partial sums; first is a multiple of 8. */
static inline void bl_dot_add(size_t first, size_t last, const double *a, const double *b, double sum[8]) {
  size_t i = first;
  for (; i + 8 <= last; i += 8)
    for (size_t j = 0; j < 8; j++) sum[j] += a[i + j] * b[i + j];
  for (; i < last; i++) sum[i % 8] += a[i] * b[i];
}

/* The sum of the partial sums. */
static inline double bl_dot_sum(const double sum[8]) {
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* The inner product. */
static inline double bl_dot(size_t size, const double *a, const double *b) {
  double sum[8] = {0};
  bl_dot_add(0, size, a, b, sum);
  return bl_dot_sum(sum);
}

#endif
