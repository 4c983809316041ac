/* fuzz_csv.c - tables of text: two bytes of options, then the file; from a form feed on, the segment file. */
#include <string.h>

#include "table_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  if (size < 2) return 0;
  const uint8_t *text = data + 2, *cut = memchr(text, '\f', size - 2);
  size_t length = cut ? (size_t)(cut - text) : size - 2;
  const char *labels = cut ? fuzz_file("labels", cut + 1, size - 2 - length - 1) : NULL;
  table_options options = table_check_options(&b, labels);
  blica_data_free(table_check(fuzz_file("in.csv", text, length), &options));
  return 0;
}
