/* products.h - several symmetric matrices in packed pairs, each multiplied by its own vectors: the parts of all
 * products are shared by threads. Same bits as bl_symmetric_product. */
#ifndef BL_PRODUCTS_H
#define BL_PRODUCTS_H

#include "base/share.h"
#include "num/linear/symmetric.h"

typedef struct {
  blica_ctx *ctx;
  int n, k, parts;            /* parts of each matrix */
  bl_share items;             /* the parts of all */
  double *sums;               /* [n,k] per part */
  double *tiles;              /* per thread */
  const bl_symmetric *matrix; /* [count] of the product in hand */
  const double *const *x;     /* [count] */
} bl_products;

/* Room for products of `count` matrices with k vectors each. */
blica_status bl_products_make(blica_ctx *ctx, int n, int k, int count, bl_products *out);
void bl_products_free(bl_products *p);

/* matrix s of x[s] [n,k] for all s; where x[s] is NULL, nothing is computed. */
blica_status bl_products_run(bl_products *p, const bl_symmetric *matrix, const double *const *x);
/* Rows first..last-1 of that product into y [n,k]; x as it was given. */
void bl_products_take(const bl_products *p, int s, const bl_symmetric *matrix, const double *x, int first, int last,
                      double *y);

#endif
