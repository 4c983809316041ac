/* Counting: against a loop over rows, at every vector level and number of threads; merging. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "counts/count_kernel.h"
#include "counts/counts.h"
#include "num/rng.h"
#include "same_counts.h"

typedef struct {
  int64_t rows;
  int n, u;
  int8_t *x;
  int32_t *segment;
} sample;

/* Missing values only in the odd segments, so that both paths run side by side. */
static sample draw(int64_t rows, int n, int u, double missing, uint64_t seed) {
  sample s = {rows, n, u, malloc((size_t)rows * (size_t)n), malloc((size_t)rows * sizeof(int32_t))};
  bl_rng rng = bl_rng_make(seed, 1);
  for (int64_t r = 0; r < rows; r++) {
    s.segment[r] = r < 2 * u ? (int32_t)(r % u) : (int32_t)(bl_rng_uniform(&rng) * u);
    double common = bl_rng_uniform(&rng);
    for (int i = 0; i < n; i++) {
      s.x[r * n + i] = (int8_t)(bl_rng_uniform(&rng) < 0.5 * common + 0.4 * i / n);
      if (s.segment[r] % 2 && bl_rng_uniform(&rng) < missing) s.x[r * n + i] = BLICA_MISSING;
    }
  }
  return s;
}

static void drop(sample *s) {
  free(s->x);
  free(s->segment);
}

static uint64_t random_word(bl_rng *rng) {
  uint64_t word = 0;
  for (int b = 0; b < 64; b++) word = word << 1 | (bl_rng_uniform(rng) < 0.5);
  return word;
}

static blica_data *pack(const sample *s, int64_t from, int64_t to) {
  blica_packer *p;
  blica_data *d;
  assert_int_equal(blica_pack_begin(ctx, s->n, NULL, &p), BLICA_OK);
  for (int64_t r = from; r < to; r++) {
    char label[16];
    int32_t id;
    snprintf(label, sizeof label, "s%d", s->segment[r]);
    assert_int_equal(blica_pack_segment(ctx, p, label, &id), BLICA_OK);
    assert_int_equal(blica_pack_rows(ctx, p, 1, s->x + r * s->n, &id), BLICA_OK);
  }
  assert_int_equal(blica_pack_end(ctx, p, &d), BLICA_OK);
  return d;
}

static blica_counts *count(const blica_data *d) {
  blica_counts *c;
  assert_int_equal(blica_count(ctx, d, &c), BLICA_OK);
  return c;
}

static void check_naive(const sample *a, const blica_counts *c) {
  for (int s = 0; s < a->u; s++)
    for (int j = 0; j < a->n; j++)
      for (int i = 0; i <= j; i++) {
        double want[4] = {0, 0, 0, 0}, got[4];
        for (int64_t r = 0; r < a->rows; r++) {
          int8_t p = a->x[r * a->n + i], q = a->x[r * a->n + j];
          if (a->segment[r] == s && p >= 0 && q >= 0) want[2 * !p + !q]++;
        }
        if (i == j) {
          assert_true(c->ones[s * a->n + i] == want[0]);
          assert_true(c->present[s * a->n + i] == want[0] + want[3]);
          continue;
        }
        blica_counts_table(c, s, i, j, got);
        for (int k = 0; k < 4; k++) assert_true(got[k] == want[k]);
        blica_counts_table(c, s, j, i, got);
        assert_true(got[1] == want[2] && got[2] == want[1]);
      }
}

static void check_case(int64_t rows, int n, int u, double missing, uint64_t seed) {
  sample a = draw(rows, n, u, missing, seed);
  blica_data *d = pack(&a, 0, rows);
  blica_set_threads(ctx, 1);
  blica_counts *first = count(d);
  assert_int_equal(first->n10 == NULL, d->missing == 0);
  check_naive(&a, first);
  const int threads[] = {1, 2, 7};
  for (int t = 0; t < 3; t++)
    for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
      blica_set_threads(ctx, threads[t]);
      blica_set_simd(ctx, (blica_simd)level);
      blica_counts *c = count(d);
      assert_same(first, c);
      blica_counts_free(c);
    }
  blica_set_simd(ctx, BLICA_SIMD_AUTO);
  blica_set_threads(ctx, 0);
  blica_counts_free(first);
  blica_data_free(d);
  drop(&a);
}

