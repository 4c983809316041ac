/* bench_count.c - speed of counting pairs, in row-pairs per second on one core: every kernel beside its
 * roofline (the same instructions on registers, no memory) and beside a plain loop over rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "counts/count_kernel.h"
#include "num/rng.h"

static blica_data *draw(blica_ctx *ctx, int64_t rows, int n, int u, double missing) {
  int8_t *x = malloc((size_t)rows * (size_t)n);
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  bl_rng rng = bl_rng_make(1, 0);
  for (int64_t k = 0; k < rows * n; k++) x[k] = (bl_rng_uniform(&rng) < 0.5);
  for (int64_t k = 0; missing > 0 && k < rows * n; k++)
    if (bl_rng_uniform(&rng) < missing) x[k] = BLICA_MISSING;
  for (int64_t r = 0; r < rows; r++) segment[r] = (int32_t)(r * u / rows);
  blica_data *data;
  if (blica_pack(ctx, &(blica_table){.rows = rows, .n = n, .x = x, .segment = segment, .u = u}, &data) != BLICA_OK)
    exit(1);
  free(x);
  free(segment);
  return data;
}

static double pairs_per_second(blica_ctx *ctx, const blica_data *data) {
  double row_pairs = (double)data->rows * data->n * (data->n - 1) / 2, best = 0;
  for (int round = 0; round < 5; round++) {
    blica_counts *counts;
    double start = bl_seconds();
    if (blica_count(ctx, data, &counts) != BLICA_OK) exit(1);
    double rate = row_pairs / (bl_seconds() - start);
    if (rate > best) best = rate;
    blica_counts_free(counts);
  }
  return best;
}

/* The kernel on one tile that stays in the first-level cache: its own ceiling. */
static double roofline(bl_count_kernel kernel) {
  enum { WORDS = 256, ROUNDS = 2000 };
  static uint64_t bits[8][WORDS] __attribute__((aligned(64)));
  const uint64_t *a[4], *b[4];
  int64_t sum[16] = {0};
  for (int k = 0; k < 4; k++) a[k] = bits[k], b[k] = bits[4 + k];
  double best = 0;
  for (int round = 0; round < 5; round++) {
    double start = bl_seconds();
    for (int k = 0; k < ROUNDS; k++) kernel(a, b, 0, WORDS, sum);
    double rate = 16.0 * 64 * WORDS * ROUNDS / (bl_seconds() - start);
    if (rate > best) best = rate;
  }
  return best;
}

#if defined(__x86_64__)
#include <immintrin.h>
/* AND, VPOPCNTQ and ADD on registers alone, eight independent chains. */
__attribute__((target("avx512f,avx512vpopcntdq"))) static double register_peak(void) {
  enum { ROUNDS = 4000000 };
  __m512i c[8], x[8], y = _mm512_set1_epi64(0x5555);
  for (int k = 0; k < 8; k++) c[k] = _mm512_setzero_si512(), x[k] = _mm512_set1_epi64(k);
  double best = 0;
  for (int round = 0; round < 5; round++) {
    double start = bl_seconds();
    for (int r = 0; r < ROUNDS; r++) {
      _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++) {
        __m512i both = _mm512_and_si512(x[k], y);
        __asm__ volatile("" : "+v"(both)); /* the compiler may not hoist it */
        c[k] = _mm512_add_epi64(c[k], _mm512_popcnt_epi64(both));
      }
    }
    double rate = 512.0 * 8 * ROUNDS / (bl_seconds() - start);
    if (rate > best) best = rate;
  }
  int64_t total = 0;
  for (int k = 0; k < 8; k++) total += _mm512_reduce_add_epi64(c[k]);
  if (total == 1) puts("");
  return best;
}
#endif

static double naive(int64_t rows, int n) {
  int8_t *x = malloc((size_t)rows * (size_t)n);
  double *n11 = calloc((size_t)n * (size_t)n, sizeof *n11);
  for (int64_t k = 0; k < rows * n; k++) x[k] = (int8_t)(k * 7 % 3 == 0);
  double start = bl_seconds();
  for (int64_t r = 0; r < rows; r++)
    for (int j = 1; j < n; j++)
      for (int i = 0; i < j; i++) n11[i + n * j] += x[r * n + i] & x[r * n + j];
  double seconds = bl_seconds() - start;
  free(x);
  free(n11);
  return (double)rows * n * (n - 1) / 2 / seconds;
}

int main(void) {
  blica_ctx *ctx;
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, 1);
  puts("row-pairs per second, one core");
  printf("  %-34s %8.1f e9\n", "plain loop over rows", naive(20000, 100) / 1e9);
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vpopcntdq"))
    printf("  %-34s %8.1f e9\n", "peak on registers (vpopcnt)", register_peak() / 1e9);
#endif
  const char *name;
  for (int k = 0; bl_count_kernel_at(k, &name); k++) {
    bl_count_kernel kernel = bl_count_kernel_at(k, &name);
    char label[64];
    snprintf(label, sizeof label, "kernel %s in first-level cache", name);
    printf("  %-34s %8.1f e9\n", label, roofline(kernel) / 1e9);
  }
  static const struct {
    int64_t rows;
    int n, u;
    double missing;
  } cases[] = {{40000, 10, 40, 0},   {40000, 100, 40, 0}, {40000, 300, 40, 0},
               {1000000, 100, 1, 0}, {400000, 300, 4, 0}, {400000, 300, 4, 0.01}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    blica_data *data = draw(ctx, cases[k].rows, cases[k].n, cases[k].u, cases[k].missing);
    char label[64];
    snprintf(label, sizeof label, "n=%d u=%d N=%lld%s", cases[k].n, cases[k].u, (long long)(cases[k].rows / cases[k].u),
             cases[k].missing > 0 ? " 1% missing" : "");
    printf("  %-34s", label);
    static const char *const levels[] = {"", "scalar", "avx2", "avx512"};
    for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
      blica_set_simd(ctx, (blica_simd)level);
      printf(" %8.1f e9 %s", pairs_per_second(ctx, data) / 1e9, levels[level]);
    }
    puts("");
    blica_data_free(data);
  }
  blica_ctx_free(ctx);
  return 0;
}
