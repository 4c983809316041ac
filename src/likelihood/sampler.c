/* sampler.c - the gradient of the full likelihood by Gibbs sampling.
 *
 * Every distinct row has a chain of its own over the latent q = mean + B z + e, confined to the intervals of its
 * observed levels, with the sources integrated out (num/rectangles/gibbs.h). Chains go on from call to call: when
 * parameters move slowly they stay near their distribution. Rows come in tasks that do not depend on the number of
 * threads and ranks; random numbers depend on the row and the sweep alone, sums run over tasks in their order: same
 * bits for any number of threads and ranks. Checked against exact gradients in tests/unit/num/test_gibbs.c. */
#include "likelihood/sampler.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "likelihood/engines.h"
#include "num/linear/blas.h"
#include "num/rectangles/gibbs.h"

enum { TASK_ROWS = 512, ROUND_SWEEPS = 1 << 16 };

typedef struct {
  int group;
  int64_t low, high; /* patterns of the group */
  bl_gibbs_block *block;
  int64_t blocks;
  uint8_t *code;
  double *weight;
  size_t state; /* where its chains begin among all */
} chain_task;

/* One thread's workspace. */
typedef struct {
  double *mean, *loading, *precision, *low, *high, *first, *second, *edge, *sums, *work;
} chain_workspace;

struct bl_sampler {
  const bl_patterns *patterns;
  const int *segment;
  int n, k, u, levels;
  uint64_t seed;
  int64_t tasks;
  chain_task *task;
  bl_share share;
  size_t stride;    /* of a task's gradient: n (1+k), and with more than two levels its edges */
  double *gradient; /* [stride, tasks] */
  double *ended;    /* [tasks] 1: done, 0: left out, NaN: covariance not positive definite */
  double *state;    /* latent variables of all chains; this rank's are up to date */
  size_t size;      /* of state */
  int64_t *bound;   /* [ranks+1] which part is whose */
  int64_t sweep;    /* of the next call */
  int threads;
  chain_workspace *workspace;
  bool begun;
  /* of the running call */
  blica_ctx *ctx;
  const bl_params *params;
  int sweeps;
};

void bl_sampler_free(bl_sampler *s) {
  if (!s) return;
  bl_share_free(&s->share);
  bl_free(s);
}

static blica_status make_chains(blica_ctx *ctx, void *owner, const bl_group *g, double *q, chain_task *t) {
  size_t n = (size_t)g->n;
  MUST(bl_alloc_for(ctx, owner, (size_t)t->blocks, &t->block));
  MUST(bl_alloc_for(ctx, owner, (size_t)t->blocks * n * BL_GIBBS_ROWS, &t->code));
  MUST(bl_alloc_for(ctx, owner, (size_t)t->blocks * BL_GIBBS_ROWS, &t->weight));
  for (int64_t b = 0; b < t->blocks; b++) {
    int64_t first = t->low + b * BL_GIBBS_ROWS;
    size_t at = (size_t)b * n * BL_GIBBS_ROWS;
    t->block[b] = (bl_gibbs_block){.code = t->code + at,
                                   .q = q + at,
                                   .weight = t->weight + b * BL_GIBBS_ROWS,
                                   .row = (uint32_t)(g->offset + first)};
    for (int64_t r = first; r < first + BL_GIBBS_ROWS && r < t->high; r++) {
      t->weight[r - t->low] = g->weight[r];
      for (size_t i = 0; i < n; i++) t->code[at + i * BL_GIBBS_ROWS + (size_t)(r - first)] = g->x[(size_t)r * n + i];
    }
  }
  return BLICA_OK;
}

static blica_status make_workspace(blica_ctx *ctx, const bl_sampler *s, chain_workspace *r) {
  const size_t n = (size_t)s->n, k = (size_t)s->k, limits = n * (size_t)s->levels;
  const size_t edges = (size_t)s->patterns->cuts, ends = n * ((size_t)s->levels + 1);
  const size_t even = (n * (2 + k + 2 * n) + 2 * limits + edges + ends + 7) / 8 * 8; /* the work is aligned */
  MUST(bl_alloc_for(ctx, s->workspace, even + bl_gibbs_work(s->n), &r->mean));
  r->first = r->mean + n, r->loading = r->first + n, r->precision = r->loading + n * k;
  r->second = r->precision + n * n, r->low = r->second + n * n, r->high = r->low + limits;
  r->edge = r->high + limits, r->sums = r->edge + edges;
  r->work = r->mean + even;
  return BLICA_OK;
}

/* The most that an item has. */
static int most_levels(const bl_patterns *patterns) {
  int most = 2;
  for (int g = 0; g < patterns->groups && patterns->ordinal; g++)
    for (int i = 0; i < patterns->group[g].n; i++) {
      const int levels = patterns->group[g].first[i + 1] - patterns->group[g].first[i] + 1;
      most = levels > most ? levels : most;
    }
  return most;
}

