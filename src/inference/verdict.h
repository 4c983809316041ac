/* verdict.h - the answers to the four questions of an assessment, and their words. */
#ifndef BL_VERDICT_H
#define BL_VERDICT_H

#include "base/base.h"

/* Beyond so many standard errors from the optimum a model is not certified. */
extern const double bl_verdict_distance;

/* Fills answer and verdict from the numbers of the assessment. */
void bl_verdict(blica_assessment *a);

#endif
