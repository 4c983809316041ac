/* Counts over ranks: whatever the number of ranks and pieces and the order of rows, the tables of a segment end up on
 * the rank that owns it, and there only, and the fit made from them has the bits, the numbers and the warnings of one
 * process. Ranks are threads here. */
#define _DEFAULT_SOURCE /* mkstemps */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "counts/counts.h"
#include "num/rng.h"
#include "thread_ranks.h"

enum { N = 41, K = 20, U = 7, ROWS = 700, TEXT = 4000 }; /* n k > 800: ranks share segments */

static int8_t cell[ROWS][N];
static int32_t segment_of[ROWS];
static bool missing;

/* Rows in mixed order of segments; the last segment appears late; a constant column and thin tables give warnings. */
static void make_rows(bool with_missing) {
  missing = with_missing;
  for (int r = 0; r < ROWS; r++) {
    bl_rng rng = bl_rng_make(11, (uint64_t)r);
    segment_of[r] = r < 500 ? (int32_t)(bl_rng_uniform(&rng) * (U - 1)) : (int32_t)(bl_rng_uniform(&rng) * U);
    for (int i = 0; i < N; i++) {
      double rare = i % 9 == 0 ? 0.05 : 0.5;
      cell[r][i] = bl_rng_uniform(&rng) < rare;
      if (i == 5 && segment_of[r] == 2) cell[r][i] = 1;
      if (with_missing && segment_of[r] % 3 == 1 && bl_rng_uniform(&rng) < 0.02) cell[r][i] = BLICA_MISSING;
    }
  }
}

/* Rows first..last-1 as one piece; NULL when there are none. */
static blica_data *pack_rows(blica_ctx *ctx, int first, int last, const char *last_name) {
  const char *names[N];
  char text[N][16];
  blica_packer *packer;
  blica_data *data;
  if (first == last) return NULL;
  for (int i = 0; i < N; i++) {
    snprintf(text[i], sizeof text[i], "v%d", i);
    names[i] = i == N - 1 && last_name ? last_name : text[i];
  }
  blica_pack_begin(ctx, N, names, &packer);
  for (int r = first; r < last; r++) {
    char label[16];
    int32_t id;
    snprintf(label, sizeof label, "s%d", segment_of[r]);
    blica_pack_segment(ctx, packer, label, &id);
    blica_pack_rows(ctx, packer, 1, cell[r], &id);
  }
  blica_pack_end(ctx, packer, &data);
  return data;
}

static blica_fit_options fit_options(void) {
  blica_fit_options o = blica_fit_options_default();
  snprintf(o.method, sizeof o.method, "blica");
  o.sources = K, o.starts = 1, o.max_iterations = 4;
  return o;
}

static void keep_warning(const char *text, void *user) {
  char *all = user;
  size_t used = strlen(all);
  snprintf(all + used, TEXT - used, "%s\n", text);
}

typedef struct {
  member member;
  int pieces, idle; /* rank without rows, -1: none */
  bool all_to_all, whole, from_data, refuse;
  bool square;      /* as many sources as variables */
  const char *path; /* counts from this file */
  const char *method;
  blica_status status;
  char message[1024], warnings[TEXT];
  blica_counts *counts;
  blica_model *model;
  blica_ctx *ctx;
  pthread_t thread;
} rank_job;

/* The rows of the file in equal parts of the ranks that have any, each in pieces. */
static void bring_pieces(rank_job *job, blica_counter *counter) {
  int size = job->member.group->size, readers = size - (job->idle >= 0),
      me = job->member.rank - (job->idle >= 0 && job->member.rank > job->idle);
  bool reads = job->member.rank != job->idle;
  int first = reads ? ROWS * me / readers : 0, rows = reads ? ROWS * (me + 1) / readers - first : 0;
  for (int p = 0; p < job->pieces && job->status == BLICA_OK; p++)
    job->status =
        blica_count_piece(job->ctx, counter,
                          pack_rows(job->ctx, first + rows * p / job->pieces, first + rows * (p + 1) / job->pieces,
                                    job->refuse && job->member.rank == 1 ? "other" : NULL));
}

