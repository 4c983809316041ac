/* sgauss_segments.c - the terms of all segments without lanes, shared by threads and ranks.
 *
 * With segments enough, a thread does one after the other, and ranks exchange what came out. When there are fewer
 * segments than threads, the steps of all segments (sgauss_kernels.h) are done side by side, each over blocks of rows
 * or parts of the product with C. Both ways do the same operations in the same order, so they give the same bits
 * (tests/unit/estimate/test_segments.c). */
#include <math.h>
#include <string.h>

#include "estimate/gauss/sgauss_kernels.h"
#include "num/products.h"

struct bl_segments {
  blica_ctx *ctx;
  const bl_sgauss_data *data;
  bl_share share;                 /* of the segments among ranks */
  double *value;                  /* [u] */
  double *gradient_a;             /* [n,k,u] */
  double *gradient_local;         /* [k+n,u] */
  int blocks;                     /* of rows */
  double *workspaces, *f, *tails; /* per thread, or per segment in steps: a workspace, [k,k] and tail per block */
  size_t workspace_size;
  bool steps;           /* side by side: */
  bl_products products; /* from packed pairs */
  bl_symmetric *matrix; /* [this rank's segments] */
  const double **y;     /* the same */
  const double *theta, *gram;
};

void bl_segments_free(bl_segments *g) {
  if (!g) return;
  bl_share_free(&g->share);
  bl_products_free(&g->products);
  bl_free(g);
}

static int own_segments(const bl_segments *g) {
  return (int)(g->share.last - g->share.first);
}

static blica_status make_steps(blica_ctx *ctx, bl_segments *g) {
  blica_status status = BLICA_OK;
  const bl_sgauss_data *d = g->data;
  const int count = own_segments(g);
  if (!d->c) TRY(bl_products_make(ctx, d->n, d->k, count, &g->products));
  TRY(bl_alloc_for(ctx, g, (size_t)count, &g->matrix));
  TRY(bl_alloc_for(ctx, g, (size_t)count, &g->y));
  for (int s = 0; s < count; s++) {
    g->matrix[s] = bl_sgauss_view(d, (int)g->share.first + s);
    g->y[s] = bl_sgauss_workspace_at(d->n, d->k, g->workspaces + g->workspace_size * (size_t)s).y;
  }
done:
  return status;
}

blica_status bl_segments_make(blica_ctx *ctx, const bl_sgauss_data *data, bl_segments **out) {
  blica_status status;
  bl_segments *g = NULL;
  const size_t n = (size_t)data->n, k = (size_t)data->k, u = (size_t)data->u;
  const int threads = bl_max_threads(ctx);
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &g));
  g->ctx = ctx, g->data = data, g->blocks = bl_sgauss_blocks(data->n, data->k);
  TRY(bl_share_make(ctx, data->u, bl_sgauss_groups(data->n, data->k, data->u), &g->share));
  g->steps = bl_sgauss_worth(data->n, data->k) && bl_sgauss_side_by_side(own_segments(g), threads);
  TRY(bl_alloc_for(ctx, g, u, &g->value));
  TRY(bl_alloc_for(ctx, g, bl_mul(n * k, u), &g->gradient_a));
  TRY(bl_alloc_for(ctx, g, bl_mul(n + k, u), &g->gradient_local));
  const size_t places = (size_t)(g->steps ? own_segments(g) : threads), blocks = places * (size_t)g->blocks;
  g->workspace_size = bl_sgauss_workspace_size(data->n, data->k);
  if (!g->steps) g->workspace_size += bl_symmetric_work(data->n, data->k);
  g->workspace_size = (g->workspace_size + 7) / 8 * 8;
  TRY(bl_alloc_for(ctx, g, bl_mul(g->workspace_size, places), &g->workspaces));
  TRY(bl_alloc_for(ctx, g, bl_mul(k * k, blocks), &g->f));
  TRY(bl_alloc_for(ctx, g, bl_mul(bl_sgauss_tail_size(data->n, data->k), blocks), &g->tails));
  if (g->steps) TRY(make_steps(ctx, g));
  *out = bl_take(&g);
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

/* ---- this rank's segments side by side: s counts from its first ---- */

static bl_sgauss_workspace workspace_of(const bl_segments *g, int64_t s) {
  return bl_sgauss_workspace_at(g->data->n, g->data->k, g->workspaces + g->workspace_size * (size_t)s);
}
static const double *local_of(const bl_segments *g, int64_t s) {
  return g->theta + bl_sgauss_local(g->data, (int)(g->share.first + s));
}
static double *tail_of(const bl_segments *g, int64_t item) {
  return g->tails + bl_sgauss_tail_size(g->data->n, g->data->k) * (size_t)item;
}
static double *f_of(const bl_segments *g, int64_t item) {
  return g->f + (size_t)g->data->k * (size_t)g->data->k * (size_t)item;
}

static void begin_task(int64_t s, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  (void)thread;
  bl_sgauss_begin(&in, local_of(g, s), &workspace, tail_of(g, s * g->blocks));
}

static void solve_task(int64_t item, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const int64_t s = item / g->blocks;
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  (void)thread;
  bl_sgauss_solve(&in, local_of(g, s), &workspace, (int)(item % g->blocks));
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

static void join_task(int64_t s, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  (void)thread;
  add_blocks((size_t)in.k * (size_t)in.k, g->blocks, f_of(g, s * g->blocks));
  bl_sgauss_join(&in, &workspace, f_of(g, s * g->blocks));
}

static void slopes_task(int64_t item, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const int64_t s = item / g->blocks, at = g->share.first + s;
  const bl_sgauss_workspace workspace = workspace_of(g, s);
  (void)thread;
  bl_sgauss_slopes(&in, &g->matrix[s], g->data->weight[at], local_of(g, s), &workspace, f_of(g, s * g->blocks),
                   (int)(item % g->blocks), g->gradient_a + (size_t)in.n * (size_t)in.k * (size_t)at, tail_of(g, item));
}

static void end_task(int64_t s, int thread, void *user) {
  const bl_segments *g = user;
  const bl_sgauss_shared in = inputs(g);
  const int64_t at = g->share.first + s;
  (void)thread;
  bl_sgauss_end(&in, g->data->weight[at], tail_of(g, s * g->blocks), &g->value[at],
                g->gradient_local + (size_t)(in.n + in.k) * (size_t)at);
}

static blica_status run_steps(bl_segments *g) {
  blica_status status = BLICA_OK;
  const int64_t segments = own_segments(g), items = segments * g->blocks;
  bl_parallel(g->ctx, segments, begin_task, g);
  bl_parallel(g->ctx, items, solve_task, g);
  if (!g->data->c) TRY(bl_products_run(&g->products, g->matrix, g->y));
  bl_parallel(g->ctx, items, fill_task, g);
  bl_parallel(g->ctx, segments, join_task, g);
  bl_parallel(g->ctx, items, slopes_task, g);
  bl_parallel(g->ctx, segments, end_task, g);
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
