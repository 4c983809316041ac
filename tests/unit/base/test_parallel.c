/* Parallel items with contexts of their own: all are run, and the first that fails ends the others on its thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "context.h"

enum { ITEMS = 200, THREADS = 4, FAILING = 17 };

typedef struct {
  bool fail;
  atomic_int run[ITEMS];
  bool broken[THREADS]; /* an item of this thread failed and left its workspace unfinished */
  atomic_int on_broken; /* items that met such a workspace */
} job;

static blica_status task(blica_ctx *child, int64_t item, int thread, void *user) {
  job *j = user;
  atomic_fetch_add(&j->run[item], 1);
  if (j->broken[thread]) atomic_fetch_add(&j->on_broken, 1);
  if (!j->fail || item % 50 != FAILING) return BLICA_OK;
  j->broken[thread] = true;
  return bl_fail(child, BLICA_ERR_NUMERIC, "no convergence");
}

static void all_items_are_run_once(void **unused) {
  (void)unused;
  job j = {.fail = false};
  blica_set_threads(ctx, THREADS);
  assert_int_equal(bl_parallel_children(ctx, 0, ITEMS, "draw", task, &j), BLICA_OK);
  for (int i = 0; i < ITEMS; i++) assert_int_equal(atomic_load(&j.run[i]), 1);
}

static void the_first_failure_is_told_and_ends_its_thread(void **unused) {
  (void)unused;
  for (int threads = 1; threads <= THREADS; threads++) {
    job j = {.fail = true};
    blica_set_threads(ctx, threads);
    assert_int_equal(bl_parallel_children(ctx, 0, ITEMS, "draw", task, &j), BLICA_ERR_NUMERIC);
    assert_string_equal(blica_message(ctx), "draw 18: no convergence");
    for (int i = 0; i <= FAILING; i++) assert_int_equal(atomic_load(&j.run[i]), 1);
    assert_int_equal(atomic_load(&j.on_broken), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_items_are_run_once),
      cmocka_unit_test(the_first_failure_is_told_and_ends_its_thread),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
