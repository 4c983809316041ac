/* corfit_run.h - the fit of an objective over correlations from several starts. */
#ifndef BL_CORFIT_RUN_H
#define BL_CORFIT_RUN_H

#include "estimate/gauss/corfit.h"
#include "estimate/estimate.h"

/* nk up to which the Hessian is formed to learn priors; beyond it every parameter counts as determined. */
enum { BL_LAPLACE_MAX = 200 };

/* Runs the starts that the options ask for, learns the scales of the priors when they are to be learned (in data), and
 * fills mixing, variances and fit of the model from the best. constant is added to objectives. */
blica_status bl_corfit_run(blica_ctx *ctx, const bl_problem *problem, bl_corfit_data *data, double constant,
                           blica_model *model);

#endif
