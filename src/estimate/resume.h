/* resume.h - which fit a checkpoint belongs to: the program, the options and the data, each under its name, so that a
 * difference can be named. */
#ifndef BL_RESUME_H
#define BL_RESUME_H

#include "estimate/estimate.h"

/* Opens the checkpoint of the options (none: *out is NULL) and compares program and options with those that made it. */
blica_status bl_resume_open(blica_ctx *ctx, const blica_fit_options *resolved, double deadline, bl_checkpoint **out);
/* Compares the data, by a digest per segment: of the rows, the counts or the correlations, as the method looks at. */
blica_status bl_resume_data(blica_ctx *ctx, bl_checkpoint *checkpoint, const bl_problem *problem,
                            const bl_estimator *method);

#endif
