/* bench_segment.c - segments found in rows against true labels and against segments of equal length.
 * Usage: bench_segment DESIGN FIRST-LAST [S|true|auto|none|engines] [EQUAL] [THREADS] [MAX_STATES]  with seeds
 * FIRST to LAST; EQUAL 0 leaves out equal lengths, none the search. engines compares expectation propagation at the
 * true model with a large lattice, or with the grid beyond 10 items: log P of rows, the log-likelihood of the chain,
 * and its labels.
 * Prints, for each data set, 1 - MCS of the fit to the true labels, to the states that were found and to equal lengths
 * (their best number in hindsight), adjusted Rand indices, the number of states and seconds; then the means. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blica.h"
#include "likelihood/likelihood.h"
#include "num/rectangles/mvn.h"
#include "num/rng.h"
#include "segment/segment.h"

typedef enum { CYCLE, ANY, POINTS } moves;
typedef struct {
  const char *name;
  int n, k, states;
  int64_t rows;
  double stay;
  moves moves;
  double radius;          /* of the sphere on which the states' means lie; 0: means as the paper's simulator */
  double sd_low, sd_high; /* of the sources */
} design;

static const design designs[] = {
    /* Halva and Hyvarinen's chain and means; the variances of the paper's simulator */
    {"hmm5", 5, 5, 11, 100000, .99, CYCLE, 2, .5, 3},
    /* the same with variances as small and as alike as in their program */
    {"hmm5-small", 5, 5, 11, 100000, .99, CYCLE, 2, .2, .3},
    {"hmm8", 8, 8, 6, 12000, .995, ANY, 0, .5, 3},
    {"hmm8k4", 8, 4, 6, 12000, .995, ANY, 0, .5, 3},
    {"points8", 8, 8, 6, 12000, 0, POINTS, 0, .5, 3},
    {"points8k4", 8, 4, 6, 12000, 0, POINTS, 0, .5, 3},
    {"large8", 8, 8, 6, 100000, .995, ANY, 0, .5, 3},
    {"stationary5", 5, 5, 1, 100000, 1, ANY, 0, .5, 3},
    {"stationary8", 8, 8, 1, 12000, 1, ANY, 0, .5, 3},
    {"stationary8k4", 8, 4, 1, 12000, 1, ANY, 0, .5, 3},
    {"stationary20", 20, 4, 1, 12000, 1, ANY, 0, .5, 3},
    {"hmm12k2", 12, 2, 6, 12000, .995, ANY, 0, .5, 3}, /* too many items for tables: the grid */
    {"hmm16k2", 16, 2, 6, 12000, .995, ANY, 0, .5, 3},
    {"hmm20", 20, 4, 6, 20000, .995, ANY, 0, .5, 3},
    {"hmm50", 50, 5, 6, 100000, .995, ANY, 0, .5, 3},
};

static blica_ctx *ctx;

static void must(blica_status status) {
  if (status == BLICA_OK) return;
  fprintf(stderr, "bench_segment: %s\n", blica_message(ctx));
  exit(1);
}

/* ---- data ---- */

/* Equally spaced angles, as in the program of hidden Markov nonlinear ICA. */
static void means_on_sphere(const design *d, blica_model *m) {
  for (int s = 0; s < d->states; s++) {
    double left = d->radius;
    for (int j = 0; j < d->k; j++) {
      double angle = (j == d->k - 2 ? 2 : 1) * 3.14159265358979323846 * s / d->states;
      m->means[j + s * d->k] = j == d->k - 1 ? left : left * cos(angle);
      left *= sin(angle);
    }
  }
}

