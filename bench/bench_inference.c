/* bench_inference.c - are the errors, the expected MCS and the p values right? Repeats what bench/results/inference.md
 * quotes: bench_inference WHAT SETS SEED [DRAWS, SIMULATIONS OR FIRST DESIGN], WHAT one of coverage, coverage-small,
 * coverage-ordinal, mcs, mcs-fresh, change, change-ordinal, power, m2, m2-ordinal, select. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"
#include "set_word.h"

static blica_ctx *ctx;

static void must(blica_status status) {
  if (status == BLICA_OK) return;
  fprintf(stderr, "%s\n", blica_message(ctx));
  exit(1);
}

typedef struct {
  int n, k, u;
  int64_t samples;
  double sd_low, sd_high, mean_range;
  int uneven; /* segments of very different size */
  const char *method, *prior;
  int levels;        /* 0: two */
  double intercepts; /* sd of the cuts */
  double rare;       /* added to all cuts */
} design;

static blica_model *truth_of(const design *d, uint64_t seed) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = d->n, o.sources = d->k, o.segments = d->u, o.samples = d->samples, o.seed = seed;
  o.sd_low = d->sd_low, o.sd_high = d->sd_high, o.mean_range = d->mean_range;
  o.levels = d->levels ? d->levels : 2, o.intercepts = d->intercepts;
  blica_model *m;
  must(blica_simulate(ctx, &o, &m, NULL, NULL));
  for (int s = 0; d->uneven && s < d->u; s++)
    m->samples[s] = fmax(20, d->samples * (s % 4 == 0 ? 3 : s % 4 == 1 ? 0.6 : 0.2));
  for (int i = 0; i < m->planes; i++) m->cuts[i] += d->rare;
  return m;
}

static blica_model *fit(const design *d, const blica_data *data) {
  blica_fit_options o = blica_fit_options_default();
  if (d->method) o.method = blica_method_find(d->method);
  if (d->prior) set_word(blica_fit_option_table, &o, "prior", d->prior);
  o.sources = d->k;
  blica_model *m;
  must(blica_fit(ctx, &(blica_input){.data = data}, &o, &m));
  return m;
}

static blica_assessment *assess(const blica_model *m, const blica_data *data, int bootstrap) {
  blica_assess_options o = blica_assess_options_default();
  o.bootstrap = bootstrap;
  blica_assessment *a;
  must(blica_assess(ctx, m, data, &o, &a));
  return a;
}

static double match(const blica_model *m, const blica_model *truth, int *matching, double *cosine) {
  double mcs;
  must(blica_compare(ctx, m->n, m->k, m->mixing, truth->mixing, &mcs, matching, cosine));
  return mcs;
}

/* Share of loadings whose interval holds the truth. */
static void coverage(const design *d, int sets, uint64_t seed, int bootstrap) {
  double in[3] = {0}, se[3] = {0}, squares = 0, count = 0, far[3] = {0};
  for (int i = 0; i < sets; i++) {
    int matching[64];
    double cosine[64];
    blica_model *truth = truth_of(d, seed + (uint64_t)i), *m;
    blica_data *data;
    must(blica_simulate_rows(ctx, truth, seed + (uint64_t)i, &data));
    m = fit(d, data);
    blica_assessment *a = assess(m, data, bootstrap);
    match(m, truth, matching, cosine);
    for (int j = 0; j < d->k; j++)
      for (int l = 0; l < d->n; l++) {
        int at = l + j * d->n;
        double error = m->mixing[at] - (cosine[j] < 0 ? -1 : 1) * truth->mixing[l + matching[j] * d->n];
        const double errors[3] = {a->mixing_se[at], sqrt(a->covariance[at * (a->parameters + 1)]),
                                  bootstrap ? a->mixing_se_bootstrap[at] : NAN};
        for (int b = 0; b < 3; b++) {
          in[b] += fabs(error) <= 1.959964 * errors[b];
          far[b] += fabs(error) > 4 * errors[b];
          se[b] += errors[b] * errors[b];
        }
        squares += error * error;
        count++;
      }
    blica_assessment_free(a);
    blica_model_free(m), blica_model_free(truth), blica_data_free(data);
  }
  printf(
      "n=%d k=%d u=%d N=%lld levels %d %s %s, %d sets: coverage %.4f (rms se %.4f, rms error %.4f, beyond 4 se %.4f)",
      d->n, d->k, d->u, (long long)d->samples, d->levels ? d->levels : 2, d->method ? d->method : "auto",
      d->prior ? d->prior : "", sets, in[0] / count, sqrt(se[0] / count), sqrt(squares / count), far[0] / count);
  if (bootstrap)
    printf("; asymptotic %.4f (rms se %.4f), bootstrap %d: %.4f (rms se %.4f)", in[1] / count, sqrt(se[1] / count),
           bootstrap, in[2] / count, sqrt(se[2] / count));
  printf("\n");
  fflush(stdout);
}

