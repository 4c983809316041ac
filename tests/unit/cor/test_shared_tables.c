/* Counts and correlations whose tables ranks share, each those of its own segments: the files that they
 * write together, and a fit that chooses its condition, have the bits of one process. Ranks are threads here. */
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
#include "cor/cor.h"
#include "counts/counts.h"
#include "thread_ranks.h"
#include "scratch.h"

enum { KINDS = 4 };
static const char *const kind[KINDS] = {"counts.npz", "counts.csv", "cor.npz", "cor.csv"};
static char folder[40];

typedef struct {
  int n, u;
  bool missing, all_to_all, fit;
  const char *load; /* counts of this file, not of rows */
  member member;
  blica_status status;
  char message[1024];
  int64_t counted, correlated; /* tables that this rank held */
  blica_model *model;
  pthread_t thread;
} job;

static void name_file(char *path, int size, int k) {
  snprintf(path, 100, "%s/%d-%s", folder, size, kind[k]);
}

/* One of the two pieces of a rank's rows, which stand one rank's after another's. */
static blica_data *rows_of(blica_ctx *ctx, const job *j, int piece) {
  const int size = j->member.group->size, rows = 6 * j->u;
  int8_t *x = malloc((size_t)rows * (size_t)j->n);
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  blica_packer *packer;
  blica_data *data = NULL;
  int mine = 0;
  blica_pack_begin(ctx, j->n, NULL, &packer);
  for (int r = 0; r < rows; r++) {
    if (r * 2 * size / rows != 2 * j->member.rank + piece) continue;
    char label[16];
    snprintf(label, sizeof label, "s%d", r % j->u);
    blica_pack_segment(ctx, packer, label, &segment[mine]);
    for (int i = 0; i < j->n; i++) {
      unsigned bit = (unsigned)(r + 3) * 2654435761u ^ (unsigned)(i + 1) * 2246822519u;
      bit ^= bit >> 15, bit *= 3266489917u, bit ^= bit >> 13;
      x[mine * j->n + i] = j->missing && bit % 37 == 0 ? BLICA_MISSING : (int8_t)(bit >> 8 & 1);
    }
    mine++;
  }
  blica_pack_rows(ctx, packer, mine, x, segment);
  blica_pack_end(ctx, packer, &data);
  free(x);
  free(segment);
  return data;
}

static blica_status count(blica_ctx *ctx, const job *j, const blica_fit_options *fit, blica_counts **out) {
  blica_counter *counter = NULL;
  if (j->load) return blica_counts_load_ranks(ctx, j->load, fit, out);
  blica_status status = blica_count_begin(ctx, fit, &counter);
  for (int p = 0; p < 2 && status == BLICA_OK; p++) status = blica_count_piece(ctx, counter, rows_of(ctx, j, p));
  if (status == BLICA_OK) status = blica_count_end(ctx, counter, out);
  blica_counter_free(counter);
  return status;
}

static blica_status write_files(blica_ctx *ctx, job *j, const blica_counts *counts) {
  char path[KINDS][100];
  blica_cor *rough = NULL, *fine = NULL;
  for (int k = 0; k < KINDS; k++) name_file(path[k], j->member.group->size, k);
  blica_status status = blica_counts_save(ctx, counts, path[0]);
  if (status == BLICA_OK) status = blica_counts_save(ctx, counts, path[1]);
  if (status == BLICA_OK) status = blica_correlate(ctx, counts, &rough);
  if (status == BLICA_OK) status = blica_cor_save(ctx, rough, path[2]);
  if (status == BLICA_OK) status = blica_regularise(ctx, rough, 10, &fine);
  if (status == BLICA_OK) status = blica_cor_save(ctx, fine, path[3]);
  j->counted = (bl_counts_last(counts) - bl_counts_first(counts)) * counts->pairs;
  if (rough) j->correlated = (bl_cor_last(rough) - bl_cor_first(rough)) * rough->pairs;
  blica_cor_free(rough);
  blica_cor_free(fine);
  return status;
}

static void *serve(void *user) {
  job *j = user;
  blica_ctx *ctx;
  blica_counts *counts = NULL;
  blica_fit_options o = blica_fit_options_default();
  blica_comm comm = threads_comm(&j->member);
  snprintf(o.method, sizeof o.method, "blica");
  o.sources = 20, o.starts = 1, o.max_iterations = 4;
  if (!j->all_to_all) comm.all_to_all = NULL;
  blica_ctx_create(&ctx);
  blica_set_threads(ctx, 1);
  if (comm.size > 1) blica_set_comm(ctx, &comm);
  j->status = count(ctx, j, j->fit ? &o : NULL, &counts);
  if (j->status == BLICA_OK && !j->fit) j->status = write_files(ctx, j, counts);
  if (j->status == BLICA_OK && j->fit) {
    blica_input input = {.counts = counts};
    j->counted = (bl_counts_last(counts) - bl_counts_first(counts)) * counts->pairs;
    j->status = blica_fit(ctx, &input, &o, &j->model);
  }
  snprintf(j->message, sizeof j->message, "%s", blica_message(ctx));
  blica_counts_free(counts);
  blica_ctx_free(ctx);
  return NULL;
}

