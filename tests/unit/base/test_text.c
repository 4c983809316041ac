/* Text from outside: what is UTF-8, and what a message may show of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/intern.h"
#include "base/text.h"
#include "context.h"

static void test_utf8(void **state) {
  (void)state;
  static const char *const good[] = {
      "", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x8d\x95", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"};
  static const char *const bad[] = {"\xe4",
                                    "caf\xe9",
                                    "\xc3",
                                    "\xc0\xaf",
                                    "\xe0\x80\xaf",
                                    "\xed\xa0\x80",
                                    "\xf4\x90\x80\x80",
                                    "\xf0\x8f\xbf\xbf",
                                    "\xf8\x88\x80\x80",
                                    "\x80"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(bl_is_utf8(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(bl_is_utf8(bad[i]));
}

static void check_clean(const char *text, const char *wanted) {
  char copy[64];
  snprintf(copy, sizeof copy, "%s", text);
  bl_text_clean(copy);
  assert_string_equal(copy, wanted);
}

static void test_clean(void **state) {
  (void)state;
  check_clean("smoker", "smoker");
  check_clean("\x1b[31mred\x1b[0m", "?[31mred?[0m");
  check_clean("a\nb\tc\x7f", "a?b?c?");
  check_clean("\xc2\x9b"
              "31m",
              "?31m"); /* the one-byte form of ESC [ as a character */
  check_clean("\xe6\x97\xa5\xe6\x9c", "\xe6\x97\xa5");
  check_clean("'\xe6\x97\xa5\xe6\x9c' and more", "'\xe6\x97\xa5' and more");
  check_clean("caf\xff", "caf?");
  check_clean("\xc3\xa4\xe2\x82\xac\xf0\x9f\x8d\x95", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x8d\x95");
}

static char heard[2048];
static void hear(const char *text, void *user) {
  (void)user;
  snprintf(heard, sizeof heard, "%s", text);
}

/* A message is cut between characters, wherever its end falls. */
static void test_messages_are_whole(void **state) {
  (void)state;
  char name[1200] = "";
  for (int i = 0; i < 390; i++) strcat(name, "\xe6\x97\xa5");
  blica_set_warn(ctx, hear, NULL);
  for (int shift = 0; shift < 4; shift++) {
    bl_fail(ctx, BLICA_ERR_DATA, "%.*s%s", shift, "xxx", name);
    assert_true(bl_is_utf8(blica_message(ctx)));
    assert_in_range(strlen(blica_message(ctx)), BL_MESSAGE - 5, BL_MESSAGE - 1);
    bl_fail(ctx, BLICA_ERR_DATA, "'%.*s' ends here", 10 + shift, name);
    assert_true(bl_is_utf8(blica_message(ctx)));
    assert_non_null(strstr(blica_message(ctx), "\xe6\x97\xa5' ends here"));
    bl_warn(ctx, "%.*s%s", shift, "xxx", name);
    assert_true(bl_is_utf8(heard));
  }
  blica_set_warn(ctx, NULL, NULL);
}

/* A file could not hold such a name as it is, and would be refused when it is read again. */
static void test_names_are_utf8(void **state) {
  (void)state;
  const char *latin[] = {"caf\xe9", "b"}, *fine[] = {"caf\xc3\xa9", "b"};
  blica_packer *packer;
  int32_t id;
  assert_int_equal(blica_pack_begin(ctx, 2, latin, &packer), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "not UTF-8"));
  assert_int_equal(blica_pack_begin(ctx, 2, fine, &packer), BLICA_OK);
  assert_int_equal(blica_pack_segment(ctx, packer, "\xe9t\xe9", &id), BLICA_ERR_DATA);
  assert_int_equal(blica_pack_segment(ctx, packer, "\xc3\xa9t\xc3\xa9", &id), BLICA_OK);
  blica_packer_free(packer);
}

/* Each table hashes under a key of its own, so that no file can be made whose names collide. */
static void test_hashes_are_keyed(void **state) {
  (void)state;
  bl_intern a = {0}, b = {0};
  int32_t id;
  char name[16];
  for (int i = 0; i < 1000; i++) {
    snprintf(name, sizeof name, "name %d", i);
    assert_int_equal(bl_intern_add(ctx, &a, name, strlen(name), &id), BLICA_OK);
    assert_int_equal(id, i);
    assert_int_equal(bl_intern_add(ctx, &b, name, strlen(name), &id), BLICA_OK);
  }
  assert_int_equal(bl_intern_find(&a, "name 77", 7), 77);
  assert_int_equal(bl_intern_find(&a, "name 1000", 9), -1);
  assert_true(a.hashes[0] != b.hashes[0] && a.hashes[999] != b.hashes[999]);
  bl_intern_clear(&a);
  bl_intern_clear(&b);
}

/* Texts of all lengths have hashes of their own. */
static void test_hash_spreads(void **state) {
  (void)state;
  const bl_hash_key key = {{0x0706050403020100u, 0x0f0e0d0c0b0a0908u}};
  uint64_t seen[64];
  char bytes[64];
  for (int length = 0; length < 64; length++) {
    bytes[length] = (char)length;
    seen[length] = bl_hash(key, bytes, (size_t)length);
    for (int before = 0; before < length; before++) assert_true(seen[before] != seen[length]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_clean),
      cmocka_unit_test(test_messages_are_whole),
      cmocka_unit_test(test_names_are_utf8),
      cmocka_unit_test(test_hashes_are_keyed),
      cmocka_unit_test(test_hash_spreads),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
