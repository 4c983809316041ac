/* series.c - distinct patterns of a series, their scores, and weighted pair counts.
 *
 * Everything that a state asks of the rows goes through their distinct patterns: with n items and no missing values
 * there are at most 2^n. Weighted counts run over the ones of a pattern and, innermost, over the states, which are
 * neighbours in memory. Patterns are cut into at most BLOCKS blocks whose sums are added in order. */
#include "segment/series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "counts/counts.h"
#include "model/model.h"
#include "num/linear/blas.h"

enum {
  BLOCKS = 16,
  BLOCK_PATTERNS = 2048, /* the least that is worth a block */
  PLAIN_SCORES = 10,     /* with up to this many items each item is a score */
  MOST_SCORES = 10
};
#define FEWEST 4.0 /* rows that a fit gets of a state */

/* ---- weighted counts ---- */

typedef struct {
  const bl_series *series;
  int states;
  const double *weight;
  double *block;  /* [S,cells,blocks] */
  double *margin; /* [S,n+1,blocks]: ones and rows of the group under way */
  int64_t blocks;
} expectation;

static inline void add_to(double *restrict to, const double *restrict from, int count) {
  for (int s = 0; s < count; s++) to[s] += from[s];
}

/* Rows where both are present: the ones of either and the rows, all of a group having the same items. */
static void add_margins(const bl_series *x, const bl_group *g, int states, const double *margin, double *stat) {
  const size_t S = (size_t)states, both = bl_cell_both(x) * S, pairs = (size_t)x->pairs * S;
  for (int b = 0; b < g->n; b++) {
    add_to(stat + (bl_cell_present(x) + (size_t)g->variable[b]) * S, margin + (size_t)x->n * S, states);
    for (int a = 0; a < b; a++) {
      double *at = stat + both + (size_t)blica_pair(g->variable[a], g->variable[b]) * S;
      add_to(at, margin + (size_t)a * S, states);
      add_to(at + pairs, margin + (size_t)b * S, states);
      add_to(at + 2 * pairs, margin + (size_t)x->n * S, states);
    }
  }
}

/* Adds the statistics of patterns low..high-1 of a group, weighted by states. */
static void expect_group(const bl_series *x, const bl_group *g, int64_t low, int64_t high, int states,
                         const double *weight, double *margin, double *stat) {
  const size_t S = (size_t)states;
  memset(margin, 0, S * (size_t)(x->n + 1) * sizeof *margin);
  for (int64_t p = low; p < high; p++) {
    const uint8_t *row = g->x + p * g->n;
    const double *w = weight + (size_t)(g->offset + p) * S;
    add_to(margin + (size_t)x->n * S, w, states);
    for (int b = 0; b < g->n; b++) {
      if (!row[b]) continue;
      add_to(margin + (size_t)b * S, w, states);
      double *column = stat + (bl_cell_n11(x) + (size_t)blica_pair(0, g->variable[b])) * S;
      for (int a = 0; a < b; a++)
        if (row[a]) add_to(column + (size_t)g->variable[a] * S, w, states);
    }
  }
  add_to(stat + BL_CELL_ROWS * S, margin + (size_t)x->n * S, states);
  for (int b = 0; b < g->n; b++)
    add_to(stat + (BL_CELL_ONES + (size_t)g->variable[b]) * S, margin + (size_t)b * S, states);
  if (!x->complete) add_margins(x, g, states, margin, stat);
}

/* Adds the statistics of one block of patterns, into its own sums. */
static void expect_block(int64_t block, int thread, void *user) {
  (void)thread;
  const expectation *e = user;
  const bl_series *x = e->series;
  const int64_t low = x->patterns->count * block / e->blocks, high = x->patterns->count * (block + 1) / e->blocks;
  const size_t S = (size_t)e->states;
  double *stat = e->block + (size_t)block * S * x->cells, *margin = e->margin + (size_t)block * S * (size_t)(x->n + 1);
  for (int g = 0; g < x->patterns->groups; g++) {
    const bl_group *group = &x->patterns->group[g];
    int64_t from = low > group->offset ? low - group->offset : 0, to = high - group->offset;
    if (to > group->count) to = group->count;
    if (from < to) expect_group(x, group, from, to, e->states, e->weight, margin, stat);
  }
}

