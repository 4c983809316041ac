/* em.h - hidden states learned by expectation-maximisation, and the way from many states to few. */
#ifndef BL_EM_H
#define BL_EM_H

#include "files/stage.h"
#include "segment/chain.h"
#include "segment/emission.h"

/* What the states are known by: the expected pair counts of each, and how they follow each other. */
typedef struct {
  int states;
  size_t cells;
  int64_t bin;  /* rows per step of the chain */
  double *stat; /* [S,cells] */
  bl_chain chain;
  double loglik; /* of the rows, at the parameters before the last M-step */
} bl_states;

/* What is the same for all runs. */
typedef struct {
  const bl_series *series;
  bl_emission *emission;
  int64_t min_length;
  bool forward;    /* states never return */
  double deadline; /* of the monotonic clock */
  bool stopped;    /* the user or the clock said stop: runs make one round only */
  blica_stop stop; /* why */
  int64_t rounds;  /* in all */
  blica_progress progress;
  bl_stage stage; /* of the whole call */
} bl_em;

/* Zeros, with a log-likelihood of -infinity; bl_free frees them. */
blica_status bl_states_make(blica_ctx *ctx, size_t cells, int states, bl_states **out);
blica_status bl_states_copy(blica_ctx *ctx, const bl_states *from, bl_states **out); /* a deep copy */
/* Between states of the same number and cells. */
void bl_states_assign(bl_states *to, const bl_states *from);

/* For checkpoints: states, and the number of rounds until then. */
typedef struct {
  bl_states *states;
  bl_em *em;
} bl_states_kept;
void bl_states_pass(bl_state *state, void *kept /* a bl_states_kept */);

/* Polls for an interrupt or the deadline. */
bool bl_em_over(blica_ctx *ctx, bl_em *em);

/* One E-step with log P(pattern | state) given: new statistics and transitions. probability (steps rows of S) may be
 * NULL. */
blica_status bl_em_expect(blica_ctx *ctx, bl_em *em, const double *log_p, bl_states *states, double *probability);
/* Rounds with states that follow from their own counts, until the log-likelihood grows by less than `gain` or rounds
 * are over. */
blica_status bl_em_run(blica_ctx *ctx, bl_em *em, int rounds, double gain, bl_states *states);
/* From steps of several rows to single rows. */
void bl_states_to_rows(bl_states *states);

/* States of a first clustering: runs of rows by k-means of their scores' means and products or, when states never
 * return, pieces of equal length. */
blica_status bl_em_start(blica_ctx *ctx, const bl_em *em, int states, int64_t bin, uint64_t seed, uint64_t stream,
                         bl_states **out);
/* Merges the two states that differ least (neighbours, when states never return). */
blica_status bl_em_merge(blica_ctx *ctx, bl_em *em, const bl_states *from, bl_states **out);

/* log P of each step from those of patterns: steps rows of S. */
void bl_em_steps(const bl_series *series, int64_t bin, int states, const double *log_p, double *step);

#endif
