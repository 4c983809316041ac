/* hash.h - SipHash-1-3 (Aumasson and Bernstein, SipHash: a fast short-input PRF, INDOCRYPT 2012, with one and three
 * rounds): the hash of tables whose keys come from files, under a key that differs from table to table, so that no file
 * can be made whose keys collide, and a digest by which files and data are compared. Tables depend on no hash: what is
 * found is numbered by appearance or sorted. */
#ifndef BL_HASH_H
#define BL_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef struct {
  uint64_t word[2];
} bl_hash_key;

/* Draws a key from the clock and an address of the caller: not fit for secrets, but no file can foresee it. */
static inline bl_hash_key bl_hash_key_draw(const void *address) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (bl_hash_key){{(uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec << 20,
                        (uint64_t)(uintptr_t)address ^ (uint64_t)(uintptr_t)&now << 16}};
}

static inline uint64_t bl_hash_left(uint64_t x, int by) {
  return x << by | x >> (64 - by);
}

static inline void bl_hash_round(uint64_t v[4]) {
  v[0] += v[1], v[1] = bl_hash_left(v[1], 13) ^ v[0], v[0] = bl_hash_left(v[0], 32);
  v[2] += v[3], v[3] = bl_hash_left(v[3], 16) ^ v[2];
  v[0] += v[3], v[3] = bl_hash_left(v[3], 21) ^ v[0];
  v[2] += v[1], v[1] = bl_hash_left(v[1], 17) ^ v[2], v[2] = bl_hash_left(v[2], 32);
}

static inline void bl_hash_word(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  bl_hash_round(v);
  v[0] ^= word;
}

/* SipHash-1-3 of the bytes under this key. */
static inline uint64_t bl_hash(bl_hash_key key, const void *bytes, size_t length) {
  uint64_t v[4] = {key.word[0] ^ 0x736f6d6570736575u, key.word[1] ^ 0x646f72616e646f6du,
                   key.word[0] ^ 0x6c7967656e657261u, key.word[1] ^ 0x7465646279746573u};
  const char *at = bytes;
  uint64_t word;
  size_t left = length;
  for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
    memcpy(&word, at, sizeof word);
    bl_hash_word(v, word);
  }
  word = 0;
  if (left) memcpy(&word, at, left);
  bl_hash_word(v, word ^ (uint64_t)length << 56);
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++) bl_hash_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The digest of bytes that follow others; it begins as 0. Not for security. */
static inline uint64_t bl_digest(uint64_t digest, const void *bytes, size_t count) {
  return bl_hash((bl_hash_key){{digest, 0}}, bytes, count);
}

static inline uint64_t bl_digest_word(uint64_t digest, uint64_t word) {
  return bl_digest(digest, &word, sizeof word);
}

#endif
