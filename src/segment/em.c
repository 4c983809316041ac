/* em.c - hidden states known by their pair counts: expectation-maximisation, first states and merging.
 *
 * E-step: log P of every distinct pattern in every state (emission.c), forward and backward over the steps (chain.c),
 * and the expected pair counts of the states, which are weighted counts of patterns (series.c). M-step: nothing but
 * taking these counts; a state's thresholds and tetrachoric correlations follow from them when the next E-step asks.
 * These are not the maximum of the expected log-likelihood, so that the log-likelihood may fall slightly near the end:
 * a run stops there.
 * First states come from clustering runs of rows. Features of a run are the means of its rows' scores and of their
 * products (series.h): margins and correlations. They are clustered by k-means, begun as k-means++ (Arthur and
 * Vassilvitskii, SODA 2007). Merging reduces more states than wanted to fewer: the two states are merged for which
 * replacing both by their mixture costs the rows least. */
#include "segment/segment.h"

#include <math.h>
#include <string.h>

#include "num/rng.h"

bool bl_em_over(blica_ctx *ctx, bl_em *em) {
  if (em->stopped) return true;
  em->progress.iteration = em->rounds;
  if (bl_poll(ctx, &em->progress))
    em->stop = BLICA_STOP_INTERRUPTED;
  else if (bl_seconds() > em->deadline)
    em->stop = BLICA_STOP_TIME;
  else
    return false;
  return em->stopped = true;
}

static int64_t step_count(const bl_series *series, int64_t bin) {
  return (series->rows + bin - 1) / bin;
}

void bl_em_steps(const bl_series *series, int64_t bin, int states, const double *log_p, double *step) {
  const int64_t steps = step_count(series, bin);
  const size_t S = (size_t)states;
  memset(step, 0, (size_t)steps * S * sizeof *step);
  for (int64_t r = 0; r < series->rows; r++) {
    int64_t p = series->patterns->row_pattern[r];
    double *to = step + (size_t)(r / bin) * S;
    for (size_t s = 0; p >= 0 && s < S; s++) to[s] += log_p[(size_t)p * S + s];
  }
}

/* Turns log P into P divided by the largest P of the step; returns the sum of the logarithms of the largest. */
static double scale_steps(int64_t steps, int states, double *step) {
  double total = 0;
  for (int64_t t = 0; t < steps; t++) {
    double *x = step + t * states, most = x[0];
    for (int s = 1; s < states; s++) most = fmax(most, x[s]);
    for (int s = 0; s < states; s++) x[s] = exp(fmax(x[s] - most, BL_LEAST_LOG));
    total += most;
  }
  return total;
}

static void weigh_patterns(const bl_series *series, int64_t bin, int states, const double *probability,
                           double *weight) {
  const size_t S = (size_t)states;
  memset(weight, 0, (size_t)series->patterns->count * S * sizeof *weight);
  for (int64_t r = 0; r < series->rows; r++) {
    int64_t p = series->patterns->row_pattern[r];
    const double *from = probability + (size_t)(r / bin) * S;
    for (size_t s = 0; p >= 0 && s < S; s++) weight[(size_t)p * S + s] += from[s];
  }
}

blica_status bl_em_expect(blica_ctx *ctx, bl_em *em, const double *log_p, bl_states *x, double *probability) {
  const bl_series *series = em->series;
  const size_t S = (size_t)x->states;
  const int64_t steps = step_count(series, x->bin);
  BL_OWNED double *step = NULL, *own = NULL, *weight = NULL, *flow = NULL;
  MUST(bl_alloc(ctx, bl_mul((size_t)steps, S), &step));
  if (!probability) MUST(bl_alloc(ctx, bl_mul((size_t)steps, S), &own));
  MUST(bl_alloc(ctx, bl_mul((size_t)series->patterns->count, S), &weight));
  MUST(bl_alloc(ctx, S * S + 3 * S, &flow));
  double *p = probability ? probability : own;
  bl_em_steps(series, x->bin, x->states, log_p, step);
  double scale = scale_steps(steps, x->states, step);
  x->loglik = scale + bl_chain_pass(&x->chain, steps, step, p, flow, flow + S * S);
  if (!isfinite(x->loglik))
    return bl_fail(ctx, BLICA_ERR_NUMERIC, "the rows are impossible under every sequence of states");
  bl_chain_learn(&x->chain, p, flow, fmin(1, (double)x->bin / (double)em->min_length), em->forward);
  weigh_patterns(series, x->bin, x->states, p, weight);
  MUST(bl_series_expect(ctx, series, x->states, weight, x->stat));
  em->rounds++;
  return BLICA_OK;
}

