/* fuzz_counts_csv.c - pair counts in long form. */
#include "counts_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blica_counts *counts;
  blica_status status = blica_counts_load(fuzz_ctx(), fuzz_file("in.csv", data, size), &counts);
  if (status == BLICA_OK)
    counts_check(counts);
  else
    fuzz_check_failure(status, counts);
  blica_counts_free(counts);
  return 0;
}
