/* scales.h - how the spread of an item's latent variable changes over segments, which three or more levels show. */
#ifndef BL_SCALES_H
#define BL_SCALES_H

#include "base/base.h"

/* Fills cor->location, log_scale and log_scale_se of items with three or more levels (log_scale_se is infinite for the
 * others), from the margins in counts. */
blica_status bl_scales(blica_ctx *ctx, const blica_counts *counts, blica_cor *cor);

#endif