blica_status bl_em_run(blica_ctx *ctx, bl_em *em, int rounds, double gain, bl_states *x) {
  blica_status status;
  double *log_p = NULL, before = -INFINITY;
  TRY(bl_alloc(ctx, bl_mul((size_t)em->series->patterns->count, (size_t)x->states), &log_p));
  for (int r = 0; r < rounds; r++) {
    TRY(bl_emission_counts(ctx, em->emission, x->states, x->stat, log_p));
    TRY(bl_em_expect(ctx, em, log_p, x, NULL));
    if (bl_em_over(ctx, em) || x->loglik - before < gain) break;
    before = x->loglik;
  }
done:
  bl_free(log_p);
  return status;
}

/* ---- first states, by clustering runs of rows ---- */

enum { RUN_ROWS = 25, LLOYD = 10 };

typedef struct {
  int64_t runs, length;
  size_t size;
  double *feature; /* [size,runs] */
  double *centre;  /* [size,S] */
  double *nearest; /* [runs] squared distance to the nearest centre */
  int32_t *label;  /* [runs]; owns the other arrays */
} clusters;

/* Sums the scores of the rows of each run, and their products. */
static void make_features(const bl_series *x, clusters *c) {
  const int d = x->d;
  for (int64_t r = 0; r < x->rows; r++) {
    int64_t p = x->patterns->row_pattern[r], run = r / c->length < c->runs ? r / c->length : c->runs - 1;
    if (p < 0) continue;
    const double *y = x->score + p * d;
    double *f = c->feature + (size_t)run * c->size;
    for (int b = 0; b < d; b++) {
      *f++ += y[b];
      for (int a = 0; a < b; a++) *f++ += y[a] * y[b];
      if (d < x->n) *f++ += y[b] * y[b] * 0.7071067811865476; /* of a single item it says nothing new */
    }
  }
  for (size_t i = 0; i < c->size * (size_t)c->runs; i++) c->feature[i] /= (double)c->length;
}

