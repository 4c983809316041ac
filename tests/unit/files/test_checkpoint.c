/* The file of a checkpoint: what is kept comes back, what is damaged is refused, and a write that fails harms nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assert_compare.h"
#include "files/checkpoint.h"
#include "base/hash.h"
#include "num/lbfgs.h"

static char folder[32], path[64];
static blica_ctx *ctx;
static char warned[512];
static int warnings;

static void warn(const char *text, void *user) {
  (void)user;
  snprintf(warned, sizeof warned, "%s", text);
  warnings++;
}

static int begin(void **state) {
  (void)state;
  strcpy(folder, "/tmp/blica-ckpt-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/file", folder);
  warnings = 0;
  if (blica_ctx_create(&ctx) != BLICA_OK) return -1;
  blica_set_warn(ctx, warn, NULL);
  return 0;
}

static int end(void **state) {
  (void)state;
  blica_ctx_free(ctx);
  chmod(folder, 0700);
  unlink(path);
  return rmdir(folder); /* fails when anything else was left, such as a temporary file */
}

typedef struct {
  int a;
  double x[3];
} item;

static void pass_item(bl_serializer *io, void *user) {
  item *i = user;
  BL_PASS(io, i->a);
  bl_pass(io, i->x, sizeof i->x);
}

/* A file with three sections, one of them with a point. */
static void write_sample(void) {
  bl_checkpoint *c;
  item one = {7, {1, 2, 3}};
  double x[2] = {0.5, -0.25};
  assert_int_equal(bl_checkpoint_open(ctx, path, 1000, false, 1e300, &c), BLICA_OK);
  bl_stage root = {.checkpoint = c}, stage = bl_stage_below(&root, "start %d", 2),
           below = bl_stage_below(&stage, "round 0");
  bl_stage_over_at(ctx, &below, bl_pass_nothing, NULL, x, 2);
  bl_stage other = bl_stage_below(&root, "options");
  bl_stage_over(ctx, &other, pass_item, &one);
  assert_int_not_equal(access(path, F_OK), 0); /* it is not time yet */
  bl_checkpoint_flush(ctx, c);
  assert_int_equal(access(path, F_OK), 0);
  bl_checkpoint_free(c);
}

static unsigned char *content(size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  unsigned char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, f), *size);
  fclose(f);
  return bytes;
}

static void put_content(const unsigned char *bytes, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  fclose(f);
}

static void test_round_trip(void **state) {
  bl_checkpoint *c;
  item one = {0};
  double x[2] = {0}, y = 3;
  (void)state;
  write_sample();
  assert_int_equal(bl_checkpoint_open(ctx, path, 1000, true, 1e300, &c), BLICA_OK);
  assert_true(bl_checkpoint_resumed(c));
  bl_stage root = {.checkpoint = c}, stage = bl_stage_below(&root, "start 2"),
           below = bl_stage_below(&stage, "round 0");
  bl_stage other = bl_stage_below(&root, "options");
  assert_int_equal(bl_stage_find(&stage), BL_STAGE_NONE);
  assert_int_equal(bl_stage_find(&below), BL_STAGE_OVER);
  assert_int_equal(bl_stage_load_at(ctx, &below, bl_pass_nothing, NULL, x, 2), BLICA_OK);
  assert_true(x[0] == 0.5 && x[1] == -0.25);
  assert_int_equal(bl_stage_load(ctx, &other, pass_item, &one), BLICA_OK);
  assert_true(one.a == 7 && one.x[2] == 3);
  /* other sizes than were kept */
  assert_int_equal(bl_stage_load_at(ctx, &below, bl_pass_nothing, NULL, &y, 1), BLICA_ERR_FORMAT);
  assert_int_equal(bl_stage_load(ctx, &below, pass_item, &one), BLICA_ERR_FORMAT);
  /* a stage that is over forgets those below */
  bl_stage_over(ctx, &stage, pass_item, &one);
  assert_int_equal(bl_stage_find(&below), BL_STAGE_NONE);
  bl_checkpoint_free(c);
}

static void refused(const unsigned char *bytes, uint64_t size, const char *what, uint64_t at) {
  bl_checkpoint c = {.path = path};
  blica_status status = bl_checkpoint_parse(ctx, "F", bytes, size, &c);
  if (status != BLICA_ERR_FORMAT) fail_msg("%s at %llu was not refused", what, (unsigned long long)at);
  assert_non_null(strstr(blica_message(ctx), "F"));
  assert_int_equal(c.sections, 0);
}

