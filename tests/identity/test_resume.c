/* A fit that is resumed ends in the same bits as one without the break, wherever the break was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assert_compare.h"
#include "blica.h"

/* ---- files ---- */

static char folder[64];

static const char *in_folder(const char *name) {
  static char path[4][128];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
  return path[turn];
}

static char *content(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, f), *size);
  fclose(f);
  return bytes;
}

static void copy_file(const char *from, const char *to) {
  size_t size;
  char *bytes = content(from, &size);
  if (!bytes) return;
  FILE *f = fopen(to, "wb");
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  fclose(f);
  free(bytes);
}

/* ---- the fits ---- */

typedef struct {
  const char *name;
  int n, k, u, rows;  /* rows per segment */
  const char *set[8]; /* option and value by turns */
} work;

static const work works[] = {
    {"blica, four starts", 6, 3, 10, 300, {"method", "blica", "starts", "4"}},
    {"blica, starts in turn", 30, 3, 6, 300, {"method", "blica", "starts", "2"}},
    {"blica without Newton steps", 45, 18, 6, 300, {"method", "blica", "starts", "2", "max_iterations", "45"}},
    {"blica with a learned prior", 5, 2, 6, 300, {"method", "blica", "prior", "auto", "starts", "2"}},
    {"matched", 6, 2, 8, 300, {"method", "matched", "starts", "3"}},
    {"pairwise", 4, 2, 4, 200, {"method", "pairwise", "starts", "2"}},
    {"mle on a grid", 4, 2, 3, 100, {"method", "mle"}},
    {"mle on a lattice", 4, 3, 3, 100, {"method", "mle"}},
    {"mle by sampling", 13, 3, 3, 60, {"method", "mle", "max_iterations", "290"}},
    {"mle by expectation propagation", 41, 15, 3, 60, {"method", "mle", "max_iterations", "6"}},
    {"ivae", 6, 2, 5, 200, {"method", "ivae", "starts", "2", "max_iterations", "60"}},
    {"fastica", 6, 3, 5, 300, {"method", "fastica", "starts", "4", "tolerance", "1e-9"}},
};
enum { WORKS = sizeof works / sizeof *works };

typedef struct {
  blica_ctx *ctx;
  blica_data *data;
  blica_fit_options options;
  int polls, copy_every, stop_at; /* 0: never */
  int copies;
  char path[128];
} bench;

static void use_checkpoint(bench *b, const char *name) {
  snprintf(b->path, sizeof b->path, "%s", in_folder(name));
  b->options.checkpoint = b->path;
}

/* The file as a kill at this moment would leave it, or an interrupt. */
static int poll(const blica_progress *progress, void *user) {
  bench *b = user;
  if (strcmp(progress->stage, "fit") != 0) return 0;
  b->polls++;
  if (b->copy_every && b->polls % b->copy_every == 0 && access(b->options.checkpoint, F_OK) == 0) {
    char name[32];
    snprintf(name, sizeof name, "copy.%d", b->copies++);
    copy_file(b->options.checkpoint, in_folder(name));
  }
  return b->stop_at && b->polls >= b->stop_at;
}

static void prepare(bench *b, const work *w, int threads) {
  memset(b, 0, sizeof *b);
  blica_simulate_options simulate = blica_simulate_options_default();
  simulate.variables = w->n, simulate.sources = w->k, simulate.segments = w->u, simulate.samples = w->rows;
  assert_int_equal(blica_ctx_create(&b->ctx), BLICA_OK);
  blica_set_threads(b->ctx, threads);
  blica_set_poll(b->ctx, poll, b);
  assert_int_equal(blica_simulate(b->ctx, &simulate, NULL, &b->data, NULL), BLICA_OK);
  b->options = blica_fit_options_default();
  b->options.sources = w->k;
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  for (int i = 0; i < 8 && w->set[i]; i += 2)
    for (int j = 0; j < count; j++)
      if (strcmp(table[j].name, w->set[i]) == 0)
        assert_int_equal(blica_option_set(b->ctx, &table[j], &b->options, w->set[i + 1]), BLICA_OK);
}

static void put_away(bench *b) {
  blica_data_free(b->data);
  blica_ctx_free(b->ctx);
}

/* Fits and returns model.json less the times; the report of the fit is copied when asked for. */
static char *fit(bench *b, size_t *size, bool *stopped) {
  blica_model *m = NULL;
  blica_input input = {.data = b->data};
  b->polls = 0;
  blica_status status = blica_fit(b->ctx, &input, &b->options, &m);
  if (stopped) *stopped = b->stop_at && b->polls >= b->stop_at;
  if (status == BLICA_ERR_INTERRUPTED && b->stop_at) return NULL; /* before there was any model */
  if (status != BLICA_OK) fail_msg("%s", blica_message(b->ctx));
  blica_fit_report *r = &m->fit;
  r->seconds = r->seconds_count = r->seconds_correlate = r->seconds_regularise = r->seconds_optimise = 0;
  for (int i = 0; i < r->n_starts; i++) r->starts[i].seconds = r->starts[i].seconds_near = 0;
  assert_int_equal(blica_model_save(b->ctx, m, in_folder("m.json")), BLICA_OK);
  blica_model_free(m);
  return content(in_folder("m.json"), size);
}

