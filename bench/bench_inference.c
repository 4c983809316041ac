/* bench_inference.c - are the errors, the expected MCS and the p values of `blica assess` right? Repeats what
 * bench/results/inference.md quotes.
 *
 *   bench_inference SETS SEED NAME=VALUE ...   one design: coverage of 95 % intervals of loadings, expected over
 *                                                      actual 1 - MCS, p values of M2, of margins and of change
 *   bench_inference select[-KIND] SETS SEED            numbers of sources
 *
 * NAME: n, k, u, N, low and high (standard deviations of sources), means (their range), cuts (sd), rare (added to all
 * cuts), levels, missing (share of cells), sizes (1: very different, 2: N in all but
 * one segment of 10 N), source (0: normal, 1: t with 3 degrees of freedom, 2: skewed), fit (sources of the model; 0:
 * k), dif (added to the cut of the first item in the first segment), pairwise (1: that method without priors), still
 * (1: the first source has sd 1.5 everywhere), draws (of the bootstrap). */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"
#include "num/rng.h"
#include "set_word.h"

static blica_ctx *ctx;

static void must(blica_status status) {
  if (status == BLICA_OK) return;
  fprintf(stderr, "%s\n", blica_message(ctx));
  exit(1);
}

typedef struct {
  double n, k, u, N, low, high, means, cuts, rare, levels, missing, sizes, source, fit, dif, pairwise, still;
} design;

static const struct {
  const char *name;
  size_t at;
} names[] = {{"n", offsetof(design, n)},
             {"k", offsetof(design, k)},
             {"u", offsetof(design, u)},
             {"N", offsetof(design, N)},
             {"low", offsetof(design, low)},
             {"high", offsetof(design, high)},
             {"means", offsetof(design, means)},
             {"cuts", offsetof(design, cuts)},
             {"rare", offsetof(design, rare)},
             {"levels", offsetof(design, levels)},
             {"missing", offsetof(design, missing)},
             {"sizes", offsetof(design, sizes)},
             {"source", offsetof(design, source)},
             {"fit", offsetof(design, fit)},
             {"dif", offsetof(design, dif)},
             {"pairwise", offsetof(design, pairwise)},
             {"still", offsetof(design, still)}};

static void set(design *d, const char *word) {
  const char *equal = strchr(word, '=');
  for (size_t i = 0; equal && i < sizeof names / sizeof *names; i++)
    if (strlen(names[i].name) == (size_t)(equal - word) && strncmp(names[i].name, word, (size_t)(equal - word)) == 0) {
      *(double *)((char *)d + names[i].at) = atof(equal + 1);
      return;
    }
  fprintf(stderr, "%s: not NAME=VALUE of a design\n", word);
  exit(2);
}

static blica_model *truth_of(const design *d, uint64_t seed) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = (int)d->n, o.sources = (int)d->k, o.segments = (int)d->u, o.samples = (int64_t)d->N, o.seed = seed;
  o.sd_low = d->low, o.sd_high = d->high, o.mean_range = d->means;
  o.levels = (int)d->levels, o.intercepts = d->cuts;
  blica_model *m;
  must(blica_simulate(ctx, &o, &m, NULL, NULL));
  for (int s = 0; s < m->u; s++) {
    if (d->sizes == 1) m->samples[s] = fmax(20, d->N * (s % 4 == 0 ? 3 : s % 4 == 1 ? 0.6 : 0.2));
    if (d->sizes == 2 && s == 0) m->samples[s] = 10 * d->N;
  }
  for (int s = 0; d->still && s < m->u; s++) m->variances[m->k * s] = 2.25;
  for (int i = 0; i < m->planes; i++) m->cuts[i] += d->rare;
  return m;
}

/* Of mean 0 and variance 1. */
static double source(int kind, bl_rng *rng) {
  const double z = bl_rng_normal(rng);
  if (kind == 0) return z;
  if (kind == 2) return -log(bl_rng_uniform(rng)) - 1;
  double chi = 0;
  for (int i = 0; i < 3; i++) chi += pow(bl_rng_normal(rng), 2);
  return z / sqrt(chi);
}

/* The level of item i at latent value q in segment s. */
static int8_t level_of(const design *d, const blica_model *m, int i, int s, double q) {
  const int levels = m->planes / m->n;
  int8_t x = 0;
  for (int l = 0; l < levels; l++) x += q >= m->cuts[i * levels + l] + (i == 0 && s == 0 ? d->dif : 0);
  return x;
}

