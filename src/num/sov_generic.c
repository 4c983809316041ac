/* sov_generic.c - separation of variables for any machine, and the choice among instruction sets. */
#define BL_SOV_RUN bl_sov_run_generic
#include "num/sov_kernel.h"

void bl_sov_run(const bl_sov *task, blica_simd level) {
#if defined(__x86_64__)
  if (level == BLICA_SIMD_AVX512) {
    bl_sov_run_avx512(task);
    return;
  }
  if (level == BLICA_SIMD_AVX2) {
    bl_sov_run_avx2(task);
    return;
  }
#endif
  (void)level;
  bl_sov_run_generic(task);
}
