/* bench_missing.c - error (1 - MCS) of methods where values are missing in the ways in which surveys are made.
 * Usage: bench_missing [FIRST-]SETS [DESIGN].  One row per design whose name contains DESIGN: the mean over data sets
 * of seeds FIRST (1) to SETS of the default on complete rows, the default, the default from a file of counts, which
 * does not say which items rows have together, and pairwise; and their mean CPU seconds. pairwise is left out where n
 * is above 30 unless DESIGN is given. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blica.h"

typedef enum { FORMS, ROTATING, HALF, TWO, EIGHTH, FORMS_TENTH, FOUR_FORMS, THIRD, FORMS_HALF } missing;

typedef struct {
  const char *name;
  int n, k, u;
  int64_t samples;
  int levels;
  missing how;
  double intercepts; /* cuts ~ N(0, intercepts^2): rare items */
} design;

static const design designs[] = {
    {"two forms, N=200", 8, 2, 15, 200, 2, FORMS, 0},
    {"two forms, N=800", 8, 2, 15, 800, 2, FORMS, 0},
    {"two forms, N=4000", 8, 2, 15, 4000, 2, FORMS, 0},
    {"rotating, N=200", 8, 2, 15, 200, 2, ROTATING, 0},
    {"rotating, N=800", 8, 2, 15, 800, 2, ROTATING, 0},
    {"rotating, N=4000", 8, 2, 15, 4000, 2, ROTATING, 0},
    {"half of the cells, N=200", 8, 2, 15, 200, 2, HALF, 0},
    {"half of the cells, N=800", 8, 2, 15, 800, 2, HALF, 0},
    {"half of the cells, n=6", 6, 2, 15, 800, 2, HALF, 0},
    {"two items 90 %, N=200", 8, 2, 15, 200, 2, TWO, 0},
    {"two items 90 %, N=800", 8, 2, 15, 800, 2, TWO, 0},
    {"two items 90 %, n=6", 6, 2, 15, 800, 2, TWO, 0},
    {"15 % of the cells, N=800", 8, 2, 15, 800, 2, EIGHTH, 0},
    {"forms and 10 %, N=800", 8, 2, 15, 800, 2, FORMS_TENTH, 0},
    {"forms and half of the cells, N=800", 8, 2, 15, 800, 2, FORMS_HALF, 0},
    {"four levels, rotating, N=800", 8, 2, 15, 800, 4, ROTATING, 0},
    {"four levels, forms, N=800", 8, 2, 15, 800, 4, FORMS, 0},
    {"four levels, two items 90 %, N=800", 8, 2, 15, 800, 4, TWO, 0},
    {"rare items, forms, N=800", 8, 2, 15, 800, 2, FORMS, 3},
    {"rare items, rotating, N=800", 8, 2, 15, 800, 2, ROTATING, 3},
    {"n=40 rotating", 40, 5, 15, 500, 2, ROTATING, 0},
    {"n=40 four forms", 40, 5, 15, 500, 2, FOUR_FORMS, 0},
    {"n=40 a third", 40, 5, 15, 500, 2, THIRD, 0},
    {"n=40 forms and half of the cells", 40, 5, 15, 500, 2, FORMS_HALF, 0},
};
enum { DESIGNS = sizeof designs / sizeof *designs, COLUMNS = 4, MOST = 64 };

static blica_ctx *ctx;

static void must(blica_status status) {
  if (status == BLICA_OK) return;
  fprintf(stderr, "bench_missing: %s\n", blica_message(ctx));
  exit(1);
}

static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

/* Whether the value of item i is missing in row r of segment s. */
static bool is_missing(const design *d, int64_t r, int s, int i, uint64_t *state) {
  const int last = d->n - i; /* 1 for the last item */
  const bool off_form = last <= 4 && (last > 2) == (r % 2 == 0);
  const double z = uniform(state);
  switch (d->how) {
  case FORMS:
    return off_form;
  case ROTATING:
    return i == 2 * s % d->n || i == (2 * s + 1) % d->n;
  case HALF:
    return z < 0.5;
  case TWO:
    return i < 2 && z < 0.9;
  case EIGHTH:
    return z < 0.15;
  case FORMS_TENTH:
    return off_form || z < 0.1;
  case FORMS_HALF:
    return off_form || z < 0.5;
  case FOUR_FORMS:
    return i % 8 == r % 4;
  case THIRD:
    return i >= d->n / 4 && i % 3 != r % 3;
  }
  return false;
}

