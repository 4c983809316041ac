/* assessment_file.h - an assessment that blica assess --out wrote, for the report. */
#ifndef ASSESSMENT_FILE_H
#define ASSESSMENT_FILE_H

#include "program.h"

/* What the file of an assessment says of this model; NULL, with a message, when it is not of this model or not to be
 * read, *code being the exit code. Covariances and names of identical items are not in the file. */
blica_assessment *assessment_read(const char *path, const blica_model *model, int *code);
void assessment_close(blica_assessment *assessment); /* of assessment_read; NULL is fine */

#endif
