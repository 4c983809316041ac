/* products.h - several symmetric matrices in packed pairs, each multiplied by its own vectors: the parts of all
 * products are shared by threads and, when asked for, by ranks. Same bits as bl_symmetric_product. */
#ifndef BL_PRODUCTS_H
#define BL_PRODUCTS_H

#include "base/share.h"
#include "num/symmetric.h"

typedef struct {
  blica_ctx *ctx;
  int n, k, count, parts;     /* matrices, parts of each */
  bl_share share;             /* of all parts; alone, this rank has them all */
  double *sums;               /* [n,k] per part that this rank makes or gets */
  double *tiles;              /* per thread */
  const bl_symmetric *matrix; /* [count] of the product in hand */
  const double *const *x;     /* [count] */
} bl_products;

/* With ranks, every rank has the parts share.first..share.last-1 to make (part p of matrix s is item s parts + p), and
 * all must call bl_products_run together. */
blica_status bl_products_make(blica_ctx *ctx, int n, int k, int count, bool ranks, bl_products *out);
void bl_products_free(bl_products *p);

/* Of `count` such matrices whose pairs stand one after the other, rank r has those from bound[r] up to bound[r+1] to
 * multiply; makes bound [ranks+1]. */
blica_status bl_products_bounds(blica_ctx *ctx, int n, int count, int64_t **bound);

/* matrix s of x[s] [n,k] for all s; where x[s] is NULL, here and on the other ranks that have parts of it, nothing is
 * computed. A rank needs the matrices, and the vectors, of its own parts only. */
blica_status bl_products_run(bl_products *p, const bl_symmetric *matrix, const double *const *x);
/* Rows first..last-1 of that product into y [n,k] (x as it was given; alone or of any rank). */
void bl_products_take(const bl_products *p, int s, const bl_symmetric *matrix, const double *x, int first, int last,
                      double *y);

#endif
