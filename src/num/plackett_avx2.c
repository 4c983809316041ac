/* plackett_avx2.c - the reduction of orthants with AVX2 instructions. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/plackett.h"
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#define BL_PLACKETT_BATCH bl_plackett_batch_avx2
#include "num/plackett_kernel.h"
#endif
