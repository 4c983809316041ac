/* correlate.c - from the 2x2 tables of all pairs and segments to tetrachoric correlations.
 *
 * Per segment: thresholds t_i = Phi^-1(share of ones), then for each pair the root rho of Phi2(t_i,t_j;rho) = p11
 * and its standard error (num/normal/tables.h), by the rules of tetrachoric.c. Under missing values a table brings its
 * own margins; reported thresholds use every row where the variable is present.
 *
 * Work is cut into blocks of pairs that do not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "cor/correlate.h"
#include "counts/counts.h"
#include "data/coding.h"
#include "num/normal/tables.h"

enum { BLOCK = 512 };

typedef struct {
  const blica_counts *counts;
  blica_cor *cor;
  blica_simd level;
  int64_t blocks;        /* per segment */
  int64_t first;         /* block of task 0 of this round */
  bl_tetra_batch *batch; /* [threads]; owns bad */
  int64_t *bad;          /* [threads] smallest index of a table with a negative cell, -1: none */
} work;

/* ------------------------------------------------------------------ a block of tables */

/* table: among all segments. */
static void get_cells(const work *w, int64_t s, int i, int j, int64_t table, double cell[4]) {
  const blica_counts *c = w->counts;
  cell[BL_P11] = c->n11[table];
  if (c->n10) {
    cell[BL_P10] = c->n10[table];
    cell[BL_P01] = c->n01[table];
    cell[BL_P00] = c->n00[table];
    return;
  }
  double a = c->ones[s * c->n + i], b = c->ones[s * c->n + j];
  cell[BL_P10] = a - cell[BL_P11];
  cell[BL_P01] = b - cell[BL_P11];
  cell[BL_P00] = c->samples[s] - a - b + cell[BL_P11];
}

static void set_lane(bl_tetra_batch *b, int lane, const double share[4], double h, double k) {
  for (int c = 0; c < 4; c++) b->share[c][lane] = share[c];
  b->h[lane] = h;
  b->k[lane] = k;
}

/* Estimates up to BLOCK neighbouring pairs of one segment. */
static void block_task(int64_t task, int thread, void *user) {
  work *w = user;
  const blica_counts *c = w->counts;
  bl_tetra_batch *batch = &w->batch[thread];
  static const double independent[4] = {0.25, 0.25, 0.25, 0.25};
  double total[BLOCK];
  int64_t item = w->first + task, s = item / w->blocks, base = s * c->pairs + item % w->blocks * BLOCK,
          end = base + BLOCK;
  if (end > (s + 1) * c->pairs) end = (s + 1) * c->pairs;
  uint8_t *flag = w->cor->flags + base;
  double *rho = w->cor->rho + base, *se = w->cor->se ? w->cor->se + base : NULL;
  int count = (int)(end - base), i, j;
  bl_unpack_pair(base - s * c->pairs, &i, &j);
  for (int p = 0; p < count; p++) {
    int64_t table = base + p;
    double cell[4], share[4];
    get_cells(w, s, i, j, table, cell);
    total[p] = cell[0] + cell[1] + cell[2] + cell[3];
    int flags = bl_table_shares(cell, c->exact, share);
    if (flags < 0 && (w->bad[thread] < 0 || table < w->bad[thread])) w->bad[thread] = table;
    if (flags < 0 || flags & (BLICA_PAIR_CONSTANT | BLICA_PAIR_EMPTY))
      set_lane(batch, p, independent, 0.0, 0.0);
    else if (c->n10)
      set_lane(batch, p, share, bl_share_threshold(cell[0] + cell[1], cell[2] + cell[3]),
               bl_share_threshold(cell[0] + cell[2], cell[1] + cell[3]));
    else
      set_lane(batch, p, share, w->cor->thresholds[s * c->n + i], w->cor->thresholds[s * c->n + j]);
    flag[p] = flags < 0 ? 0 : (uint8_t)flags;
    if (++i == j) i = 0, j++;
  }
  bl_tetra_solve(w->level, batch, count);
  for (int p = 0; p < count; p++) {
    bool none = flag[p] & (BLICA_PAIR_CONSTANT | BLICA_PAIR_EMPTY);
    rho[p] = none ? 0.0 : batch->rho[p];
    if (!se) continue;
    double error = sqrt(batch->variance[p] / total[p]);
    se[p] = none || !isfinite(error) ? NAN : error;
  }
}

