/* A forked child that calls the library after its parent did gets the parent's bits. Without care it waits for ever in
 * the runtime of OpenMP, so the child gives itself a minute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"

static blica_data *drawn;

static int draw(void **state) {
  if (open_context(state) != 0) return -1;
  blica_simulate_options options = blica_simulate_options_default();
  options.variables = options.sources = 4;
  options.segments = 8;
  options.samples = 200;
  return blica_simulate(ctx, &options, NULL, &drawn, NULL) == BLICA_OK ? 0 : -1;
}

static int forget(void **state) {
  blica_data_free(drawn);
  return close_context(state);
}

static double fit(int threads) {
  blica_fit_options options = blica_fit_options_default();
  options.sources = 2;
  blica_set_threads(ctx, threads);
  blica_input input = {.data = drawn};
  blica_model *model = NULL;
  if (blica_fit(ctx, &input, &options, &model) != BLICA_OK) return 0;
  double result = model->mixing[0];
  blica_model_free(model);
  return result;
}

/* True when a child computes the same number within a minute. */
static int child_agrees(int threads, double expected) {
  pid_t child = fork();
  assert_compare(child, >=, 0);
  if (child == 0) {
    alarm(60);
    _exit(fit(threads) == expected ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_children(void **state) {
  (void)state;
  double expected = fit(3);
  assert_true(expected != 0);
  assert_true(child_agrees(3, expected));
  assert_true(child_agrees(1, expected));
  assert_true(child_agrees(7, expected));
  assert_true(fit(3) == expected); /* the parent goes on */
}

static void test_grandchild(void **state) {
  (void)state;
  double expected = fit(2);
  pid_t child = fork();
  assert_compare(child, >=, 0);
  if (child == 0) {
    alarm(60);
    int right = fit(2) == expected;
    pid_t grandchild = fork();
    if (grandchild == 0) {
      alarm(60);
      _exit(fit(2) == expected ? 0 : 1);
    }
    int status = 1;
    right = right && waitpid(grandchild, &status, 0) == grandchild && status == 0;
    _exit(right ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_children), cmocka_unit_test(test_grandchild)};
  return cmocka_run_group_tests(tests, draw, forget);
}
