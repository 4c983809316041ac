/* Counts in files: what is saved comes back to the bit; what is damaged is refused, never believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "files/npy.h"
#include "blica.h"
#include "counts/counts.h"
#include "num/rng.h"
#include "same_counts.h"

static blica_ctx *ctx;
static char folder[] = "/tmp/blica-test-XXXXXX", path[256];

static const char *in_folder(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int setup(void **state) {
  (void)state;
  return blica_ctx_create(&ctx) != BLICA_OK || !mkdtemp(folder);
}

static int teardown(void **state) {
  (void)state;
  const char *names[] = {"a.npz", "b.npz", "a.csv", "b.csv", "bad.npz", "bad.csv"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) unlink(in_folder(names[k]));
  blica_ctx_free(ctx);
  return rmdir(folder);
}

static blica_counts *draw(int64_t rows, int n, int u, double missing, uint64_t seed) {
  static const char *const names[] = {
      "plain", "a,b", "say \"hi\"", "two\nlines", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x8d\x95", "tab\there", " pad "};
  static const char *const labels[] = {"1", "north, east", "#3", ""};
  int8_t *x = malloc((size_t)rows * (size_t)n);
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  bl_rng rng = bl_rng_make(seed, 0);
  for (int64_t r = 0; r < rows; r++) {
    segment[r] = (int32_t)(r % u);
    for (int i = 0; i < n; i++)
      x[r * n + i] = bl_rng_uniform(&rng) < missing ? BLICA_MISSING : (bl_rng_uniform(&rng) < 0.5);
  }
  blica_data *d;
  blica_counts *c;
  assert_int_equal(
      blica_pack(ctx,
                 &(blica_table){
                     .rows = rows, .n = n, .x = x, .variables = names, .segment = segment, .u = u, .segments = labels},
                 &d),
      BLICA_OK);
  assert_int_equal(blica_count(ctx, d, &c), BLICA_OK);
  blica_data_free(d);
  free(x);
  free(segment);
  return c;
}

static void assert_same_sets(const blica_counts *a, const blica_counts *b) {
  assert_int_equal(a->sets != NULL, b->sets != NULL);
  for (int s = 0; a->sets && s < a->u; s++) {
    const bl_item_set_list *l = &a->sets->segment[s], *m = &b->sets->segment[s];
    assert_int_equal(l->count, m->count);
    assert_true(l->size == m->size);
    if (l->count <= 0) continue;
    assert_memory_equal(l->rows, m->rows, (size_t)l->count * sizeof *l->rows);
    assert_memory_equal(l->mask, m->mask, (size_t)(l->count * a->sets->words) * sizeof *l->mask);
  }
}

static void round_trip(const blica_counts *c, const char *name) {
  blica_counts *back;
  assert_int_equal(blica_counts_save(ctx, c, in_folder(name)), BLICA_OK);
  if (blica_counts_load(ctx, path, &back) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  assert_same(c, back);
  if (strstr(name, ".npz")) assert_same_sets(c, back);
  blica_counts_free(back);
}

static void test_round_trips(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    blica_counts *c = draw(200, 7, k == 2 ? 4 : 3, k == 0 ? 0 : k == 1 ? 0.1 : 0.9, (uint64_t)k);
    round_trip(c, "a.npz");
    round_trip(c, "a.csv");
    blica_counts_free(c);
  }
}

/* What a file says of item sets is believed only as far as it can be true. */
static void test_bad_sets(void **state) {
  (void)state;
  blica_counts *c = draw(200, 7, 3, 0.1, 5), *back;
  assert_true(c->sets && c->sets->segment[1].count > 1);
  c->sets->segment[1].rows[0] = 1e6;
  assert_int_equal(blica_counts_save(ctx, c, in_folder("a.npz")), BLICA_OK);
  assert_int_equal(blica_counts_load(ctx, path, &back), BLICA_ERR_FORMAT);
  assert_non_null(strstr(blica_message(ctx), "an item set of segment 'north, east' has 1e+06 rows"));
  bl_item_sets_give_up(c->sets, 0);
  c->sets->segment[1].rows[0] = 1;
  round_trip(c, "a.npz");
  blica_counts_free(c);
}

