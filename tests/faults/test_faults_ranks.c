/* Every allocation of one of two ranks fails once (here every third, in fits every 29th; all of them in `make faults`),
 * in every verb that ranks share. The rank says so and leaks nothing. The other one, which may wait for a message that
 * will not come, gets the same failure, or is told that there is nobody any more, or had all it needed; the two never
 * meet in different exchanges, where MPI would hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "blica_ranks.h"
#include "discard.h"
#include "faulty_heap.h"
#include "thread_ranks.h"
#include "scratch.h"
#include "set_word.h"

enum { RANKS = 2, N = 4, K = 2, U = 3 };

static faulty heap[RANKS];
static blica_ctx *ctx[RANKS], *calm, *calm_of[RANKS]; /* the calm ones for what must not fail */
static blica_data *all, *part[RANKS];
static blica_counts *part_counts[RANKS];
static blica_model *model;
static char folder[40], checkpoint[64];

/* Rows of every segment in both parts, one value missing in the second. */
static blica_status make_part(int rank) {
  int8_t x[60 * N];
  int32_t segment[60];
  for (int r = 0; r < 60; r++) {
    segment[r] = r % U;
    for (int i = 0; i < N; i++) x[r * N + i] = (int8_t)(all->ones[segment[r]][i] >> (r / U + 30 * rank) % 64 & 1);
  }
  if (rank) x[17] = BLICA_MISSING;
  blica_status status =
      blica_pack(calm, &(blica_table){.rows = 60, .n = N, .x = x, .segment = segment, .u = U}, &part[rank]);
  return status == BLICA_OK ? blica_count(calm, part[rank], &part_counts[rank]) : status;
}

static int setup(void **state) {
  (void)state;
  blica_simulate_options how = blica_simulate_options_default();
  how.variables = N, how.sources = K, how.segments = U, how.samples = 64;
  if (blica_ctx_create(&calm) || make_scratch(folder) || blica_simulate(calm, &how, &model, &all, NULL)) return 1;
  for (int r = 0; r < RANKS; r++) {
    heap[r].fail_at = -1;
    if (blica_ctx_create(&calm_of[r]) || blica_ctx_create_with(faulty_realloc, &heap[r], &ctx[r]) || make_part(r))
      return 1;
    blica_set_threads(calm_of[r], 1);
    blica_set_threads(ctx[r], 1);
  }
  snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", folder);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  long long live = 0;
  for (int r = 0; r < RANKS; r++) {
    blica_ctx_free(ctx[r]);
    blica_ctx_free(calm_of[r]);
    blica_data_free(part[r]);
    blica_counts_free(part_counts[r]);
    live += atomic_load(&heap[r].live);
  }
  blica_data_free(all);
  blica_model_free(model);
  blica_ctx_free(calm);
  unlink(checkpoint);
  return live != 0 || rmdir(folder); /* fails when a temporary file was left */
}

/* ---- the verbs ---- */

static blica_status call_merge(int r, void **out) {
  return blica_merge_ranks(ctx[r], part_counts[r], (blica_counts **)out);
}
static blica_status call_pack(int r, void **out) {
  return blica_pack_ranks(ctx[r], part[r], (blica_data **)out);
}

static blica_status fit_with(int r, const char *method, const char *state, void **out) {
  blica_fit_options options = blica_fit_options_default();
  options.method = blica_method_find(method);
  options.sources = K, options.starts = 2, options.max_iterations = 3;
  options.checkpoint = state, options.resume = state != NULL;
  if (state) options.checkpoint_seconds = 0;
  blica_input input = {.data = all};
  return blica_fit(ctx[r], &input, &options, (blica_model **)out);
}

#define FIT_VERB(method)                                                                                               \
  static blica_status call_fit_##method(int r, void **out) {                                                           \
    return fit_with(r, #method, NULL, out);                                                                            \
  }
FIT_VERB(blica)
FIT_VERB(matched)
FIT_VERB(pairwise)
FIT_VERB(mle)
FIT_VERB(ivae)
FIT_VERB(fastica)
static blica_status call_fit_resumed(int r, void **out) {
  return fit_with(r, "blica", checkpoint, out);
}

