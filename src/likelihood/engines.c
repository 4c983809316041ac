/* likelihood_engines.c - one task of the likelihood by grid, lattice or expectation propagation. */
#include "likelihood/engines.h"

#include <math.h>
#include <string.h>

#include "model/model.h"
#include "num/rectangles/ep.h"

const char *blica_engine_name(blica_engine engine) {
  static const char *const names[] = {"auto", "grid", "lattice", "ep"};
  return (unsigned)engine < sizeof names / sizeof *names ? names[engine] : "unknown";
}

void bl_loading_covariance(int n, int k, const double *loading, double *cov) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = i == j;
      for (int l = 0; l < k; l++) sum += loading[i * k + l] * loading[j * k + l];
      cov[(size_t)i * n + j] = cov[(size_t)j * n + i] = sum;
    }
}

blica_status bl_workspace_make(blica_ctx *ctx, const bl_likelihood *l, bl_workspace **out) {
  blica_status status = BLICA_OK;
  bl_workspace *workspace = NULL;
  size_t n = (size_t)l->n, k = (size_t)l->k, edges = (size_t)l->patterns->cuts,
         grid = bl_grid_work(l->n, (int)edges, l->k), ep = bl_ep_work(l->n, l->k);
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &workspace));
  TRY(bl_alloc_for(ctx, workspace, n, &workspace->mean));
  TRY(bl_alloc_for(ctx, workspace, n * k, &workspace->loading));
  TRY(bl_alloc_for(ctx, workspace, edges, &workspace->edge));
  TRY(bl_alloc_for(ctx, workspace, BL_TASK_ROWS, &workspace->log_p));
  TRY(bl_alloc_for(ctx, workspace, BL_TASK_ROWS, &workspace->weight));
  TRY(bl_alloc_for(ctx, workspace, BL_TASK_ROWS, &workspace->row));
  if (l->engine == BLICA_ENGINE_LATTICE) {
    TRY(bl_alloc_for(ctx, workspace, n * n, &workspace->cov));
    TRY(bl_alloc_for(ctx, workspace, n * n, &workspace->g_cov));
    TRY(bl_mvn_work_make(ctx, l->n, (int)edges, l->points, BL_TASK_ROWS, &workspace->lattice));
  }
  TRY(bl_alloc_for(ctx, workspace, grid > ep ? grid : ep, &workspace->engine));
  if (l->engine == BLICA_ENGINE_EP) TRY(bl_workspace_scores(ctx, l, workspace)); /* its gradient is a sum of scores */
done:
  if (status != BLICA_OK) {
    bl_workspace_free(workspace);
    workspace = NULL;
  }
  *out = workspace;
  return status;
}

blica_status bl_workspace_scores(blica_ctx *ctx, const bl_likelihood *l, bl_workspace *workspace) {
  size_t n = (size_t)l->n, k = (size_t)l->k, count = BL_TASK_ROWS;
  if (workspace->score) return BLICA_OK;
  MUST(bl_alloc_for(ctx, workspace, bl_mul(count, k), &workspace->first));
  MUST(bl_alloc_for(ctx, workspace, bl_mul(count, k * k), &workspace->second));
  if (l->patterns->ordinal) MUST(bl_alloc_for(ctx, workspace, bl_mul(count, n), &workspace->upper));
  MUST(bl_alloc_for(ctx, workspace, bl_mul(count, n * (1 + k)), &workspace->score));
  return BLICA_OK;
}

void bl_workspace_free(bl_workspace *workspace) {
  if (!workspace) return;
  bl_free(workspace->lattice);
  bl_free(workspace);
}

