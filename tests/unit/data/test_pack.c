/* Packing: every bit, label and edge case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/rng.h"

static int bit(const uint64_t *columns, int64_t words, int i, int64_t r) {
  return (int)(columns[(size_t)i * (size_t)words + (size_t)(r / 64)] >> (r % 64) & 1);
}

/* Random rows in segments that change every `run` rows or so come back bit by bit, given by rows or by columns. */
static void check_random(int64_t rows, int n, int u, int run, double missing, bool columns, uint64_t seed) {
  int8_t *x = malloc((size_t)rows * (size_t)n);
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  int64_t *seen = calloc((size_t)u, sizeof *seen), absent = 0;
  bl_rng rng = bl_rng_make(seed, 0);
  for (int64_t r = 0; r < rows; r++) {
    segment[r] = r > 0 && bl_rng_uniform(&rng) * run >= 1 ? segment[r - 1] : (int32_t)(bl_rng_uniform(&rng) * u);
    for (int i = 0; i < n; i++) {
      int8_t v = (int8_t)(bl_rng_uniform(&rng) < 0.5);
      if (bl_rng_uniform(&rng) < missing) v = BLICA_MISSING;
      x[columns ? r + i * rows : r * n + i] = v;
      absent += v < 0;
    }
  }
  blica_data *d;
  assert_int_equal(blica_pack(ctx,
                              &(blica_table){.rows = rows,
                                             .n = n,
                                             .x = x,
                                             .row_stride = columns ? 1 : n,
                                             .column_stride = columns ? rows : 1,
                                             .segment = segment,
                                             .u = u},
                              &d),
                   BLICA_OK);
  assert_int_equal(d->rows, rows);
  assert_int_equal(d->n, n);
  assert_int_equal(d->u, u);
  assert_int_equal(d->missing, absent);
  for (int64_t r = 0; r < rows; r++) {
    int s = segment[r];
    assert_int_equal(d->row_segment[r], s);
    int64_t at = seen[s]++;
    for (int i = 0; i < n; i++) {
      int8_t v = x[columns ? r + i * rows : r * n + i];
      assert_int_equal(bit(d->ones[s], d->words[s], i, at), v == 1);
      if (d->present[s])
        assert_int_equal(bit(d->present[s], d->words[s], i, at), v >= 0);
      else
        assert_compare(v, >=, 0);
    }
  }
  for (int s = 0; s < u; s++) {
    assert_int_equal(d->samples[s], seen[s]);
    assert_int_equal(d->words[s], (seen[s] + 63) / 64);
    for (int i = 0; i < n; i++)
      for (int64_t r = seen[s]; r < 64 * d->words[s]; r++) {
        assert_int_equal(bit(d->ones[s], d->words[s], i, r), 0);
        if (d->present[s]) assert_int_equal(bit(d->present[s], d->words[s], i, r), 0);
      }
  }
  blica_data_free(d);
  free(x);
  free(segment);
  free(seen);
}

static void test_random(void **state) {
  (void)state;
  static const struct {
    int64_t rows;
    int n, u;
    double missing;
  } cases[] = {{1, 2, 1, 0},     {63, 3, 1, 0},        {64, 3, 1, 0},      {65, 3, 1, 0.5},
               {2000, 17, 1, 0}, {3000, 33, 7, 0.001}, {2500, 5, 40, 0.3}, {1500, 100, 3, 1.0}};
  uint64_t seed = 0;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int run = 1; run <= 1000; run *= 10)
      for (int columns = 0; columns < 2; columns++)
        check_random(cases[c].rows, cases[c].n, cases[c].u, run, cases[c].missing, columns, ++seed);
}

static void test_names_and_labels(void **state) {
  (void)state;
  const int8_t x[] = {0, 1, 1, 1, 1, 0};
  const int32_t segment[] = {1, 0, 1};
  const char *names[] = {"smoker", "drinker"}, *labels[] = {"east", "west"};
  blica_data *d;
  assert_int_equal(
      blica_pack(
          ctx,
          &(blica_table){.rows = 3, .n = 2, .x = x, .variables = names, .segment = segment, .u = 2, .segments = labels},
          &d),
      BLICA_OK);
  assert_string_equal(d->variables[1], "drinker");
  assert_string_equal(d->segments[0], "east");
  assert_int_equal(d->samples[0], 1);
  assert_int_equal(d->samples[1], 2);
  assert_null(d->present[0]);
  blica_data_free(d);
  assert_int_equal(blica_pack(ctx, &(blica_table){.rows = 3, .n = 2, .x = x, .segment = segment, .u = 2}, &d),
                   BLICA_OK);
  assert_string_equal(d->variables[0], "x1");
  assert_string_equal(d->variables[1], "x2");
  assert_string_equal(d->segments[1], "2");
  blica_data_free(d);
}

