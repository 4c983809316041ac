/* sgauss_segments.c - the terms of all segments without lanes, shared by threads and ranks.
 *
 * With segments enough, a thread does one after the other, and ranks exchange what came out. When there are fewer
 * segments than threads, the steps of all segments (sgauss_kernels.h) are done side by side, each over blocks of rows
 * or parts of the product with C; and when there are fewer than ranks, these blocks and parts are shared by the ranks
 * too, which exchange what the next step needs (there C is packed). All ways do the same operations in the same order,
 * so they give the same bits (tests/unit/estimate/test_segments.c). */
#include <math.h>
#include <string.h>

#include "estimate/sgauss_kernels.h"
#include "num/products.h"

struct bl_segments {
  blica_ctx *ctx;
  const bl_sgauss_data *data;
  bl_share share;         /* of the segments among ranks; alone when ranks share blocks */
  double *value;          /* [u] */
  double *gradient_a;     /* [n,k,u] */
  double *gradient_local; /* [k+n,u] */
  int blocks;             /* of rows */
  double *workspaces, *f,
      *tails; /* per thread, or per segment in steps: workspaces of those held, [k,k] and tail per block */
  size_t workspace_size;
  /* in steps: */
  bool steps, cut;      /* side by side; by all ranks */
  int base, count;      /* segments base..base+count-1 are done so */
  int held, held_end;   /* of them, those of which this rank does anything (from 0) */
  bl_share rows;        /* their blocks of rows */
  bl_products products; /* from packed pairs */
  bl_symmetric *matrix; /* [count] */
  const double **y;     /* [count] */
  double *message;      /* [most rows,k] per block, when ranks exchange them */
  const double *theta, *gram;
};

void bl_segments_free(bl_segments *g) {
  if (!g) return;
  void *const blocks[] = {g->value,  g->gradient_a, g->gradient_local, g->workspaces, g->f, g->tails,
                          g->matrix, g->y,          g->message};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) bl_free(blocks[i]);
  bl_share_free(&g->share);
  bl_share_free(&g->rows);
  bl_products_free(&g->products);
  bl_free(g);
}

static bool in_steps(const bl_sgauss_data *d, int64_t segments, int threads) {
  return bl_sgauss_worth(d->n, d->k) && bl_sgauss_side_by_side(segments, threads);
}

/* The segments that items first..last-1, of `each` per segment, belong to. */
static void widen(bl_segments *g, const bl_share *share, int each) {
  if (share->first == share->last) return;
  int from = (int)(share->first / each), to = (int)((share->last - 1) / each) + 1;
  if (g->held == g->held_end) g->held = from, g->held_end = to;
  if (from < g->held) g->held = from;
  if (to > g->held_end) g->held_end = to;
}

static blica_status make_steps(blica_ctx *ctx, bl_segments *g) {
  blica_status status;
  const bl_sgauss_data *d = g->data;
  const size_t k = (size_t)d->k;
  size_t sums = 0;
  g->base = g->cut ? 0 : (int)g->share.first;
  g->count = g->cut ? d->u : (int)(g->share.last - g->share.first);
  TRY((g->cut ? bl_share_make : bl_share_alone)(ctx, (int64_t)g->count * g->blocks, 0, &g->rows));
  TRY(bl_share_groups(ctx, &g->rows, g->blocks, &sums));
  widen(g, &g->rows, g->blocks);
  if (!d->c) {
    TRY(bl_products_make(ctx, d->n, d->k, g->count, g->cut, &g->products));
    widen(g, &g->products.share, g->products.parts);
  }
  g->workspace_size = (bl_sgauss_workspace_size(d->n, d->k) + 7) / 8 * 8;
  TRY(bl_alloc(ctx, bl_mul(g->workspace_size, (size_t)(g->held_end - g->held)), &g->workspaces));
  TRY(bl_alloc(ctx, bl_mul(k * k, sums), &g->f));
  TRY(bl_alloc(ctx, bl_mul(bl_sgauss_tail_size(d->n, d->k), (size_t)g->rows.count), &g->tails));
  TRY(bl_alloc(ctx, (size_t)g->count, &g->matrix));
  TRY(bl_alloc(ctx, (size_t)g->count, &g->y));
  if (g->cut)
    TRY(bl_alloc(ctx, bl_mul((size_t)bl_sgauss_most_rows(d->n, d->k) * k, (size_t)g->rows.count), &g->message));
  for (int s = g->held; s < g->held_end; s++) {
    g->matrix[s] = bl_sgauss_view(d, g->base + s);
    g->y[s] = bl_sgauss_workspace_at(d->n, d->k, g->workspaces + g->workspace_size * (size_t)(s - g->held)).y;
  }
done:
  return status;
}

