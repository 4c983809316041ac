/* Starts that come to the optimum of the first are ended; all others run to their ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "estimate/multistart.h"

enum { N = 3, K = 2, STEPS = 10 };

/* Ends of the starts, A [N,K] and one more parameter. */
static const double ends[][N * K + 1] = {
    {1, 2, 3, 4, 0, -1, 7},     /* the first */
    {-8, 0, 2, 0.5, 1, 1.5, 5}, /* its columns in another order, sign and scale */
    {1, 2, 3, 4, 0.2, -1, 7},   /* another column: 1 - |cos| = 1.2e-3 */
    {1, 2, 3, 4, 0.1, -1, 7},   /* the same: 3e-4 */
    {1, 2, 3, 1, 2, 3, 7},      /* one of them twice */
    {1, 2, 3, 0, 0, 0, 7},      /* a column without direction */
    {NAN, 2, 3, 4, 0, -1, 7},   /* no number */
};
enum { STARTS = sizeof ends / sizeof *ends };

/* Moves towards the end of the start in equal steps, from a point that no other start comes near. */
static blica_status walk(bl_start *s) {
  const double *end = ends[s->index];
  bl_start_set_kind(s, "walk");
  for (int step = 1; step <= STEPS; step++) {
    const double share = (double)step / STEPS;
    for (int i = 0; i < N * K; i++) s->theta[i] = share * end[i] + 5 * (1 - share) * (i == 2 || i == 4);
    s->theta[N * K] = end[N * K];
    s->record.evaluations++;
    if (bl_start_hook(1, -step, 1, s) != BL_CONTINUE) break;
    s->iterations++;
  }
  s->record.objective = s->index == 1 ? 2 : 1.0 / (1 + s->index);
  s->record.stop = bl_start_ended(s) ? BLICA_STOP_STALLED : BLICA_STOP_COMPARED;
  return BLICA_OK;
}

static blica_status finish(bl_start *s) {
  s->iterations += 100;
  s->record.objective = 3;
  s->record.stop = bl_start_hook(1, 0, 0, s) == BL_CONTINUE ? BLICA_STOP_CONVERGED : BLICA_STOP_STALLED;
  return BLICA_OK;
}

static void run(int threads, int n, blica_fit_report *fit) {
  blica_ctx *ctx;
  const blica_fit_options o = blica_fit_options_default();
  bl_problem problem = {.options = &o, .deadline = INFINITY};
  bl_multistart all = {.problem = &problem, .run = walk, .count = STARTS, .size = N * K + 1, .factor = 1};
  all.n = n, all.k = K;
  memset(fit, 0, sizeof *fit);
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_set_threads(ctx, threads);
  assert_int_equal(bl_multistart_run(ctx, &all, fit), BLICA_OK);
  assert_int_equal(fit->best_start, 1);
  assert_int_equal(bl_multistart_end(&all, finish, fit), BLICA_OK);
  bl_multistart_free(&all);
  blica_ctx_free(ctx);
}

/* On one thread and on three: the best goes on though it is a duplicate, and is none any more. */
static void duplicates_are_ended(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    blica_fit_report fit;
    run(way ? 3 : 1, N, &fit);
    assert_int_equal(fit.n_starts, STARTS);
    for (int i = 0; i < STARTS; i++) {
      const blica_stop expected = i == 1 ? BLICA_STOP_CONVERGED : i == 3 ? BLICA_STOP_DUPLICATE : BLICA_STOP_COMPARED;
      if (fit.starts[i].stop != expected) fail_msg("start %d: %s", i, blica_stop_name(fit.starts[i].stop));
      assert_in_range(fit.starts[i].evaluations, i == 3 ? 2 : STEPS, STEPS);
    }
    assert_true(fit.starts[1].iterations == STEPS - 1 + 100 && fit.iterations == fit.starts[1].iterations);
    assert_true(fit.objective == 3 && fit.starts[1].objective == 3 && fit.stop == BLICA_STOP_CONVERGED);
    bl_free(fit.starts);
  }
}

/* Estimators that do not ask for it have no duplicates. */
static void without_a_mixing_matrix_all_run(void **state) {
  blica_fit_report fit;
  (void)state;
  run(3, 0, &fit);
  for (int i = 0; i < STARTS; i++) assert_int_equal(fit.starts[i].evaluations, STEPS);
  bl_free(fit.starts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(duplicates_are_ended),
      cmocka_unit_test(without_a_mixing_matrix_all_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
