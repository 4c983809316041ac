/* fastica_kernel_avx2.c - the kernel of fastICA for AVX2. */
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#define VEC_WIDTH 4
#define PANEL bl_fastica_panel_avx2
#include "estimate/fastica_kernel_body.h"
#else
typedef int bl_fastica_avx2_is_for_x86; /* a file must not be empty */
#endif
