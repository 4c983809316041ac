/* emission.c - log P(row | state).
 *
 * Tables: the latent variables of a state are normal with the state's tetrachoric correlations (or those of a model),
 * and the probabilities of all 2^m patterns of m items are computed at once by Plackett's reduction with few nodes; a
 * row with missing values has the sum over its completions. Up to TABLE_ITEMS items make one table. More are cut into
 * blocks in two ways, and a row has the geometric mean of the two products of its blocks' probabilities: correlations
 * between items that share a block in neither way are left out. That is enough to find states by their counts; under a
 * model with more items the likelihood's engines take over: the grid over the sources where it is cheap, else
 * expectation propagation. When an item has more than two levels there are no tables: states that are known by their
 * counts have the approximation of level_scores.c, a model that of the engines.
 *
 * Accuracy of the table: on models of the paper's simulator the mean of |error of log P| over rows is 1e-8 for n up to
 * 6 and 2.5e-5 (n = 8) to 1e-4 (n = 10) beyond, the largest for a pattern with P > 1e-5 is 5e-2. Smaller
 * probabilities than FLOOR are lifted to it. Expectation propagation lacks 0.01 to 0.03 per row in log P at n = k = 5
 * and 8 (largest error 0.08), nearly the same in all states: it changes 0.01 to 0.6 % of the labels
 * (bench/results/segment.md). */
#include "segment/series.h"

#include <math.h>
#include <string.h>

#include "likelihood/likelihood.h"
#include "num/linear/eigen.h"
#include "num/rectangles/mvn.h"
#include "num/normal/normal.h"
#include "num/rectangles/plackett.h"
#include "num/normal/tetra.h"

enum { TABLE_ITEMS = 10, BLOCK_ITEMS = 8, WAYS = 2 };
#define PRIOR_ROWS 4.0 /* rows of the pooled counts in each state's */
#define FLOOR 1e-9
#define GRID_ERROR 1e-17      /* of a probability */
#define LOG_SMALLEST (-700.0) /* in place of a log P that expectation propagation could not give */

typedef struct {
  int n;
  int item[TABLE_ITEMS];
  uint16_t *code, *absent; /* [patterns] bits of the items that are 1, and that are missing */
} block;

/* One thread's. */
typedef struct {
  double mean[TABLE_ITEMS], cov[TABLE_ITEMS * TABLE_ITEMS];
  double *scratch, *table;                     /* eigenvalues; three times [2^m] */
  bl_plackett_work *plackett[TABLE_ITEMS + 1]; /* by number of items */
  double *levels;                              /* workspace of level_scores.c */
} workspace;

struct bl_emission {
  const bl_series *series;
  int ways, blocks;
  block *block;
  bl_mvn_tree *all[TABLE_ITEMS + 1]; /* the 2^m patterns of m items */
  int threads;
  workspace *workspace; /* [threads] */
  bl_patterns *levels;  /* patterns as levels, numbered as those of the series; NULL: all items have two */
  /* under a model, of one state after the other */
  blica_engine engine;
  int sources;
  bl_likelihood *likelihood; /* for so many sources; NULL: by tables, or not made yet */
  double *cut, *mean, *own;  /* [n], [sources] zeros, [patterns] log P */
};

int bl_emission_parameters(const bl_emission *e) {
  int pairs = 0;
  if (e->levels) return e->series->n + e->series->items * (e->series->items - 1) / 2;
  for (int b = 0; b < e->blocks; b++) pairs += e->block[b].n * (e->block[b].n - 1) / 2;
  return e->series->n + pairs / e->ways;
}

bool bl_emission_exact(const bl_emission *e) {
  return e->blocks == 1;
}

blica_engine bl_emission_engine(const bl_emission *e) {
  return bl_emission_exact(e) ? BLICA_ENGINE_EXACT : e->engine;
}

/* ---- blocks of items ---- */

static double phi_of(const bl_emission *e, int i, int j) {
  double share[4];
  bl_series_table(e->series, 1, e->series->pooled, 0, 1, i < j ? i : j, i < j ? j : i, share);
  double a = share[0] + share[1], b = share[0] + share[2];
  return fabs(share[0] - a * b) / sqrt(a * (1 - a) * b * (1 - b) + 1e-12);
}

/* The first way: each block begins with the next free item and takes those that correlate most with its members. */
static void join_similar(const bl_emission *e, int blocks, int *where) {
  const int n = e->series->n;
  for (int i = 0; i < n; i++) where[i] = -1;
  for (int b = 0, placed = 0; b < blocks; b++) {
    const int size = (int)((int64_t)n * (b + 1) / blocks) - placed;
    for (int m = 0; m < size; m++, placed++) {
      int pick = -1;
      double most = -1;
      for (int i = 0; i < n; i++) {
        double sum = 0;
        if (where[i] >= 0) continue;
        for (int j = 0; j < n; j++)
          if (where[j] == b) sum += phi_of(e, i, j);
        if (sum > most) most = sum, pick = i;
      }
      where[pick] = b;
    }
  }
}

