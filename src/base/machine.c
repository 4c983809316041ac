/* machine.c - what the machine offers: vector instructions, and the threads of its BLAS. */
#include <pthread.h>
#include <stddef.h>

#include "base/ctx.h"

/* ---- vector instructions ---- */

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

/* ---- OpenBLAS is held to one thread while our own loops run, so that they do not oversubscribe the machine and its
 * sums do not depend on its threads. Other BLAS libraries lack the two calls and are left alone. ---- */

#ifdef __ELF__ /* the linker leaves a weak symbol NULL when no library has it */
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));
#else
static int (*const openblas_get_num_threads)(void) = NULL;
static void (*const openblas_set_num_threads)(int threads) = NULL;
static char *(*const openblas_get_corename)(void) = NULL;
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int holders, before;

#ifndef _WIN32 /* where nothing forks */
static void lock_blas(void) {
  pthread_mutex_lock(&lock);
}

static void unlock_blas(void) {
  pthread_mutex_unlock(&lock);
}

/* The child does not have the parent's other threads, which may have been holding the BLAS. */
static void unlock_in_child(void) {
  holders = 0;
  pthread_mutex_unlock(&lock);
}

/* A child must not inherit the lock from a thread that it does not have. */
__attribute__((constructor)) static void expect_forks(void) {
  (void)pthread_atfork(lock_blas, unlock_blas, unlock_in_child);
}
#endif

void bl_blas_hold(void) {
  if (!openblas_get_num_threads || !openblas_set_num_threads) return;
  pthread_mutex_lock(&lock);
  if (holders++ == 0) {
    before = openblas_get_num_threads();
    if (before != 1) openblas_set_num_threads(1);
  }
  pthread_mutex_unlock(&lock);
}

void bl_blas_release(void) {
  if (!openblas_get_num_threads || !openblas_set_num_threads) return;
  pthread_mutex_lock(&lock);
  if (holders > 0 && --holders == 0 && before != 1) openblas_set_num_threads(before);
  pthread_mutex_unlock(&lock);
}

const char *bl_blas_name(void) {
  return openblas_get_corename ? openblas_get_corename() : "unknown";
}
