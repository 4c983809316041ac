/* sgauss_kernels.h - one block (lanes) or one segment (dense) of the scaled Gaussian likelihood. */
#ifndef BL_SGAUSS_KERNELS_H
#define BL_SGAUSS_KERNELS_H

#include "estimate/gauss/sgauss.h"

/* Inputs that all segments share, and where one thread works. */
typedef struct {
  int n, k;
  double link;
  const double *a;    /* [n,k] */
  const double *gram; /* [k,k] A'A */
  double *work;       /* bl_sgauss_lanes_work() doubles, with lanes */
} bl_sgauss_shared;

/* Where the scales q are so small that D = Q^-1 C Q^-1 swamps the noise's unit variance, the value is NaN: beyond
 * this share differences would be rounding. */
#define BL_SGAUSS_MAX_D 1e9

/* Workspace: b, root b, 1/root b [k each]; w [n]; L, W, U [k,k]; X, Y, E [n,k]; F [k,k]; gradient [n,k]. */
static inline size_t bl_sgauss_lanes_work(int n, int k) {
  return (size_t)BL_LANES * (3 * k + n + 4 * k * k + 4 * n * k);
}

/* Eight segments. c [n,n] vectors; local parameters log v [k], log q [n] as vectors in `local`; outputs: f, the
 * gradient of A summed over lanes in lane order [n,k], and the local gradients in `local_gradient` [k+n]. */
BL_KERNEL(void, bl_sgauss_lanes, const bl_sgauss_shared *shared, const bl_v *c, const bl_v *weight, const bl_v *local,
          double *value, double *gradient_a, bl_v *local_gradient);

/* One segment by BLAS, in steps that threads can share. Rows of [n,k] matrices come in blocks, a power of two
 * of them that depends on n and k alone, and sums over rows run over a tree of the blocks: the same bits whoever does
 * what. */
int bl_sgauss_blocks(int n, int k);
void bl_sgauss_rows(int n, int k, int block, int *first, int *last); /* rows first..last-1 of a block */

/* What a segment's steps leave for each other; of the arrays with rows, a step needs those of its own block. */
typedef struct {
  double *b, *root;  /* [k] c v, and its root */
  double *w;         /* [n] 1/q */
  double *l;         /* [k,k] Cholesky factor of I + B'B */
  double *x, *y, *e; /* [n,k] K A, Q^-1 K A, Q^-1 C Q^-1 K A */
} bl_sgauss_workspace;
size_t bl_sgauss_workspace_size(int n, int k);                        /* doubles */
bl_sgauss_workspace bl_sgauss_workspace_at(int n, int k, double *at); /* its arrays, in memory of that size */

/* Each block's share of the value and of the gradient of log v and log q. */
size_t bl_sgauss_tail_size(int n, int k);

/* b, root, l; the tail of the first block gets the log determinant, NaN when I + B'B cannot be factored. */
void bl_sgauss_begin(const bl_sgauss_shared *shared, const double *local, const bl_sgauss_workspace *workspace,
                     double *tail);
/* Rows of w, x and y. Then comes e = C y, from packed pairs. */
void bl_sgauss_solve(const bl_sgauss_shared *shared, const double *local, const bl_sgauss_workspace *workspace,
                     int block);
/* Rows of e (where C is full, the product too, from all rows of y), and f [k,k], the block's share of A'E. */
void bl_sgauss_fill(const bl_sgauss_shared *shared, const bl_symmetric *c, const bl_sgauss_workspace *workspace,
                    int block, double *f);
/* From f, the sum over blocks, to diag(b) f. */
void bl_sgauss_join(const bl_sgauss_shared *shared, const bl_sgauss_workspace *workspace, double *f);
/* Rows of the gradient by A, and the block's tail. */
void bl_sgauss_slopes(const bl_sgauss_shared *shared, const bl_symmetric *c, double weight, const double *local,
                      const bl_sgauss_workspace *workspace, const double *f, int block, double *gradient_a,
                      double *tail);
/* From the tails of all blocks. */
void bl_sgauss_end(const bl_sgauss_shared *shared, double weight, const double *tails, double *value,
                   double *local_gradient);

/* All terms without lanes (sgauss_segments.c): f without penalties, and its gradient, which may be NULL. */
typedef struct bl_segments bl_segments;
blica_status bl_segments_make(blica_ctx *ctx, const bl_sgauss_data *data, bl_segments **out); /* borrows the data */
void bl_segments_free(bl_segments *segments);
/* At theta; gram [k,k] is A'A. */
double bl_segments_eval(bl_segments *segments, const double *theta, const double *gram, double *gradient);

#endif
