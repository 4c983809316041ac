/* ep_generic.c - expectation propagation for any machine, and the choice among instruction sets.
 *
 * Accuracy: an approximation; measured, not assumed (docs/likelihood.md). Checked against separation of
 * variables and the grid over sources, its derivatives against central differences:
 * tests/unit/likelihood/test_likelihood.c. */
#define BL_EP_RUN bl_ep_run_generic
#include "num/ep_kernel.h"

void bl_ep_run(const bl_ep *ep, blica_simd level) {
#if defined(__x86_64__)
  if (level == BLICA_SIMD_AVX512) {
    bl_ep_run_avx512(ep);
    return;
  }
  if (level == BLICA_SIMD_AVX2) {
    bl_ep_run_avx2(ep);
    return;
  }
#endif
  (void)level;
  bl_ep_run_generic(ep);
}
