/* ivae_kernel_avx2.c - the kernel of the linear iVAE for AVX2. */
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#define VEC_WIDTH 4
#define PIECE bl_ivae_piece_avx2
#include "estimate/ivae_kernel_body.h"
#else
typedef int bl_ivae_avx2_is_for_x86; /* a file must not be empty */
#endif
