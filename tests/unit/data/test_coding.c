/* Names of columns that carry the levels of items: written, read back, and refused where columns are missing, out of
 * order or of two items. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "context.h"
#include "data/coding.h"

static blica_coding *parse(int columns, const char *const *names) {
  blica_coding *coding = NULL;
  if (bl_coding_parse(ctx, columns, (char *const *)names, &coding) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return coding;
}

static void same_coding(const blica_coding *a, const blica_coding *b) {
  assert_int_equal(a->items, b->items);
  for (int i = 0; i <= a->items; i++) assert_int_equal(a->first[i], b->first[i]);
  for (int i = 0; i < a->items; i++) assert_string_equal(a->names[i], b->names[i]);
  for (int l = 0; l < a->first[a->items] + a->items; l++) assert_string_equal(a->labels[l], b->labels[l]);
}

static void names_are_written_and_read_back(void **state) {
  (void)state;
  static const char *const items[] = {"mood", "plain", "q[1]", "yes"};
  static const int levels[] = {3, 2, 4, 2};
  static const char *const labels[] = {"low", "so so", "high", "0", "1", "a", "b", "c", "d", "no", "yes"};
  static const char *const columns[] = {"mood[low<so so<high]>=1", "mood[low<so so<high]>=2", "plain",
                                        "q[1][a<b<c<d]>=1",        "q[1][a<b<c<d]>=2",        "q[1][a<b<c<d]>=3",
                                        "yes[no<yes]>=1"};
  blica_coding *made, *copy;
  char **names;
  assert_int_equal(bl_coding_make(ctx, 4, items, levels, labels, &made), BLICA_OK);
  assert_true(bl_coding_ordinal(made) && bl_plane(made, 2) == 3 && bl_plane(made, 4) == 7);
  assert_int_equal(blica_ordinal_items(made), 2);
  assert_int_equal(bl_coding_columns(ctx, made, &names), BLICA_OK);
  for (int c = 0; c < 7; c++) assert_string_equal(names[c], columns[c]);
  blica_coding *back = parse(7, (const char *const *)names);
  same_coding(made, back);
  assert_int_equal(bl_coding_copy(ctx, made, &copy), BLICA_OK);
  same_coding(made, copy);
  bl_free(names);
  blica_coding_free(made), blica_coding_free(back), blica_coding_free(copy);
}

/* Labels are 0, 1, 2, ... when none are given; an item of plain 0 and 1 is one column under its own name. */
static void labels_count_from_zero(void **state) {
  (void)state;
  static const char *const items[] = {"a", "b"};
  blica_coding *made;
  char **names;
  assert_int_equal(bl_coding_make(ctx, 2, items, (const int[]){2, 3}, NULL, &made), BLICA_OK);
  assert_int_equal(bl_coding_columns(ctx, made, &names), BLICA_OK);
  assert_string_equal(names[0], "a");
  assert_string_equal(names[1], "b[0<1<2]>=1");
  assert_string_equal(names[2], "b[0<1<2]>=2");
  bl_free(names);
  blica_coding_free(made);
}

/* Names that only resemble coded ones are plain. */
static void other_names_are_plain(void **state) {
  (void)state;
  static const char *const plain[][2] = {{"x1", "x2"}, {"x[1]", "x[2]"}, {"a>=1", "b"}, {"[a<b]>=x", "c"}};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) assert_null(parse(2, plain[i]));
  /* an item needs a name, a list two levels, and the number must be one of its levels */
  static const char *const mixed[] = {"[a<b]>=1", "v[a<b<c]>=1", "v[a<b<c]>=2", "v[a<b<c]>=3", "q[1]>=2", "w[a<b]>=0"};
  blica_coding *coding = parse(6, mixed);
  assert_int_equal(coding->items, 5);
  assert_string_equal(coding->names[0], "[a<b]>=1");
  assert_string_equal(coding->names[1], "v");
  for (int i = 2; i < 5; i++) assert_string_equal(coding->names[i], mixed[i + 1]);
  blica_coding_free(coding);
  static const char *const beyond[] = {"v[a<b<c]>=1", "v[a<b<c]>=2", "v[a<b<c]>=3"}; /* a list of three has no third */
  coding = parse(3, beyond);
  assert_int_equal(coding->items, 2);
  assert_string_equal(coding->names[0], "v");
  assert_string_equal(coding->names[1], "v[a<b<c]>=3");
  blica_coding_free(coding);
}

static void refused(int columns, const char *const *names, const char *why) {
  blica_coding *coding = NULL;
  assert_int_equal(bl_coding_parse(ctx, columns, (char *const *)names, &coding), BLICA_ERR_DATA);
  assert_null(coding);
  if (!strstr(blica_message(ctx), why)) fail_msg("'%s' does not say '%s'", blica_message(ctx), why);
}

static void columns_must_be_there_in_order(void **state) {
  (void)state;
  refused(2, (const char *const[]){"v[a<b<c]>=1", "w"}, "column 'v[a<b<c]>=1'");
  refused(1, (const char *const[]){"v[a<b<c]>=1"}, "column 'v[a<b<c]>=1'");
  refused(2, (const char *const[]){"v[a<b<c]>=2", "v[a<b<c]>=1"}, "column 'v[a<b<c]>=2'");
  refused(2, (const char *const[]){"v[a<b<c]>=1", "v[a<b<d]>=2"}, "column 'v[a<b<c]>=1'");
  refused(2, (const char *const[]){"v[a<b<c]>=1", "w[a<b<c]>=2"}, "column 'v[a<b<c]>=1'");
  refused(2, (const char *const[]){"v[a<b<a]>=1", "v[a<b<a]>=2"}, "the level 'a' occurs twice");
  refused(2, (const char *const[]){"v[a<<c]>=1", "v[a<<c]>=2"}, "a level is ''");
}

static void levels_from_2_to_100(void **state) {
  (void)state;
  static const char *const item[] = {"v"};
  blica_coding *coding = NULL;
  assert_int_equal(bl_coding_make(ctx, 1, item, (const int[]){1}, NULL, &coding), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "item 'v' has 1 level;"));
  assert_int_equal(bl_coding_make(ctx, 1, item, (const int[]){101}, NULL, &coding), BLICA_ERR_DATA);
  assert_null(coding);
  assert_int_equal(bl_coding_make(ctx, 1, item, (const int[]){100}, NULL, &coding), BLICA_OK);
  assert_string_equal(coding->labels[99], "99");
  blica_coding_free(coding);
  static const char *const labels[] = {"low", "mid<dle", "high"};
  assert_int_equal(bl_coding_make(ctx, 1, item, (const int[]){3}, labels, &coding), BLICA_ERR_DATA);
  assert_non_null(strstr(blica_message(ctx), "'mid<dle'"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_written_and_read_back),
                                     cmocka_unit_test(labels_count_from_zero), cmocka_unit_test(other_names_are_plain),
                                     cmocka_unit_test(columns_must_be_there_in_order),
                                     cmocka_unit_test(levels_from_2_to_100)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
