/* rng.h - counter-based random numbers (Philox 4x32-10): draw number d of stream t under
 * seed s is a pure function of (s, t, d), so results do not depend on threads or ranks. */
#ifndef BL_RNG_H
#define BL_RNG_H

#include <stdint.h>

typedef struct {
  uint64_t seed, stream, next; /* next: index of the next block of two 64-bit words */
  uint64_t word[2];
  int left;     /* words not yet used */
  double spare; /* second normal of a Box-Muller pair */
  int has_spare;
} bl_rng;

bl_rng bl_rng_make(uint64_t seed, uint64_t stream); /* streams of a seed are independent */
double bl_rng_uniform(bl_rng *rng);                 /* open interval (0,1), 53 bits */
double bl_rng_normal(bl_rng *rng);                  /* mean 0, variance 1 */

#endif
