/* axes.h - by which angles the columns of the mixing matrix may be off. */
#ifndef BL_AXES_H
#define BL_AXES_H

#include "base/base.h"

/* Draws of A against the estimate: columns matched in order and sign, as by blica_compare. */
typedef struct {
  int n, k, draws;
  double *mixing; /* [n,k,draws] matched */
  int *match;     /* [k,draws] column of the draw for each of the estimate */
  double *sign;   /* [k,draws] */
  double *mcs;    /* [draws] */
  double *angle;  /* [k,draws] degrees */
} bl_axes;

/* Makes it for this number of draws, all empty; bl_free frees it. */
blica_status bl_axes_make(blica_ctx *ctx, int n, int k, int draws, bl_axes **out);
/* Takes draw number d. May be called for different d from several threads, each with a context of its own. */
blica_status bl_axes_take(blica_ctx *ctx, const blica_model *model, const double *mixing, int d, bl_axes *axes);
/* Root mean square [k] and 90 % quantile [k] of the angles, mean of the MCS; or medians in place of the first and the
 * last, to which the few draws whose fits ended elsewhere mean nothing. */
blica_status bl_axes_summary(blica_ctx *ctx, const bl_axes *axes, bool median, double *angle, double *bound,
                             double *mcs);
/* Draws from the normal distribution around the model's A with this covariance, [nk,nk], leading dimension p, without
 * changes of lengths of columns. */
blica_status bl_axes_normal(blica_ctx *ctx, const blica_model *model, const double *covariance, size_t p, uint64_t seed,
                            int draws, bl_axes **out);

#endif
