/* emission.c - log P(row | state).
 *
 * From counts: the formulas of level_scores.c. Items of two levels have tables of all their patterns: up to TABLE_ITEMS
 * items one table; more are cut into blocks in two ways, and a row has the geometric mean of the two products of its
 * blocks' probabilities: correlations between items that share a block in neither way are left out. A row with missing
 * values has the sum over its completions. That is enough to find states; under a model the likelihood's engines take
 * over: the grid over the sources where it is cheap, else expectation propagation, which lacks 0.01 to 0.03 per row in
 * log P at n = k = 5 and 8 (largest error 0.08), nearly the same in all states: it changes 0.01 to 0.6 % of the labels
 * (bench/results/segment.md). */
#include "segment/series.h"

#include <math.h>
#include <string.h>

#include "likelihood/likelihood.h"
#include "num/rectangles/grid.h"
#include "num/rectangles/mvn.h"

enum { TABLE_ITEMS = 10, BLOCK_ITEMS = 8, WAYS = 2 };
#define PRIOR_ROWS 4.0        /* rows of the pooled counts in each state's */
#define GRID_ERROR 1e-17      /* of a probability */
#define MOST_NODES 2e7        /* of a grid: loadings so steep that it needs more are left to expectation propagation */
#define LOG_SMALLEST (-700.0) /* in place of a log P that expectation propagation could not give */

typedef struct {
  int n;
  int item[TABLE_ITEMS];
  uint16_t *code, *absent; /* [patterns] bits of the items that are 1, and that are missing */
} block;

struct bl_emission {
  const bl_series *series;
  int ways, blocks;
  block *block;
  bl_patterns all; /* [blocks] groups: all patterns of a block's items, by their code */
  double *table;   /* [all patterns] of each thread: log P, then P */
  int threads;
  double *scores; /* [score_size] of each thread: workspace of level_scores.c */
  size_t score_size;
  bl_patterns *levels; /* patterns as levels, numbered as those of the series; NULL: all items have two */
  /* under a model, of one state after the other */
  blica_engine engine;
  int sources;
  bl_likelihood *likelihood; /* for this number of sources; NULL: not made yet */
  double *cut, *mean, *own;  /* [n], [sources] zeros, [patterns] log P */
};

int bl_emission_parameters(const bl_emission *e) {
  int pairs = 0;
  if (e->levels) return e->series->n + e->series->items * (e->series->items - 1) / 2;
  for (int b = 0; b < e->blocks; b++) pairs += e->block[b].n * (e->block[b].n - 1) / 2;
  return e->series->n + pairs / e->ways;
}

blica_engine bl_emission_engine(const bl_emission *e) {
  return e->engine;
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

/* All patterns of the items of each block: bit i of a code is item i. */
static blica_status list_codes(blica_ctx *ctx, bl_emission *e) {
  bl_patterns *all = &e->all;
  all->groups = e->blocks;
  MUST(bl_alloc_for(ctx, e, (size_t)e->blocks, &all->group));
  for (int b = 0; b < e->blocks; b++) {
    bl_group *g = &all->group[b];
    *g = (bl_group){.n = e->block[b].n, .variable = e->block[b].item, .count = INT64_C(1) << e->block[b].n};
    g->offset = all->count;
    all->count += g->count;
    MUST(bl_alloc_for(ctx, e, (size_t)g->n << g->n, &g->x));
    for (int64_t code = 0; code < g->count; code++)
      for (int i = 0; i < g->n; i++) g->x[code * g->n + i] = code >> i & 1;
  }
  return bl_alloc_for(ctx, e, bl_mul(2 * (size_t)all->count, (size_t)e->threads), &e->table);
}

/* Makes the patterns of the series once more, as levels; they have the same keys in the same order. */
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
  e->threads = bl_max_threads(ctx);
  e->score_size = bl_level_scores_work(series);
  TRY(bl_alloc_for(ctx, e, bl_mul(e->score_size, (size_t)e->threads), &e->scores));
  if (!e->levels) {
    TRY(choose_blocks(ctx, e));
    for (int b = 0; b < e->blocks; b++) TRY(code_patterns(ctx, e, &e->block[b]));
    TRY(list_codes(ctx, e));
  }
  *out = bl_take(&e);
done:
  bl_emission_free(e);
  return status;
}

