/* products.c - see products.h and, for the parts and the tree that adds them, symmetric.h. */
#include "num/linear/products.h"

blica_status bl_products_make(blica_ctx *ctx, int n, int k, int count, bl_products *out) {
  blica_status status;
  *out = (bl_products){.ctx = ctx, .n = n, .k = k, .parts = bl_symmetric_parts(n)};
  TRY(bl_share_alone(ctx, (int64_t)count * out->parts, &out->items));
  out->items.tree = out->parts;
  TRY(bl_alloc(ctx, bl_mul(bl_mul((size_t)n, (size_t)k), (size_t)out->items.count), &out->sums));
  TRY(bl_alloc(ctx, bl_mul(bl_symmetric_tile(), (size_t)bl_max_threads(ctx)), &out->tiles));
done:
  if (status != BLICA_OK) bl_products_free(out);
  return status;
}

void bl_products_free(bl_products *p) {
  bl_share_free(&p->items);
  bl_free(p->sums);
  bl_free(p->tiles);
  *p = (bl_products){0};
}

static double *sum_of(const bl_products *p, int64_t item) {
  return p->sums + (size_t)p->n * (size_t)p->k * (size_t)item;
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
  bl_share_run(p->ctx, &p->items, part_task, p);
  return bl_share_exchange(p->ctx, &p->items, 0, NULL, &sum);
}

void bl_products_take(const bl_products *p, int s, const bl_symmetric *matrix, const double *x, int first, int last,
                      double *y) {
  const double *sum = sum_of(p, (int64_t)s * p->parts);
  for (size_t c = 0; c < (size_t)p->k; c++)
    for (size_t i = c * (size_t)p->n + (size_t)first, end = i + (size_t)(last - first); i < end; i++)
      y[i] = x[i] + matrix->scale * sum[i];
}
