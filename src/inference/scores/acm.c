/* acm.c - the asymptotic covariance of all thresholds and correlations of one segment.
 *
 * Two-step estimates are sums over rows, to first order (Muthén, Psychometrika 49, 1984; Olsson 1979): a row adds
 * (P_m - 1[x >= m]) / phi(tau_m) to a threshold, over the rows that have the item, and
 * (score + what the thresholds of its table change of it) / information to a correlation, over those that have both
 * items. Means of scores and their products are those of the rows, not of the model, as in lavaan; they are taken from
 * the table of the pair, whose margins are its thresholds. The rows of a cluster are added first, each with its weight;
 * N times the covariance is then the sum of products of these lines, in chunks and tiles that threads share; the bits
 * do not depend on the threads. Checked against lavaan and its WLSMV fits in tests/parity/acm.sh, and against changes
 * of weights and the spread of estimates in tests/python/test_correlations.py. */
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "inference/scores/table.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"

enum { CHUNK = 512, TILE = 96 };
static const double LEAST = 1e-9; /* share of a level that no row of a pair has */

typedef struct {
  const bl_rows *rows;
  int s, n, planes, size; /* size: planes and pairs */
  int *levels;            /* [n] */
  bl_table table;
  double *on_margin;          /* [2,planes] what a row adds to a threshold: below the level, and at or above it */
  double *on_pair;            /* what a row in a cell adds to a correlation, table by table in the order of the pairs */
  int64_t *place;             /* [pairs] where tables begin; pairs (0,1), (0,2), ..., (1,2), ... */
  int64_t line, lines, first; /* first line of the chunk; lines in all; the segment's first pattern or unit */
  double *z;                  /* [size,CHUNK] lines of a chunk */
  double *acm;                /* [size,size] */
  int tiles;
} work;

static const int8_t *row_at(const bl_rows *rows, int64_t pattern) {
  return rows->x + (size_t)rows->n * (size_t)pattern;
}

/* ---- what a row adds ---- */

static blica_status make_work(blica_ctx *ctx, const bl_rows *rows, int s, work **out) {
  BL_OWNED work *w = NULL;
  const int n = rows->n;
  int64_t cells = 0, pair = 0;
  MUST(bl_alloc(ctx, 1, &w));
  w->rows = rows, w->s = s, w->n = n, w->planes = rows->planes;
  w->size = rows->planes + n * (n - 1) / 2;
  w->tiles = (w->size + TILE - 1) / TILE;
  w->lines = rows->first[s + 1] - rows->first[s], w->first = rows->first[s];
  if (rows->unit_first) w->lines = bl_units(rows, s, &w->first);
  MUST(bl_table_make(ctx, w, bl_most_levels(rows->coding, n), &w->table));
  MUST(bl_alloc_for(ctx, w, (size_t)n, &w->levels));
  for (int i = 0; i < n; i++) w->levels[i] = bl_levels(rows->coding, i);
  MUST(bl_alloc_for(ctx, w, 2 * (size_t)w->planes, &w->on_margin));
  MUST(bl_alloc_for(ctx, w, (size_t)(w->size - w->planes), &w->place));
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      w->place[pair++] = cells;
      cells += (int64_t)w->levels[i] * w->levels[j];
    }
  MUST(bl_alloc_for(ctx, w, (size_t)cells, &w->on_pair));
  MUST(bl_alloc_for(ctx, w, bl_mul((size_t)w->size, CHUNK), &w->z));
  *out = bl_take(&w);
  return BLICA_OK;
}

/* Adds the rows of the segment to the tables of all pairs, and to the margins: rows below and at or above a level. */
static void count_tables(work *w) {
  const bl_rows *rows = w->rows;
  for (int64_t p = rows->first[w->s]; p < rows->first[w->s + 1]; p++) {
    const int8_t *x = row_at(rows, p);
    for (int m = 0; m < w->planes; m++)
      if (x[rows->item[m]] != BLICA_MISSING)
        w->on_margin[2 * m + (x[rows->item[m]] >= rows->level[m])] += rows->weight[p];
    const int64_t *place = w->place;
    for (int i = 0; i < w->n; i++)
      for (int j = i + 1; j < w->n; j++, place++)
        if (x[i] != BLICA_MISSING && x[j] != BLICA_MISSING)
          w->on_pair[*place + x[i] * w->levels[j] + x[j]] += rows->weight[p];
  }
}