static blica_data *rows_of(const design *d, const blica_model *m, uint64_t seed) {
  int64_t rows = 0, r = 0;
  for (int s = 0; s < m->u; s++) rows += (int64_t)m->samples[s];
  int8_t *x = malloc((size_t)rows * (size_t)m->n);
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  int *levels = malloc((size_t)m->n * sizeof *levels);
  bl_rng rng = bl_rng_make(seed, 77);
  for (int i = 0; i < m->n; i++) levels[i] = m->planes / m->n + 1;
  for (int s = 0; s < m->u; s++)
    for (int64_t e = 0; e < (int64_t)m->samples[s]; e++, r++) {
      double z[64];
      segment[r] = s;
      for (int j = 0; j < m->k; j++)
        z[j] = m->means[j + m->k * s] + sqrt(m->variances[j + m->k * s]) * source((int)d->source, &rng);
      for (int i = 0; i < m->n; i++) {
        double q = bl_rng_normal(&rng);
        for (int j = 0; j < m->k; j++) q += sqrt(m->link) * m->mixing[i + m->n * j] * z[j];
        const bool gone = d->missing > 0 && bl_rng_uniform(&rng) < d->missing;
        x[r * m->n + i] = gone ? BLICA_MISSING : level_of(d, m, i, s, q);
      }
    }
  const blica_table table = {.rows = rows, .n = m->n, .x = x, .levels = levels, .segment = segment, .u = m->u};
  blica_data *data;
  must(blica_pack(ctx, &table, &data));
  free(x), free(segment), free(levels);
  return data;
}

static blica_model *fit(const design *d, const blica_data *data) {
  blica_fit_options o = blica_fit_options_default();
  if (d->pairwise) o.method = blica_method_find("pairwise"), set_word(blica_fit_option_table, &o, "prior", "none");
  o.sources = (int)(d->fit ? d->fit : d->k);
  blica_model *m;
  must(blica_fit(ctx, &(blica_input){.data = data}, &o, &m));
  return m;
}

/* Sums over sets. */
typedef struct {
  double loadings, in[3], far, se[3], squares, expected[2], actual; /* larger of both errors, asymptotic, bootstrap */
  double *p[6]; /* M2, margins, change, of the first source, of the others, of tails */
  int sets, tested[6];
  int answers[BLICA_QUESTIONS][4];
} result;

static void add_loadings(const blica_assessment *a, const blica_model *m, const blica_model *truth, result *r) {
  int match[64];
  double cosine[64], mcs;
  must(blica_compare(ctx, m->n, m->k, m->mixing, truth->mixing, &mcs, match, cosine));
  r->actual += 1 - mcs;
  r->expected[0] += 1 - a->expected_mcs;
  for (int j = 0; j < m->k; j++) {
    const int t = match[j] == 0 ? 3 : 4;
    if (!isnan(a->source_change_p[j])) r->p[t][r->tested[t]++] = a->source_change_p[j];
    for (int i = 0; i < m->n; i++) {
      const int at = i + j * m->n;
      const double error = m->mixing[at] - (cosine[j] < 0 ? -1 : 1) * truth->mixing[i + match[j] * m->n];
      const double errors[3] = {a->mixing_se[at], a->covariance ? sqrt(a->covariance[at * (a->parameters + 1)]) : NAN,
                                a->draws ? a->mixing_se_bootstrap[at] : NAN};
      for (int b = 0; b < 3; b++) r->in[b] += fabs(error) <= 1.959964 * errors[b], r->se[b] += errors[b] * errors[b];
      r->far += fabs(error) > 4 * errors[0], r->squares += error * error, r->loadings++;
    }
  }
}

static void one_set(const design *d, uint64_t seed, int draws, result *r) {
  blica_assess_options o = blica_assess_options_default();
  blica_assessment *a;
  blica_model *truth = truth_of(d, seed);
  blica_data *data = rows_of(d, truth, seed);
  blica_model *m = fit(d, data);
  o.bootstrap = draws;
  must(blica_assess(ctx, m, data, &o, &a));
  const double p[3] = {a->m2_p, a->margin_p, a->change_p};
  if (m->k == truth->k) add_loadings(a, m, truth, r);
  if (!isnan(a->tails_p)) r->p[5][r->tested[5]++] = a->tails_p;
  for (int t = 0; t < 3; t++)
    if (!isnan(p[t])) r->p[t][r->tested[t]++] = p[t];
  for (int question = 0; question < BLICA_QUESTIONS; question++) r->answers[question][a->answer[question]]++;
  r->sets++;
  blica_assessment_free(a);
  blica_model_free(m), blica_model_free(truth), blica_data_free(data);
}

