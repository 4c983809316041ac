/* verdict.h - three sentences about what an estimate is worth. */
#ifndef BL_VERDICT_H
#define BL_VERDICT_H

#include "base/base.h"

/* Fills a->verdict from the other fields. */
void bl_verdict(blica_assessment *a);

#endif
