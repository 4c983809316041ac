/* Reading JSON: what RFC 8259 allows, and what it does not, with the place in the message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "context.h"
#include "model/json.h"

static void values_are_what_the_text_says(void **unused) {
  (void)unused;
  static const char text[] = " {\"a\": [1, -0.5e-3, [], {}, null, true, false],\n"
                             "\"\\u00e4\\n\\\"\\/\\ud83d\\ude00\": \"\xc3\xb6\", \"z\": -0.0}\n";
  bl_json *root;
  assert_int_equal(bl_json_parse(ctx, "x", text, strlen(text), &root), BLICA_OK);
  assert_true(root->kind == BL_JSON_OBJECT && root->count == 3 && root->span == 11);
  const bl_json *a = bl_json_member(root, "a"), *v = a + 1;
  static const bl_json_kind kinds[] = {BL_JSON_NUMBER, BL_JSON_NUMBER, BL_JSON_ARRAY, BL_JSON_OBJECT,
                                       BL_JSON_NULL,   BL_JSON_TRUE,   BL_JSON_FALSE};
  assert_int_equal(a->count, 7);
  for (size_t i = 0; i < 7; i++, v += v->span) assert_int_equal(v->kind, kinds[i]);
  assert_true(a[1].number == 1 && a[2].number == -0.5e-3);
  assert_string_equal(bl_json_string(bl_json_member(root, "\xc3\xa4\n\"/\xf0\x9f\x98\x80")), "\xc3\xb6");
  assert_true(bl_json_member(root, "z")->number == 0);
  assert_null(bl_json_member(root, "b"));
  assert_null(bl_json_string(a));
  bl_free(root);
}

static void mistakes_are_refused_where_they_are(void **unused) {
  (void)unused;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "line 1, column 1: a value is expected"},
      {"[1,]", "line 1, column 4: a value is expected"},
      {"[1 2]", "column 4: a comma or a closing bracket is expected"},
      {"[1}", "column 3: a comma or a closing bracket is expected"},
      {"{\"a\":1,\n\"a\":2}", "line 2, column 4: a name occurs twice"},
      {"{a:1}", "column 2: the name of a member is expected"},
      {"{\"a\" 1}", "column 6: a colon is expected"},
      {"01", "a number begins with 0"},
      {"1.", "a number has no digits behind its point"},
      {"1e", "a number has no digits in its exponent"},
      {"+1", "a value is expected"},
      {"0x10", "column 2: text follows the document"},
      {"1e999", "a number is too large"},
      {"NaN", "a value is expected"},
      {"\"a\nb\"", "a string does not end, or holds a control character"},
      {"\"abc", "a string does not end, or holds a control character"},
      {"\"\xc3(\"", "a string is not UTF-8"},
      {"\"\\x\"", "column 2: a string has an escape that is not known"},
      {"\"\\u0000\"", "a string has an escape that is not known"},
      {"\"\\ud800\"", "a string has an escape that is not known"},
      {"\"\\ud800\\u0041\"", "a string has an escape that is not known"},
      {"\"\\u12", "a string has an escape that is not known"},
      {"\"\\", "a string has an escape that is not known"},
      {"null true", "column 6: text follows the document"},
      {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1", "byte 33: brackets nest deeper than 32"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    bl_json *root;
    assert_int_equal(bl_json_parse(ctx, "x", bad[i].text, strlen(bad[i].text), &root), BLICA_ERR_FORMAT);
    assert_null(root);
    if (!strstr(blica_message(ctx), bad[i].message)) fail_msg("%s\n%s", bad[i].text, blica_message(ctx));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_what_the_text_says),
      cmocka_unit_test(mistakes_are_refused_where_they_are),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
