/* findings.h - what other stages need of what data hold (blica_check in blica.h). */
#ifndef BL_FINDINGS_H
#define BL_FINDINGS_H

#include "base/base.h"

/* Warns of what a fit cannot repair: items and segments without values, items that are constant or copies of others,
 * pairs that no row has together. Fails when no two items vary, unless that is allowed. */
blica_status bl_check_before_fit(blica_ctx *ctx, const blica_counts *counts, bool allow_unidentified);

#endif
