/* fuzz_survey.c - files of SPSS and Stata: a byte for format and --ordinal, two bytes of options, then the file. */
#include "table_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"in.sav", "in.dta", "in.por", "in.sas7bdat"}; /* the last two have no seeds */
  fuzz_bytes b = {data, size};
  const uint8_t first = fuzz_byte(&b);
  table_options options = table_check_options(&b, NULL);
  options.ordinal = (first & 4) != 0;
  blica_data_free(table_check(fuzz_file(names[first & 3], b.at, b.left), &options));
  return 0;
}
