/* count_kernel.c - popcount(a & b) over a 4 x 4 tile of bit columns.
 *
 * Method: a register tile as in a matrix product, so that each loaded word serves four pairs. The
 * count of one word comes from VPOPCNTQ (AVX-512 VPOPCNTDQ), from a nibble table by byte shuffle
 * (Mula, Kurz and Lemire, "Faster population counts using AVX2 instructions", The Computer Journal
 * 61, 2018), from POPCNT, or from plain C, which is the specification.
 * Accuracy: exact. Checked: every kernel against the plain one and against a bit-by-bit loop,
 * tests/unit/counts/test_count.c. */
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
#include <immintrin.h>

__attribute__((target("popcnt"))) static void count_popcnt(ARGUMENTS) {
  words(a, b, from, to, sum);
}

/* Two columns of a against two of b, counts of bytes kept for up to 31 vectors before they could
 * overflow (8 per vector, 255 at most). */
#define TWO 2

__attribute__((target("avx2,popcnt"))) static inline __m256i bytes_avx2(__m256i v) {
  const __m256i table =
      _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i low = _mm256_set1_epi8(15);
  __m256i lower = _mm256_shuffle_epi8(table, _mm256_and_si256(v, low));
  __m256i upper = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), low));
  return _mm256_add_epi8(lower, upper);
}

__attribute__((target("avx2,popcnt"))) static inline int64_t total_avx2(__m256i v) {
  return _mm256_extract_epi64(v, 0) + _mm256_extract_epi64(v, 1) + _mm256_extract_epi64(v, 2) +
         _mm256_extract_epi64(v, 3);
}

__attribute__((target("avx2,popcnt"))) static void
square_avx2(const uint64_t *const a[TWO], const uint64_t *const b[TWO], size_t from, size_t vectors, int64_t *sum) {
  __m256i total[TWO * TWO] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                              _mm256_setzero_si256()};
  for (size_t v0 = 0; v0 < vectors; v0 += 31) {
    size_t v1 = v0 + 31 < vectors ? v0 + 31 : vectors;
    __m256i c00 = _mm256_setzero_si256(), c10 = c00, c01 = c00, c11 = c00;
    for (size_t v = v0; v < v1; v++) {
      size_t w = from + 4 * v;
      __m256i a0 = _mm256_loadu_si256((const __m256i *)(a[0] + w)),
              a1 = _mm256_loadu_si256((const __m256i *)(a[1] + w));
      __m256i b0 = _mm256_loadu_si256((const __m256i *)(b[0] + w)),
              b1 = _mm256_loadu_si256((const __m256i *)(b[1] + w));
      c00 = _mm256_add_epi8(c00, bytes_avx2(_mm256_and_si256(a0, b0)));
      c10 = _mm256_add_epi8(c10, bytes_avx2(_mm256_and_si256(a1, b0)));
      c01 = _mm256_add_epi8(c01, bytes_avx2(_mm256_and_si256(a0, b1)));
      c11 = _mm256_add_epi8(c11, bytes_avx2(_mm256_and_si256(a1, b1)));
    }
    const __m256i zero = _mm256_setzero_si256();
    total[0] = _mm256_add_epi64(total[0], _mm256_sad_epu8(c00, zero));
    total[1] = _mm256_add_epi64(total[1], _mm256_sad_epu8(c10, zero));
    total[2] = _mm256_add_epi64(total[2], _mm256_sad_epu8(c01, zero));
    total[3] = _mm256_add_epi64(total[3], _mm256_sad_epu8(c11, zero));
  }
  sum[0] += total_avx2(total[0]);
  sum[1] += total_avx2(total[1]);
  sum[T] += total_avx2(total[2]);
  sum[T + 1] += total_avx2(total[3]);
}

__attribute__((target("avx2,popcnt"))) static void count_avx2(ARGUMENTS) {
  size_t vectors = (to - from) / 4;
  for (int q = 0; q < T; q += TWO)
    for (int p = 0; p < T; p += TWO) square_avx2(a + p, b + q, from, vectors, sum + p + T * q);
  words(a, b, from + 4 * vectors, to, sum);
}

