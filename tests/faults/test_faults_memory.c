/* Every allocation of every verb fails once. A call whose i-th allocation fails, i = 0, 1, 2, ... until none is left
 * to fail, must say so (status, message), give nothing back, leak nothing, and leave an old file as it was. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "blica.h"
#include "discard.h"
#include "faulty_heap.h"
#include "scratch.h"

static faulty heap;
static blica_ctx *ctx, *calm; /* the second one is for what the verbs need beforehand */
static char folder[40];

/* ---- what the verbs work on ---- */

enum { N = 4, K = 2, U = 3, ROWS = 180 };
static blica_data *data, *ordered;
static blica_data *level_data;
static blica_model *level_model;     /* ordered: rows in one segment */
static blica_counts *counts, *holes; /* holes: counts under missing values */
static blica_cor *cor;
static blica_model *model, *ivae_model;
static int8_t table[ROWS * N];
static int32_t segment[ROWS];

static const char *in_folder(const char *name) {
  static char path[8][300];
  static int turn;
  turn = (turn + 1) % 8;
  snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
  return path[turn];
}

static void must(blica_status status) {
  if (status != BLICA_OK) fail_msg("%s: %s", blica_status_name(status), blica_message(calm));
}

static blica_fit_options fit_options(const char *method) {
  blica_fit_options options = blica_fit_options_default();
  options.method = blica_method_find(method);
  options.sources = K;
  options.starts = 2;
  options.max_iterations = 6;
  return options;
}

static blica_simulate_options simulate_options(void) {
  blica_simulate_options options = blica_simulate_options_default();
  options.variables = N;
  options.sources = K;
  options.segments = U;
  options.samples = ROWS / U;
  return options;
}

