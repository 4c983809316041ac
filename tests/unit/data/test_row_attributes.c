/* Weights, replicates and clusters of rows: how they are scaled, numbered and refused, and counts of weighted rows
 * against a loop.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "counts/counts.h"
#include "num/rng.h"
#include "same_counts.h"

enum { ROWS = 700, N = 6, U = 3 };

typedef struct {
  int8_t x[ROWS * N];
  int32_t segment[ROWS];
  double weight[ROWS];
} sample;

static void draw(uint64_t seed, double missing, sample *s) {
  bl_rng rng = bl_rng_make(seed, 0);
  for (int r = 0; r < ROWS; r++) {
    s->segment[r] = r < U ? r : (int32_t)(bl_rng_uniform(&rng) * U);
    s->weight[r] = exp(1.5 * bl_rng_uniform(&rng));
    for (int i = 0; i < N; i++) {
      s->x[r * N + i] = (int8_t)(bl_rng_uniform(&rng) < 0.2 + 0.1 * i);
      if (bl_rng_uniform(&rng) < missing) s->x[r * N + i] = BLICA_MISSING;
    }
  }
}

static blica_data *pack(const sample *s, int64_t rows) {
  blica_data *d;
  assert_int_equal(blica_pack(ctx, &(blica_table){.rows = rows, .n = N, .x = s->x, .segment = s->segment, .u = U}, &d),
                   BLICA_OK);
  return d;
}

static blica_counts *count(const blica_data *d) {
  blica_counts *c;
  assert_int_equal(blica_count(ctx, d, &c), BLICA_OK);
  return c;
}

/* Kish's number of rows, and weights as given but for a factor in each segment. */
static void weights_are_scaled(void **state) {
  (void)state;
  sample s;
  draw(1, 0, &s);
  blica_data *d = pack(&s, ROWS);
  assert_int_equal(blica_data_set_weights(ctx, d, s.weight), BLICA_OK);
  int64_t at = 0;
  for (int t = 0; t < U; t++) {
    double sum = 0, squares = 0, got = 0;
    for (int r = 0; r < ROWS; r++)
      if (s.segment[r] == t) sum += s.weight[r], squares += s.weight[r] * s.weight[r];
    for (int r = 0; r < ROWS; r++)
      if (s.segment[r] == t) {
        assert_compare(fabs(d->weight[at] - s.weight[r] * sum / squares), <, 1e-7);
        got += d->weight[at++];
      }
    assert_compare(fabs(got - sum * sum / squares), <, 1e-4);
  }
  blica_data_free(d);
}

/* Against a loop over rows; cells without rows are exactly zero; the same bits for 1, 2 and 3 threads. */
static void weighted_counts(double missing) {
  sample s;
  draw(2, missing, &s);
  for (int r = 0; r < ROWS; r++)
    if (s.x[r * N] == 1) s.x[r * N + 1] = 0; /* one empty cell */
  blica_data *d = pack(&s, ROWS);
  assert_int_equal(blica_data_set_weights(ctx, d, s.weight), BLICA_OK);
  blica_counts *c = count(d);
  for (int t = 0, first = 0; t < U; first += (int)d->samples[t++])
    for (int j = 0; j < N; j++)
      for (int i = 0; i < j; i++) {
        double want[4] = {0}, got[4];
        for (int r = 0, at = first; r < ROWS; r++) {
          if (s.segment[r] != t) continue;
          const int8_t p = s.x[r * N + i], q = s.x[r * N + j];
          if (p >= 0 && q >= 0) want[2 * !p + !q] += d->weight[at];
          at++;
        }
        blica_counts_table(c, t, i, j, got);
        for (int k = 0; k < 4; k++) assert_true(got[k] == want[k]);
        if (j == 1) assert_true(got[0] == 0);
      }
  for (int threads = 2; threads < 4; threads++) {
    blica_set_threads(ctx, threads);
    blica_counts *again = count(d);
    assert_same(c, again);
    blica_counts_free(again);
  }
  blica_set_threads(ctx, 1);
  blica_counts_free(c);
  blica_data_free(d);
}

static void weighted_counts_are_those_of_a_loop(void **state) {
  (void)state;
  weighted_counts(0);
  weighted_counts(0.2);
}

