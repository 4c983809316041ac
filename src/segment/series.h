/* series.h - rows in time order as distinct patterns, and the pair counts that weights of states give them. */
#ifndef BL_SERIES_H
#define BL_SERIES_H

#include "base/base.h"
#include "data/patterns.h"

typedef struct {
  int n;                /* columns: one for each item with two levels, one for each level but the lowest of others */
  int items;            /* n, or fewer when items have more than two levels */
  blica_coding *coding; /* of the items; NULL: all are plain */
  int64_t pairs, rows;
  bl_patterns *patterns; /* of all rows; patterns->row_pattern in time order */
  bool complete;         /* no value is missing */
  size_t cells;          /* statistics of a state: see below */
  double *pooled;        /* [cells] statistics of all rows */
  int d;                 /* scores of a row: its standardised items, or their leading principal components */
  double *score;         /* [d,patterns]; a missing value counts as the item's mean */
  double *basis;         /* [n,d] score = basis' (x - centre) */
  double *centre;        /* [n] */
} bl_series;

/* Statistics of S states, the state running fastest: cell c of state s at c * S + s. Cells: rows, then ones [n] and
 * n11 [pairs]; unless complete also present [n] and, over the rows that have both variables i < j, the ones of i, the
 * ones of j and the rows, [pairs] each. Pairs as in blica_pair. */
enum { BL_CELL_ROWS = 0, BL_CELL_ONES = 1 };
static inline size_t bl_cell_n11(const bl_series *x) {
  return 1 + (size_t)x->n;
}
static inline size_t bl_cell_present(const bl_series *x) {
  return bl_cell_n11(x) + (size_t)x->pairs;
}
static inline size_t bl_cell_both(const bl_series *x) { /* three times [pairs] */
  return bl_cell_present(x) + (size_t)x->n;
}

/* Of data with one segment. */
blica_status bl_series_make(blica_ctx *ctx, const blica_data *data, bl_series **out);
void bl_series_free(bl_series *series);

/* Adds up the statistics of patterns that count with weight [S,patterns]. Same bits for any number of threads. */
blica_status bl_series_expect(blica_ctx *ctx, const bl_series *series, int states, const double *weight,
                              double *stat /* [S,cells] */);

/* Counts with one segment per state, for a fit; segments are named 1, 2, ... */
blica_status bl_series_counts(blica_ctx *ctx, const bl_series *series, int states, const double *stat,
                              const char *const *variables, blica_counts **out);

/* The share of ones of item i in state s, with `prior` rows of all states together added, so that no state is without
 * rows. */
double bl_series_share(const bl_series *series, int states, const double *stat, int s, double prior, int i);
/* The same for the table of items i < j: shares n11, n10, n01, n00. */
void bl_series_table(const bl_series *series, int states, const double *stat, int s, double prior, int i, int j,
                     double share[4]);

#endif
