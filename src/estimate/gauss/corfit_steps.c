/* corfit_steps.c - sums over pairs of all segments side by side, where there are fewer segments than threads: these
 * share the parts (corfit_pairs.c) of all. Same bits as segment by segment (tests/unit/estimate/test_segments.c). */
#include "estimate/gauss/corfit.h"
#include "estimate/gauss/sgauss.h"

struct bl_corfit_steps {
  blica_ctx *ctx;
  const bl_corfit_data *data;
  const bl_share *share; /* of the segments among ranks; s below counts from this rank's first */
  int parts;             /* of a segment */
  double *workspaces;    /* per segment */
  size_t workspace_size, result_size;
  double *results; /* per part */
  const double *theta;
  double *value, *gradient_a, *gradient_v;
};

blica_status bl_corfit_steps_make(blica_ctx *ctx, const bl_corfit_data *data, const bl_share *share,
                                  bl_corfit_steps **out) {
  blica_status status = BLICA_OK;
  BL_OWNED bl_corfit_steps *g = NULL;
  const int parts = bl_corfit_parts(data->n);
  const int64_t segments = share->last - share->first;
  *out = NULL;
  if (!data->pair || parts == 1 || !bl_sgauss_side_by_side(segments, bl_max_threads(ctx))) return BLICA_OK;
  TRY(bl_alloc(ctx, 1, &g));
  g->ctx = ctx, g->data = data, g->share = share, g->parts = parts;
  g->workspace_size = bl_corfit_workspace_size(data->n, data->k), g->result_size = bl_corfit_result_size(data->n);
  TRY(bl_alloc_for(ctx, g, bl_mul(g->workspace_size, (size_t)segments), &g->workspaces));
  TRY(bl_alloc_for(ctx, g, bl_mul(g->result_size, (size_t)(segments * parts)), &g->results));
  *out = bl_take(&g);
done:
  return status;
}

static double *workspace_of(const bl_corfit_steps *g, int64_t s) {
  return g->workspaces + g->workspace_size * (size_t)s;
}

static void begin_task(int64_t s, int thread, void *user) {
  const bl_corfit_steps *g = user;
  const size_t nk = (size_t)g->data->n * (size_t)g->data->k, k = (size_t)g->data->k;
  (void)thread;
  bl_corfit_pairs_begin(g->data, g->theta, g->theta + nk + k * (size_t)(g->share->first + s), workspace_of(g, s));
}

static void part_task(int64_t item, int thread, void *user) {
  const bl_corfit_steps *g = user;
  const int64_t s = item / g->parts;
  double *result = g->results + g->result_size * (size_t)item;
  *result = BL_CORFIT_LEFT_OUT;
  if (bl_loop_stopped(g->ctx, thread)) return;
  bl_corfit_pairs_part(g->data, (int)(g->share->first + s), (int)(item % g->parts), workspace_of(g, s), result);
}

static void end_task(int64_t s, int thread, void *user) {
  const bl_corfit_steps *g = user;
  const size_t nk = (size_t)g->data->n * (size_t)g->data->k, k = (size_t)g->data->k, at = (size_t)(g->share->first + s);
  (void)thread;
  g->value[at] =
      bl_corfit_pairs_end(g->data, g->theta, workspace_of(g, s), g->results + g->result_size * (size_t)(g->parts * s),
                          g->gradient_a + nk * at, g->gradient_v + k * at);
}

void bl_corfit_steps_run(bl_corfit_steps *g, const double *theta, double *value, double *gradient_a,
                         double *gradient_v) {
  const int64_t segments = g->share->last - g->share->first;
  g->theta = theta, g->value = value, g->gradient_a = gradient_a, g->gradient_v = gradient_v;
  bl_parallel(g->ctx, segments, begin_task, g);
  bl_parallel(g->ctx, segments * g->parts, part_task, g);
  bl_parallel(g->ctx, segments, end_task, g);
}