static int setup(void **state) {
  (void)state;
  heap.fail_at = -1;
  if (blica_ctx_create(&calm) || blica_ctx_create_with(faulty_realloc, &heap, &ctx) || make_scratch(folder)) return 1;
  blica_simulate_options how = simulate_options();
  must(blica_simulate(calm, &how, &model, &data, NULL));
  how.levels = 3;
  must(blica_simulate(calm, &how, &level_model, &level_data, NULL));
  for (int r = 0; r < ROWS; r++) {
    segment[r] = data->row_segment[r];
    int64_t within = r % (ROWS / U);
    for (int i = 0; i < N; i++)
      table[r * N + i] = r % 7 == 3 && i == 1 ? BLICA_MISSING : (int8_t)(data->ones[segment[r]][i] >> within & 1);
  }
  blica_data *gaps;
  must(blica_pack(calm, &(blica_table){.rows = ROWS, .n = N, .x = table, .segment = segment, .u = U}, &gaps));
  must(blica_count(calm, gaps, &holes));
  must(blica_count(calm, data, &counts));
  must(blica_correlate(calm, counts, &cor));
  blica_fit_options fit = fit_options("ivae");
  blica_input input = {.data = data};
  must(blica_fit(calm, &input, &fit, &ivae_model));
  blica_data_free(gaps);
  static const int32_t one[ROWS];
  must(blica_pack(calm, &(blica_table){.rows = ROWS / 3, .n = N, .x = table, .segment = one, .u = 1}, &ordered));
  must(blica_counts_save(calm, holes, in_folder("holes.npz")));
  must(blica_counts_save(calm, holes, in_folder("holes.csv")));
  must(blica_counts_save(calm, counts, in_folder("counts.npz")));
  must(blica_model_save(calm, ivae_model, in_folder("model.json")));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  const char *names[] = {"holes.npz", "holes.csv", "counts.npz", "model.json", "old.npz", "old.csv", "old.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(in_folder(names[i]));
  blica_data_free(data);
  blica_data_free(ordered);
  blica_data_free(level_data);
  blica_model_free(level_model);
  blica_counts_free(counts);
  blica_counts_free(holes);
  blica_cor_free(cor);
  blica_model_free(model);
  blica_model_free(ivae_model);
  blica_ctx_free(ctx);
  blica_ctx_free(calm);
  return atomic_load(&heap.live) != 0 || rmdir(folder);
}

/* ---- the verbs: each leaves its output in *out and says how to free it ---- */

typedef struct {
  const char *name;
  blica_status (*call)(void **out);
  void (*discard)(void *object);
} verb;

static blica_status call_ctx(void **out) {
  return blica_ctx_create_with(faulty_realloc, &heap, (blica_ctx **)out);
}

static blica_status call_pack(void **out) {
  return blica_pack(ctx, &(blica_table){.rows = ROWS, .n = N, .x = table, .segment = segment, .u = U},
                    (blica_data **)out);
}

static blica_status call_stream(void **out) {
  const char *const names[] = {"a", "b", "c", "d"};
  blica_packer *packer = NULL;
  int32_t id;
  *out = NULL;
  blica_status status = blica_pack_begin(ctx, N, names, &packer);
  for (int r = 0; status == BLICA_OK && r < ROWS; r++) {
    char label[16];
    snprintf(label, sizeof label, "s%d", segment[r]);
    status = blica_pack_segment(ctx, packer, label, &id);
    if (status == BLICA_OK) status = blica_pack_rows(ctx, packer, 1, table + r * N, &id);
  }
  if (status == BLICA_OK) return blica_pack_end(ctx, packer, (blica_data **)out);
  blica_packer_free(packer);
  return status;
}

static blica_status call_count(void **out) {
  return blica_count(ctx, data, (blica_counts **)out);
}

static blica_status call_merge(void **out) {
  const blica_counts *parts[] = {counts, holes};
  return blica_merge(ctx, 2, parts, (blica_counts **)out);
}

static blica_status call_correlate(void **out) {
  return blica_correlate(ctx, holes, (blica_cor **)out);
}
static blica_status call_regularise(void **out) {
  return blica_regularise(ctx, cor, 10, (blica_cor **)out);
}

static blica_status fit_with(const char *method, blica_input input, void **out) {
  blica_fit_options options = fit_options(method);
  return blica_fit(ctx, &input, &options, (blica_model **)out);
}

#define FIT_VERB(method, ...)                                                                                          \
  static blica_status call_fit_##method(void **out) {                                                                  \
    return fit_with(#method, (blica_input){__VA_ARGS__}, out);                                                         \
  }
FIT_VERB(auto, .data = data)
FIT_VERB(blica, .counts = counts)
FIT_VERB(matched, .cor = cor)
FIT_VERB(pairwise, .data = data)
FIT_VERB(mle, .data = data)
FIT_VERB(ivae, .data = data)
FIT_VERB(fastica, .data = data)
/* Items of three levels. */
static blica_status call_fit_levels(void **out) {
  return fit_with("matched", (blica_input){.data = level_data}, out);
}
static blica_status call_fit_holes(void **out) {
  return fit_with("matched", (blica_input){.counts = holes}, out);
}
static blica_status call_fit_pairs_of_levels(void **out) {
  return fit_with("pairwise", (blica_input){.data = level_data}, out);
}
static blica_status call_identify_levels(void **out) {
  return blica_identify(ctx, level_model, (blica_identification **)out);
}

static blica_status call_simulate(void **out) {
  blica_simulate_options how = simulate_options();
  blica_data *drawn = NULL;
  blica_status status = blica_simulate(ctx, &how, (blica_model **)out, &drawn, NULL);
  if (status != BLICA_OK) assert_null(drawn);
  blica_data_free(drawn);
  return status;
}

static blica_status call_exact(void **out) {
  blica_simulate_options how = simulate_options();
  blica_counts *drawn = NULL;
  how.exact = 1;
  blica_status status = blica_simulate(ctx, &how, (blica_model **)out, NULL, &drawn);
  if (status != BLICA_OK) assert_null(drawn);
  blica_counts_free(drawn);
  return status;
}

static blica_status loglik_by(blica_engine engine, void **out) {
  blica_loglik_options options = blica_loglik_options_default();
  options.engine = engine;
  return blica_loglik(ctx, model, data, &options, (blica_loglik_result **)out);
}
static blica_status call_loglik_grid(void **out) {
  return loglik_by(BLICA_ENGINE_GRID, out);
}
static blica_status call_loglik_lattice(void **out) {
  return loglik_by(BLICA_ENGINE_LATTICE, out);
}
static blica_status call_loglik_ep(void **out) {
  return loglik_by(BLICA_ENGINE_EP, out);
}

static blica_status sources_by(blica_row_segments known, int draws, void **out) {
  blica_sources_options options = blica_sources_options_default();
  options.segment = known;
  options.draws = draws;
  return blica_sources(ctx, model, data, &options, (blica_posterior **)out);
}
static blica_status call_sources_unknown(void **out) {
  return sources_by(BLICA_SEGMENTS_UNKNOWN, 0, out);
}
static blica_status call_sources_draws(void **out) {
  return sources_by(BLICA_SEGMENTS_KNOWN, 2, out);
}

static blica_status call_segment(void **out) {
  blica_segment_options options = blica_segment_options_default();
  options.sources = K;
  options.max_states = 2;
  options.starts = 1;
  options.method = BLICA_METHOD_BLICA;
  return blica_segment(ctx, ordered, &options, (blica_segmentation **)out);
}

static blica_status call_compare(void **out) {
  double mcs, cosine[K];
  int matching[K];
  *out = NULL;
  return blica_compare(ctx, N, K, model->mixing, model->mixing, &mcs, matching, cosine);
}

static blica_status call_identify(void **out) {
  return blica_identify(ctx, model, (blica_identification **)out);
}
static blica_status call_model_create(void **out) {
  return blica_model_create(ctx, N, K, U, (blica_model **)out);
}
static blica_status call_load_npz(void **out) {
  return blica_counts_load(ctx, in_folder("holes.npz"), (blica_counts **)out);
}
static blica_status call_load_csv(void **out) {
  return blica_counts_load(ctx, in_folder("holes.csv"), (blica_counts **)out);
}
static blica_status call_load_model(void **out) {
  return blica_model_load(ctx, in_folder("model.json"), (blica_model **)out);
}

#define SAVE_VERB(name, what, object, file)                                                                            \
  static blica_status call_save_##name(void **out) {                                                                   \
    *out = NULL;                                                                                                       \
    return blica_##what##_save(ctx, object, in_folder(file));                                                          \
  }