/* Expected and actual 1 - MCS, added to sums. */
static void expected(const design *d, int sets, uint64_t seed, double sums[2]) {
  double own[2] = {0};
  for (int i = 0; i < sets; i++) {
    int matching[64];
    double cosine[64];
    blica_model *truth = truth_of(d, seed + (uint64_t)i), *m;
    blica_data *data;
    must(blica_simulate_rows(ctx, truth, seed + (uint64_t)i, &data));
    m = fit(d, data);
    blica_assessment *a = assess(m, data, 0);
    own[0] += 1 - a->expected_mcs;
    own[1] += 1 - match(m, truth, matching, cosine);
    blica_assessment_free(a);
    blica_model_free(m), blica_model_free(truth), blica_data_free(data);
  }
  printf("n=%d k=%d u=%d N=%lld sd %.1f-%.1f levels %d%s: actual 1-MCS %.4f, ratio %.2f\n", d->n, d->k, d->u,
         (long long)d->samples, d->sd_low, d->sd_high, d->levels ? d->levels : 2, d->uneven ? " uneven" : "",
         own[1] / sets, own[0] / own[1]);
  fflush(stdout);
  sums[0] += own[0], sums[1] += own[1];
}

static void expected_all(const design *designs, size_t count, int sets, uint64_t seed) {
  double sums[2] = {0};
  for (size_t i = 0; i < count; i++) expected(&designs[i], sets, seed, sums);
  printf("all: ratio %.3f\n", sums[0] / sums[1]);
}

/* How often each criterion finds the number of sources. */
static void choose(const design *base, const char *name, int sets, uint64_t seed) {
  int right[5] = {0}, count = 0;
  for (int i = 0; i < sets; i++)
    for (int k = 1; k <= 4; k++, count++) {
      design d = *base;
      d.k = k;
      blica_model *truth = truth_of(&d, seed + (uint64_t)(4 * i + k));
      blica_data *data;
      blica_selection *s;
      blica_select_options o = blica_select_options_default();
      o.sources[0] = 1, o.sources[1] = 6, o.references = 20;
      must(blica_simulate_rows(ctx, truth, seed + (uint64_t)(4 * i + k), &data));
      must(blica_select(ctx, data, &o, &s));
      const int found[5] = {s->sources, s->by_heldout, s->by_parallel, s->by_map, s->by_bic};
      for (int c = 0; c < 5; c++) right[c] += found[c] == k;
      if (s->sources != k)
        printf("  %s k=%d: recommended %d, held-out %d, parallel %d, MAP %d, BIC %d\n", name, k, found[0], found[1],
               found[2], found[3], found[4]);
      blica_selection_free(s);
      blica_model_free(truth), blica_data_free(data);
    }
  printf("%s: right of %d: recommended %d, held-out %d, parallel %d, MAP %d, BIC %d\n", name, count, right[0], right[1],
         right[2], right[3], right[4]);
  fflush(stdout);
}

static int ascending(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return a < b ? -1 : a > b;
}