/* The second way: the members of each first block go to different blocks. */
static void part_similar(const bl_emission *e, int blocks, const int *first, int *where) {
  int next = 0;
  for (int b = 0; b < blocks; b++)
    for (int i = 0; i < e->series->n; i++)
      if (first[i] == b) where[i] = next++ % blocks;
}

static void add_blocks(bl_emission *e, int blocks, const int *where) {
  block *to = e->block + e->blocks;
  for (int i = 0; i < e->series->n; i++) to[where[i]].item[to[where[i]].n++] = i;
  e->blocks += blocks;
  e->ways++;
}

static blica_status choose_blocks(blica_ctx *ctx, bl_emission *e) {
  const int n = e->series->n, blocks = n <= TABLE_ITEMS ? 1 : (n + BLOCK_ITEMS - 1) / BLOCK_ITEMS;
  BL_OWNED int *where = NULL, *other = NULL;
  MUST(bl_alloc(ctx, (size_t)n, &where));
  MUST(bl_alloc(ctx, (size_t)n, &other));
  MUST(bl_alloc_for(ctx, e, (size_t)(WAYS * blocks), &e->block));
  if (blocks > 1) join_similar(e, blocks, where);
  add_blocks(e, blocks, where);
  if (blocks > 1) {
    part_similar(e, blocks, where, other);
    add_blocks(e, blocks, other);
  }
  return BLICA_OK;
}

/* Every pattern as bits of the block's items. */
static blica_status code_patterns(blica_ctx *ctx, bl_emission *e, block *b) {
  const bl_patterns *m = e->series->patterns;
  MUST(bl_alloc_for(ctx, e, (size_t)m->count, &b->code));
  MUST(bl_alloc_for(ctx, e, (size_t)m->count, &b->absent));
  for (int g = 0; g < m->groups; g++) {
    const bl_group *group = &m->group[g];
    for (int i = 0; i < b->n; i++) {
      int column = 0;
      while (column < group->n && group->variable[column] != b->item[i]) column++;
      for (int64_t p = 0; p < group->count; p++) {
        uint16_t bit = (uint16_t)(1u << i);
        if (column == group->n)
          b->absent[group->offset + p] |= bit;
        else if (group->x[p * group->n + column])
          b->code[group->offset + p] |= bit;
      }
    }
  }
  return BLICA_OK;
}

/* ---- making ---- */

static blica_status make_tree(blica_ctx *ctx, int n, bl_mvn_tree **out) {
  BL_OWNED uint8_t *x = NULL;
  int order[TABLE_ITEMS];
  MUST(bl_alloc(ctx, (size_t)n << n, &x));
  for (int i = 0; i < n; i++) order[i] = i;
  for (int64_t c = 0; c < (int64_t)1 << n; c++)
    for (int i = 0; i < n; i++) x[c * n + i] = c >> i & 1;
  MUST(bl_mvn_tree_make(ctx, n, order, (int64_t)1 << n, x, out));
  return BLICA_OK;
}

static blica_status make_workspace(blica_ctx *ctx, const bl_emission *e, workspace *r) {
  MUST(bl_alloc_for(ctx, e->workspace, TABLE_ITEMS * TABLE_ITEMS + bl_eigen_work(TABLE_ITEMS), &r->scratch));
  MUST(bl_alloc_for(ctx, e->workspace, (size_t)3 << TABLE_ITEMS, &r->table));
  if (e->levels) MUST(bl_alloc_for(ctx, e->workspace, bl_level_scores_work(e->series), &r->levels));
  for (int m = 1; m <= TABLE_ITEMS; m++)
    if (e->all[m]) MUST(bl_plackett_work_make(ctx, m, false, &r->plackett[m]));
  return BLICA_OK;
}

/* The same keys in the same order as those of the series, read as levels. */
static blica_status make_levels(blica_ctx *ctx, const blica_data *data, bl_emission *e) {
  if (!bl_coding_ordinal(e->series->coding)) return BLICA_OK;
  return bl_patterns_make(ctx, data, e->series->items, e->series->coding, NULL, true, &e->levels);
}

