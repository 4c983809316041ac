/* heldout_states.c - the number of states by held-out blocks of rows.
 *
 * Rows are cut into about 200 blocks, and every folds-th block is held out: for the search its rows are missing, so
 * that the chain goes on through them. What counts is log P(held-out rows | other rows), the difference between the
 * forward passes over all rows and over the other rows. It needs no distribution of the state at the beginning of a
 * block, and states that never return are scored in the same way. Each fold searches anew: states that had begun at
 * those of all rows would know the held-out rows (stationary rows then got up to six states). The search has steps of
 * several rows; the numbers of states that come into question are refined to single rows, as in candidate.c. */
#include "heldout_states.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "segment/search.h"

enum { MOST_FOLDS = 10, BLOCKS = 200, ROUND_TO = 10, ROW_ROUNDS = 40 };
#define LEAST_LOG (-600.0)
#define CLEARLY 3.0 /* standard errors */

typedef struct {
  bl_em em;             /* its series lacks the held-out rows */
  bl_series series;     /* borrows all but the patterns */
  bl_patterns patterns; /* borrows all but row_pattern */
  bl_search search;
} fold;

typedef struct {
  blica_ctx *ctx;
  bl_em em; /* all rows */
  int folds, most;
  int64_t length, blocks; /* rows of a block, blocks */
  fold fold[MOST_FOLDS];
  double *gain; /* [blocks,most] log P of held-out rows, by block */
} heldout;

static double *gain_of(const heldout *h, int states) {
  return h->gain + (states - 1) * h->blocks;
}

/* log P of each step given those before, times sign, added to the last held-out block that has begun by then. */
static void add_forward(const heldout *h, int f, const bl_chain *c, const double *step, int64_t bin, double sign,
                        double *work, double *gain) {
  const int S = c->states;
  const int64_t steps = (h->em.series->rows + bin - 1) / bin;
  double *now = work, *before = work + S;
  int64_t to = f;
  for (int64_t t = 0; t < steps; t++) {
    const double *log_p = step + t * S;
    double most = -INFINITY, total = 0;
    for (int r = 0; r < S; r++) {
      now[r] = t == 0 ? c->initial[r] : 0;
      for (int s = 0; s < S && t > 0; s++) now[r] += before[s] * c->transition[s * S + r];
      most = fmax(most, log_p[r]);
    }
    for (int r = 0; r < S; r++) total += now[r] *= exp(fmax(log_p[r] - most, LEAST_LOG));
    for (int r = 0; r < S; r++) before[r] = now[r] / total;
    if (t * bin / h->length % h->folds == f) to = t * bin / h->length;
    gain[to] += sign * (most + log(total));
  }
}

/* Adds what the states of a fold, learned from the other rows, say of its held-out rows. */
static blica_status score(const heldout *h, int f, const bl_states *x, double *gain) {
  blica_status status;
  blica_ctx *ctx = h->ctx;
  const size_t S = (size_t)x->states;
  double *log_p = NULL, *step = NULL, *work = NULL;
  TRY(bl_alloc(ctx, bl_mul((size_t)h->em.series->patterns->count, S), &log_p));
  TRY(bl_alloc(ctx, bl_mul((size_t)h->em.series->rows, S), &step));
  TRY(bl_alloc(ctx, 2 * S, &work));
  TRY(bl_emission_counts(ctx, h->em.emission, x->states, x->stat, log_p));
  bl_em_steps(h->em.series, x->bin, x->states, log_p, step);
  add_forward(h, f, &x->chain, step, x->bin, 1, work, gain);
  bl_em_steps(h->fold[f].em.series, x->bin, x->states, log_p, step);
  add_forward(h, f, &x->chain, step, x->bin, -1, work, gain);
done:
  bl_free(log_p);
  bl_free(step);
  bl_free(work);
  return status;
}

static blica_status search_fold(heldout *h, const blica_segment_options *o, int f) {
  blica_status status;
  blica_ctx *ctx = h->ctx;
  fold *x = &h->fold[f];
  const bl_series *all = h->em.series;
  x->patterns = *all->patterns;
  x->patterns.row_pattern = NULL;
  TRY(bl_alloc(ctx, (size_t)all->rows, &x->patterns.row_pattern));
  for (int64_t r = 0; r < all->rows; r++)
    x->patterns.row_pattern[r] = r / h->length % h->folds == f ? -1 : all->patterns->row_pattern[r];
  x->series = *all;
  x->series.patterns = &x->patterns;
  x->em = h->em;
  x->em.series = &x->series;
  TRY(bl_search_run(ctx, &x->em, o, 1, h->most, &x->search));
  for (int s = 1; s <= h->most; s++) TRY(score(h, f, x->search.best[s], gain_of(h, s)));
done:
  return status;
}

