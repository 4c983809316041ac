/* Tables from Arrow's C stream: every type, offset, null and chunk gives the data of the same rows; errors in the
 * middle, arrays that lie and levels that are none are refused; and everything is released once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "arrow_stream.h"
#include "blica.h"

static blica_ctx *ctx;

enum { ROWS = 50, N = 12 };
static const char *const mood[] = {"low", "fair", "high", NULL}, *const yes[] = {"yes", "", "no", NULL};
static const char *const waves[] = {"spring", "summer", "caf\xc3\xa9", NULL};
static const arrow_column columns[N] = {
    {"b", "b", NULL, false, false, false}, {"c", "c", NULL, false, false, false},
    {"C", "C", NULL, false, false, false}, {"s", "s", NULL, false, false, false},
    {"S", "S", NULL, false, false, false}, {"i", "i", NULL, false, false, false},
    {"I", "I", NULL, false, false, false}, {"l", "l", NULL, false, false, false},
    {"L", "L", NULL, false, false, false}, {"mood", "c", mood, true, true, false},
    {"yes", "I", yes, true, false, true},  {"wave", "u", waves, false, false, false},
};
static int64_t values[ROWS * N];

static int setup(void **state) {
  (void)state;
  for (int r = 0; r < ROWS; r++)
    for (int i = 0; i < N; i++) {
      const int64_t draw = (r * 7919 + i * 104729 + r * r * 31) % 97, missing = i < N - 1 && draw % 11 == 3;
      values[r * N + i] = missing             ? ARROW_NULL
                          : i == 9 || i == 11 ? draw % 3
                          : i == 10           ? 2 * (draw % 2)
                          : i == 3            ? draw % 4 - 2
                                              : draw % 2;
    }
  return blica_ctx_create(&ctx) != BLICA_OK;
}

static int teardown(void **state) {
  (void)state;
  blica_ctx_free(ctx);
  return 0;
}

static const int whole[] = {ROWS, -1};

static arrow_plan plan_of(const int *chunk) {
  return (arrow_plan){.columns = columns, .n = N, .chunk = chunk, .values = values, .fail_at = -1};
}

static blica_status pack(arrow_plan *plan, const char *segment, blica_data **out) {
  struct ArrowArrayStream stream = arrow_stream(plan);
  const blica_status status = blica_pack_arrow(ctx, &stream, segment, 1, out);
  assert_null(stream.release);
  assert_int_equal(plan->made, plan->released);
  if (status != BLICA_OK) assert_null(*out);
  return status;
}

static void refused(arrow_plan plan, const char *segment, blica_status wanted, const char *words) {
  blica_data *data = (blica_data *)&ctx;
  const blica_status status = pack(&plan, segment, &data);
  if (status != wanted || !strstr(blica_message(ctx), words))
    fail_msg("status %d, message '%s', not %d, '%s'", status, blica_message(ctx), wanted, words);
}

/* The same rows through the packer. */
static blica_data *expected(void) {
  static const char *const names[] = {"b", "c", "C", "s", "S", "i", "I", "l", "L", "mood", "yes"};
  static const char *const labels[] = {"0", "1", "0", "1", "0", "1", "-2", "-1",  "0",    "1",    "0",   "1", "0",
                                       "1", "0", "1", "0", "1", "0", "1",  "low", "fair", "high", "yes", "no"};
  static const int levels[] = {2, 2, 2, 4, 2, 2, 2, 2, 2, 3, 2};
  int8_t x[ROWS * (N - 1)];
  int32_t segment[ROWS], id, ids[3];
  blica_packer *packer;
  blica_data *data;
  assert_int_equal(blica_pack_begin_items(ctx, N - 1, names, levels, labels, &packer), BLICA_OK);
  for (int r = 0; r < ROWS; r++) {
    for (int i = 0; i < N - 1; i++) {
      const int64_t v = values[r * N + i];
      x[r * (N - 1) + i] = (int8_t)(v == ARROW_NULL ? BLICA_MISSING : i == 3 ? v + 2 : i == 10 ? v / 2 : v);
    }
    const int64_t w = values[r * N + N - 1];
    assert_int_equal(blica_pack_segment(ctx, packer, waves[w], &id), BLICA_OK);
    ids[w] = id, segment[r] = ids[w];
  }
  assert_int_equal(blica_pack_rows(ctx, packer, ROWS, x, segment), BLICA_OK);
  assert_int_equal(blica_pack_end(ctx, packer, &data), BLICA_OK);
  return data;
}