static blica_status loglik_by(int r, const char *engine, void **out) {
  blica_loglik_options options = blica_loglik_options_default();
  set_word(blica_loglik_option_table, &options, "engine", engine);
  return blica_loglik(ctx[r], model, all, &options, (blica_loglik_result **)out);
}
static blica_status call_loglik_grid(int r, void **out) {
  return loglik_by(r, "grid", out);
}
static blica_status call_loglik_lattice(int r, void **out) {
  return loglik_by(r, "lattice", out);
}

static blica_status call_sources(int r, void **out) {
  blica_sources_options options = blica_sources_options_default();
  return blica_sources(ctx[r], model, all, &options, (blica_posterior **)out);
}

static blica_status call_assess(int r, void **out) {
  blica_assess_options options = blica_assess_options_default();
  options.bootstrap = 20;
  return blica_assess(ctx[r], model, all, &options, (blica_assessment **)out);
}

static blica_status call_select(int r, void **out) {
  blica_select_options options = blica_select_options_default();
  options.sources[0] = 1, options.sources[1] = 2, options.folds = 2, options.references = 20;
  return blica_select(ctx[r], all, &options, (blica_selection **)out);
}

typedef struct {
  const char *name;
  blica_status (*call)(int rank, void **out);
  void (*discard)(void *object);
} verb;

