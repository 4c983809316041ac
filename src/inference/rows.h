/* rows.h - the distinct rows of the data in the order of a model's variables and segments. */
#ifndef BL_ROWS_H
#define BL_ROWS_H

#include "base/base.h"

typedef struct {
  int n, u;
  int64_t count;      /* distinct rows, counted in each segment */
  int64_t *first;     /* [u+1] segment s has the patterns first[s] .. first[s+1]-1 */
  int8_t *x;          /* [n,count] 0, 1 or BLICA_MISSING */
  double *weight;     /* [count] how many rows have the pattern */
  int64_t *total;     /* [u] rows with any value */
  bool complete;      /* no value is missing */
  int64_t *cumulated; /* [count] rows of the segment up to and with this pattern */
} bl_rows;

/* All variables and segments of the data, in their order. */
blica_status bl_rows_of(blica_ctx *ctx, const blica_data *data, bl_rows **out);
/* In the order of a model. Fails with BLICA_ERR_DATA when model and data do not have the same variables and segments.
 */
blica_status bl_rows_make(blica_ctx *ctx, const blica_model *model, const blica_data *data, bl_rows **out);
void bl_rows_free(bl_rows *rows);

/* Pair counts when pattern p stands for weight[p] rows. counts comes from bl_rows_counts_create. */
void bl_rows_count(const bl_rows *rows, const double *weight, blica_counts *counts);
blica_status bl_rows_counts_create(blica_ctx *ctx, const bl_rows *rows, char *const *variables, char *const *segments,
                                   blica_counts **out);
/* The rows themselves, for methods that need them. */
blica_status bl_rows_data(blica_ctx *ctx, const bl_rows *rows, const double *weight, char *const *variables,
                          char *const *segments, blica_data **out);

/* Counts of nothing; and w rows x [n] added to segment s of them. */
void bl_rows_clear(blica_counts *counts);
void bl_rows_add(const int8_t *x, double w, int s, blica_counts *counts);

/* Counts of one segment of this label with the rows of all. */
blica_status bl_rows_pool(blica_ctx *ctx, const blica_counts *counts, char *const *label, blica_counts **out);

/* Bootstrap draw number `draw`: each segment's rows drawn with replacement. Stream (seed, draw, segment). */
void bl_rows_draw(const bl_rows *rows, uint64_t seed, int64_t draw, double *weight);

#endif