/* Equal weights are none, also when they differ between segments; a common factor changes nothing. */
static void equal_weights_are_none(void **state) {
  (void)state;
  sample s;
  draw(3, 0.1, &s);
  blica_data *d = pack(&s, ROWS);
  double weight[ROWS], first[ROWS];
  assert_int_equal(blica_data_set_weights(ctx, d, s.weight), BLICA_OK);
  memcpy(first, d->weight, sizeof first);
  for (int r = 0; r < ROWS; r++) weight[r] = 8 * s.weight[r];
  assert_int_equal(blica_data_set_weights(ctx, d, weight), BLICA_OK);
  assert_memory_equal(d->weight, first, sizeof weight);
  for (int r = 0; r < ROWS; r++) weight[r] = 0.3 * (1 + s.segment[r]);
  assert_int_equal(blica_data_set_weights(ctx, d, weight), BLICA_OK);
  assert_null(d->weight);
  blica_data_free(d);
}

/* Numbered by segment and first row; clusters of single rows are none. */
static void clusters_are_numbered(void **state) {
  (void)state;
  sample s;
  draw(4, 0, &s);
  blica_data *d = pack(&s, ROWS);
  int32_t cluster[ROWS];
  for (int r = 0; r < ROWS; r++) cluster[r] = 600 - 10 * s.segment[r] - r % 7;
  assert_int_equal(blica_data_set_clusters(ctx, d, cluster), BLICA_OK);
  int32_t next = 0;
  int64_t at = 0;
  int32_t number[ROWS];
  memset(number, -1, sizeof number);
  for (int t = 0; t < U; t++)
    for (int r = 0; r < ROWS; r++) {
      if (s.segment[r] != t) continue;
      if (number[cluster[r]] < 0) number[cluster[r]] = next++;
      assert_int_equal(d->cluster[at++], number[cluster[r]]);
    }
  assert_int_equal(next, 7 * U);
  for (int r = 0; r < ROWS; r++) cluster[r] = ROWS - 1 - r;
  assert_int_equal(blica_data_set_clusters(ctx, d, cluster), BLICA_OK);
  assert_null(d->cluster);
  blica_data_free(d);
}

static void refused(blica_status, const char *);

/* As they are given, in the order of the segments; strata of whole segments are none. */
static void strata_are_kept(void **state) {
  (void)state;
  sample s;
  draw(6, 0, &s);
  blica_data *d = pack(&s, ROWS);
  int32_t stratum[ROWS], cluster[ROWS];
  for (int r = 0; r < ROWS; r++) stratum[r] = -r % 5, cluster[r] = r % 10 + 10 * s.segment[r];
  assert_int_equal(blica_data_set_strata(ctx, d, stratum), BLICA_OK);
  int64_t at = 0;
  for (int t = 0; t < U; t++)
    for (int r = 0; r < ROWS; r++)
      if (s.segment[r] == t) assert_int_equal(d->stratum[at++], stratum[r]);
  refused(blica_data_set_clusters(ctx, d, cluster), "give them before");
  for (int r = 0; r < ROWS; r++) stratum[r] = s.segment[r];
  assert_int_equal(blica_data_set_strata(ctx, d, stratum), BLICA_OK);
  assert_null(d->stratum);
  assert_int_equal(blica_data_set_clusters(ctx, d, cluster), BLICA_OK);
  for (int r = 0; r < ROWS; r++) stratum[r] = cluster[r] % 5;
  assert_int_equal(blica_data_set_strata(ctx, d, stratum), BLICA_OK);
  assert_non_null(d->stratum);
  int other = 1;
  while (cluster[other] != cluster[0]) other++;
  char text[80];
  stratum[other]++;
  snprintf(text, sizeof text, "rows 1 and %d are of one cluster but of different strata", other + 1);
  refused(blica_data_set_strata(ctx, d, stratum), text);
  blica_data_free(d);
}

static void refused(blica_status status, const char *text) {
  assert_int_not_equal(status, BLICA_OK);
  if (!strstr(blica_message(ctx), text)) fail_msg("'%s' lacks '%s'", blica_message(ctx), text);
}

static void bad_attributes_are_refused(void **state) {
  (void)state;
  sample s;
  draw(5, 0, &s);
  blica_data *d = pack(&s, ROWS);
  static const double bad[] = {0, -1, NAN, INFINITY};
  static const char *const said[] = {"is 0", "is -1", "nan", "inf"};
  for (int b = 0; b < 4; b++) {
    const double kept = s.weight[41];
    s.weight[41] = bad[b];
    refused(blica_data_set_weights(ctx, d, s.weight), "row 42: its weight");
    refused(blica_data_set_weights(ctx, d, s.weight), said[b]);
    s.weight[41] = kept;
  }
  assert_null(d->weight);
  int32_t cluster[ROWS] = {0};
  refused(blica_data_set_clusters(ctx, d, cluster), "rows 1 and 2 are of one cluster but of the segments '1' and '2'");
  for (int r = 0; r < ROWS; r++) cluster[r] = r;
  cluster[5] = ROWS;
  refused(blica_data_set_clusters(ctx, d, cluster), "row 6: cluster id 700");
  assert_null(d->cluster);
  blica_data_free(d);
}

