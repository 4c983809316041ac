/* bench_fit.c - seconds of each step of `blica fit --method blica` on one core, how they grow with n, k, u and N, and
 * the rate of the fit's inner loop beside that of dgemm in the same run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/base.h"
#include "estimate/gauss/gauss.h"
#include "num/linear/blas.h"

static blica_ctx *ctx;

static void must(blica_status status) {
  if (status == BLICA_OK) return;
  fprintf(stderr, "bench_fit: %s\n", blica_message(ctx));
  exit(1);
}

static void draw(int n, int k, int u, int64_t samples, blica_model **truth, blica_data **data) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = k, o.segments = u, o.samples = samples;
  must(blica_simulate(ctx, &o, truth, data, NULL));
}

static void run(int n, int k, int u, int64_t samples, int starts) {
  blica_model *truth, *model;
  blica_data *data;
  draw(n, k, u, samples, &truth, &data);
  blica_fit_options o = blica_fit_options_default();
  o.sources = k, o.starts = starts;
  o.method = BLICA_METHOD_BLICA;
  blica_input input = {data, NULL, NULL};
  must(blica_fit(ctx, &input, &o, &model));
  double mcs, near = 0;
  int *matching = calloc((size_t)k, sizeof *matching);
  double *cosine = calloc((size_t)k, sizeof *cosine);
  must(blica_compare(ctx, n, k, truth->mixing, model->mixing, &mcs, matching, cosine));
  for (int i = 0; i < model->fit.n_starts; i++) near += model->fit.starts[i].seconds_near;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("| %d | %d | %d | %lld | %d | %.4f | %.4f | %.4f | %.3f | %.3f | %.3f | %.4f | %ld |\n", n, k, u,
         (long long)samples, starts, model->fit.seconds_count, model->fit.seconds_correlate,
         model->fit.seconds_regularise, model->fit.seconds_optimise, near, model->fit.seconds, mcs,
         usage.ru_maxrss / 1024);
  fflush(stdout);
  free(matching), free(cosine);
  blica_model_free(truth), blica_model_free(model), blica_data_free(data);
}

/* Gflop/s of dgemm and of one evaluation, 2 u n^2 k + 6 u n k^2 + u k^3 operations. */
static void rates(int n, int k, int u) {
  blica_model *truth;
  blica_data *data;
  blica_counts *counts;
  blica_cor *cor, *regular;
  bl_gauss *gauss;
  bl_evaluator *e;
  bl_criterion criterion = {.layout = {.n = n, .k = k, .u = u, .locals = k + n, .link = 3.14159265358979 / 8}};
  draw(n, k, u, 1000, &truth, &data);
  must(blica_count(ctx, data, &counts));
  must(blica_correlate(ctx, counts, &cor));
  must(blica_regularise(ctx, cor, 10, &regular));
  must(bl_gauss_make(ctx, &criterion.layout, regular, NULL, 1, &gauss));
  bl_criterion_add(&criterion, bl_gauss_term(gauss));
  must(bl_evaluator_make(ctx, &criterion, &e));
  size_t size = bl_layout_size(&criterion.layout);
  double *theta = calloc(size, sizeof *theta), *gradient = calloc(size, sizeof *gradient);
  memcpy(theta, truth->mixing, (size_t)n * k * sizeof *theta);
  int repeats = (int)(2e9 / (2.0 * u * n * n * k)) + 1;
  double begun = bl_seconds();
  for (int i = 0; i < repeats; i++) bl_evaluate(e, theta, gradient);
  double evaluation = (bl_seconds() - begun) / repeats;
  double *a = calloc((size_t)n * n, 8), *b = calloc((size_t)n * n, 8), *c = calloc((size_t)n * n, 8);
  int products = (int)(4e9 / (2.0 * n * n * n)) + 1;
  begun = bl_seconds();
  for (int i = 0; i < products; i++) bl_dgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n);
  double product = (bl_seconds() - begun) / products;
  double flops = u * (2.0 * n * n * k + 6.0 * n * k * k + (double)k * k * k);
  printf("| %d | %d | %d | %.3f | %.1f | %.1f | %.0f %% |\n", n, k, u, 1e3 * evaluation, 1e-9 * flops / evaluation,
         2e-9 * n * n * n / product, 100 * flops / evaluation / (2.0 * n * n * n / product));
  free(theta), free(gradient), free(a), free(b), free(c);
  bl_evaluator_free(e), bl_free(gauss);
  blica_cor_free(cor), blica_cor_free(regular), blica_counts_free(counts), blica_model_free(truth),
      blica_data_free(data);
}

static void header(const char *title) {
  printf("\n%s\n\n| n | k | u | N | starts | count | correlate | regularise | optimise | to within 1 | total | MCS | "
         "peak MB |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
         title);
}

int main(int argc, char **argv) {
  bool large = argc > 1 && strcmp(argv[1], "large") == 0;
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, 1);
  bl_blas_hold();
  printf("One evaluation of objective and gradient, one core\n\n| n | k | u | ms | Gflop/s | dgemm Gflop/s | share |\n"
         "|---|---|---|---|---|---|---|\n");
  rates(10, 10, 40), rates(30, 30, 40), rates(50, 50, 40), rates(100, 100, 40), rates(100, 10, 40);
  header("Seconds of each step, one core");
  run(6, 2, 40, 1000, 3), run(10, 10, 40, 1000, 3), run(100, 10, 40, 1000, 3), run(100, 100, 40, 1000, 3);
  header("Growth: with n, k, u and N in turn");
  run(20, 5, 40, 1000, 1), run(40, 5, 40, 1000, 1), run(80, 5, 40, 1000, 1), run(160, 5, 40, 1000, 1);
  run(60, 5, 40, 1000, 1), run(60, 15, 40, 1000, 1), run(60, 30, 40, 1000, 1), run(60, 60, 40, 1000, 1);
  run(60, 5, 10, 1000, 1), run(60, 5, 20, 1000, 1), run(60, 5, 80, 1000, 1);
  run(60, 5, 40, 100, 1), run(60, 5, 40, 10000, 1), run(60, 5, 40, 100000, 1);
  if (large) header("Large"), run(300, 10, 40, 1000, 3), run(1000, 10, 40, 1000, 3);
  bl_blas_release();
  blica_ctx_free(ctx);
  return 0;
}
