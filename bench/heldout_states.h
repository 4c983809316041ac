/* heldout_states.h - the number of states by held-out blocks of rows, to compare with the BIC rule of blica_segment. */
#ifndef BENCH_HELDOUT_STATES_H
#define BENCH_HELDOUT_STATES_H

#include "blica.h"

typedef struct {
  int best;       /* states with the largest held-out log-likelihood */
  int within_one; /* the fewest within one standard error of it, by differences of blocks */
} heldout_choice;

/* Runs the search of blica_segment once for each fold, on the rows outside the fold's blocks. Numbers from 1 to
 * options->max_states are compared; their log-likelihoods go to standard output. */
blica_status heldout_states(blica_ctx *ctx, const blica_data *data, const blica_segment_options *options, int folds,
                            heldout_choice *choice);

#endif
