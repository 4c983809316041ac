/* plackett_avx512.c - the reduction of orthants with AVX512 instructions. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/plackett.h"
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#define BL_PLACKETT_BATCH bl_plackett_batch_avx512
#include "num/plackett_kernel.h"
#endif