blica_status bl_series_expect(blica_ctx *ctx, const bl_series *series, int states, const double *weight, double *stat) {
  blica_status status;
  const size_t size = bl_mul((size_t)states, series->cells);
  expectation e = {.series = series, .states = states, .weight = weight};
  e.blocks = series->patterns->count / BLOCK_PATTERNS;
  e.blocks = e.blocks < 1 ? 1 : e.blocks > BLOCKS ? BLOCKS : e.blocks;
  TRY(bl_alloc(ctx, bl_mul(size, (size_t)e.blocks), &e.block));
  TRY(bl_alloc_for(ctx, e.block, bl_mul((size_t)states * (size_t)(series->n + 1), (size_t)e.blocks), &e.margin));
  bl_parallel(ctx, e.blocks, expect_block, &e);
  memcpy(stat, e.block, size * sizeof *stat);
  for (size_t b = 1; b < (size_t)e.blocks; b++)
    for (size_t c = 0; c < size; c++) stat[c] += e.block[b * size + c];
done:
  bl_free(e.block); /* and the margins */
  return status;
}

/* ---- shares and counts of a state ---- */

double bl_series_share(const bl_series *x, int states, const double *stat, int s, double prior, int i) {
  const size_t S = (size_t)states, ones = BL_CELL_ONES + (size_t)i;
  const size_t rows = x->complete ? BL_CELL_ROWS : bl_cell_present(x) + (size_t)i;
  double base = x->pooled[rows] > 0 ? (x->pooled[ones] + 0.5) / (x->pooled[rows] + 1) : 0.5;
  return (stat[ones * S + (size_t)s] + prior * base) / (stat[rows * S + (size_t)s] + prior);
}

/* n11 and the two margins, and their rows. */
static void cells_of_pair(const bl_series *x, int states, const double *stat, int s, int i, int j, double cell[4]) {
  const size_t S = (size_t)states, at = (size_t)s, pair = (size_t)blica_pair(i, j), pairs = (size_t)x->pairs;
  const size_t both = bl_cell_both(x) + pair;
  cell[0] = stat[(bl_cell_n11(x) + pair) * S + at];
  cell[1] = stat[(x->complete ? BL_CELL_ONES + (size_t)i : both) * S + at];
  cell[2] = stat[(x->complete ? BL_CELL_ONES + (size_t)j : both + pairs) * S + at];
  cell[3] = stat[(x->complete ? BL_CELL_ROWS : both + 2 * pairs) * S + at];
}

void bl_series_table(const bl_series *x, int states, const double *stat, int s, double prior, int i, int j,
                     double share[4]) {
  double own[4], all[4], p[3];
  cells_of_pair(x, states, stat, s, i, j, own);
  cells_of_pair(x, 1, x->pooled, 0, i, j, all);
  for (int c = 0; c < 3; c++) {
    double base = (all[c] + (c ? 0.5 : 0.25)) / (all[3] + 1);
    p[c] = (own[c] + prior * base) / (own[3] + prior);
  }
  share[0] = p[0];
  share[1] = fmax(p[1] - p[0], 0);
  share[2] = fmax(p[2] - p[0], 0);
  share[3] = fmax(1 - share[0] - share[1] - share[2], 0);
}

/* A state that lost its rows gets rows of all states together until it has FEWEST, so that it can be fitted. */
static void lift_state(const bl_series *x, int states, const double *stat, int s, double *lifted) {
  const size_t S = (size_t)states;
  double rows = 0, own = stat[s];
  for (size_t r = 0; r < S; r++) rows += stat[r];
  double share = own < FEWEST && rows > 0 ? (FEWEST - own) / rows : 0;
  for (size_t c = 0; c < x->cells; c++) {
    lifted[c] = stat[c * S + (size_t)s];
    for (size_t r = 0; r < S && share > 0; r++) lifted[c] += share * stat[c * S + r];
  }
}

blica_status bl_series_counts(blica_ctx *ctx, const bl_series *x, int states, const double *stat,
                              const char *const *variables, blica_counts **out) {
  BL_AUTO(blica_counts) *c = NULL;
  BL_OWNED double *own = NULL;
  const size_t S = (size_t)states, n = (size_t)x->n, pairs = (size_t)x->pairs;
  *out = NULL;
  MUST(bl_counts_create(ctx, x->n, states, x->complete, variables, NULL, &c));
  MUST(bl_number_texts(ctx, states, "", &c->segments));
  MUST(bl_alloc(ctx, x->cells, &own));
  for (size_t s = 0; s < S; s++) {
    lift_state(x, states, stat, (int)s, own);
    c->samples[s] = own[BL_CELL_ROWS];
    for (size_t i = 0; i < n; i++) {
      c->ones[i + s * n] = own[BL_CELL_ONES + i];
      c->present[i + s * n] = x->complete ? c->samples[s] : own[bl_cell_present(x) + i];
    }
    for (int j = 1; j < x->n; j++)
      for (int i = 0; i < j; i++) {
        double cell[4];
        size_t at = (size_t)blica_pair(i, j) + s * pairs;
        cells_of_pair(x, 1, own, 0, i, j, cell);
        c->n11[at] = cell[0];
        if (x->complete) continue;
        c->n10[at] = fmax(cell[1] - cell[0], 0);
        c->n01[at] = fmax(cell[2] - cell[0], 0);
        c->n00[at] = fmax(cell[3] - cell[1] - cell[2] + cell[0], 0);
      }
  }
  *out = bl_take(&c);
  return BLICA_OK;
}