static double distance(const double *a, const double *b, size_t size) {
  double sum = 0;
  for (size_t i = 0; i < size; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/* Draws first centres, each far from those before (k-means++). */
static void draw_centres(clusters *c, int states, bl_rng *rng) {
  int64_t pick = (int64_t)(bl_rng_uniform(rng) * (double)c->runs);
  for (int64_t r = 0; r < c->runs; r++) c->nearest[r] = INFINITY;
  for (int s = 0; s < states; s++) {
    double *centre = c->centre + (size_t)s * c->size, total = 0;
    memcpy(centre, c->feature + (size_t)pick * c->size, c->size * sizeof *centre);
    for (int64_t r = 0; r < c->runs; r++) {
      c->nearest[r] = fmin(c->nearest[r], distance(c->feature + (size_t)r * c->size, centre, c->size));
      total += c->nearest[r];
    }
    double left = bl_rng_uniform(rng) * total;
    for (pick = 0; pick < c->runs - 1 && (left -= c->nearest[pick]) > 0;) pick++;
  }
}

typedef struct {
  clusters *c;
  int states;
} assignment;

/* Gives run r the label of the nearest centre. */
static void assign_run(int64_t r, int thread, void *user) {
  const assignment *a = user;
  clusters *c = a->c;
  double least = INFINITY;
  (void)thread;
  for (int s = 0; s < a->states; s++) {
    double now = distance(c->feature + (size_t)r * c->size, c->centre + (size_t)s * c->size, c->size);
    if (now < least) least = now, c->label[r] = s;
  }
}

/* Moves each centre to the mean of its runs; one without runs stays at 0. */
static void move_centres(clusters *c, int states, double *count) {
  memset(c->centre, 0, c->size * (size_t)states * sizeof *c->centre);
  memset(count, 0, (size_t)states * sizeof *count);
  for (int64_t r = 0; r < c->runs; r++) {
    double *centre = c->centre + (size_t)c->label[r] * c->size;
    const double *f = c->feature + (size_t)r * c->size;
    for (size_t i = 0; i < c->size; i++) centre[i] += f[i];
    count[c->label[r]]++;
  }
  for (int s = 0; s < states; s++)
    for (size_t i = 0; i < c->size && count[s] > 0; i++) c->centre[(size_t)s * c->size + i] /= count[s];
}

/* Labels the runs by k-means. */
static blica_status cluster_runs(blica_ctx *ctx, const bl_series *x, int states, uint64_t seed, uint64_t stream,
                                 clusters *c) {
  BL_OWNED double *count = NULL;
  bl_rng rng = bl_rng_make(seed, stream);
  assignment a = {c, states};
  MUST(bl_alloc_for(ctx, c->label, bl_mul(c->size, (size_t)c->runs), &c->feature));
  MUST(bl_alloc_for(ctx, c->label, bl_mul(c->size, (size_t)states), &c->centre));
  MUST(bl_alloc_for(ctx, c->label, (size_t)c->runs, &c->nearest));
  MUST(bl_alloc(ctx, (size_t)states, &count));
  make_features(x, c);
  draw_centres(c, states, &rng);
  for (int i = 0; i < LLOYD; i++) {
    bl_parallel(ctx, c->runs, assign_run, &a);
    move_centres(c, states, count);
  }
  bl_parallel(ctx, c->runs, assign_run, &a);
  return BLICA_OK;
}

/* Moves out of a state by chance of the run's length, to any other. */
static void begin_chain(bl_states *x, double length, bool forward) {
  const int S = x->states;
  double leave = fmin(0.5, (double)x->bin / length);
  for (int s = 0; s < S; s++) {
    x->chain.initial[s] = forward ? s == 0 : 1.0 / S;
    for (int r = 0; r < S; r++) {
      bool open = forward ? r == s + 1 : r != s;
      x->chain.transition[s * S + r] = open ? leave / (forward ? 1 : S - 1) : 0;
    }
    x->chain.transition[s * S + s] = S == 1 || (forward && s == S - 1) ? 1 : 1 - leave;
  }
}

blica_status bl_em_start(blica_ctx *ctx, const bl_em *em, int states, int64_t bin, uint64_t seed, uint64_t stream,
                         bl_states **out) {
  blica_status status;
  const bl_series *x = em->series;
  const size_t d = (size_t)x->d, S = (size_t)states;
  clusters c = {.length = RUN_ROWS, .size = d + d * (d - 1) / 2 + (x->d < x->n ? d : 0)};
  BL_OWNED bl_states *made = NULL;
  BL_OWNED double *weight = NULL;
  *out = NULL;
  if (x->rows / c.length < 4 * states) c.length = x->rows / (4 * states) + 1;
  c.runs = x->rows / c.length > 0 ? x->rows / c.length : 1;
  TRY(bl_alloc(ctx, (size_t)c.runs, &c.label));
  TRY(bl_alloc(ctx, bl_mul((size_t)x->patterns->count, S), &weight));
  TRY(bl_states_make(ctx, x->cells, states, &made));
  if (em->forward)
    for (int64_t r = 0; r < c.runs; r++) c.label[r] = (int32_t)(r * states / c.runs);
  else
    TRY(cluster_runs(ctx, x, states, seed, stream, &c));
  for (int64_t r = 0; r < x->rows; r++) {
    int64_t p = x->patterns->row_pattern[r], run = r / c.length < c.runs ? r / c.length : c.runs - 1;
    if (p >= 0) weight[(size_t)p * S + (size_t)c.label[run]] += 1;
  }
  TRY(bl_series_expect(ctx, x, states, weight, made->stat));
  made->bin = bin;
  begin_chain(made, fmax((double)(em->forward ? x->rows / states : 2 * RUN_ROWS), (double)em->min_length), em->forward);
  *out = bl_take(&made);
done:
  bl_free(c.label);
  return status;
}

/* ---- merging ---- */

/* log of the mixture of all states, in proportion to their rows, for every pattern. */
static void mix_states(const bl_series *x, int states, const double *rows, const double *log_p, double *mixture) {
  double total = 0;
  for (int s = 0; s < states; s++) total += rows[s];
  for (int64_t p = 0; p < x->patterns->count; p++) {
    double most = -INFINITY, sum = 0;
    for (int s = 0; s < states; s++) most = fmax(most, log_p[p * states + s]);
    for (int s = 0; s < states; s++) sum += rows[s] / total * exp(log_p[p * states + s] - most);
    mixture[p] = most + log(sum) + log(total);
  }
}

/* The log-likelihood that the rows of a and b lose when both are replaced by their mixture. The rows of a pattern are
 * divided among the states by P and the sizes of the states, whenever they came. */
static double cost_of(const bl_series *x, const double *log_p, const double *mixture, int states, const double *rows,
                      int a, int b) {
  double cost = 0;
  if (!(rows[a] > 0) || !(rows[b] > 0)) return 0;
  const double size = log(rows[a] + rows[b]), pa = log(rows[a]), pb = log(rows[b]);
  for (int g = 0; g < x->patterns->groups; g++) {
    const bl_group *group = &x->patterns->group[g];
    for (int64_t i = 0; i < group->count; i++) {
      const int64_t p = group->offset + i;
      double la = log_p[p * states + a], lb = log_p[p * states + b], most = fmax(la, lb);
      double ea = exp(pa + la - most), eb = exp(pb + lb - most), both = most + log(ea + eb) - size;
      double share = ea / (ea + eb), count = group->weight[i] * exp(both + size - mixture[p]);
      cost += count * (share * (la - both) + (1 - share) * (lb - both));
    }
  }
  return cost;
}

blica_status bl_em_merge(blica_ctx *ctx, bl_em *em, const bl_states *from, bl_states **out) {
  blica_status status;
  const int S = from->states;
  BL_OWNED double *log_p = NULL, *mixture = NULL;
  double least = INFINITY;
  int into = 0, gone = 1;
  *out = NULL;
  TRY(bl_states_make(ctx, from->cells, S - 1, out));
  TRY(bl_alloc(ctx, bl_mul((size_t)em->series->patterns->count, (size_t)S), &log_p));
  TRY(bl_alloc(ctx, (size_t)em->series->patterns->count, &mixture));
  TRY(bl_emission_counts(ctx, em->emission, S, from->stat, log_p));
  mix_states(em->series, S, from->stat, log_p, mixture);
  for (int b = 1; b < S; b++)
    for (int a = em->forward ? b - 1 : 0; a < b; a++) {
      double cost = cost_of(em->series, log_p, mixture, S, from->stat, a, b);
      if (cost < least) least = cost, into = a, gone = b;
    }
  bl_states *x = *out;
  const double *rows = from->stat;
  double share = rows[into] + rows[gone] > 0 ? rows[into] / (rows[into] + rows[gone]) : 0.5;
  x->bin = from->bin;
  for (int s = 0; s < S; s++) {
    int t = s == gone ? into : s > gone ? s - 1 : s;
    double weight = s == gone ? 1 - share : s == into ? share : 1;
    x->chain.initial[t] += from->chain.initial[s];
    for (size_t c = 0; c < from->cells; c++)
      x->stat[c * (size_t)(S - 1) + (size_t)t] += from->stat[c * (size_t)S + (size_t)s];
    for (int r = 0; r < S; r++)
      x->chain.transition[t * (S - 1) + (r == gone  ? into
                                         : r > gone ? r - 1
                                                    : r)] += weight * from->chain.transition[s * S + r];
  }
done:
  if (status != BLICA_OK) bl_free(bl_take(out));
  return status;
}