static double total_of(const heldout *h, int states) {
  double sum = 0;
  for (int64_t b = 0; b < h->blocks; b++) sum += gain_of(h, states)[b];
  return sum;
}

/* Of the difference between two totals. */
static double standard_error(const heldout *h, int a, int b) {
  const double mean = (total_of(h, a) - total_of(h, b)) / (double)h->blocks;
  double square = 0;
  for (int64_t i = 0; i < h->blocks; i++) square += pow(gain_of(h, a)[i] - gain_of(h, b)[i] - mean, 2);
  return sqrt(square * (double)h->blocks / (double)(h->blocks - 1));
}

static int best_of(const heldout *h, int low, int high) {
  int best = low;
  for (int s = low + 1; s <= high; s++)
    if (total_of(h, s) > total_of(h, best)) best = s;
  return best;
}

static blica_status refine(heldout *h, int states) {
  blica_status status = BLICA_OK;
  memset(gain_of(h, states), 0, (size_t)h->blocks * sizeof(double));
  for (int f = 0; f < h->folds; f++) {
    bl_states *x = h->fold[f].search.best[states];
    bl_states_to_rows(x);
    TRY(bl_em_run(h->ctx, &h->fold[f].em, ROW_ROUNDS, 0.1, x));
    TRY(score(h, f, x, gain_of(h, states)));
  }
done:
  return status;
}

static void print_range(const char *name, const heldout *h, int low, int high) {
  const int best = best_of(h, low, high);
  printf("# held out, %s:", name);
  for (int s = low; s <= high; s++)
    printf(" %d:%.0f(%.0f)", s, total_of(h, s) - total_of(h, best), standard_error(h, s, best));
  printf("\n");
}

/* From one more than the steps ask for down to where fewer states are clearly worse. */
static blica_status choose(heldout *h, heldout_choice *choice) {
  blica_status status = BLICA_OK;
  const int first = best_of(h, 1, h->most), high = first < h->most ? first + 1 : first;
  print_range("steps", h, 1, h->most);
  int low = high + 1, best = high;
  do {
    TRY(refine(h, --low));
    best = best_of(h, low, high);
  } while (low > 1 && total_of(h, best) - total_of(h, low) <= CLEARLY * standard_error(h, best, low));
  print_range("rows", h, low, high);
  *choice = (heldout_choice){best, best};
  while (choice->within_one > low &&
         total_of(h, best) - total_of(h, choice->within_one - 1) <= standard_error(h, best, choice->within_one - 1))
    choice->within_one--;
done:
  return status;
}

blica_status heldout_states(blica_ctx *ctx, const blica_data *data, const blica_segment_options *o, int folds,
                            heldout_choice *choice) {
  blica_status status;
  bl_series *series = NULL;
  heldout h = {.ctx = ctx, .folds = folds < MOST_FOLDS ? folds : MOST_FOLDS, .most = o->max_states};
  h.length = (data->rows / BLOCKS / ROUND_TO + 1) * ROUND_TO;
  h.blocks = (data->rows + h.length - 1) / h.length;
  TRY(bl_series_make(ctx, data, &series));
  h.em = (bl_em){.series = series,
                 .min_length = o->min_length,
                 .forward = o->change_points != 0,
                 .deadline = INFINITY,
                 .progress = {"segment", -1, NAN, 0, 0}};
  TRY(bl_emission_make(ctx, data, series, &h.em.emission));
  TRY(bl_alloc(ctx, bl_mul((size_t)h.blocks, (size_t)h.most), &h.gain));
  for (int f = 0; f < h.folds; f++) TRY(search_fold(&h, o, f));
  TRY(choose(&h, choice));
done:
  for (int f = 0; f < h.folds; f++) {
    bl_search_free(&h.fold[f].search);
    bl_free(h.fold[f].patterns.row_pattern);
  }
  bl_free(h.gain);
  bl_emission_free(h.em.emission);
  bl_series_free(series);
  return status;
}
