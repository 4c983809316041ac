/* sov_avx2.c - separation of variables with AVX2 instructions. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/sov.h"
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#define BL_SOV_RUN bl_sov_run_avx2
#include "num/sov_kernel.h"
#endif
