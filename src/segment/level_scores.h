/* level_scores.h - log P of rows of items with levels, from a state's pair counts. */
#ifndef BL_LEVEL_SCORES_H
#define BL_LEVEL_SCORES_H

#include "segment/series.h"

size_t bl_level_scores_work(const bl_series *series); /* doubles that bl_level_scores needs */
/* log P of every pattern of `levels` (those of the series, numbered alike) in state s of the statistics [S,cells], to
 * which `prior` rows of all states together are added. log_p is patterns rows of S. Callable from a task. */
void bl_level_scores(const bl_series *series, const bl_patterns *levels, int states, const double *stat, int s,
                     double prior, double *work, double *log_p);

#endif