/* ---- making ---- */

/* Directions of the scores from the pooled statistics: the standardised items, or the leading principal components of
 * their correlations. */
static blica_status make_basis(blica_ctx *ctx, bl_series *x) {
  const int n = x->n;
  BL_OWNED double *cor = NULL, *value = NULL, *deviation = NULL;
  MUST(bl_alloc(ctx, (size_t)n * (size_t)n, &cor));
  MUST(bl_alloc(ctx, (size_t)n, &value));
  MUST(bl_alloc(ctx, (size_t)n, &deviation));
  for (int j = 0; j < n; j++) {
    x->centre[j] = bl_series_share(x, 1, x->pooled, 0, 1, j);
    deviation[j] = sqrt(x->centre[j] * (1 - x->centre[j]));
    cor[j + j * n] = 1;
    for (int i = 0; i < j; i++) {
      double share[4];
      bl_series_table(x, 1, x->pooled, 0, 1, i, j, share);
      cor[i + j * n] = cor[j + i * n] = (share[0] - x->centre[i] * x->centre[j]) / (deviation[i] * deviation[j]);
    }
  }
  if (n <= PLAIN_SCORES) {
    for (int i = 0; i < n; i++) x->basis[i + i * n] = 1 / deviation[i];
    return BLICA_OK;
  }
  errno = 0;
  if (bl_dsyev('V', 'U', n, cor, n, value) != 0)
    MUST(bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "the principal components of the items cannot be computed"));
  for (int c = 0; c < x->d; c++) {
    const double *vector = cor + (size_t)(n - 1 - c) * (size_t)n;
    double scale = 1 / sqrt(fmax(value[n - 1 - c], 1e-8)), sign = vector[0] < 0 ? -1 : 1;
    for (int i = 0; i < n; i++) x->basis[i + c * n] = sign * scale * vector[i] / deviation[i];
  }
  return BLICA_OK;
}

static void make_scores(bl_series *x) {
  for (int g = 0; g < x->patterns->groups; g++) {
    const bl_group *group = &x->patterns->group[g];
    for (int64_t p = 0; p < group->count; p++) {
      double *score = x->score + (size_t)(group->offset + p) * (size_t)x->d;
      for (int i = 0; i < group->n; i++) {
        int v = group->variable[i];
        double value = group->x[p * group->n + i] - x->centre[v];
        for (int c = 0; c < x->d; c++) score[c] += value * x->basis[v + c * x->n];
      }
    }
  }
}

blica_status bl_series_make(blica_ctx *ctx, const blica_data *data, int64_t split, bl_series **out) {
  blica_status status;
  bl_series *x = NULL;
  BL_OWNED double *weight = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &x));
  TRY(bl_coding_parse(ctx, data->n, data->variables, &x->coding));
  x->n = data->n;
  x->items = x->coding ? x->coding->items : data->n;
  x->pairs = (int64_t)data->n * (data->n - 1) / 2;
  x->rows = data->rows;
  x->complete = data->missing == 0;
  x->cells = 1 + (size_t)(x->complete ? 1 : 2) * (size_t)x->n + (size_t)(x->complete ? 1 : 4) * (size_t)x->pairs;
  x->d = data->n <= PLAIN_SCORES ? data->n : MOST_SCORES;
  TRY(bl_patterns_make(ctx, data, data->n, NULL, NULL, true, &x->patterns));
  TRY(bl_alloc_for(ctx, x, (size_t)data->n, &x->centre));
  TRY(bl_alloc_for(ctx, x, (size_t)data->n * (size_t)x->d, &x->basis));
  TRY(bl_alloc_for(ctx, x, bl_mul((size_t)x->patterns->count, (size_t)x->d), &x->score));
  TRY(bl_alloc_for(ctx, x, x->cells, &x->pooled));
  TRY(bl_alloc(ctx, (size_t)x->patterns->count, &weight));
  for (int64_t r = 0; r < x->rows; r++)
    if (bl_series_held_out(split, r)) x->patterns->row_pattern[r] = -1;
  for (int64_t r = 0; r < x->rows; r++)
    if (x->patterns->row_pattern[r] >= 0) weight[x->patterns->row_pattern[r]] += 1;
  TRY(bl_series_expect(ctx, x, 1, weight, x->pooled));
  TRY(make_basis(ctx, x));
  make_scores(x);
  *out = bl_take(&x);
done:
  bl_series_free(x);
  return status;
}

void bl_series_free(bl_series *x) {
  if (!x) return;
  blica_coding_free(x->coding);
  bl_patterns_free(x->patterns);
  bl_free(x);
}
