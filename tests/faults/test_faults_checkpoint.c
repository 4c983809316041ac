/* Every allocation of a fit with a checkpoint fails once (here every seventh; all of them in `make faults`; of mle,
 * which keeps the fits that it starts from as well, every twentieth of these), in a fit that begins and in one that
 * resumes. A fit that fails says so and leaks nothing; one whose state alone could not be kept goes on to the same
 * model. Whatever file is left, resuming from it (or beginning, when there is none) ends in the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "blica.h"
#include "faulty_heap.h"
#include "scratch.h"

static faulty heap;
static blica_ctx *ctx, *calm; /* the second one for what must not fail */
static blica_data *data;
static char folder[40], file[64], stopped[64];

static int setup(void **state) {
  (void)state;
  heap.fail_at = -1;
  if (blica_ctx_create(&calm) || blica_ctx_create_with(faulty_realloc, &heap, &ctx) || make_scratch(folder)) return 1;
  blica_set_threads(ctx, 1);
  blica_set_threads(calm, 1);
  snprintf(file, sizeof file, "%s/file", folder);
  snprintf(stopped, sizeof stopped, "%s/stopped", folder);
  blica_simulate_options how = blica_simulate_options_default();
  how.variables = 4, how.sources = 2, how.segments = 3, how.samples = 60;
  return blica_simulate(calm, &how, NULL, &data, NULL);
}

static int teardown(void **state) {
  (void)state;
  blica_data_free(data);
  blica_ctx_free(ctx);
  blica_ctx_free(calm);
  unlink(file);
  unlink(stopped);
  return atomic_load(&heap.live) != 0 || rmdir(folder); /* fails when a temporary file was left */
}

static blica_status fit(blica_ctx *by, const char *method, int resume, blica_model **out) {
  blica_fit_options options = blica_fit_options_default();
  options.method = blica_method_find(method);
  options.sources = 2, options.starts = 2, options.max_iterations = 4;
  options.checkpoint = file, options.checkpoint_seconds = 0, options.resume = resume;
  blica_input input = {.data = data};
  return blica_fit(by, &input, &options, out);
}

static void assert_same(const blica_model *a, const blica_model *b, const char *what, long long at) {
  size_t n = (size_t)a->n, k = (size_t)a->k, u = (size_t)a->u;
  if (memcmp(a->mixing, b->mixing, n * k * sizeof(double)) ||
      memcmp(a->variances, b->variances, k * u * sizeof(double)) ||
      memcmp(a->means, b->means, k * u * sizeof(double)) ||
      memcmp(&a->fit.objective, &b->fit.objective, sizeof(double)) || a->fit.iterations != b->fit.iterations)
    fail_msg("%s, allocation %lld: the model differs", what, at);
}

static void copy(const char *from, const char *to) {
  static unsigned char bytes[1 << 20];
  FILE *f = fopen(from, "rb");
  assert_non_null(f);
  size_t size = fread(bytes, 1, sizeof bytes, f);
  assert_true(size > 0 && size < sizeof bytes);
  fclose(f);
  assert_non_null(f = fopen(to, "wb"));
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

typedef struct {
  long long failed, went_on, files; /* fits that failed; that went on; files that were resumed from */
} tally;

/* The fit whose allocation number `at` fails; false when there is none of that number any more. */
static int one_fault(const char *method, int resume, long long at, const blica_model *whole, tally *t) {
  blica_model *model = NULL, *again = NULL;
  long long before = atomic_load(&heap.live);
  unlink(file);
  if (resume) copy(stopped, file);
  faulty_arm(&heap, at);
  blica_status status = fit(ctx, method, resume, &model);
  int fired = atomic_load(&heap.fired);
  if (status == BLICA_OK) {
    assert_same(whole, model, method, at);
    t->went_on += fired;
  } else {
    if (status != BLICA_ERR_MEMORY || !strstr(blica_message(ctx), "memory") || model)
      fail_msg("%s: allocation %lld failed: '%s', %s", method, at, blica_status_name(status), blica_message(ctx));
    t->failed++;
  }
  blica_model_free(model);
  if (atomic_load(&heap.live) != before)
    fail_msg("%s: allocation %lld: %lld blocks leak", method, at, atomic_load(&heap.live) - before);
  if (!fired) return 0;
  int left = access(file, F_OK) == 0;
  if (resume && !left) fail_msg("%s: allocation %lld: the old checkpoint is gone", method, at);
  t->files += left;
  if (fit(calm, method, 1, &again) != BLICA_OK)
    fail_msg("%s: allocation %lld, resumed: %s", method, at, blica_message(calm));
  assert_same(whole, again, method, at);
  blica_model_free(again);
  return 1;
}

static int stop_later(const blica_progress *progress, void *user) {
  int *polls = user;
  (void)progress;
  return --*polls <= 0;
}

static void walk(const char *method) {
  blica_model *whole = NULL;
  tally begun = {0}, resumed = {0};
  long long at;
  int polls = 0;
  const int stride = strcmp(method, "mle") == 0 ? 20 * faulty_stride(7) : faulty_stride(7);
  unlink(file);
  if (fit(calm, method, 0, &whole) != BLICA_OK) fail_msg("%s: %s", method, blica_message(calm));
  for (at = 0; one_fault(method, 0, at, whole, &begun); at += stride)
    ;
  unlink(file);
  /* the file of a fit that was stopped in its middle */
  blica_set_poll(calm, stop_later, &polls);
  for (int middle = 8; middle > 0 && access(file, F_OK) != 0; middle--) {
    blica_model *best = NULL;
    polls = middle;
    fit(calm, method, 0, &best);
    blica_model_free(best);
  }
  blica_set_poll(calm, NULL, NULL);
  copy(file, stopped);
  for (at = 0; one_fault(method, 1, at, whole, &resumed); at += stride)
    ;
  print_message("%-9s begun: %lld failed, %lld went on, %lld left a file; resumed: %lld failed, %lld went on\n", method,
                begun.failed, begun.went_on, begun.files, resumed.failed, resumed.went_on);
  const int few = faulty_stride(1) > 1; /* then not every outcome need be among them */
  assert_true(few || (begun.failed > 0 && begun.went_on > 0 && begun.files > 0 && resumed.failed > 0));
  blica_model_free(whole);
}

static void test_methods(void **state) {
  (void)state;
  const char *const methods[] = {"blica", "matched", "pairwise", "mle", "ivae", "fastica"},
                    *only = getenv("BLICA_METHOD");
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
    if (!only || strcmp(only, methods[m]) == 0) walk(methods[m]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_methods)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
