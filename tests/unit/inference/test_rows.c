/* Distinct rows in a model's order, and counts in a model's order, against plain loops over the rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "inference/scores/rows.h"
#include "level_rows.h"

enum { ITEMS = 4, SEGMENTS = 3, ROWS = 240 };
static const int levels[ITEMS] = {2, 3, 4, 2};

/* Items and segments of a model in another order than those of the data: item i of the model is order[i] of the data,
 * segment s is turn[s]. */
static const int order[ITEMS] = {2, 0, 3, 1}, turn[SEGMENTS] = {1, 2, 0};

static blica_data *pack_named(const level_rows *y) {
  static const char *const names[] = {"a", "b", "c", "d"}, *const segments[] = {"s0", "s1", "s2"};
  blica_data *data = NULL;
  assert_int_equal(blica_pack(ctx,
                              &(blica_table){.rows = y->rows,
                                             .n = y->n,
                                             .x = y->x,
                                             .variables = names,
                                             .levels = y->levels,
                                             .segment = y->segment,
                                             .u = y->u,
                                             .segments = segments},
                              &data),
                   BLICA_OK);
  return data;
}

/* A fit of the same rows in the other order gives a model in that order. */
static blica_model *turned_model(const level_rows *y) {
  static const char *const names[] = {"c", "a", "d", "b"}, *const segments[] = {"s1", "s2", "s0"};
  level_rows z = {ITEMS,
                  SEGMENTS,
                  y->rows,
                  (const int[]){4, 2, 2, 3},
                  malloc((size_t)(y->rows * ITEMS)),
                  malloc((size_t)y->rows * sizeof(int32_t))};
  static const int back[SEGMENTS] = {2, 0, 1};
  blica_data *data = NULL;
  blica_model *model = NULL;
  blica_fit_options o = blica_fit_options_default();
  for (int64_t r = 0; r < y->rows; r++) {
    z.segment[r] = back[y->segment[r]];
    for (int i = 0; i < ITEMS; i++) z.x[r * ITEMS + i] = y->x[r * ITEMS + order[i]];
  }
  assert_int_equal(blica_pack(ctx,
                              &(blica_table){.rows = z.rows,
                                             .n = ITEMS,
                                             .x = z.x,
                                             .variables = names,
                                             .levels = z.levels,
                                             .segment = z.segment,
                                             .u = SEGMENTS,
                                             .segments = segments},
                              &data),
                   BLICA_OK);
  o.sources = 1;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &model), BLICA_OK);
  blica_data_free(data);
  drop_level_rows(&z);
  return model;
}

/* Counts of columns in the model's order against the rows. */
static void check_counts(const level_rows *y, const blica_counts *c, const double *weight) {
  int item[8], level[8], columns = 0;
  for (int i = 0; i < ITEMS; i++)
    for (int l = 1; l < levels[order[i]]; l++) item[columns] = order[i], level[columns++] = l;
  assert_int_equal(c->n, columns);
  assert_int_equal(c->u, SEGMENTS);
  for (int s = 0; s < SEGMENTS; s++)
    for (int q = 0; q < columns; q++)
      for (int p = 0; p <= q; p++) {
        double cell[4] = {0}, found[4], rows = 0;
        for (int64_t r = 0; r < y->rows; r++) {
          const int8_t a = y->x[r * ITEMS + item[p]], b = y->x[r * ITEMS + item[q]];
          if (y->segment[r] != turn[s]) continue;
          rows += weight ? weight[r] : 1;
          if (a == BLICA_MISSING || b == BLICA_MISSING) continue;
          cell[2 * (a < level[p]) + (b < level[q])] += weight ? weight[r] : 1;
        }
        if (p == q) {
          assert_compare(c->ones[p + c->n * s], ==, cell[0]);
          assert_compare(c->present[p + c->n * s], ==, cell[0] + cell[3]);
          assert_compare(c->samples[s], >=, cell[0] + cell[3]);
          assert_compare(c->samples[s], <=, rows);
          continue;
        }
        blica_counts_table(c, s, p, q, found);
        for (int e = 0; e < 4; e++) assert_compare(found[e], ==, cell[e]);
      }
}

static void rows_and_counts_stand_in_the_order_of_the_model(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    level_rows y = draw_level_rows(ITEMS, SEGMENTS, ROWS, levels, holes ? 0.2 : 0, 4);
    blica_data *data = pack_named(&y), *packed;
    blica_model *model = turned_model(&y);
    blica_counts *counts, *aligned, *again;
    bl_rows *rows;
    assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
    assert_int_equal(bl_align_counts(ctx, model, counts, &aligned), BLICA_OK);
    check_counts(&y, aligned, NULL);
    assert_int_equal(aligned->n10 != NULL, holes);
    assert_int_equal(bl_rows_make(ctx, model, data, &rows), BLICA_OK);
    assert_int_equal(rows->complete, !holes);
    assert_int_equal(bl_rows_counts_create(ctx, rows, &again), BLICA_OK);
    bl_rows_count(rows, rows->weight, again);
    check_counts(&y, again, NULL);
    assert_int_equal(bl_rows_data(ctx, rows, rows->weight, &packed), BLICA_OK);
    blica_counts_free(again);
    assert_int_equal(blica_count(ctx, packed, &again), BLICA_OK);
    check_counts(&y, again, NULL);
    blica_data_free(packed), blica_data_free(data);
    blica_counts_free(counts), blica_counts_free(aligned), blica_counts_free(again);
    bl_rows_free(rows);
    blica_model_free(model);
    drop_level_rows(&y);
  }
}

