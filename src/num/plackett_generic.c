/* plackett_generic.c - the reduction of orthants for any machine, and the choice among instruction sets. */
#define BL_PLACKETT_BATCH bl_plackett_batch_generic
#include "num/plackett_kernel.h"

size_t bl_plackett_batch_work(int m) {
  size_t vectors = 0;
  for (; m > 0; m -= 2) vectors += ((size_t)1 << m) + (size_t)m * (size_t)(m + 2);
  return vectors * BL_LANES;
}

void bl_plackett_batch_run(const bl_plackett_batch *batch, blica_simd level) {
#if defined(__x86_64__)
  if (level == BLICA_SIMD_AVX512) {
    bl_plackett_batch_avx512(batch);
    return;
  }
  if (level == BLICA_SIMD_AVX2) {
    bl_plackett_batch_avx2(batch);
    return;
  }
#endif
  (void)level;
  bl_plackett_batch_generic(batch);
}