static void draw_states(const design *d, bl_rng *rng, int32_t *state) {
  int now = 0;
  for (int64_t t = 0; t < d->rows; t++) {
    if (d->moves == POINTS) { /* lengths between 1/2 and 3/2 of the mean */
      now = (int)(t * d->states / d->rows);
      if (t == 0) continue;
    } else if (t > 0 && d->states > 1 && bl_rng_uniform(rng) > d->stay) {
      now = d->moves == CYCLE ? (now + 1) % d->states
                              : (now + 1 + (int)(bl_rng_uniform(rng) * (d->states - 1))) % d->states;
    }
    state[t] = now;
  }
  if (d->moves != POINTS) return;
  int64_t from = 0;
  for (int s = 0; s < d->states; s++) {
    double middle = (double)d->rows * (s + 1) / d->states;
    int64_t to =
        s == d->states - 1 ? d->rows : (int64_t)(middle + (bl_rng_uniform(rng) - .5) * (double)d->rows / d->states);
    for (int64_t t = from; t < to; t++) state[t] = s;
    from = to;
  }
}

static void draw_rows(const design *d, const blica_model *m, bl_rng *rng, const int32_t *state, int8_t *x) {
  double z[64];
  for (int64_t t = 0; t < d->rows; t++) {
    int s = state[t];
    for (int j = 0; j < d->k; j++)
      z[j] = m->means[j + s * d->k] + sqrt(m->variances[j + s * d->k]) * bl_rng_normal(rng);
    for (int i = 0; i < d->n; i++) {
      double y = bl_rng_normal(rng) / sqrt(m->link);
      for (int j = 0; j < d->k; j++) y += m->mixing[i + j * d->n] * z[j];
      x[t * d->n + i] = y > 0;
    }
  }
}

/* ---- measures ---- */

static double adjusted_rand(int64_t rows, const int32_t *a, int na, const int32_t *b, int nb) {
  double *table = calloc((size_t)na * (size_t)nb, sizeof *table), both = 0, first = 0, second = 0;
  for (int64_t r = 0; r < rows; r++) table[a[r] + (size_t)b[r] * (size_t)na]++;
  for (int i = 0; i < na; i++) {
    double sum = 0;
    for (int j = 0; j < nb; j++) sum += table[i + (size_t)j * (size_t)na];
    first += sum * (sum - 1) / 2;
  }
  for (int j = 0; j < nb; j++) {
    double sum = 0;
    for (int i = 0; i < na; i++) {
      double c = table[i + (size_t)j * (size_t)na];
      both += c * (c - 1) / 2, sum += c;
    }
    second += sum * (sum - 1) / 2;
  }
  free(table);
  double all = (double)rows * ((double)rows - 1) / 2, chance = first * second / all, most = (first + second) / 2;
  return most > chance ? (both - chance) / (most - chance) : 1;
}

static double error_of(const blica_model *truth, const blica_model *m) {
  double mcs, cosine[64];
  int matching[64];
  must(blica_compare(ctx, truth->n, truth->k, truth->mixing, m->mixing, &mcs, matching, cosine));
  return 1 - mcs;
}

static double error_of_labels(const blica_model *truth, const int8_t *x, int64_t rows, const int32_t *label, int u) {
  blica_data *data = NULL;
  blica_model *m = NULL;
  blica_fit_options fit = blica_fit_options_default();
  fit.sources = truth->k;
  must(blica_pack(ctx, &(blica_table){.rows = rows, .n = truth->n, .x = x, .segment = label, .u = u}, &data));
  blica_input input = {.data = data};
  must(blica_fit(ctx, &input, &fit, &m));
  double error = error_of(truth, m);
  blica_model_free(m);
  blica_data_free(data);
  return error;
}

static void equal_lengths(const design *d, const blica_model *truth, const int8_t *x, const int32_t *state,
                          double best[3]) {
  static const int counts[] = {3, 6, 12, 25, 50, 100, 200, 1000};
  int32_t *label = malloc((size_t)d->rows * sizeof *label);
  best[0] = INFINITY, best[1] = -INFINITY;
  for (size_t c = 0; c < sizeof counts / sizeof *counts && d->rows / counts[c] >= 25; c++) {
    for (int64_t r = 0; r < d->rows; r++) label[r] = (int32_t)(r * counts[c] / d->rows);
    double error = counts[c] <= 200 ? error_of_labels(truth, x, d->rows, label, counts[c]) : INFINITY;
    double index = adjusted_rand(d->rows, state, d->states, label, counts[c]);
    if (error < best[0]) best[0] = error, best[2] = counts[c];
    best[1] = fmax(best[1], index);
    printf("# equal %4d: 1-MCS %.4f ARI %.3f\n", counts[c], error, index);
  }
  free(label);
}

