/* search.c - states by merging, from many to few, and their number by held-out blocks of rows.
 *
 * A run of expectation-maximisation from as many states as are wanted often ends with two states in one and two times
 * the same state. From half as many again there is room for all of them; then the two most similar are merged, a few
 * rounds settle the rest, and so on down to one state. One way down gives every number of states, and its
 * log-likelihoods say which number is enough. Several clusterings are tried; for each number the best is kept.
 *
 * The number: rows are cut into about 200 blocks, and every fifth block is held out: for the search its rows are
 * missing, so that the chain goes on through them. What counts is log P(held-out rows | other rows), the difference
 * between the forward passes over all rows and over the other rows. It needs no distribution of the state at the
 * beginning of a block, and states that never return are scored in the same way. Each fold searches anew: states that
 * had begun at those of all rows would know the held-out rows (stationary rows then got up to six states). The search
 * has steps of several rows; the numbers of states that come into question are refined to single rows, as in
 * candidate.c. Measured against BIC in bench/results/segment.md. */
#include "segment/segment.h"

#include <math.h>
#include <string.h>

enum {
  STEPS = 10000,
  ROUNDS = 8,
  FIRST_ROUNDS = 15,
  STATE_ROWS = 50 /* more states than wanted are tried only with this many rows each, on average */
};

void bl_search_free(bl_search *s) {
  for (int i = 0; s->best && i <= s->most; i++) bl_free(s->best[i]);
  bl_free(s->best);
}

double bl_search_score(const bl_series *series, const bl_states *x, double loglik, double parameters) {
  const double rows = (double)series->rows;
  for (int s = 0; s < x->states; s++)
    for (int r = 0; r < x->states; r++) /* a move that is not made needs no parameter */
      parameters += r != s && x->chain.transition[s * x->states + r] * x->stat[s] / (double)x->bin > 0.5;
  return loglik - 0.5 * parameters * log(rows);
}

/* Runs one number of states of the descent, or takes its result from the checkpoint; keeps it if it is the best of that
 * number. */
static blica_status settle_states(blica_ctx *ctx, bl_em *em, bl_search *search, int start, int rounds, bl_states *x) {
  bl_stage stage = bl_stage_below(&em->stage, "start %d, %d states", start, x->states);
  bl_states_kept kept = {x, em};
  if (bl_stage_find(&stage) == BL_STAGE_OVER) {
    MUST(bl_stage_load(ctx, &stage, bl_states_pass, &kept));
  } else {
    MUST(bl_em_run(ctx, em, rounds, 0.5, x));
    if (!em->stopped) bl_stage_over(ctx, &stage, bl_states_pass, &kept);
    bl_stage_offer(ctx, &em->stage, em->stopped ? BL_STOP_REQUESTED : BL_CONTINUE, bl_pass_nothing, NULL);
  }
  if (x->states > search->most) return BLICA_OK;
  bl_states **best = &search->best[x->states];
  if (*best && (*best)->loglik >= x->loglik) return BLICA_OK;
  bl_free(*best);
  *best = NULL;
  MUST(bl_states_copy(ctx, x, best));
  return BLICA_OK;
}

/* Goes from `first` states down to `least`, merging two at a time, and keeps the best of each number. */
static blica_status one_start(blica_ctx *ctx, bl_em *em, const blica_segment_options *o, int start, int first,
                              int least, bl_search *search) {
  BL_OWNED bl_states *x = NULL, *fewer = NULL;
  MUST(bl_em_start(ctx, em, first, search->bin, o->seed, (uint64_t)start, &x));
  MUST(settle_states(ctx, em, search, start, FIRST_ROUNDS, x));
  while (x->states > least) {
    MUST(bl_em_merge(ctx, em, x, &fewer));
    bl_free(x);
    x = bl_take(&fewer);
    MUST(settle_states(ctx, em, search, start, ROUNDS, x));
  }
  return BLICA_OK;
}

blica_status bl_search_run(blica_ctx *ctx, bl_em *em, const blica_segment_options *o, int least, int most,
                           bl_search *search) {
  const bl_series *x = em->series;
  search->most = most;
  search->bin = x->rows / STEPS + 1;
  if (search->bin > em->min_length) search->bin = em->min_length;
  MUST(bl_alloc(ctx, (size_t)most + 1, &search->best));
  const int64_t limit = x->rows / (em->min_length > STATE_ROWS / 2 ? 2 * em->min_length : STATE_ROWS);
  int first = most == 1 ? 1 : most + most / 2 + 2;
  if (first > limit) first = (int)limit;
  if (first < most) first = most;
  for (int start = 0; start < o->starts && !(start > 0 && em->stopped); start++) {
    em->progress.start = start;
    MUST(one_start(ctx, em, o, start, first, least, search));
    if (em->forward) break; /* nothing in it is drawn */
  }
  return BLICA_OK;
}