/* Sampled log P of the rows of a task and, if wanted, the gradient. */
static bool run_lattice(const bl_mvn_tree *tree, const bl_task_rows *t, int k, const bl_intervals *levels,
                        const bl_accuracy *accuracy, int segment, blica_simd level, bl_want *want,
                        bl_workspace *workspace) {
  /* each segment has a shift of its own, so that errors of segments do not add up */
  const uint64_t stream = accuracy->shift << 32 | (uint64_t)(uint32_t)segment;
  int n = tree->n;
  bl_loading_covariance(n, k, workspace->loading, workspace->cov);
  bl_mvn_result result = {.weight = want->weight,
                          .log_p = workspace->log_p,
                          .g_mean = want->g_mean,
                          .g_cov = workspace->g_cov,
                          .g_edge = want->g_edge};
  if (!bl_mvn_lattice(tree, workspace->mean, workspace->cov, levels, t->low, t->high, accuracy->points, accuracy->seed,
                      stream, level, workspace->lattice, &result))
    return false;
  if (want->weight) {
    memset(want->g_loading, 0, sizeof(double) * (size_t)(n * k));
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        for (int l = 0; l < k; l++)
          want->g_loading[i * k + l] += 2.0 * workspace->g_cov[i * n + j] * workspace->loading[j * k + l];
  }
  return true;
}

/* Integrated log P of the rows of a task and, if wanted, the gradient. */
static bool run_grid(const bl_mvn_tree *tree, const bl_task_rows *t, int k, const bl_intervals *levels,
                     const double *band, const bl_accuracy *accuracy, blica_simd level, bl_want *want,
                     bl_workspace *workspace) {
  int64_t count = t->high - t->low;
  bl_grid grid = {.n = tree->n,
                  .k = k,
                  .mean = workspace->mean,
                  .loading = workspace->loading,
                  .count = count,
                  .x = tree->x + t->low * tree->n,
                  .levels = *levels,
                  .p = workspace->log_p,
                  .g_mean = want->g_mean,
                  .g_loading = want->g_loading,
                  .g_edge = want->g_edge,
                  .work = workspace->engine};
  if (want->weight) {
    for (int64_t r = 0; r < count; r++) workspace->weight[r] = want->weight[tree->row[t->low + r]];
    grid.weight = workspace->weight;
  }
  if (want->scores) grid.score = workspace->score, grid.upper = workspace->upper;
  bl_grid_plan(&grid, band, accuracy->grid_error);
  grid.shift = accuracy->shift % 2 ? 0.5 : 0.0;
  for (int l = 0; l < k; l++)
    if (!isfinite(grid.spacing[l]) || grid.spacing[l] < 1e-4) return false; /* loadings beyond anything data can tell */
  bl_grid_run(&grid, level);
  for (int64_t r = 0; r < count; r++) workspace->log_p[r] = log(workspace->log_p[r]);
  return true;
}

/* The gradient of all rows of a task from the scores of each. */
static void sum_scores(const bl_group *g, const bl_task_rows *t, int k, const bl_want *want,
                       const bl_workspace *workspace) {
  const int n = g->n, size = n * (1 + k);
  memset(want->g_mean, 0, sizeof(double) * (size_t)n);
  memset(want->g_loading, 0, sizeof(double) * (size_t)(n * k));
  if (want->g_edge) memset(want->g_edge, 0, sizeof(double) * (size_t)g->first[n]);
  for (int64_t r = 0; r < t->high - t->low; r++)
    for (int i = 0; i < n; i++) {
      const double *own = workspace->score + r * size + i * (1 + k);
      double weight = want->weight[t->low + r];
      want->g_mean[i] += weight * own[0];
      for (int l = 0; l < k; l++) want->g_loading[i * k + l] += weight * own[1 + l];
      if (!want->g_edge) continue;
      const int level = g->x[(t->low + r) * n + i], upper = g->first[i] + level;
      const double above = workspace->upper[r * n + i];
      if (upper < g->first[i + 1]) want->g_edge[upper] += weight * above;
      if (level > 0) want->g_edge[upper - 1] -= weight * (own[0] + above);
    }
}

