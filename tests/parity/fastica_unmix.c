/* The library's fastICA from a given start, for fastica.sh.
 * usage: fastica_unmix DATA rows n k START contrast max_iterations OUT
 * DATA: rows of n bytes; START: k*k doubles by rows; OUT: the unmixing [k,n] by rows, doubles. Prints
 * iterations and seconds (counting, whitening and iterations, one thread). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rivals/rivals.h"

static void *slurp(const char *path, size_t bytes) {
  FILE *f = fopen(path, "rb");
  void *block = malloc(bytes);
  if (!f || fread(block, 1, bytes, f) != bytes) {
    fprintf(stderr, "fastica_unmix: '%s' does not hold %zu bytes\n", path, bytes);
    exit(1);
  }
  fclose(f);
  return block;
}

static blica_contrast contrast_of(const char *name) {
  return strcmp(name, "exp") == 0    ? BLICA_CONTRAST_EXP
         : strcmp(name, "cube") == 0 ? BLICA_CONTRAST_CUBE
                                     : BLICA_CONTRAST_LOGCOSH;
}

static void write_unmixing(const char *path, int n, int k, const double *w, const double *white) {
  FILE *f = fopen(path, "wb");
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      double sum = 0;
      for (int c = 0; c < k; c++) sum += w[j * k + c] * white[c * n + i];
      fwrite(&sum, sizeof sum, 1, f);
    }
  fclose(f);
}

int main(int argc, char **argv) {
  if (argc != 9) return 2;
  int rows = atoi(argv[2]), n = atoi(argv[3]), k = atoi(argv[4]);
  int8_t *x = slurp(argv[1], (size_t)rows * (size_t)n);
  double *w = slurp(argv[5], (size_t)k * (size_t)k * sizeof *w);
  int32_t *segment = calloc((size_t)rows, sizeof *segment);
  blica_ctx *ctx;
  blica_data *data;
  blica_counts *counts;
  bl_fastica *fastica;
  bl_fastica_result result;
  bl_fastica_options options = {.contrast = contrast_of(argv[6]), .max_iterations = atoi(argv[7]), .tolerance = 1e-4};
  if (blica_ctx_create(&ctx)) return 1;
  blica_set_threads(ctx, 1);
  if (blica_pack(ctx, &(blica_table){.rows = rows, .n = n, .x = x, .segment = segment, .u = 1}, &data)) goto failed;
  double begun = bl_seconds();
  if (blica_count(ctx, data, &counts) || bl_fastica_create(ctx, data, counts, k, &fastica) ||
      bl_fastica_run(ctx, fastica, &options, w, &result))
    goto failed;
  printf("%lld %.6f\n", (long long)result.iterations, bl_seconds() - begun);
  write_unmixing(argv[8], n, k, w, bl_fastica_whitening(fastica));
  bl_free(fastica);
  blica_counts_free(counts);
  blica_data_free(data);
  blica_ctx_free(ctx);
  free(x), free(w), free(segment);
  return 0;
failed:
  fprintf(stderr, "fastica_unmix: %s\n", blica_message(ctx));
  return 1;
}
