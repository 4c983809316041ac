/* em.c - expectation-maximisation for hidden states known by their pair counts.
 *
 * E-step: log P of every distinct pattern in every state (emission.c), forward and backward over the steps (chain.c),
 * and the expected pair counts of the states, which are weighted counts of patterns (series.c). M-step: nothing but
 * taking these counts; a state's thresholds and tetrachoric correlations follow from them when the next E-step asks.
 * These are not the maximum of the expected log-likelihood, so that the log-likelihood may fall slightly near the end:
 * a run stops there. */
#include "segment/em.h"

#include <math.h>
#include <string.h>

#define LEAST_LOG (-600.0) /* no step is impossible in any state */

blica_status bl_states_make(blica_ctx *ctx, size_t cells, int states, bl_states **out) {
  BL_OWNED bl_states *x = NULL;
  const size_t S = (size_t)states;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &x));
  x->states = x->chain.states = states;
  x->cells = cells;
  x->bin = 1;
  x->loglik = -INFINITY;
  MUST(bl_alloc_for(ctx, x, bl_mul(cells, S), &x->stat));
  MUST(bl_alloc_for(ctx, x, S, &x->chain.initial));
  MUST(bl_alloc_for(ctx, x, S * S, &x->chain.transition));
  *out = bl_take(&x);
  return BLICA_OK;
}

void bl_states_assign(bl_states *to, const bl_states *from) {
  const size_t S = (size_t)from->states;
  memcpy(to->stat, from->stat, from->cells * S * sizeof(double));
  memcpy(to->chain.initial, from->chain.initial, S * sizeof(double));
  memcpy(to->chain.transition, from->chain.transition, S * S * sizeof(double));
  to->loglik = from->loglik;
  to->bin = from->bin;
}

blica_status bl_states_copy(blica_ctx *ctx, const bl_states *from, bl_states **out) {
  blica_status status = bl_states_make(ctx, from->cells, from->states, out);
  if (status == BLICA_OK) bl_states_assign(*out, from);
  return status;
}

void bl_states_pass(bl_state *state, void *kept) {
  const bl_states_kept *k = kept;
  bl_states *x = k->states;
  const size_t S = (size_t)x->states;
  bl_pass(state, x->stat, x->cells * S * sizeof(double));
  bl_pass(state, x->chain.initial, S * sizeof(double));
  bl_pass(state, x->chain.transition, S * S * sizeof(double));
  BL_PASS(state, x->loglik);
  BL_PASS(state, x->bin);
  bl_pass_count(state, &k->em->rounds);
}

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

/* From log P to P over the largest of each step; returns the sum of the largest. */
static double scale_steps(int64_t steps, int states, double *step) {
  double total = 0;
  for (int64_t t = 0; t < steps; t++) {
    double *x = step + t * states, most = x[0];
    for (int s = 1; s < states; s++) most = fmax(most, x[s]);
    for (int s = 0; s < states; s++) x[s] = exp(fmax(x[s] - most, LEAST_LOG));
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

void bl_states_to_rows(bl_states *x) {
  const int S = x->states;
  const double power = 1 / (double)x->bin;
  for (int s = 0; s < S; s++) {
    double *row = x->chain.transition + s * S, stay = row[s], to = pow(stay, power);
    for (int r = 0; r < S; r++) row[r] *= r == s || stay >= 1 ? 1 : (1 - to) / (1 - stay);
    row[s] = to;
  }
  x->bin = 1;
}
