/* ivae.h - the loss of the linear iVAE and its gradient, over packed rows. */
#ifndef BL_IVAE_H
#define BL_IVAE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

typedef struct bl_ivae bl_ivae;

/* Parameters, in the order of the published code, each matrix by rows: prior Wm [k,u], bm [k],
 * Wl [k,u], bl [k]; decoder Wf [n,k]; encoder Wg [k,n+u], bg [k], Wv [k,n+u], bv [k]. */
typedef struct {
  int n, k, u;
  size_t prior_mean, prior_mean_bias, prior_log, prior_log_bias, decoder, mean, mean_bias, log, log_bias; /* offsets */
  size_t size;
} bl_ivae_layout;

bl_ivae_layout bl_ivae_layout_of(int n, int k, int u); /* for these sizes */

/* Copies the rows, with a noise vector for each; analytic or single-sample KL. The noise is zero until one of the two
 * noise calls. Free with bl_free. */
blica_status bl_ivae_create(blica_ctx *ctx, const blica_data *data, int k, bool analytic, bl_ivae **out);

/* Noise of a row is a function of the seed and of the row's place alone. Rows count segment after segment. */
void bl_ivae_noise(bl_ivae *ivae, uint64_t seed);
void bl_ivae_noise_set(bl_ivae *ivae, const double *eps /* [k,rows] */);

/* Mean over rows of the negative ELBO; the gradient too unless it is NULL. */
double bl_ivae_loss(blica_ctx *ctx, bl_ivae *ivae, const double *theta, double *gradient);

#endif