blica_status bl_emission_make(blica_ctx *ctx, const blica_data *data, const bl_series *series, bl_emission **out) {
  blica_status status;
  bl_emission *e = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &e));
  e->series = series;
  e->engine = BLICA_ENGINE_EP;
  TRY(make_levels(ctx, data, e));
  if (!e->levels) TRY(choose_blocks(ctx, e));
  for (int b = 0; b < e->blocks; b++) {
    const int m = e->block[b].n;
    TRY(code_patterns(ctx, e, &e->block[b]));
    if (!e->all[m]) TRY(make_tree(ctx, m, &e->all[m]));
  }
  e->threads = bl_max_threads(ctx);
  TRY(bl_alloc_for(ctx, e, (size_t)e->threads, &e->workspace));
  for (int t = 0; t < e->threads; t++) TRY(make_workspace(ctx, e, &e->workspace[t]));
  *out = bl_take(&e);
done:
  bl_emission_free(e);
  return status;
}

void bl_emission_free(bl_emission *e) {
  if (!e) return;
  for (int m = 1; m <= TABLE_ITEMS; m++) {
    for (int t = 0; e->workspace && t < e->threads; t++) bl_free(e->workspace[t].plackett[m]);
    bl_free(e->all[m]);
  }
  bl_likelihood_free(e->likelihood); /* it borrows the patterns */
  bl_patterns_free(e->levels);
  bl_free(e->mean);
  bl_free(e);
}

/* ---- tables ---- */

static int nodes_for(int n) {
  return n <= 6 ? 5 : 3;
}

/* P(x) of all patterns of n items into r->table and their logarithms behind it, with r->mean and r->cov. */
static void fill_table(const bl_emission *e, int n, workspace *r, blica_simd level) {
  const int64_t count = (int64_t)1 << n;
  double *log_table = r->table + count, *sorted = r->table + 2 * count;
  bl_mvn_result result = {.log_p = sorted};
  bool ok = n == 1 || bl_plackett(e->all[n], r->mean, r->cov, 0, count, nodes_for(n), level, r->plackett[n], &result);
  for (int64_t c = 0; c < count; c++) {
    int64_t to = e->all[n]->row[c];
    double log_p = n == 1 ? bl_phi_log_cdf(to ? r->mean[0] : -r->mean[0]) : ok ? sorted[c] : 0;
    log_table[to] = fmax(log_p, log(FLOOR));
    r->table[to] = exp(log_table[to]);
  }
}

/* Sum over the completions of a pattern. */
static double complete(const double *table, uint32_t code, uint32_t absent) {
  double sum = 0;
  for (uint32_t sub = absent;; sub = (sub - 1) & absent) {
    sum += table[code | sub];
    if (!sub) return sum;
  }
}

/* Adds the block's log P, in equal shares of the ways. */
static void add_block(const bl_emission *e, const block *b, const workspace *r, int states, int s, double *log_p) {
  const double share = 1.0 / e->ways, *log_table = r->table + ((size_t)1 << b->n);
  for (int64_t p = 0; p < e->series->patterns->count; p++) {
    double value = b->absent[p] ? log(complete(r->table, b->code[p], b->absent[p])) : log_table[b->code[p]];
    log_p[p * states + s] += share * value;
  }
}

typedef struct {
  bl_emission *e;
  int states;
  const double *stat;
  const blica_model *model;
  blica_simd level;
  double *log_p;
} job;

static void latent_from_counts(const job *j, const block *items, int s, workspace *r) {
  const bl_series *x = j->e->series;
  const int n = items->n;
  for (int b = 0; b < n; b++) {
    r->mean[b] = bl_latent_quantile(bl_series_share(x, j->states, j->stat, s, PRIOR_ROWS, items->item[b]));
    r->cov[b + b * n] = 1;
    for (int a = 0; a < b; a++) {
      double share[4];
      bl_series_table(x, j->states, j->stat, s, PRIOR_ROWS, items->item[a], items->item[b], share);
      double rho =
          bl_tetra_root(bl_latent_quantile(share[0] + share[1]), bl_latent_quantile(share[0] + share[2]), share);
      rho = rho > 0.99 ? 0.99 : rho < -0.99 ? -0.99 : rho;
      r->cov[a + b * n] = r->cov[b + a * n] = rho;
    }
  }
  bl_latent_condition(n, r->cov, r->scratch);
}

static double bounded_threshold(const blica_model *m, int i, int s) {
  return fmax(-5, fmin(5, m->thresholds[i + (size_t)s * (size_t)m->n]));
}

