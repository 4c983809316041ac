/* rng.c - Philox 4x32-10 as a stream of 64-bit words; normals by Box and Muller.
 * Reference: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011); checked against the
 * known answers that they publish in tests/unit/num/test_rng.c. */
#include "num/rng.h"

#include <math.h>

bl_rng bl_rng_make(uint64_t seed, uint64_t stream) {
  return (bl_rng){.seed = seed, .stream = stream};
}

/* Enciphers the counter (next, stream) under the key seed: two words, in the order in which they are drawn. */
static void encipher(const bl_rng *rng, uint64_t word[2]) {
  uint32_t a = (uint32_t)rng->next, b = (uint32_t)(rng->next >> 32), key0 = (uint32_t)rng->seed;
  uint32_t c = (uint32_t)rng->stream, d = (uint32_t)(rng->stream >> 32), key1 = (uint32_t)(rng->seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t p = UINT64_C(0xD2511F53) * a, q = UINT64_C(0xCD9E8D57) * c;
    a = (uint32_t)(q >> 32) ^ b ^ key0, b = (uint32_t)q;
    c = (uint32_t)(p >> 32) ^ d ^ key1, d = (uint32_t)p;
    key0 += 0x9E3779B9, key1 += 0xBB67AE85;
  }
  word[0] = a | (uint64_t)b << 32;
  word[1] = c | (uint64_t)d << 32;
}

static uint64_t next_word(bl_rng *rng) {
  if (rng->left == 0) {
    encipher(rng, rng->word);
    rng->left = 2;
    rng->next++;
  }
  return rng->word[2 - rng->left--];
}

double bl_rng_uniform(bl_rng *rng) {
  return ((double)(next_word(rng) >> 11) + 0.5) * 0x1p-53;
}

double bl_rng_normal(bl_rng *rng) {
  if (rng->has_spare) {
    rng->has_spare = 0;
    return rng->spare;
  }
  double radius = sqrt(-2.0 * log(bl_rng_uniform(rng)));
  double angle = 6.283185307179586477 * bl_rng_uniform(rng);
  rng->spare = radius * sin(angle);
  rng->has_spare = 1;
  return radius * cos(angle);
}
