/* count_weighted.c - the 2x2 tables of rows that have weights.
 *
 * Method: rows become numbers 0 and 1, and a table is a product of two matrices of them, one of which has the rows
 * multiplied by their weights. Weights are whole multiples of one power of two (row_attributes.c), so that all sums are
 * exact below 2^53 of it: cells that no row has are exactly 0, and the bits depend neither on the order of sums nor on
 * the number of threads. Checked: against a loop over rows and pairs, tests/unit/counts/test_count.c. */
#include <math.h>
#include <string.h>

#include "counts/counts.h"
#include "data/pack.h"
#include "num/linear/blas.h"

enum { ROWS = 256 }; /* at a time */

typedef struct {
  double *one, *weighted;          /* [ROWS,n] columns of ones, and weighted */
  double *present, *weighted_seen; /* the same of presence; NULL without missing values */
  double *both, *first, *seen;     /* [n,n] sums of w x_i x_j, w x_i p_j, w p_i p_j */
} workspace;

typedef struct {
  const blica_data *data;
  const int32_t *target;
  blica_counts *counts;
  workspace *space; /* [threads] */
  int64_t begin;
} job;

/* out [ROWS,n] <- bits of the rows from.. of one segment, times factor [rows] if that is not NULL. */
static void unpack(const uint64_t *bits, int64_t words, int n, int64_t from, int rows, const double *factor,
                   double *out) {
  for (int i = 0; i < n; i++)
    for (int r = 0; r < rows; r++) {
      const int64_t row = from + r;
      const double bit = (double)(bits[i * words + row / 64] >> (row % 64) & 1);
      out[r + ROWS * i] = factor ? bit * factor[r] : bit;
    }
}

static void add_product(int n, int rows, const double *a, const double *b, double *sum) {
  bl_dgemm('T', 'N', n, n, rows, 1, a, ROWS, b, ROWS, 1, sum, n);
}

static void add_tables(const job *j, int s, const workspace *w) {
  blica_counts *c = j->counts;
  const int n = c->n;
  const bool missing = w->seen && j->data->present[s];
  const size_t t = (size_t)j->target[s];
  size_t at = t * (size_t)c->pairs;
  for (int b = 0; b < n; b++) {
    c->ones[t * (size_t)n + (size_t)b] += w->both[b + n * b];
    if (missing) c->present[t * (size_t)n + (size_t)b] += w->seen[b + n * b];
    for (int a = 0; a < b; a++, at++) {
      const double both = w->both[a + n * b];
      c->n11[at] += both;
      if (!missing) continue;
      const double first = w->first[a + n * b], second = w->first[b + n * a];
      c->n10[at] += first - both;
      c->n01[at] += second - both;
      c->n00[at] += w->seen[a + n * b] - first - second + both;
    }
  }
}

static void count_segment(int64_t item, int thread, void *user) {
  const job *j = user;
  const blica_data *d = j->data;
  const workspace *w = &j->space[thread];
  const int s = (int)(j->begin + item), n = d->n;
  const double *weight = bl_data_weights(d, s);
  const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
  memset(w->both, 0, bytes);
  if (w->seen) memset(w->first, 0, bytes), memset(w->seen, 0, bytes);
  for (int64_t from = 0; from < d->samples[s]; from += ROWS) {
    const int rows = d->samples[s] - from < ROWS ? (int)(d->samples[s] - from) : ROWS;
    unpack(d->ones[s], d->words[s], n, from, rows, NULL, w->one);
    unpack(d->ones[s], d->words[s], n, from, rows, weight + from, w->weighted);
    add_product(n, rows, w->weighted, w->one, w->both);
    if (!d->present[s]) continue;
    unpack(d->present[s], d->words[s], n, from, rows, NULL, w->present);
    unpack(d->present[s], d->words[s], n, from, rows, weight + from, w->weighted_seen);
    add_product(n, rows, w->weighted, w->present, w->first);
    add_product(n, rows, w->weighted_seen, w->present, w->seen);
  }
  add_tables(j, s, w);
}

static blica_status make_workspace(blica_ctx *ctx, void *owner, size_t n, bool missing, workspace *w) {
  double **const rows[] = {&w->one, &w->weighted, &w->present, &w->weighted_seen};
  double **const sums[] = {&w->both, &w->first, &w->seen};
  for (int i = 0; i < (missing ? 4 : 2); i++) MUST(bl_alloc_for(ctx, owner, bl_mul(ROWS, n), rows[i]));
  for (int i = 0; i < (missing ? 3 : 1); i++) MUST(bl_alloc_for(ctx, owner, bl_mul(n, n), sums[i]));
  return BLICA_OK;
}

blica_status bl_count_weighted(blica_ctx *ctx, const blica_data *data, const int32_t *target, blica_counts *counts) {
  const int threads = bl_max_threads(ctx);
  BL_OWNED workspace *space = NULL;
  job j = {.data = data, .target = target, .counts = counts};
  MUST(bl_alloc(ctx, (size_t)threads, &space));
  for (int i = 0; i < threads; i++) MUST(make_workspace(ctx, space, (size_t)data->n, data->missing > 0, &space[i]));
  j.space = space;
  bl_blas_hold();
  blica_status status = BLICA_OK;
  for (; status == BLICA_OK && j.begin < data->u; j.begin += threads) {
    const blica_progress progress = {"count", (double)j.begin / data->u, NAN, 0, 0};
    if (bl_poll(ctx, &progress)) status = bl_fail(ctx, BLICA_ERR_INTERRUPTED, "counting was interrupted");
    bl_parallel(ctx, data->u - j.begin < threads ? data->u - j.begin : threads, count_segment, &j);
  }
  bl_blas_release();
  return status;
}