static void test_damage(void **state) {
  size_t size;
  (void)state;
  write_sample();
  unsigned char *bytes = content(&size);
  for (size_t cut = 0; cut < size; cut++) {
    unsigned char *part = malloc(cut ? cut : 1); /* so that reading past its end is seen */
    memcpy(part, bytes, cut);
    refused(part, cut, "the cut", cut);
    free(part);
  }
  for (size_t bit = 0; bit < 8 * size; bit++) {
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    refused(bytes, size, "the changed bit", bit);
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  bytes = realloc(bytes, size + 1);
  bytes[size] = 0;
  refused(bytes, size + 1, "the added byte", size);
  free(bytes);
}

/* Every field of the file set to odd values: lengths are checked before anything is known of the checksum, so nothing
 * may be read out of bounds. */
static void test_forged(void **state) {
  size_t size;
  (void)state;
  write_sample();
  unsigned char *bytes = content(&size);
  const uint64_t odd[] = {0, 1, 95, 96, 1000, 1u << 31, UINT64_MAX, UINT64_MAX / 2, UINT64_MAX - 40};
  for (size_t at = 0; at + 16 <= size; at += 4)
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
      unsigned char keep[8];
      bl_checkpoint c = {.path = path};
      memcpy(keep, bytes + at, 8);
      memcpy(bytes + at, &odd[i], 8);
      if (memcmp(keep, bytes + at, 8) != 0)
        assert_int_equal(bl_checkpoint_parse(ctx, "F", bytes, size, &c), BLICA_ERR_FORMAT);
      assert_int_equal(c.sections, 0);
      memcpy(bytes + at, keep, 8);
    }
  free(bytes);
}

static void test_messages(void **state) {
  bl_checkpoint *c = NULL;
  (void)state;
  write_sample();
  assert_int_equal(bl_checkpoint_open(ctx, path, 1, false, 1e300, &c), BLICA_ERR_IO);
  assert_non_null(strstr(blica_message(ctx), "exists already"));
  put_content((const unsigned char *)"x1,x2,segment\n0,1,a\n", 20);
  assert_int_equal(bl_checkpoint_open(ctx, path, 1, true, 1e300, &c), BLICA_ERR_FORMAT);
  assert_non_null(strstr(blica_message(ctx), "is not a checkpoint"));
  assert_int_equal(bl_checkpoint_open(ctx, folder, 1, true, 1e300, &c), BLICA_ERR_IO);
  assert_int_equal(bl_checkpoint_open(ctx, "/dev/null", 1, true, 1e300, &c), BLICA_ERR_IO);
  assert_null(c);
  unlink(path);
  assert_int_equal(bl_checkpoint_open(ctx, path, 1, true, 1e300, &c), BLICA_OK);
  assert_false(bl_checkpoint_resumed(c));
  assert_non_null(strstr(warned, "starts from the beginning"));
  bl_checkpoint_free(c);
}

/* Warned of once; what is there stays; the next write that works is made. */
static void test_write_fails(void **state) {
  bl_checkpoint *c;
  item one = {1, {0}};
  size_t before, after;
  (void)state;
  write_sample();
  unsigned char *old = content(&before);
  assert_int_equal(bl_checkpoint_open(ctx, path, 0, true, 1e300, &c), BLICA_OK);
  bl_stage root = {.checkpoint = c}, stage = bl_stage_below(&root, "work");
  char *good = c->path, bad[] = "/dev/full/x";
  c->path = bad;
  bl_stage_enter(ctx, &stage);
  for (int i = 0; i < 3; i++) bl_stage_offer(ctx, &stage, BL_CONTINUE, pass_item, &one);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(warned, "/dev/full/x"));
  unsigned char *still = content(&after);
  assert_true(before == after && memcmp(old, still, before) == 0);
  c->path = good;
  bl_stage_offer(ctx, &stage, BL_CONTINUE, pass_item, &one);
  free(still);
  still = content(&after);
  assert_compare(after, >, before);
  bl_stage_leave(ctx, &stage);
  bl_checkpoint_free(c);
  free(still);
  free(old);
}

/* A stop keeps the state of what runs, and nothing of what comes after. */
static void test_cut_short(void **state) {
  bl_checkpoint *c;
  item one = {1, {0}}, two = {2, {0}};
  (void)state;
  assert_int_equal(bl_checkpoint_open(ctx, path, 1000, false, 1e300, &c), BLICA_OK);
  bl_stage root = {.checkpoint = c}, a = bl_stage_below(&root, "a"), b = bl_stage_below(&root, "b");
  bl_stage later = bl_stage_below(&root, "later"), result = bl_stage_below(&root, "result");
  bl_stage_enter(ctx, &a);
  bl_stage_enter(ctx, &b);
  bl_stage_offer(ctx, &a, BL_CONTINUE, pass_item, &one);
  assert_int_equal(bl_stage_find(&a), BL_STAGE_NONE); /* not time */
  bl_stage_offer(ctx, &a, BL_STOP_REQUESTED, pass_item, &one);
  assert_int_not_equal(access(path, F_OK), 0); /* b has not offered */
  bl_stage_leave(ctx, &a);
  bl_stage_offer(ctx, &b, BL_STOP_REQUESTED, pass_item, &two);
  assert_int_equal(access(path, F_OK), 0);
  bl_stage_leave(ctx, &b);
  bl_stage_over(ctx, &result, pass_item, &one);
  bl_stage_enter(ctx, &later);
  bl_stage_offer(ctx, &later, BL_STOP_REQUESTED, pass_item, &one);
  bl_stage_leave(ctx, &later);
  bl_checkpoint_flush(ctx, c);
  bl_checkpoint_free(c);
  assert_int_equal(bl_checkpoint_open(ctx, path, 1000, true, 1e300, &c), BLICA_OK);
  root.checkpoint = a.checkpoint = b.checkpoint = later.checkpoint = result.checkpoint = c;
  assert_int_equal(bl_stage_find(&a), BL_STAGE_BETWEEN);
  assert_int_equal(bl_stage_find(&b), BL_STAGE_BETWEEN);
  assert_int_equal(bl_stage_find(&later), BL_STAGE_NONE);
  assert_int_equal(bl_stage_find(&result), BL_STAGE_NONE);
  bl_checkpoint_free(c);
}

