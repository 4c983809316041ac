/* ivae_kernel_avx512.c - the kernel of the linear iVAE for AVX-512. */
#if defined(__x86_64__)
#pragma GCC target("fma,avx512f,avx512dq,avx512bw,avx512vl")
#define VEC_WIDTH 8
#define PIECE bl_ivae_piece_avx512
#include "estimate/ivae_kernel_body.h"
#else
typedef int bl_ivae_avx512_is_for_x86; /* a file must not be empty */
#endif
