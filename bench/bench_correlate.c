/* bench_correlate - CPU microseconds per tetrachoric correlation, one core.
 *   bench_correlate [n] [u] [rows]      defaults 100 40 1000
 *   bench_correlate n u rows FILE       also writes the tables of the first segment as CSV (n11,n10,n01,n00,rho) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "num/rng.h"
#include "tables.h"

static blica_counts *make(int n, int u, int rows, int k) {
  blica_counts *c = tables_new(n, u, rows, 0);
  bl_rng rng = bl_rng_make(1, 0);
  double *a = malloc(sizeof(double) * (size_t)(n * k)), *x = malloc(sizeof(double) * (size_t)n),
         *z = malloc(sizeof(double) * (size_t)k);
  for (int i = 0; i < n * k; i++) a[i] = 6 * bl_rng_uniform(&rng) - 3;
  for (int s = 0; s < u; s++)
    for (int r = 0; r < rows; r++) {
      for (int j = 0; j < k; j++)
        z[j] = bl_rng_normal(&rng) * (0.5 + 2.5 * ((j * 7 + s * 3) % 11) / 10.0) + 0.1 * (j % 5 - 2);
      for (int i = 0; i < n; i++) {
        double y = 0;
        for (int j = 0; j < k; j++) y += a[i + j * n] * z[j];
        x[i] = y + 1.5957691216 * bl_rng_normal(&rng) > 0;
        c->ones[i + s * n] += x[i];
      }
      for (int j = 1; j < n; j++)
        if (x[j] != 0)
          for (int i = 0; i < j; i++) c->n11[blica_pair(i, j) + s * c->pairs] += x[i];
    }
  free(a);
  free(x);
  free(z);
  return c;
}

static void write_tables(const char *path, const blica_counts *c, const blica_cor *cor) {
  FILE *file = fopen(path, "w");
  if (!file) exit(1);
  fprintf(file, "n11,n10,n01,n00,rho\n");
  for (int j = 1; j < c->n; j++)
    for (int i = 0; i < j; i++) {
      double n11 = c->n11[blica_pair(i, j)], a = c->ones[i], b = c->ones[j];
      fprintf(file, "%g,%g,%g,%g,%.17g\n", n11, a - n11, b - n11, c->samples[0] - a - b + n11,
              cor->rho[blica_pair(i, j)]);
    }
  fclose(file);
}

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100, u = argc > 2 ? atoi(argv[2]) : 40, rows = argc > 3 ? atoi(argv[3]) : 1000;
  blica_counts *counts = make(n, u, rows, 10);
  static const char *const names[] = {"auto", "sse2", "avx2", "avx512"};
  double tables = (double)counts->pairs * u;
  for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
    blica_ctx *ctx;
    blica_cor *cor = NULL;
    double best = INFINITY;
    if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
    blica_set_threads(ctx, 1);
    blica_set_simd(ctx, (blica_simd)level);
    if (blica_simd_level(ctx) != (blica_simd)level) break;
    for (int rep = 0; rep < 3; rep++) {
      blica_cor_free(cor);
      double start = cpu_seconds();
      if (blica_correlate(ctx, counts, &cor) != BLICA_OK) return 1;
      best = fmin(best, cpu_seconds() - start);
    }
    printf("blica %-7s n=%d u=%d rows=%d: %.4f us per table (%.0f tables, %lld with an empty cell)\n", names[level], n,
           u, rows, 1e6 * best / tables, tables, (long long)cor->zero_cells);
    if (argc > 4) write_tables(argv[4], counts, cor);
    blica_cor_free(cor);
    blica_ctx_free(ctx);
  }
  tables_free(counts);
  return 0;
}
