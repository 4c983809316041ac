/* bench_inference.c - are the errors, the expected MCS and the p values right? Repeats what bench/results/inference.md
 * quotes: bench_inference WHAT SETS SEED, WHAT one of coverage, coverage-small, mcs, change, power, m2.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"

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
} design;

static blica_model *truth_of(const design *d, uint64_t seed) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = d->n, o.sources = d->k, o.segments = d->u, o.samples = d->samples, o.seed = seed;
  o.sd_low = d->sd_low, o.sd_high = d->sd_high, o.mean_range = d->mean_range;
  blica_model *m;
  must(blica_simulate(ctx, &o, &m, NULL, NULL));
  for (int s = 0; d->uneven && s < d->u; s++)
    m->samples[s] = fmax(20, d->samples * (s % 4 == 0 ? 3 : s % 4 == 1 ? 0.6 : 0.2));
  return m;
}

static blica_model *fit(const design *d, const blica_data *data) {
  blica_fit_options o = blica_fit_options_default();
  if (d->method) strcpy(o.method, d->method);
  if (d->prior) strcpy(o.prior, d->prior);
  o.sources = d->k;
  blica_model *m;
  must(blica_fit(ctx, &(blica_input){.data = data}, &o, &m));
  return m;
}

static blica_assessment *assess(const blica_model *m, const blica_data *data, int bootstrap, int simulations) {
  blica_assess_options o = blica_assess_options_default();
  o.bootstrap = bootstrap, o.simulations = simulations;
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
  double in[2] = {0}, se[2] = {0}, squares = 0, count = 0, far[2] = {0};
  for (int i = 0; i < sets; i++) {
    int matching[64];
    double cosine[64];
    blica_model *truth = truth_of(d, seed + (uint64_t)i), *m;
    blica_data *data;
    must(blica_simulate_rows(ctx, truth, seed + (uint64_t)i, &data));
    m = fit(d, data);
    blica_assessment *a = assess(m, data, bootstrap, 0);
    match(m, truth, matching, cosine);
    for (int j = 0; j < d->k; j++)
      for (int l = 0; l < d->n; l++) {
        int at = l + j * d->n;
        double error = m->mixing[at] - (cosine[j] < 0 ? -1 : 1) * truth->mixing[l + matching[j] * d->n];
        const double *errors[2] = {a->mixing_se, a->mixing_se_bootstrap};
        for (int b = 0; b < 2; b++) {
          if (!errors[b]) continue;
          in[b] += fabs(error) <= 1.959964 * errors[b][at];
          far[b] += fabs(error) > 4 * errors[b][at];
          se[b] += errors[b][at] * errors[b][at];
        }
        squares += error * error;
        count++;
      }
    blica_assessment_free(a);
    blica_model_free(m), blica_model_free(truth), blica_data_free(data);
  }
  printf("n=%d k=%d u=%d N=%lld %s %s, %d sets: coverage %.4f (rms se %.4f, rms error %.4f, beyond 4 se %.4f)", d->n,
         d->k, d->u, (long long)d->samples, d->method ? d->method : "auto", d->prior ? d->prior : "", sets,
         in[0] / count, sqrt(se[0] / count), sqrt(squares / count), far[0] / count);
  if (bootstrap) printf("; bootstrap %d: %.4f (rms se %.4f)", bootstrap, in[1] / count, sqrt(se[1] / count));
  printf("\n");
  fflush(stdout);
}

static void expected(const design *d, int sets, uint64_t seed, int bootstrap) {
  double actual = 0, normal = 0, boot = 0;
  for (int i = 0; i < sets; i++) {
    int matching[64];
    double cosine[64];
    blica_model *truth = truth_of(d, seed + (uint64_t)i), *m;
    blica_data *data;
    must(blica_simulate_rows(ctx, truth, seed + (uint64_t)i, &data));
    m = fit(d, data);
    blica_assessment *a = assess(m, data, 0, 0);
    actual += 1 - match(m, truth, matching, cosine);
    normal += 1 - a->expected_mcs;
    blica_assessment_free(a);
    if (bootstrap) {
      a = assess(m, data, bootstrap, 0);
      boot += 1 - a->expected_mcs;
      blica_assessment_free(a);
    }
    blica_model_free(m), blica_model_free(truth), blica_data_free(data);
  }
  printf("n=%d k=%d u=%d N=%lld sd %.1f-%.1f%s: actual 1-MCS %.4f, ratio asymptotic %.2f, bootstrap %.2f\n", d->n, d->k,
         d->u, (long long)d->samples, d->sd_low, d->sd_high, d->uneven ? " uneven" : "", actual / sets, normal / actual,
         boot / actual);
  fflush(stdout);
}

static int ascending(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return a < b ? -1 : a > b;
}

/* p of the change test. Without change (sd_low == sd_high) its Kolmogorov distance from uniform. */
static void change(const design *d, int sets, uint64_t seed, int simulations) {
  double *p = malloc(sizeof *p * (size_t)sets), distance = 0, below = 0, *q = malloc(sizeof *q * (size_t)sets), dq = 0;
  for (int i = 0; i < sets; i++) {
    blica_model *truth = truth_of(d, seed + (uint64_t)i), *m;
    blica_data *data;
    must(blica_simulate_rows(ctx, truth, seed + (uint64_t)i, &data));
    m = fit(d, data);
    blica_assessment *a = assess(m, data, 0, simulations);
    p[i] = a->change_p;
    q[i] = a->source_change_p[0];
    below += p[i] <= 0.05;
    blica_assessment_free(a);
    blica_model_free(m), blica_model_free(truth), blica_data_free(data);
  }
  qsort(p, (size_t)sets, sizeof *p, ascending);
  qsort(q, (size_t)sets, sizeof *q, ascending);
  for (int i = 0; i < sets; i++) { /* p is a multiple of 1/(simulations+1): P(p <= x) = x */
    distance = fmax(distance, fmax(fabs((i + 1.0) / sets - p[i]) * (i + 1 == sets || p[i + 1] > p[i]), 0));
    dq = fmax(dq, fmax(fabs((i + 1.0) / sets - q[i]) * (i + 1 == sets || q[i + 1] > q[i]), 0));
  }
  printf("n=%d k=%d u=%d N=%lld sd %.2f-%.2f means %.1f%s, %d sets, %d simulations: p <= .05 in %.3f, Kolmogorov "
         "distance %.3f (source 1: %.3f)\n",
         d->n, d->k, d->u, (long long)d->samples, d->sd_low, d->sd_high, d->mean_range, d->uneven ? " uneven" : "",
         sets, simulations, below / sets, distance, dq);
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
    blica_assessment *a = assess(m, data, 0, 0);
    below += a->m2_p <= 0.05;
    mean += a->m2 / sets;
    df = (double)a->df;
    blica_assessment_free(a);
    blica_model_free(m), blica_model_free(truth), blica_data_free(data);
  }
  printf("n=%d k=%d u=%d N=%lld %s %s, %d sets: M2 rejects at 5 %% in %.4f, mean M2 %.2f, df %.0f\n", d->n, d->k, d->u,
         (long long)d->samples, d->method ? d->method : "auto", d->prior ? d->prior : "", sets, below / sets, mean, df);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int sets = argc > 2 ? atoi(argv[2]) : 20, extra = argc > 4 ? atoi(argv[4]) : 0;
  uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;
  must(blica_ctx_create(&ctx));
  if (getenv("THREADS")) blica_set_threads(ctx, atoi(getenv("THREADS")));
  const design wide = {6, 2, 40, 1000, 0.5, 3, 0.5, 0, NULL, NULL},
               small = {10, 4, 20, 300, 0.5, 3, 0.5, 0, NULL, NULL};
  design wide_pairs = wide, small_pairs = small;
  wide_pairs.method = small_pairs.method = "pairwise";
  wide_pairs.prior = "none";
  if (strcmp(what, "coverage") == 0) coverage(&wide, sets, seed, extra), coverage(&wide_pairs, sets, seed, extra);
  if (strcmp(what, "coverage-small") == 0)
    coverage(&small, sets, seed, extra), coverage(&small_pairs, sets, seed, extra);
  static const design many[] = {
      {6, 2, 40, 1000, 0.5, 3, 0.5, 0, NULL, NULL},  {10, 4, 20, 300, 0.5, 3, 0.5, 0, NULL, NULL},
      {6, 2, 10, 100, 0.5, 3, 0.5, 0, NULL, NULL},   {8, 3, 20, 500, 0.8, 1.4, 0.5, 0, NULL, NULL},
      {6, 3, 40, 200, 0.5, 3, 0.5, 1, NULL, NULL},   {12, 2, 6, 400, 0.5, 2, 0.5, 0, NULL, NULL},
      {10, 6, 30, 500, 0.5, 3, 0.5, 0, NULL, NULL},  {8, 2, 100, 40, 0.5, 3, 0.5, 0, NULL, NULL},
      {15, 5, 10, 1000, 0.5, 3, 0.5, 0, NULL, NULL}, {6, 6, 40, 1000, 0.5, 3, 0.5, 0, NULL, NULL}};
  if (strcmp(what, "mcs") == 0)
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) expected(&many[i], sets, seed, extra);
  static const design none[] = {{6, 2, 10, 200, 1.5, 1.5, 0, 0, NULL, NULL},
                                {6, 2, 10, 200, 1.5, 1.5, 1.5, 1, NULL, NULL}};
  static const design some[] = {{6, 2, 10, 200, 1.2, 1.8, 0.5, 0, NULL, NULL},
                                {6, 2, 10, 200, 0.8, 2, 0.5, 0, NULL, NULL}};
  if (strcmp(what, "change") == 0)
    for (int i = 0; i < 2; i++) change(&none[i], sets, seed, extra ? extra : 99);
  if (strcmp(what, "power") == 0)
    for (int i = 0; i < 2; i++) change(&some[i], sets, seed, extra ? extra : 99);
  static const design fit_designs[] = {{6, 2, 4, 500, 0.5, 3, 0.5, 0, "pairwise", "none"},
                                       {6, 2, 4, 500, 0.5, 3, 0.5, 0, NULL, NULL}};
  if (strcmp(what, "m2") == 0)
    for (int i = 0; i < 2; i++) m2(&fit_designs[i], sets, seed);
  blica_ctx_free(ctx);
  return 0;
}
