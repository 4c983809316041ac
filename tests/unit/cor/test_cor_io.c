/* Correlations as files: an .npz (its squares are read by numpy in tests/parity/authors.py), the rows of a .csv, and
 * names that are neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "files/npz.h"

enum { N = 4, U = 3 };

static blica_ctx *ctx;
static blica_cor *cor;
static char folder[] = "/tmp/blica_cor_XXXXXX";

static int begin(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *data;
  blica_counts *counts;
  blica_cor *raw;
  o.variables = N, o.sources = 2, o.segments = U, o.samples = 60, o.seed = 4;
  if (!mkdtemp(folder)) return -1;
  if (blica_ctx_create(&ctx) != BLICA_OK || blica_simulate(ctx, &o, NULL, &data, NULL) != BLICA_OK) return -1;
  if (blica_count(ctx, data, &counts) != BLICA_OK || blica_correlate(ctx, counts, &raw) != BLICA_OK) return -1;
  if (blica_regularise(ctx, raw, 3, &cor) != BLICA_OK) return -1;
  blica_data_free(data), blica_counts_free(counts), blica_cor_free(raw);
  return 0;
}

static int end(void **state) {
  (void)state;
  blica_cor_free(cor), blica_ctx_free(ctx);
  return rmdir(folder);
}

static void arrays_read_back(void **state) {
  (void)state;
  char path[64];
  snprintf(path, sizeof path, "%s/cor.npz", folder);
  assert_int_equal(blica_cor_save(ctx, cor, path), BLICA_OK);
  bl_npz_reader *npz;
  const size_t margin[2] = {U, N}, segments = U;
  double thresholds[U * N], shift[U], condition;
  assert_int_equal(bl_npz_open(ctx, path, &npz), BLICA_OK);
  assert_true(bl_npz_has(npz, "rho") && bl_npz_has(npz, "se") && bl_npz_has(npz, "flags") && !bl_npz_has(npz, "n11"));
  assert_int_equal(bl_npz_expect(ctx, npz, "rho", 8 * U * N * N), BLICA_OK);
  assert_int_equal(bl_npz_numbers(ctx, npz, "thresholds", 2, margin, thresholds), BLICA_OK);
  assert_int_equal(bl_npz_numbers(ctx, npz, "shift", 1, &segments, shift), BLICA_OK);
  assert_int_equal(bl_npz_numbers(ctx, npz, "condition", 0, NULL, &condition), BLICA_OK);
  bl_npz_reader_free(npz);
  assert_memory_equal(thresholds, cor->thresholds, sizeof thresholds);
  assert_memory_equal(shift, cor->shift, sizeof shift);
  assert_true(condition == 3);
  remove(path);
}

static void rows_read_back(void **state) {
  (void)state;
  char path[64], line[256];
  snprintf(path, sizeof path, "%s/cor.csv", folder);
  assert_int_equal(blica_cor_save(ctx, cor, path), BLICA_OK);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  assert_string_equal(line, "segment,i,j,rho,se,flags,threshold\n");
  for (int s = 0; s < U; s++)
    for (int j = 0; j < N; j++)
      for (int i = 0; i <= j; i++) {
        char names[64];
        snprintf(names, sizeof names, "%s,%s,%s,", cor->segments[s], cor->variables[i], cor->variables[j]);
        assert_non_null(fgets(line, sizeof line, file));
        assert_memory_equal(line, names, strlen(names));
        assert_true(strtod(line + strlen(names), NULL) == (i == j ? 1 : cor->rho[blica_pair(i, j) + s * cor->pairs]));
        if (i == j) assert_true(strtod(strrchr(line, ',') + 1, NULL) == cor->thresholds[s * N + i]);
      }
  assert_null(fgets(line, sizeof line, file));
  fclose(file);
  remove(path);
}

static void other_names_are_refused(void **state) {
  (void)state;
  assert_int_equal(blica_cor_save(ctx, cor, "/tmp/blica_cor.txt"), BLICA_ERR_ARGUMENT);
  assert_non_null(strstr(blica_message(ctx), "/tmp/blica_cor.txt"));
  assert_int_equal(blica_cor_save(ctx, cor, "/tmp/no_such_folder/cor.csv"), BLICA_ERR_IO);
  assert_non_null(strstr(blica_message(ctx), "no_such_folder"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_read_back), cmocka_unit_test(rows_read_back),
                                     cmocka_unit_test(other_names_are_refused)};
  return cmocka_run_group_tests(tests, begin, end);
}
