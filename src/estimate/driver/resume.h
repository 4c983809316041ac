/* resume.h - which fit a checkpoint belongs to: the program, the options and the data, each under its name, so that a
 * difference can be named. */
#ifndef BL_RESUME_H
#define BL_RESUME_H

#include "estimate/estimate.h"

/* The options of any verb, and what they say about the checkpoint. */
typedef struct {
  const blica_option *table;
  int count;
  const void *options;
  const char *checkpoint;
  double seconds;
  bool resume;
} bl_resume_options;

/* Opens the checkpoint (none: *out is NULL) and compares program and options with those that made it. */
blica_status bl_resume_begin(blica_ctx *ctx, const bl_resume_options *options, double deadline, bl_checkpoint **out);
/* Compares the rows, their number and names. */
blica_status bl_resume_rows(blica_ctx *ctx, bl_checkpoint *checkpoint, const blica_data *data);

/* The same for a fit: opens the checkpoint of the options (none: *out is NULL) and compares program and options with
 * those that made it. */
blica_status bl_resume_open(blica_ctx *ctx, const blica_fit_options *resolved, double deadline, bl_checkpoint **out);
/* Compares the data, by a digest per segment: of the rows, the counts or the correlations, whichever the method uses.
 */
blica_status bl_resume_data(blica_ctx *ctx, bl_checkpoint *checkpoint, const bl_problem *problem,
                            const bl_estimator *method);

#endif