blica_status bl_segments_make(blica_ctx *ctx, const bl_sgauss_data *data, bl_segments **out) {
  blica_status status;
  bl_segments *g = NULL;
  const size_t n = (size_t)data->n, k = (size_t)data->k, u = (size_t)data->u, threads = (size_t)bl_max_threads(ctx);
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &g));
  g->ctx = ctx, g->data = data, g->blocks = bl_sgauss_blocks(data->n, data->k);
  g->cut = bl_ranks_cut_segments(data->n, data->k, data->u, bl_comm(ctx)->size);
  TRY((g->cut ? bl_share_alone : bl_share_make)(ctx, data->u, bl_sgauss_groups(data->n, data->k, data->u), &g->share));
  g->steps = g->cut || in_steps(data, g->share.last - g->share.first, (int)threads);
  TRY(bl_alloc(ctx, u, &g->value));
  TRY(bl_alloc(ctx, bl_mul(n * k, u), &g->gradient_a));
  TRY(bl_alloc(ctx, bl_mul(n + k, u), &g->gradient_local));
  if (g->steps) {
    TRY(make_steps(ctx, g));
  } else {
    g->workspace_size = (bl_sgauss_workspace_size(data->n, data->k) + bl_symmetric_work(data->n, data->k) + 7) / 8 * 8;
    TRY(bl_alloc(ctx, bl_mul(g->workspace_size, threads), &g->workspaces));
    TRY(bl_alloc(ctx, bl_mul(k * k * (size_t)g->blocks, threads), &g->f));
    TRY(bl_alloc(ctx, bl_mul(bl_sgauss_tail_size(data->n, data->k) * (size_t)g->blocks, threads), &g->tails));
  }
  *out = g;
  g = NULL;
done:
  bl_segments_free(g);
  return status;
}

static bl_sgauss_shared inputs(const bl_segments *g) {
  return (bl_sgauss_shared){g->data->n, g->data->k, g->data->link, g->theta, g->gram, NULL};
}

/* ---- a segment after the other ---- */

/* Adds up f over blocks, as base/share.c does. */
static void add_blocks(size_t kk, int blocks, double *f) {
  for (int step = 1; step < blocks; step *= 2)
    for (int block = 0; block + step < blocks; block += 2 * step) {
      double *to = f + kk * (size_t)block;
      const double *from = f + kk * (size_t)(block + step);
      for (size_t i = 0; i < kk; i++) to[i] += from[i];
    }
}

