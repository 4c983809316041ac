/* Placement: what each rank holds, by size, ranks and purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ranks/placement.h"

static bl_keep place(int ranks, bl_purpose purpose, int n) {
  blica_ctx *ctx = NULL;
  blica_comm comm = {.size = ranks};
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_set_comm(ctx, &comm);
  bl_keep keep = bl_place(ctx, &purpose, n);
  blica_ctx_free(ctx);
  return keep;
}

static void test_one_rank_holds_all(void **state) {
  (void)state;
  const bl_purpose fit = {.fit = true, .k = 100, .correlations = true};
  assert_int_equal(place(1, fit, 1000), BL_KEEP_ALL);
  assert_int_equal(place(1, (bl_purpose){.fit = false}, 1000), BL_KEEP_ALL);
}

static void test_tables_for_files(void **state) {
  (void)state;
  assert_int_equal(place(3, (bl_purpose){.fit = false}, 100), BL_KEEP_ALL);
  assert_int_equal(place(3, (bl_purpose){.fit = false}, 101), BL_KEEP_SEGMENTS);
}

static void test_tables_for_fits(void **state) {
  (void)state;
  const bl_purpose fit = {.fit = true, .k = 20, .correlations = true};
  bl_purpose rows = fit;
  rows.correlations = false;
  assert_int_equal(place(3, fit, 40), BL_KEEP_ALL); /* n k = 800: Newton steps need all */
  assert_int_equal(place(3, fit, 41), BL_KEEP_SEGMENTS);
  assert_int_equal(place(3, rows, 41), BL_KEEP_ALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_rank_holds_all),
      cmocka_unit_test(test_tables_for_files),
      cmocka_unit_test(test_tables_for_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
