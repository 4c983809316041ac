/* row_scores.h - scores of units, that is of rows or of clusters of rows, along directions: their sums over a segment,
 * and how much adjacent rows have in common. */
#ifndef BL_ROW_SCORES_H
#define BL_ROW_SCORES_H

#include "inference/scores/influence.h"

enum { BL_BATCH = 128 }; /* units that are read at a time */

/* One thread's: influences psi of the units of one segment (influence.h), in batches. */
typedef struct {
  const bl_influence *influence; /* of the segment */
  const bl_rows *rows;
  size_t q;      /* statistics of a unit */
  int64_t step;  /* every step-th unit is read; 1: all */
  double *psi;   /* [q,BL_BATCH] of a unit */
  double *size;  /* [BL_BATCH] its rows */
  double *adds;  /* [BL_BATCH] how often it is there in sums, */
  double *times; /* [BL_BATCH] and in sums of squares. With strata these differ (row_scores.c) */
} bl_units_reader;

/* Workspace, freed with `owner`. */
blica_status bl_units_make(blica_ctx *ctx, void *owner, const bl_influence *influence, const bl_rows *rows,
                           bl_units_reader *reader);
/* Reads units of segment s from number *at on, which begins at 0 and rises by step. Returns how many; 0 after the
 * last. */
int bl_units_read(const bl_units_reader *reader, int s, int64_t *at);

/* Sums over the units of a segment of their scores. */
typedef struct {
  double units;    /* sum of the squared sizes */
  double *sum;     /* [m] of scores. It owns the other arrays */
  double *sized;   /* [m] of size times score */
  double *product; /* [m,m] of score score', lower triangle */
} bl_score_sums;

/* Sums along up to m directions, freed with `owner`; the other calls name how many there are. */
blica_status bl_score_sums_make(blica_ctx *ctx, void *owner, size_t m, bl_score_sums *sums);
void bl_score_sums_clear(size_t m, bl_score_sums *sums);
/* Adds the units of a batch with scores [m,count], which are overwritten. */
void bl_score_sums_add(const bl_units_reader *reader, int count, size_t m, double *score, bl_score_sums *sums);
/* product - sized mean' - mean sized' + units mean mean': the product of the scores less size * mean. */
void bl_score_sums_centre(const double *mean, size_t m, bl_score_sums *sums);

/* covariance [planes,planes,u] <- that of the thresholds t [planes,u] of the rows, by their units. */
blica_status bl_threshold_covariance(blica_ctx *ctx, const bl_rows *rows, const blica_counts *counts, const double *t,
                                     double *covariance);
/* units / (units - 1) of segment s, by which sums of squared scores of clusters or blocks are too small; 1 with strata,
 * whose scores are multiplied by that of their stratum. */
double bl_units_few(const bl_rows *rows, int s);

/* ---- dependence.c: do rows depend on those before them in the data? ---- */

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
/* Adds to lag [BL_LAGS+1] the sums over the rows r of segment s of z_r'z_(r+l), rows in the order of the data; z are
 * the scores along the columns of weight [q,used], less their mean in the segment, times scale [used].
 * score [used,BL_BATCH] and z [used, rows] are workspace. */
void bl_row_scores_lags(const bl_units_reader *reader, int s, const double *weight, size_t used, const double *scale,
                        double *score, double *z, double *lag);
/* The items of segment s, standardised, into sums; x [n, rows of the segment] is workspace. */
void bl_lag_items(const bl_rows *rows, int s, double *x, bl_lag_sums *sums);
/* Computes the dependence from the sums [u] of all segments. */
bl_dependence bl_dependence_of(const bl_rows *rows, const bl_lag_sums *sums);

#endif
