/* Values that were published with the methods, on their data sets in ../shared: similarities of matrices, losses and
 * gradients of the linear iVAE, its fits, and correlations. Skipped (exit 77) where the data are not there. */
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
#include <zlib.h>

#include "assert_compare.h"
#include "context.h"
#include "rivals/rivals.h"
#include "ivae_fits.h"
#include "note.h"

#define AUTHORS "../shared/data/authors/"

/* ---- mean cosine similarities ---- */

/* A table with a header row and an index column. */
static void read_matrix(const char *name, int n, int k, double *a) {
  char path[256], line[4096];
  snprintf(path, sizeof path, "../shared/data/mcs/%s_%d_%d.csv", name, n, k);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_non_null(fgets(line, sizeof line, f));
  for (int i = 0; i < n; i++) {
    assert_non_null(fgets(line, sizeof line, f));
    char *at = strchr(line, ',');
    for (int j = 0; j < k; j++) {
      assert_non_null(at);
      a[i + j * n] = strtod(at + 1, &at);
    }
  }
  fclose(f);
}

static void test_mcs(void **state) {
  (void)state;
  static const int shape[][2] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 2}, {6, 3},
                                 {6, 4}, {6, 5}, {6, 6}, {7, 7}, {8, 8}, {9, 9}};
  for (size_t t = 0; t < sizeof shape / sizeof *shape; t++) {
    int n = shape[t][0], k = shape[t][1];
    double a[81], b[81], mcs, expected = NAN;
    char path[256], line[256];
    read_matrix("A1", n, k, a);
    read_matrix("A2", n, k, b);
    snprintf(path, sizeof path, "../shared/data/mcs/mcs_%d_%d.csv", n, k);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) expected = strtod(line, NULL);
    fclose(f);
    assert_int_equal(blica_compare(ctx, n, k, a, b, &mcs, NULL, NULL), BLICA_OK);
    if (!(fabs(mcs - expected) <= 1e-15)) fail_msg("n %d, k %d: MCS %.17g, published %.17g", n, k, mcs, expected);
  }
}

/* ---- loss and gradient of the linear iVAE ---- */

static double *read_numbers(const char *folder, const char *name, size_t *count) {
  char path[256];
  snprintf(path, sizeof path, "../shared/data/ivae/%s/%s", folder, name);
  FILE *f = fopen(path, "r");
  *count = 0;
  if (!f) return NULL;
  double *values = malloc(100000 * sizeof *values);
  while (*count < 100000 && fscanf(f, "%lf%*[,]", &values[*count]) == 1) ++*count;
  fclose(f);
  return values;
}

static void check_published(const char *folder, int k) {
  size_t cells, draws, parameters, derivatives, one;
  double *table = read_numbers(folder, "x_u.csv", &cells), *eps = read_numbers(folder, "eps.csv", &draws);
  assert_non_null(table);
  double *theta = read_numbers(folder, "theta.csv", &parameters), *loss = read_numbers(folder, "loss.csv", &one);
  double *want = read_numbers(folder, "grad.csv", &derivatives);
  int n = 5, u = 40, rows = (int)(cells / 6);
  int8_t x[2000];
  int32_t segment[400];
  assert_true(rows == 200 && draws == (size_t)rows * (size_t)k && one == 1);
  for (int r = 0; r < rows; r++) {
    for (int i = 0; i < n; i++) x[r * n + i] = (int8_t)table[r * (n + 1) + i];
    segment[r] = (int32_t)table[r * (n + 1) + n] - 1;
  }
  blica_data *data = pack(rows, n, u, x, segment);
  bl_ivae *ivae;
  assert_int_equal(bl_ivae_create(ctx, data, k, false, &ivae), BLICA_OK);
  bl_ivae_noise_set(ivae, eps);
  assert_true(bl_ivae_layout_of(n, k, u).size == parameters && parameters == derivatives);
  double *gradient = malloc(parameters * sizeof *gradient);
  assert_close(folder, -1, bl_ivae_loss(ctx, ivae, theta, gradient), loss[0], fabs(loss[0]), 1e-12);
  for (size_t i = 0; i < parameters; i++) assert_close(folder, (int)i, gradient[i], want[i], fabs(want[i]), 1e-12);
  bl_free(ivae);
  blica_data_free(data);
  free(table), free(eps), free(theta), free(loss), free(want), free(gradient);
}

static void test_loss_5_5(void **state) {
  (void)state;
  check_published("fixture_5_5", 5);
}

static void test_loss_5_2(void **state) {
  (void)state;
  check_published("fixture_5_2", 2);
}

/* ---- its fits ---- */

/* Numbers of a table, plain or gzipped; NULL when it is not there. */
static double *read_table(const char *path, size_t *count) {
  gzFile f = gzopen(path, "rb");
  if (!f) return NULL;
  size_t capacity = 1 << 22;
  char *text = malloc(capacity + 1), *next = text;
  int got = gzread(f, text, (unsigned)capacity);
  gzclose(f);
  assert_true(got > 0 && (size_t)got < capacity);
  text[got] = 0;
  double *values = malloc((size_t)got * sizeof *values);
  for (*count = 0;;) {
    next += strspn(next, ", \r\n");
    if (!*next) break;
    values[(*count)++] = strtod(next, &next);
  }
  free(text);
  return values;
}