/* ------------------------------------------------------------------ all tables */

static void free_batches(work *w) {
  bl_free(w->batch);
}

static blica_status make_batches(blica_ctx *ctx, int threads, work *w) {
  double *buffer;
  MUST(bl_alloc(ctx, (size_t)threads, &w->batch));
  MUST(bl_alloc_for(ctx, w->batch, (size_t)threads, &w->bad));
  MUST(bl_alloc_for(ctx, w->batch, bl_mul((size_t)threads, 8 * BLOCK), &buffer));
  for (int t = 0; t < threads; t++) {
    double *at = buffer + (size_t)t * 8 * BLOCK;
    bl_tetra_batch *b = &w->batch[t];
    b->capacity = BLOCK;
    for (int c = 0; c < 4; c++) b->share[c] = at + c * BLOCK;
    b->h = at + 4 * BLOCK;
    b->k = at + 5 * BLOCK;
    b->rho = at + 6 * BLOCK;
    b->variance = w->cor->se ? at + 7 * BLOCK : NULL;
    w->bad[t] = -1;
  }
  return BLICA_OK;
}

/* Fails with the first table whose cells are no numbers of rows. */
static blica_status check_tables(blica_ctx *ctx, const work *w, int threads) {
  int64_t table = -1;
  for (int t = 0; t < threads; t++)
    if (w->bad[t] >= 0 && (table < 0 || w->bad[t] < table)) table = w->bad[t];
  if (table < 0) return BLICA_OK;
  const blica_counts *c = w->counts;
  int64_t s = table / c->pairs;
  int i, j;
  double cell[4];
  bl_unpack_pair(table % c->pairs, &i, &j);
  get_cells(w, s, i, j, table, cell);
  return bl_fail(ctx, BLICA_ERR_DATA,
                 "segment '%s', variables '%s' and '%s': cells n11=%g n10=%g n01=%g n00=%g are not counts of one table",
                 c->segments[s], c->variables[i], c->variables[j], cell[0], cell[1], cell[2], cell[3]);
}

static blica_status run_blocks(blica_ctx *ctx, work *w, int threads) {
  const int64_t items = w->blocks * w->counts->u, round = (int64_t)threads * 64;
  for (w->first = 0; w->first < items; w->first += round) {
    int64_t left = items - w->first;
    bl_parallel(ctx, left < round ? left : round, block_task, w);
    blica_progress progress = {.stage = "correlate", .objective = NAN};
    progress.fraction = fmin(1.0, (double)(w->first + round) / (double)items);
    if (bl_poll(ctx, &progress)) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted while correlating");
  }
  return check_tables(ctx, w, threads);
}

blica_status blica_correlate(blica_ctx *ctx, const blica_counts *counts, blica_cor **out) {
  BL_NEED_OUT(ctx, out, counts);
  return bl_correlate(ctx, counts, true, out);
}

blica_status bl_correlate(blica_ctx *ctx, const blica_counts *counts, bool errors, blica_cor **out) {
  BL_AUTO(blica_coding) *coding = NULL;
  BL_AUTO(blica_cor) *cor = NULL;
  int threads = bl_max_threads(ctx);
  *out = NULL;
  MUST(bl_coding_parse(ctx, counts->n, counts->variables, &coding));
  if (bl_coding_ordinal(coding)) return bl_correlate_levels(ctx, counts, bl_take(&coding), out);
  MUST(bl_counts_check(ctx, counts));
  MUST(bl_cor_create(ctx, counts->n, counts->u, coding ? coding->names : counts->variables, counts->segments,
                     counts->samples, errors, &cor));
  if (coding) MUST(bl_cor_set_coding(ctx, cor, coding));
  coding = NULL;
  cor->exact = counts->exact;
  bl_thresholds(counts, cor->thresholds);
  BL_CLEAN(free_batches) work w = {.counts = counts, .cor = cor, .level = blica_simd_level(ctx)};
  w.blocks = (counts->pairs + BLOCK - 1) / BLOCK;
  MUST(make_batches(ctx, threads, &w));
  MUST(run_blocks(ctx, &w, threads));
  bl_correlate_report(ctx, counts, cor);
  MUST(bl_cor_keep_rows(ctx, counts, cor));
  *out = bl_take(&cor);
  return BLICA_OK;
}