#define VERB(name, type)                                                                                               \
  { #name, call_##name, discard_##type }
static const verb verbs[] = {VERB(merge, counts),
                             VERB(pack, data),
                             VERB(fit_blica, model),
                             VERB(fit_matched, model),
                             VERB(fit_pairwise, model),
                             VERB(fit_mle, model),
                             VERB(fit_ivae, model),
                             VERB(fit_fastica, model),
                             VERB(fit_resumed, model),
                             VERB(loglik_grid, loglik_result),
                             VERB(loglik_lattice, loglik_result),
                             VERB(sources, posterior),
                             VERB(assess, assessment),
                             VERB(select, selection)};

/* ---- the walk ---- */

typedef struct {
  member member;
  const verb *verb;
  pthread_t thread;
  blica_status status;
  void *out;
  char message[512];
} job;

static void *serve(void *user) {
  job *j = user;
  j->out = (void *)j; /* a failing call must overwrite this */
  j->status = j->verb->call(j->member.rank, &j->out);
  snprintf(j->message, sizeof j->message, "%s", blica_message(ctx[j->member.rank]));
  if (j->status != BLICA_OK) group_leave(j->member.group);
  return NULL;
}

static void run(const verb *v, int victim, long long at, group *g, job jobs[RANKS]) {
  group_open(g, RANKS);
  for (int r = 0; r < RANKS; r++) {
    jobs[r] = (job){.member = {g, r}, .verb = v};
    blica_comm comm = threads_comm(&jobs[r].member);
    blica_set_comm(ctx[r], &comm);
    faulty_arm(&heap[r], r == victim ? at : -1);
  }
  for (int r = 0; r < RANKS; r++) pthread_create(&jobs[r].thread, NULL, serve, &jobs[r]);
  for (int r = 0; r < RANKS; r++) pthread_join(jobs[r].thread, NULL);
  group_close(g);
}

static void look(const verb *v, int victim, long long at, const group *g, const job jobs[RANKS]) {
  if (g->differ)
    fail_msg("%s: allocation %lld of rank %d failed, and the ranks met in different exchanges", v->name, at, victim);
  for (int r = 0; r < RANKS; r++) {
    const job *j = &jobs[r];
    bool memory = j->status == BLICA_ERR_MEMORY && strstr(j->message, "memory");
    bool lost = r != victim && j->status == BLICA_ERR_INTERNAL && strstr(j->message, "cannot be reached");
    bool fine =
        j->status == BLICA_OK && (r != victim || v->call == call_fit_resumed); /* there its state alone was not kept */
    if (!memory && !lost && !fine)
      fail_msg("%s: allocation %lld of rank %d failed, and rank %d says '%s': %s", v->name, at, victim, r,
               blica_status_name(j->status), j->message);
    if (j->status != BLICA_OK && j->out)
      fail_msg("%s: allocation %lld of rank %d failed, rank %d has an output", v->name, at, victim, r);
  }
}

/* How many allocations of the victim were made to fail. */
static long long walk(const verb *v, int victim) {
  long long count = 0;
  const bool refits = v->call == call_assess || v->call == call_select;
  const int stride = faulty_stride(refits ? 3001 : strncmp(v->name, "fit", 3) == 0 ? 29 : 3) + (refits ? 52 : 0);
  for (long long at = 0;; at += stride, count++) {
    group g;
    job jobs[RANKS];
    long long before[RANKS];
    for (int r = 0; r < RANKS; r++) before[r] = atomic_load(&heap[r].live);
    unlink(checkpoint);
    run(v, victim, at, &g, jobs);
    bool fired = atomic_load(&heap[victim].fired);
    if (fired) look(v, victim, at, &g, jobs);
    for (int r = 0; r < RANKS; r++) {
      if (!fired && (g.differ || jobs[r].status != BLICA_OK)) fail_msg("%s, rank %d: %s", v->name, r, jobs[r].message);
      if (jobs[r].status == BLICA_OK) v->discard(jobs[r].out);
      if (atomic_load(&heap[r].live) != before[r])
        fail_msg("%s: allocation %lld of rank %d: rank %d leaks %lld blocks", v->name, at, victim, r,
                 atomic_load(&heap[r].live) - before[r]);
    }
    if (!fired) return count;
  }
}

static void test_verbs(void **state) {
  (void)state;
  long long total = 0;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    for (int victim = 0; victim < RANKS; victim++) {
      long long count = walk(&verbs[i], victim);
      print_message("%-16s %4lld allocations of rank %d failed, one at a time\n", verbs[i].name, count, victim);
      total += count;
    }
  print_message("%d ranks: %lld allocations in %zu verbs\n", RANKS, total, sizeof verbs / sizeof *verbs);
}

/* What ranks can disagree about: variables, and that there is anything at all. */
static void test_parts_that_differ(void **state) {
  static const verb merge = VERB(merge, counts), pack = VERB(pack, data);
  const verb *const both[] = {&merge, &pack};
  const char *const names[] = {"x1", "x2", "x3", "smoker"};
  int8_t x[2 * N] = {0, 1, 0, 1, 1, 0, 1, 0};
  int32_t segment[2] = {0, 1};
  blica_data *good = part[1], *other, *fewer;
  blica_counts *good_counts = part_counts[1], *other_counts, *fewer_counts;
  (void)state;
  assert_int_equal(blica_pack(calm,
                              &(blica_table){.rows = 2, .n = N, .x = x, .variables = names, .segment = segment, .u = 2},
                              &other),
                   BLICA_OK);
  assert_int_equal(
      blica_pack(calm,
                 &(blica_table){
                     .rows = 2, .n = N - 1, .x = x, .row_stride = N, .column_stride = 1, .segment = segment, .u = 2},
                 &fewer),
      BLICA_OK);
  assert_int_equal(blica_count(calm, other, &other_counts), BLICA_OK);
  assert_int_equal(blica_count(calm, fewer, &fewer_counts), BLICA_OK);
  for (int i = 0; i < 2; i++) {
    group g;
    job jobs[RANKS];
    part[1] = other, part_counts[1] = other_counts;
    run(both[i], 0, -1, &g, jobs);
    for (int r = 0; r < RANKS; r++) {
      assert_int_equal(jobs[r].status, BLICA_ERR_DATA);
      assert_string_equal(jobs[r].message, "variable 4 is 'x4' on rank 0 and 'smoker' on rank 1");
    }
    part[1] = fewer, part_counts[1] = fewer_counts;
    run(both[i], 0, -1, &g, jobs);
    assert_int_equal(jobs[0].status, BLICA_ERR_DATA);
    assert_string_equal(jobs[0].message, "rank 0 has 4 variables and rank 1 has 3");
    part[1] = NULL, part_counts[1] = NULL; /* one has all */
    run(both[i], 0, -1, &g, jobs);
    for (int r = 0; r < RANKS; r++) {
      assert_int_equal(jobs[r].status, BLICA_OK);
      both[i]->discard(jobs[r].out);
    }
    blica_data *first = part[0];
    blica_counts *first_counts = part_counts[0];
    part[0] = NULL, part_counts[0] = NULL;
    run(both[i], 0, -1, &g, jobs);
    for (int r = 0; r < RANKS; r++) {
      assert_int_equal(jobs[r].status, BLICA_ERR_DATA);
      assert_non_null(strstr(jobs[r].message, "no rank has"));
    }
    part[0] = first, part_counts[0] = first_counts;
    part[1] = good, part_counts[1] = good_counts;
  }
  blica_data_free(other), blica_data_free(fewer);
  blica_counts_free(other_counts), blica_counts_free(fewer_counts);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_verbs), cmocka_unit_test(test_parts_that_differ)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