/* Replaces the margins by what a row adds, times the root of all rows. A level without rows has no threshold. */
static blica_status describe_margins(blica_ctx *ctx, const blica_cor *cor, work *w) {
  for (int m = 0; m < w->planes; m++) {
    const int item = w->rows->item[m];
    const bool next = m + 1 < w->planes && w->rows->item[m + 1] == item;
    double *on = w->on_margin + 2 * m, all = on[0] + on[1], above = on[1] / all;
    if (!(on[0] > 0 && on[1] > 0) || (next && !(on[1] > on[3])))
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "segment '%s', item '%s': no row is at one of its levels; leave the item out or merge its levels",
                     cor->segments[w->s], cor->variables[item]);
    const double unit = sqrt((double)w->rows->total[w->s]) / (all * bl_phi_density(bl_phi_quantile(above)));
    on[0] = above * unit, on[1] = (above - 1) * unit;
  }
  return BLICA_OK;
}

/* Thresholds of a margin, from the rows of each level. */
static void margin_of(int levels, const double *cell, int step, int others, int across, double all, double *t) {
  double above = 0;
  for (int a = levels - 1; a > 0; a--) {
    for (int b = 0; b < others; b++) above += cell[a * step + b * across];
    t[a - 1] = bl_phi_quantile(fmin(fmax(above / all, LEAST), 1 - LEAST));
  }
}

/* Replaces the rows of a table by what a row in each cell adds to its correlation, times the root of all rows. */
static blica_status describe_pair(blica_ctx *ctx, const blica_cor *cor, int i, int j, double *cell, work *w) {
  const int rows = w->levels[i], columns = w->levels[j];
  double h[BL_MOST_LEVELS], k[BL_MOST_LEVELS], all = 0, information = 0;
  bl_table *t = &w->table;
  for (int c = 0; c < rows * columns; c++) all += cell[c];
  if (!(all > 0))
    return bl_fail(ctx, BLICA_ERR_DATA, "segment '%s': no rows have both '%s' and '%s'; leave one of these items out",
                   cor->segments[w->s], cor->variables[i], cor->variables[j]);
  margin_of(rows, cell, columns, columns, 1, all, h);
  margin_of(columns, cell, 1, rows, columns, all, k);
  bl_table_at(rows, columns, h, k, cor->rho[(size_t)w->s * (size_t)cor->pairs + (size_t)blica_pair(i, j)], t);
  for (int c = 0; c < rows * columns; c++) {
    const double share = cell[c] / all, score = t->score[c];
    information += share * score * score;
    cell[c] = score, t->score[c] *= share / t->cell[c];
  }
  if (!(information > 0))
    return bl_fail(ctx, BLICA_ERR_DATA, "segment '%s': the rows tell nothing about the correlation of '%s' and '%s'",
                   cor->segments[w->s], cor->variables[i], cor->variables[j]);
  bl_table_margins(h, k, cor->rho[(size_t)w->s * (size_t)cor->pairs + (size_t)blica_pair(i, j)], t);
  const double unit = sqrt((double)w->rows->total[w->s]) / (all * information);
  for (int c = 0; c < rows * columns; c++) cell[c] = unit * (cell[c] + t->first[c / columns] + t->second[c % columns]);
  return BLICA_OK;
}

/* ---- lines and their products ---- */

/* Adds weight times the influences of a row of levels x to z: on thresholds, then on correlations. */
static void add_row(const work *w, const int8_t *x, double weight, double *z) {
  const bl_rows *rows = w->rows;
  for (int m = 0; m < w->planes; m++)
    if (x[rows->item[m]] != BLICA_MISSING) z[m] += weight * w->on_margin[2 * m + (x[rows->item[m]] >= rows->level[m])];
  const int64_t *place = w->place;
  z += w->planes;
  for (int i = 0; i < w->n; i++)
    for (int j = i + 1; j < w->n; j++, place++, z++)
      if (x[i] != BLICA_MISSING && x[j] != BLICA_MISSING)
        *z += weight * w->on_pair[*place + x[i] * w->levels[j] + x[j]];
}