static void list_tasks(bl_sampler *s) {
  int64_t at = 0;
  for (int g = 0; g < s->patterns->groups; g++)
    for (int64_t low = 0; low < s->patterns->group[g].count; low += TASK_ROWS) {
      int64_t high = low + TASK_ROWS;
      if (high > s->patterns->group[g].count) high = s->patterns->group[g].count;
      int64_t blocks = (high - low + BL_GIBBS_ROWS - 1) / BL_GIBBS_ROWS;
      s->task[at++] = (chain_task){.group = g, .low = low, .high = high, .blocks = blocks, .state = s->size};
      s->size += (size_t)blocks * (size_t)s->patterns->group[g].n * BL_GIBBS_ROWS;
    }
  for (int r = 0; r <= s->share.size; r++) {
    int64_t first = s->share.bound[r];
    s->bound[r] = (int64_t)(first < s->tasks ? s->task[first].state : s->size);
  }
}

blica_status bl_sampler_make(blica_ctx *ctx, const bl_patterns *patterns, const int *segment, int n, int k, int u,
                             uint64_t seed, bl_sampler **out) {
  blica_status status;
  bl_sampler *s = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &s));
  s->patterns = patterns, s->segment = segment, s->n = n, s->k = k, s->u = u, s->seed = seed;
  s->levels = most_levels(patterns);
  s->stride = (size_t)n * (1 + (size_t)k) + (patterns->ordinal ? (size_t)patterns->cuts : 0);
  for (int g = 0; g < patterns->groups; g++) s->tasks += (patterns->group[g].count + TASK_ROWS - 1) / TASK_ROWS;
  TRY(bl_alloc_for(ctx, s, (size_t)s->tasks, &s->task));
  TRY(bl_alloc_for(ctx, s, (size_t)s->tasks, &s->ended));
  TRY(bl_alloc_for(ctx, s, bl_mul((size_t)s->tasks, s->stride), &s->gradient));
  TRY(bl_share_make(ctx, s->tasks, &s->share));
  TRY(bl_alloc_for(ctx, s, (size_t)s->share.size + 1, &s->bound));
  list_tasks(s);
  TRY(bl_alloc_for(ctx, s, s->size, &s->state));
  for (int64_t t = s->share.first; t < s->share.last; t++)
    TRY(make_chains(ctx, s, &patterns->group[s->task[t].group], s->state + s->task[t].state, &s->task[t]));
  s->threads = bl_max_threads(ctx);
  TRY(bl_alloc_for(ctx, s, (size_t)s->threads, &s->workspace));
  for (int t = 0; t < s->threads; t++) TRY(make_workspace(ctx, s, &s->workspace[t]));
  bl_sampler_restart(s, 0);
  *out = bl_take(&s);
done:
  bl_sampler_free(s);
  return status;
}

void bl_sampler_restart(bl_sampler *s, int round) {
  s->begun = false;
  s->sweep = (int64_t)round * ROUND_SWEEPS;
}

blica_status bl_sampler_gather(blica_ctx *ctx, bl_sampler *s) {
  bl_share all = s->share;
  all.bound = s->bound;
  return bl_share_bytes(ctx, &all, s->state, sizeof(double));
}

void bl_sampler_pass(bl_state *state, bl_sampler *s) {
  bl_pass_flag(state, &s->begun);
  bl_pass_count(state, &s->sweep);
  bl_pass(state, s->state, sizeof(double) * s->size);
}

/* The law of a group's rows at the parameters; false when its covariance is not positive definite. */
static bool make_law(const bl_sampler *s, const bl_group *g, chain_workspace *r, bl_gibbs_law *law) {
  const int n = g->n, levels = s->levels;
  bl_group_parameters(g, s->segment[g->segment], s->params, r->mean, r->loading);
  bl_loading_covariance(n, s->k, r->loading, r->precision);
  if (bl_dpotrf('L', n, r->precision, n) != 0) return false;
  if (bl_dpotri('L', n, r->precision, n) != 0) return false;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) r->precision[i + j * n] = r->precision[j + i * n];
  const bl_intervals intervals = bl_group_intervals(g, s->params, r->edge);
  for (int i = 0; i < n; i++) {
    double *low = r->low + i * levels, *high = r->high + i * levels;
    const int first = bl_edge_of(&intervals, i), edges = bl_edge_of(&intervals, i + 1) - first;
    for (int l = 0; l < levels; l++) {
      low[l] = l == 0 ? -BL_GIBBS_INFINITY : l > edges ? 0 : g->first ? r->edge[first + l - 1] : 0;
      high[l] = l >= edges ? BL_GIBBS_INFINITY : g->first ? r->edge[first + l] : 0;
    }
  }
  *law = (bl_gibbs_law){.n = n,
                        .codes = levels,
                        .mean = r->mean,
                        .precision = r->precision,
                        .low = r->low,
                        .high = r->high,
                        .one_sided = !g->first,
                        .seed = s->seed};
  return true;
}

