/* Fewer segments than threads or than ranks: the bits are those of one thread of one process. Ranks are threads of this
 * process (thread_ranks.h), some of them with threads of their own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "cor/cor.h"
#include "counts/counts.h"
#include "estimate/gauss/rounds.h"
#include "thread_ranks.h"
#include "numbers.h"

/* ---- a likelihood, its start, and eigenvalues, by several ranks ---- */

typedef struct {
  int n, k, u;
  double *pairs, *theta;
  size_t size;
  bool tables; /* method pairwise */
} problem;

typedef struct {
  member member;
  const problem *p;
  int threads;
  double value, *gradient, *start, *ends;
  blica_status status;
  pthread_t thread;
} rank_job;

/* Correlations of a model with noise, so that the start has something to find. */
static problem make_problem(int n, int k, int u) {
  problem p = {.n = n, .k = k, .u = u, .size = (size_t)n * (size_t)k + (size_t)u * (size_t)(n + k)};
  size_t pairs = (size_t)n * (size_t)(n - 1) / 2;
  double *a = random_numbers((size_t)n * 4, 0.4, 11);
  p.pairs = random_numbers(pairs * (size_t)u, 0.3 / sqrt((double)n), 1);
  for (int s = 0; s < u; s++)
    for (int j = 1; j < n; j++)
      for (int i = 0; i < j; i++)
        for (int f = 0; f < 4; f++)
          p.pairs[pairs * (size_t)s + (size_t)blica_pair(i, j)] +=
              0.3 * (1 + (f + s) % 3) * a[i + f * n] * a[j + f * n];
  p.theta = random_numbers(p.size, 0.5, 2);
  free(a);
  return p;
}

/* The term at theta, twice: nothing is left over from the first. */
static blica_status evaluate(blica_ctx *ctx, const bl_criterion *criterion, rank_job *job) {
  bl_evaluator *e;
  MUST(bl_evaluator_make(ctx, criterion, &e));
  job->value = bl_evaluate(e, job->p->theta, job->gradient);
  const double again = bl_evaluate(e, job->p->theta, job->gradient);
  bl_evaluator_free(e);
  return again == job->value ? BLICA_OK : BLICA_ERR_INTERNAL;
}

static blica_status work_on(blica_ctx *ctx, rank_job *job) {
  blica_status status;
  const problem *p = job->p;
  const int n = p->n, u = p->u;
  blica_cor *cor = NULL;
  bl_gauss *gauss = NULL;
  bl_starts starts = {0};
  bl_criterion criterion = {.layout = {.n = n, .k = p->k, .u = u, .locals = p->k + n, .link = 0.4}};
  double *samples = zeros((size_t)u), condition = 10, *shift = zeros((size_t)u);
  char **variables = NULL, **segments = NULL;
  for (int s = 0; s < u; s++) samples[s] = 100 + 10 * s;
  TRY(bl_number_texts(ctx, n, "x", &variables));
  TRY(bl_number_texts(ctx, u, "s", &segments));
  TRY(bl_cor_create(ctx, n, u, variables, segments, samples, false, &cor));
  memcpy(cor->rho, p->pairs, (size_t)cor->pairs * (size_t)u * sizeof(double));
  TRY(bl_regularise_shifts(ctx, cor, &condition, shift, job->ends, job->ends + u));
  TRY(bl_gauss_make(ctx, &criterion.layout, cor, shift, 1, &gauss));
  TRY(bl_starts_make(ctx, &criterion.layout, cor, shift, &starts));
  bool jointdiag;
  TRY(bl_start_begin(ctx, &starts, 1, 0, &jointdiag, job->start));
  if (!jointdiag) FAIL(ctx, BLICA_ERR_NUMERIC, "the start is a random one");
  bl_criterion_add(&criterion, bl_gauss_term(gauss));
  TRY(evaluate(ctx, &criterion, job));
done:
  bl_free(gauss), bl_free(starts.shrink);
  blica_cor_free(cor);
  bl_free(variables);
  bl_free(segments);
  free(samples), free(shift);
  return status;
}

