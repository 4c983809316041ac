/* eigen.h - an estimator that is not part of the library, added as ARCHITECTURE.md says. */
#ifndef TESTS_EIGEN_H
#define TESTS_EIGEN_H

#include "estimate/estimate.h"

/* A from the leading eigenvectors of the mean correlation matrix, v from what each segment has along them. */
blica_status bl_estimate_eigen(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);

#endif
