/* runs.h - many fits, in parallel, with a CSV that remembers them. */
#ifndef RUNS_H
#define RUNS_H

#include "experiment.h"

/* One data set and one fit to it. The upper part says what to do and identifies the row. */
typedef struct {
  uint64_t seed; /* of the data set and of the fit */
  int n, k, u;
  int64_t samples; /* per segment; 0: exact pair probabilities, fitted without priors */
  int levels;      /* of every variable */
  char method[16];
  double condition; /* as in blica_fit_options */
  int starts;

  int owner; /* process that does it */
  bool done;
  double mcs;
  double error; /* 1 - MCS without cancellation, so that it can be far below 1e-16 */
  double objective;
  int best_start;
  int64_t iterations;
  double seconds, seconds_count, seconds_correlate, seconds_regularise, seconds_optimise;
  double seconds_near; /* of the best start: until within 1 of its final objective */
  char stop[16];
} run;

typedef struct {
  run *list;
  int count, capacity;
} runs;

blica_status runs_add(experiment *e, runs *r, const run *what); /* appends a copy of the run */
/* Does those that are not yet in DIR/name, and leaves all rows there in the order of the list; rows of the file that
 * are not in the list are kept behind. After an interrupt what was finished stands in the file. */
blica_status runs_do(experiment *e, runs *r, const char *name);
void runs_free(runs *r);

/* Values of finished runs that match; returns how many were put into out (room for all). */
typedef double (*run_value)(const run *r);
/* Of the runs that are like this one but for the seed. */
int runs_select(const runs *r, const run *like, run_value value, double *out);
bool same_run_but_seed(const run *a, const run *b); /* whether all that identifies them but the seed is equal */

#endif
