/* fuzz_zst.c - tables packed by zstd. */
#include <zstd.h>

#include "packed.h"

static size_t pack(const uint8_t *text, size_t size, uint8_t *out) {
  size_t length = ZSTD_compress(out, PACKED_LONGEST, text, size, 1);
  CHECK(!ZSTD_isError(length));
  return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return packed_run(data, size, "in.csv.zst", pack);
}
