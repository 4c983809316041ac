/* sampler.h - the gradient of the full likelihood by Gibbs sampling of the latent variables: without the bias of
 * numerical integration, at a cost that grows with rows times n^2. */
#ifndef BL_SAMPLER_H
#define BL_SAMPLER_H

#include "files/stage.h"
#include "likelihood/likelihood.h"

typedef struct bl_sampler bl_sampler;

/* patterns and segment (segment of the model for each segment of the data) are borrowed. */
blica_status bl_sampler_make(blica_ctx *ctx, const bl_patterns *patterns, const int *segment, int n, int k, int u,
                             uint64_t seed, bl_sampler **out);
void bl_sampler_free(bl_sampler *sampler);

/* Chains begin anew; the next gradient is the first of this round, which has random numbers of its own. */
void bl_sampler_restart(bl_sampler *sampler, int round);

/* The state of all chains, for a checkpoint: gathered on every rank (a call of all ranks), then passed. */
blica_status bl_sampler_gather(blica_ctx *ctx, bl_sampler *sampler);
/* Passes the state of all chains, which were gathered before. */
void bl_sampler_pass(bl_state *state, bl_sampler *sampler);

/* Runs so many sweeps of every chain at these parameters; the mean over them estimates the gradient of the
 * log-likelihood. BLICA_ERR_INTERRUPTED: the poll said stop, and the chains are to be restarted. */
blica_status bl_sampler_gradient(blica_ctx *ctx, bl_sampler *sampler, const bl_params *params, int sweeps,
                                 double *g_mixing /* [n,k] */, double *g_log_variance /* [k,u] */,
                                 double *g_mean /* [k,u] */, double *g_cut /* [cuts] or NULL */);

#endif
