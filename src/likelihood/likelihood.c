/* likelihood.c - tasks of the full likelihood: which patterns, in which thread's workspace, and how the results of the
 * engines become derivatives in A, log v and mu.
 *
 * Given the parameters, Y = mean + B z + e with B = sqrt(c) A V^1/2, mean = sqrt(c) A mu - cuts, z and e standard
 * normal, and x_i = 1 iff Y_i > 0 (section 3 of the paper with the sign of q turned). An item with more levels has more
 * cuts; its mean counts from the first of them. Missing values drop out with their rows of B and mean. */
#include "likelihood/likelihood.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "likelihood/engines.h"

#define LEFT_OUT INFINITY /* in place of a task's log-likelihood: the user or the clock said stop */
blica_status bl_tasks_make(blica_ctx *ctx, void *owner, const bl_patterns *patterns, int64_t rows, bl_task_rows **task,
                           int64_t *tasks) {
  *tasks = 0;
  for (int g = 0; g < patterns->groups; g++) *tasks += (patterns->group[g].count + rows - 1) / rows;
  MUST(bl_alloc_for(ctx, owner, (size_t)*tasks, task));
  bl_task_rows *t = *task;
  for (int g = 0; g < patterns->groups; g++)
    for (int64_t low = 0, all = patterns->group[g].count; low < all; low += rows)
      *t++ = (bl_task_rows){.group = g, .low = low, .high = low + rows < all ? low + rows : all};
  return BLICA_OK;
}

blica_status bl_likelihood_make(blica_ctx *ctx, const bl_patterns *patterns, const int *segment, int n, int k, int u,
                                blica_engine engine, int points, bl_likelihood **out) {
  blica_status status = BLICA_OK;
  bl_likelihood *l = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &l));
  l->patterns = patterns;
  l->segment = segment;
  l->n = n, l->k = k, l->u = u;
  l->engine = engine;
  l->points = points;
  TRY(bl_tasks_make(ctx, l, patterns, BL_TASK_ROWS, &l->task, &l->tasks));
  TRY(bl_alloc_for(ctx, l, (size_t)l->tasks, &l->value));
  TRY(bl_split_make(ctx, l->tasks, &l->split));
  TRY(bl_alloc_for(ctx, l, (size_t)patterns->groups, &l->tree));
  TRY(bl_alloc_for(ctx, l, (size_t)patterns->groups * BL_GRID_SOURCES, &l->band));
  TRY(bl_alloc_for(ctx, l, bl_mul((size_t)l->tasks, bl_likelihood_stride(l)), &l->gradient));
  l->threads = bl_max_threads(ctx);
  TRY(bl_alloc_for(ctx, l, (size_t)l->threads, &l->workspace));
  for (int t = 0; t < l->threads; t++) TRY(bl_workspace_make(ctx, l, &l->workspace[t]));
  *out = bl_take(&l);
done:
  bl_likelihood_free(l);
  return status;
}

void bl_likelihood_free(bl_likelihood *l) {
  if (!l) return;
  for (int t = 0; l->workspace && t < l->threads; t++) bl_workspace_free(l->workspace[t]);
  for (int g = 0; l->tree && g < l->patterns->groups; g++) bl_free(l->tree[g]);
  bl_split_free(&l->split);
  bl_free(l);
}

bl_params bl_model_params(const blica_model *m) {
  return (bl_params){m->n, m->k, m->u, m->link, m->mixing, m->variances, m->means, m->cuts, m->own_cuts ? m : NULL};
}

blica_status bl_likelihood_order(blica_ctx *ctx, bl_likelihood *l, const bl_params *params) {
  bl_workspace *workspace = l->workspace[0];
  for (int g = 0; g < l->patterns->groups; g++) {
    const bl_group *group = &l->patterns->group[g];
    int order[BL_MVN_MAX];
    bl_free(l->tree[g]);
    l->tree[g] = NULL;
    if (l->engine == BLICA_ENGINE_EP) continue;
    bl_group_parameters(group, l->segment[group->segment], params, workspace->mean, workspace->loading);
    if (l->engine == BLICA_ENGINE_LATTICE) {
      bl_loading_covariance(group->n, params->k, workspace->loading, workspace->cov);
      bl_mvn_order(group->n, workspace->cov, order);
    } else {
      for (int i = 0; i < group->n; i++) order[i] = i;
      bl_grid_band(group->n, params->k, workspace->loading, l->band + g * BL_GRID_SOURCES);
    }
    MUST(bl_mvn_tree_make(ctx, group->n, order, group->count, group->x, &l->tree[g]));
  }
  return BLICA_OK;
}