static void *serve(void *user) {
  rank_job *job = user;
  blica_comm comm = threads_comm(&job->member);
  blica_fit_options o = fit_options();
  blica_counter *counter = NULL;
  blica_data *data = NULL;
  if (job->square) o.sources = N, o.max_iterations = 2;
  if (job->method) snprintf(o.method, sizeof o.method, "%s", job->method);
  if (!job->all_to_all) comm.all_to_all = NULL;
  blica_ctx_create(&job->ctx);
  blica_set_threads(job->ctx, 1);
  if (comm.size > 1) blica_set_comm(job->ctx, &comm);
  blica_set_warn(job->ctx, keep_warning, job->warnings);
  if (job->from_data) {
    data = pack_rows(job->ctx, 0, ROWS, NULL);
  } else if (job->path) {
    job->status = blica_counts_load_ranks(job->ctx, job->path, &o, &job->counts);
  } else {
    job->status = blica_count_begin(job->ctx, job->whole ? NULL : &o, &counter);
    bring_pieces(job, counter);
    if (job->status == BLICA_OK) job->status = blica_count_end(job->ctx, counter, &job->counts);
    blica_counter_free(counter);
  }
  blica_input input = {.data = data, .counts = job->counts};
  if (job->status == BLICA_OK && !job->whole) job->status = blica_fit(job->ctx, &input, &o, &job->model);
  blica_data_free(data);
  snprintf(job->message, sizeof job->message, "%s", blica_message(job->ctx));
  return NULL;
}

static void run_ranks(int size, const rank_job *like, rank_job *jobs) {
  group g;
  group_open(&g, size);
  for (int r = 0; r < size; r++) {
    jobs[r] = *like;
    jobs[r].member = (member){&g, r};
    pthread_create(&jobs[r].thread, NULL, serve, &jobs[r]);
  }
  for (int r = 0; r < size; r++) pthread_join(jobs[r].thread, NULL);
  group_close(&g);
}

static void release(rank_job *jobs, int size) {
  for (int r = 0; r < size; r++) {
    blica_counts_free(jobs[r].counts);
    blica_model_free(jobs[r].model);
    blica_ctx_free(jobs[r].ctx);
  }
}

static rank_job alone, many[MOST_RANKS];

static void same_array(const double *a, const double *b, size_t count) {
  assert_memory_equal(a, b, count * sizeof *a);
}

/* Names and margins of all segments, tables of those that are there. */
static void same_counts(const blica_counts *a, const blica_counts *b) {
  assert_int_equal(a->u, b->u);
  for (int s = 0; s < a->u; s++) assert_string_equal(a->segments[s], b->segments[s]);
  for (int i = 0; i < a->n; i++) assert_string_equal(a->variables[i], b->variables[i]);
  same_array(a->samples, b->samples, (size_t)a->u);
  same_array(a->ones, b->ones, (size_t)a->u * N);
  same_array(a->present, b->present, (size_t)a->u * N);
  const double *whole[] = {a->n11, a->n10, a->n01, a->n00}, *part[] = {b->n11, b->n10, b->n01, b->n00};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(whole[i] == NULL, part[i] == NULL);
    if (whole[i])
      same_array(whole[i] + bl_counts_first(b) * a->pairs, part[i],
                 (size_t)(bl_counts_last(b) - bl_counts_first(b)) * (size_t)a->pairs);
  }
}

static void same_model(const blica_model *a, const blica_model *b) {
  same_array(a->mixing, b->mixing, (size_t)a->n * (size_t)a->k);
  same_array(a->variances, b->variances, (size_t)a->k * (size_t)a->u);
  same_array(a->thresholds, b->thresholds, (size_t)a->n * (size_t)a->u);
  if (a->fit.shift) same_array(a->fit.shift, b->fit.shift, (size_t)a->u);
  assert_int_equal(a->fit.zero_cells, b->fit.zero_cells);
  assert_int_equal(a->fit.constant_pairs, b->fit.constant_pairs);
  assert_int_equal(a->fit.constant_columns, b->fit.constant_columns);
  assert_int_equal(a->fit.empty_pairs, b->fit.empty_pairs);
}

