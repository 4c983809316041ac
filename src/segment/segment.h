/* segment.h - the parts of a call of blica_segment, in the order in which they build on each other; what they see of
 * the rows is in series.h. */
#ifndef BL_SEGMENT_H
#define BL_SEGMENT_H

#include "files/stage.h"
#include "segment/series.h"

/* ---- a Markov chain of hidden states: probabilities of states given the steps, and the best path (chain.c) ---- */

typedef struct {
  int states;
  double *initial;    /* [S] */
  double *transition; /* S rows of S: from row to column */
} bl_chain;

/* Forward and backward pass. p holds P(step | state) up to a factor per step, steps rows of S; probability gets
 * P(state of a step | all steps), and flow (S rows of S) the expected number of moves. Returns the log-likelihood less
 * the logarithms of the factors; -infinity when the steps are impossible. work: 3 S doubles. */
double bl_chain_pass(const bl_chain *chain, int64_t steps, const double *p, double *probability, double *flow,
                     double *work);

/* Transitions from expected moves. A state is left with probability at most most_leave; with forward, only for the
 * next one. */
void bl_chain_learn(bl_chain *chain, const double *probability_first, const double *flow, double most_leave,
                    bool forward);

/* The most probable path in which no state lasts less than `least` steps (at most steps). log_p is steps rows of S;
 * sum holds S (steps + 1) doubles, best for S steps doubles, from for S steps. */
void bl_chain_best(const bl_chain *chain, int64_t steps, const double *log_p, int64_t least, double *sum, double *best,
                   int16_t *from, int32_t *state);

/* ---- states (chain.c), learned by expectation-maximisation (em.c) ---- */

/* States: the expected pair counts of each, and the chain by which they follow each other. */
typedef struct {
  int states;
  size_t cells;
  int64_t bin;  /* rows per step of the chain */
  double *stat; /* [S,cells] */
  bl_chain chain;
  double loglik; /* of the rows, at the parameters before the last M-step */
} bl_states;

/* Data and options that all runs share. */
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

/* Replaces log P of a step that is impossible in a state. */
#define BL_LEAST_LOG (-600.0)

/* Zeros, with a log-likelihood of -infinity; bl_free frees them. */
blica_status bl_states_make(blica_ctx *ctx, size_t cells, int states, bl_states **out);
blica_status bl_states_copy(blica_ctx *ctx, const bl_states *from, bl_states **out); /* a deep copy */
/* Copies states of the same number and cells. */
void bl_states_assign(bl_states *to, const bl_states *from);

/* What a checkpoint stores: states, and the number of rounds until then. */
typedef struct {
  bl_states *states;
  bl_em *em;
} bl_states_kept;
void bl_states_pass(bl_serializer *io, void *kept /* a bl_states_kept */);

/* Polls for an interrupt or the deadline. */
bool bl_em_over(blica_ctx *ctx, bl_em *em);

/* One E-step with log P(pattern | state) given: new statistics and transitions. probability (steps rows of S) may be
 * NULL. */
blica_status bl_em_expect(blica_ctx *ctx, bl_em *em, const double *log_p, bl_states *states, double *probability);
/* Rounds with states that follow from their own counts, until the log-likelihood grows by less than `gain` or rounds
 * are over. */
blica_status bl_em_run(blica_ctx *ctx, bl_em *em, int rounds, double gain, bl_states *states);
/* Turns states of steps of several rows into states of single rows. */
void bl_states_to_rows(bl_states *states);

/* States of a first clustering: runs of rows by k-means of their scores' means and products or, when states never
 * return, pieces of equal length. */
blica_status bl_em_start(blica_ctx *ctx, const bl_em *em, int states, int64_t bin, uint64_t seed, uint64_t stream,
                         bl_states **out);
/* Merges the two states that differ least (neighbours, when states never return). */
blica_status bl_em_merge(blica_ctx *ctx, bl_em *em, const bl_states *from, bl_states **out);

/* log P of each step from those of patterns: steps rows of S. */
void bl_em_steps(const bl_series *series, int64_t bin, int states, const double *log_p, double *step);

/* ---- the best states for every number of them, from many to few (search.c) ---- */

typedef struct {
  int most;         /* best[S] for S from 1 to most */
  bl_states **best; /* [most+1] by number of states; NULL: not found */
  int64_t bin;      /* rows per step */
} bl_search;

/* Searches from more states than `most` down to one, from `starts` clusterings, and keeps the best of each number.
 * `least`: the smallest number of states that is wanted. */
blica_status bl_search_run(blica_ctx *ctx, bl_em *em, const blica_segment_options *options, int least, int most,
                           bl_search *search);
void bl_search_free(bl_search *search);

/* Log-likelihood less half of (parameters x log rows). parameters: of all states' emissions together. */
double bl_search_score(const bl_series *series, const bl_states *states, double loglik, double parameters);

/* ---- the number of states by held-out rows (search.c) ---- */

/* Takes *states, the number that a first search of all rows asks for, to the fewest states that predict held-out rows
 * as well as any number up to `most`, within one standard error. trials [count] gets the held-out log-likelihoods of
 * the numbers that came into question. A run that is stopped leaves *states as it is. */
blica_status bl_choose_states(blica_ctx *ctx, bl_em *em, const blica_segment_options *options, int most, int count,
                              blica_segment_trial *trials, int *states);

/* ---- one number of states refined, and what the caller gets (candidate.c) ---- */

typedef struct {
  const blica_data *data;
  const blica_segment_options *options;
} bl_segment;

/* States refined to single rows. */
typedef struct {
  bl_states *states;
  size_t size;
  double *log_p; /* patterns rows of S, of the last E-step */
  double score;  /* as bl_search_score, of the model */
} bl_candidate;

/* The best result of rounds that begin at these states. */
blica_status bl_candidate_make(blica_ctx *ctx, const bl_segment *g, bl_em *em, const bl_states *from,
                               bl_candidate **out);
void bl_candidate_free(bl_candidate *candidate);

/* The model of the states' expected counts. */
blica_status bl_segment_fit(blica_ctx *ctx, const bl_segment *g, bl_em *em, const bl_states *x, blica_model **model);

/* Fills lag, lag_z and draws_per_run of a result that has its states (runs.c). */
blica_status bl_run_dependence(blica_ctx *ctx, const blica_data *data, blica_segmentation *result);

/* Sequence, probabilities and moves; x gets its states in the order of their first appearance. */
blica_status bl_segment_result(blica_ctx *ctx, bl_em *em, bl_states **x, const double *log_p,
                               blica_segmentation *result);

#endif
