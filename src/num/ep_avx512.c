/* ep_avx512.c - expectation propagation with AVX512 instructions. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/ep.h"
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#define BL_EP_RUN bl_ep_run_avx512
#include "num/ep_kernel.h"
#endif