static void same_results(int size) {
  for (int r = 0; r < size; r++) {
    if (many[r].status != BLICA_OK) fail_msg("rank %d of %d: %s", r, size, many[r].message);
    if (many[r].counts && !many[r].whole) { /* ranks beyond the segments have none */
      assert_int_equal(bl_counts_first(many[r].counts), U * r / size);
      assert_int_equal(bl_counts_last(many[r].counts), U * (r + 1) / size);
    }
    if (many[r].counts) same_counts(alone.counts, many[r].counts);
    if (many[r].model) same_model(alone.model, many[r].model);
    if (!many[r].whole) assert_string_equal(alone.warnings, many[r].warnings);
  }
}

static void one_process(void) {
  run_ranks(1, &(rank_job){.pieces = 1, .idle = -1, .all_to_all = true}, &alone);
  assert_int_equal(alone.status, BLICA_OK);
  assert_compare(alone.model->fit.zero_cells, >, 3);
  assert_compare(alone.model->fit.constant_columns, >, 0);
  assert_non_null(strstr(alone.warnings, "empty cell"));
  assert_int_equal(alone.counts->n10 != NULL, missing);
}

static void tables_are_with_their_owners(void **state) {
  (void)state;
  static const int sizes[] = {2, 3, 4, 7, 9}, pieces[] = {1, 2, 5};
  for (int m = 0; m < 2; m++) {
    make_rows(m);
    one_process();
    for (int i = 0; i < 5; i++)
      for (int p = 0; p < 3; p++)
        for (int idle = -1; idle < 2; idle++) {
          run_ranks(sizes[i], &(rank_job){.pieces = pieces[p], .idle = idle, .all_to_all = (i + p) % 2 == 0}, many);
          same_results(sizes[i]);
          release(many, sizes[i]);
        }
    release(&alone, 1);
  }
}

/* Longer streams: the same tables by way of keepers. */
static void rows_sorted_by_segment_stay_where_they_are(void **state) {
  (void)state;
  make_rows(true);
  for (int r = 0; r < ROWS; r++) segment_of[r] = r * U / ROWS, cell[r][7] = segment_of[r] == 4 ? 0 : cell[r][7];
  one_process();
  for (int p = 1; p < 4; p++) {
    run_ranks(3, &(rank_job){.pieces = p, .idle = -1, .all_to_all = true}, many);
    same_results(3);
    release(many, 3);
  }
  release(&alone, 1);
}

static void ranks_beyond_the_segments_get_none(void **state) {
  (void)state;
  make_rows(true);
  run_ranks(1, &(rank_job){.pieces = 1, .idle = -1, .square = true}, &alone);
  for (int p = 1; p < 4; p++) {
    run_ranks(8, &(rank_job){.pieces = p, .idle = p, .all_to_all = true, .square = true}, many);
    same_results(8);
    release(many, 8);
  }
  run_ranks(4, &(rank_job){.pieces = 2, .idle = -1, .all_to_all = true, .square = true}, many);
  same_results(4);
  release(many, 4);
  release(&alone, 1);
}

static void all_get_all_where_no_fit_follows(void **state) {
  (void)state;
  make_rows(true);
  one_process();
  for (int p = 1; p < 4; p++) {
    run_ranks(4, &(rank_job){.pieces = p, .idle = 2, .all_to_all = true, .whole = true}, many);
    same_results(4);
    for (int r = 0; r < 4; r++) assert_true(bl_counts_whole(many[r].counts));
    release(many, 4);
  }
  release(&alone, 1);
}

