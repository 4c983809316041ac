/* fuzz_gz.c - tables packed by gzip. */
#include <zlib.h>

#include "packed.h"

static size_t pack(const uint8_t *text, size_t size, uint8_t *out) {
  z_stream z = {.next_in = (uint8_t *)text, .avail_in = (uInt)size, .next_out = out, .avail_out = PACKED_LONGEST};
  CHECK(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
  size_t length = PACKED_LONGEST - z.avail_out;
  deflateEnd(&z);
  return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return packed_run(data, size, "in.csv.gz", pack);
}