static void assert_same(const blica_data *a, const blica_data *b) {
  assert_int_equal(a->n, b->n);
  assert_int_equal(a->u, b->u);
  assert_true(a->rows == b->rows && a->missing == b->missing);
  for (int i = 0; i < a->n; i++) assert_string_equal(a->variables[i], b->variables[i]);
  for (int s = 0; s < a->u; s++) {
    assert_string_equal(a->segments[s], b->segments[s]);
    assert_int_equal(a->words[s], b->words[s]);
    const size_t bytes = (size_t)a->words[s] * (size_t)a->n * sizeof(uint64_t);
    assert_memory_equal(a->ones[s], b->ones[s], bytes);
    assert_int_equal(a->present[s] != NULL, b->present[s] != NULL);
    if (a->present[s]) assert_memory_equal(a->present[s], b->present[s], bytes);
  }
  assert_memory_equal(a->row_segment, b->row_segment, (size_t)a->rows * sizeof *a->row_segment);
}

static void every_type_offset_and_chunk(void **state) {
  (void)state;
  static const int parts[] = {0, 7, 1, 0, 30, 12, 0, -1};
  blica_data *want = expected(), *data;
  for (int k = 0; k < 12; k++) {
    arrow_plan plan = plan_of(k % 2 ? parts : whole);
    plan.offset = (k / 2 % 3) * 5, plan.parent_offset = k / 6 * 3;
    if (pack(&plan, "wave", &data) != BLICA_OK) fail_msg("%s", blica_message(ctx));
    assert_same(want, data);
    blica_data_free(data);
  }
  blica_data_free(want);
}

static void segments_of_any_type(void **state) {
  (void)state;
  static const char *const types[] = {"b", "c", "C", "s", "S", "i", "I", "l", "L", "u", "U"};
  arrow_column some[3] = {columns[0], columns[1], {"seg", "", waves, false, false, false}};
  int64_t few[30];
  blica_data *data;
  for (int t = 0; t < 12; t++) {
    for (int r = 0; r < 10; r++) few[3 * r] = r % 2, few[3 * r + 1] = r / 5, few[3 * r + 2] = r / 4 % 2;
    some[2].format = t < 11 ? types[t] : "s", some[2].dictionary = t == 11;
    arrow_plan plan = {
        .columns = some, .n = 3, .chunk = (const int[]){4, 6, -1}, .values = few, .fail_at = -1, .offset = 3};
    if (pack(&plan, "seg", &data) != BLICA_OK) fail_msg("%s: %s", some[2].format, blica_message(ctx));
    assert_int_equal(data->u, 2);
    assert_string_equal(data->segments[1], t < 9 ? "1" : "summer");
    blica_data_free(data);
    few[3 * 5 + 2] = ARROW_NULL;
    refused((arrow_plan){.columns = some, .n = 3, .chunk = (const int[]){4, 6, -1}, .values = few, .fail_at = -1},
            "seg", BLICA_ERR_DATA, "row 6 has no segment");
  }
}

static void errors_of_the_stream(void **state) {
  (void)state;
  static const int parts[] = {20, 30, -1}, none[] = {0, -1};
  for (int at = 0; at < 3; at++) {
    arrow_plan plan = plan_of(parts);
    plan.fail_at = at;
    refused(plan, "wave", BLICA_ERR_IO, "the Arrow stream failed: the disk is on fire (error 5)");
  }
  refused(plan_of(none), "wave", BLICA_ERR_DATA, "column 'mood' has 0 different values");
  refused(plan_of(whole), "term", BLICA_ERR_ARGUMENT, "no column 'term'");
  refused(plan_of(whole), NULL, BLICA_ERR_DATA, "column 'wave' has the Arrow format 'u'");
  struct ArrowArrayStream released = {0};
  blica_data *data;
  assert_int_equal(blica_pack_arrow(ctx, &released, NULL, 0, &data), BLICA_ERR_ARGUMENT);
  assert_non_null(strstr(blica_message(ctx), "released before"));
}

static int lying;

