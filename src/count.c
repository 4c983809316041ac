/* count.c - the 2x2 tables of all pairs of variables in every segment.
 *
 * Method: n11 of a pair is the popcount of the AND of two bit columns. The pairs of a segment are cut
 * into squares of BLOCK x BLOCK variables and its rows into stretches; one (segment, square, stretch)
 * is a task. Within it, rows are taken in slices so short that the columns of the square stay in the
 * second-level cache, and the kernel's register tile runs over them. With missing values the same loop
 * runs on the masks too: for rows where both are present, n1. = |ones_i & present_j|,
 * n.1 = |present_i & ones_j|, n.. = |present_i & present_j|.
 * Ranks share the tasks and add their counts. Accuracy: exact (integers, below 2^53 as doubles), hence the same for any
 * number of threads and ranks.
 * Checked: against a loop over rows and pairs, tests/unit/test_count.c. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/share.h"
#include "count_kernel.h"
#include "counts.h"

enum {
  BLOCK = 32,          /* variables on the side of a square */
  SLICE = 512,         /* words of a column per slice: 64 columns of 4 KiB */
  STRETCH = 1 << 17    /* words of a column per task */
};

typedef struct {
  const blica_data *data;
  blica_counts *counts;
  bl_count_kernel kernel;
  int64_t side, squares; /* blocks of variables; pairs of blocks */
  int64_t *first;        /* [u + 1] first task of each segment */
  bl_share share;        /* of the tasks among ranks */
  int64_t begin;         /* first task of this batch */
  atomic_flag lock;      /* stretches of one square add to the same cells */
} job;

static int64_t stretches(const blica_data *data, int s) { return (data->words[s] + STRETCH - 1) / STRETCH; }

static const uint64_t *column(const uint64_t *bits, int64_t words, int n, int i) {
  return bits + (size_t)(i < n ? i : n - 1) * (size_t)words; /* past the end: any column, its sums are dropped */
}

/* Adds to sum [BLOCK,BLOCK] what columns i0.. of a and j0.. of b share in the words from..to-1. */
static void count_square(const job *j, const uint64_t *a, const uint64_t *b, int64_t stride, int i0, int j0, size_t from,
                         size_t to, int64_t *sum) {
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

/* Tiles stand one after the other in sum. */
static int64_t cell_of(const int64_t *sum, int p, int q) {
  const int64_t *tile = sum + (p / BL_TILE + q / BL_TILE * (BLOCK / BL_TILE)) * BL_TILE * BL_TILE;
  return tile[p % BL_TILE + q % BL_TILE * BL_TILE];
}

typedef struct {
  int64_t both[BLOCK * BLOCK], first[BLOCK * BLOCK], second[BLOCK * BLOCK], rows[BLOCK * BLOCK];
} square_sums; /* n11, n1., n.1, n.. */

static void add_square(const job *j, int s, int i0, int j0, const square_sums *sums, bool missing) {
  blica_counts *c = j->counts;
  double *n11 = c->n11 + (size_t)s * (size_t)c->pairs, *ones = c->ones + (size_t)s * (size_t)c->n;
  double *present = c->present + (size_t)s * (size_t)c->n;
  size_t base = (size_t)s * (size_t)c->pairs;
  for (int q = 0; q < BLOCK && j0 + q < c->n; q++)
    for (int p = 0; p < BLOCK && i0 + p < c->n && i0 + p <= j0 + q; p++) {
      int64_t both = cell_of(sums->both, p, q);
      if (i0 + p == j0 + q) {
        ones[i0 + p] += (double)both;
        if (missing) present[i0 + p] += (double)cell_of(sums->rows, p, q);
        continue;
      }
      int64_t pair = blica_pair(i0 + p, j0 + q);
      n11[pair] += (double)both;
      if (!missing) continue;
      int64_t first = cell_of(sums->first, p, q), second = cell_of(sums->second, p, q), rows = cell_of(sums->rows, p, q);
      c->n10[base + (size_t)pair] += (double)(first - both);
      c->n01[base + (size_t)pair] += (double)(second - both);
      c->n00[base + (size_t)pair] += (double)(rows - first - second + both);
    }
}

static int segment_of(const job *j, int64_t task) {
  int low = 0, high = j->data->u;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (j->first[middle] <= task) low = middle;
    else high = middle;
  }
  return low;
}

