/* Many fits in one process: memory stays flat. BLICA_FITS sets how many (300; `make faults` does 10 000). All methods
 * in turn, each fit with a context, data and a file of its own; memory is looked at after the first tenth and at the
 * end. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "blica.h"

enum { SLACK_BYTES = 64 << 10, SLACK_RESIDENT = 2 << 20 };

/* Bytes that malloc has handed out and not got back. */
static double held(void) {
  struct mallinfo2 info = mallinfo2();
  return (double)info.uordblks + (double)info.hblkhd;
}

static double resident(void) {
  long total = 0, pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &total, &pages) != 2) pages = 0;
  if (f) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void one_fit(const char *method, uint64_t seed, const char *path) {
  blica_ctx *ctx;
  blica_data *data;
  blica_model *model, *back;
  blica_simulate_options how = blica_simulate_options_default();
  blica_fit_options o = blica_fit_options_default();
  how.variables = 4, how.sources = 2, how.segments = 3, how.samples = 60, how.seed = seed;
  o.method = blica_method_find(method);
  o.sources = 2, o.starts = 2, o.max_iterations = 10, o.seed = seed;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_set_threads(ctx, 1 + (int)(seed % 2));
  assert_int_equal(blica_simulate(ctx, &how, NULL, &data, NULL), BLICA_OK);
  if (blica_fit(ctx, &(blica_input){.data = data}, &o, &model) != BLICA_OK)
    fail_msg("%s, seed %llu: %s", method, (unsigned long long)seed, blica_message(ctx));
  assert_int_equal(blica_model_save(ctx, model, path), BLICA_OK);
  assert_int_equal(blica_model_load(ctx, path, &back), BLICA_OK);
  blica_model_free(back);
  blica_model_free(model);
  blica_data_free(data);
  blica_ctx_free(ctx);
}

static void test_flat(void **state) {
  (void)state;
  const char *wanted = getenv("BLICA_FITS");
  int fits = wanted ? atoi(wanted) : 300, methods, first = fits / 10;
  const blica_method *list = blica_methods(&methods);
  char folder[] = "/tmp/blica-leaks-XXXXXX", path[64];
  double held_first = 0, resident_first = 0;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/model.json", folder);
  for (int i = 0; i < fits; i++) {
    one_fit(list[i % methods].name, (uint64_t)(i / methods + 1), path);
    if (i + 1 == first) held_first = held(), resident_first = resident();
  }
  print_message("%d fits by %d methods: %.0f bytes held after %d and %.0f at the end; resident %.2f MB and %.2f MB\n",
                fits, methods, held_first, first, held(), resident_first / 1e6, resident() / 1e6);
  unlink(path);
  rmdir(folder);
  assert_compare(held() - held_first, <, SLACK_BYTES);
  assert_true(resident() - resident_first < SLACK_RESIDENT ||
              held() == 0); /* sanitizers keep freed blocks for a while */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_flat)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
