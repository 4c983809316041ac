/* rivals.h - the inside of the paper's competitors: whitening of pooled binary rows and the fixed-point iterations of
 * fastICA; the loss of the linear iVAE and its gradient, over packed rows. */
#ifndef BL_RIVALS_H
#define BL_RIVALS_H

#include "files/stage.h"
#include "num/simd.h"

/* ---- fastICA ---- */

typedef struct bl_fastica bl_fastica;

/* Merges equal rows of all segments and whitens them to k components of unit variance. counts are those of data. Free
 * with bl_free. */
blica_status bl_fastica_create(blica_ctx *ctx, const blica_data *data, const blica_counts *counts, int k,
                               bl_fastica **out);
const double *
bl_fastica_whitening(const bl_fastica *fastica); /* [n,k]: its transpose takes x - mean to unit variance */
const double *bl_fastica_dewhitening(const bl_fastica *fastica); /* [n,k]: the transpose's pseudo-inverse */
int64_t bl_fastica_patterns(const bl_fastica *fastica);          /* distinct rows */

typedef struct {
  blica_contrast contrast;
  int64_t max_iterations;
  double tolerance; /* on 1 - |cos| between one iteration's direction and the next */
  int (*hook)(int64_t iteration, double change, void *user); /* may be NULL; as bl_iteration_hook */
  void *user;
  bl_stage *stage; /* where a checkpoint keeps the state; may be NULL */
} bl_fastica_options;

typedef struct {
  int64_t iterations;
  double change; /* the last 1 - |cos|, the largest over components */
  bool converged;
} bl_fastica_result;

/* With a stage that a checkpoint has, takes up its state. From w [k,k] to the unmixing of the whitened data in place,
 * orthogonal: a component in each column. */
blica_status bl_fastica_run(blica_ctx *ctx, bl_fastica *fastica, const bl_fastica_options *options, double *w,
                            bl_fastica_result *result);
/* sum_j (E G(w_j x) - E G(normal))^2, what the iterations make large. */
double bl_fastica_negentropy(bl_fastica *fastica, blica_contrast contrast, const double *w);

/* Covariance of rows counted in segments first..end-1, missing values at the mean, into c [n,n]. */
void bl_pooled_covariance(const blica_counts *counts, int first, int end, double *mean /* [n] */, double *c);

/* ---- iVAE ---- */

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

/* ---- elementary functions of many numbers, in SIMD lanes, with the same bits at every level ---- */

/* Arrays are read and written up to the next multiple of BL_LANES. */
/* x <- e^x; above 709 as at 709. */
BL_KERNEL(void, bl_exponentials, size_t count, double *x);
/* value <- log(1 + e^x) and x <- its derivative 1/(1 + e^-x). */
BL_KERNEL(void, bl_softplus, size_t count, double *x, double *value);
/* y <- g(y) and second <- g'(y), g the derivative of the contrast function of fastICA. */
BL_KERNEL(void, bl_contrast_slopes, blica_contrast contrast, size_t count, double *y, double *second);

#endif