/* ---- expectation propagation against a large lattice, or the grid with more than EXACT_ITEMS items ---- */

enum { EXACT_ITEMS = 10 };
enum { MEAN_ERROR, LARGEST_ERROR, TOTAL_ERROR, OWN_ERROR, LABELS_AGREE, LABELS_DIFFER, GRID_ERROR, ENGINE_NUMBERS };

static double cpu_seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

/* log P of every pattern in every state of the true model: patterns rows of S. shift: nodes of a grid are moved by half
 * their spacing. Returns CPU seconds. */
static double engine_values(const blica_model *m, const bl_series *x, blica_engine engine, bool shift, double *log_p) {
  static const int segment[] = {0};
  const bl_accuracy accuracy = {.points = BL_LATTICE_POINTS, .seed = 1, .grid_error = 1e-17, .shift = shift};
  const double begun = cpu_seconds();
  bl_likelihood *l = NULL;
  double *own = malloc((size_t)x->patterns->count * sizeof *own);
  must(bl_likelihood_make(ctx, x->patterns, segment, m->n, m->k, 1, engine, BL_MVN_BLOCK, &l));
  for (int s = 0; s < m->u; s++) {
    const bl_params params = {m->n, m->k, 1, m->link, m->mixing, m->variances + s * m->k, m->means + s * m->k,
                              NULL, NULL};
    must(bl_likelihood_order(ctx, l, &params));
    must(bl_likelihood_values(ctx, l, &params, &accuracy, own));
    for (int64_t p = 0; p < x->patterns->count; p++) log_p[p * m->u + s] = own[p];
  }
  bl_likelihood_free(l);
  free(own);
  return cpu_seconds() - begun;
}

/* The log-likelihood of the rows under the true chain, and its labels (runs of at least 10 rows). */
static double decode(const design *d, const bl_series *x, const double *log_p, int32_t *label) {
  const size_t S = (size_t)d->states, size = (size_t)d->rows * S;
  double *initial = calloc(S, sizeof(double)), *move = calloc(S * S, sizeof(double)), scale = 0;
  double *step = malloc(size * sizeof *step), *best = malloc(size * sizeof *best);
  double *sum = malloc((size + S) * sizeof *sum), *flow = malloc((S * S + 3 * S) * sizeof *flow);
  int16_t *from = malloc(size * sizeof *from);
  const double stay = d->moves == POINTS ? 1 - (double)d->states / (double)d->rows : d->stay;
  for (size_t s = 0; s < S; s++) {
    initial[s] = s == 0;
    for (size_t r = 0; r < S; r++)
      move[s * S + r] = r == s             ? stay
                        : d->moves == ANY  ? (1 - stay) / (d->states - 1)
                        : r == (s + 1) % S ? 1 - stay
                                           : 0;
  }
  const bl_chain chain = {d->states, initial, move};
  bl_em_steps(x, 1, d->states, log_p, step);
  bl_chain_best(&chain, d->rows, step, 10, sum, best, from, label);
  for (int64_t t = 0; t < d->rows; t++) {
    double *e = step + (size_t)t * S, most = e[0];
    for (size_t s = 1; s < S; s++) most = fmax(most, e[s]);
    for (size_t s = 0; s < S; s++) e[s] = exp(e[s] - most);
    scale += most;
  }
  scale += bl_chain_pass(&chain, d->rows, step, best, flow, flow + S * S);
  free(initial), free(move), free(step), free(best), free(sum), free(flow), free(from);
  return scale;
}