/* Approximate log P of the rows of a task and, if wanted, the gradient or the scores. */
static bool run_ep(const bl_group *g, const bl_task_rows *t, int k, const bl_intervals *levels, blica_simd level,
                   bl_want *want, bl_workspace *workspace) {
  int64_t count = t->high - t->low;
  bl_ep ep = {.n = g->n,
              .k = k,
              .mean = workspace->mean,
              .loading = workspace->loading,
              .count = count,
              .x = g->x + t->low * g->n,
              .levels = *levels,
              .log_p = workspace->log_p,
              .work = workspace->engine};
  if (want->scores || want->weight) {
    ep.score = workspace->score;
    ep.first = workspace->first;
    ep.second = workspace->second;
    ep.upper = workspace->upper;
  }
  bl_ep_run(&ep, level);
  if (want->weight) sum_scores(g, t, k, want, workspace);
  return true;
}

static const double *cuts_in(const bl_params *p, int s) {
  return p->freed ? bl_cuts_in(p->freed, s) : p->cuts;
}

/* Mean, counted from the first cut, and loading of the variables of a group in segment s. */
void bl_group_parameters(const bl_group *g, int s, const bl_params *p, double *mean, double *loading) {
  const double root = sqrt(p->link), *cuts = cuts_in(p, s);
  const double *mixing = p->freed ? bl_mixing_in(p->freed, s) : p->mixing;
  for (int i = 0; i < g->n; i++) {
    double sum = 0.0;
    for (int l = 0; l < p->k; l++) {
      double a = mixing[g->variable[i] + (size_t)l * p->n];
      sum += a * p->means[l + (size_t)s * p->k];
      loading[i * p->k + l] = root * a * sqrt(p->variances[l + (size_t)s * p->k]);
    }
    mean[i] = root * sum - (cuts ? cuts[g->cut[i]] : 0.0);
  }
}

bl_intervals bl_group_intervals(const bl_group *g, int s, const bl_params *p, double *edge) {
  const double *cuts = cuts_in(p, s);
  for (int i = 0; g->first && i < g->n; i++)
    for (int e = 0; e < g->first[i + 1] - g->first[i]; e++)
      edge[g->first[i] + e] = cuts[g->cut[i] + e] - cuts[g->cut[i]];
  return (bl_intervals){g->first, edge};
}

bool bl_engine_run(bl_likelihood *l, const bl_task_rows *t, const bl_params *params, const bl_accuracy *accuracy,
                   blica_simd level, bl_want *want, bl_workspace *workspace) {
  const bl_group *g = &l->patterns->group[t->group];
  const bl_mvn_tree *tree = l->tree[t->group];
  int64_t count = t->high - t->low;
  const bool propagated =
      l->engine == BLICA_ENGINE_EP || (want->scores && (!accuracy || l->engine != BLICA_ENGINE_GRID));
  bool ok;
  bl_group_parameters(g, l->segment[g->segment], params, workspace->mean, workspace->loading);
  const bl_intervals levels = bl_group_intervals(g, l->segment[g->segment], params, workspace->edge);
  for (int64_t r = 0; r < count; r++) workspace->row[r] = propagated ? t->low + r : tree->row[t->low + r];
  if (propagated)
    ok = run_ep(g, t, l->k, &levels, level, want, workspace);
  else if (l->engine == BLICA_ENGINE_LATTICE)
    ok = run_lattice(tree, t, l->k, &levels, accuracy, g->segment, level, want, workspace);
  else
    ok = run_grid(tree, t, l->k, &levels, l->band + t->group * BL_GRID_SOURCES, accuracy, level, want, workspace);
  if (!ok) return false;
  want->value = 0.0;
  for (int64_t r = 0; r < count; r++) {
    if (want->log_p) want->log_p[workspace->row[r]] = workspace->log_p[r];
    if (want->weight) want->value += want->weight[workspace->row[r]] * workspace->log_p[r];
  }
  return true;
}
