/* bench_loglik.c - seconds of one call of blica_loglik on data in memory: the true model of `blica simulate`, seed 1.
 * Usage: bench_loglik N K U SAMPLES THREADS ENGINE ERROR ...   prints for each wanted error: error, log-likelihood,
 * stated error, CPU seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blica.h"
#include "set_word.h"

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  blica_ctx *ctx;
  blica_model *model;
  blica_data *data;
  if (argc < 8) {
    fprintf(stderr, "usage: bench_loglik N K U SAMPLES THREADS ENGINE ERROR ...\n");
    return 2;
  }
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = atoi(argv[1]), o.sources = atoi(argv[2]), o.segments = atoi(argv[3]), o.samples = atoll(argv[4]);
  blica_set_threads(ctx, atoi(argv[5]));
  if (blica_simulate(ctx, &o, &model, &data, NULL) != BLICA_OK) {
    fprintf(stderr, "bench_loglik: %s\n", blica_message(ctx));
    return 1;
  }
  for (int a = 7; a < argc; a++) {
    blica_loglik_options options = blica_loglik_options_default();
    blica_loglik_result *result;
    double best = 1e300, spent = 0, total = 0, error = 0;
    set_word(blica_loglik_option_table, &options, "engine", argv[6]);
    options.error = atof(argv[a]);
    for (int repeat = 0; repeat < 3 || (repeat < 200 && spent < 2);
         repeat++) { /* the best of many: the machine may be shared */
      double begun = seconds();
      if (blica_loglik(ctx, model, data, &options, &result) != BLICA_OK) {
        fprintf(stderr, "bench_loglik: %s\n", blica_message(ctx));
        return 1;
      }
      double took = seconds() - begun;
      spent += took;
      best = took < best ? took : best;
      total = result->total, error = result->total_error;
      blica_loglik_result_free(result);
    }
    printf("%s %.10f %.3g %.6f\n", argv[a], total, error, best);
  }
  blica_data_free(data);
  blica_model_free(model);
  blica_ctx_free(ctx);
  return 0;
}
