/* cpu.c - which vector instructions may be used. */
#include "base/ctx.h"

/* The highest level that the build allows: BLICA_SIMD=AVX2 makes tests run as on a machine without AVX-512. */
#ifndef BLICA_SIMD_MOST
#define BLICA_SIMD_MOST BLICA_SIMD_AVX512
#endif

static blica_simd machine_level(void) {
#if defined(BLICA_AVX)
  __builtin_cpu_init();
  if (BLICA_SIMD_MOST == BLICA_SIMD_AVX512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return BLICA_SIMD_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return BLICA_SIMD_AVX2;
#endif
  return BLICA_SIMD_SCALAR;
}

void blica_set_simd(blica_ctx *ctx, blica_simd level) {
  if (!ctx) return;
  ctx->simd = level;
}

blica_simd blica_simd_level(const blica_ctx *ctx) {
  blica_simd machine = machine_level();
  return !ctx || ctx->simd == BLICA_SIMD_AUTO || ctx->simd > machine ? machine : ctx->simd;
}