/* The data without the values that the design leaves out. */
static blica_data *leave_out(const design *d, uint64_t seed, const blica_data *complete) {
  uint64_t state = seed * 2654435761u + 777;
  const int planes = d->levels - 1;
  int levels[MOST];
  char *names = calloc((size_t)d->n, 8), *name[MOST];
  int8_t *x = malloc((size_t)complete->rows * (size_t)d->n), *to = x;
  int32_t *segment = malloc((size_t)complete->rows * sizeof *segment), *label = segment;
  blica_data *out;
  for (int i = 0; i < d->n; i++) {
    name[i] = names + 8 * i, levels[i] = d->levels;
    snprintf(name[i], 8, "x%d", i + 1);
  }
  for (int s = 0; s < d->u; s++)
    for (int64_t r = 0; r < complete->samples[s]; r++, *label++ = s)
      for (int i = 0; i < d->n; i++) {
        int8_t level = 0;
        for (int p = i * planes; p < (i + 1) * planes; p++)
          level += complete->ones[s][p * complete->words[s] + r / 64] >> (r % 64) & 1;
        *to++ = is_missing(d, r, s, i, &state) ? BLICA_MISSING : level;
      }
  must(blica_pack(ctx,
                  &(blica_table){.rows = complete->rows,
                                 .n = d->n,
                                 .x = x,
                                 .variables = (const char *const *)name,
                                 .levels = levels,
                                 .segment = segment,
                                 .u = d->u},
                  &out));
  free(x), free(segment), free(names);
  return out;
}

/* 1 - MCS of a method, and the seconds it took. */
static double fit(const design *d, const char *method, const blica_input *input, const blica_model *truth,
                  double *seconds) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *model;
  double mcs, cosine[MOST];
  int matching[MOST];
  o.method = blica_method_find(method);
  o.sources = d->k;
  const clock_t begun = clock();
  must(blica_fit(ctx, input, &o, &model));
  *seconds += (double)(clock() - begun) / CLOCKS_PER_SEC;
  must(blica_compare(ctx, d->n, d->k, truth->mixing, model->mixing, &mcs, matching, cosine));
  blica_model_free(model);
  return 1 - mcs;
}

/* Counts as a file brings them. */
static blica_counts *through_file(const blica_data *data) {
  char path[64];
  blica_counts *counts, *read;
  snprintf(path, sizeof path, "/tmp/bench_missing_%ld.csv", (long)getpid());
  must(blica_count(ctx, data, &counts));
  must(blica_counts_save(ctx, counts, path));
  must(blica_counts_load(ctx, path, &read));
  remove(path);
  blica_counts_free(counts);
  return read;
}

static void measure(const design *d, int first, int last, bool asked) {
  double sum[COLUMNS] = {0}, seconds[COLUMNS] = {0};
  for (int seed = first; seed <= last; seed++) {
    blica_simulate_options o = blica_simulate_options_default();
    blica_model *truth;
    blica_data *complete;
    o.variables = d->n, o.sources = d->k, o.segments = d->u, o.samples = d->samples, o.levels = d->levels;
    o.intercepts = d->intercepts, o.seed = (uint64_t)seed;
    must(blica_simulate(ctx, &o, &truth, &complete, NULL));
    blica_data *data = leave_out(d, (uint64_t)seed, complete);
    blica_counts *counts = through_file(data);
    sum[0] += fit(d, "auto", &(blica_input){.data = complete}, truth, &seconds[0]);
    sum[1] += fit(d, "auto", &(blica_input){.data = data}, truth, &seconds[1]);
    sum[2] += fit(d, "auto", &(blica_input){.counts = counts}, truth, &seconds[2]);
    if (d->n <= 30 || asked) sum[3] += fit(d, "pairwise", &(blica_input){.data = data}, truth, &seconds[3]);
    blica_model_free(truth), blica_data_free(complete), blica_data_free(data), blica_counts_free(counts);
  }
  printf("| %s |", d->name);
  for (int c = 0; c < COLUMNS; c++)
    if (seconds[c] > 0)
      printf(" %.4f (%.2f s) |", sum[c] / (last - first + 1), seconds[c] / (last - first + 1));
    else
      printf(" |");
  if (seconds[3] > 0) printf(" %.2f |", sum[1] / sum[3]);
  printf("\n");
  fflush(stdout);
}

int main(int argc, char **argv) {
  int first = 1, last = 20;
  if (argc > 1 && sscanf(argv[1], "%d-%d", &first, &last) < 2) first = 1, last = atoi(argv[1]);
  must(blica_ctx_create(&ctx));
  blica_set_threads(ctx, 1);
  printf("| missing values | complete rows | default | default, counts from a file | pairwise | default/pairwise |\n"
         "|---|---|---|---|---|---|\n");
  for (int i = 0; i < DESIGNS; i++)
    if (argc < 3 || strstr(designs[i].name, argv[2])) measure(&designs[i], first, last, argc > 2);
  blica_ctx_free(ctx);
  return 0;
}