/* Fractional counts of probabilities, whose cells do not add up to the last bit. */
static void test_exact(void **state) {
  (void)state;
  const char *names[] = {"a", "b", "c"}, *labels[] = {"s", "t"};
  blica_counts *c;
  assert_int_equal(bl_counts_create(ctx, 3, 2, true, names, labels, &c), BLICA_OK);
  bl_rng rng = bl_rng_make(4, 0);
  for (int s = 0; s < 2; s++) {
    c->samples[s] = 1000.0 / (3 * s + 1);
    for (int i = 0; i < 3; i++) {
      c->present[3 * s + i] = c->samples[s];
      c->ones[3 * s + i] = c->samples[s] * (0.4 + 0.2 * bl_rng_uniform(&rng));
      c->n11[3 * s + i] = c->samples[s] * (0.2 + 0.1 * bl_rng_uniform(&rng));
    }
  }
  c->exact = 1;
  round_trip(c, "a.npz");
  round_trip(c, "a.csv");
  blica_counts_free(c);
}

static char *slurp(const char *name, size_t *size) {
  FILE *f = fopen(in_folder(name), "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, f), *size);
  bytes[*size] = 0;
  fclose(f);
  return bytes;
}

static void spill(const char *name, const char *bytes, size_t size) {
  FILE *f = fopen(in_folder(name), "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  fclose(f);
}

/* Splitting the rows, counting, merging and saving gives the file of the whole, byte by byte. */
static void test_merged_file(void **state) {
  (void)state;
  enum { ROWS = 300, N = 9, CUT = 137 };
  static int8_t x[ROWS * N];
  static int32_t segment[ROWS];
  bl_rng rng = bl_rng_make(77, 0);
  for (int k = 0; k < ROWS * N; k++) x[k] = bl_rng_uniform(&rng) < 0.05 ? BLICA_MISSING : (bl_rng_uniform(&rng) < 0.5);
  for (int r = 0; r < ROWS; r++) segment[r] = r % 4;
  blica_counts *part[2], *whole, *sum;
  blica_data *d;
  const int from[] = {0, CUT, 0}, to[] = {CUT, ROWS, ROWS};
  blica_counts **out[] = {&part[0], &part[1], &whole};
  for (int k = 0; k < 3; k++) {
    assert_int_equal(
        blica_pack(
            ctx,
            &(blica_table){.rows = to[k] - from[k], .n = N, .x = x + from[k] * N, .segment = segment + from[k], .u = 4},
            &d),
        BLICA_OK);
    assert_int_equal(blica_count(ctx, d, out[k]), BLICA_OK);
    blica_data_free(d);
  }
  assert_int_equal(blica_merge(ctx, 2, (const blica_counts *const *)part, &sum), BLICA_OK);
  for (int kind = 0; kind < 2; kind++) {
    size_t size_a, size_b;
    assert_int_equal(blica_counts_save(ctx, whole, in_folder(kind ? "a.csv" : "a.npz")), BLICA_OK);
    assert_int_equal(blica_counts_save(ctx, sum, in_folder(kind ? "b.csv" : "b.npz")), BLICA_OK);
    char *a = slurp(kind ? "a.csv" : "a.npz", &size_a), *b = slurp(kind ? "b.csv" : "b.npz", &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(a, b, size_a);
    free(a);
    free(b);
  }
  blica_counts_free(part[0]);
  blica_counts_free(part[1]);
  blica_counts_free(whole);
  blica_counts_free(sum);
}

/* Every truncation and every flipped byte of a good file: refused or equal in all that matters, no crash. */
static void test_damaged_npz(void **state) {
  (void)state;
  blica_counts *c = draw(50, 3, 2, 0.1, 5), *back;
  size_t size;
  assert_int_equal(blica_counts_save(ctx, c, in_folder("a.npz")), BLICA_OK);
  char *bytes = slurp("a.npz", &size);
  int refused = 0;
  for (size_t cut = 0; cut < size; cut += cut < 64 ? 1 : 41) {
    spill("bad.npz", bytes, cut);
    assert_int_not_equal(blica_counts_load(ctx, in_folder("bad.npz"), &back), BLICA_OK);
    assert_null(back);
  }
  for (size_t at = 0; at < size; at += 7) {
    bytes[at] ^= 0x5a;
    spill("bad.npz", bytes, size);
    if (blica_counts_load(ctx, in_folder("bad.npz"), &back) != BLICA_OK) {
      assert_null(back);
      refused++;
    } else {
      assert_same(c, back);
    }
    blica_counts_free(back);
    bytes[at] ^= 0x5a;
  }
  assert_compare(refused, >, (int)(size / 7 / 2));
  free(bytes);
  blica_counts_free(c);
}

static void expect(blica_status got, blica_status wanted, const char *words) {
  if (got != wanted) fail_msg("status %d, not %d: %s", got, wanted, blica_message(ctx));
  if (!strstr(blica_message(ctx), words)) fail_msg("message '%s' lacks '%s'", blica_message(ctx), words);
}

static void expect_csv(const char *text, const char *words) {
  blica_counts *c = (blica_counts *)&ctx;
  spill("bad.csv", text, strlen(text));
  expect(blica_counts_load(ctx, path, &c), BLICA_ERR_FORMAT, words);
  assert_null(c);
}

#define HEAD "segment,i,j,n11,n10,n01,n00\n"

static void test_bad_csv(void **state) {
  (void)state;
  expect_csv("", "not a file of pair counts");
  expect_csv("a,b\n1,0\n", "not a file of pair counts");
  expect_csv(HEAD, "has no rows");
  expect_csv(HEAD "s,,,9,0,0,0\n", "0 variables");
  expect_csv(HEAD "s,a,b,1,2,3\n", "line 2: 6 fields");
  expect_csv(HEAD "s,a,b,1,2,x,4\n", "line 2, column n01: 'x' is not a count");
  expect_csv(HEAD "s,a,b,1,2,-3,4\n", "'-3' is not a count");
  expect_csv(HEAD "s,a,b,1,2,nan,4\n", "'nan' is not a count");
  expect_csv(HEAD "s,a,b,1,2,inf,4\n", "'inf' is not a count");
  expect_csv(HEAD "s,a,b,1,2,3,4\ns,b,a,1,2,3,4\n", "occurs twice");
  expect_csv(HEAD "s,a,b,1,2,3,4\ns,a,c,1,2,3,4\n", "is it cut off");
  expect_csv(HEAD "s,a,b,1,2,3,4\nt,a,a,1,0,0,3\n", "segment 't' has no row for the pair 'a', 'b'");
  expect_csv(HEAD "s,a,a,1,2,3,4\ns,a,b,1,2,3,4\n", "'a' differs from itself");
  expect_csv(HEAD "s,a,a,1,2,0,4\ns,a,b,1,2,3,4\n", "2 values of 'a' are not one of its levels");
  expect_csv(HEAD "s,\"a,b,1,2,3,4\n", "line 2: a quoted field does not end");
  expect_csv(HEAD "s,a,,1,2,3,4\n", "only one of i and j");
}

/* As SQL gives it: no margins, pairs either way round. */
static void test_sql_csv(void **state) {
  (void)state;
  const char *text = HEAD "s,b,a,1,2,3,4\ns,c,b,2,3,1,4\ns,a,c,3,1,2,4\n";
  blica_counts *c;
  double cell[4];
  spill("a.csv", text, strlen(text));
  if (blica_counts_load(ctx, path, &c) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  assert_string_equal(c->variables[0], "b");
  assert_string_equal(c->variables[2], "c");
  assert_true(c->samples[0] == 10);
  assert_null(c->n10);
  blica_counts_table(c, 0, 2, 0, cell);
  assert_true(cell[0] == 2 && cell[1] == 3 && cell[2] == 1 && cell[3] == 4);
  assert_true(c->ones[0] == 3 && c->ones[1] == 4 && c->ones[2] == 5);
  blica_counts_free(c);
}

static void test_refusals(void **state) {
  (void)state;
  blica_counts *c = draw(20, 2, 1, 0, 1), *back;
  expect(blica_counts_save(ctx, c, "counts.txt"), BLICA_ERR_ARGUMENT, ".npz or .csv");
  expect(blica_counts_load(ctx, "counts", &back), BLICA_ERR_ARGUMENT, ".npz or .csv");
  expect(blica_counts_load(ctx, "/nowhere/c.npz", &back), BLICA_ERR_IO, "/nowhere/c.npz");
  expect(blica_counts_load(ctx, "/nowhere/c.csv", &back), BLICA_ERR_IO, "/nowhere/c.csv");
  expect(blica_counts_save(ctx, c, "/nowhere/c.npz"), BLICA_ERR_IO, "/nowhere/c.npz");
  expect(blica_counts_save(ctx, c, "/nowhere/c.csv"), BLICA_ERR_IO, "/nowhere/c.csv");
  /* a full disk */
  if (access("/dev/full", W_OK) == 0 && symlink("/dev/full", in_folder("b.csv")) == 0) {
    expect(blica_counts_save(ctx, c, path), BLICA_ERR_IO, "No space left");
    unlink(path);
  }
  blica_counts_free(c);
}

static void test_npy_headers(void **state) {
  (void)state;
  char bytes[BL_NPY_HEADER_MAX];
  const bl_npy arrays[] = {{.kind = 'f', .size = 8, .ndim = 0},
                           {.kind = 'i', .size = 1, .ndim = 1, .shape = {5}},
                           {.kind = 'U', .size = 12, .ndim = 2, .shape = {0, 7}},
                           {.kind = 'b', .size = 1, .fortran = true, .ndim = 3, .shape = {2, 3, 4}}};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    bl_npy got;
    size_t length = bl_npy_header(&arrays[k], bytes), count = 1;
    assert_int_equal(length % 64, 0);
    assert_null(bl_npy_parse(bytes, length, &got));
    assert_int_equal(got.kind, arrays[k].kind);
    assert_int_equal(got.size, arrays[k].size);
    assert_int_equal(got.fortran, arrays[k].fortran);
    assert_int_equal(got.ndim, arrays[k].ndim);
    assert_int_equal(got.offset, length);
    for (int d = 0; d < got.ndim; d++) {
      assert_int_equal(got.shape[d], arrays[k].shape[d]);
      count *= got.shape[d];
    }
    assert_int_equal(got.count, count);
    for (size_t cut = 0; cut < length; cut++) assert_non_null(bl_npy_parse(bytes, cut, &got));
  }
}

/* The bytes of both orders are read on every machine. */
static void test_npy_orders(void **state) {
  (void)state;
  static const char *const dict[] = {"{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }\n",
                                     "{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }\n"};
  static const char element[2][4] = {{4, 3, 2, 1}, {1, 2, 3, 4}};
  for (int order = 0; order < 2; order++) {
    char bytes[256] = "\x93NUMPY\x01";
    bl_npy got;
    bytes[8] = (char)strlen(dict[order]);
    memcpy(bytes + 10, dict[order], strlen(dict[order]));
    assert_null(bl_npy_parse(bytes, 10 + strlen(dict[order]), &got));
    assert_true(bl_npy_number(&got, element[order]) == 0x01020304);
  }
}

static void test_npy_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"{'descr': '', 'fortran_order': False, 'shape': (3,), }",
                                    "{'descr': '!i4', 'fortran_order': False, 'shape': (3,), }",
                                    "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }",
                                    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
                                    "{'descr': '<i3', 'fortran_order': False, 'shape': (3,), }",
                                    "{'descr': [('a','<i4')], 'fortran_order': False, 'shape': (3,), }",
                                    "{'descr': '<i4', 'shape': (3,), }",
                                    "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (3,), }",
                                    "{'descr': '<i4', 'fortran_order': False, 'shape': (-3,), }",
                                    "{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }",
                                    "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }",
                                    "{'descr': '<i4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
                                    "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), 'extra': 1}",
                                    "{'descr': '<i4'",
                                    "",
                                    "[]"};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    char bytes[256] = "\x93NUMPY\x01";
    size_t length = strlen(bad[k]);
    bytes[8] = (char)length;
    memcpy(bytes + 10, bad[k], length);
    bl_npy got;
    if (!bl_npy_parse(bytes, 10 + length, &got)) fail_msg("accepted %s", bad[k]);
  }
}

