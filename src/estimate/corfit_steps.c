/* corfit_steps.c - sums over pairs of all segments side by side, where there are fewer segments than threads or ranks:
 * the parts of all of them (corfit_pairs.c) are shared, and who owns a segment gets its parts and ends it. Same bits as
 * segment by segment (tests/unit/estimate/test_segments.c). */
#include <string.h>

#include "estimate/corfit.h"
#include "estimate/sgauss.h"

struct bl_corfit_steps {
  blica_ctx *ctx;
  const bl_corfit_data *data;
  const bl_share *share; /* of the segments */
  bool cut;              /* by all ranks */
  bl_share items;        /* parts of all segments, or of this rank's */
  int parts, base;       /* segment of the first item */
  int held, held_end;    /* segments of which this rank does anything */
  double *workspaces;    /* per segment held */
  size_t workspace_size, result_size;
  double *made;      /* results of this rank's items */
  double *got;       /* results of its own segments; the same when it makes them all */
  size_t *to, *from; /* [size] bytes */
  const double *theta;
  double *value, *gradient_a, *gradient_v;
};

void bl_corfit_steps_free(bl_corfit_steps *g) {
  if (!g) return;
  if (g->got != g->made) bl_free(g->got);
  bl_free(g->made);
  bl_free(g->workspaces);
  bl_free(g->to);
  bl_share_free(&g->items);
  bl_free(g);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Between ranks: results of parts go to the owners of their segments, which both have in the order of ranks. */
static blica_status plan_letters(blica_ctx *ctx, bl_corfit_steps *g) {
  blica_status status;
  const bl_share *s = g->share, *i = &g->items;
  TRY(bl_alloc(ctx, 2 * (size_t)s->size, &g->to));
  g->from = g->to + s->size;
  for (int r = 0; r < s->size; r++) {
    int64_t give = least(i->last, s->bound[r + 1] * g->parts) - most(i->first, s->bound[r] * g->parts);
    int64_t take = least(i->bound[r + 1], s->last * g->parts) - most(i->bound[r], s->first * g->parts);
    g->to[r] = (size_t)most(give, 0) * g->result_size * sizeof(double);
    g->from[r] = (size_t)most(take, 0) * g->result_size * sizeof(double);
  }
  TRY(bl_alloc(ctx, bl_mul(g->result_size, (size_t)((s->last - s->first) * g->parts)), &g->got));
done:
  return status;
}

blica_status bl_corfit_steps_make(blica_ctx *ctx, const bl_corfit_data *data, const bl_share *share,
                                  bl_corfit_steps **out) {
  blica_status status = BLICA_OK;
  bl_corfit_steps *g = NULL;
  const int parts = bl_corfit_parts(data->n), size = bl_comm(ctx)->size, n = data->n, k = data->k;
  const int64_t own = share->last - share->first;
  *out = NULL;
  /* counts of fits that ranks share are with the owners of the segments, as long as there are enough of these */
  const bool cut = data->u < size && (!bl_ranks_own_segments(n, k) || bl_ranks_cut_segments(n, k, data->u, size));
  if (!data->pair || parts == 1 || (!cut && !bl_sgauss_side_by_side(own, bl_max_threads(ctx)))) return BLICA_OK;
  TRY(bl_alloc(ctx, 1, &g));
  g->ctx = ctx, g->data = data, g->share = share, g->cut = cut, g->parts = parts;
  g->base = cut ? 0 : (int)share->first;
  g->workspace_size = bl_corfit_workspace_size(n, k), g->result_size = bl_corfit_result_size(n);
  TRY((cut ? bl_share_make : bl_share_alone)(ctx, (cut ? data->u : own) * parts, 0, &g->items));
  g->held = (int)share->first, g->held_end = (int)share->last;
  if (g->items.first < g->items.last) {
    int from = g->base + (int)(g->items.first / parts), to = g->base + (int)((g->items.last - 1) / parts) + 1;
    bool none = g->held == g->held_end;
    g->held = none ? from : (int)least(g->held, from);
    g->held_end = none ? to : (int)most(g->held_end, to);
  }
  TRY(bl_alloc(ctx, bl_mul(g->workspace_size, (size_t)(g->held_end - g->held)), &g->workspaces));
  TRY(bl_alloc(ctx, bl_mul(g->result_size, (size_t)(g->items.last - g->items.first)), &g->made));
  g->got = g->made;
  if (cut) {
    g->got = NULL;
    TRY(plan_letters(ctx, g));
  }
  *out = g;
  g = NULL;
done:
  bl_corfit_steps_free(g);
  return status;
}

static double *workspace_of(const bl_corfit_steps *g, int64_t s) {
  return g->workspaces + g->workspace_size * (size_t)(s - g->held);
}

static void begin_task(int64_t index, int thread, void *user) {
  const bl_corfit_steps *g = user;
  const size_t nk = (size_t)g->data->n * (size_t)g->data->k, k = (size_t)g->data->k;
  const int64_t s = g->held + index;
  (void)thread;
  bl_corfit_pairs_begin(g->data, g->theta, g->theta + nk + k * (size_t)s, workspace_of(g, s));
}

static void part_task(int64_t item, int thread, void *user) {
  const bl_corfit_steps *g = user;
  const int64_t s = g->base + item / g->parts;
  double *result = g->made + g->result_size * (size_t)(item - g->items.first);
  *result = BL_CORFIT_LEFT_OUT;
  if (bl_loop_stopped(g->ctx, thread)) return;
  bl_corfit_pairs_part(g->data, (int)s, g->data->pair, (int)(item % g->parts), workspace_of(g, s), result);
}

static void end_task(int64_t index, int thread, void *user) {
  const bl_corfit_steps *g = user;
  const size_t nk = (size_t)g->data->n * (size_t)g->data->k, k = (size_t)g->data->k,
               s = (size_t)(g->share->first + index);
  (void)thread;
  g->value[s] = bl_corfit_pairs_end(g->data, g->theta, workspace_of(g, (int64_t)s),
                                    g->got + g->result_size * (size_t)(g->parts * index), g->gradient_a + nk * s,
                                    g->gradient_v + k * s);
}

blica_status bl_corfit_steps_run(bl_corfit_steps *g, const double *theta, double *value, double *gradient_a,
                                 double *gradient_v) {
  blica_status status = BLICA_OK;
  g->theta = theta, g->value = value, g->gradient_a = gradient_a, g->gradient_v = gradient_v;
  bl_parallel(g->ctx, g->held_end - g->held, begin_task, g);
  bl_share_run(g->ctx, &g->items, part_task, g);
  if (g->cut) TRY(bl_all_to_all(g->ctx, g->made, g->to, g->got, g->from));
  bl_parallel(g->ctx, g->share->last - g->share->first, end_task, g);
done:
  return status;
}
