/* level_rows.h - random rows of items with levels, some values missing, and their tables by plain loops over the rows.
 * After cmocka.h and context.h. */
#ifndef TESTS_LEVEL_ROWS_H
#define TESTS_LEVEL_ROWS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"
#include "num/rng.h"

typedef struct {
  int n, u;
  int64_t rows;
  const int *levels; /* [n] */
  int8_t *x;         /* rows of n */
  int32_t *segment;  /* [rows] */
} level_rows;

/* Items share one factor, whose loading alternates in sign between items and grows over segments. A share `missing` of
 * the values is missing. The first segment has more rows than the others. */
static inline level_rows draw_level_rows(int n, int u, int64_t rows, const int *levels, double missing, uint64_t seed) {
  level_rows y = {n, u, rows, levels, malloc((size_t)(rows * n)), malloc((size_t)rows * sizeof(int32_t))};
  bl_rng rng = bl_rng_make(seed, 17);
  for (int64_t r = 0; r < rows; r++) {
    const int s = y.segment[r] = r % 5 == 0 ? 0 : (int32_t)(r % u);
    const double factor = bl_rng_normal(&rng) + 0.2 * s;
    for (int i = 0; i < n; i++) {
      const double q = (i % 2 ? -0.8 : 0.9) * (1 + 0.5 * s) * factor + bl_rng_normal(&rng);
      int8_t level = 0;
      for (int l = 1; l < levels[i]; l++) level = (int8_t)(level + (q > 2.0 * l / levels[i] - 1 + 0.1 * i));
      y.x[r * n + i] = bl_rng_uniform(&rng) < missing ? BLICA_MISSING : level;
    }
  }
  return y;
}

static inline void drop_level_rows(level_rows *y) {
  free(y->x);
  free(y->segment);
}

static inline blica_data *pack_level_rows(const level_rows *y) {
  blica_data *data = NULL;
  if (blica_pack(
          ctx,
          &(blica_table){.rows = y->rows, .n = y->n, .x = y->x, .levels = y->levels, .segment = y->segment, .u = y->u},
          &data) != BLICA_OK)
    fail_msg("%s", blica_message(ctx));
  return data;
}

static inline blica_counts *count_level_rows(const level_rows *y) {
  blica_counts *counts = NULL;
  blica_data *data = pack_level_rows(y);
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  blica_data_free(data);
  return counts;
}

/* cell [levels of i, levels of j] of the rows of segment s that have both; returns their number. */
static inline double plain_table(const level_rows *y, int s, int i, int j, double *cell) {
  double total = 0;
  memset(cell, 0, (size_t)(y->levels[i] * y->levels[j]) * sizeof *cell);
  for (int64_t r = 0; r < y->rows; r++) {
    const int8_t a = y->x[r * y->n + i], b = y->x[r * y->n + j];
    if (y->segment[r] != s || a == BLICA_MISSING || b == BLICA_MISSING) continue;
    cell[a * y->levels[j] + b]++;
    total++;
  }
  return total;
}

#endif
