/* CPU time of one loss-and-gradient evaluation of the linear iVAE on one thread, for bench_ivae.sh.
 * usage: bench_ivae n k u rows_per_segment repeats; prints milliseconds, the median. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rivals/rivals.h"
#include "num/rng.h"

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  int n = atoi(argv[1]), k = atoi(argv[2]), u = atoi(argv[3]), rows = u * atoi(argv[4]), repeats = atoi(argv[5]);
  bl_rng rng = bl_rng_make(1, 0);
  int8_t *x = malloc((size_t)rows * (size_t)n);
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  for (int i = 0; i < rows * n; i++) x[i] = (bl_rng_uniform(&rng) < 0.5);
  for (int r = 0; r < rows; r++) segment[r] = r % u;
  blica_ctx *ctx;
  blica_data *data;
  bl_ivae *ivae;
  if (blica_ctx_create(&ctx)) return 1;
  blica_set_threads(ctx, 1);
  if (blica_pack(ctx, &(blica_table){.rows = rows, .n = n, .x = x, .segment = segment, .u = u}, &data) ||
      bl_ivae_create(ctx, data, k, false, &ivae)) {
    fprintf(stderr, "bench_ivae: %s\n", blica_message(ctx));
    return 1;
  }
  bl_ivae_noise(ivae, 1);
  size_t size = bl_ivae_layout_of(n, k, u).size;
  double *theta = malloc(size * sizeof *theta), *gradient = malloc(size * sizeof *gradient);
  double *times = malloc((size_t)repeats * sizeof *times);
  for (size_t i = 0; i < size; i++) theta[i] = 0.3 * (2 * bl_rng_uniform(&rng) - 1);
  for (int i = 0; i < repeats; i++) {
    double begun = cpu_seconds();
    bl_ivae_loss(ctx, ivae, theta, gradient);
    times[i] = cpu_seconds() - begun;
  }
  qsort(times, (size_t)repeats, sizeof *times, ascending);
  printf("%.4f\n", 1e3 * times[repeats / 2]);
  bl_free(ivae);
  blica_data_free(data);
  blica_ctx_free(ctx);
  free(x), free(segment), free(theta), free(gradient), free(times);
  return 0;
}
