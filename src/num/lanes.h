/* lanes.h - eight doubles at a time, in GCC's vector extensions.
 *
 * The same source compiles for AVX-512 (one register), AVX2 (two) and the baseline (four); since lanes
 * never mix, the operations and their order are the same at every level. Functions here are inlined
 * into callers that carry a target attribute. Never pass a vector by value to a function that is not
 * inlined: how it travels differs between targets. */
#ifndef BL_LANES_H
#define BL_LANES_H

#include <stdint.h>

enum { BL_LANES = 8 };
typedef double bl_v8 __attribute__((vector_size(64), aligned(64)));
typedef int64_t bl_v8i __attribute__((vector_size(64), aligned(64)));

#define BL_INLINE static inline __attribute__((always_inline))
#define BL_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define BL_TARGET_AVX2 __attribute__((target("avx2,fma")))

BL_INLINE bl_v8 bl_v8_all(double x) {
  return (bl_v8){x, x, x, x, x, x, x, x};
}

BL_INLINE bl_v8 bl_v8_choose(bl_v8i mask, bl_v8 yes, bl_v8 no) {
  return (bl_v8)(((bl_v8i)yes & mask) | ((bl_v8i)no & ~mask));
}

/* exp with a relative error of at most 2^-51 (tests/unit/num/test_lanes.c, against libm): Cody-Waite reduction to
 * |r| <= ln2/2, Taylor polynomial of degree 13, scaling by 2^m. Arguments are clamped to [-708, 709]. */
BL_INLINE bl_v8 bl_v8_exp(bl_v8 x) {
  const bl_v8 low = bl_v8_all(-708.0), high = bl_v8_all(709.0), magic = bl_v8_all(0x1.8p52);
  x = bl_v8_choose(x < low, low, x);
  x = bl_v8_choose(x > high, high, x);
  bl_v8 shifted = x * bl_v8_all(0x1.71547652b82fep0) + magic;
  bl_v8 m = shifted - magic;
  bl_v8 r = x - m * bl_v8_all(0x1.62e42fefa3800p-1);
  r = r - m * bl_v8_all(0x1.ef35793c76730p-45);
  bl_v8 p = bl_v8_all(1.0 / 6227020800.0);
  p = p * r + bl_v8_all(1.0 / 479001600.0);
  p = p * r + bl_v8_all(1.0 / 39916800.0);
  p = p * r + bl_v8_all(1.0 / 3628800.0);
  p = p * r + bl_v8_all(1.0 / 362880.0);
  p = p * r + bl_v8_all(1.0 / 40320.0);
  p = p * r + bl_v8_all(1.0 / 5040.0);
  p = p * r + bl_v8_all(1.0 / 720.0);
  p = p * r + bl_v8_all(1.0 / 120.0);
  p = p * r + bl_v8_all(1.0 / 24.0);
  p = p * r + bl_v8_all(1.0 / 6.0);
  p = p * r + bl_v8_all(0.5);
  p = p * r * r + r;
  bl_v8i bits = (bl_v8i)shifted << 52;
  bl_v8 scale = (bl_v8)(bits + (bl_v8i)bl_v8_all(1.0));
  return scale + scale * p;
}

#endif