void bl_emission_free(bl_emission *e) {
  if (!e) return;
  bl_likelihood_free(e->likelihood); /* it borrows the patterns */
  bl_patterns_free(e->levels);
  bl_free(e->mean);
  bl_free(e);
}

/* ---- tables ---- */

/* Sum over the completions of a pattern. */
static double sum_completions(const double *table, uint32_t code, uint32_t absent) {
  double sum = 0;
  for (uint32_t sub = absent;; sub = (sub - 1) & absent) {
    sum += table[code | sub];
    if (!sub) return sum;
  }
}

typedef struct {
  const bl_emission *e;
  int states;
  const double *stat;
  double *log_p;
} job;

/* log P of all patterns in state s from its counts. */
static void count_task(int64_t s, int thread, void *user) {
  const job *j = user;
  const bl_emission *e = j->e;
  const int64_t codes = e->all.count, patterns = e->series->patterns->count;
  double *log_table = e->table + 2 * codes * thread, *table = log_table + codes,
         *work = e->scores + e->score_size * (size_t)thread;
  if (e->levels) {
    bl_level_scores(e->series, e->levels, j->states, j->stat, (int)s, PRIOR_ROWS, work, j->log_p + s, j->states);
    return;
  }
  bl_level_scores(e->series, &e->all, j->states, j->stat, (int)s, PRIOR_ROWS, work, log_table, 1);
  for (int64_t c = 0; c < codes; c++) table[c] = exp(log_table[c]);
  for (int64_t p = 0; p < patterns; p++) {
    double sum = 0;
    for (int b = 0; b < e->blocks; b++) {
      const block *own = &e->block[b];
      const int64_t first = e->all.group[b].offset;
      sum += own->absent[p] ? log(sum_completions(table + first, own->code[p], own->absent[p]))
                            : log_table[first + own->code[p]];
    }
    j->log_p[p * j->states + s] = sum / e->ways;
  }
}

blica_status bl_emission_counts(blica_ctx *ctx, bl_emission *e, int states, const double *stat, double *log_p) {
  job j = {.e = e, .states = states, .stat = stat, .log_p = log_p};
  bl_parallel(ctx, states, count_task, &j);
  return BLICA_OK;
}

/* ---- by the likelihood's engines under a model ---- */

/* Whether a grid can integrate over the sources in all states; its nodes grow with the loadings. */
static bool few_nodes(const blica_model *m) {
  for (int s = 0; s < m->u; s++) {
    bl_grid grid = {.k = m->k};
    double band[BL_GRID_SOURCES];
    for (int l = 0; l < m->k; l++) {
      double square = 1;
      for (int i = 0; i < m->n; i++) {
        const double a = m->mixing[i + (size_t)l * (size_t)m->n];
        square += m->link * a * a * m->variances[l + s * m->k];
      }
      band[l] = sqrt(square);
    }
    if (!(bl_grid_plan(&grid, band, GRID_ERROR) <= MOST_NODES)) return false;
  }
  return true;
}

/* Makes the likelihood for the sources of a model, if it is not there. */
static blica_status make_likelihood(blica_ctx *ctx, bl_emission *e, const blica_model *m) {
  static const int segment[] = {0};
  const bl_series *x = e->series;
  const int k = m->k;
  blica_engine engine;
  MUST(bl_likelihood_engine(ctx, BLICA_ENGINE_AUTO, x->items, k, &engine));
  if (engine != BLICA_ENGINE_GRID || !few_nodes(m)) engine = BLICA_ENGINE_EP;
  if (e->likelihood && e->sources == k && e->engine == engine) return BLICA_OK;
  bl_likelihood_free(e->likelihood);
  bl_free(e->mean);
  e->likelihood = NULL, e->mean = NULL, e->sources = k, e->engine = engine;
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
  MUST(make_likelihood(ctx, e, m));
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