/* Nothing changes when an item's latent variable and its cuts are stretched together, from the first cut on: the
 * derivative in that scale is 0, mean first + (second M)_ii + sum of edges times their derivatives = 0. The diagonal
 * that follows replaces the sampled one, whose noise is many times larger than what the data say about scales. */
static void settle_scales(const bl_sampler *s, const bl_group *g, const chain_workspace *r) {
  const int n = g->n, k = s->k;
  for (int i = 0; i < n; i++) {
    const double *b = r->loading + i * k;
    double own = 1.0, sum = r->mean[i] * r->first[i];
    for (int e = 1; g->first && e < g->first[i + 1] - g->first[i]; e++)
      sum += r->edge[g->first[i] + e] * r->sums[i * (s->levels + 1) + e + 1];
    for (int l = 0; l < k; l++) own += b[l] * b[l];
    for (int j = 0; j < n; j++) {
      double cov = 0.0;
      for (int l = 0; l < k; l++) cov += b[l] * r->loading[j * k + l];
      if (j != i) sum += r->second[i * n + j] * cov;
    }
    r->second[i * n + i] = -sum / own;
  }
}

/* Derivatives in the edges of a group's items, from those in the ends of all codes. */
static void gather_edges(const bl_sampler *s, const bl_group *g, const chain_workspace *r, double *edge) {
  for (int i = 0; i < g->n; i++)
    for (int e = g->first[i]; e < g->first[i + 1]; e++)
      edge[e] = r->sums[i * (s->levels + 1) + e - g->first[i] + 1] / s->sweeps;
}

static void run_task(int64_t item, int thread, void *user) {
  bl_sampler *s = user;
  chain_task *t = &s->task[item];
  chain_workspace *r = &s->workspace[thread];
  const bl_group *g = &s->patterns->group[t->group];
  const int n = g->n, k = s->k;
  double *own = s->gradient + (size_t)item * s->stride, *g_loading = own + s->n;
  bl_gibbs_law law = {0};
  s->ended[item] = 0;
  if (bl_loop_stopped(s->ctx, thread)) return;
  s->ended[item] = make_law(s, g, r, &law) ? 1 : NAN;
  if (isnan(s->ended[item])) return;
  for (int64_t b = 0; b < t->blocks; b++) {
    t->block[b].sweep = (uint32_t)s->sweep;
    if (!s->begun) bl_gibbs_begin(&law, &t->block[b]);
  }
  bl_gibbs_run(blica_simd_level(s->ctx), &law, t->blocks, t->block, s->sweeps, r->work,
               &(bl_gibbs_sums){r->first, r->second, g->first ? r->sums : NULL});
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) /* each pair was estimated twice */
      r->second[i * n + j] = r->second[j * n + i] = 0.5 * (r->second[i * n + j] + r->second[j * n + i]);
  settle_scales(s, g, r);
  if (g->first) gather_edges(s, g, r, own + s->n * (1 + k));
  memset(g_loading, 0, sizeof(double) * (size_t)n * (size_t)k);
  for (int i = 0; i < n; i++) {
    own[i] = r->first[i] / s->sweeps;
    for (int j = 0; j < n; j++)
      for (int l = 0; l < k; l++) g_loading[i * k + l] += r->second[i * n + j] / s->sweeps * r->loading[j * k + l];
  }
}

blica_status bl_sampler_gradient(blica_ctx *ctx, bl_sampler *s, const bl_params *params, int sweeps, double *g_mixing,
                                 double *g_log_variance, double *g_mean, double *g_cut) {
  const size_t each = s->stride, local = (size_t)s->k * (size_t)s->u;
  s->ctx = ctx, s->params = params, s->sweeps = sweeps;
  bl_share_run(ctx, &s->share, run_task, s);
  s->begun = true;
  s->sweep += sweeps;
  const bl_places lists[] = {{s->ended, 1}, {s->gradient, each}};
  MUST(bl_share_exchange(ctx, &s->share, 2, lists, NULL));
  if (g_cut) memset(g_cut, 0, sizeof(double) * (size_t)s->patterns->cuts);
  memset(g_mixing, 0, sizeof(double) * (size_t)s->n * (size_t)s->k);
  memset(g_log_variance, 0, sizeof(double) * local);
  memset(g_mean, 0, sizeof(double) * local);
  for (int64_t t = 0; t < s->tasks; t++) {
    const bl_group *g = &s->patterns->group[s->task[t].group];
    const double *own = s->gradient + each * (size_t)t;
    if (s->ended[t] == 0) {
      bl_loop_poll *loop_poll = bl_loop_poll_of(ctx);
      if (loop_poll) atomic_store(&loop_poll->stopped, true); /* it may have been another rank's */
      return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted");
    }
    if (isnan(s->ended[t]))
      return bl_fail(ctx, BLICA_ERR_NUMERIC,
                     "the covariance of the latent variables in segment %d is not positive definite", g->segment + 1);
    bl_gradient_add(g, s->segment[g->segment], params, own, own + s->n, own + s->n * (1 + s->k), g_mixing,
                    g_log_variance, g_mean, g_cut);
  }
  return BLICA_OK;
}
