/* packed.h - compressed files out of the input, for the targets of gzip and zstd. */
#ifndef PACKED_H
#define PACKED_H

#include "table_check.h"

enum { PACKED_LONGEST = 1 << 18 };

/* Writes the compressed form of text to out (PACKED_LONGEST bytes), returns its length. */
typedef size_t (*packed_fn)(const uint8_t *text, size_t size, uint8_t *out);

/* The first byte of the input chooses: the rest is the compressed file as it is; or text, which must read the same
 * packed as plain; or text packed, then cut off and with a byte changed. */
static inline int packed_run(const uint8_t *data, size_t size, const char *name, packed_fn pack) {
  static uint8_t out[PACKED_LONGEST];
  fuzz_bytes b = {data, size};
  uint8_t kind = fuzz_byte(&b) % 3;
  table_options options = table_check_options(&b, NULL);
  if (kind == 0) {
    blica_data_free(table_check(fuzz_file(name, b.at, b.left), &options));
    return 0;
  }
  uint64_t damage = kind == 2 ? fuzz_word(&b) : 0;
  if (b.left > PACKED_LONGEST / 4) return 0;
  size_t length = pack(b.at, b.left, out);
  if (kind == 2) {
    length -= (size_t)(damage & 0xff) % (length + 1);
    if (length) out[(damage >> 8 & 0xffff) % length] ^= (uint8_t)(damage >> 24);
    blica_data_free(table_check(fuzz_file(name, out, length), &options));
    return 0;
  }
  blica_data *plain = table_check(fuzz_file("plain", b.at, b.left), &options);
  blica_data *packed = table_check(fuzz_file(name, out, length), &options);
  bool nested =
      b.left >= 2 && ((b.at[0] == 0x1f && b.at[1] == 0x8b) || b.at[0] == 0x28); /* read packed twice: not the same */
  CHECK(nested || !plain == !packed);
  CHECK(nested || !plain || table_same(plain, packed));
  blica_data_free(plain);
  blica_data_free(packed);
  return 0;
}

#endif