/* What the parallel loops share. */
typedef struct {
  blica_ctx *ctx;
  bl_likelihood *l;
  const bl_params *params;
  const bl_accuracy *accuracy;
  blica_simd level;
  double *log_p;
  bl_scores_fn consumer;
  void *user;
} sweep;

static void values_task(int64_t item, int thread, void *user) {
  sweep *w = user;
  bl_likelihood *l = w->l;
  bl_task_rows *t = &l->task[item];
  bl_want want = {.log_p = w->log_p + l->patterns->group[t->group].offset};
  if (bl_loop_stopped(w->ctx, thread)) return;
  t->ok = bl_engine_run(l, t, w->params, w->accuracy, w->level, &want, l->workspace[thread]);
}

/* Fails on an interrupt, or if a task failed; the tasks of other ranks count as done well. */
static blica_status check_tasks(blica_ctx *ctx, const bl_likelihood *l) {
  const bl_loop_poll *loop_poll = bl_loop_poll_of(ctx);
  if (loop_poll && loop_poll->armed && loop_poll->stopped) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted");
  for (int64_t t = 0; t < l->tasks; t++)
    if (!l->task[t].ok)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "the covariance of the latent variables in segment %d is not positive definite",
                     l->patterns->group[l->task[t].group].segment + 1);
  return BLICA_OK;
}

static blica_status agree_on_tasks(blica_ctx *ctx, const bl_likelihood *l) {
  bl_loop_poll *loop_poll = bl_loop_poll_of(ctx);
  blica_status status = bl_agree(ctx, check_tasks(ctx, l));
  if (status == BLICA_ERR_INTERRUPTED && loop_poll)
    atomic_store(&loop_poll->stopped, true); /* it may have been another rank's */
  return status;
}

blica_status bl_likelihood_values(blica_ctx *ctx, bl_likelihood *l, const bl_params *params,
                                  const bl_accuracy *accuracy, double *log_p) {
  sweep w = {
      .ctx = ctx, .l = l, .params = params, .accuracy = accuracy, .level = blica_simd_level(ctx), .log_p = log_p};
  memset(log_p, 0, sizeof(double) * (size_t)l->patterns->count);
  for (int64_t t = 0; t < l->tasks; t++) l->task[t].ok = true;
  bl_split_run(ctx, &l->split, values_task, &w);
  blica_status status = agree_on_tasks(ctx, l);
  return status == BLICA_OK ? bl_sum_disjoint(ctx, log_p, (size_t)l->patterns->count) : status;
}

static void gradient_task(int64_t item, int thread, void *user) {
  sweep *w = user;
  bl_likelihood *l = w->l;
  bl_task_rows *t = &l->task[item];
  const bl_group *g = &l->patterns->group[t->group];
  double *own = l->gradient + (size_t)item * bl_likelihood_stride(l);
  bl_want want = {.weight = g->weight, .g_mean = own, .g_loading = own + l->n};
  if (l->patterns->ordinal) want.g_edge = own + l->n * (1 + l->k);
  l->value[item] = LEFT_OUT;
  if (bl_loop_stopped(w->ctx, thread)) return;
  t->ok = bl_engine_run(l, t, w->params, w->accuracy, w->level, &want, l->workspace[thread]);
  l->value[item] = t->ok ? want.value : NAN;
}

/* Adds the gradient of some rows of a group, in mean [n], loading (n rows of k) and, with more than two levels, edges,
 * to that in the parameters. */
static void add_gradient(const bl_group *g, int segment, const bl_params *p, const double *own, const double *loading,
                         const double *edge, double *g_mixing, double *g_log_variance, double *g_mean, double *g_cut) {
  size_t s = (size_t)segment;
  int k = p->k;
  double root = sqrt(p->link);
  for (int i = 0; g_cut && !g->first && i < g->n; i++) g_cut[g->cut[i]] -= own[i];
  for (int i = 0; g_cut && g->first && i < g->n; i++)
    for (int e = g->first[i]; e < g->first[i + 1]; e++) g_cut[g->cut[i] + e - g->first[i]] += edge[e];
  for (int i = 0; i < g->n; i++)
    for (int j = 0; j < k; j++) {
      size_t at = (size_t)g->variable[i] + (size_t)j * p->n;
      double a = p->mixing[at], scale = root * sqrt(p->variances[j + s * k]), gb = loading[i * k + j];
      g_mixing[at] += scale * gb + root * own[i] * p->means[j + s * k];
      g_log_variance[j + s * k] += 0.5 * gb * scale * a;
      g_mean[j + s * k] += root * own[i] * a;
    }
}

