/* fuzz_npy.c - tables as .npy: two bytes of options, then the file. */
#include "table_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  table_options options = table_check_options(&b, NULL);
  blica_data_free(table_check(fuzz_file("in.npy", b.at, b.left), &options));
  return 0;
}