/* One lie each. */
static void spoil(struct ArrowArray *a, int chunk) {
  (void)chunk;
  struct ArrowArray *column = a->children[1], *dictionary = a->children[9]->dictionary, *text = a->children[11];
  switch (lying) {
  case 0:
    column->length = -1;
    break;
  case 1:
    column->length = ROWS - 1;
    break;
  case 2:
    column->offset = -1;
    break;
  case 3:
    column->offset = INT64_MAX;
    break;
  case 4:
    column->null_count = ROWS + 1;
    break;
  case 5:
    column->n_buffers = 3;
    break;
  case 6:
    column->buffers[1] = NULL;
    break;
  case 7:
    column->buffers[0] = NULL, column->null_count = 2;
    break;
  case 8:
    a->n_children = 3;
    break;
  case 9:
    a->length = INT64_MAX - 1;
    break;
  case 10:
    a->length = -5;
    break;
  case 11:
    dictionary->length = 1;
    break;
  case 12:
    ((int32_t *)dictionary->buffers[1])[1] = -4;
    break;
  case 13:
    ((int32_t *)text->buffers[1])[1] = 1 << 30, ((int32_t *)text->buffers[1])[2] = 0;
    break;
  case 14:
    ((int8_t *)a->children[9]->buffers[1])[0] = -1, ((int8_t *)a->children[9]->buffers[1])[1] = -1;
    break;
  case 15:
    dictionary->release(dictionary);
    break;
  default:
    dictionary->n_buffers = 2;
    break;
  }
}

static void arrays_that_lie(void **state) {
  (void)state;
  for (lying = 0; lying < 17; lying++) {
    arrow_plan plan = plan_of(whole);
    plan.spoil = spoil;
    blica_data *data;
    /* a lie about the number of children would leave the producer's own release short of some */
    if (pack(&plan, "wave", &data) != BLICA_ERR_FORMAT) fail_msg("lie %d: %s", lying, blica_message(ctx));
    assert_true(strstr(blica_message(ctx), "damaged") || strstr(blica_message(ctx), "impossible"));
  }
}

static const char *const other[] = {"low", "high", "fair", NULL};
static int seen_chunk;

static void reorder(struct ArrowArray *a, int chunk) {
  seen_chunk = chunk;
  if (chunk == 1) ((char *)a->children[9]->dictionary->buffers[2])[0] = 'b'; /* "low" becomes "bow" */
}

static void levels_that_are_none(void **state) {
  (void)state;
  static const int parts[] = {20, 30, -1};
  arrow_column some[3] = {columns[0], {"x", "i", NULL, false, false, false}, {"mood", "c", other, true, false, false}};
  int64_t few[30];
  for (int r = 0; r < 10; r++) few[3 * r] = r % 2, few[3 * r + 1] = r / 5, few[3 * r + 2] = r % 3;
  arrow_plan plan = {.columns = some, .n = 3, .chunk = (const int[]){10, -1}, .values = few, .fail_at = -1};
  refused(plan, NULL, BLICA_ERR_DATA, "column 'mood' has 3 different values");
  for (int r = 0; r < 10; r++) few[3 * r + 1] = 7, few[3 * r + 2] = r % 2;
  refused(plan, NULL, BLICA_ERR_DATA, "column 'x' has 1 different value;");
  some[1].format = "g";
  refused(plan, NULL, BLICA_ERR_DATA, "column 'x' has the Arrow format 'g'");
  arrow_plan changed = plan_of(parts);
  changed.spoil = reorder;
  refused(changed, "wave", BLICA_ERR_DATA, "column 'mood': its ordered dictionary differs between chunks");
  assert_int_equal(seen_chunk, 1);
  int64_t many[3 * 120];
  for (int r = 0; r < 120; r++) many[3 * r] = r % 2, many[3 * r + 1] = r, many[3 * r + 2] = r % 2;
  some[1].format = "l";
  refused((arrow_plan){.columns = some, .n = 3, .chunk = (const int[]){120, -1}, .values = many, .fail_at = -1}, NULL,
          BLICA_ERR_DATA, "column 'x' has more than 100 values");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_offset_and_chunk), cmocka_unit_test(segments_of_any_type),
      cmocka_unit_test(errors_of_the_stream),        cmocka_unit_test(arrays_that_lie),
      cmocka_unit_test(levels_that_are_none),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