/* p of the change test. Without change (sd_low == sd_high) its Kolmogorov distance from uniform. */
static void change(const design *d, int sets, uint64_t seed) {
  double *p = malloc(sizeof *p * (size_t)sets), distance = 0, below = 0, *q = malloc(sizeof *q * (size_t)sets), dq = 0;
  for (int i = 0; i < sets; i++) {
    blica_model *truth = truth_of(d, seed + (uint64_t)i), *m;
    blica_data *data;
    must(blica_simulate_rows(ctx, truth, seed + (uint64_t)i, &data));
    m = fit(d, data);
    blica_assessment *a = assess(m, data, 0);
    p[i] = a->change_p;
    q[i] = a->source_change_p[0];
    below += p[i] <= 0.05;
    blica_assessment_free(a);
    blica_model_free(m), blica_model_free(truth), blica_data_free(data);
  }
  qsort(p, (size_t)sets, sizeof *p, ascending);
  qsort(q, (size_t)sets, sizeof *q, ascending);
  for (int i = 0; i < sets; i++) {
    distance = fmax(distance, fmax(fabs((i + 1.0) / sets - p[i]) * (i + 1 == sets || p[i + 1] > p[i]), 0));
    dq = fmax(dq, fmax(fabs((i + 1.0) / sets - q[i]) * (i + 1 == sets || q[i + 1] > q[i]), 0));
  }
  printf("n=%d k=%d u=%d N=%lld sd %.2f-%.2f means %.1f%s, %d sets: p <= .05 in %.3f, Kolmogorov "
         "distance %.3f (source 1: %.3f)\n",
         d->n, d->k, d->u, (long long)d->samples, d->sd_low, d->sd_high, d->mean_range, d->uneven ? " uneven" : "",
         sets, below / sets, distance, dq);
  fflush(stdout);
  free(p), free(q);
}

static void m2(const design *d, int sets, uint64_t seed) {
  double below = 0, mean = 0, df = 0;
  for (int i = 0; i < sets; i++) {
    blica_model *truth = truth_of(d, seed + (uint64_t)i), *m;
    blica_data *data;
    must(blica_simulate_rows(ctx, truth, seed + (uint64_t)i, &data));
    m = fit(d, data);
    blica_assessment *a = assess(m, data, 0);
    below += a->m2_p <= 0.05;
    mean += a->m2 / sets;
    df = (double)a->df;
    blica_assessment_free(a);
    blica_model_free(m), blica_model_free(truth), blica_data_free(data);
  }
  printf("n=%d k=%d u=%d N=%lld %s %s, %d sets: M2 rejects at 5 %% in %.4f, mean M2 %.2f, df %.0f\n", d->n, d->k, d->u,
         (long long)d->samples, d->method ? d->method : "auto", d->prior ? d->prior : "", sets, below / sets, mean, df);
}

static const design wide = {.n = 6, .k = 2, .u = 40, .samples = 1000, .sd_low = 0.5, .sd_high = 3, .mean_range = 0.5},
                    small = {.n = 10, .k = 4, .u = 20, .samples = 300, .sd_low = 0.5, .sd_high = 3, .mean_range = 0.5};

#define LENGTH(list) (sizeof(list) / sizeof *(list))

/* Designs that the share of the bias was chosen on, and others. */
static const design tuned[] = {
    {6, 2, 40, 1000, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},  {10, 4, 20, 300, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},
    {6, 2, 10, 100, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},   {8, 3, 20, 500, 0.8, 1.4, 0.5, 0, NULL, NULL, 0, 0, 0},
    {6, 3, 40, 200, 0.5, 3, 0.5, 1, NULL, NULL, 0, 0, 0},   {12, 2, 6, 400, 0.5, 2, 0.5, 0, NULL, NULL, 0, 0, 0},
    {10, 6, 30, 500, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},  {8, 2, 100, 40, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},
    {15, 5, 10, 1000, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0}, {6, 6, 40, 1000, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0}};
