/* fastica_kernel_avx512.c - the kernel of fastICA for AVX-512. */
#if defined(__x86_64__)
#pragma GCC target("fma,avx512f,avx512dq,avx512bw,avx512vl")
#define VEC_WIDTH 8
#define PANEL bl_fastica_panel_avx512
#include "estimate/fastica_kernel_body.h"
#else
typedef int bl_fastica_avx512_is_for_x86; /* a file must not be empty */
#endif
