/* chain.h - a Markov chain of hidden states: probabilities of the states given the steps, and the best path. */
#ifndef BL_CHAIN_H
#define BL_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
