/* Sizes whose product overflows are refused before anybody is asked for memory; blocks are freed with their owner;
 * counts are exact only if all parts are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "base/base.h"

static size_t asked;
static int alive; /* blocks */

static void *record(void *old, size_t size, void *user) {
  (void)user;
  asked = size;
  alive += (size > 0) - (old != NULL);
  if (size) return realloc(old, size);
  free(old);
  return NULL;
}

static void products_do_not_wrap(void **state) {
  (void)state;
  blica_ctx *ctx;
  double *block;
  assert_int_equal(blica_ctx_create_with(record, NULL, &ctx), BLICA_OK);
  assert_true(bl_mul(SIZE_MAX / 2, 3) == SIZE_MAX && bl_mul(6, 7) == 42);
  asked = 0;
  assert_int_equal(bl_alloc(ctx, SIZE_MAX / sizeof(double) + 2, &block), BLICA_ERR_MEMORY); /* wraps to a few bytes */
  assert_null(block);
  assert_int_equal(bl_alloc(ctx, bl_mul(SIZE_MAX / 4, 5), &block), BLICA_ERR_MEMORY);
  assert_int_equal(asked, 0);
  assert_int_equal(bl_alloc(ctx, 10, &block), BLICA_OK);
  assert_compare(asked, >=, 10 * sizeof *block);
  bl_free(block);
  blica_ctx_free(ctx);
}

/* A block of its own, and one with two that it owns; the last is handed on when there is an out. */
static blica_status allocate(blica_ctx *ctx, size_t last, double **out) {
  blica_status status;
  BL_OWNED double *alone = NULL, *owner = NULL;
  double *first, *second;
  TRY(bl_alloc(ctx, 3, &alone));
  TRY(bl_alloc(ctx, 1, &owner));
  TRY(bl_alloc_for(ctx, owner, 5, &first));
  TRY(bl_alloc_for(ctx, first, last, &second));
  assert_true(first[4] == 0 && second[last - 1] == 0);
  assert_int_equal(alive, 5);
  if (out) *out = bl_take(&owner);
done:
  return status;
}

static void blocks_are_freed_with_their_owner(void **state) {
  (void)state;
  blica_ctx *ctx;
  double *kept = NULL;
  alive = 0;
  assert_int_equal(blica_ctx_create_with(record, NULL, &ctx), BLICA_OK);
  assert_int_equal(allocate(ctx, 7, NULL), BLICA_OK);
  assert_int_equal(alive, 1); /* the context */
  assert_int_equal(allocate(ctx, SIZE_MAX / 2, NULL), BLICA_ERR_MEMORY);
  assert_int_equal(alive, 1);
  assert_int_equal(allocate(ctx, 7, &kept), BLICA_OK);
  assert_int_equal(alive, 4);
  bl_free(bl_take(&kept));
  assert_null(kept);
  assert_int_equal(alive, 1);
  blica_ctx_free(ctx);
}

static blica_counts *draw(blica_ctx *ctx, int exact) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_counts *counts;
  blica_data *data = NULL;
  o.variables = 3, o.sources = 2, o.segments = 2, o.samples = 50, o.exact = exact;
  assert_int_equal(blica_simulate(ctx, &o, NULL, exact ? NULL : &data, exact ? &counts : NULL), BLICA_OK);
  if (!exact) assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  blica_data_free(data);
  return counts;
}

static void sums_are_exact_only_of_exact_parts(void **state) {
  (void)state;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_counts *part[2] = {draw(ctx, 1), draw(ctx, 0)}, *sum;
  for (int i = 0; i < 4; i++) {
    const blica_counts *parts[2] = {part[i & 1], part[i >> 1]};
    assert_int_equal(blica_merge(ctx, 2, parts, &sum), BLICA_OK);
    assert_int_equal(sum->exact, i == 0);
    blica_counts_free(sum);
  }
  blica_counts_free(part[0]);
  blica_counts_free(part[1]);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_do_not_wrap),
                                     cmocka_unit_test(blocks_are_freed_with_their_owner),
                                     cmocka_unit_test(sums_are_exact_only_of_exact_parts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
