/* level_scores.h - log P of rows of items with levels, from a state's pair counts. */
#ifndef BL_LEVEL_SCORES_H
#define BL_LEVEL_SCORES_H

#include "segment/series.h"

typedef struct bl_level_scores bl_level_scores;

/* Of a series whose patterns as levels are `levels`, with the same numbers; pooled: statistics [cells] of all rows. All
 * are borrowed. */
blica_status bl_level_scores_make(blica_ctx *ctx, const bl_series *series, const bl_patterns *levels,
                                  const double *pooled, bl_level_scores **out);
void bl_level_scores_free(bl_level_scores *scores);
size_t bl_level_scores_work(const bl_level_scores *scores); /* doubles that bl_level_scores_run needs */

/* log P of every pattern in state s of the statistics [S,cells], to which `prior` rows of the pooled ones are added.
 * log_p is patterns rows of S. Callable from a task. */
void bl_level_scores_run(const bl_level_scores *scores, int states, const double *stat, int s, double prior,
                         double *work, double *log_p);

#endif
