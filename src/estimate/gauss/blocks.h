/* blocks.h - the blocks of a segment's matched Gaussian likelihood where values are missing (docs/method.md, equations
 * 34 to 36).
 *
 * A block is a list of items and a number of rows. Its correlations are those of the segment, pooled over all rows that
 * have both items; its noise is D of the items, or more where a value is missing in some of the rows:
 *   COMPLETE   all items, all rows, D;
 *   ITEM_SET   the rows that have one set of items, D; a segment has a block for each of its sets when they are few;
 *   RANDOM     all items that have values, all rows, D + tau (1/p - 1): values missing at random;
 *   PAIRWISE   the same where some pairs are hardly ever seen together: correlations, also those of the model, are
 *              multiplied by omega_ij = W_ij/(p_i p_j), and the noise is (1 + D)/p - 1. p and W are the shares of rows
 *              with a value of the item, of both.
 * Exact correlations put the minimum of each at the truth. */
#ifndef BL_BLOCKS_H
#define BL_BLOCKS_H

#include "base/base.h"
#include "estimate/gauss/matched_information.h"
#include "num/symmetric.h"

typedef enum { BL_BLOCK_COMPLETE, BL_BLOCK_ITEM_SET, BL_BLOCK_RANDOM, BL_BLOCK_PAIRWISE } bl_block_kind;

typedef struct {
  bl_block_kind kind;
  int n;           /* items */
  const int *item; /* [n], ascending; NULL: all */
  double share;    /* of the segment's weight */
} bl_block;

typedef struct {
  const blica_cor *cor;
  double link;
  const double *plain; /* [n,u] D */
  double *noise;       /* [n,u] D, or more: of the information about a segment as a whole, and of RANDOM and PAIRWISE */
  int64_t *first;      /* [u+1] blocks of each segment */
  bl_block *block;
} bl_blocks;

/* Borrows cor, in which values are missing, and plain; noise [n,u] is set and borrowed. Free with bl_free. */
blica_status bl_blocks_make(blica_ctx *ctx, const blica_cor *cor, double link, const double *plain, double *noise,
                            bl_blocks **out);
/* Sets the noise of segments with values missing at random by what the other items explain of each item at theta
 * = [ A | log v_1 | ... ] of k sources: tau_i = 1/((R + D)^-1)_ii. */
blica_status bl_blocks_retune(blica_ctx *ctx, bl_blocks *blocks, int k, const double *theta);
/* The value of segment s, of weight `weight`, and its gradient in A [n,k] and log v [k]. view: its correlations. work:
 * bl_blocks_work(n, k) doubles. */
double bl_blocks_eval(const bl_blocks *blocks, int s, int k, double weight, const bl_symmetric *view, const double *a,
                      const double *log_v, double *work, double *gradient_a, double *gradient_v);
size_t bl_blocks_work(int n, int k); /* doubles */

#endif
