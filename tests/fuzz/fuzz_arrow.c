/* fuzz_arrow.c - tables of any types, values, chunks and offsets as an Arrow stream, whose arrays may lie in all that
 * can be checked. */
#include <stdio.h>

#include "arrow_stream.h"
#include "fuzz.h"

enum { MOST = 5, ROWS = 40 };

static int lie_chunk, lie_child, lie_field;
static int64_t lie_value;

/* Writes any number into a field whose truth can be checked; less than the truth where it would be believed. */
static void spoil(struct ArrowArray *a, int chunk) {
  if (chunk != lie_chunk) return;
  struct ArrowArray *c = a->children[lie_child];
  int64_t *const fields[] = {&a->n_children, &c->null_count, &c->n_buffers, &c->length, &c->offset};
  if (lie_field >= 3 && lie_value >= 0) return; /* nothing says that a buffer is shorter */
  if (lie_field < 5) *fields[lie_field] = lie_value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const types[] = {"b", "c", "C", "s", "S", "i", "I", "l", "L", "u", "U", "g", "+s", ""};
  static const char *const texts[] = {"low", "fair", "", "high", "\xff", NULL}, *const names[] = {"a", "b", "", "d",
                                                                                                  "seg"};
  fuzz_bytes b = {data, size};
  arrow_column columns[MOST];
  int64_t values[ROWS * MOST];
  int chunk[6], left = ROWS, count = fuzz_int(&b, 0, 4), n = fuzz_int(&b, 1, MOST);
  for (int i = 0; i < n; i++)
    columns[i] = (arrow_column){names[fuzz_int(&b, 0, 4)], types[fuzz_int(&b, 0, 13)], texts,
                                fuzz_int(&b, 0, 3) == 0,   fuzz_int(&b, 0, 1),         fuzz_int(&b, 0, 1)};
  for (int i = 0; i < n; i++) { /* the producer makes arrays of these types only; a format that is none has no array */
    if (strlen(columns[i].format) != 1 || *columns[i].format == 'g') columns[i].format = "l";
    columns[i].dictionary = columns[i].dictionary && !strchr("buU", *columns[i].format);
  }
  for (int k = 0; k < count; k++) left -= chunk[k] = fuzz_int(&b, 0, left);
  chunk[count] = -1;
  for (int k = 0; k < ROWS * n; k++) {
    const int v = fuzz_int(&b, 0, 8);
    values[k] = v > 5 ? ARROW_NULL : v > 4 && !strchr("uU", *columns[k % n].format) ? v * 1000003 - 5000000 : v % 5;
  }
  lie_chunk = fuzz_int(&b, -3, 3), lie_child = fuzz_int(&b, 0, n - 1), lie_field = fuzz_int(&b, 0, 5);
  lie_value = fuzz_int(&b, -4, 60);
  arrow_plan plan = {.columns = columns,
                     .n = n,
                     .offset = fuzz_int(&b, 0, 9),
                     .parent_offset = fuzz_int(&b, 0, 9),
                     .chunk = chunk,
                     .values = values,
                     .fail_at = fuzz_int(&b, -4, 4),
                     .spoil = spoil};
  struct ArrowArrayStream stream = arrow_stream(&plan);
  blica_data *packed = NULL;
  const blica_status status =
      blica_pack_arrow(fuzz_ctx(), &stream, fuzz_int(&b, 0, 1) ? "seg" : NULL, fuzz_int(&b, 0, 1), &packed);
  CHECK(plan.made == plan.released && !stream.release);
  if (status != BLICA_OK) {
    fuzz_check_failure(status, packed);
    return 0;
  }
  CHECK(packed->rows == plan.row && packed->n >= 2);
  blica_data_free(packed);
  return 0;
}
