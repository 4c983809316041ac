/* verdict.h - the answers to the four questions of an assessment, and their words. */
#ifndef BL_VERDICT_H
#define BL_VERDICT_H

#include "base/base.h"

/* A model that is more than this many standard errors from the optimum is not certified. */
extern const double bl_verdict_distance;

/* Whether a z value leaves no doubt that rows depend on those before them. */
static inline bool bl_verdict_dependent(double z) {
  return z > 3.291; /* two-sided p of .001 */
}

/* Fills answer and verdict from the numbers of the assessment. */
void bl_verdict(blica_assessment *a);

#endif