static void whole_segment(int64_t s, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_data *d = g->data;
  const bl_sgauss_shared in = inputs(g);
  const size_t nk = (size_t)d->n * d->k, kk = (size_t)d->k * d->k, tail_size = bl_sgauss_tail_size(d->n, d->k);
  const double *local = g->theta + bl_sgauss_local(d, (int)s), weight = d->weight[s];
  const bl_sgauss_workspace workspace =
      bl_sgauss_workspace_at(d->n, d->k, g->workspaces + g->workspace_size * (size_t)thread);
  const bl_symmetric c = bl_sgauss_view(d, (int)s);
  double *f = g->f + kk * (size_t)g->blocks * (size_t)thread,
         *tails = g->tails + tail_size * (size_t)g->blocks * (size_t)thread;
  bl_sgauss_begin(&in, local, &workspace, tails);
  for (int b = 0; b < g->blocks; b++) bl_sgauss_solve(&in, local, &workspace, b);
  if (!c.full) bl_symmetric_product(&c, d->k, workspace.y, workspace.e, workspace.e + nk);
  for (int b = 0; b < g->blocks; b++) bl_sgauss_fill(&in, &c, &workspace, b, f + kk * (size_t)b);
  add_blocks(kk, g->blocks, f);
  bl_sgauss_join(&in, &workspace, f);
  for (int b = 0; b < g->blocks; b++)
    bl_sgauss_slopes(&in, &c, weight, local, &workspace, f, b, g->gradient_a + nk * (size_t)s,
                     tails + tail_size * (size_t)b);
  bl_sgauss_end(&in, weight, tails, &g->value[s], g->gradient_local + (size_t)(d->n + d->k) * (size_t)s);
}

/* ---- all segments side by side: s counts from base ---- */

static bl_sgauss_workspace workspace_of(const bl_segments *g, int64_t s) {
  return bl_sgauss_workspace_at(g->data->n, g->data->k, g->workspaces + g->workspace_size * (size_t)(s - g->held));
}
static const double *local_of(const bl_segments *g, int64_t s) {
  return g->theta + bl_sgauss_local(g->data, g->base + (int)s);
}
static double *tail_of(const bl_segments *g, int64_t item) {
  return g->tails + bl_sgauss_tail_size(g->data->n, g->data->k) * (size_t)item;
}
static double *f_of(const bl_segments *g, int64_t item) {
  return g->f + (size_t)g->data->k * (size_t)g->data->k * (size_t)g->rows.slot[item];
}
static double *gradient_of(const bl_segments *g, int64_t s) {
  return g->gradient_a + (size_t)g->data->n * (size_t)g->data->k * (size_t)(g->base + s);
}

static void begin_task(int64_t index, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const int64_t s = g->held + index;
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  (void)thread;
  bl_sgauss_begin(&in, local_of(g, s), &workspace, tail_of(g, s * g->blocks));
}

/* Rows of a block between a matrix [n,k] and the message. */
static void pass_rows(const bl_segments *g, int64_t item, double *matrix, bool out) {
  const size_t n = (size_t)g->data->n, k = (size_t)g->data->k;
  double *part = g->message + (size_t)bl_sgauss_most_rows(g->data->n, g->data->k) * k * (size_t)item;
  int first, last;
  bl_sgauss_rows(g->data->n, g->data->k, (int)(item % g->blocks), &first, &last);
  const size_t rows = (size_t)(last - first);
  for (size_t j = 0; j < k; j++) {
    double *own = matrix + j * n + first, *sent = part + j * rows;
    memcpy(out ? own : sent, out ? sent : own, rows * sizeof *own);
  }
}

static void solve_task(int64_t item, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const int64_t s = item / g->blocks;
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  (void)thread;
  bl_sgauss_solve(&in, local_of(g, s), &workspace, (int)(item % g->blocks));
  if (g->cut) pass_rows(g, item, workspace.y, false);
}

static void take_y(int64_t index, int thread, void *user) {
  const bl_segments *g = user;
  (void)thread;
  int64_t item = (int64_t)g->held * g->blocks + index;
  pass_rows(g, item, workspace_of(g, item / g->blocks).y, true);
}

static void fill_task(int64_t item, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const int s = (int)(item / g->blocks), block = (int)(item % g->blocks);
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  int first, last;
  (void)thread;
  bl_sgauss_rows(in.n, in.k, block, &first, &last);
  if (!g->matrix[s].full) bl_products_take(&g->products, s, &g->matrix[s], workspace.y, first, last, workspace.e);
  bl_sgauss_fill(&in, &g->matrix[s], &workspace, block, f_of(g, item));
}

