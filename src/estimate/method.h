/* method.h - the table of estimators (method.c), for the pipeline of a fit. Estimators do not include it. */
#ifndef BL_METHOD_H
#define BL_METHOD_H

#include "counts/counts.h"
#include "estimate/estimate.h"

/* auto, and the methods that fit, select and segment may use: the words of their options. */
extern const char bl_fit_methods[], bl_select_methods[], bl_segment_methods[];

/* The estimator of that name; NULL when there is none, as for a model that was not fitted. */
const bl_estimator *bl_method_named(const char *name);
/* What the errors of the model come from. One that was not fitted has those of its correlations. */
bl_covariance bl_method_covariance(const blica_model *model);
/* The estimator of that number, with `auto` resolved by the condition and whether counts are exact; NULL when there is
 * none of that number. */
const bl_estimator *bl_method_of(int method, double condition, bool exact);
/* The number of an estimator of the table, as in blica_fit_options. */
int bl_method_number(const bl_estimator *estimator);

#endif
