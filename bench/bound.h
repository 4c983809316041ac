/* bound.h - the error of the mixing matrix that no unbiased method can beat, at a given model. */
#ifndef BL_BOUND_H
#define BL_BOUND_H

#include "base/base.h"

/* Expected 1 - MCS of an efficient estimator; infinite where the mixing matrix is not determined. */
typedef struct {
  double full;  /* from all rows */
  double pairs; /* from the 2x2 tables of all pairs */
  double
      full_prior; /* the same with normal priors on the elements of A and on log v that have the model's own scales */
  double pairs_prior;
} bl_bound;

/* For samples[s] rows in segment s. The seed is that of the simulated rows that serve where patterns are too many. */
blica_status bl_bound_at(blica_ctx *ctx, const blica_model *model, uint64_t seed, bl_bound *bound);

#endif