/* Covariance I + B B', with the state's own thresholds. */
static void latent_from_model(const blica_model *m, int s, double *mean, double *cov) {
  const int n = m->n;
  for (int b = 0; b < n; b++)
    for (int a = 0; a <= b; a++) {
      double sum = a == b;
      for (int l = 0; l < m->k; l++)
        sum += m->link * m->mixing[a + l * n] * m->mixing[b + l * n] * m->variances[l + s * m->k];
      cov[a + b * n] = cov[b + a * n] = sum;
    }
  for (int i = 0; i < n; i++) mean[i] = bounded_threshold(m, i, s) * sqrt(cov[i + i * n]);
}

static void table_task(int64_t s, int thread, void *user) {
  const job *j = user;
  const bl_emission *e = j->e;
  workspace *r = &e->workspace[thread];
  if (e->levels) {
    bl_level_scores(e->series, e->levels, j->states, j->stat, (int)s, PRIOR_ROWS, r->levels, j->log_p);
    return;
  }
  for (int64_t p = 0; p < e->series->patterns->count; p++) j->log_p[p * j->states + s] = 0;
  for (int b = 0; b < e->blocks; b++) {
    if (j->model)
      latent_from_model(j->model, (int)s, r->mean, r->cov);
    else
      latent_from_counts(j, &e->block[b], (int)s, r);
    fill_table(e, e->block[b].n, r, j->level);
    add_block(e, &e->block[b], r, j->states, (int)s, j->log_p);
  }
}

blica_status bl_emission_counts(blica_ctx *ctx, bl_emission *e, int states, const double *stat, double *log_p) {
  job j = {.e = e, .states = states, .stat = stat, .level = blica_simd_level(ctx), .log_p = log_p};
  bl_parallel(ctx, states, table_task, &j);
  return BLICA_OK;
}

/* ---- by the likelihood's engines under a model ---- */

/* For so many sources. */
static blica_status make_likelihood(blica_ctx *ctx, bl_emission *e, int k) {
  static const int segment[] = {0};
  const bl_series *x = e->series;
  if (e->likelihood && e->sources == k) return BLICA_OK;
  bl_likelihood_free(e->likelihood);
  bl_free(e->mean);
  e->likelihood = NULL, e->mean = NULL, e->sources = k;
  MUST(bl_likelihood_engine(ctx, BLICA_ENGINE_AUTO, x->items, k, e->levels != NULL, &e->engine));
  if (e->engine != BLICA_ENGINE_GRID) e->engine = BLICA_ENGINE_EP;
  MUST(bl_alloc(ctx, (size_t)k, &e->mean));
  if (!e->cut) MUST(bl_alloc_for(ctx, e, (size_t)x->n, &e->cut));
  if (!e->own) MUST(bl_alloc_for(ctx, e, (size_t)x->patterns->count, &e->own));
  MUST(bl_likelihood_make(ctx, e->levels ? e->levels : x->patterns, segment, x->items, k, 1, e->engine, BL_MVN_BLOCK,
                          &e->likelihood));
  return BLICA_OK;
}

/* Cuts that give the items the thresholds of the state's counts, when the sources have mean 0. */
static void cuts_of_state(const bl_emission *e, const blica_model *m, int s) {
  for (int i = 0; i < m->n; i++) {
    const int first = bl_plane(e->series->coding, i), count = bl_plane(e->series->coding, i + 1) - first;
    double square = 1;
    for (int l = 0; l < m->k; l++) {
      double a = m->mixing[i + (size_t)l * (size_t)m->n];
      square += m->link * a * a * m->variances[l + s * m->k];
    }
    bl_latent_cuts(count, m->thresholds + first + (size_t)s * (size_t)m->planes, sqrt(square), e->cut + first);
  }
}

blica_status bl_emission_model(blica_ctx *ctx, bl_emission *e, const blica_model *m, double *log_p) {
  const bl_accuracy accuracy = {.grid_error = GRID_ERROR};
  if (bl_emission_exact(e)) {
    job j = {.e = e, .states = m->u, .model = m, .level = blica_simd_level(ctx), .log_p = log_p};
    bl_parallel(ctx, m->u, table_task, &j);
    return BLICA_OK;
  }
  MUST(make_likelihood(ctx, e, m->k));
  for (int s = 0; s < m->u; s++) {
    cuts_of_state(e, m, s);
    const bl_params params = {m->n, m->k, 1, m->link, m->mixing, m->variances + s * m->k, e->mean, e->cut, NULL};
    MUST(bl_likelihood_order(ctx, e->likelihood, &params));
    MUST(bl_likelihood_values(ctx, e->likelihood, &params, &accuracy, e->own));
    for (int64_t p = 0; p < e->series->patterns->count; p++)
      log_p[p * m->u + s] = e->own[p] > LOG_SMALLEST ? e->own[p] : LOG_SMALLEST; /* not a number, too */
  }
  return BLICA_OK;
}