/* Strides: the same matrix stored by columns and reversed. */
static void test_strides(void **state) {
  (void)state;
  const int8_t rows[] = {0, 1, 1, 1, 0, 0}, columns[] = {0, 1, 0, 1, 1, 0};
  const int32_t segment[] = {0, 0, 0};
  blica_data *a, *b, *c;
  assert_int_equal(blica_pack(ctx, &(blica_table){.rows = 3, .n = 2, .x = rows, .segment = segment, .u = 1}, &a),
                   BLICA_OK);
  assert_int_equal(
      blica_pack(ctx,
                 &(blica_table){
                     .rows = 3, .n = 2, .x = columns, .row_stride = 1, .column_stride = 3, .segment = segment, .u = 1},
                 &b),
      BLICA_OK);
  assert_int_equal(
      blica_pack(
          ctx,
          &(blica_table){
              .rows = 3, .n = 2, .x = rows + 4, .row_stride = -2, .column_stride = 1, .segment = segment, .u = 1},
          &c),
      BLICA_OK);
  for (int i = 0; i < 2; i++) assert_int_equal(a->ones[0][i], b->ones[0][i]);
  assert_int_equal(a->ones[0][0], 2);
  assert_int_equal(a->ones[0][1], 3);
  assert_int_equal(c->ones[0][1], 6);
  blica_data_free(a);
  blica_data_free(b);
  blica_data_free(c);
}

static void expect(blica_status got, blica_status wanted, const char *words) {
  assert_int_equal(got, wanted);
  if (!strstr(blica_message(ctx), words)) fail_msg("message '%s' lacks '%s'", blica_message(ctx), words);
}

static void test_refusals(void **state) {
  (void)state;
  const int8_t x[] = {0, 1, 1, 2, -2, 0};
  const int32_t zero[] = {0, 0, 0}, far[] = {0, 5, 0}, negative[] = {0, -1, 0};
  const char *twice[] = {"a", "b", "a"}, *hole[] = {"a", NULL}, *empty[] = {"", "b"}, *labels[] = {"s", "s"};
  blica_data *d = (blica_data *)&ctx;
  blica_packer *p;
  expect(blica_pack(ctx, &(blica_table){.rows = 3, .n = 1, .x = x, .segment = zero, .u = 1}, &d), BLICA_ERR_DATA,
         "1 variable:");
  assert_null(d);
  expect(blica_pack(
             ctx,
             &(blica_table){.rows = 3, .n = 2, .x = x, .row_stride = 1, .column_stride = 3, .segment = zero, .u = 1},
             &d),
         BLICA_ERR_DATA, "row 1, variable 2 ('x2'): value 2");
  expect(
      blica_pack(ctx,
                 &(blica_table){.rows = 3, .n = 2, .x = x, .row_stride = 1, .column_stride = 3, .segment = far, .u = 1},
                 &d),
      BLICA_ERR_ARGUMENT, "row 2: segment id 5");
  expect(blica_pack_begin(ctx, 0, NULL, &p), BLICA_ERR_DATA, "0 variables");
  expect(blica_pack_begin(ctx, 3, twice, &p), BLICA_ERR_DATA, "variables 1 and 3 are both named 'a'");
  assert_null(p);
  expect(blica_pack_begin(ctx, 2, hole, &p), BLICA_ERR_ARGUMENT, "variable 2 is NULL");
  expect(blica_pack_begin(ctx, 2, empty, &p), BLICA_ERR_DATA, "variable 1 is empty");
  expect(blica_pack(ctx, &(blica_table){.rows = 3, .n = 2, .x = x, .segment = zero, .u = 1}, &d), BLICA_ERR_DATA,
         "row 2, variable 2 ('x2'): value 2");
  expect(blica_pack(ctx, &(blica_table){.rows = 1, .n = 2, .x = x + 4, .segment = zero, .u = 1}, &d), BLICA_ERR_DATA,
         "value -2");
  expect(
      blica_pack(ctx,
                 &(blica_table){.rows = 2, .n = 2, .x = x, .row_stride = 1, .column_stride = 1, .segment = far, .u = 2},
                 &d),
      BLICA_ERR_ARGUMENT, "row 2: segment id 5");
  expect(blica_pack(ctx,
                    &(blica_table){
                        .rows = 2, .n = 2, .x = x, .row_stride = 1, .column_stride = 1, .segment = negative, .u = 2},
                    &d),
         BLICA_ERR_ARGUMENT, "segment id -1");
  expect(blica_pack(ctx, &(blica_table){.n = 2, .x = x, .segment = zero, .u = 1}, &d), BLICA_ERR_DATA, "no rows");
  expect(blica_pack(ctx, &(blica_table){.rows = -1, .n = 2, .x = x, .segment = zero, .u = 1}, &d), BLICA_ERR_ARGUMENT,
         "-1");
  expect(blica_pack(ctx, &(blica_table){.rows = 1, .n = 2, .x = x, .segment = zero}, &d), BLICA_ERR_ARGUMENT,
         "0 segments");
  expect(blica_pack(ctx, &(blica_table){.rows = 1, .n = 2, .x = x, .segment = zero, .u = 2, .segments = labels}, &d),
         BLICA_ERR_DATA, "both named 's'");
  expect(blica_pack(ctx, &(blica_table){.rows = 1, .n = 2, .x = x, .u = 2}, &d), BLICA_ERR_ARGUMENT, "segment");
  expect(blica_pack(ctx, &(blica_table){.rows = 1, .n = 2}, &d), BLICA_ERR_ARGUMENT, "NULL");
}