/* ---- the number of states by held-out rows ---- */

enum { FOLDS = 5, BLOCKS = 200, ROUND_TO = 10, ROW_ROUNDS = 40 };
#define CLEARLY 3.0 /* standard errors */

typedef struct {
  bl_em em;             /* its series lacks the held-out rows */
  bl_series series;     /* borrows all but the patterns */
  bl_patterns patterns; /* borrows all but row_pattern */
  bl_search search;
} fold;

typedef struct {
  blica_ctx *ctx;
  bl_em *em; /* all rows */
  int most;
  int64_t length, blocks; /* rows of a block, blocks */
  fold fold[FOLDS];
  double *gain; /* [blocks,most] log P of held-out rows, by block */
} heldout;

static double *gain_of(const heldout *h, int states) {
  return h->gain + (states - 1) * h->blocks;
}

/* Whether a fold's work was stopped; then all are. */
static bool stopped(heldout *h, int f) {
  const bl_em *own = &h->fold[f].em;
  if (own->stopped) h->em->stopped = true, h->em->stop = own->stop;
  h->em->rounds = own->rounds;
  return own->stopped;
}

/* ---- the score ---- */

/* log P of each step given those before, times sign, added to the last held-out block that has begun by then. */
static void add_forward(const heldout *h, int f, const bl_chain *c, const double *step, int64_t bin, double sign,
                        double *work, double *gain) {
  const int S = c->states;
  const int64_t steps = (h->em->series->rows + bin - 1) / bin;
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
    for (int r = 0; r < S; r++) total += now[r] *= exp(fmax(log_p[r] - most, BL_LEAST_LOG));
    for (int r = 0; r < S; r++) before[r] = now[r] / total;
    if (t * bin / h->length % FOLDS == f) to = t * bin / h->length;
    gain[to] += sign * (most + log(total));
  }
}

/* Adds what the states of a fold, learned from the other rows, say of its held-out rows. */
static blica_status score(const heldout *h, int f, const bl_states *x, double *gain) {
  const bl_series *all = h->em->series;
  const size_t S = (size_t)x->states;
  BL_OWNED double *log_p = NULL, *step = NULL, *work = NULL;
  MUST(bl_alloc(h->ctx, bl_mul((size_t)all->patterns->count, S), &log_p));
  MUST(bl_alloc(h->ctx, bl_mul((size_t)all->rows, S), &step));
  MUST(bl_alloc(h->ctx, 2 * S, &work));
  MUST(bl_emission_counts(h->ctx, h->em->emission, x->states, x->stat, log_p));
  bl_em_steps(all, x->bin, x->states, log_p, step);
  add_forward(h, f, &x->chain, step, x->bin, 1, work, gain);
  bl_em_steps(&h->fold[f].series, x->bin, x->states, log_p, step);
  add_forward(h, f, &x->chain, step, x->bin, -1, work, gain);
  return BLICA_OK;
}

static double total_of(const heldout *h, int states) {
  double sum = 0;
  for (int64_t b = 0; b < h->blocks; b++) sum += gain_of(h, states)[b];
  return sum;
}

/* The standard error of the difference between the totals of a and b states. */
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

/* ---- the folds ---- */

/* Finds states without the rows of fold f, and scores its rows under them. */
static blica_status search_fold(heldout *h, const blica_segment_options *o, int f) {
  blica_status status;
  fold *x = &h->fold[f];
  const bl_series *all = h->em->series;
  x->patterns = *all->patterns;
  x->patterns.row_pattern = NULL;
  TRY(bl_alloc(h->ctx, (size_t)all->rows, &x->patterns.row_pattern));
  for (int64_t r = 0; r < all->rows; r++)
    x->patterns.row_pattern[r] = r / h->length % FOLDS == f ? -1 : all->patterns->row_pattern[r];
  x->series = *all;
  x->series.patterns = &x->patterns;
  x->em = *h->em;
  x->em.series = &x->series;
  x->em.stage = bl_stage_below(&h->em->stage, "fold %d", f);
  bl_stage_enter(h->ctx, &x->em.stage);
  status = bl_search_run(h->ctx, &x->em, o, 1, h->most, &x->search);
  bl_stage_leave(h->ctx, &x->em.stage);
  if (status != BLICA_OK || stopped(h, f)) goto done;
  for (int s = 1; s <= h->most; s++) TRY(score(h, f, x->search.best[s], gain_of(h, s)));
done:
  return status;
}