static void test_digest(void **state) {
  unsigned char bytes[64] = {0};
  (void)state;
  uint64_t none = bl_digest(1, bytes, 64);
  for (int bit = 0; bit < 512; bit++) {
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    assert_true(bl_digest(1, bytes, 64) != none);
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  for (size_t length = 0; length < 64; length++) assert_true(bl_digest(1, bytes, length) != none);
}

/* A state of L-BFGS whose numbers are impossible. */
static double bowl(const double *x, double *gradient, void *user) {
  (void)user;
  gradient[0] = 2 * (x[0] - 1);
  return (x[0] - 1) * (x[0] - 1);
}

static void pass_zeros(bl_serializer *io, void *user) {
  (void)user;
  int64_t counts[2] = {1, 1};
  double values[2] = {0};
  int stored = 1000, newest = 5;
  BL_PASS(io, counts);
  BL_PASS(io, values);
  BL_PASS(io, stored);
  BL_PASS(io, newest);
}

static void test_bad_state(void **state) {
  bl_checkpoint *c;
  double x = 0;
  (void)state;
  assert_int_equal(bl_checkpoint_open(ctx, path, 0, false, 1e300, &c), BLICA_OK);
  bl_stage root = {.checkpoint = c}, stage = bl_stage_below(&root, "lbfgs");
  bl_stage_enter(ctx, &stage);
  bl_stage_offer(ctx, &stage, BL_CONTINUE, pass_zeros, NULL);
  bl_stage_leave(ctx, &stage);
  bl_lbfgs_options options = {.history = 20, .max_iterations = 9, .gradient_tolerance = 1e-9, .stage = &stage};
  bl_lbfgs_result result;
  assert_int_equal(bl_lbfgs(ctx, 1, &x, bowl, NULL, &options, &result), BLICA_ERR_FORMAT);
  assert_non_null(strstr(blica_message(ctx), "'lbfgs'"));
  bl_checkpoint_free(c);
}

/* Two fits that began together: the state of the first stays, and the second says so. */
static void test_two_writers(void **state) {
  bl_checkpoint *first, *second;
  item one = {1, {1}}, two = {2, {2}}, found = {0};
  (void)state;
  assert_int_equal(bl_checkpoint_open(ctx, path, 1000, false, 1e300, &first), BLICA_OK);
  assert_int_equal(bl_checkpoint_open(ctx, path, 1000, false, 1e300, &second), BLICA_OK);
  bl_stage of_first = bl_stage_below(&(bl_stage){.checkpoint = first}, "item");
  bl_stage of_second = bl_stage_below(&(bl_stage){.checkpoint = second}, "item");
  bl_stage_over(ctx, &of_first, pass_item, &one), bl_checkpoint_flush(ctx, first);
  assert_int_equal(warnings, 0);
  bl_stage_over(ctx, &of_second, pass_item, &two), bl_checkpoint_flush(ctx, second);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(warned, "is written by another process, too"));
  one.a = 3;
  bl_stage_over(ctx, &of_first, pass_item, &one), bl_checkpoint_flush(ctx, first); /* its own file is no reason */
  assert_int_equal(warnings, 1);
  bl_checkpoint_free(first), bl_checkpoint_free(second);
  assert_int_equal(bl_checkpoint_open(ctx, path, 1000, true, 1e300, &first), BLICA_OK);
  bl_stage again = bl_stage_below(&(bl_stage){.checkpoint = first}, "item");
  assert_int_equal(bl_stage_load(ctx, &again, pass_item, &found), BLICA_OK);
  assert_int_equal(found.a, 3);
  bl_checkpoint_free(first);
}

#define OWN_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      OWN_FOLDER(test_round_trip), OWN_FOLDER(test_damage),      OWN_FOLDER(test_forged),
      OWN_FOLDER(test_messages),   OWN_FOLDER(test_write_fails), OWN_FOLDER(test_cut_short),
      OWN_FOLDER(test_digest),     OWN_FOLDER(test_bad_state),   OWN_FOLDER(test_two_writers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
