/* Correlations of the published implementation on its own data sets. It searches each with a tolerance of 1e-2, so it
 * is off by up to 3e-3 (mean 7e-4); tables with an empty cell follow another rule and are left out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "blica.h"

#define FOLDER "../shared/data/authors/"

static blica_cor *correlate_file(blica_ctx *ctx, const char *name, int n) {
  char command[256], line[1024];
  snprintf(command, sizeof command, "gzip -dc " FOLDER "%s.csv.gz", name);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  blica_packer *packer;
  assert_int_equal(blica_pack_begin(ctx, n, NULL, &packer), BLICA_OK);
  while (fgets(line, sizeof line, pipe)) {
    int8_t x[64];
    int32_t id;
    char *at = line;
    for (int i = 0; i < n; i++) x[i] = (int8_t)strtol(at, &at, 10), at++;
    at[strcspn(at, "\r\n")] = 0;
    assert_int_equal(blica_pack_segment(ctx, packer, at, &id), BLICA_OK);
    assert_int_equal(blica_pack_rows(ctx, packer, 1, x, &id), BLICA_OK);
  }
  assert_int_equal(pclose(pipe), 0);
  blica_data *data;
  blica_counts *counts;
  blica_cor *cor;
  assert_int_equal(blica_pack_end(ctx, packer, &data), BLICA_OK);
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  blica_data_free(data);
  blica_counts_free(counts);
  return cor;
}

static void compare(const char *name, int n) {
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_cor *cor = correlate_file(ctx, name, n);
  char path[256], line[4096];
  snprintf(path, sizeof path, FOLDER "%s_cor.csv", name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  double worst = 0, sum = 0, worst_thin = 0;
  int count = 0;
  for (int row = 0; fgets(line, sizeof line, file); row++) {
    char *at;
    int s = (int)strtod(line, &at) - 1, i = row % n;
    assert_true(s == row / n && s < cor->u);
    for (int j = 0; j < n; j++) {
      double theirs = strtod(at + 1, &at);
      if (j <= i) continue;
      int64_t p = blica_pair(i, j) + s * cor->pairs;
      double error = fabs(theirs - cor->rho[p]);
      if (cor->flags[p]) {
        worst_thin = fmax(worst_thin, error);
        continue;
      }
      worst = fmax(worst, error);
      sum += error;
      count++;
    }
  }
  fclose(file);
  printf("%s: %d correlations, difference at most %.2g, mean %.2g; %lld with an empty cell, at most %.2g\n", name,
         count, worst, sum / count, (long long)cor->zero_cells, worst_thin);
  assert_int_equal(count + cor->zero_cells + cor->constant_pairs, cor->pairs * cor->u);
  assert_true(worst < 4e-3 && sum / count < 1e-3);
  blica_cor_free(cor);
  blica_ctx_free(ctx);
}

static void test_authors(void **state) {
  (void)state;
  if (access(FOLDER "n6_nz2_N50_s1_cor.csv", R_OK) != 0) {
    printf("SKIP: no reference data in " FOLDER "\n");
    skip();
  }
  compare("n6_nz2_N50_s1", 6);
  compare("n6_nz2_N1000_s1", 6);
  compare("n6_nz6_N100_s1", 6);
  compare("n10_nz10_N1000_s1", 10);
  compare("n20_nz20_N1000_s1", 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_authors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
