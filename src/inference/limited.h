/* limited.h - the limited-information test of fit M2. */
#ifndef BL_LIMITED_H
#define BL_LIMITED_H

#include "inference/rows.h"

typedef struct {
  double m2; /* NaN when it was not computed */
  int64_t df;
  double p;
  double rmsea2, rmsea2_low, rmsea2_high; /* with its 90 % interval */
} bl_limited;

/* Whether M2 can be computed for so many items, levels, sources and segments in reasonable time. */
bool bl_limited_possible(const blica_coding *coding, int n, int k, int u);

/* counts are those of the rows, without missing values. segment [u] receives the parts of M2. fixed: the parameters
 * are given and not estimated from these rows. */
blica_status bl_limited_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                             bool fixed, bl_limited *out, double *segment);

#endif
