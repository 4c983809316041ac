/* count.c - the 2x2 tables of all pairs of variables in every segment.
 *
 * Method: n11 of a pair is the popcount of the AND of two bit columns. The pairs of a segment are cut
 * into squares of BLOCK x BLOCK variables and its rows into chunks; one (segment, square, chunk)
 * is a task. Within it, rows are taken in slices so short that the columns of the square stay in the
 * second-level cache, and the kernel's register tile runs over them. With missing values the same loop
 * runs on the masks too: for rows where both are present, n1. = |ones_i & present_j|,
 * n.1 = |present_i & ones_j|, n.. = |present_i & present_j|.
 * Accuracy: exact (integers, below 2^53 as doubles), hence the same for any number of threads.
 * Checked: against a loop over rows and pairs, tests/unit/counts/test_count.c. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "counts/count_kernel.h"
#include "counts/counts.h"
#include "data/pack.h"

enum {
  BLOCK = 32,     /* variables on the side of a square */
  SLICE = 512,    /* words of a column per slice: 64 columns of 4 KiB */
  CHUNK = 1 << 17 /* words of a column per task */
};

typedef struct {
  const blica_data *data;
  blica_counts *counts;
  bl_count_kernel kernel;
  int64_t side, squares; /* blocks of variables; pairs of blocks */
  int64_t *first;        /* [u + 1] first task of each segment */
  int32_t *target;       /* [u] its segment in counts */
  int64_t begin;         /* first task of this batch */
  atomic_flag lock;      /* chunks of one square add to the same cells */
} job;

static int64_t chunks(const blica_data *data, int s) {
  return (data->words[s] + CHUNK - 1) / CHUNK;
}

static const uint64_t *column(const uint64_t *bits, int64_t words, int n, int i) {
  return bits + (size_t)(i < n ? i : n - 1) * (size_t)words; /* past the end: any column, its sums are dropped */
}

/* Adds to sum [BLOCK,BLOCK] what columns i0.. of a and j0.. of b share in the words from..to-1. */
static void count_square(const job *j, const uint64_t *a, const uint64_t *b, int64_t stride, int i0, int j0,
                         size_t from, size_t to, int64_t *sum) {
  int n = j->data->n;
  for (size_t w = from; w < to; w += SLICE) {
    size_t end = w + SLICE < to ? w + SLICE : to;
    for (int q = 0; q < BLOCK && j0 + q < n; q += BL_TILE)
      for (int p = 0; p < BLOCK && i0 + p < n && i0 + p < j0 + q + BL_TILE; p += BL_TILE) {
        const uint64_t *x[BL_TILE], *y[BL_TILE];
        for (int t = 0; t < BL_TILE; t++) {
          x[t] = column(a, stride, n, i0 + p + t);
          y[t] = column(b, stride, n, j0 + q + t);
        }
        j->kernel(x, y, w, end, sum + (p / BL_TILE + q / BL_TILE * (BLOCK / BL_TILE)) * BL_TILE * BL_TILE);
      }
  }
}

/* sum stores one tile after the other. */
static int64_t cell_of(const int64_t *sum, int p, int q) {
  const int64_t *tile = sum + (p / BL_TILE + q / BL_TILE * (BLOCK / BL_TILE)) * BL_TILE * BL_TILE;
  return tile[p % BL_TILE + q % BL_TILE * BL_TILE];
}

typedef struct {
  int64_t both[BLOCK * BLOCK], first[BLOCK * BLOCK], second[BLOCK * BLOCK], rows[BLOCK * BLOCK];
} square_sums; /* n11, n1., n.1, n.. */

static void add_square(const job *j, int s, int i0, int j0, const square_sums *sums, bool missing) {
  blica_counts *c = j->counts;
  size_t t = (size_t)j->target[s], base = t * (size_t)c->pairs;
  double *ones = c->ones + t * (size_t)c->n, *present = c->present + t * (size_t)c->n;
  for (int q = 0; q < BLOCK && j0 + q < c->n; q++) {
    const int last = j0 + q, rows = last - i0 < BLOCK ? last - i0 : BLOCK; /* variables before this one */
    const size_t at = base + (size_t)blica_pair(i0, last);
    for (int p = 0; p < rows; p++) c->n11[at + (size_t)p] += (double)cell_of(sums->both, p, q);
    for (int p = 0; missing && p < rows; p++) {
      int64_t both = cell_of(sums->both, p, q), first = cell_of(sums->first, p, q),
              second = cell_of(sums->second, p, q), present_rows = cell_of(sums->rows, p, q);
      c->n10[at + (size_t)p] += (double)(first - both);
      c->n01[at + (size_t)p] += (double)(second - both);
      c->n00[at + (size_t)p] += (double)(present_rows - first - second + both);
    }
    if (rows == BLOCK) continue;
    ones[last] += (double)cell_of(sums->both, rows, q);
    if (missing) present[last] += (double)cell_of(sums->rows, rows, q);
  }
}

