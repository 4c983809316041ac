/* Ranks that differ in options, data, model or instruction set stop before they compute, all with the same message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "thread_ranks.h"

enum { RANKS = 3 };

typedef struct {
  member member;
  blica_simd simd;
  const blica_data *data;
  const blica_model *model; /* NULL: a fit; else the log-likelihood */
  blica_fit_options options;
  blica_status status;
  char message[1024];
} job;

static void *run_rank(void *user) {
  job *j = user;
  blica_ctx *ctx;
  blica_model *model = NULL;
  blica_loglik_result *result = NULL;
  blica_input input = {.data = j->data};
  blica_comm comm = threads_comm(&j->member);
  if (blica_ctx_create(&ctx) != BLICA_OK) return NULL;
  blica_set_threads(ctx, 1);
  blica_set_simd(ctx, j->simd);
  blica_set_comm(ctx, &comm);
  j->status =
      j->model ? blica_loglik(ctx, j->model, j->data, NULL, &result) : blica_fit(ctx, &input, &j->options, &model);
  snprintf(j->message, sizeof j->message, "%s", blica_message(ctx));
  if (j->status != BLICA_OK) group_leave(j->member.group);
  blica_model_free(model);
  blica_loglik_result_free(result);
  blica_ctx_free(ctx);
  return NULL;
}

static void run(job jobs[RANKS]) {
  group g;
  pthread_t thread[RANKS];
  group_open(&g, RANKS);
  for (int r = 0; r < RANKS; r++) {
    jobs[r].member = (member){&g, r};
    assert_int_equal(pthread_create(&thread[r], NULL, run_rank, &jobs[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
  assert_int_equal(g.differ, 0);
  group_close(&g);
}

static void assert_stopped(const job jobs[RANKS], const char *text) {
  for (int r = 0; r < RANKS; r++) {
    assert_int_equal(jobs[r].status, BLICA_ERR_ARGUMENT);
    assert_non_null(strstr(jobs[r].message, text));
    assert_string_equal(jobs[r].message, jobs[0].message);
  }
}

static blica_data *data[2];
static blica_model *model[2];

static int setup(void **state) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_ctx *ctx;
  (void)state;
  if (blica_ctx_create(&ctx) != BLICA_OK) return -1;
  o.variables = 5, o.sources = 2, o.segments = 3, o.samples = 40;
  for (int i = 0; i < 2; i++) {
    o.seed = (uint64_t)i + 1;
    if (blica_simulate(ctx, &o, &model[i], &data[i], NULL) != BLICA_OK) return -1;
  }
  blica_ctx_free(ctx);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) blica_data_free(data[i]), blica_model_free(model[i]);
  return 0;
}

static void make(job jobs[RANKS], const blica_model *m) {
  for (int r = 0; r < RANKS; r++) {
    jobs[r] = (job){.data = data[0], .model = m, .options = blica_fit_options_default()};
    jobs[r].options.sources = 2;
    jobs[r].options.starts = 1;
  }
}

static void test_fit(void **state) {
  (void)state;
  job jobs[RANKS];
  make(jobs, NULL);
  run(jobs);
  for (int r = 0; r < RANKS; r++) assert_int_equal(jobs[r].status, BLICA_OK);
  make(jobs, NULL);
  jobs[2].options.sources = 3;
  run(jobs);
  assert_stopped(jobs, "process 2 of 3 has sources 3, the first has 2");
  make(jobs, NULL);
  jobs[1].options.max_iterations = 7;
  run(jobs);
  assert_stopped(jobs, "process 1 of 3 has max_iterations 7, the first has default");
  make(jobs, NULL);
  jobs[1].options.method = BLICA_METHOD_FASTICA;
  run(jobs);
  assert_stopped(jobs, "has method fastica");
  make(jobs, NULL);
  jobs[1].data = data[1];
  run(jobs);
  assert_stopped(jobs, "process 1 of 3 differs from the first in its rows of segment '1'");
  make(jobs, NULL);
  jobs[2].options.checkpoint = "/tmp/never";
  run(jobs);
  assert_stopped(jobs, "process 2 of 3 has checkpoint: yes, the first has no");
  make(jobs, NULL);
  jobs[1].simd = BLICA_SIMD_SCALAR;
  jobs[0].simd = jobs[2].simd = BLICA_SIMD_AVX2;
  run(jobs);
  if (jobs[0].status != BLICA_OK)
    assert_stopped(jobs, "has SIMD level scalar, the first has AVX2"); /* where there is AVX2 */
}

static void test_loglik(void **state) {
  (void)state;
  job jobs[RANKS];
  make(jobs, model[0]);
  run(jobs);
  for (int r = 0; r < RANKS; r++) assert_int_equal(jobs[r].status, BLICA_OK);
  make(jobs, model[0]);
  jobs[2].model = model[1];
  run(jobs);
  assert_stopped(jobs, "differs from the first in its model");
  make(jobs, model[0]);
  jobs[1].data = data[1];
  run(jobs);
  assert_stopped(jobs, "in its rows of segment '1'");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fit), cmocka_unit_test(test_loglik)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
