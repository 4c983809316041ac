/* assessment_file.h - an assessment that blica assess --out wrote, for the report. */
#ifndef ASSESSMENT_FILE_H
#define ASSESSMENT_FILE_H

#include "program.h"

/* Reads the file of an assessment of this model. Returns NULL, with a message and *code set to the exit code, when it
 * cannot be read or belongs to another model. The file holds neither covariances nor names of identical items. */
blica_assessment *assessment_read(const char *path, const blica_model *model, int *code);
void assessment_close(blica_assessment *assessment); /* of assessment_read; NULL is fine */

#endif
