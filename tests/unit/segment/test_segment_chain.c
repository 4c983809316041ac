/* The hidden chain against enumeration of all sequences of states. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "num/rng.h"
#include "segment/segment.h"

enum { STATES = 3, STEPS = 7, SEQUENCES = 2187 };

typedef struct {
  double initial[STATES], transition[STATES * STATES], p[STEPS * STATES];
} sample;

static void draw(uint64_t seed, sample *x) {
  bl_rng rng = bl_rng_make(seed, 0);
  double sum = 0;
  for (int s = 0; s < STATES; s++) sum += x->initial[s] = bl_rng_uniform(&rng);
  for (int s = 0; s < STATES; s++) x->initial[s] /= sum;
  for (int s = 0; s < STATES; s++) {
    sum = 0;
    for (int r = 0; r < STATES; r++) sum += x->transition[s * STATES + r] = bl_rng_uniform(&rng) + 2 * (r == s);
    for (int r = 0; r < STATES; r++) x->transition[s * STATES + r] /= sum;
  }
  for (int i = 0; i < STEPS * STATES; i++) x->p[i] = bl_rng_uniform(&rng);
}

static void sequence_of(int code, int *state) {
  for (int t = 0; t < STEPS; t++, code /= STATES) state[t] = code % STATES;
}

static double joint(const sample *x, const int *state) {
  double p = x->initial[state[0]] * x->p[state[0]];
  for (int t = 1; t < STEPS; t++) p *= x->transition[state[t - 1] * STATES + state[t]] * x->p[t * STATES + state[t]];
  return p;
}

static int shortest_run(const int *state) {
  int least = STEPS, run = 1;
  for (int t = 1; t <= STEPS; t++) {
    if (t < STEPS && state[t] == state[t - 1]) {
      run++;
      continue;
    }
    least = run < least ? run : least;
    run = 1;
  }
  return least;
}

static void probabilities_match_enumeration(void **unused) {
  (void)unused;
  for (uint64_t seed = 1; seed <= 5; seed++) {
    sample x;
    double total = 0, state_p[STEPS * STATES] = {0}, moves[STATES * STATES] = {0};
    double got[STEPS * STATES], flow[STATES * STATES], work[3 * STATES];
    draw(seed, &x);
    for (int c = 0; c < SEQUENCES; c++) {
      int state[STEPS];
      sequence_of(c, state);
      double p = joint(&x, state);
      total += p;
      for (int t = 0; t < STEPS; t++) state_p[t * STATES + state[t]] += p;
      for (int t = 1; t < STEPS; t++) moves[state[t - 1] * STATES + state[t]] += p;
    }
    bl_chain chain = {STATES, x.initial, x.transition};
    double loglik = bl_chain_pass(&chain, STEPS, x.p, got, flow, work);
    assert_compare(fabs(loglik - log(total)), <, 1e-12);
    for (int i = 0; i < STEPS * STATES; i++) assert_compare(fabs(got[i] - state_p[i] / total), <, 1e-12);
    for (int i = 0; i < STATES * STATES; i++) assert_compare(fabs(flow[i] - moves[i] / total), <, 1e-12);
  }
}

static void best_sequence_keeps_the_least_length(void **unused) {
  (void)unused;
  for (uint64_t seed = 1; seed <= 20; seed++)
    for (int least = 1; least <= STEPS; least++) {
      sample x;
      double best = -1, log_p[STEPS * STATES], sum[(STEPS + 1) * STATES], value[STEPS * STATES];
      int16_t from[STEPS * STATES];
      int32_t got[STEPS];
      int state[STEPS], wanted[STEPS] = {0};
      draw(seed, &x);
      for (int c = 0; c < SEQUENCES; c++) {
        sequence_of(c, state);
        if (shortest_run(state) < least) continue;
        double p = joint(&x, state);
        if (p > best) best = p, memcpy(wanted, state, sizeof wanted);
      }
      for (int i = 0; i < STEPS * STATES; i++) log_p[i] = log(x.p[i]);
      bl_chain chain = {STATES, x.initial, x.transition};
      bl_chain_best(&chain, STEPS, log_p, least, sum, value, from, got);
      for (int t = 0; t < STEPS; t++) assert_int_equal(got[t], wanted[t]);
    }
}

static void learned_moves_keep_their_bounds(void **unused) {
  (void)unused;
  double initial[3], transition[9], first[3] = {.2, .5, .3}, flow[9] = {5, 5, 0, 1, 8, 1, 3, 3, 4};
  bl_chain chain = {3, initial, transition};
  bl_chain_learn(&chain, first, flow, 0.1, false);
  for (int s = 0; s < 3; s++) {
    assert_compare(fabs(transition[s * 3] + transition[s * 3 + 1] + transition[s * 3 + 2] - 1), <, 1e-12);
    assert_compare(transition[s * 3 + s], >=, 0.9 - 1e-12);
  }
  bl_chain_learn(&chain, first, flow, 1, true);
  assert_true(initial[0] == 1 && initial[1] == 0 && transition[8] == 1 && transition[3] == 0 && transition[2] == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(probabilities_match_enumeration),
      cmocka_unit_test(best_sequence_keeps_the_least_length),
      cmocka_unit_test(learned_moves_keep_their_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
