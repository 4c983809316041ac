/* candidate.c - one number of states, refined to single rows and to the model with a common A; and what the caller gets
 * of it. */
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "segment/segment.h"

enum { ROW_ROUNDS = 40, MODEL_ROUNDS = 12 };

blica_status bl_segment_fit(blica_ctx *ctx, const bl_segment *g, bl_em *em, const bl_states *x, blica_model **model) {
  blica_status status;
  BL_AUTO(blica_counts) *counts = NULL;
  blica_fit_options fit = blica_fit_options_default();
  *model = NULL;
  fit.sources = g->options->sources;
  fit.seed = g->options->seed;
  fit.link = g->options->link;
  fit.method = g->options->method;
  fit.max_seconds = fmax(0, em->deadline - bl_seconds());
  TRY(bl_series_counts(ctx, em->series, x->states, x->stat, (const char *const *)g->data->variables, &counts));
  counts->segments_found = 1;
  blica_input input = {.counts = counts};
  status = blica_fit(ctx, &input, &fit, model);
  if (status == BLICA_ERR_INTERRUPTED) {
    em->stopped = true, em->stop = BLICA_STOP_INTERRUPTED;
    status = BLICA_OK;
    goto done;
  }
  if (status != BLICA_OK) goto done;
  if (bl_interrupted(ctx)) /* even when its best start had ended by itself */
    em->stopped = true, em->stop = BLICA_STOP_INTERRUPTED;
  else if ((*model)->fit.stop == BLICA_STOP_INTERRUPTED || (*model)->fit.stop == BLICA_STOP_TIME)
    em->stopped = true, em->stop = (*model)->fit.stop;
done:
  return status;
}

/* Parameters of the emissions of all states: A is shared, thresholds and variances are each state's own. */
static double model_parameters(const bl_segment *g, const bl_em *em, int states) {
  const double items = em->series->items, k = g->options->sources;
  return items * k + states * (g->data->n + k) - k;
}

/* The state from which a stopped candidate can continue. */
typedef struct {
  bl_em *em;
  bl_candidate *best;
  bl_states *now;
  double before; /* log-likelihood of the round before */
  int round;     /* under the model; 0: the rounds over single rows are not done yet */
} progress;

static void pass_progress(bl_serializer *io, void *user) {
  progress *p = user;
  bl_states_kept best = {p->best->states, p->em}, now = {p->now, p->em};
  bl_states_pass(io, &best);
  bl_states_pass(io, &now);
  bl_pass(io, p->best->log_p, p->best->size * sizeof(double));
  BL_PASS(io, p->best->score);
  BL_PASS(io, p->before);
  bl_pass_int(io, &p->round, 0, MODEL_ROUNDS + 1);
}

/* States by their own counts, row by row. */
static blica_status row_rounds(blica_ctx *ctx, bl_em *em, progress *p) {
  bl_candidate *c = p->best;
  const int S = c->states->states;
  bl_states_to_rows(c->states);
  MUST(bl_em_run(ctx, em, ROW_ROUNDS, 0.1, c->states));
  MUST(bl_emission_counts(ctx, em->emission, S, c->states->stat, c->log_p));
  c->score = -INFINITY; /* what states that know their counts alone have cannot be compared with a model */
  bl_states_assign(p->now, c->states);
  p->before = -INFINITY;
  p->round = 1;
  return BLICA_OK;
}

/* A round in which the M-step is a fit of the model; true in *more when another may help. */
static blica_status model_round(blica_ctx *ctx, const bl_segment *g, bl_em *em, progress *p, double *log_p,
                                bool *more) {
  BL_AUTO(blica_model) *model = NULL;
  *more = false;
  MUST(bl_segment_fit(ctx, g, em, p->now, &model));
  if (!model) return BLICA_OK;
  MUST(bl_emission_model(ctx, em->emission, model, log_p));
  MUST(bl_em_expect(ctx, em, log_p, p->now, NULL));
  double score = bl_search_score(em->series, p->now, p->now->loglik, model_parameters(g, em, p->now->states));
  if (score > p->best->score) {
    p->best->score = score;
    bl_states_assign(p->best->states, p->now);
    memcpy(p->best->log_p, log_p, p->best->size * sizeof *log_p);
  }
  *more = p->now->loglik - p->before >= 0.5 && p->round < MODEL_ROUNDS;
  p->before = p->now->loglik;
  p->round++;
  return BLICA_OK;
}

/* Runs rounds from the first or from the checkpoint until the log-likelihood no longer grows or the search stops. */
static blica_status run_rounds(blica_ctx *ctx, const bl_segment *g, bl_em *em, bl_stage *stage, progress *p) {
  blica_status status = BLICA_OK;
  BL_OWNED double *log_p = NULL;
  bool more = true;
  TRY(bl_alloc(ctx, p->best->size, &log_p));
  if (bl_stage_find(stage) != BL_STAGE_NONE) TRY(bl_stage_load(ctx, stage, pass_progress, p));
  if (bl_stage_find(stage) == BL_STAGE_OVER) goto done;
  bl_stage_enter(ctx, stage);
  if (p->round == 0) TRY(row_rounds(ctx, em, p));
  while (more && !em->stopped) { /* an unfinished round is not kept */
    bl_stage_offer(ctx, stage, bl_em_over(ctx, em) ? BL_STOP_REQUESTED : BL_CONTINUE, pass_progress, p);
    if (em->stopped) break;
    status = model_round(ctx, g, em, p, log_p, &more);
    if (status != BLICA_OK) break;
  }
  if (em->stopped) bl_stage_freeze(stage);
  bl_stage_leave(ctx, stage);
  if (status == BLICA_OK && !em->stopped) bl_stage_over(ctx, stage, pass_progress, p);
done:
  return status;
}

