/* Lists of item sets: against a loop over rows, from pieces in any order, of bootstrap weights, and given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "counts/counts.h"
#include "inference/scores/rows.h"
#include "leave_out.h"

enum { N = 70, U = 3, ROWS = 150, FORMS = 5 };

/* Five forms; the second segment is complete. */
static bool forms(int64_t r, int s, int i, double z) {
  (void)z;
  return s != 1 && (i % FORMS == r % FORMS || (i > 64 && r % FORMS == 2));
}
static bool random_cells(int64_t r, int s, int i, double z) {
  (void)r, (void)s, (void)i;
  return z < 0.5;
}

static blica_data *draw(is_missing missing) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *complete;
  o.variables = N, o.sources = 2, o.segments = U, o.samples = ROWS, o.seed = 2;
  assert_int_equal(blica_simulate(ctx, &o, NULL, &complete, NULL), BLICA_OK);
  blica_data *data = leave_out(complete, 2, missing);
  blica_data_free(complete);
  assert_non_null(data);
  return data;
}

static void assert_forms(const bl_item_sets *sets, double times) {
  assert_non_null(sets);
  assert_int_equal(sets->words, 2);
  for (int s = 0; s < U; s++) {
    assert_int_equal(sets->segment[s].count, s == 1 ? 1 : FORMS);
    for (int64_t r = 0; r < FORMS; r++) {
      uint64_t mask[2] = {0};
      for (int i = 0; i < N; i++) mask[i / 64] |= (uint64_t)!forms(r, s, i, 0) << (i % 64);
      const int at = bl_item_sets_find(sets, s, mask);
      assert_true(at >= 0);
      assert_compare(sets->segment[s].rows[at], ==, times * ROWS / (s == 1 ? 1 : FORMS));
    }
    for (int l = 1; l < sets->segment[s].count; l++) {
      const uint64_t *before = sets->segment[s].mask + 2 * (l - 1), *now = before + 2;
      assert_true(before[0] < now[0] || (before[0] == now[0] && before[1] < now[1]));
    }
  }
}

static void sets_are_those_of_the_rows(void **state) {
  (void)state;
  blica_data *data = draw(forms);
  blica_counts *counts;
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  assert_forms(counts->sets, 1);
  blica_counts_free(counts), blica_data_free(data);
}

static void pieces_add_up(void **state) {
  (void)state;
  blica_data *data = draw(forms);
  blica_counts *counts = NULL, *merged = NULL;
  assert_int_equal(blica_count_add(ctx, data, &counts), BLICA_OK);
  assert_int_equal(blica_count_add(ctx, data, &counts), BLICA_OK);
  assert_forms(counts->sets, 2);
  assert_int_equal(blica_merge_add(ctx, counts, &merged), BLICA_OK);
  assert_int_equal(blica_count_add(ctx, data, &merged), BLICA_OK);
  assert_forms(merged->sets, 3);
  bl_item_sets_free(counts->sets);
  counts->sets = NULL;
  assert_int_equal(blica_merge_add(ctx, counts, &merged), BLICA_OK);
  assert_null(merged->sets); /* those of a part are not known */
  blica_counts_free(counts), blica_counts_free(merged), blica_data_free(data);
}

static void complete_pieces_are_sets_too(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *data = draw(forms), *complete;
  blica_counts *first = NULL, *last = NULL;
  uint64_t all[2] = {UINT64_MAX, (UINT64_C(1) << (N - 64)) - 1};
  o.variables = N, o.sources = 2, o.segments = U, o.samples = ROWS;
  assert_int_equal(blica_simulate(ctx, &o, NULL, &complete, NULL), BLICA_OK);
  assert_int_equal(blica_count_add(ctx, complete, &first), BLICA_OK);
  assert_null(first->sets);
  assert_int_equal(blica_count_add(ctx, data, &first), BLICA_OK);
  assert_int_equal(blica_count_add(ctx, data, &last), BLICA_OK);
  assert_int_equal(blica_count_add(ctx, complete, &last), BLICA_OK);
  for (int s = 0; s < U; s++) {
    const bl_item_set_list *a = &first->sets->segment[s], *b = &last->sets->segment[s];
    const int at = bl_item_sets_find(first->sets, s, all);
    assert_true(at >= 0);
    assert_compare(a->rows[at], ==, s == 1 ? 2 * ROWS : ROWS);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->mask, b->mask, (size_t)a->count * 2 * sizeof *a->mask);
    assert_memory_equal(a->rows, b->rows, (size_t)a->count * sizeof *a->rows);
  }
  blica_data_free(data), blica_data_free(complete), blica_counts_free(first), blica_counts_free(last);
}

static void long_lists_are_given_up(void **state) {
  (void)state;
  blica_data *data = draw(random_cells);
  blica_counts *counts;
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  for (int s = 0; s < U; s++) assert_int_equal(counts->sets->segment[s].count, -1);
  blica_counts_free(counts), blica_data_free(data);
}

static void weights_of_rows_have_sets(void **state) {
  (void)state;
  blica_data *data = draw(forms);
  bl_rows *rows;
  blica_counts *counts;
  assert_int_equal(bl_rows_of(ctx, data, &rows), BLICA_OK);
  assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
  for (int draw = 0; draw < 2; draw++) {
    bl_rows_count(rows, rows->weight, counts);
    assert_forms(counts->sets, 1);
  }
  blica_counts_free(counts), bl_rows_free(rows), blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sets_are_those_of_the_rows), cmocka_unit_test(pieces_add_up),
                                     cmocka_unit_test(complete_pieces_are_sets_too),
                                     cmocka_unit_test(long_lists_are_given_up),
                                     cmocka_unit_test(weights_of_rows_have_sets)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
