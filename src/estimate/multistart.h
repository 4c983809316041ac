/* multistart.h - the driver of every estimator: it runs the starts, polls, traces, says why each start ended, keeps
 * their ends in a checkpoint and takes the best.
 *
 * An estimator fills the first part of a bl_multistart. Its function `run` leads one start from its first point to its
 * end; all else about starts is here. Optimisers get the bl_start as their user pointer, bl_start_hook after each
 * iteration and, where evaluations are long, bl_start_unfinished after each evaluation. */
#ifndef BL_MULTISTART_H
#define BL_MULTISTART_H

#include "estimate/estimate.h"

typedef struct bl_start bl_start;
/* Work on one start. It fills theta and of the record: kind, objective, gradient, evaluations, stop; it adds to
 * start->iterations. */
typedef blica_status (*bl_start_fn)(bl_start *start);

typedef struct {
  const bl_problem *problem;
  bl_start_fn run;
  void *user;              /* what all starts share */
  int count;               /* starts */
  size_t size;             /* doubles of theta */
  double constant, factor; /* the objective is constant - factor times the value that is minimised */
  bool keep;               /* a checkpoint keeps the end of each start; else only what `run` keeps */
  int n, k; /* theta begins with the mixing matrix [n,k]: a start that reaches the end of the first start ends, too, as
               its duplicate. 0: starts run independently */
  /* set by bl_multistart_run: */
  bl_start *start; /* [count]; those that were not begun have no kind */
  bl_start *best;  /* one of them */
  double *points;  /* [size,count] */
} bl_multistart;

enum { BL_TRACE = 512 };

struct bl_start {
  blica_ctx *ctx;
  const bl_multistart *all;
  void *own; /* the state of `run` */
  int index;
  double *theta;      /* [size] */
  blica_start record; /* iterations and seconds are filled by the driver */
  bl_stage stage;     /* where a checkpoint keeps it */
  int64_t iterations; /* of all rounds that are over */
  bool interrupted, out_of_time;
  bool racing;            /* during `run` of all but the first, where duplicates are ended */
  bl_loop_poll loop_poll; /* set for the time of `run`; evaluations are left unfinished only once it is armed */
  double begun;
  int traced;
  double trace_seconds[BL_TRACE], trace_objective[BL_TRACE];
};

/* Runs the starts until all are over, the user interrupts or the time is over (the first is always begun), and records
 * them and the best in fit. On failure nothing is left to free but through bl_multistart_free. */
blica_status bl_multistart_run(blica_ctx *ctx, bl_multistart *all, blica_fit_report *fit);
/* More work on the best start, which becomes the recorded result; the records of the starts stay as compared. */
blica_status bl_multistart_continue(bl_multistart *all, bl_start_fn more, blica_fit_report *fit);
/* Continues the best start to its own end if it was ended as a duplicate; its record becomes that of its end. */
blica_status bl_multistart_end(bl_multistart *all, bl_start_fn more, blica_fit_report *fit);
void bl_multistart_free(bl_multistart *all);

/* A bl_iteration_hook with the bl_start as its user: traces, polls and ends duplicates of the first start. theta must
 * hold the present point. */
int bl_start_hook(int64_t iteration, double value, double gradient_max, void *user);
/* Polls with the progress as it was last set. */
void bl_start_poll(bl_start *start);
/* A bl_evaluation_check with the bl_start as its user: whether evaluations since the last poll were left unfinished. */
bool bl_start_unfinished(void *user);
/* Whether the user or the clock stopped it. */
bool bl_start_stopped(const bl_start *start);
/* Whether it is to do nothing more: it was stopped, or is a duplicate of the first start. */
bool bl_start_ended(const bl_start *start);
/* Why it ended: converged, interrupted, time, iterations or, with none of these, stalled. */
blica_stop bl_start_stop(const bl_start *start, bool converged);
/* Whether a row of sqrt(c) A V^1/2 is so large in some segment that it counts as infinite; its norm says how far
 * signals exceed the noise of the link. The log-variances [k] of segment s begin at log_v + s stride. */
bool bl_is_unbounded(int n, int k, int u, double link, const double *mixing, const double *log_v, size_t stride);
/* Sets the record's kind. */
void bl_start_set_kind(bl_start *start, const char *kind);

#endif
