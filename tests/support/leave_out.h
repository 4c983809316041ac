/* leave_out.h - complete data without the values that a design leaves out. After context.h. */
#ifndef TESTS_LEAVE_OUT_H
#define TESTS_LEAVE_OUT_H

#include <stdbool.h>
#include <stdlib.h>

#include "context.h"
#include "num/rng.h"

/* Whether the value of item i is missing in row r of segment s; z is uniform. */
typedef bool (*is_missing)(int64_t r, int s, int i, double z);

/* Items of `levels` levels each, as blica_simulate draws them. NULL on failure. */
static inline blica_data *leave_out(const blica_data *complete, int levels, is_missing missing) {
  const int planes = levels - 1, n = complete->n / planes;
  int *all = malloc((size_t)n * sizeof *all);
  int8_t *x = malloc((size_t)complete->rows * (size_t)n), *to = x;
  int32_t *segment = malloc((size_t)complete->rows * sizeof *segment), *label = segment;
  blica_data *out = NULL;
  bl_rng rng = bl_rng_make(9, 3);
  for (int i = 0; i < n; i++) all[i] = levels;
  for (int s = 0; s < complete->u; s++)
    for (int64_t r = 0; r < complete->samples[s]; r++, *label++ = s)
      for (int i = 0; i < n; i++) {
        int8_t level = 0;
        for (int p = i * planes; p < (i + 1) * planes; p++)
          level = (int8_t)(level + (complete->ones[s][p * complete->words[s] + r / 64] >> (r % 64) & 1));
        *to++ = missing(r, s, i, bl_rng_uniform(&rng)) ? BLICA_MISSING : level;
      }
  if (blica_pack(
          ctx,
          &(blica_table){.rows = complete->rows, .n = n, .x = x, .levels = all, .segment = segment, .u = complete->u},
          &out) != BLICA_OK)
    out = NULL;
  free(all), free(x), free(segment);
  return out;
}

#endif