static void compare_engines(const design *d, const blica_model *truth, const blica_data *data, const int32_t *state) {
  double value[ENGINE_NUMBERS] = {0};
  bl_series *x = NULL;
  must(bl_series_make(ctx, data, 0, &x));
  const size_t size = (size_t)x->patterns->count * (size_t)d->states;
  const blica_engine engine = d->n <= EXACT_ITEMS ? BLICA_ENGINE_LATTICE : BLICA_ENGINE_GRID;
  double *exact = malloc(size * sizeof *exact), *ep = malloc(size * sizeof *ep), total[2], seconds[2];
  int32_t *label[2] = {malloc((size_t)d->rows * sizeof(int32_t)), malloc((size_t)d->rows * sizeof(int32_t))};
  if (engine == BLICA_ENGINE_GRID) { /* two grids say how exact each is */
    engine_values(truth, x, engine, true, ep);
    engine_values(truth, x, engine, false, exact);
    for (size_t i = 0; i < size; i++) value[GRID_ERROR] = fmax(value[GRID_ERROR], fabs(ep[i] - exact[i]));
  }
  seconds[0] = engine_values(truth, x, engine, false, exact);
  seconds[1] = engine_values(truth, x, BLICA_ENGINE_EP, false, ep);
  total[0] = decode(d, x, exact, label[0]);
  total[1] = decode(d, x, ep, label[1]);
  for (int64_t t = 0; t < d->rows; t++) {
    const size_t at = (size_t)x->patterns->row_pattern[t] * (size_t)d->states;
    for (int s = 0; s < d->states; s++) {
      double error = fabs(ep[at + (size_t)s] - exact[at + (size_t)s]);
      value[MEAN_ERROR] += error / ((double)d->rows * d->states);
      value[LARGEST_ERROR] = fmax(value[LARGEST_ERROR], error);
    }
    value[OWN_ERROR] += (ep[at + (size_t)state[t]] - exact[at + (size_t)state[t]]) / (double)d->rows;
    value[LABELS_DIFFER] += (label[0][t] != label[1][t]) / (double)d->rows;
  }
  value[TOTAL_ERROR] = total[1] - total[0];
  value[LABELS_AGREE] = adjusted_rand(d->rows, label[0], d->states, label[1], d->states);
  printf(
      "engines: |error| of log P mean %.5f largest %.4f, in the true state %.5f; log-likelihood %.1f (exact %.1f); ARI "
      "of labels %.4f, other labels %.4f; ARI with the truth exact %.4f ep %.4f; CPU seconds exact %.3f ep %.3f; %lld "
      "patterns, two grids differ by at most %.1e\n",
      value[MEAN_ERROR], value[LARGEST_ERROR], value[OWN_ERROR], value[TOTAL_ERROR], total[0], value[LABELS_AGREE],
      value[LABELS_DIFFER], adjusted_rand(d->rows, label[0], d->states, state, d->states),
      adjusted_rand(d->rows, label[1], d->states, state, d->states), seconds[0], seconds[1],
      (long long)x->patterns->count, value[GRID_ERROR]);
  free(exact), free(ep), free(label[0]), free(label[1]);
  bl_series_free(x);
}

/* ---- one data set ---- */

static int max_states = 16;

static blica_segment_options options_of(const design *d, int states) {
  blica_segment_options s = blica_segment_options_default();
  s.sources = d->k;
  s.states = states;
  if (states == 0) s.max_states = max_states;
  s.change_points = d->moves == POINTS;
  return s;
}

static blica_segmentation *find(const design *d, const blica_data *data, int states) {
  blica_segmentation *found = NULL;
  blica_segment_options s = options_of(d, states);
  must(blica_segment(ctx, data, &s, &found));
  return found;
}

/* What BIC would choose, and the held-out log-likelihoods less the largest, with standard errors. */
static void print_trials(const blica_segmentation *found) {
  const blica_segment_trial *t = found->trials, *bic = t, *best = NULL;
  for (int i = 0; i < found->n_trials; i++) {
    if (t[i].score > bic->score) bic = &t[i];
    if (!isnan(t[i].heldout) && (!best || t[i].heldout > best->heldout)) best = &t[i];
  }
  printf(", %lld rounds; BIC %d; held out", (long long)found->rounds, bic->states);
  for (int i = 0; i < found->n_trials; i++)
    if (!isnan(t[i].heldout)) printf(" %d:%.0f(%.0f)", t[i].states, t[i].heldout - best->heldout, t[i].heldout_se);
}