static void test_npy_numbers(void **state) {
  (void)state;
  const uint16_t halves[] = {0x3c00, 0x0000, 0x7e00, 0xc000, 0x0001, 0x7c00};
  bl_npy half = {.kind = 'f', .size = 2}, small = {.kind = 'i', .size = 1}, word = {.kind = 'u', .size = 8};
  assert_true(bl_npy_number(&half, &halves[0]) == 1.0);
  assert_true(bl_npy_number(&half, &halves[1]) == 0.0);
  double nan = bl_npy_number(&half, &halves[2]);
  assert_true(nan != nan);
  assert_true(bl_npy_number(&half, &halves[3]) == -2.0);
  assert_true(bl_npy_number(&half, &halves[4]) == 0x1p-24);
  assert_compare(bl_npy_number(&half, &halves[5]), >, 1e300);
  int8_t minus = -1;
  uint64_t large = (uint64_t)1 << 63;
  assert_true(bl_npy_number(&small, &minus) == -1);
  assert_true(bl_npy_number(&word, &large) == 0x1p63);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips), cmocka_unit_test(test_bad_sets),    cmocka_unit_test(test_exact),
      cmocka_unit_test(test_merged_file), cmocka_unit_test(test_damaged_npz), cmocka_unit_test(test_bad_csv),
      cmocka_unit_test(test_sql_csv),     cmocka_unit_test(test_refusals),    cmocka_unit_test(test_npy_headers),
      cmocka_unit_test(test_npy_orders),  cmocka_unit_test(test_npy_refused), cmocka_unit_test(test_npy_numbers),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
