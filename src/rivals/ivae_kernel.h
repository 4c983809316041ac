/* ivae_kernel.h - loss and gradient of the linear iVAE over one piece of rows of one segment.
 * All instruction sets give the same bits. */
#ifndef BL_IVAE_KERNEL_H
#define BL_IVAE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "blica.h"
#include "num/simd.h"

enum { BL_IVAE_HEIGHT = 64 }; /* rows in a panel: its buffers fit the first or second cache */

/* What is the same for all rows of one evaluation. Values are t = 1 - 2x: +1 for x = 0, -1 for x = 1 and 0 for a
 * missing value, whose softplus(t a) is then the constant log 2 and whose encoder input is x = 1/2. */
typedef struct {
  int n, k;
  bool analytic, gradient;
  const double *decoder;   /* w[c * n + j] = Wf[j,c] */
  const double *decoder_t; /* w[j * k + c] */
  const double *encoder;   /* w[i * 2k + c]: -1/2 (Wg above Wv)[c,i] */
} bl_ivae_shared;

typedef struct {
  const float *t;    /* panels of [n][height] */
  const double *eps; /* panels of [k][height] */
  int64_t rows;
  const double *start;                     /* [2k] encoder output at t = 0 */
  const double *mean, *logvar, *precision; /* [k] prior; precision = exp(-logvar) */
} bl_ivae_rows;

/* Buffers of one thread. Sums over rows are kept as eight partial sums. */
typedef struct {
  double *t, *encoded, *sd, *z, *a, *dz, *dencoded; /* [n|2k|k|k|n|k|2k][height] */
  double *row_weight, *row_loss, *row;              /* [height] */
  double *grad_decoder, *grad_encoder;              /* [n][k][8], [2k][n][8]: added to over pieces */
  double *sums;                                     /* [4k][8]: of dmu, dw, r, 1 - (z-m)^2 exp(-l) */
} bl_ivae_work;

enum { BL_IVAE_SUM_MEAN, BL_IVAE_SUM_LOG, BL_IVAE_SUM_PRIOR_MEAN, BL_IVAE_SUM_PRIOR_LOG, BL_IVAE_SUMS };

/* Returns the sum of the loss over the rows; sums [4k] are over these rows. */
BL_KERNEL(double, bl_ivae_piece, const bl_ivae_shared *shared, const bl_ivae_rows *rows, const bl_ivae_work *work,
          double *sums);

#endif
