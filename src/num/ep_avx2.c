/* ep_avx2.c - expectation propagation with AVX2 instructions. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/ep.h"
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#define BL_EP_RUN bl_ep_run_avx2
#include "num/ep_kernel.h"
#endif
