/* grid_avx2.c - the grid over sources with AVX2 instructions. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "num/grid.h"
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#define BL_GRID_RUN bl_grid_run_avx2
#include "num/grid_kernel.h"
#endif