/* What is left out of a table has a default. */
static void test_table_defaults(void **state) {
  (void)state;
  const int8_t x[] = {0, 1, 1, 1, 0, 0};
  blica_data *d;
  assert_int_equal(blica_pack(ctx, &(blica_table){.rows = 3, .n = 2, .x = x}, &d), BLICA_OK);
  assert_int_equal(d->u, 1);
  assert_int_equal(d->samples[0], 3);
  assert_string_equal(d->segments[0], "1");
  assert_string_equal(d->variables[1], "x2");
  assert_int_equal(d->ones[0][0], 2);
  assert_int_equal(d->ones[0][1], 3);
  blica_data_free(d);
}

static void test_streaming_labels(void **state) {
  (void)state;
  blica_packer *p;
  blica_data *d;
  assert_int_equal(blica_pack_begin(ctx, 2, NULL, &p), BLICA_OK);
  for (int k = 0; k < 3000; k++) {
    char label[16];
    int32_t id;
    snprintf(label, sizeof label, "bin %d", k % 1000);
    assert_int_equal(blica_pack_segment(ctx, p, label, &id), BLICA_OK);
    assert_int_equal(id, k % 1000);
    int8_t x[2] = {(int8_t)(k & 1), 1};
    assert_int_equal(blica_pack_rows(ctx, p, 1, x, &id), BLICA_OK);
  }
  assert_int_equal(blica_pack_end(ctx, p, &d), BLICA_OK);
  assert_int_equal(d->u, 1000);
  assert_string_equal(d->segments[999], "bin 999");
  assert_int_equal(d->samples[500], 3);
  blica_data_free(d);
  assert_int_equal(blica_pack_begin(ctx, 2, NULL, &p), BLICA_OK);
  expect(blica_pack_end(ctx, p, &d), BLICA_ERR_DATA, "no rows");
  assert_null(d);
  blica_packer_free(NULL);
  blica_data_free(NULL);
}

/* Every allocation fails once: an error each time, nothing leaks (the sanitizer build sees that). */
typedef struct {
  int64_t left, live;
} budget;

static void *counting(void *old, size_t size, void *user) {
  budget *b = user;
  if (size == 0) {
    b->live -= old != NULL;
    free(old);
    return NULL;
  }
  if (b->left-- <= 0) return NULL;
  b->live += old == NULL;
  return realloc(old, size);
}

static void test_allocations_fail(void **state) {
  (void)state;
  int8_t x[200 * 3];
  int32_t segment[200];
  for (int r = 0; r < 200; r++) {
    segment[r] = r % 2;
    for (int i = 0; i < 3; i++) x[r * 3 + i] = (int8_t)(r == 150 && i == 1 ? -1 : (r >> i) & 1);
  }
  for (int64_t allowed = 1;; allowed++) {
    budget b = {allowed, 0};
    blica_ctx *c;
    blica_data *d;
    blica_counts *k = NULL;
    assert_int_equal(blica_ctx_create_with(counting, &b, &c), BLICA_OK);
    blica_status status = blica_pack(c, &(blica_table){.rows = 200, .n = 3, .x = x, .segment = segment, .u = 2}, &d);
    if (status == BLICA_OK) status = blica_count(c, d, &k);
    if (status != BLICA_OK) assert_int_equal(status, BLICA_ERR_MEMORY);
    blica_data_free(d);
    blica_counts_free(k);
    blica_ctx_free(c);
    assert_int_equal(b.live, 0);
    if (status == BLICA_OK) {
      assert_compare(allowed, >, 30);
      return;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),           cmocka_unit_test(test_names_and_labels),
      cmocka_unit_test(test_table_defaults),   cmocka_unit_test(test_strides),
      cmocka_unit_test(test_refusals),         cmocka_unit_test(test_streaming_labels),
      cmocka_unit_test(test_allocations_fail),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
