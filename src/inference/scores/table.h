/* table.h - the table of two items in one segment at a correlation: probabilities of its cells, and what a row says
 * about the correlation. */
#ifndef BL_TABLE_H
#define BL_TABLE_H

#include "inference/scores/rows.h"
#include "num/normal/tables.h"

typedef struct {
  int rows, columns;  /* levels of the first and of the second item */
  double *cell;       /* [rows,columns], row-major: probabilities */
  double *score;      /* [rows,columns] d log cell / d rho */
  double *first;      /* [rows] change of the score by the thresholds of the first item, estimated from its margin */
  double *second;     /* [columns] the same for the second */
  double information; /* about rho in one row, thresholds known: the sum of cell score^2 */
  double *work;
  bl_corners inner; /* corners with two finite thresholds */
  blica_simd level;
} bl_table;

/* Arrays for tables of up to `most` levels, freed with the block `owner`. */
blica_status bl_table_make(blica_ctx *ctx, void *owner, int most, bl_table *table);
/* The largest number of levels of n items. */
int bl_most_levels(const blica_coding *coding, int n);

/* Probabilities, scores and information at rho: h [rows-1] and k [columns-1] are Phi^-1 of the shares at or above each
 * level but the lowest. */
void bl_table_at(int rows, int columns, const double *h, const double *k, double rho, bl_table *table);
/* Then also first and second. */
void bl_table_margins(const double *h, const double *k, double rho, bl_table *table);

/* Thresholds of all columns of counts [counts->n,u]: Phi^-1 of the share of ones, at least half a row away from 0 and
 * 1; 0 where nothing was observed. */
void bl_table_thresholds(const blica_counts *counts, double *threshold);

#endif
