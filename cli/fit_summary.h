/* fit_summary.h - what the console says of a model after a fit. */
#ifndef FIT_SUMMARY_H
#define FIT_SUMMARY_H

#include "program.h"

/* Loadings sorted by source, what the design can identify, and the command that tests the rest. data is its path,
 * data_options how it was read (data_args_text). */
void note_summary(program *p, const blica_model *model, const char *out, const char *data, const char *data_options);

#endif
