/* Ranks that read different rows get the counts and the rows of all; ranks that divide a fit, an assessment or a
 * selection get the bits, the numbers and the warnings of one process. Ranks are threads here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "num/rng.h"
#include "same_counts.h"
#include "thread_ranks.h"

enum { N = 6, U = 7, ROWS = 700, TEXT = 4000 };

static int8_t cell[ROWS][N];
static int32_t segment_of[ROWS];
static blica_ctx *calm;

/* Rows in mixed order of segments; the last segment appears late; thin tables give warnings. */
static void make_rows(bool missing) {
  for (int r = 0; r < ROWS; r++) {
    bl_rng rng = bl_rng_make(11, (uint64_t)r);
    segment_of[r] = r < 500 ? (int32_t)(bl_rng_uniform(&rng) * (U - 1)) : (int32_t)(bl_rng_uniform(&rng) * U);
    for (int i = 0; i < N; i++) {
      cell[r][i] = bl_rng_uniform(&rng) < (i == 0 ? 0.02 : 0.5);
      if (missing && segment_of[r] % 3 == 1 && bl_rng_uniform(&rng) < 0.02) cell[r][i] = BLICA_MISSING;
    }
  }
}

/* Rows first..last-1 as one piece; NULL when there are none. */
static blica_data *pack_rows(int first, int last) {
  blica_packer *packer;
  blica_data *data;
  if (first == last) return NULL;
  assert_int_equal(blica_pack_begin(calm, N, NULL, &packer), BLICA_OK);
  for (int r = first; r < last; r++) {
    char label[16];
    int32_t id;
    snprintf(label, sizeof label, "s%d", segment_of[r]);
    assert_int_equal(blica_pack_segment(calm, packer, label, &id), BLICA_OK);
    assert_int_equal(blica_pack_rows(calm, packer, 1, cell[r], &id), BLICA_OK);
  }
  assert_int_equal(blica_pack_end(calm, packer, &data), BLICA_OK);
  return data;
}

/* ---- one rank's part of a call ---- */

typedef struct job job;
struct job {
  member member;
  blica_status (*call)(blica_ctx *ctx, job *job);
  const blica_data *own; /* the rows that this rank read */
  const blica_data *data;
  const blica_model *model;
  char warnings[TEXT];
  blica_status status;
  blica_counts *counts;
  blica_data *rows;
  blica_model *fit;
  blica_assessment *assessment;
  blica_selection *selection;
};

static void keep_warning(const char *text, void *user) {
  char *all = user;
  size_t used = strlen(all);
  snprintf(all + used, TEXT - used, "%s\n", text);
}

static void *run_rank(void *user) {
  job *j = user;
  blica_ctx *ctx;
  blica_comm comm = threads_comm(&j->member);
  if (blica_ctx_create(&ctx) != BLICA_OK) return NULL;
  blica_set_threads(ctx, 1);
  if (comm.size > 1) blica_set_comm(ctx, &comm);
  blica_set_warn(ctx, keep_warning, j->warnings);
  j->status = j->call(ctx, j);
  if (j->status != BLICA_OK) fprintf(stderr, "rank %d: %s\n", j->member.rank, blica_message(ctx));
  blica_ctx_free(ctx);
  return NULL;
}

static void run(int size, job *jobs) {
  group g;
  pthread_t thread[MOST_RANKS];
  group_open(&g, size);
  for (int r = 0; r < size; r++) {
    jobs[r].member = (member){&g, r};
    assert_int_equal(pthread_create(&thread[r], NULL, run_rank, &jobs[r]), 0);
  }
  for (int r = 0; r < size; r++) pthread_join(thread[r], NULL);
  assert_int_equal(g.differ, 0);
  group_close(&g);
  for (int r = 0; r < size; r++) assert_int_equal(jobs[r].status, BLICA_OK);
}

/* ---- rows and counts that ranks bring together ---- */

static blica_status gather(blica_ctx *ctx, job *j) {
  blica_counts *own = NULL;
  blica_status status = j->own ? blica_count(ctx, j->own, &own) : BLICA_OK;
  if (status == BLICA_OK) status = blica_merge_ranks(ctx, own, &j->counts);
  if (status == BLICA_OK) status = blica_pack_ranks(ctx, j->own, &j->rows);
  blica_counts_free(own);
  return status;
}

/* The rows in equal parts, rank `idle` having none. */
static void gather_parts(int size, int idle, const blica_data *all, const blica_counts *counts) {
  job jobs[MOST_RANKS];
  blica_data *part[MOST_RANKS];
  const int readers = size - (idle >= 0);
  for (int r = 0; r < size; r++) {
    const int at = r - (idle >= 0 && r > idle);
    part[r] = r == idle ? NULL : pack_rows(ROWS * at / readers, ROWS * (at + 1) / readers);
    jobs[r] = (job){.call = gather, .own = part[r]};
  }
  run(size, jobs);
  for (int r = 0; r < size; r++) {
    assert_same(counts, jobs[r].counts);
    assert_int_equal(jobs[r].rows->rows, all->rows);
    assert_memory_equal(jobs[r].rows->row_segment, all->row_segment, ROWS * sizeof *all->row_segment);
    for (int s = 0; s < U; s++)
      assert_memory_equal(jobs[r].rows->ones[s], all->ones[s], (size_t)all->words[s] * N * sizeof **all->ones);
    blica_counts_free(jobs[r].counts);
    blica_data_free(jobs[r].rows);
    blica_data_free(part[r]);
  }
}