static void count_task(int64_t item, int thread, void *user) {
  (void)thread;
  job *j = user;
  const blica_data *d = j->data;
  int64_t task = j->begin + item;
  int s = bl_segment_of_task(j->first, d->u, task);
  task -= j->first[s];
  int64_t square = task % j->squares, chunk = task / j->squares, words = d->words[s];
  int column_block = 0;
  while ((int64_t)(column_block + 1) * (column_block + 2) / 2 <= square) column_block++;
  int i0 = (int)(square - (int64_t)column_block * (column_block + 1) / 2) * BLOCK, j0 = column_block * BLOCK;
  size_t from = (size_t)chunk * CHUNK, to = from + CHUNK < (size_t)words ? from + CHUNK : (size_t)words;
  const uint64_t *ones = d->ones[s], *present = d->present[s];
  square_sums sums;
  memset(&sums, 0, present ? sizeof sums : sizeof sums.both);
  count_square(j, ones, ones, words, i0, j0, from, to, sums.both);
  if (present) {
    count_square(j, ones, present, words, i0, j0, from, to, sums.first);
    count_square(j, present, ones, words, i0, j0, from, to, sums.second);
    count_square(j, present, present, words, i0, j0, from, to, sums.rows);
  }
  bool shared = chunks(d, s) > 1;
  while (shared && atomic_flag_test_and_set_explicit(&j->lock, memory_order_acquire)) continue;
  add_square(j, s, i0, j0, &sums, present != NULL);
  if (shared) atomic_flag_clear_explicit(&j->lock, memory_order_release);
}

/* All tasks, in batches of a fraction of a second with a poll between them. */
static blica_status run_tasks(blica_ctx *ctx, job *j) {
  int64_t total = j->first[j->data->u], batch = 4 * bl_max_threads(ctx);
  for (j->begin = 0; j->begin < total;) {
    blica_progress progress = {"count", (double)j->begin / (double)total, NAN, 0, 0};
    if (bl_poll(ctx, &progress)) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "counting was interrupted");
    int64_t count = total - j->begin < batch ? total - j->begin : batch;
    double start = bl_seconds();
    bl_parallel(ctx, count, count_task, j);
    double seconds = bl_seconds() - start;
    j->begin += count;
    if (seconds < 0.02) batch *= 4;
    if (seconds > 0.2 && batch > bl_max_threads(ctx)) batch /= 2;
  }
  return BLICA_OK;
}

/* Rows and, where nothing is missing, the numbers of values present. */
static void add_margins(const job *j) {
  const blica_data *data = j->data;
  for (int s = 0; s < data->u; s++) {
    double rows = bl_data_rows(data, s), *present = j->counts->present + (size_t)j->target[s] * (size_t)data->n;
    j->counts->samples[j->target[s]] += rows;
    for (int i = 0; i < data->n && !data->present[s]; i++) present[i] += rows;
  }
}

/* Cells n10, n01, n00 of segments that are complete in these data follow from the margins. What a piece adds to them is
 * the difference of two such sums: subtracted before the piece is counted (sign -1), added after. */
static void add_cells(const job *j, double sign) {
  blica_counts *c = j->counts;
  for (int s = 0; s < j->data->u; s++) {
    if (j->data->present[s]) continue;
    size_t t = (size_t)j->target[s], at = t * (size_t)c->pairs;
    const double *ones = c->ones + t * (size_t)c->n, rows = c->samples[t];
    for (int b = 1; b < c->n; b++)
      for (int a = 0; a < b; a++, at++) {
        c->n10[at] += sign * (ones[a] - c->n11[at]);
        c->n01[at] += sign * (ones[b] - c->n11[at]);
        c->n00[at] += sign * (rows - ones[a] - ones[b] + c->n11[at]);
      }
  }
}

blica_status blica_count_add(blica_ctx *ctx, const blica_data *data, blica_counts **sum) {
  BL_NEED(ctx, data, sum);
  blica_status status;
  const bl_counts_outline added = {data->n, data->u, data->missing == 0, data->variables, data->segments};
  job j = {.data = data, .kernel = bl_count_kernel_for(blica_simd_level(ctx)), .lock = ATOMIC_FLAG_INIT};
  bl_poll_reset(ctx);
  TRY(bl_alloc(ctx, (size_t)data->u + 1, &j.first));
  TRY(bl_alloc_for(ctx, j.first, (size_t)data->u, &j.target));
  TRY(bl_counts_extend(ctx, &added, sum, j.target));
  j.counts = *sum;
  j.counts->segments_found |= data->segments_found;
  j.side = (data->n + BLOCK - 1) / BLOCK;
  j.squares = j.side * (j.side + 1) / 2;
  for (int s = 0; s < data->u; s++) j.first[s + 1] = j.first[s] + j.squares * chunks(data, s);
  if (j.counts->n10) add_cells(&j, -1);
  for (int s = 0; j.counts->sets && s < data->u; s++)
    TRY(bl_item_sets_add_data(ctx, j.counts->sets, j.target[s], data, s));
  TRY(data->weight ? bl_count_weighted(ctx, data, j.target, *sum) : run_tasks(ctx, &j));
  add_margins(&j);
  if (j.counts->n10) add_cells(&j, 1);
done:
  bl_free(j.first);
  if (status != BLICA_OK) {
    blica_counts_free(*sum);
    *sum = NULL;
  }
  return status;
}

blica_status blica_count(blica_ctx *ctx, const blica_data *data, blica_counts **out) {
  BL_NEED_OUT(ctx, out, data);
  return blica_count_add(ctx, data, out);
}