static void run(int size, const job *like, job *jobs) {
  group g;
  group_open(&g, size);
  for (int r = 0; r < size; r++) {
    jobs[r] = *like;
    jobs[r].member = (member){&g, r};
    pthread_create(&jobs[r].thread, NULL, serve, &jobs[r]);
  }
  for (int r = 0; r < size; r++) pthread_join(jobs[r].thread, NULL);
  assert_int_equal(g.differ, 0);
  group_close(&g);
  for (int r = 0; r < size; r++)
    if (jobs[r].status != BLICA_OK) fail_msg("rank %d of %d: %s", r, size, jobs[r].message);
}

static char *slurp(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s is not there", path);
  fseek(f, 0, SEEK_END);
  *bytes = (size_t)ftell(f);
  rewind(f);
  char *text = malloc(*bytes + 1);
  assert_int_equal(fread(text, 1, *bytes, f), *bytes);
  fclose(f);
  return text;
}

static void same_files(int size, const job *like) {
  for (int k = 0; k < KINDS; k++) {
    char path[2][100];
    size_t bytes[2];
    name_file(path[0], 1, k), name_file(path[1], size, k);
    char *text[2] = {slurp(path[0], &bytes[0]), slurp(path[1], &bytes[1])};
    if (bytes[0] != bytes[1] || memcmp(text[0], text[1], bytes[0]) != 0)
      fail_msg("n = %d, u = %d, %d ranks: %s differs", like->n, like->u, size, kind[k]);
    free(text[0]), free(text[1]);
    unlink(path[1]);
  }
}

/* A share of the segments on each rank. */
static void shared_out(int size, const job *jobs) {
  const int64_t pairs = (int64_t)jobs->n * (jobs->n - 1) / 2, all = pairs * jobs->u,
                most = (jobs->u + size - 1) / size * pairs;
  int64_t counted = 0, correlated = 0;
  for (int r = 0; r < size; r++) {
    counted += jobs[r].counted, correlated += jobs[r].correlated;
    assert_compare(jobs[r].counted, <=, most);
    assert_compare(jobs[r].correlated, <=, most);
  }
  assert_int_equal(counted, all);
  assert_int_equal(correlated, all);
}

static void files_of_all_ranks_are_those_of_one(void **state) {
  (void)state;
  static const struct {
    int n, u, size;
  } cases[] = {{104, 7, 2}, {104, 7, 3}, {104, 7, 9}, {104, 1, 2}, {304, 5, 3}, {304, 2, 4}, {304, 1, 3}};
  static job alone, many[MOST_RANKS];
  char path[100];
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int m = 0; m < 2; m++) {
      const bool large = cases[c].n > 300;
      if (large && m == (int)c % 2) continue; /* text takes long */
      job like = {.n = cases[c].n, .u = cases[c].u, .missing = m, .all_to_all = (int)c % 2 == m};
      run(1, &like, &alone);
      run(cases[c].size, &like, many);
      shared_out(cases[c].size, many);
      same_files(cases[c].size, &like);
      for (int k = 0; k < (large ? 1 : 2); k++) { /* and of counts from these files */
        name_file(path, 1, k);
        like.load = path;
        run(cases[c].size, &like, many);
        if (k == 0) shared_out(cases[c].size, many); /* text is read whole by all */
        same_files(cases[c].size, &like);
      }
      for (int k = 0; k < KINDS; k++) name_file(path, 1, k), unlink(path);
    }
}

static void few_variables_are_with_all(void **state) {
  (void)state;
  static job alone, many[3];
  char path[100];
  const job like = {.n = 20, .u = 4, .missing = true, .all_to_all = true};
  run(1, &like, &alone);
  run(3, &like, many);
  for (int r = 0; r < 3; r++) assert_true(many[r].counted == 4 * 190 && many[r].correlated == 4 * 190);
  same_files(3, &like);
  for (int k = 0; k < KINDS; k++) name_file(path, 1, k), unlink(path);
}

static int setup(void **state) {
  return (void)state, make_scratch(folder);
}
static int teardown(void **state) {
  return (void)state, rmdir(folder);
} /* fails when a file was left */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_of_all_ranks_are_those_of_one),
      cmocka_unit_test(few_variables_are_with_all),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
