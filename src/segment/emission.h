/* emission.h - log P(row | state) of every distinct pattern: what the hidden chain sees of the rows. */
#ifndef BL_EMISSION_H
#define BL_EMISSION_H

#include "segment/series.h"

typedef struct bl_emission bl_emission;

/* For the series of these data, which it borrows. */
blica_status bl_emission_make(blica_ctx *ctx, const blica_data *data, const bl_series *series, bl_emission **out);
void bl_emission_free(bl_emission *emission);

/* Free parameters that a state has of its own when it follows from its counts alone. */
int bl_emission_parameters(const bl_emission *emission);

/* From each state's own statistics [S,cells], to which those of all rows are added with the weight of a few rows.
 * log_p is patterns rows of S. */
blica_status bl_emission_counts(blica_ctx *ctx, bl_emission *emission, int states, const double *stat, double *log_p);

/* From a model with one segment per state: its correlations, with the thresholds of the state's counts. */
blica_status bl_emission_model(blica_ctx *ctx, bl_emission *emission, const blica_model *model, double *log_p);

/* Whether the probabilities that counts give have all pair correlations: up to 10 items of two levels. */
bool bl_emission_exact(const bl_emission *emission);
/* What computed the probabilities under a model: "exact", "grid" or "ep". */
blica_engine bl_emission_engine(const bl_emission *emission);

#endif
