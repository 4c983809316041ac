/* search.c - states by merging, from many to few.
 *
 * A run of expectation-maximisation from as many states as are wanted often ends with two states in one and two times
 * the same state. From half as many again there is room for all of them; then the two most similar are merged, a few
 * rounds settle the rest, and so on down to one state. One way down gives every number of states, and its
 * log-likelihoods say which number is enough. Several clusterings are tried; for each number the best is kept. */
#include "segment/search.h"

#include <math.h>
#include <string.h>

enum {
  STEPS = 10000,
  ROUNDS = 8,
  FIRST_ROUNDS = 15,
  STATE_ROWS = 50 /* states that are more than are wanted have so many rows each, on average */
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
static blica_status settle(blica_ctx *ctx, bl_em *em, bl_search *search, int start, int rounds, bl_states *x) {
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

static blica_status one_start(blica_ctx *ctx, bl_em *em, const blica_segment_options *o, int start, int first,
                              int least, bl_search *search) {
  BL_OWNED bl_states *x = NULL, *fewer = NULL;
  MUST(bl_em_start(ctx, em, first, search->bin, o->seed, (uint64_t)start, &x));
  MUST(settle(ctx, em, search, start, FIRST_ROUNDS, x));
  while (x->states > least) {
    MUST(bl_em_merge(ctx, em, x, &fewer));
    bl_free(x);
    x = bl_take(&fewer);
    MUST(settle(ctx, em, search, start, ROUNDS, x));
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
