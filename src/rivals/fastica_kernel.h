/* fastica_kernel.h - sums of fastICA over panels of whitened patterns. All instruction sets give
 * the same bits. */
#ifndef BL_FASTICA_KERNEL_H
#define BL_FASTICA_KERNEL_H

#include <stdint.h>

#include "base/base.h"
#include "num/simd.h"

enum { BL_FASTICA_STEP, BL_FASTICA_VALUE, BL_FASTICA_WHITEN };

typedef struct {
  int k, m, height; /* inputs, outputs, rows of a panel (a multiple of 16) */
  blica_contrast contrast;
  const double *w; /* w[c * m + j] takes input c to output j */
} bl_fastica_shared;

/* what = STEP: adds sum weight g(y_j) x_c to products [m][k][8] and sum weight g'(y_j) to sums [m][8], y = w'x.
 * what = VALUE: adds sum weight G(y_j) to sums. what = WHITEN: only y [m][height] is set. row is [height]. */
BL_KERNEL(void, bl_fastica_panel, int what, const bl_fastica_shared *shared, const double *x, const double *weight,
          double *y, double *row, double *products, double *sums);

#endif
