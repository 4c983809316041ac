/* digest.h - a 64-bit digest of bytes: checksum of files, and to compare data. Not for security.
 *
 * Each step is a bijection of the digest for a given word and of the word for a given digest, so two texts of one
 * length that differ within one 8-byte word never agree; others agree by a chance of 2^-64. */
#ifndef BL_DIGEST_H
#define BL_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t bl_digest_word(uint64_t digest, uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
  return digest ^ digest >> 29;
}

/* Whole words, then one of the bytes that are left and how many these are. */
static inline uint64_t bl_digest(uint64_t digest, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  uint64_t word;
  for (; count >= sizeof word; count -= sizeof word, at += sizeof word) {
    memcpy(&word, at, sizeof word);
    digest = bl_digest_word(digest, word);
  }
  word = 0;
  if (count) memcpy(&word, at, count);
  return bl_digest_word(bl_digest_word(digest, word), count);
}

#endif