/* The authors' layout: variables, then the segment from 1. */
static blica_data *read_data(const char *path, int n, int u) {
  size_t count;
  double *table = read_table(path, &count);
  if (!table) fail_msg("%s is missing", path);
  size_t rows = count / (size_t)(n + 1);
  int8_t *x = malloc(rows * (size_t)n);
  int32_t *segment = malloc(rows * sizeof *segment);
  for (size_t r = 0; r < rows; r++) {
    for (int i = 0; i < n; i++) x[r * (size_t)n + (size_t)i] = (int8_t)table[r * (size_t)(n + 1) + (size_t)i];
    segment[r] = (int32_t)table[r * (size_t)(n + 1) + (size_t)n] - 1;
  }
  blica_data *data;
  assert_int_equal(
      blica_pack(ctx, &(blica_table){.rows = (int64_t)rows, .n = n, .x = x, .segment = segment, .u = u}, &data),
      BLICA_OK);
  free(table), free(x), free(segment);
  return data;
}

static double mcs_with(const blica_model *model, const char *path) {
  size_t count;
  int n = model->n, k = model->k, matching[16];
  double *rows = read_table(path, &count), truth[256], cosine[16], mcs;
  assert_true(rows && count == (size_t)(n * k));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < k; j++) truth[i + j * n] = rows[i * k + j];
  free(rows);
  assert_int_equal(blica_compare(ctx, n, k, truth, model->mixing, &mcs, matching, cosine), BLICA_OK);
  return mcs;
}

/* Published, three seeds after 1000 iterations: training loss 3.1827, fresh losses 3.1961 to 3.1971. The fits have not
 * converged, and MCS varies by seed (published .70 to .79; here .66 to .78): it is printed, not judged. */
static void test_ivae_n5_k5(void **state) {
  (void)state;
  blica_data *data = read_data("../shared/data/ivae/data_5_40_1000_1.csv", 5, 40);
  for (uint64_t seed = 1; seed <= 3; seed++) {
    blica_fit_options o = options_for(5);
    o.starts = 1;
    o.seed = seed;
    o.max_iterations = 1000;
    blica_model *model = fit(data, &o);
    print_message("seed %d: loss %.4f, fresh %.4f, MCS %.3f\n", (int)seed, note(model, "training_loss"),
                  note(model, "fresh_loss"), mcs_with(model, "../shared/data/ivae/mix_5_40_1000_1.csv"));
    assert_compare(note(model, "training_loss"), <=, 3.1827);
    assert_compare(note(model, "fresh_loss"), <=, 3.1961);
    blica_model_free(model);
  }
  blica_data_free(data);
}

/* Published: loss 3.1812, 3.1860 on fresh noise, MCS .947. */
static void test_ivae_n6_k2(void **state) {
  (void)state;
  blica_data *data = read_data("../shared/data/authors/n6_nz2_N1000_s1.csv.gz", 6, 40);
  blica_fit_options o = options_for(2);
  blica_model *model = fit(data, &o);
  double mcs = mcs_with(model, "../shared/data/authors/n6_nz2_N1000_s1_A.csv");
  print_message("loss %.4f, fresh %.4f, MCS %.3f\n", note(model, "training_loss"), note(model, "fresh_loss"), mcs);
  if (!(note(model, "training_loss") <= 3.1812 && note(model, "fresh_loss") <= 3.1860 && mcs > 0.93))
    fail_msg("loss %.5f, fresh %.5f, MCS %.4f", note(model, "training_loss"), note(model, "fresh_loss"), mcs);
  assert_int_equal(model->fit.stop, BLICA_STOP_CONVERGED);
  assert_int_equal(model->fit.n_starts, 3);
  blica_model_free(model);
  blica_data_free(data);
}

/* ---- correlations: the published program searches each with a tolerance of 1e-2, so it is off by up to 3e-3 (mean
 * 7e-4); tables with an empty cell follow another rule and are left out ---- */

static blica_cor *correlate_file(const char *name, int n) {
  char command[256], line[1024];
  snprintf(command, sizeof command, "gzip -dc " AUTHORS "%s.csv.gz", name);
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
  blica_cor *cor = correlate_file(name, n);
  char path[256], line[4096];
  snprintf(path, sizeof path, AUTHORS "%s_cor.csv", name);
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
  if (!(worst < 4e-3 && sum / count < 1e-3)) fail_msg("%s: off by up to %g, mean %g", name, worst, sum / count);
  blica_cor_free(cor);
}

static void test_correlations(void **state) {
  (void)state;
  compare("n6_nz2_N50_s1", 6);
  compare("n6_nz2_N1000_s1", 6);
  compare("n6_nz6_N100_s1", 6);
  compare("n10_nz10_N1000_s1", 10);
  compare("n20_nz20_N1000_s1", 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mcs),        cmocka_unit_test(test_loss_5_5),
                                     cmocka_unit_test(test_loss_5_2),   cmocka_unit_test(test_ivae_n5_k5),
                                     cmocka_unit_test(test_ivae_n6_k2), cmocka_unit_test(test_correlations)};
  if (access(AUTHORS, R_OK) != 0) {
    puts("SKIPPED: there is no folder " AUTHORS);
    return 77;
  }
  return cmocka_run_group_tests(tests, open_context, close_context);
}
