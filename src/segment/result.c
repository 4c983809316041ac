/* result.c - from states to what the caller gets: the sequence, probabilities, moves. */
#include <math.h>
#include <string.h>

#include "segment/segment.h"

/* From old to new numbers by first appearance; states that never appear come last. */
static void number_states(int64_t rows, const int32_t *state, int states, int *number) {
  int next = 0;
  for (int s = 0; s < states; s++) number[s] = -1;
  for (int64_t r = 0; r < rows && next < states; r++)
    if (number[state[r]] < 0) number[state[r]] = next++;
  for (int s = 0; s < states; s++)
    if (number[s] < 0) number[s] = next++;
}

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