double bl_likelihood_gradient(blica_ctx *ctx, bl_likelihood *l, const bl_params *params, const bl_accuracy *accuracy,
                              double *g_mixing, double *g_log_variance, double *g_mean, double *g_cut) {
  sweep w = {.ctx = ctx, .l = l, .params = params, .accuracy = accuracy, .level = blica_simd_level(ctx)};
  size_t local = (size_t)l->k * (size_t)l->u;
  memset(g_mixing, 0, sizeof(double) * (size_t)l->n * (size_t)l->k);
  memset(g_log_variance, 0, sizeof(double) * local);
  memset(g_mean, 0, sizeof(double) * local);
  if (g_cut) memset(g_cut, 0, sizeof(double) * (size_t)l->patterns->cuts);
  bl_split_run(ctx, &l->split, gradient_task, &w);
  const bl_places lists[] = {{l->value, 1}, {l->gradient, bl_likelihood_stride(l)}};
  if (bl_split_exchange(ctx, &l->split, 2, lists, NULL) != BLICA_OK) return NAN;
  double value = 0.0;
  for (int64_t t = 0; t < l->tasks; t++)
    if (l->value[t] == LEFT_OUT) {
      bl_loop_poll *loop_poll = bl_loop_poll_of(ctx);
      if (loop_poll) atomic_store(&loop_poll->stopped, true); /* it may have been another rank's */
      return NAN;
    }
  for (int64_t t = 0; t < l->tasks; t++) {
    const bl_group *g = &l->patterns->group[l->task[t].group];
    const double *own = l->gradient + (size_t)t * bl_likelihood_stride(l);
    value += l->value[t];
    add_gradient(g, l->segment[g->segment], params, own, own + l->n, own + l->n * (1 + l->k), g_mixing, g_log_variance,
                 g_mean, g_cut);
  }
  return value;
}

/* Computes the scores of the rows of a task and passes them on. */
static void scores_of(sweep *w, bl_task_rows *t, int thread) {
  if (bl_loop_stopped(w->ctx, thread)) return;
  bl_likelihood *l = w->l;
  bl_workspace *workspace = l->workspace[thread];
  bl_want want = {.scores = true};
  t->ok = bl_engine_run(l, t, w->params, w->accuracy, w->level, &want, workspace);
  if (!t->ok) return;
  bl_scores scores = {.group = &l->patterns->group[t->group],
                      .k = l->k,
                      .loading = workspace->loading,
                      .count = t->high - t->low,
                      .row = workspace->row,
                      .log_p = workspace->log_p,
                      .score = workspace->score,
                      .upper = workspace->upper};
  w->consumer(&scores, thread, w->user);
}

static void scores_task(int64_t item, int thread, void *user) {
  sweep *w = user;
  scores_of(w, &w->l->task[item], thread);
}

/* All tasks of one segment of the data. */
static void segment_scores_task(int64_t item, int thread, void *user) {
  sweep *w = user;
  bl_likelihood *l = w->l;
  for (int64_t at = 0; at < l->tasks; at++)
    if (l->patterns->group[l->task[at].group].segment == item) scores_of(w, &l->task[at], thread);
}

blica_status bl_likelihood_scores(blica_ctx *ctx, bl_likelihood *l, const bl_params *params,
                                  const bl_accuracy *accuracy, const bl_split *segments, bl_scores_fn consumer,
                                  void *user) {
  blica_status status = BLICA_OK;
  sweep w = {.ctx = ctx,
             .l = l,
             .params = params,
             .accuracy = accuracy,
             .level = blica_simd_level(ctx),
             .consumer = consumer,
             .user = user};
  for (int t = 0; t < l->threads; t++) TRY(bl_workspace_scores(ctx, l, l->workspace[t]));
  for (int64_t t = 0; t < l->tasks; t++) l->task[t].ok = true;
  bl_split_run(ctx, segments ? segments : &l->split, segments ? segment_scores_task : scores_task, &w);
  status = agree_on_tasks(ctx, l);
done:
  return status;
}
