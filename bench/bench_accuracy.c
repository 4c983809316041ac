/* bench_accuracy.c - error (1 - MCS) of methods over many data sets, on the paper's panels and on data drawn in other
 * ways. Usage: bench_accuracy SETS METHOD[:option=value,...] ...  The first method is what the others are divided by.
 * Data sets are those of seeds 1 to SETS; nothing in the library was tuned on them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"

typedef struct {
  const char *name;
  int n, k;
  int64_t samples;
  double mixing_range, sd_low, sd_high, mean_range;
  enum { AS_DRAWN, NORMAL, HALF_ZERO, FEW_LARGE } mixing;
} design;

static const design designs[] = {
    {"n=10 k=10 N=50", 10, 10, 50, 3, .5, 3, .5, AS_DRAWN},
    {"n=10 k=10 N=100", 10, 10, 100, 3, .5, 3, .5, AS_DRAWN},
    {"n=10 k=10 N=1000", 10, 10, 1000, 3, .5, 3, .5, AS_DRAWN},
    {"n=6 k=6 N=50", 6, 6, 50, 3, .5, 3, .5, AS_DRAWN},
    {"n=6 k=6 N=100", 6, 6, 100, 3, .5, 3, .5, AS_DRAWN},
    {"n=6 k=6 N=1000", 6, 6, 1000, 3, .5, 3, .5, AS_DRAWN},
    {"n=6 k=2 N=50", 6, 2, 50, 3, .5, 3, .5, AS_DRAWN},
    {"n=6 k=2 N=100", 6, 2, 100, 3, .5, 3, .5, AS_DRAWN},
    {"n=6 k=2 N=1000", 6, 2, 1000, 3, .5, 3, .5, AS_DRAWN},
    /* n=6, k=3, N=300, drawn in other ways */
    {"the paper's A and v", 6, 3, 300, 3, .5, 3, .5, AS_DRAWN},
    {"A ~ N(0,1)", 6, 3, 300, 1, .5, 3, .5, NORMAL},
    {"A ~ N(0,36)", 6, 3, 300, 6, .5, 3, .5, NORMAL},
    {"half of A zero", 6, 3, 300, 3, .5, 3, .5, HALF_ZERO},
    {"sd in (.8,1.4)", 6, 3, 300, 3, .8, 1.4, .5, AS_DRAWN},
    {"sd in (.2,8)", 6, 3, 300, 3, .2, 8, .5, AS_DRAWN},
    {"means in (-3,3)", 6, 3, 300, 3, .5, 3, 3, AS_DRAWN},
    {"one large entry a column", 6, 3, 300, 1, .5, 3, .5, FEW_LARGE},
};
enum { DESIGNS = sizeof designs / sizeof *designs, CELLS = 9, SEGMENTS = 40 };

static blica_ctx *ctx;

static void must(blica_status status) {
  if (status == BLICA_OK) return;
  fprintf(stderr, "bench_accuracy: %s\n", blica_message(ctx));
  exit(1);
}

/* A standard normal number from a small generator of its own: these draws need no quality. */
static double normal(uint64_t *state) {
  double sum = -6;
  for (int i = 0; i < 12; i++) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    sum += (double)(*state >> 11) * 0x1p-53;
  }
  return sum;
}

static void redraw_mixing(const design *d, uint64_t seed, blica_model *truth) {
  uint64_t state = seed * 2654435761u + 12345;
  for (int i = 0; d->mixing != AS_DRAWN && i < d->n * d->k; i++) {
    double *a = &truth->mixing[i], z = normal(&state), coin = normal(&state);
    if (d->mixing == NORMAL) *a = d->mixing_range * z;
    if (d->mixing == HALF_ZERO && coin > 0) *a = 0;
    if (d->mixing == FEW_LARGE && i % (d->n + 1) == 0) *a = 5;
  }
}

static void draw(const design *d, uint64_t seed, blica_model **truth, blica_data **data) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = d->n, o.sources = d->k, o.segments = SEGMENTS, o.samples = d->samples, o.seed = seed;
  o.mixing_range = d->mixing_range, o.sd_low = d->sd_low, o.sd_high = d->sd_high, o.mean_range = d->mean_range;
  must(blica_simulate(ctx, &o, truth, NULL, NULL));
  redraw_mixing(d, seed, *truth);
  must(blica_simulate_rows(ctx, *truth, seed, data));
}

static blica_fit_options parse(const char *text, int k) {
  char copy[256];
  snprintf(copy, sizeof copy, "%s", text);
  blica_fit_options o = blica_fit_options_default();
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  char *rest = strchr(copy, ':');
  if (rest) *rest++ = 0;
  snprintf(o.method, sizeof o.method, "%.15s", copy);
  o.sources = k;
  for (char *item = rest ? strtok(rest, ",") : NULL; item; item = strtok(NULL, ",")) {
    char *value = strchr(item, '=');
    if (value) *value++ = 0;
    for (int i = 0; value && i < count; i++)
      if (strcmp(table[i].name, item) == 0) must(blica_option_set(ctx, &table[i], &o, value));
  }
  return o;
}

/* Mean and standard error of 1 - MCS, and mean seconds. */
static void measure(const design *d, const char *method, int sets, double result[3]) {
  double sum = 0, squares = 0, seconds = 0;
  for (int seed = 1; seed <= sets; seed++) {
    blica_model *truth, *model;
    blica_data *data;
    draw(d, (uint64_t)seed, &truth, &data);
    blica_fit_options o = parse(method, d->k);
    blica_input input = {data, NULL, NULL};
    must(blica_fit(ctx, &input, &o, &model));
    double mcs, cosine[16];
    int matching[16];
    must(blica_compare(ctx, d->n, d->k, truth->mixing, model->mixing, &mcs, matching, cosine));
    sum += 1 - mcs, squares += (1 - mcs) * (1 - mcs), seconds += model->fit.seconds;
    blica_model_free(truth), blica_model_free(model), blica_data_free(data);
  }
  result[0] = sum / sets;
  result[1] = sqrt(fmax(0, squares / sets - result[0] * result[0]) / sets);
  result[2] = seconds / sets;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: bench_accuracy SETS METHOD[:option=value,...] ...\n");
    return 2;
  }
  int sets = atoi(argv[1]);
  double ratios[2][64] = {{0}};
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, 1);
  printf("| data (u=40, %d sets) |", sets);
  for (int a = 2; a < argc && a < 64; a++) printf(" %s |", argv[a]);
  printf("\n|---|");
  for (int a = 2; a < argc && a < 64; a++) printf("---|");
  for (int c = 0; c < DESIGNS; c++) {
    printf("\n| %s |", designs[c].name);
    double first = 0, result[3];
    for (int a = 2; a < argc && a < 64; a++) {
      measure(&designs[c], argv[a], sets, result);
      if (a == 2) first = result[0];
      ratios[c >= CELLS][a] += result[0] / first;
      printf(" %.4f (%.4f) %.2f s |", result[0], result[1], result[2]);
      fflush(stdout);
    }
  }
  for (int part = 0; part < 2; part++) {
    printf("\n| mean ratio, %s |", part ? "other data" : "the nine cells");
    for (int a = 2; a < argc && a < 64; a++) printf(" %.3f |", ratios[part][a] / (part ? DESIGNS - CELLS : CELLS));
  }
  printf("\n");
  blica_ctx_free(ctx);
  return 0;
}
