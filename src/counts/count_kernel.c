/* count_kernel.c - popcount(a & b) over a 4 x 4 tile of bit columns.
 *
 * One loop, compiled for plain C, which is the specification, for POPCNT, and for VPOPCNTQ (AVX-512 VPOPCNTDQ), of
 * which the compiler makes vectors. Accuracy: exact. Checked: every kernel against the plain one and against a
 * bit-by-bit loop, tests/unit/counts/test_count.c. */
#include "counts/count_kernel.h"

enum { T = BL_TILE };

#define ARGUMENTS const uint64_t *const a[T], const uint64_t *const b[T], size_t from, size_t to, int64_t sum[T * T]

static inline __attribute__((always_inline)) void words(ARGUMENTS) {
  for (int q = 0; q < T; q++)
    for (int p = 0; p < T; p++) {
      const uint64_t *x = a[p], *y = b[q];
      int64_t total = 0;
      for (size_t w = from; w < to; w++) total += __builtin_popcountll(x[w] & y[w]);
      sum[p + T * q] += total;
    }
}

static void count_plain(ARGUMENTS) {
  words(a, b, from, to, sum);
}

#if defined(BLICA_AVX)
__attribute__((target("popcnt"))) static void count_popcnt(ARGUMENTS) {
  words(a, b, from, to, sum);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,prefer-vector-width=512"))) static void
count_vpopcnt(ARGUMENTS) {
  words(a, b, from, to, sum);
}

static bool has_popcnt(void) {
  return __builtin_cpu_supports("popcnt");
}
static bool has_vpopcnt(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vpopcntdq");
}
#endif

static bool always(void) {
  return true;
}

static const struct {
  const char *name;
  blica_simd level;
  bl_count_kernel kernel;
  bool (*supported)(void);
} kernels[] = {
    /* slowest first */
    {"plain", BLICA_SIMD_SCALAR, count_plain, always},
#if defined(BLICA_AVX)
    {"popcnt", BLICA_SIMD_SCALAR, count_popcnt, has_popcnt},
    {"vpopcnt", BLICA_SIMD_AVX512, count_vpopcnt, has_vpopcnt},
#endif
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

bl_count_kernel bl_count_kernel_for(blica_simd level) {
  bl_count_kernel best = count_plain;
  for (int i = 0; i < KERNELS; i++)
    if (kernels[i].level <= level && kernels[i].supported()) best = kernels[i].kernel;
  return best;
}

bl_count_kernel bl_count_kernel_at(int index, const char **name) {
  for (int i = 0; i < KERNELS; i++)
    if (kernels[i].supported() && index-- == 0) {
      *name = kernels[i].name;
      return kernels[i].kernel;
    }
  *name = NULL;
  return NULL;
}
