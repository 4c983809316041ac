/* sgauss_kernels.h - one block (lanes) or one segment (dense) of the scaled Gaussian likelihood. */
#ifndef BL_SGAUSS_KERNELS_H
#define BL_SGAUSS_KERNELS_H

#include "estimate/sgauss.h"

/* Inputs that all segments share, and where one thread works. */
typedef struct {
  int n, k;
  double link;
  const double *a;    /* [n,k] */
  const double *gram; /* [k,k] A'A */
  double *work;       /* bl_sgauss_*_work() doubles */
} bl_sgauss_shared;

/* Where the scales q are so small that D = Q^-1 C Q^-1 swamps the noise's unit variance, the value is NaN: beyond
 * this share differences would be rounding. */
#define BL_SGAUSS_MAX_D 1e9

size_t bl_sgauss_lanes_work(int n, int k);
size_t bl_sgauss_dense_work(int n, int k);

/* Eight segments. c [n,n] vectors; local parameters log v [k], log q [n] as vectors in `local`; outputs: f, the
 * gradient of A summed over lanes in lane order [n,k], and the local gradients in `local_gradient` [k+n]. */
void bl_sgauss_lanes(const bl_sgauss_shared *shared, blica_simd level, const bl_v8 *c, const bl_v8 *weight,
                     const bl_v8 *local, double *value, double *gradient_a, bl_v8 *local_gradient);

/* One segment by BLAS; same meaning. value is NaN when I + B'B cannot be factored. */
void bl_sgauss_dense(const bl_sgauss_shared *shared, const bl_symmetric *c, double weight, const double *local,
                     double *value, double *gradient_a, double *local_gradient);

#endif