/* Method pairwise on made-up tables. */
static blica_status work_on_tables(blica_ctx *ctx, rank_job *job) {
  blica_status status;
  const problem *p = job->p;
  const size_t n = (size_t)p->n, u = (size_t)p->u;
  blica_counts *counts = NULL;
  bl_tables *tables = NULL;
  bl_criterion criterion = {.layout = {.n = p->n, .k = p->k, .u = p->u, .locals = p->k, .link = 0.4}};
  double *thresholds = zeros(n * u);
  TRY(bl_counts_create(ctx, p->n, p->u, true, NULL, NULL, &counts));
  for (size_t s = 0; s < u; s++) counts->samples[s] = 1000;
  for (size_t i = 0; i < n * u; i++) counts->ones[i] = 500, counts->present[i] = 1000;
  for (size_t t = 0; t < (size_t)counts->pairs * u; t++) counts->n11[t] = 250 + (double)((int)(100 * p->pairs[t]));
  TRY(bl_tables_make(ctx, &criterion.layout, counts, thresholds, &tables));
  for (size_t s = 0; s < u; s++) tables->weight[s] = 0.5;
  bl_criterion_add(&criterion, bl_tables_term(tables));
  criterion.precision_mixing = 1, criterion.precision_variance = 2;
  TRY(evaluate(ctx, &criterion, job));
done:
  blica_counts_free(counts);
  bl_free(tables);
  free(thresholds);
  return status;
}

static void *serve(void *user) {
  rank_job *job = user;
  blica_comm comm = threads_comm(&job->member);
  blica_ctx *ctx;
  job->status = blica_ctx_create(&ctx);
  if (job->status != BLICA_OK) return NULL;
  blica_set_threads(ctx, job->threads);
  if (comm.size > 1) blica_set_comm(ctx, &comm);
  bl_blas_hold();
  job->status = (job->p->tables ? work_on_tables : work_on)(ctx, job);
  bl_blas_release();
  blica_ctx_free(ctx);
  return NULL;
}

/* threads < 0: rank r has r + 1. */
static void run_ranks(const problem *p, int size, int threads, rank_job *jobs) {
  group g;
  group_open(&g, size);
  for (int r = 0; r < size; r++) {
    jobs[r] = (rank_job){.member = {&g, r},
                         .p = p,
                         .threads = threads < 0 ? r + 1 : threads,
                         .gradient = zeros(p->size),
                         .start = zeros(p->size),
                         .ends = zeros(2 * (size_t)p->u)};
    pthread_create(&jobs[r].thread, NULL, serve, &jobs[r]);
  }
  for (int r = 0; r < size; r++) pthread_join(jobs[r].thread, NULL);
  for (int r = 0; r < size; r++) assert_int_equal(jobs[r].status, BLICA_OK);
  group_close(&g);
}

static void free_ranks(int size, rank_job *jobs) {
  for (int r = 0; r < size; r++) free(jobs[r].gradient), free(jobs[r].start), free(jobs[r].ends);
}

static void check(int n, int k, int u, bool tables, int cases, const int (*ways)[2]) {
  problem p = make_problem(n, k, u);
  p.tables = tables;
  rank_job alone[1], many[MOST_RANKS];
  run_ranks(&p, 1, 1, alone);
  assert_true(isfinite(alone->value));
  for (int c = 0; c < cases; c++) {
    const int size = ways[c][0];
    run_ranks(&p, size, ways[c][1], many);
    for (int r = 0; r < size; r++) {
      assert_memory_equal(many[r].ends, alone->ends, 2 * (size_t)u * sizeof(double));
      assert_memory_equal(many[r].start, alone->start, p.size * sizeof(double));
      assert_memory_equal(&many[r].value, &alone->value, sizeof(double));
      assert_memory_equal(many[r].gradient, alone->gradient, p.size * sizeof(double));
    }
    free_ranks(size, many);
  }
  free_ranks(1, alone);
  free(p.pairs), free(p.theta);
}

static const int ways[][2] = {{1, 2}, {1, 7}, {2, 1}, {3, 1}, {4, 1}, {5, 2}, {3, -1}, {9, 1}};

static void test_packed(void **state) {
  (void)state;
  check(400, 10, 2, false, 7, ways);
  check(401, 3, 1, false, 8, ways);
  check(1000, 4, 3, false, 2, ways + 4);
}
static void test_packed_many_sources(void **state) {
  (void)state;
  check(310, 80, 2, false, 2, ways + 3);
}
static void test_fewer_items(void **state) {
  (void)state;
  check(100, 100, 2, false, 7, ways);
  check(220, 40, 1, false, 8, ways);
}

static void test_tables(void **state) {
  (void)state;
  check(60, 3, 2, true, 8, ways);
  check(47, 30, 1, true, 8, ways);
  check(100, 20, 2, true, 3, ways + 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_packed), cmocka_unit_test(test_packed_many_sources),
                                     cmocka_unit_test(test_fewer_items), cmocka_unit_test(test_tables)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