static void rows_read_by_ranks_add_up(void **state) {
  (void)state;
  for (int missing = 0; missing < 2; missing++) {
    blica_counts *counts;
    make_rows(missing);
    blica_data *all = pack_rows(0, ROWS);
    assert_int_equal(blica_count(calm, all, &counts), BLICA_OK);
    for (int size = 2; size <= 4; size++)
      for (int idle = -1; idle < size; idle++) gather_parts(size, idle, all, counts);
    blica_counts_free(counts);
    blica_data_free(all);
  }
}

/* ---- work that ranks divide ---- */

static blica_status fit(blica_ctx *ctx, job *j) {
  blica_fit_options o = blica_fit_options_default();
  const blica_input input = {.data = j->data};
  o.sources = 2, o.starts = 2;
  return blica_fit(ctx, &input, &o, &j->fit);
}

static blica_status assess(blica_ctx *ctx, job *j) {
  blica_assess_options o = blica_assess_options_default();
  o.bootstrap = 20;
  return blica_assess(ctx, j->model, j->data, &o, &j->assessment);
}

static blica_status select_sources(blica_ctx *ctx, job *j) {
  blica_select_options o = blica_select_options_default();
  o.sources[0] = 1, o.sources[1] = 2, o.folds = 3, o.references = 20;
  return blica_select(ctx, j->data, &o, &j->selection);
}

static void same(const double *a, const double *b, size_t count) {
  assert_memory_equal(a, b, count * sizeof *a);
}

static void same_assessment(const blica_assessment *a, const blica_assessment *b) {
  const size_t nk = (size_t)a->n * a->k, ku = (size_t)a->k * a->u, k = (size_t)a->k;
  same(a->mixing_se_bootstrap, b->mixing_se_bootstrap, nk);
  same(a->log_variance_se_bootstrap, b->log_variance_se_bootstrap, ku);
  same(a->mean_se_bootstrap, b->mean_se_bootstrap, ku);
  same(a->stability, b->stability, k);
  same(a->angle, b->angle, k);
  same(a->angle_bound, b->angle_bound, k);
  same(a->source_change_p, b->source_change_p, k);
  same(&a->change_p, &b->change_p, 1);
  same(&a->expected_mcs, &b->expected_mcs, 1);
  same(&a->m2, &b->m2, 1);
  for (int i = 0; i < 3; i++) assert_string_equal(a->verdict[i], b->verdict[i]);
}

static void same_selection(const blica_selection *a, const blica_selection *b) {
  const size_t many = (size_t)a->highest + 1;
  same(a->heldout, b->heldout, many);
  same(a->heldout_se, b->heldout_se, many);
  same(a->heldout_segments, b->heldout_segments, many);
  same(a->bic + 1, b->bic + 1, many - 1);
  same(a->reference, b->reference, (size_t)a->n);
  assert_string_equal(a->reason, b->reason);
}

static void run_verb(blica_status (*call)(blica_ctx *ctx, job *job), const blica_data *data, const blica_model *model) {
  job alone = {.call = call, .data = data, .model = model};
  run(1, &alone);
  for (int size = 2; size <= MOST_RANKS; size += size < 4 ? 1 : 5) {
    job jobs[MOST_RANKS];
    for (int r = 0; r < size; r++) jobs[r] = (job){.call = call, .data = data, .model = model};
    run(size, jobs);
    for (int r = 0; r < size; r++) {
      assert_string_equal(alone.warnings, jobs[r].warnings);
      if (alone.fit) same(alone.fit->mixing, jobs[r].fit->mixing, (size_t)alone.fit->n * alone.fit->k);
      if (alone.fit) assert_int_equal(alone.fit->fit.zero_cells, jobs[r].fit->fit.zero_cells);
      if (alone.assessment) same_assessment(alone.assessment, jobs[r].assessment);
      if (alone.selection) same_selection(alone.selection, jobs[r].selection);
      blica_model_free(jobs[r].fit);
      blica_assessment_free(jobs[r].assessment);
      blica_selection_free(jobs[r].selection);
    }
  }
  assert_true(alone.fit || alone.assessment || alone.selection);
  if (call == fit) assert_non_null(strstr(alone.warnings, "empty cell"));
  blica_model_free(alone.fit);
  blica_assessment_free(alone.assessment);
  blica_selection_free(alone.selection);
}

static void verbs_have_the_bits_of_one_process(void **state) {
  (void)state;
  blica_model *model;
  blica_fit_options o = blica_fit_options_default();
  make_rows(false);
  blica_data *data = pack_rows(0, ROWS);
  o.sources = 2;
  assert_int_equal(blica_fit(calm, &(blica_input){.data = data}, &o, &model), BLICA_OK);
  run_verb(fit, data, NULL);
  run_verb(assess, data, model);
  run_verb(select_sources, data, NULL);
  blica_model_free(model);
  blica_data_free(data);
}

static int setup(void **state) {
  (void)state;
  return blica_ctx_create(&calm) != BLICA_OK;
}
static int teardown(void **state) {
  (void)state;
  blica_ctx_free(calm);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_read_by_ranks_add_up),
      cmocka_unit_test(verbs_have_the_bits_of_one_process),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