SAVE_VERB(npz, counts, holes, "old.npz")
SAVE_VERB(csv, counts, holes, "old.csv")
SAVE_VERB(cor_npz, cor, cor, "old.npz")
SAVE_VERB(cor_csv, cor, cor, "old.csv")
SAVE_VERB(model, model, ivae_model, "old.json")

#define VERB(name, type)                                                                                               \
  { #name, call_##name, discard_##type }
static const verb verbs[] = {VERB(ctx, ctx),
                             VERB(pack, data),
                             VERB(stream, data),
                             VERB(count, counts),
                             VERB(merge, counts),
                             VERB(correlate, cor),
                             VERB(regularise, cor),
                             VERB(fit_auto, model),
                             VERB(fit_blica, model),
                             VERB(fit_matched, model),
                             VERB(fit_pairwise, model),
                             VERB(fit_mle, model),
                             VERB(fit_ivae, model),
                             VERB(fit_fastica, model),
                             VERB(fit_levels, model),
                             VERB(fit_holes, model),
                             VERB(fit_pairs_of_levels, model),
                             VERB(identify_levels, identification),
                             VERB(simulate, model),
                             VERB(exact, model),
                             VERB(loglik_grid, loglik_result),
                             VERB(loglik_lattice, loglik_result),
                             VERB(loglik_ep, loglik_result),
                             VERB(sources_unknown, posterior),
                             VERB(sources_draws, posterior),
                             VERB(segment, segmentation),
                             VERB(compare, data),
                             VERB(identify, identification),
                             VERB(model_create, model),
                             VERB(load_npz, counts),
                             VERB(load_csv, counts),
                             VERB(load_model, model),
                             VERB(save_npz, data),
                             VERB(save_csv, data),
                             VERB(save_cor_npz, data),
                             VERB(save_cor_csv, data),
                             VERB(save_model, data)};

/* ---- the walk ---- */

static const char OLD[] = "what was there before";

static void put_old(const char *name) {
  FILE *f = fopen(in_folder(name), "wb");
  assert_non_null(f);
  fputs(OLD, f);
  fclose(f);
}

static void assert_old(const char *name) {
  char text[64] = "";
  FILE *f = fopen(in_folder(name), "rb");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  assert_string_equal(text, OLD);
}

/* Four inputs and three old files, nothing else. */
static void assert_no_temporary(const char *name) {
  DIR *all = opendir(folder);
  int files = 0;
  assert_non_null(all);
  for (struct dirent *entry; (entry = readdir(all));) files += entry->d_name[0] != '.';
  closedir(all);
  if (files != 7) fail_msg("%s leaves a temporary file behind", name);
}

static void assert_failed(const verb *v, long long at, blica_status status, const void *out, long long before) {
  if (status != BLICA_ERR_MEMORY)
    fail_msg("%s: allocation %lld failed and the status is '%s': %s", v->name, at, blica_status_name(status),
             blica_message(ctx));
  if (v->call != call_ctx && !strstr(blica_message(ctx), "memory"))
    fail_msg("%s: allocation %lld failed and the message is '%s'", v->name, at, blica_message(ctx));
  if (out) fail_msg("%s: allocation %lld failed and there is an output", v->name, at);
  if (atomic_load(&heap.live) != before)
    fail_msg("%s: allocation %lld failed and %lld blocks leak", v->name, at, atomic_load(&heap.live) - before);
}

/* Returns how many allocations were made to fail. */
static long long walk(const verb *v) {
  const int stride = faulty_stride(1);
  for (long long at = 0, count = 0;; at += stride, count++) {
    void *out = (void *)&heap; /* a failing call must overwrite this */
    long long before = atomic_load(&heap.live);
    faulty_arm(&heap, at);
    blica_status status = v->call(&out);
    if (status == BLICA_OK && atomic_load(&heap.fired))
      fail_msg("%s: allocation %lld failed and the call says ok", v->name, at);
    if (status == BLICA_OK) {
      v->discard(out);
      if (atomic_load(&heap.live) != before)
        fail_msg("%s leaks %lld blocks", v->name, atomic_load(&heap.live) - before);
      return count;
    }
    assert_failed(v, at, status, out, before);
    assert_old("old.npz");
    assert_old("old.csv");
    assert_old("old.json");
    assert_no_temporary(v->name);
  }
}

static void walk_all(int threads) {
  long long total = 0;
  blica_set_threads(ctx, threads);
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    put_old("old.npz");
    put_old("old.csv");
    put_old("old.json");
    long long count = walk(&verbs[i]);
    print_message("%-16s %4lld allocations failed, one at a time\n", verbs[i].name, count);
    total += count;
  }
  print_message("%d thread%s: %lld allocations in %zu verbs\n", threads, threads > 1 ? "s" : "", total,
                sizeof verbs / sizeof *verbs);
}

static void test_one_thread(void **state) {
  (void)state;
  walk_all(1);
}

static void test_three_threads(void **state) {
  (void)state;
  walk_all(3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_thread), cmocka_unit_test(test_three_threads)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
