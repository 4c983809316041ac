/* experiment.c - the list of experiments and what they share. */
#include "experiment.h"

#include <stdarg.h>
#include <stdio.h>

#include "draw.h"

const experiment_entry experiments[] = {
    {"table1", "Table 1: statistics less unknowns, with the rank of random models beside it", experiment_table1, false},
    {"identifiability", "Figure 3: which sizes can be identified, from exact pair probabilities",
     experiment_identifiability, true},
    {"finite-sample", "Figure 4: error against samples per segment, all methods", experiment_finite_sample, true},
    {"scalability", "Figure 5: error and running time against the number of variables", experiment_scalability, true},
    {"indeterminacy", "Figure 2, Theorem 1 and the causal direction: different models, same data",
     experiment_indeterminacy, false},
    {"levels", "what a third level adds: sizes that are identified, errors from samples, two variables",
     experiment_levels, true},
    {NULL, NULL, NULL, false},
};

blica_status fail_experiment(experiment *e, blica_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(e->message, sizeof e->message, format, args);
  va_end(args);
  return status;
}

blica_status experiment_path(experiment *e, const char *name, char *path, size_t size) {
  if ((size_t)snprintf(path, size, "%s/%s", e->out, name) < size) return BLICA_OK;
  return fail_experiment(e, BLICA_ERR_ARGUMENT, "the name of the folder is longer than %zu bytes", size);
}

blica_status experiment_figure(experiment *e, figure *f, const char *name) {
  bool ok = (e->comm && e->comm->rank > 0) || figure_save(f, e->out, name, e->message, sizeof e->message);
  figure_free(f);
  return ok ? BLICA_OK : BLICA_ERR_IO;
}

int64_t surplus_of(blica_ctx *ctx, int n, int k, int u) {
  int64_t statistics, unknowns;
  if (n < 1 || k < 1 || u < 1) return -1;
  if (blica_identify_count(ctx, n, k, u, 0, &statistics, &unknowns) != BLICA_OK) return -1;
  return statistics - unknowns;
}

bool minimal_case(blica_ctx *ctx, int n, int k, int u, bool square) {
  if (surplus_of(ctx, n, k, u) < 0) return false;
  return surplus_of(ctx, n, k, u - 1) < 0 || surplus_of(ctx, n - 1, square ? k - 1 : k, u) < 0;
}
