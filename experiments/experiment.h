/* experiment.h - the tables and figures of section 6 of the paper, and what levels add to them, one function each. */
#ifndef EXPERIMENT_H
#define EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "blica_ranks.h"

typedef struct {
  int low, high;
} range;

enum { EXPERIMENT_MESSAGE = 1024 };

typedef struct {
  blica_ctx *ctx;
  const blica_comm *comm; /* processes that share the runs; NULL: alone. The first writes. */
  const char *out;        /* folder, which is there */
  int quick;
  int threads;
  int datasets; /* per cell; 0: the experiment's own */
  int starts;
  double max_seconds;        /* per fit */
  range variables, segments; /* table1, identifiability, levels */
  range samples;             /* finite-sample: per segment, those of its sizes that lie in here */
  int sources;               /* 0: as many as variables */
  const char *methods;       /* "blica,ivae"; NULL: all */
  int draw_only;             /* no runs: figures of what the CSV holds */
  bool (*stop)(void);
  void (*note)(const char *text);
  void (*progress)(const char *stage, double fraction);
  char message[EXPERIMENT_MESSAGE]; /* of a failure */
} experiment;

typedef struct {
  const char *name, *summary;
  blica_status (*run)(experiment *e); /* on failure the reason stands in e->message */
  bool shared;                        /* else the first process does it alone */
} experiment_entry;

extern const experiment_entry experiments[]; /* the last has no name */

blica_status experiment_table1(experiment *e);          /* Table 1 */
blica_status experiment_identifiability(experiment *e); /* Figure 3 */
blica_status experiment_finite_sample(experiment *e);   /* Figure 4 */
blica_status experiment_scalability(experiment *e);     /* Figure 5 */
blica_status experiment_indeterminacy(experiment *e);   /* Figure 2 and Theorem 1 */
blica_status experiment_levels(experiment *e);          /* what a third level adds */

/* ---- for the experiments themselves ---- */

/* Writes the message into e and returns the status. */
blica_status fail_experiment(experiment *e, blica_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* DIR/name into path. */
blica_status experiment_path(experiment *e, const char *name, char *path, size_t size);
/* Writes through print into DIR/name, whole or not at all. */
struct figure;
blica_status experiment_figure(experiment *e, struct figure *f, const char *name); /* saves and frees */

/* Where Table 1 marks a cell: statistics cover the unknowns, and with one segment or one variable fewer they do not. */
bool minimal_case(blica_ctx *ctx, int n, int k, int u, bool square);
int64_t surplus_of(blica_ctx *ctx, int n, int k, int u); /* statistics less unknowns; -1 for impossible sizes */

#endif
