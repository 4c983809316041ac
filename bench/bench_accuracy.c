/* bench_accuracy.c - error (1 - MCS) of methods over many data sets, on the paper's panels and on data drawn in other
 * ways. Usage: bench_accuracy [ROWS/]SETS METHOD[:option=value,...] ...  The first method is what the others are
 * divided by. Data sets are those of seeds 1 to SETS, on which nothing in the library was tuned; FIRST-LAST in place of
 * SETS takes other seeds. The last columns are the expected error of an efficient estimator at the true models, from
 * all rows and from the pair tables, with priors of the models' own scales (bench/bound.h), and the error of
 * the last method over the latter. ROWS are those whose names contain this text: as in "N=50/30"; "large" and "rare"
 * are rows of their own.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"
#include "bound.h"

typedef struct {
  const char *name;
  int n, k;
  int64_t samples;
  double mixing_range, sd_low, sd_high, mean_range;
  enum { AS_DRAWN, NORMAL, HALF_ZERO, FEW_LARGE } mixing;
  int segments;               /* 0: SEGMENTS */
  double rate_low, rate_high; /* rare outcomes: the items' base rates, drawn uniformly; 0: as the means have it */
} design;

static const design designs[] = {
    {"n=10 k=10 N=50", 10, 10, 50, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"n=10 k=10 N=100", 10, 10, 100, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"n=10 k=10 N=1000", 10, 10, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"n=6 k=6 N=50", 6, 6, 50, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"n=6 k=6 N=100", 6, 6, 100, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"n=6 k=6 N=1000", 6, 6, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"n=6 k=2 N=50", 6, 2, 50, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"n=6 k=2 N=100", 6, 2, 100, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"n=6 k=2 N=1000", 6, 2, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    /* n=6, k=3, N=300, drawn in other ways */
    {"the paper's A and v", 6, 3, 300, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"A ~ N(0,1)", 6, 3, 300, 1, .5, 3, .5, NORMAL, 0, 0, 0},
    {"A ~ N(0,36)", 6, 3, 300, 6, .5, 3, .5, NORMAL, 0, 0, 0},
    {"half of A zero", 6, 3, 300, 3, .5, 3, .5, HALF_ZERO, 0, 0, 0},
    {"sd in (.8,1.4)", 6, 3, 300, 3, .8, 1.4, .5, AS_DRAWN, 0, 0, 0},
    {"sd in (.2,8)", 6, 3, 300, 3, .2, 8, .5, AS_DRAWN, 0, 0, 0},
    {"means in (-3,3)", 6, 3, 300, 3, .5, 3, 3, AS_DRAWN, 0, 0, 0},
    {"one large entry a column", 6, 3, 300, 1, .5, 3, .5, FEW_LARGE, 0, 0, 0},
    /* only when asked for */
    {"large n=20 k=10 N=1000", 20, 10, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=50 k=10 N=1000", 50, 10, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=20 k=20 N=100", 20, 20, 100, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=20 k=20 N=1000", 20, 20, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=30 k=30 N=100", 30, 30, 100, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=30 k=30 N=1000", 30, 30, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=50 k=50 N=100", 50, 50, 100, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=50 k=50 N=1000", 50, 50, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=100 k=100 N=1000", 100, 100, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=60 k=6 N=300", 60, 6, 300, 1.5, .5, 3, .5, NORMAL, 20, 0, 0},
    {"large n=100 k=10 N=1000", 100, 10, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=300 k=10 N=1000", 300, 10, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"large n=1000 k=10 N=1000", 1000, 10, 1000, 3, .5, 3, .5, AS_DRAWN, 0, 0, 0},
    {"rare n=8 k=4 N=400, 5.5 %", 8, 4, 400, 3, .5, 3, .5, AS_DRAWN, 20, .055, .055},
    {"rare n=8 k=4 N=400, 1-10 %", 8, 4, 400, 3, .5, 3, .5, AS_DRAWN, 20, .01, .1},
    {"rare n=20 k=5 N=1000, 1-10 %", 20, 5, 1000, 3, .5, 3, .5, AS_DRAWN, 40, .01, .1},
    {"rare n=100 k=5 N=1000, 1-10 %", 100, 5, 1000, 3, .5, 3, .5, AS_DRAWN, 40, .01, .1},
};
enum { DESIGNS = sizeof designs / sizeof *designs, CELLS = 9, SEGMENTS = 40, MAX_SOURCES = 100 };

static blica_ctx *ctx;

static void must(blica_status status) {
  if (status == BLICA_OK) return;
  fprintf(stderr, "bench_accuracy: %s\n", blica_message(ctx));
  exit(1);
}

/* Numbers from a small generator of its own: uniform, and standard normal in good approximation. */
static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}
static double normal(uint64_t *state) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += uniform(state);
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

/* The standard normal number that is exceeded with this probability, at most 1/2. */
static double quantile(double probability) {
  double low = 0, high = 6;
  for (int step = 0; step < 50; step++) {
    double middle = (low + high) / 2;
    *(0.5 * erfc(middle / sqrt(2)) > probability ? &low : &high) = middle;
  }
  return low;
}

/* Cuts for which item i is 1 in about the share of rows that is drawn for it, over all segments; no means. */
static void draw_cuts(const design *d, uint64_t seed, blica_model *truth) {
  uint64_t state = seed * 2654435761u + 54321;
  for (int j = 0; j < d->k * truth->u; j++) truth->means[j] = 0;
  for (int i = 0; i < d->n; i++) {
    double total = 1, rate = d->rate_low + (d->rate_high - d->rate_low) * uniform(&state);
    for (int j = 0; j < d->k * truth->u; j++) {
      double a = truth->mixing[i + (size_t)(j % d->k) * (size_t)d->n];
      total += truth->link * a * a * truth->variances[j] / truth->u;
    }
    truth->cuts[i] = quantile(rate) * sqrt(total);
  }
}

static void draw(const design *d, uint64_t seed, blica_model **truth, blica_data **data) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = d->n, o.sources = d->k, o.segments = d->segments ? d->segments : SEGMENTS, o.samples = d->samples,
  o.seed = seed;
  o.mixing_range = d->mixing_range, o.sd_low = d->sd_low, o.sd_high = d->sd_high, o.mean_range = d->mean_range;
  must(blica_simulate(ctx, &o, truth, NULL, NULL));
  redraw_mixing(d, seed, *truth);
  if (d->rate_low > 0) draw_cuts(d, seed, *truth);
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
  o.method = blica_method_find(copy);
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
static void measure(const design *d, const char *method, int first, int last, double result[3]) {
  double sum = 0, squares = 0, seconds = 0;
  const int sets = last - first + 1;
  for (int seed = first; seed <= last; seed++) {
    blica_model *truth, *model;
    blica_data *data;
    draw(d, (uint64_t)seed, &truth, &data);
    blica_fit_options o = parse(method, d->k);
    blica_input input = {data, NULL, NULL};
    must(blica_fit(ctx, &input, &o, &model));
    double mcs, cosine[MAX_SOURCES];
    int matching[MAX_SOURCES];
    must(blica_compare(ctx, d->n, d->k, truth->mixing, model->mixing, &mcs, matching, cosine));
    sum += 1 - mcs, squares += (1 - mcs) * (1 - mcs), seconds += model->fit.seconds;
    blica_model_free(truth), blica_model_free(model), blica_data_free(data);
  }
  result[0] = sum / sets;
  result[1] = sqrt(fmax(0, squares / sets - result[0] * result[0]) / sets);
  result[2] = seconds / sets;
}

/* Whether a column of A has no entry but zeros: then it has no direction, and no bound. */
static bool has_empty_column(const blica_model *m) {
  for (int j = 0; j < m->k; j++) {
    bool empty = true;
    for (int i = 0; i < m->n; i++) empty = empty && m->mixing[i + (size_t)j * (size_t)m->n] == 0;
    if (empty) return true;
  }
  return false;
}

/* Prints the mean bounds over the sets that have one below 1 (to first order, models that are hardly identified have
 * larger ones, which say nothing), and the error over that of pairs where all sets have. */
static void print_bounds(const design *d, int first, int last, double error) {
  double full = 0, pairs = 0;
  int counted = 0;
  if (d->n > 30 || d->n * d->k > 400) {
    printf(" not available: too large for this bench | | |");
    return;
  }
  for (int seed = first; seed <= last; seed++) {
    blica_model *truth;
    blica_data *data;
    bl_bound bound;
    draw(d, (uint64_t)seed, &truth, &data);
    bound.pairs_prior = INFINITY;
    if (!has_empty_column(truth)) must(bl_bound_at(ctx, truth, 1, &bound));
    if (bound.pairs_prior < 1) full += bound.full_prior, pairs += bound.pairs_prior, counted++;
    blica_model_free(truth), blica_data_free(data);
  }
  if (counted == last - first + 1)
    printf(" %.4f | %.4f | %.2f |", full / counted, pairs / counted, error * counted / pairs);
  else if (counted > 0)
    printf(" %.4f | %.4f | not available: %d sets have no bound |", full / counted, pairs / counted,
           last - first + 1 - counted);
  else
    printf(" not available | | |");
}

/* "rows/first-last", each part but the last optional. */
static void parse_sets(char *text, const char **rows, int *first, int *last) {
  char *slash = strchr(text, '/'), *dash;
  *rows = "";
  if (slash) *slash = 0, *rows = text, text = slash + 1;
  dash = strchr(text, '-');
  *first = dash ? atoi(text) : 1;
  *last = atoi(dash ? dash + 1 : text);
}

static bool is_wanted(const design *d, const char *rows) {
  bool large = strncmp(d->name, "large", 5) == 0 || strncmp(d->name, "rare", 4) == 0;
  const char *found = strstr(d->name, rows);
  bool cut = found && *rows && found[strlen(rows)] == '0'; /* N=100 is not N=1000 */
  return found && !cut && (!large || strstr(rows, "large") || strstr(rows, "rare"));
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: bench_accuracy [ROWS/]SETS METHOD[:option=value,...] ...\n");
    return 2;
  }
  const char *rows;
  int first, last, counted[2] = {0};
  double ratios[2][64] = {{0}};
  parse_sets(argv[1], &rows, &first, &last);
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, 1);
  printf("| data (u=40 or as the source says, %d sets) |", last - first + 1);
  for (int a = 2; a < argc && a < 64; a++) printf(" %s |", argv[a]);
  printf(" bound, rows | bound, pairs | %s over it |\n|---|---|---|---|", argv[argc - 1]);
  for (int a = 2; a < argc && a < 64; a++) printf("---|");
  for (int c = 0; c < DESIGNS; c++) {
    if (!is_wanted(&designs[c], rows)) continue;
    printf("\n| %s |", designs[c].name);
    double base = 0, result[3];
    counted[c >= CELLS]++;
    for (int a = 2; a < argc && a < 64; a++) {
      measure(&designs[c], argv[a], first, last, result);
      if (a == 2) base = result[0];
      ratios[c >= CELLS][a] += result[0] / base;
      printf(" %.4f (%.4f) %.2f s |", result[0], result[1], result[2]);
      fflush(stdout);
    }
    print_bounds(&designs[c], first, last, result[0]);
  }
  for (int part = 0; part < 2; part++) {
    if (!counted[part]) continue;
    printf("\n| mean ratio, %s |", part ? "other data" : "the nine cells");
    for (int a = 2; a < argc && a < 64; a++) printf(" %.3f |", ratios[part][a] / counted[part]);
  }
  printf("\n");
  blica_ctx_free(ctx);
  return 0;
}