static int ascending(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

static void print_p(const char *name, double *p, int count) {
  double five = 0, one = 0, distance = 0;
  if (!count) return;
  qsort(p, (size_t)count, sizeof *p, ascending);
  for (int i = 0; i < count; i++) {
    five += p[i] <= 0.05, one += p[i] <= 0.01;
    distance = fmax(distance, fmax((i + 1.0) / count - p[i], p[i] - (double)i / count));
  }
  printf("; %s p<=.05 %.3f <=.01 %.3f D %.3f median %.2f (%d)", name, five / count, one / count, distance, p[count / 2],
         count);
}

static void print(const result *r, int draws) {
  if (r->loadings > 0)
    printf("cover %.3f (asymptotic %.3f) beyond 4se %.4f; se %.3f error %.3f; 1-MCS %.4f ratio %.2f",
           r->in[0] / r->loadings, r->in[1] / r->loadings, r->far / r->loadings, sqrt(r->se[0] / r->loadings),
           sqrt(r->squares / r->loadings), r->actual / r->sets, r->expected[0] / r->actual);
  if (draws) printf("; bootstrap %.3f", r->in[2] / r->loadings);
  print_p("M2", r->p[0], r->tested[0]), print_p("margins", r->p[1], r->tested[1]);
  print_p("change", r->p[2], r->tested[2]);
  print_p("tails", r->p[5], r->tested[5]);
  print_p("of the first source", r->p[3], r->tested[3]), print_p("of others", r->p[4], r->tested[4]);
  for (int q = 0; q < BLICA_QUESTIONS; q++)
    printf("%s%s %d/%d/%d/%d", q ? " " : "; ", blica_question_name(q), r->answers[q][0], r->answers[q][1],
           r->answers[q][2], r->answers[q][3]);
  printf("\n");
}

static void study(const design *d, int sets, uint64_t seed, int draws) {
  result r = {0};
  for (int t = 0; t < 6; t++) r.p[t] = malloc(sizeof(double) * (size_t)sets * (t == 4 ? 64 : 1));
  for (int i = 0; i < sets; i++) one_set(d, seed + (uint64_t)i, draws, &r);
  print(&r, draws);
  for (int t = 0; t < 6; t++) free(r.p[t]);
}

/* How often each criterion finds the number of sources. */
static void choose(const design *base, const char *name, int sets, uint64_t seed) {
  int right[5] = {0}, count = 0;
  for (int i = 0; i < sets; i++)
    for (int k = 1; k <= 4; k++, count++) {
      design d = *base;
      d.k = k;
      const uint64_t own = seed + (uint64_t)(4 * i + k);
      blica_model *truth = truth_of(&d, own);
      blica_data *data;
      blica_selection *s;
      blica_select_options o = blica_select_options_default();
      o.sources[0] = 1, o.sources[1] = 6, o.references = 20;
      must(blica_simulate_rows(ctx, truth, own, &data));
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

static const design usual = {.n = 6, .k = 2, .u = 10, .N = 500, .low = 0.5, .high = 3, .means = 0.5, .levels = 2};

/* "select" runs all kinds of data, "select-KIND" one of them. */
static void run_select(const char *what, int sets, uint64_t seed) {
  design plain = usual;
  plain.n = 12, plain.u = 20;
  design kind[] = {plain, plain, plain, plain};
  static const char *const name[] = {"plain", "intercepts", "ordinal", "rare"};
  kind[1].cuts = 1, kind[2].levels = 4, kind[3].rare = 3;
  for (int i = 0; i < 4; i++)
    if (what[6] == 0 || strcmp(what + 7, name[i]) == 0) choose(&kind[i], name[i], sets, seed);
}

int main(int argc, char **argv) {
  const bool select = argc > 1 && strncmp(argv[1], "select", 6) == 0;
  const int first = select ? 2 : 1;
  const int sets = argc > first ? atoi(argv[first]) : 20;
  const uint64_t seed = argc > first + 1 ? strtoull(argv[first + 1], NULL, 10) : 1000;
  must(blica_ctx_create(&ctx));
  if (getenv("THREADS")) blica_set_threads(ctx, atoi(getenv("THREADS")));
  if (select) {
    run_select(argv[1], sets, seed);
  } else {
    design d = usual;
    int draws = 0;
    for (int i = first + 2; i < argc; i++)
      if (strncmp(argv[i], "draws=", 6) == 0)
        draws = atoi(argv[i] + 6);
      else
        set(&d, argv[i]);
    study(&d, sets, seed, draws);
  }
  blica_ctx_free(ctx);
  return 0;
}
