/* grid_avx512.c - the grid over sources with AVX512 instructions. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/grid.h"
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#define BL_GRID_RUN bl_grid_run_avx512
#include "num/grid_kernel.h"
#endif
