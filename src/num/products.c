/* products.c - see products.h and, for the parts and the tree that adds them, symmetric.h. */
#include "num/products.h"

blica_status bl_products_make(blica_ctx *ctx, int n, int k, int count, bool ranks, bl_products *out) {
  blica_status status;
  size_t places = 0;
  *out = (bl_products){.ctx = ctx, .n = n, .k = k, .count = count, .parts = bl_symmetric_parts(n)};
  TRY((ranks ? bl_share_make : bl_share_alone)(ctx, (int64_t)count * out->parts, 0, &out->share));
  TRY(bl_share_groups(ctx, &out->share, out->parts, &places));
  TRY(bl_alloc(ctx, bl_mul(bl_mul((size_t)n, (size_t)k), places), &out->sums));
  TRY(bl_alloc(ctx, bl_mul(bl_symmetric_tile(), (size_t)bl_max_threads(ctx)), &out->tiles));
done:
  if (status != BLICA_OK) bl_products_free(out);
  return status;
}

blica_status bl_products_bounds(blica_ctx *ctx, int n, int count, int64_t **bound) {
  const int parts = bl_symmetric_parts(n);
  bl_share share;
  blica_status status = bl_share_make(ctx, (int64_t)count * parts, 0, &share);
  *bound = NULL;
  if (status != BLICA_OK) return status;
  for (int r = 0; r <= share.size; r++)
    share.bound[r] =
        share.bound[r] / parts * bl_symmetric_before(n, parts) + bl_symmetric_before(n, (int)(share.bound[r] % parts));
  *bound = share.bound;
  share.bound = NULL;
  bl_share_free(&share);
  return BLICA_OK;
}

void bl_products_free(bl_products *p) {
  bl_share_free(&p->share);
  bl_free(p->sums);
  bl_free(p->tiles);
  *p = (bl_products){0};
}

static double *sum_of(const bl_products *p, int64_t item) {
  return p->sums + (size_t)p->n * (size_t)p->k * (size_t)p->share.slot[item];
}

static void part_task(int64_t item, int thread, void *user) {
  const bl_products *p = user;
  int s = (int)(item / p->parts), part = (int)(item % p->parts);
  if (p->x[s])
    bl_symmetric_part(&p->matrix[s], part, p->k, p->x[s], sum_of(p, item),
                      p->tiles + bl_symmetric_tile() * (size_t)thread);
}

blica_status bl_products_run(bl_products *p, const bl_symmetric *matrix, const double *const *x) {
  const bl_places sum = {p->sums, (size_t)p->n * (size_t)p->k};
  p->matrix = matrix, p->x = x;
  bl_share_run(p->ctx, &p->share, part_task, p);
  return bl_share_exchange(p->ctx, &p->share, 0, NULL, &sum);
}

void bl_products_take(const bl_products *p, int s, const bl_symmetric *matrix, const double *x, int first, int last,
                      double *y) {
  const double *sum = sum_of(p, (int64_t)s * p->parts);
  for (size_t c = 0; c < (size_t)p->k; c++)
    for (size_t i = c * (size_t)p->n + (size_t)first, end = i + (size_t)(last - first); i < end; i++)
      y[i] = x[i] + matrix->scale * sum[i];
}
