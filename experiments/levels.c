/* levels.c - what a third level adds: counts, ranks and recovered models for each number of variables and segments,
 * errors from samples, and two variables, whose models two levels cannot tell apart. */
#include "levels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/outfile.h"

const int level_counts[LEVEL_COUNTS] = {2, 3, 5, 4};
const sampled_size sampled_sizes[SAMPLED_SIZES] = {{3, 100}, {3, 1000}, {6, 100}, {6, 1000}};

static const double recovered_below = 1e-6; /* 1 - MCS of a fit to exact probabilities */

static run exact_run(const experiment *e, const level_cell *c) {
  return (run){.n = c->n,
               .k = c->k,
               .u = c->u,
               .levels = c->levels,
               .method = "auto",
               .condition = BLICA_CONDITION_DEFAULT,
               .starts = e->starts};
}

run levels_sampled_run(const experiment *e, const sampled_size *size, int levels) {
  return (run){.n = size->n,
               .k = size->n,
               .u = SAMPLED_SEGMENTS,
               .samples = size->samples,
               .levels = levels,
               .method = "auto",
               .condition = BLICA_CONDITION_DEFAULT,
               .starts = e->starts};
}

/* Adds the run once for each seed. */
static blica_status add_seeds(experiment *e, runs *r, run one, int seeds) {
  blica_status status = BLICA_OK;
  for (int m = 1; m <= seeds && status == BLICA_OK; m++) {
    one.seed = (uint64_t)m;
    status = runs_add(e, r, &one);
  }
  return status;
}

static blica_status plan(experiment *e, const level_cell *cells, int count, int models, runs *r) {
  blica_status status = BLICA_OK;
  for (int i = 0; i < count && status == BLICA_OK; i++) status = add_seeds(e, r, exact_run(e, &cells[i]), models);
  for (int z = 0; z < SAMPLED_SIZES; z++)
    for (int l = 0; l < SHOWN_COUNTS && status == BLICA_OK; l++)
      status = add_seeds(e, r, levels_sampled_run(e, &sampled_sizes[z], level_counts[l]), models);
  return status;
}

/* ---- counts and ranks ---- */

static blica_status rank_of(experiment *e, level_cell *c, uint64_t seed) {
  blica_simulate_options options = blica_simulate_options_default();
  blica_model *model = NULL;
  blica_identification *found = NULL;
  options.variables = c->n, options.sources = c->k, options.segments = c->u, options.levels = c->levels;
  options.seed = seed;
  blica_status status = blica_simulate(e->ctx, &options, &model, NULL, NULL);
  if (status == BLICA_OK) status = blica_identify(e->ctx, model, &found);
  if (status == BLICA_OK) {
    int open = (int)(found->parameters - found->rank);
    if (c->models == 0 || open < c->open_least) c->open_least = open;
    if (open > c->open_most) c->open_most = open;
    c->models++;
    c->full += open == 0;
  }
  blica_identification_free(found);
  blica_model_free(model);
  return status == BLICA_OK ? status : fail_experiment(e, status, "%s", blica_message(e->ctx));
}

static blica_status count_cell(experiment *e, level_cell *c, int models) {
  blica_status status =
      blica_identify_count(e->ctx, c->n, c->k, c->u, c->levels > 2 ? c->n : 0, &c->statistics, &c->unknowns);
  if (status != BLICA_OK) return fail_experiment(e, status, "%s", blica_message(e->ctx));
  for (int m = 1; m <= models && status == BLICA_OK; m++) {
    if (e->stop()) return fail_experiment(e, BLICA_ERR_INTERRUPTED, "interrupted");
    status = rank_of(e, c, (uint64_t)m);
  }
  return status;
}

/* All sizes that exist: sources not above variables. Returns how many, -1 without memory. */
static int list_cells(const experiment *e, level_cell **out) {
  int columns = e->variables.high - e->variables.low + 1, rows = e->segments.high - e->segments.low + 1, count = 0;
  *out = calloc((size_t)columns * (size_t)rows * LEVEL_COUNTS, sizeof **out);
  if (!*out) return -1;
  for (int l = 0; l < LEVEL_COUNTS; l++)
    for (int u = e->segments.low; u <= e->segments.high; u++)
      for (int n = e->variables.low > 1 ? e->variables.low : EXACT_LEAST; n <= e->variables.high; n++) {
        int k = e->sources ? e->sources : n;
        if (k <= n) (*out)[count++] = (level_cell){.n = n, .k = k, .u = u, .levels = level_counts[l]};
      }
  return count;
}

