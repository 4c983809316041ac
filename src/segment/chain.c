/* chain.c - hidden states: forward-backward recursion in scaled probabilities, Viterbi's recursion with a least
 * duration; the states as objects.
 *
 * References: Rabiner, Proceedings of the IEEE 77 (1989), sections III.A to III.C and V.A. A run of at least L steps is
 * one move into the state followed by L - 1 forced stays: the best path that has been in s for L steps or more at t
 * either stayed since t - 1, or entered s after step t - L. Checked against enumeration in
 * tests/unit/segment/test_segment_chain.c. */
#include "segment/segment.h"

#include <math.h>
#include <string.h>

static double sum_of(const double *x, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += x[i];
  return sum;
}

/* alpha: steps rows of S, each of sum 1. */
static double forward_pass(const bl_chain *c, int64_t steps, const double *p, double *alpha) {
  const int S = c->states;
  double loglik = 0;
  for (int64_t t = 0; t < steps; t++) {
    double *now = alpha + t * S;
    const double *before = now - S, *e = p + t * S;
    if (t == 0) {
      memcpy(now, c->initial, sizeof(double) * (size_t)S);
    } else {
      memset(now, 0, sizeof(double) * (size_t)S);
      for (int s = 0; s < S; s++)
        for (int r = 0; r < S; r++) now[r] += before[s] * c->transition[s * S + r];
    }
    for (int s = 0; s < S; s++) now[s] *= e[s];
    double total = sum_of(now, S);
    if (!(total > 0)) return -INFINITY;
    for (int s = 0; s < S; s++) now[s] /= total;
    loglik += log(total);
  }
  return loglik;
}

double bl_chain_pass(const bl_chain *c, int64_t steps, const double *p, double *probability, double *flow,
                     double *work) {
  const int S = c->states;
  double *beta = work, *next = work + S, *earlier = work + 2 * S;
  memset(flow, 0, sizeof(double) * (size_t)(S * S));
  double loglik = forward_pass(c, steps, p, probability);
  if (!isfinite(loglik)) return loglik;
  for (int s = 0; s < S; s++) beta[s] = 1;
  for (int64_t t = steps - 1; t >= 0; t--) {
    double *now = probability + t * S;
    const double *before = now - S, *e = p + t * S;
    for (int s = 0; s < S; s++) now[s] *= beta[s];
    double total = sum_of(now, S);
    for (int s = 0; s < S; s++) now[s] /= total;
    if (t == 0) break;
    for (int s = 0; s < S; s++) next[s] = e[s] * beta[s];
    double norm = 0;
    for (int s = 0; s < S; s++) {
      double sum = 0;
      for (int r = 0; r < S; r++) sum += c->transition[s * S + r] * next[r];
      earlier[s] = sum;
      norm += before[s] * sum;
    }
    for (int s = 0; s < S; s++) {
      double weight = before[s] / norm;
      for (int r = 0; r < S; r++) flow[s * S + r] += weight * next[r];
    }
    for (int s = 0; s < S; s++) beta[s] = earlier[s] / norm;
  }
  for (int i = 0; i < S * S; i++) flow[i] *= c->transition[i];
  return loglik;
}

void bl_chain_learn(bl_chain *c, const double *first, const double *flow, double most_leave, bool forward) {
  const int S = c->states;
  for (int s = 0; s < S; s++) {
    double *row = c->transition + s * S, leave = 0;
    const double *moves = flow + s * S;
    c->initial[s] = forward ? s == 0 : (first[s] + 0.01) / (1 + 0.01 * S);
    memset(row, 0, sizeof(double) * (size_t)S);
    for (int r = 0; r < S; r++) {
      bool open = r != s && (!forward || r == s + 1);
      if (open) leave += row[r] = moves[r] + 0.1 / S; /* so that no move is impossible for good */
    }
    double share = leave / (leave + moves[s] + 0.5), kept = fmin(share, most_leave);
    for (int r = 0; r < S; r++) row[r] *= leave > 0 ? kept / leave : 0;
    row[s] = leave > 0 ? 1 - kept : 1;
  }
}

/* Best path that ends at t in s, s having lasted at least `least` steps. */
static void best_step(const bl_chain *c, int64_t t, const double *sum, int64_t least, double *best, int16_t *from) {
  const int S = c->states;
  const int64_t before = t - least;
  for (int s = 0; s < S; s++) {
    double stay = log(c->transition[s * S + s]), forced = least > 1 ? (double)(least - 1) * stay : 0;
    double run = sum[(t + 1) * S + s] - sum[(before + 1) * S + s] + forced;
    double value = -INFINITY;
    int16_t origin = -1;
    if (t >= least) value = best[(t - 1) * S + s] + stay + sum[(t + 1) * S + s] - sum[t * S + s];
    if (before < 0) value = log(c->initial[s]) + run;
    for (int r = 0; r < S && before >= 0; r++) {
      if (r == s) continue;
      double entered = best[before * S + r] + log(c->transition[r * S + s]) + run;
      if (entered > value) value = entered, origin = (int16_t)r;
    }
    best[t * S + s] = value;
    from[t * S + s] = origin;
  }
}

void bl_chain_best(const bl_chain *c, int64_t steps, const double *log_p, int64_t least, double *sum, double *best,
                   int16_t *from, int32_t *state) {
  const int S = c->states;
  memset(sum, 0, sizeof(double) * (size_t)S);
  for (int64_t t = 0; t < steps; t++)
    for (int s = 0; s < S; s++) {
      sum[(t + 1) * S + s] = sum[t * S + s] + log_p[t * S + s];
      best[t * S + s] = -INFINITY;
      from[t * S + s] = -1;
    }
  for (int64_t t = least - 1; t < steps; t++) best_step(c, t, sum, least, best, from);
  int s = 0;
  for (int r = 1; r < S; r++)
    if (best[(steps - 1) * S + r] > best[(steps - 1) * S + s]) s = r;
  for (int64_t t = steps - 1; t >= 0;) {
    int16_t origin = from[t * S + s];
    int64_t run = origin >= 0 ? least : 1;
    for (int64_t i = 0; i < run; i++) state[t - i] = s;
    t -= run;
    if (origin >= 0) s = origin;
  }
}

/* ---- states with what they are known by ---- */

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

void bl_states_pass(bl_serializer *io, void *kept) {
  const bl_states_kept *k = kept;
  bl_states *x = k->states;
  const size_t S = (size_t)x->states;
  bl_pass(io, x->stat, x->cells * S * sizeof(double));
  bl_pass(io, x->chain.initial, S * sizeof(double));
  bl_pass(io, x->chain.transition, S * S * sizeof(double));
  BL_PASS(io, x->loglik);
  BL_PASS(io, x->bin);
  bl_pass_count(io, &k->em->rounds);
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