static void from_rows_and_files_that_all_ranks_have(void **state) {
  (void)state;
  char path[] = "/tmp/blica_count_ranks_XXXXXX.npz";
  int file = mkstemps(path, 4);
  assert_compare(file, >=, 0);
  close(file);
  for (int m = 0; m < 2; m++) {
    make_rows(m);
    one_process();
    assert_int_equal(blica_counts_save(alone.ctx, alone.counts, path), BLICA_OK);
    run_ranks(3, &(rank_job){.from_data = true, .all_to_all = true}, many);
    same_results(3);
    release(many, 3);
    run_ranks(4, &(rank_job){.path = path, .all_to_all = true}, many);
    same_results(4);
    release(many, 4);
    release(&alone, 1);
  }
  unlink(path);
}

static void pairwise_looks_at_its_own_tables(void **state) {
  (void)state;
  make_rows(true);
  run_ranks(1, &(rank_job){.pieces = 1, .idle = -1, .method = "pairwise"}, &alone);
  run_ranks(3, &(rank_job){.pieces = 2, .idle = -1, .all_to_all = true, .method = "pairwise"}, many);
  same_results(3);
  release(many, 3);
  release(&alone, 1);
}

/* Counts that a fit consumes are gone after it, and the fit is the same. */
static void counts_may_be_consumed(void **state) {
  (void)state;
  static const char *const methods[] = {"blica", "pairwise"}; /* without counts early; with them to its end */
  make_rows(true);
  for (int m = 0; m < 2; m++) {
    run_ranks(1, &(rank_job){.pieces = 1, .idle = -1, .method = methods[m]}, &alone);
    blica_fit_options o = fit_options();
    blica_model *model;
    snprintf(o.method, sizeof o.method, "%s", methods[m]);
    assert_int_equal(blica_fit_consume(alone.ctx, &alone.counts, &o, &model), BLICA_OK);
    same_model(alone.model, model);
    assert_null(alone.counts);
    blica_model_free(model);
    release(&alone, 1);
  }
}

static void parts_are_refused_where_all_is_needed(void **state) {
  (void)state;
  make_rows(false);
  run_ranks(2, &(rank_job){.pieces = 1, .idle = -1, .all_to_all = true}, many);
  blica_counts *sum = NULL;
  blica_cor *cor = NULL;
  blica_ctx *ctx = many[0].ctx;
  blica_set_comm(ctx, NULL);
  assert_int_equal(blica_counts_save(ctx, many[0].counts, "/tmp/blica_never.npz"), BLICA_ERR_ARGUMENT);
  assert_non_null(strstr(blica_message(ctx), "segments 1 to 3 of 7"));
  assert_int_equal(blica_merge_add(ctx, many[0].counts, &sum), BLICA_ERR_ARGUMENT);
  assert_null(sum);
  assert_int_equal(blica_correlate(ctx, many[0].counts, &cor), BLICA_ERR_ARGUMENT);
  blica_fit_options o = fit_options();
  blica_model *model;
  blica_input input = {.counts = many[0].counts};
  assert_int_equal(blica_fit(ctx, &input, &o, &model), BLICA_ERR_ARGUMENT);
  release(many, 2);
}

static void other_names_are_an_error_of_all(void **state) {
  (void)state;
  make_rows(false);
  run_ranks(3, &(rank_job){.pieces = 2, .idle = -1, .all_to_all = true, .refuse = true}, many);
  for (int r = 0; r < 3; r++) {
    assert_int_equal(many[r].status, BLICA_ERR_DATA);
    assert_string_equal(many[r].message, "variable 41 is 'v40' on rank 0 and 'other' on rank 1");
  }
  release(many, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_are_with_their_owners),
      cmocka_unit_test(rows_sorted_by_segment_stay_where_they_are),
      cmocka_unit_test(ranks_beyond_the_segments_get_none),
      cmocka_unit_test(all_get_all_where_no_fit_follows),
      cmocka_unit_test(from_rows_and_files_that_all_ranks_have),
      cmocka_unit_test(pairwise_looks_at_its_own_tables),
      cmocka_unit_test(counts_may_be_consumed),
      cmocka_unit_test(parts_are_refused_where_all_is_needed),
      cmocka_unit_test(other_names_are_an_error_of_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
