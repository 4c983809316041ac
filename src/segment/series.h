/* series.h - rows in time order as distinct patterns, the pair counts that weights of states give them, and log P(row |
 * state) of every pattern: what the hidden chain sees of the rows. */
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

/* Makes the series of data with one segment. split: rows of a block; every second block is held out, so that its rows
 * are missing. 0: no row is held out. */
blica_status bl_series_make(blica_ctx *ctx, const blica_data *data, int64_t split, bl_series **out);
/* Whether a row is held out. */
static inline bool bl_series_held_out(int64_t split, int64_t row) {
  return split > 0 && row / split % 2 == 1;
}
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
/* As bl_series_share, for the table of items i < j: shares n11, n10, n01, n00. */
void bl_series_table(const bl_series *series, int states, const double *stat, int s, double prior, int i, int j,
                     double share[4]);

/* ---- normal variables behind items (level_scores.c) ---- */

/* Cuts of an item whose latent variable has mean 0 and this standard deviation, from its thresholds: bounded, and
 * growing even where a level has next to no rows. */
void bl_latent_cuts(int count, const double *threshold, double sd, double *cut);

/* ---- log P from a state's pair counts (level_scores.c) ---- */

size_t bl_level_scores_work(const bl_series *series); /* doubles that bl_level_scores needs */
/* log P of every pattern of `levels`, whose variables are items of the series, in state s of the statistics [S,cells],
 * to which `prior` rows of all states together are added; sets column s of log_p (patterns rows of S). Callable from a
 * task. */
void bl_level_scores(const bl_series *series, const bl_patterns *levels, int states, const double *stat, int s,
                     double prior, double *work, double *log_p);

/* ---- log P of every pattern (emission.c) ---- */

typedef struct bl_emission bl_emission;

/* Makes it for the series of these data; borrows the series. */
blica_status bl_emission_make(blica_ctx *ctx, const blica_data *data, const bl_series *series, bl_emission **out);
void bl_emission_free(bl_emission *emission);

/* Free parameters that a state has of its own when it follows from its counts alone. */
int bl_emission_parameters(const bl_emission *emission);

/* Computes log_p (patterns rows of S) from the statistics [S,cells] of each state, to which those of all rows are added
 * with the weight of a few rows. */
blica_status bl_emission_counts(blica_ctx *ctx, bl_emission *emission, int states, const double *stat, double *log_p);

/* Computes log_p from a model with one segment per state: its correlations, with the thresholds of the counts of each
 * state. */
blica_status bl_emission_model(blica_ctx *ctx, bl_emission *emission, const blica_model *model, double *log_p);

/* The engine that computed the probabilities under a model: grid or ep. */
blica_engine bl_emission_engine(const bl_emission *emission);

#endif