static void test_naive(void **state) {
  (void)state;
  check_case(4, 2, 2, 0, 1);
  check_case(70, 3, 2, 0.2, 2);
  check_case(1000, 31, 1, 0, 3);
  check_case(700, 33, 3, 0.1, 4);
  check_case(300, 70, 2, 0.01, 5);
  check_case(40000, 5, 1, 0, 6);
  check_case(90, 9, 40, 0.3, 7);
}

/* One word past every boundary of the vector loops. */
static void test_kernels(void **state) {
  (void)state;
  enum { WORDS = 400 };
  uint64_t bits[8][WORDS];
  const uint64_t *a[4], *b[4];
  bl_rng rng = bl_rng_make(9, 0);
  for (int k = 0; k < 8; k++)
    for (int w = 0; w < WORDS; w++) bits[k][w] = k == 3 || k == 6 ? ~(uint64_t)0 : random_word(&rng);
  for (int k = 0; k < 4; k++) {
    a[k] = bits[k];
    b[k] = bits[4 + k];
  }
  const char *name;
  int kernels = 0;
  for (int index = 0; bl_count_kernel_at(index, &name); index++, kernels++)
    for (size_t to = 1; to <= WORDS; to += to < 70 ? 1 : 37) {
      size_t from = to > 20 ? 3 : 0;
      int64_t got[16];
      for (int k = 0; k < 16; k++) got[k] = k;
      bl_count_kernel_at(index, &name)(a, b, from, to, got);
      for (int k = 0; k < 16; k++) {
        int64_t want = k;
        for (size_t w = from; w < to; w++)
          for (uint64_t both = a[k % 4][w] & b[k / 4][w]; both; both &= both - 1) want++;
        if (got[k] != want)
          fail_msg("kernel %s, words %zu..%zu, cell %d: %ld, not %ld", name, from, to, k, (long)got[k], (long)want);
      }
    }
  assert_compare(kernels, >=, 1);
}

/* More rows than one task takes: stretches of one square add up. 2^23 + 77 rows of period 6. */
static void test_long_segment(void **state) {
  (void)state;
  enum { CHUNK = 6 * 1024 };
  const int64_t rows = ((int64_t)1 << 23) + 77;
  int8_t *x = malloc(CHUNK * 2);
  int32_t *segment = calloc(CHUNK, sizeof *segment), id;
  for (int r = 0; r < CHUNK; r++) {
    x[2 * r] = r % 2 == 0;
    x[2 * r + 1] = r % 3 == 0;
  }
  blica_packer *p;
  blica_data *d;
  assert_int_equal(blica_pack_begin(ctx, 2, NULL, &p), BLICA_OK);
  assert_int_equal(blica_pack_segment(ctx, p, "all", &id), BLICA_OK);
  for (int64_t r = 0; r < rows; r += CHUNK)
    assert_int_equal(blica_pack_rows(ctx, p, rows - r < CHUNK ? rows - r : CHUNK, x, segment), BLICA_OK);
  assert_int_equal(blica_pack_end(ctx, p, &d), BLICA_OK);
  for (int threads = 1; threads <= 2; threads++) {
    blica_set_threads(ctx, threads);
    blica_counts *c = count(d);
    assert_true(c->ones[0] == (double)((rows + 1) / 2));
    assert_true(c->ones[1] == (double)((rows + 2) / 3));
    assert_true(c->n11[0] == (double)((rows + 5) / 6));
    blica_counts_free(c);
  }
  blica_set_threads(ctx, 0);
  blica_data_free(d);
  free(x);
  free(segment);
}

static void test_merge_of_splits(void **state) {
  (void)state;
  for (int round = 0; round < 6; round++) {
    sample a = draw(800, 12, 3, round % 2 ? 0.05 : 0, 20 + (uint64_t)round);
    bl_rng rng = bl_rng_make((uint64_t)round, 2);
    blica_counts *part[5], *added = NULL;
    int64_t from = 0;
    for (int p = 0; p < 5; p++) {
      int64_t to = p == 4 ? 800 : from + 1 + (int64_t)(bl_rng_uniform(&rng) * 190);
      blica_data *d = pack(&a, from, to);
      part[p] = count(d);
      assert_int_equal(blica_count_add(ctx, d, &added), BLICA_OK);
      blica_data_free(d);
      from = to;
    }
    blica_data *d = pack(&a, 0, 800);
    blica_counts *whole = count(d), *sum;
    assert_int_equal(blica_merge(ctx, 5, (const blica_counts *const *)part, &sum), BLICA_OK);
    assert_same(whole, sum);
    assert_same(whole, added);
    blica_counts_free(added);
    for (int p = 0; p < 5; p++) blica_counts_free(part[p]);
    blica_counts_free(sum);
    blica_counts_free(whole);
    blica_data_free(d);
    drop(&a);
  }
}