static const design fresh[] = {
    {7, 2, 15, 300, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},    {9, 3, 12, 600, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},
    {8, 4, 30, 400, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},    {7, 7, 30, 800, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0, 0},
    {8, 3, 24, 300, 0.5, 3, 0.5, 1, NULL, NULL, 0, 0, 0},    {10, 2, 8, 250, 0.7, 1.6, 0.5, 0, NULL, NULL, 0, 0, 0},
    {12, 5, 20, 500, 0.5, 3, 0.5, 0, NULL, NULL, 0, 0.7, 0}, {7, 3, 50, 150, 0.5, 3, 1, 0, NULL, NULL, 0, 0, 0},
    {7, 3, 12, 300, 0.5, 3, 0.5, 0, NULL, NULL, 4, 0, 0},    {6, 2, 8, 200, 0.5, 3, 0.5, 0, NULL, NULL, 5, 0, 0}};

static void run_coverage(const char *what, int sets, uint64_t seed, int bootstrap) {
  design d = strcmp(what, "coverage") == 0 ? wide : small;
  if (strcmp(what, "coverage-ordinal") == 0) d.levels = 4;
  coverage(&d, sets, seed, bootstrap);
  if (d.levels) return;
  d.method = "pairwise";
  if (strcmp(what, "coverage") == 0) d.prior = "none";
  coverage(&d, sets, seed, bootstrap);
}

/* "select" runs all kinds of data, "select-KIND" one of them. */
static void run_select(const char *what, int sets, uint64_t seed) {
  const design plain = {.n = 12, .u = 20, .samples = 500, .sd_low = 0.5, .sd_high = 3, .mean_range = 0.5};
  design kind[] = {plain, plain, plain, plain};
  static const char *const name[] = {"plain", "intercepts", "ordinal", "rare"};
  kind[1].intercepts = 1, kind[2].levels = 4, kind[3].rare = 3;
  for (int i = 0; i < 4; i++)
    if (what[6] == 0 || strcmp(what + 7, name[i]) == 0) choose(&kind[i], name[i], sets, seed);
}

static void run_change(const char *what, int sets, uint64_t seed) {
  design d = {.n = 6, .k = 2, .u = 10, .samples = 200, .sd_low = 1.5, .sd_high = 1.5};
  const bool power = strcmp(what, "power") == 0;
  if (power) d.sd_low = 1.2, d.sd_high = 1.8, d.mean_range = 0.5;
  if (strcmp(what, "change-ordinal") == 0) d.levels = 4;
  change(&d, sets, seed);
  if (d.levels) return;
  if (power)
    d.sd_low = 0.8, d.sd_high = 2;
  else
    d.mean_range = 1.5, d.uneven = 1;
  change(&d, sets, seed);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int sets = argc > 2 ? atoi(argv[2]) : 20, extra = argc > 4 ? atoi(argv[4]) : 0;
  uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;
  must(blica_ctx_create(&ctx));
  if (getenv("THREADS")) blica_set_threads(ctx, atoi(getenv("THREADS")));
  if (strncmp(what, "coverage", 8) == 0) run_coverage(what, sets, seed, extra);
  const size_t first = (size_t)extra; /* design to begin with */
  if (strcmp(what, "mcs") == 0) expected_all(tuned + first, LENGTH(tuned) - first, sets, seed);
  if (strcmp(what, "mcs-fresh") == 0) expected_all(fresh + first, LENGTH(fresh) - first, sets, seed);
  if (strncmp(what, "change", 6) == 0 || strcmp(what, "power") == 0) run_change(what, sets, seed);
  if (strncmp(what, "select", 6) == 0) run_select(what, sets, seed);
  if (strcmp(what, "m2") == 0) {
    design d = {.n = 6, .k = 2, .u = 4, .samples = 500, .sd_low = 0.5, .sd_high = 3, .mean_range = 0.5};
    m2(&d, sets, seed);
    d.method = "pairwise", d.prior = "none";
    m2(&d, sets, seed);
  }
  if (strcmp(what, "m2-ordinal") == 0) {
    const design d = {
        .n = 5, .k = 2, .u = 4, .samples = 500, .sd_low = 0.5, .sd_high = 3, .mean_range = 0.5, .levels = 3};
    m2(&d, sets, seed);
  }
  blica_ctx_free(ctx);
  return 0;
}