/* Turns states of steps of several rows into states of single rows. */
static blica_status to_rows(heldout *h, int f, bl_states *x) {
  blica_status status = BLICA_OK;
  bl_em *em = &h->fold[f].em;
  bl_stage stage = bl_stage_below(&em->stage, "%d states, rows", x->states);
  bl_states_kept kept = {x, em};
  em->rounds = h->em->rounds;
  if (bl_stage_find(&stage) == BL_STAGE_OVER) {
    TRY(bl_stage_load(h->ctx, &stage, bl_states_pass, &kept));
  } else {
    bl_stage_enter(h->ctx, &em->stage);
    bl_states_to_rows(x);
    status = bl_em_run(h->ctx, em, ROW_ROUNDS, 0.1, x);
    if (status == BLICA_OK && !em->stopped) bl_stage_over(h->ctx, &stage, bl_states_pass, &kept);
    bl_stage_offer(h->ctx, &em->stage, em->stopped ? BL_STOP_REQUESTED : BL_CONTINUE, bl_pass_nothing, NULL);
    bl_stage_leave(h->ctx, &em->stage);
  }
done:
  return status;
}

/* Scores the held-out rows of all folds under their states of this number, after refining these to single rows. */
static blica_status score_states(heldout *h, int states) {
  memset(gain_of(h, states), 0, (size_t)h->blocks * sizeof(double));
  for (int f = 0; f < FOLDS; f++) {
    bl_states *x = h->fold[f].search.best[states];
    MUST(to_rows(h, f, x));
    if (stopped(h, f)) break;
    MUST(score(h, f, x, gain_of(h, states)));
  }
  return BLICA_OK;
}

/* ---- the choice ---- */

/* Refines numbers of states, from one more than the steps ask for down to where fewer are clearly worse; these are *low
 * to *high. */
static blica_status refine_range(heldout *h, int *low, int *high) {
  const int first = best_of(h, 1, h->most);
  int best;
  *high = first < h->most ? first + 1 : first;
  *low = *high + 1;
  do {
    MUST(score_states(h, --*low));
    best = best_of(h, *low, *high);
  } while (!h->em->stopped && *low > 1 &&
           total_of(h, best) - total_of(h, *low) <= CLEARLY * standard_error(h, best, *low));
  return BLICA_OK;
}

static int fewest_within_one_error(const heldout *h, int low, int best) {
  int fewest = best;
  while (fewest > low && total_of(h, best) - total_of(h, fewest - 1) <= standard_error(h, best, fewest - 1)) fewest--;
  return fewest;
}

blica_status bl_choose_states(blica_ctx *ctx, bl_em *em, const blica_segment_options *options, int most, int count,
                              blica_segment_trial *trials, int *states) {
  blica_status status;
  blica_segment_options o = *options;
  heldout h = {.ctx = ctx, .em = em, .most = most};
  int low, high;
  o.starts = 1; /* the folds are several searches already */
  h.length = (em->series->rows / BLOCKS / ROUND_TO + 1) * ROUND_TO;
  h.blocks = (em->series->rows + h.length - 1) / h.length;
  TRY(bl_alloc(ctx, bl_mul((size_t)h.blocks, (size_t)most), &h.gain));
  for (int f = 0; f < FOLDS && !em->stopped; f++) TRY(search_fold(&h, &o, f));
  if (!em->stopped) TRY(refine_range(&h, &low, &high));
  if (em->stopped) goto done;
  const int best = best_of(&h, low, high);
  *states = fewest_within_one_error(&h, low, best);
  for (int i = 0; i < count; i++) {
    blica_segment_trial *t = &trials[i];
    if (t->states < low || t->states > high) continue;
    t->heldout = total_of(&h, t->states);
    t->heldout_se = standard_error(&h, t->states, best);
  }
done:
  for (int f = 0; f < FOLDS; f++) {
    bl_search_free(&h.fold[f].search);
    bl_free(h.fold[f].patterns.row_pattern);
  }
  bl_free(h.gain);
  return status;
}
