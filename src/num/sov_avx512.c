/* sov_avx512.c - separation of variables with AVX512 instructions. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/sov.h"
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#define BL_SOV_RUN bl_sov_run_avx512
#include "num/sov_kernel.h"
#endif
