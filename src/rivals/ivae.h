/* ivae.h - the loss of the linear iVAE and its gradient, over packed rows. */
#ifndef BL_IVAE_H
#define BL_IVAE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "num/simd.h"

typedef struct bl_ivae bl_ivae;

/* Parameters, in the order of the published code, each matrix by rows: prior Wm [k,u], bm [k],
 * Wl [k,u], bl [k]; decoder Wf [n,k]; encoder Wg [k,n+u], bg [k], Wv [k,n+u], bv [k]. */
typedef struct {
  int n, k, u;
  size_t prior_mean, prior_mean_bias, prior_log, prior_log_bias, decoder, mean, mean_bias, log, log_bias; /* offsets */
  size_t size;
} bl_ivae_layout;

bl_ivae_layout bl_ivae_layout_of(int n, int k, int u); /* for these sizes */

/* Copies the rows into panels, with a noise vector for each; analytic or single-sample KL. The noise is zero until
 * one of the two noise calls. */
blica_status bl_ivae_create(blica_ctx *ctx, const blica_data *data, int k, bool analytic, bl_ivae **out);
void bl_ivae_free(bl_ivae *ivae);

/* Noise of a row is a function of the seed and of the row's place alone. Rows count segment after segment. */
void bl_ivae_noise(blica_ctx *ctx, bl_ivae *ivae, uint64_t seed);
void bl_ivae_noise_set(bl_ivae *ivae, const double *eps /* [rows] rows of k */);

/* Mean over rows of the negative ELBO; the gradient too unless it is NULL. Same bits for any number of
 * threads and any instruction set. */
double bl_ivae_loss(blica_ctx *ctx, bl_ivae *ivae, const double *theta, double *gradient);

/* ---- one piece of rows of one segment (ivae_kernel.c): the same bits at every SIMD level ---- */

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