static void same(const char *what, const char *a, size_t size_a, const char *b, size_t size_b) {
  if (size_a == size_b && memcmp(a, b, size_a) == 0) return;
  size_t at = 0;
  while (at < size_a && at < size_b && a[at] == b[at]) at++;
  size_t from = at < 60 ? 0 : at - 60;
  fail_msg("%s: the models differ: ...%.100s... and ...%.100s...", what, a + from, b + from);
}

/* ---- the tests ---- */

/* The checkpoint is written at every iteration; the fit is resumed from many of the files. */
static void killed(const work *w, int threads) {
  bench b;
  size_t size, again = 0;
  prepare(&b, w, threads);
  char *whole = fit(&b, &size, NULL);
  int polls = b.polls;
  use_checkpoint(&b, "fit.ckpt");
  b.options.checkpoint_seconds = 0;
  b.copy_every = polls > 8 ? polls / 8 : 1;
  char *kept = fit(&b, &again, NULL);
  same(w->name, whole, size, kept, again);
  free(kept);
  assert_compare(b.copies, >=, 4);
  unlink(in_folder("fit.ckpt"));
  int copies = b.copies;
  b.copy_every = 0;
  b.options.resume = 1;
  for (int i = 0; i < copies; i++) {
    char name[32];
    snprintf(name, sizeof name, "copy.%d", i);
    use_checkpoint(&b, name);
    b.options.checkpoint_seconds = i % 2 ? 0 : 1000;
    char *resumed = fit(&b, &again, NULL);
    if (i == copies - 1) assert_compare(b.polls, <, polls); /* it did not begin anew */
    same(w->name, whole, size, resumed, again);
    free(resumed);
    resumed = fit(&b, &again, NULL); /* what a whole fit leaves gives the model again */
    same(w->name, whole, size, resumed, again);
    free(resumed);
    unlink(in_folder(name));
  }
  free(whole);
  put_away(&b);
}

/* Interrupted after a few iterations, resumed, interrupted, ... */
static void interrupted(const work *w, int threads) {
  bench b;
  size_t size, again = 0;
  bool stopped = true;
  int runs = 0;
  prepare(&b, w, threads);
  char *whole = fit(&b, &size, NULL), *last = NULL;
  b.stop_at = b.polls / 7 + 3;
  use_checkpoint(&b, "fit.ckpt");
  b.options.resume = 1;
  while (stopped) {
    free(last);
    last = fit(&b, &again, &stopped);
    assert_compare(runs++, <, 60);
  }
  if (threads == 1) assert_compare(runs, >, 2); /* only the calling thread polls, and it may get little of the work */
  same(w->name, whole, size, last, again);
  free(last);
  free(whole);
  unlink(in_folder("fit.ckpt"));
  put_away(&b);
}

static void test_killed(void **state) {
  killed(*state, 1);
}
static void test_interrupted(void **state) {
  interrupted(*state, 1);
}
static void test_threads(void **state) {
  (void)state;
  interrupted(&works[0], 3);
  interrupted(&works[1], 3);
}

/* The clock stops it at moments that nobody chose. */
static void test_time_over(void **state) {
  bench b;
  size_t size, again = 0;
  (void)state;
  prepare(&b, &works[5], 2);
  char *whole = fit(&b, &size, NULL), *last = NULL;
  use_checkpoint(&b, "fit.ckpt");
  b.options.resume = 1;
  b.options.max_seconds = 0.005;
  for (int i = 0; i < 200 && !(last && again == size && memcmp(whole, last, size) == 0); i++) {
    free(last);
    last = fit(&b, &again, NULL);
    b.options.max_seconds *= 1.1; /* on a machine that is too busy for one iteration in this time */
  }
  same("time", whole, size, last, again);
  free(last);
  free(whole);
  unlink(in_folder("fit.ckpt"));
  put_away(&b);
}

static int make_folder(void **state) {
  (void)state;
  bool memory = access("/dev/shm", W_OK) == 0; /* thousands of synced writes, whose disk is not what is tested */
  snprintf(folder, sizeof folder, "%s/blica-resume-XXXXXX", memory ? "/dev/shm" : "/tmp");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(in_folder("m.json"));
  return rmdir(folder); /* fails when anything else was left */
}

#define IN_FOLDER(test)                                                                                                \
  { #test, test, make_folder, remove_folder, NULL }

int main(void) {
  struct CMUnitTest tests[2 * WORKS + 2] = {IN_FOLDER(test_time_over), IN_FOLDER(test_threads)};
  for (int i = 0; i < 2 * WORKS; i++)
    tests[i + 2] = (struct CMUnitTest){works[i / 2].name, i % 2 ? test_interrupted : test_killed, make_folder,
                                       remove_folder, (void *)&works[i / 2]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