static void other_names_are_named(void **state) {
  (void)state;
  level_rows y = draw_level_rows(ITEMS, SEGMENTS, ROWS, levels, 0, 4);
  blica_data *data = pack_named(&y);
  blica_model *model = turned_model(&y);
  blica_counts *counts, *aligned;
  bl_rows *rows;
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  counts->variables[0][0] = 'x';
  assert_int_equal(bl_align_counts(ctx, model, counts, &aligned), BLICA_ERR_DATA);
  assert_null(aligned);
  assert_non_null(strstr(blica_message(ctx), "variable 'a' of the model is not in the data"));
  counts->variables[0][0] = 'a', counts->segments[1][0] = 't';
  assert_int_equal(bl_align_counts(ctx, model, counts, &aligned), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "segment 's1' of the model is not in the data"));
  data->u = 2;
  assert_int_equal(bl_rows_make(ctx, model, data, &rows), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "the data have 2 segments and the model has 3"));
  data->u = 3;
  blica_counts_free(counts);
  blica_data_free(data);
  blica_model_free(model);
  drop_level_rows(&y);
}

/* Any weights of the patterns, and all segments as one. */
static void weights_and_pooled_counts(void **state) {
  (void)state;
  level_rows y = draw_level_rows(ITEMS, SEGMENTS, ROWS, levels, 0.2, 6);
  blica_data *data = pack_named(&y);
  bl_rows *rows;
  blica_counts *counts, *pooled;
  assert_int_equal(bl_rows_of(ctx, data, &rows), BLICA_OK);
  double *weight = calloc((size_t)rows->count, sizeof *weight);
  for (int64_t p = 0; p < rows->count; p++) weight[p] = (double)(p % 4) * 0.5;
  assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
  bl_rows_count(rows, weight, counts);
  assert_int_equal(bl_rows_pool(ctx, counts, &pooled), BLICA_OK);
  assert_int_equal(pooled->u, 1);
  for (int q = 0; q < counts->n; q++)
    for (int p = 0; p < q; p++) {
      double sum[4] = {0}, all[4];
      for (int s = 0; s < SEGMENTS; s++) {
        double cell[4] = {0}, found[4];
        for (int64_t at = rows->first[s]; at < rows->first[s + 1]; at++) {
          const int8_t a = rows->x[ITEMS * at + rows->item[p]], b = rows->x[ITEMS * at + rows->item[q]];
          if (a != BLICA_MISSING && b != BLICA_MISSING)
            cell[2 * (a < rows->level[p]) + (b < rows->level[q])] += weight[at];
        }
        blica_counts_table(counts, s, p, q, found);
        for (int e = 0; e < 4; e++) {
          assert_compare(found[e], ==, cell[e]);
          sum[e] += cell[e];
        }
      }
      blica_counts_table(pooled, 0, p, q, all);
      for (int e = 0; e < 4; e++) assert_compare(all[e], ==, sum[e]);
    }
  free(weight);
  blica_counts_free(counts), blica_counts_free(pooled);
  bl_rows_free(rows);
  blica_data_free(data);
  drop_level_rows(&y);
}

/* A draw has as many rows of every segment as there are; over many draws each pattern comes as often as it is in the
 * data, with the variance of a binomial number. */
static void draws_have_the_moments_of_the_bootstrap(void **state) {
  (void)state;
  enum { DRAWS = 4000 };
  level_rows y = draw_level_rows(2, SEGMENTS, 150, levels, 0, 5);
  blica_data *data = pack_level_rows(&y);
  bl_rows *rows;
  assert_int_equal(bl_rows_of(ctx, data, &rows), BLICA_OK);
  double *weight = calloc((size_t)rows->count * 4, sizeof *weight), *sum = weight + rows->count,
         *squares = sum + rows->count, *again = squares + rows->count;
  for (int d = 0; d < DRAWS; d++) {
    bl_rows_draw(rows, 3, d, weight);
    for (int s = 0; s < SEGMENTS; s++) {
      double total = 0;
      for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p++) total += weight[p];
      assert_compare(total, ==, rows->total[s]);
    }
    for (int64_t p = 0; p < rows->count; p++) sum[p] += weight[p], squares[p] += weight[p] * weight[p];
  }
  bl_rows_draw(rows, 3, DRAWS - 1, again);
  assert_memory_equal(weight, again, (size_t)rows->count * sizeof *weight);
  bl_rows_draw(rows, 4, DRAWS - 1, again);
  assert_true(memcmp(weight, again, (size_t)rows->count * sizeof *weight) != 0);
  for (int s = 0; s < SEGMENTS; s++)
    for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p++) {
      const double n = (double)rows->total[s], share = rows->weight[p] / n, variance = n * share * (1 - share);
      const double mean = sum[p] / DRAWS, spread = squares[p] / DRAWS - mean * mean;
      assert_compare(fabs(mean - rows->weight[p]), <, 4.5 * sqrt(variance / DRAWS));
      assert_compare(fabs(spread / variance - 1), <, 0.15);
    }
  free(weight);
  bl_rows_free(rows);
  blica_data_free(data);
  drop_level_rows(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_and_counts_stand_in_the_order_of_the_model), cmocka_unit_test(other_names_are_named),
      cmocka_unit_test(weights_and_pooled_counts), cmocka_unit_test(draws_have_the_moments_of_the_bootstrap)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