/* A line is a cluster, or without clusters a distinct row, whose copies add up to the root of their squared weights. */
static void line_task(int64_t item, int thread, void *user) {
  const work *w = user;
  const bl_rows *rows = w->rows;
  const int64_t line = w->line + item;
  double *z = w->z + (size_t)item * (size_t)w->size;
  (void)thread;
  memset(z, 0, (size_t)w->size * sizeof *z);
  if (line >= w->lines) return;
  if (!rows->unit_first) {
    add_row(w, row_at(rows, w->first + line), sqrt(rows->square[w->first + line]), z);
    return;
  }
  int64_t from, to;
  bl_unit_rows(rows, w->first + line, &from, &to);
  for (; from < to; from++) add_row(w, row_at(rows, rows->row[from]), bl_row_weight(rows, from), z);
}

static void tile_task(int64_t item, int thread, void *user) {
  const work *w = user;
  const int size = w->size, i = (int)(item / w->tiles) * TILE, j = (int)(item % w->tiles) * TILE;
  (void)thread;
  if (i > j) return;
  const int rows = size - i < TILE ? size - i : TILE, columns = size - j < TILE ? size - j : TILE;
  bl_dgemm('N', 'T', rows, columns, CHUNK, 1, w->z + i, size, w->z + j, size, 1, w->acm + i + (size_t)j * (size_t)size,
           size);
}

/* Adds up the products of the influences of all lines, a chunk after the other. */
static blica_status add_products(blica_ctx *ctx, work *w) {
  for (w->line = 0; w->line < w->lines; w->line += CHUNK) {
    bl_parallel(ctx, CHUNK, line_task, w);
    bl_parallel(ctx, (int64_t)w->tiles * w->tiles, tile_task, w);
    blica_progress progress = {.stage = "correlate", .objective = NAN};
    progress.fraction = fmin(1, (double)(w->line + CHUNK) / (double)w->lines);
    if (bl_poll(ctx, &progress)) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted while correlating");
  }
  for (int j = 0; j < w->size; j++)
    for (int i = 0; i < j; i++) w->acm[j + (size_t)i * (size_t)w->size] = w->acm[i + (size_t)j * (size_t)w->size];
  return BLICA_OK;
}

blica_status blica_acm(blica_ctx *ctx, const blica_data *data, const blica_cor *cor, int s, double *acm) {
  BL_NEED(ctx, data, cor, acm);
  BL_AUTO(bl_rows) *rows = NULL;
  BL_OWNED work *w = NULL;
  if (s < 0 || s >= cor->u || cor->u != data->u || cor->planes != data->n)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "segment %d of correlations of %d columns in %d segments; the data have %d columns and %d segments",
                   s, cor->planes, cor->u, data->n, data->u);
  bl_poll_reset(ctx);
  if (data->stratum)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "the covariance of correlations does not know strata of rows; leave them out");
  MUST(bl_rows_of(ctx, data, &rows));
  if (fabs(rows->size[s] - cor->samples[s]) > 1e-6 * cor->samples[s] && rows->complete)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "segment '%s' has %g rows, and its correlations are those of %g",
                   cor->segments[s], rows->size[s], cor->samples[s]);
  MUST(make_work(ctx, rows, s, &w));
  w->acm = acm;
  memset(acm, 0, bl_mul((size_t)w->size, (size_t)w->size) * sizeof *acm);
  count_tables(w);
  MUST(describe_margins(ctx, cor, w));
  const int64_t *place = w->place;
  for (int i = 0; i < w->n; i++)
    for (int j = i + 1; j < w->n; j++) MUST(describe_pair(ctx, cor, i, j, w->on_pair + *place++, w));
  return add_products(ctx, w);
}
