/* fastica.h - whitening of pooled binary rows, and the fixed-point iterations of fastICA. */
#ifndef BL_FASTICA_H
#define BL_FASTICA_H

#include <stdint.h>

#include "files/stage.h"

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

#endif
