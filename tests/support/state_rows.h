/* state_rows.h - rows in time order whose state is known, for tests of blica segment. After cmocka.h and context.h. */
#ifndef TESTS_STATE_ROWS_H
#define TESTS_STATE_ROWS_H

#include <math.h>

#include "num/rng.h"

typedef struct {
  int items, sources, states, rows;
  int run;           /* rows after which the state changes */
  double missing;    /* share of the values */
  const int *levels; /* [items] */
  const double *cut; /* between the levels, the same for all items */
} state_rows;

/* state [rows] and x [rows] rows of levels, from a simulated model that the caller frees. */
static inline void draw_states(const state_rows *how, uint64_t seed, blica_model **truth, int32_t *state, int8_t *x) {
  blica_simulate_options o = blica_simulate_options_default();
  bl_rng rng = bl_rng_make(seed, 5);
  const int n = o.variables = how->items, k = o.sources = how->sources;
  o.segments = how->states, o.samples = 10, o.seed = seed;
  assert_int_equal(blica_simulate(ctx, &o, truth, NULL, NULL), BLICA_OK);
  for (int t = 0; t < how->rows; t++) {
    const blica_model *m = *truth;
    const int s = state[t] = t / how->run * 2 % how->states;
    double z[8];
    for (int j = 0; j < k; j++) z[j] = m->means[j + s * k] + sqrt(m->variances[j + s * k]) * bl_rng_normal(&rng);
    for (int i = 0; i < n; i++) {
      double q = bl_rng_normal(&rng) / sqrt(m->link);
      int8_t level = 0;
      for (int j = 0; j < k; j++) q += m->mixing[i + j * n] * z[j];
      for (int c = 0; c < how->levels[i] - 1; c++) level = (int8_t)(level + (q > how->cut[c]));
      x[t * n + i] = bl_rng_uniform(&rng) < how->missing ? BLICA_MISSING : level;
    }
  }
}

#endif