static double error_of(const run *r) {
  return r->error;
}

static void score_fits(const experiment *e, const runs *r, level_cell *c, double *values) {
  run like = exact_run(e, c);
  c->fits = runs_select(r, &like, error_of, values);
  for (int i = 0; i < c->fits; i++) c->recovered += values[i] < recovered_below;
}

static blica_status save_cells(experiment *e, const level_cell *cells, int count) {
  char path[4096];
  bl_outfile file;
  blica_status status = experiment_path(e, "levels-cells.csv", path, sizeof path);
  if (status != BLICA_OK) return status;
  if (!bl_outfile_open(&file, path))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  fputs("variables,sources,segments,levels,statistics,unknowns,surplus,models,full_rank,open_least,open_most,fits,"
        "recovered\n",
        file.stream);
  for (int i = 0; i < count; i++) {
    const level_cell *c = &cells[i];
    fprintf(file.stream, "%d,%d,%d,%d,%lld,%lld,%lld,%d,%d,%d,%d,%d,%d\n", c->n, c->k, c->u, c->levels,
            (long long)c->statistics, (long long)c->unknowns, (long long)(c->statistics - c->unknowns), c->models,
            c->full, c->open_least, c->open_most, c->fits, c->recovered);
  }
  if (!bl_outfile_commit(&file))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  return BLICA_OK;
}

/* ---- all of it ---- */

static void note_results(experiment *e, const level_cell *cells, int count, const two_variables *two) {
  char text[512];
  for (int l = 0; l < LEVEL_COUNTS; l++) {
    int full = 0, models = 0, recovered = 0, all = 0;
    for (int i = 0; i < count; i++) {
      if (cells[i].levels != level_counts[l]) continue;
      full += cells[i].full, models += cells[i].models;
      if (cells[i].full == cells[i].models) recovered += cells[i].recovered, all += cells[i].fits;
    }
    snprintf(text, sizeof text,
             "%d levels: full rank in %d of %d models; of the sizes where all have it, %d of %d models are recovered",
             level_counts[l], full, models, recovered, all);
    e->note(text);
  }
  for (int x = 0; x < TWIN_EXAMPLES; x++) {
    const twin_table *t = two->twins[x];
    snprintf(text, sizeof text,
             "%s: probabilities differ by at most %.2g with 2 levels, by up to %.3f with 3, %.3f with 5", t[0].name,
             t[0].difference, t[1].difference, t[2].difference);
    e->note(text);
  }
}

static blica_status run_all(experiment *e, level_cell *cells, int count, int models, runs *r, two_variables *two) {
  blica_status status = plan(e, cells, count, models, r);
  if (status == BLICA_OK) status = runs_do(e, r, "levels.csv");
  if (status != BLICA_OK || (e->comm && e->comm->rank > 0)) return status;
  for (int i = 0; i < count && status == BLICA_OK; i++) {
    status = count_cell(e, &cells[i], models);
    e->progress("ranks", (i + 1.0) / count);
  }
  if (status == BLICA_OK) status = levels_two_variables(e, models, two);
  return status;
}

blica_status experiment_levels(experiment *e) {
  runs r = {0};
  two_variables two = {0};
  level_cell *cells = NULL;
  double *values = NULL;
  int models = e->datasets ? e->datasets : e->quick ? 3 : 30, count = list_cells(e, &cells);
  blica_status status = count < 0 ? BLICA_ERR_MEMORY : run_all(e, cells, count, models, &r, &two);
  if (status == BLICA_OK && !(values = malloc(((size_t)r.count + 1) * sizeof *values))) status = BLICA_ERR_MEMORY;
  if (status == BLICA_ERR_MEMORY) fail_experiment(e, status, "out of memory");
  if (status == BLICA_OK && (!e->comm || e->comm->rank == 0)) {
    for (int i = 0; i < count; i++) score_fits(e, &r, &cells[i], values);
    status = save_cells(e, cells, count);
    note_results(e, cells, count, &two);
    if (status == BLICA_OK) status = experiment_figure(e, levels_figure(e, cells, count, &r, &two, values), "levels");
  }
  free(values);
  free(cells);
  runs_free(&r);
  return status;
}
