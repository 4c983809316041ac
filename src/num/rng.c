/* rng.c - Philox 4x32-10 as a stream of 64-bit words; normals by Box and Muller. */
#include "num/rng.h"

#include <math.h>

#include <Random123/philox.h>

bl_rng bl_rng_make(uint64_t seed, uint64_t stream) {
  return (bl_rng){.seed = seed, .stream = stream};
}

static uint64_t next_word(bl_rng *rng) {
  if (rng->left == 0) {
    philox4x32_ctr_t counter = {
        {(uint32_t)rng->next, (uint32_t)(rng->next >> 32), (uint32_t)rng->stream, (uint32_t)(rng->stream >> 32)}};
    philox4x32_key_t key = {{(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)}};
    philox4x32_ctr_t block = philox4x32(counter, key);
    rng->word[1] = (uint64_t)block.v[0] | (uint64_t)block.v[1] << 32;
    rng->word[0] = (uint64_t)block.v[2] | (uint64_t)block.v[3] << 32;
    rng->left = 2;
    rng->next++;
  }
  return rng->word[--rng->left];
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