/* In the scale of the weights, by segment; factors by what the method says. */
static void replicates_are_scaled(void **state) {
  (void)state;
  enum { R = 3 };
  static const struct {
    const char *method;
    double factor[R];
  } methods[] = {{"jk1", {2. / 3, 2. / 3, 2. / 3}},
                 {"brr", {1. / 3, 1. / 3, 1. / 3}},
                 {"fay=0.5", {4. / 3, 4. / 3, 4. / 3}},
                 {"1", {1, 1, 1}},
                 {"0.5,0.75,.5", {0.5, 0.75, 0.5}}};
  static double replicate[ROWS * R];
  sample s;
  draw(6, 0, &s);
  blica_data *d = pack(&s, ROWS);
  bl_rng rng = bl_rng_make(6, 1);
  for (int i = 0; i < ROWS * R; i++) replicate[i] = s.weight[i % ROWS] * (bl_rng_uniform(&rng) < 0.3 ? 0 : 1.4);
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
    assert_int_equal(blica_data_set_replicates(ctx, d, s.weight, R, replicate, methods[m].method), BLICA_OK);
    assert_int_equal(d->replicates, R);
    for (int r = 0; r < R; r++) assert_compare(fabs(d->replicate_factor[r] - methods[m].factor[r]), <, 1e-15);
  }
  int64_t at = 0;
  for (int t = 0; t < U; t++)
    for (int row = 0; row < ROWS; row++) {
      if (s.segment[row] != t) continue;
      for (int r = 0; r < R; r++) {
        const double wanted = replicate[row + ROWS * r] / s.weight[row] * d->weight[at];
        assert_compare(fabs(d->replicate[at + ROWS * r] - wanted), <, 1e-6);
      }
      at++;
    }
  for (int i = 0; i < ROWS; i++) s.weight[i] = 5; /* equal weights are none, and their replicates count */
  for (int i = 0; i < ROWS * R; i++) replicate[i] = i % 3 * 5;
  assert_int_equal(blica_data_set_replicates(ctx, d, s.weight, R, replicate, "brr"), BLICA_OK);
  assert_null(d->weight);
  double sum = 0;
  for (int i = 0; i < ROWS * R; i++) sum += d->replicate[i];
  assert_true(sum == ROWS * R); /* each of 0, 1 and 2 equally often */
  blica_data_free(d);
}

static void bad_replicates_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"jk2", "", "fay=1", "fay=", "brr ", "1,", "1,2", "1,2,3,4", "-1", "nan", "1;1;1"};
  static double replicate[ROWS * 3];
  sample s;
  draw(7, 0, &s);
  blica_data *d = pack(&s, ROWS);
  for (int i = 0; i < ROWS * 3; i++) replicate[i] = 1;
  for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
    refused(blica_data_set_replicates(ctx, d, s.weight, 3, replicate, bad[b]), "the method of the replicate weights");
  refused(blica_data_set_replicates(ctx, d, s.weight, 1, replicate, "jk1"), "1 replicate weight");
  replicate[ROWS + 9] = -1;
  refused(blica_data_set_replicates(ctx, d, s.weight, 3, replicate, "jk1"), "row 10: its weight in replicate 2 is -1");
  replicate[ROWS + 9] = 1;
  for (int r = 0; r < ROWS; r++) replicate[r] = s.segment[r] != 1;
  refused(blica_data_set_replicates(ctx, d, s.weight, 3, replicate, "jk1"),
          "replicate 1 gives all rows of segment '2'");
  s.weight[0] = 0;
  refused(blica_data_set_replicates(ctx, d, s.weight, 3, replicate, "jk1"), "row 1: its weight is 0");
  assert_null(d->replicate);
  assert_int_equal(d->replicates, 0);
  blica_data_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(replicates_are_scaled),  cmocka_unit_test(bad_replicates_are_refused),
      cmocka_unit_test(weights_are_scaled),     cmocka_unit_test(weighted_counts_are_those_of_a_loop),
      cmocka_unit_test(equal_weights_are_none), cmocka_unit_test(clusters_are_numbered),
      cmocka_unit_test(strata_are_kept),        cmocka_unit_test(bad_attributes_are_refused),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
