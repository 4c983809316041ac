/* method.h - the table of estimators (method.c), for the pipeline of a fit. Estimators do not include it. */
#ifndef BL_METHOD_H
#define BL_METHOD_H

#include "counts/counts.h"
#include "estimate/estimate.h"

/* The estimator that the options name, with `auto` resolved; NULL when there is none of that name. */
const bl_estimator *bl_method_of(const blica_fit_options *options, bool exact);

#endif