/* A row of a new segment, then one with a missing value: room and cells appear as they are needed. */
static void test_add_grows(void **state) {
  (void)state;
  const int8_t x[] = {1, 1, 1, 1, 0, 1, 0, 1, 1, 1, -1, 0, 1, 1, 0};
  const int32_t segment[] = {0, 0, 1, 1, 0};
  const char *labels[] = {"a", "b"};
  blica_data *all, *piece;
  blica_counts *sum = NULL;
  assert_int_equal(
      blica_pack(ctx, &(blica_table){.rows = 5, .n = 3, .x = x, .segment = segment, .u = 2, .segments = labels}, &all),
      BLICA_OK);
  for (int r = 0; r < 5; r++) {
    const int32_t only = 0;
    assert_int_equal(
        blica_pack(ctx,
                   &(blica_table){
                       .rows = 1, .n = 3, .x = x + 3 * r, .segment = &only, .u = 1, .segments = &labels[segment[r]]},
                   &piece),
        BLICA_OK);
    assert_int_equal(blica_count_add(ctx, piece, &sum), BLICA_OK);
    assert_true(sum->u == (r < 2 ? 1 : 2) && (sum->n10 != NULL) == (r >= 3));
    blica_data_free(piece);
  }
  blica_counts *whole = count(all);
  assert_same(whole, sum);
  blica_counts_free(whole);
  blica_counts_free(sum);
  blica_data_free(all);
}

static void expect(blica_status got, blica_status wanted, const char *words) {
  assert_int_equal(got, wanted);
  if (!strstr(blica_message(ctx), words)) fail_msg("message '%s' lacks '%s'", blica_message(ctx), words);
}

static void test_merge_refuses(void **state) {
  (void)state;
  const char *ab[] = {"a", "b"}, *ac[] = {"a", "c"}, *abc[] = {"a", "b", "c"}, *s[] = {"1"};
  blica_counts *p, *q, *r, *out;
  assert_int_equal(bl_counts_create(ctx, 2, 1, true, ab, s, &p), BLICA_OK);
  assert_int_equal(bl_counts_create(ctx, 2, 1, true, ac, s, &q), BLICA_OK);
  assert_int_equal(bl_counts_create(ctx, 3, 1, true, abc, s, &r), BLICA_OK);
  expect(blica_merge(ctx, 2, (const blica_counts *[]){p, q}, &out), BLICA_ERR_DATA,
         "variable 2 is 'c' in part 2 but 'b'");
  assert_null(out);
  expect(blica_merge(ctx, 2, (const blica_counts *[]){p, r}, &out), BLICA_ERR_DATA, "part 2 has 3 variables");
  expect(blica_merge(ctx, 0, NULL, &out), BLICA_ERR_ARGUMENT, "0 parts");
  p->samples[0] = 1;
  expect(bl_counts_check(ctx, p), BLICA_ERR_DATA, "segment 1 ('1') has 1 row:");
  p->exact = 1;
  assert_int_equal(bl_counts_check(ctx, p), BLICA_OK);
  blica_counts_free(p);
  blica_counts_free(q);
  blica_counts_free(r);
}

static int stop_now(const blica_progress *progress, void *user) {
  assert_string_equal(progress->stage, "count");
  ++*(int *)user;
  return 1;
}

static void test_interrupt(void **state) {
  (void)state;
  sample a = draw(100, 4, 1, 0, 3);
  blica_data *d = pack(&a, 0, 100);
  blica_counts *c;
  int calls = 0;
  blica_set_poll(ctx, stop_now, &calls);
  expect(blica_count(ctx, d, &c), BLICA_ERR_INTERRUPTED, "interrupted");
  assert_null(c);
  assert_int_equal(calls, 1);
  blica_set_poll(ctx, NULL, NULL);
  blica_counts_free(count(d));
  blica_data_free(d);
  drop(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_naive),           cmocka_unit_test(test_kernels),   cmocka_unit_test(test_long_segment),
      cmocka_unit_test(test_merge_of_splits), cmocka_unit_test(test_add_grows), cmocka_unit_test(test_merge_refuses),
      cmocka_unit_test(test_interrupt),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