enum { TRUE_ERROR, FOUND_ERROR, EQUAL_ERROR, FOUND_INDEX, EQUAL_INDEX, STATES, SECONDS, NUMBERS };

static void run_set(const design *d, uint64_t seed, const char *states, bool equal, double value[NUMBERS]) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *truth = NULL;
  blica_data *data = NULL;
  blica_segmentation *found = NULL;
  int32_t *state = malloc((size_t)d->rows * sizeof *state), *one = calloc((size_t)d->rows, sizeof *one);
  int8_t *x = malloc((size_t)d->rows * (size_t)d->n);
  bl_rng rng = bl_rng_make(seed, 77);
  double best[3] = {NAN, NAN, NAN};
  o.variables = d->n, o.sources = d->k, o.segments = d->states, o.seed = seed, o.samples = 10;
  o.sd_low = d->sd_low, o.sd_high = d->sd_high;
  must(blica_simulate(ctx, &o, &truth, NULL, NULL));
  if (d->radius > 0) means_on_sphere(d, truth);
  draw_states(d, &rng, state);
  draw_rows(d, truth, &rng, state, x);
  must(blica_pack(ctx, &(blica_table){.rows = d->rows, .n = d->n, .x = x, .segment = one, .u = 1}, &data));
  const bool engines = strcmp(states, "engines") == 0;
  if (engines) compare_engines(d, truth, data, state);
  if (!engines && strcmp(states, "none") != 0)
    found = find(d, data, strcmp(states, "auto") == 0 ? 0 : atoi(states) ? atoi(states) : d->states);
  value[TRUE_ERROR] = d->states > 1 && !engines ? error_of_labels(truth, x, d->rows, state, d->states) : NAN;
  value[FOUND_ERROR] = found ? error_of(truth, found->model) : NAN;
  if (equal) equal_lengths(d, truth, x, state, best);
  value[EQUAL_ERROR] = best[0], value[EQUAL_INDEX] = best[1];
  value[FOUND_INDEX] = found ? adjusted_rand(d->rows, state, d->states, found->state, found->states) : NAN;
  value[STATES] = found ? found->states : NAN;
  value[SECONDS] = found ? found->seconds : NAN;
  printf("%-14s %4llu  %.4f %.4f %.4f (%g)  %.3f %.3f  %2g  %.1f s", d->name, (unsigned long long)seed, value[0],
         value[1], value[2], best[2], value[3], value[4], value[STATES], value[SECONDS]);
  if (found) print_trials(found);
  printf("\n");
  fflush(stdout);
  blica_segmentation_free(found);
  blica_data_free(data);
  blica_model_free(truth);
  free(state);
  free(one);
  free(x);
}

int main(int argc, char **argv) {
  int first = 1, last = 1;
  double sum[NUMBERS] = {0}, value[NUMBERS];
  const design *d = NULL;
  for (size_t i = 0; argc > 2 && i < sizeof designs / sizeof *designs; i++)
    if (strcmp(designs[i].name, argv[1]) == 0) d = &designs[i];
  if (!d || sscanf(argv[2], "%d-%d", &first, &last) != 2) {
    fprintf(stderr, "usage: bench_segment DESIGN FIRST-LAST [S|true|auto|none|engines] [EQUAL] [THREADS] "
                    "[MAX_STATES]\n");
    return 2;
  }
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, argc > 5 ? atoi(argv[5]) : 0);
  if (argc > 6) max_states = atoi(argv[6]);
  printf("design set: 1-MCS true labels, found, equal lengths (their number); ARI found, equal; states; time\n");
  for (int seed = first; seed <= last; seed++) {
    run_set(d, (uint64_t)seed, argc > 3 ? argv[3] : "auto", argc <= 4 || atoi(argv[4]), value);
    for (int i = 0; i < NUMBERS; i++) sum[i] += value[i] / (last - first + 1);
  }
  printf("%-14s mean  %.4f %.4f %.4f  ratio %.2f  ARI %.3f %.3f  states %.1f  %.1f s\n", d->name, sum[0], sum[1],
         sum[2], sum[1] / sum[0], sum[3], sum[4], sum[5], sum[6]);
  blica_ctx_free(ctx);
  return 0;
}