static void count_task(int64_t item, int thread, void *user) {
  (void)thread;
  job *j = user;
  const blica_data *d = j->data;
  int64_t task = j->begin + item;
  int s = segment_of(j, task);
  task -= j->first[s];
  int64_t square = task % j->squares, stretch = task / j->squares, words = d->words[s];
  int column_block = 0;
  while ((int64_t)(column_block + 1) * (column_block + 2) / 2 <= square) column_block++;
  int i0 = (int)(square - (int64_t)column_block * (column_block + 1) / 2) * BLOCK, j0 = column_block * BLOCK;
  size_t from = (size_t)stretch * STRETCH, to = from + STRETCH < (size_t)words ? from + STRETCH : (size_t)words;
  const uint64_t *ones = d->ones[s], *present = d->present[s];
  square_sums sums;
  memset(&sums, 0, present ? sizeof sums : sizeof sums.both);
  count_square(j, ones, ones, words, i0, j0, from, to, sums.both);
  if (present) {
    count_square(j, ones, present, words, i0, j0, from, to, sums.first);
    count_square(j, present, ones, words, i0, j0, from, to, sums.second);
    count_square(j, present, present, words, i0, j0, from, to, sums.rows);
  }
  bool shared = stretches(d, s) > 1;
  while (shared && atomic_flag_test_and_set_explicit(&j->lock, memory_order_acquire)) continue;
  add_square(j, s, i0, j0, &sums, present != NULL);
  if (shared) atomic_flag_clear_explicit(&j->lock, memory_order_release);
}

/* All tasks, in batches of a fraction of a second with a poll between them. */
static blica_status run_tasks(blica_ctx *ctx, job *j) {
  int64_t first = j->share.first, total = j->share.last, batch = 4 * bl_max_threads(ctx);
  for (j->begin = first; j->begin < total;) {
    blica_progress progress = {"count", (double)(j->begin - first) / (double)(total - first), NAN, 0, 0};
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

static blica_status add_ranks(blica_ctx *ctx, blica_counts *c) {
  blica_status status = BLICA_OK;
  size_t tables = (size_t)c->pairs * (size_t)c->u, columns = (size_t)c->n * (size_t)c->u;
  double *const arrays[] = {c->n11, c->n10, c->n01, c->n00, c->ones, c->present};
  for (int i = 0; i < 6; i++)
    if (arrays[i]) TRY(bl_sum_disjoint(ctx, arrays[i], i < 4 ? tables : columns));
done:
  return status;
}

/* Segments without missing values: margins from the sample, cells from the margins when asked for. */
static void fill_complete(const blica_data *data, blica_counts *counts) {
  for (int s = 0; s < data->u; s++) {
    counts->samples[s] = (double)data->samples[s];
    if (data->present[s]) continue;
    for (int i = 0; i < data->n; i++) counts->present[(size_t)s * (size_t)data->n + (size_t)i] = counts->samples[s];
  }
}

static void fill_cells(const blica_data *data, blica_counts *c) {
  for (int s = 0; s < c->u; s++) {
    if (data->present[s]) continue;
    const double *ones = c->ones + (size_t)s * (size_t)c->n;
    for (int j = 1; j < c->n; j++)
      for (int i = 0; i < j; i++) {
        size_t at = (size_t)s * (size_t)c->pairs + (size_t)blica_pair(i, j);
        c->n10[at] = ones[i] - c->n11[at];
        c->n01[at] = ones[j] - c->n11[at];
        c->n00[at] = c->samples[s] - ones[i] - ones[j] + c->n11[at];
      }
  }
}

blica_status blica_count(blica_ctx *ctx, const blica_data *data, blica_counts **out) {
  blica_status status;
  blica_counts *counts = NULL;
  job j = {.data = data, .kernel = bl_count_kernel_for(blica_simd_level(ctx)), .lock = ATOMIC_FLAG_INIT};
  *out = NULL;
  bl_poll_reset(ctx);
  TRY(bl_counts_create(ctx, data->n, data->u, data->missing == 0, (const char *const *)data->variables,
                       (const char *const *)data->segments, &counts));
  j.counts = counts;
  j.side = (data->n + BLOCK - 1) / BLOCK;
  j.squares = j.side * (j.side + 1) / 2;
  TRY(bl_alloc(ctx, (size_t)data->u + 1, &j.first));
  for (int s = 0; s < data->u; s++) j.first[s + 1] = j.first[s] + j.squares * stretches(data, s);
  TRY(bl_share_make(ctx, j.first[data->u], 0, &j.share));
  TRY(bl_agree(ctx, run_tasks(ctx, &j)));
  TRY(add_ranks(ctx, counts));
  fill_complete(data, counts);
  if (counts->n10) fill_cells(data, counts);
  *out = counts;
  counts = NULL;
done:
  bl_share_free(&j.share);
  bl_free(j.first);
  blica_counts_free(counts);
  return status;
}