blica_status bl_candidate_make(blica_ctx *ctx, const bl_segment *g, bl_em *em, const bl_states *from,
                               bl_candidate **out) {
  blica_status status;
  bl_candidate *c = NULL;
  progress p = {.em = em};
  bl_stage stage = bl_stage_below(&em->stage, "%d states", from->states);
  *out = NULL;
  bl_warn_hold(ctx);
  TRY(bl_alloc(ctx, 1, &c));
  c->size = bl_mul((size_t)em->series->patterns->count, (size_t)from->states);
  TRY(bl_states_copy(ctx, from, &c->states));
  TRY(bl_states_copy(ctx, from, &p.now));
  TRY(bl_alloc_for(ctx, c, c->size, &c->log_p));
  p.best = c;
  TRY(run_rounds(ctx, g, em, &stage, &p));
  *out = bl_take(&c);
done:
  bl_warn_release(ctx);
  bl_candidate_free(c);
  bl_free(p.now);
  return status;
}

void bl_candidate_free(bl_candidate *c) {
  if (!c) return;
  bl_free(c->states);
  bl_free(c);
}

/* ---- what the caller gets: the sequence, probabilities, moves ---- */

/* number [states] <- new numbers in the order of first appearance; states that never appear come last. */
static void number_states(int64_t rows, const int32_t *state, int states, int *number) {
  int next = 0;
  for (int s = 0; s < states; s++) number[s] = -1;
  for (int64_t r = 0; r < rows && next < states; r++)
    if (number[state[r]] < 0) number[state[r]] = next++;
  for (int s = 0; s < states; s++)
    if (number[s] < 0) number[s] = next++;
}

/* state <- the most probable states of the rows. */
static blica_status best_path(blica_ctx *ctx, const bl_em *em, const bl_states *x, const double *log_p,
                              int32_t *state) {
  const size_t size = bl_mul((size_t)em->series->rows, (size_t)x->states);
  BL_OWNED double *step = NULL, *sum = NULL, *best = NULL;
  BL_OWNED int16_t *from = NULL;
  MUST(bl_alloc(ctx, size, &step));
  MUST(bl_alloc(ctx, size + (size_t)x->states, &sum));
  MUST(bl_alloc(ctx, size, &best));
  MUST(bl_alloc(ctx, size, &from));
  bl_em_steps(em->series, 1, x->states, log_p, step);
  bl_chain_best(&x->chain, em->series->rows, step, em->min_length, sum, best, from, state);
  return BLICA_OK;
}

/* Puts the states of x in their new order. */
static blica_status renumber(blica_ctx *ctx, const int *number, bl_states **x) {
  bl_states *old = *x, *new = NULL;
  const int S = old->states;
  MUST(bl_states_copy(ctx, old, &new));
  for (int s = 0; s < S; s++) {
    new->chain.initial[number[s]] = old->chain.initial[s];
    for (int r = 0; r < S; r++) new->chain.transition[number[s] * S + number[r]] = old->chain.transition[s * S + r];
    for (size_t c = 0; c < old->cells; c++)
      new->stat[c * (size_t)S + (size_t)number[s]] = old->stat[c * (size_t)S + (size_t)s];
  }
  bl_free(old);
  *x = new;
  return BLICA_OK;
}

blica_status bl_segment_result(blica_ctx *ctx, bl_em *em, bl_states **x, const double *log_p,
                               blica_segmentation *result) {
  const int S = (*x)->states;
  const size_t size = bl_mul((size_t)em->series->rows, (size_t)S);
  BL_OWNED int *number = NULL;
  BL_OWNED double *old = NULL;
  result->states = S;
  result->rows = em->series->rows;
  MUST(bl_alloc(ctx, (size_t)S, &number));
  MUST(bl_alloc_for(ctx, result, (size_t)result->rows, &result->state));
  MUST(bl_alloc_for(ctx, result, size, &result->probability));
  MUST(bl_alloc(ctx, size, &old));
  MUST(bl_alloc_for(ctx, result, (size_t)S * (size_t)S, &result->transition));
  MUST(bl_alloc_for(ctx, result, (size_t)S, &result->expected_rows));
  MUST(bl_alloc_for(ctx, result, (size_t)S, &result->runs));
  MUST(best_path(ctx, em, *x, log_p, result->state));
  MUST(bl_em_expect(ctx, em, log_p, *x, old));
  number_states(result->rows, result->state, S, number);
  MUST(renumber(ctx, number, x));
  for (int64_t r = 0; r < result->rows; r++) {
    result->state[r] = number[result->state[r]];
    result->runs[result->state[r]] += r == 0 || result->state[r] != result->state[r - 1];
    for (int s = 0; s < S; s++) result->probability[r * S + number[s]] = old[r * S + s];
  }
  memcpy(result->transition, (*x)->chain.transition, sizeof(double) * (size_t)S * (size_t)S);
  memcpy(result->expected_rows, (*x)->stat, sizeof(double) * (size_t)S);
  result->loglik = (*x)->loglik;
  return BLICA_OK;
}
