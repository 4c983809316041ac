/* bench_mle.c - how maximum full likelihood grows: CPU seconds, evaluations and error (1 - MCS) for given sizes, beside
 * method matched. Usage: bench_mle N,K,SAMPLES[,PRIOR] ...   40 segments, one thread, seed 1. Without arguments: the
 * sizes of the goals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blica.h"
#include "set_word.h"

static blica_ctx *ctx;

static void must(blica_status status) {
  if (status == BLICA_OK) return;
  fprintf(stderr, "bench_mle: %s\n", blica_message(ctx));
  exit(1);
}

static double cpu(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

static double error_of(const char *method, const char *prior, const blica_model *truth, const blica_data *data,
                       blica_model **model, double *seconds) {
  blica_fit_options o = blica_fit_options_default();
  blica_input input = {.data = data};
  double mcs, *cosine = malloc(sizeof *cosine * (size_t)truth->k), begun = cpu();
  int *matching = malloc(sizeof *matching * (size_t)truth->k);
  o.method = blica_method_find(method);
  set_word(blica_fit_option_table, &o, "prior", prior);
  o.sources = truth->k;
  must(blica_fit(ctx, &input, &o, model));
  *seconds = cpu() - begun;
  must(blica_compare(ctx, truth->n, truth->k, truth->mixing, (*model)->mixing, &mcs, matching, cosine));
  free(cosine), free(matching);
  return 1 - mcs;
}

static void measure(const char *size) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *truth, *matched, *mle;
  blica_data *data;
  char prior[16] = "auto";
  double seconds, before;
  if (sscanf(size, "%d,%d,%ld,%15s", &o.variables, &o.sources, &o.samples, prior) < 3) exit(2);
  must(blica_simulate(ctx, &o, &truth, &data, NULL));
  double base = error_of("matched", "auto", truth, data, &matched, &before),
         ours = error_of("mle", prior, truth, data, &mle, &seconds);
  printf("| %d | %d | %ld | %s | %s | %d | %d | %.2f | %.4f | %.2f | %.4f |\n", o.variables, o.sources, o.samples,
         prior, blica_stop_name(mle->fit.stop), (int)mle->fit.iterations, (int)mle->fit.evaluations, seconds, ours,
         before, base);
  fflush(stdout);
  blica_model_free(truth), blica_model_free(matched), blica_model_free(mle), blica_data_free(data);
}

int main(int argc, char **argv) {
  static const char *const standard[] = {"6,2,1000", "6,6,1000", "10,10,1000", "6,6,1000,none"};
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, 1);
  printf("| n | k | N | prior | stop | iterations | evaluations | CPU s | 1-MCS | CPU s of matched | its 1-MCS "
         "|\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int a = 1; a < argc; a++) measure(argv[a]);
  for (int a = 0; argc < 2 && a < 4; a++) measure(standard[a]);
  blica_ctx_free(ctx);
  return 0;
}
