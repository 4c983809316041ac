/* dependence.h - do rows depend on those before them in the data? */
#ifndef BL_DEPENDENCE_H
#define BL_DEPENDENCE_H

#include "inference/scores/rows.h"

enum { BL_LAGS = 100 };

/* Sums over pairs of rows of one segment that are `lag` apart. */
typedef struct {
  double item[BL_LAGS + 1];  /* products of the standardised items */
  double score[BL_LAGS + 1]; /* of the scores along directions */
  double square;             /* squared products of items at lag 1 */
} bl_lag_sums;

typedef struct {
  double lag;       /* mean correlation of an item with itself in the row before, within segments */
  double z;         /* its z value if rows are independent */
  double decay;     /* by which it falls with every further row */
  double inflation; /* by which dependence multiplies the variance of sums of scores; 1: independent rows */
  double draws;     /* independent draws of the sources in a segment, on average */
} bl_dependence;

/* Adds products of x [count rows of width], centred by column, to lag. Returns the sum of squares at lag 1. x is
 * overwritten. */
double bl_lag_products(size_t width, int64_t count, double *x, double *lag);
/* The items of segment s, standardised, into sums; x [n, rows of the segment] is workspace. */
void bl_lag_items(const bl_rows *rows, int s, double *x, bl_lag_sums *sums);
/* From the sums [u] of all segments. */
bl_dependence bl_dependence_of(const bl_rows *rows, const bl_lag_sums *sums);

#endif