static void join_task(int64_t index, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const int64_t s = g->rows.first / g->blocks + index;
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  (void)thread;
  bl_sgauss_join(&in, &workspace, f_of(g, s * g->blocks));
}

static void slopes_task(int64_t item, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const int64_t s = item / g->blocks;
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  (void)thread;
  bl_sgauss_slopes(&in, &g->matrix[s], g->data->weight[g->base + s], local_of(g, s), &workspace, f_of(g, s * g->blocks),
                   (int)(item % g->blocks), gradient_of(g, s), tail_of(g, item));
  if (g->cut) pass_rows(g, item, gradient_of(g, s), false);
}

static void end_task(int64_t s, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_data *d = g->data;
  const bl_sgauss_shared in = inputs(g);
  (void)thread;
  for (int64_t item = s * g->blocks; g->cut && item < (s + 1) * g->blocks; item++)
    pass_rows(g, item, gradient_of(g, s), true);
  bl_sgauss_end(&in, d->weight[g->base + s], tail_of(g, s * g->blocks), &g->value[g->base + s],
                g->gradient_local + (size_t)(d->n + d->k) * (size_t)(g->base + s));
}

static blica_status run_steps(bl_segments *g) {
  blica_status status = BLICA_OK;
  const size_t k = (size_t)g->data->k;
  const bl_places rows = {g->message, (size_t)bl_sgauss_most_rows(g->data->n, g->data->k) * k}, f = {g->f, k * k};
  const bl_places results[] = {{g->tails, bl_sgauss_tail_size(g->data->n, g->data->k)}, rows};
  const int64_t held = g->held_end - g->held,
                joined =
                    g->rows.first == g->rows.last ? 0 : (g->rows.last - 1) / g->blocks - g->rows.first / g->blocks + 1;
  bl_parallel(g->ctx, held, begin_task, g);
  bl_share_run(g->ctx, &g->rows, solve_task, g);
  if (g->cut) {
    TRY(bl_share_exchange(g->ctx, &g->rows, 1, &rows, NULL));
    bl_parallel(g->ctx, held * g->blocks, take_y, g);
  }
  if (!g->data->c) TRY(bl_products_run(&g->products, g->matrix, g->y));
  bl_share_run(g->ctx, &g->rows, fill_task, g);
  TRY(bl_share_exchange(g->ctx, &g->rows, 0, NULL, &f));
  bl_parallel(g->ctx, joined, join_task, g);
  bl_share_run(g->ctx, &g->rows, slopes_task, g);
  if (g->cut) TRY(bl_share_exchange(g->ctx, &g->rows, 2, results, NULL));
  bl_parallel(g->ctx, g->count, end_task, g);
done:
  return status;
}

double bl_segments_eval(bl_segments *g, const double *theta, const double *gram, double *gradient) {
  const bl_sgauss_data *d = g->data;
  const size_t nk = (size_t)d->n * (size_t)d->k, m = (size_t)(d->n + d->k);
  const bl_places lists[] = {{g->value, 1}, {g->gradient_local, m}}, sum = {g->gradient_a, nk};
  g->theta = theta, g->gram = gram;
  if (!g->steps)
    bl_share_run(g->ctx, &g->share, whole_segment, g);
  else if (run_steps(g) != BLICA_OK)
    return NAN; /* the fit ends with bl_comm_check */
  if (bl_share_exchange(g->ctx, &g->share, gradient ? 2 : 1, lists, gradient ? &sum : NULL) != BLICA_OK) return NAN;
  double value = 0;
  for (int s = 0; s < d->u; s++) value += g->value[s];
  if (!gradient) return value;
  memcpy(gradient, g->gradient_a, nk * sizeof *gradient);
  memcpy(gradient + nk, g->gradient_local, m * (size_t)d->u * sizeof *gradient);
  return value;
}