#define AVX512 "avx512f,avx512bw,avx512vl,avx512dq"

__attribute__((target(AVX512))) static inline __m512i bytes_avx512(__m512i v) {
  const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m512i low = _mm512_set1_epi8(15);
  __m512i lower = _mm512_shuffle_epi8(table, _mm512_and_si512(v, low));
  __m512i upper = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(v, 4), low));
  return _mm512_sad_epu8(_mm512_add_epi8(lower, upper), _mm512_setzero_si512());
}

/* Sixteen vectors to their sixteen totals, eight at a time by a tree of shuffles: a horizontal sum
 * each would cost more than the counting itself on short segments. */
__attribute__((target(AVX512))) static inline __m512i pairs_of(__m512i x, __m512i y) {
  return _mm512_add_epi64(_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
}

__attribute__((target(AVX512))) static inline __m512i quads_of(__m512i x, __m512i y) {
  return _mm512_add_epi64(_mm512_shuffle_i64x2(x, y, 0x88), _mm512_shuffle_i64x2(x, y, 0xdd));
}

__attribute__((target(AVX512))) static inline void add_totals(const __m512i c[8], int64_t *sum) {
  __m512i x = quads_of(pairs_of(c[0], c[1]), pairs_of(c[2], c[3]));
  __m512i y = quads_of(pairs_of(c[4], c[5]), pairs_of(c[6], c[7]));
  __m512i total = quads_of(x, y);
  _mm512_storeu_si512(sum, _mm512_add_epi64(total, _mm512_loadu_si512(sum)));
}

/* One body for both AVX-512 kernels; the tail is a masked load. */
#define COUNT_AVX512(POPCOUNT)                                                                                         \
  __m512i c[T * T];                                                                                                    \
  _Pragma("GCC unroll 16") for (int t = 0; t < T * T; t++) c[t] = _mm512_setzero_si512();                              \
  for (size_t w = from; w < to; w += 8) {                                                                              \
    __mmask8 mask = to - w >= 8 ? 0xff : (__mmask8)((1u << (to - w)) - 1);                                             \
    __m512i x[T];                                                                                                      \
    _Pragma("GCC unroll 4") for (int p = 0; p < T; p++) x[p] = _mm512_maskz_loadu_epi64(mask, a[p] + w);               \
    _Pragma("GCC unroll 4") for (int q = 0; q < T; q++) {                                                              \
      __m512i y = _mm512_maskz_loadu_epi64(mask, b[q] + w);                                                            \
      _Pragma("GCC unroll 4") for (int p = 0; p < T; p++) c[p + T * q] =                                               \
          _mm512_add_epi64(c[p + T * q], POPCOUNT(_mm512_and_si512(x[p], y)));                                         \
    }                                                                                                                  \
  }                                                                                                                    \
  add_totals(c, sum);                                                                                                  \
  add_totals(c + 8, sum + 8)

__attribute__((target(AVX512))) static void count_avx512(ARGUMENTS) {
  COUNT_AVX512(bytes_avx512);
}

__attribute__((target(AVX512 ",avx512vpopcntdq"))) static void count_vpopcnt(ARGUMENTS) {
  COUNT_AVX512(_mm512_popcnt_epi64);
}

static bool has_popcnt(void) {
  return __builtin_cpu_supports("popcnt");
}
static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && has_popcnt();
}
static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
static bool has_vpopcnt(void) {
  return has_avx512() && __builtin_cpu_supports("avx512vpopcntdq");
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
    {"popcnt", BLICA_SIMD_SCALAR, count_popcnt, has_popcnt}, {"avx2", BLICA_SIMD_AVX2, count_avx2, has_avx2},
    {"avx512", BLICA_SIMD_AVX512, count_avx512, has_avx512}, {"vpopcnt", BLICA_SIMD_AVX512, count_vpopcnt, has_vpopcnt},
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
