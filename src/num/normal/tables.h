/* tables.h - tables of two variables that are cut from bivariate normal ones: correlations behind them, probabilities
 * at their corners, likelihoods. Many at a time, by kernels in SIMD lanes. */
#ifndef BL_NORMAL_TABLES_H
#define BL_NORMAL_TABLES_H

#include <math.h>

#include "blica.h"
#include "num/normal/normal.h"
#include "num/simd.h"

/* ---- tetrachoric correlation: from the shares of a 2x2 table to the correlation behind it ---- */

enum { BL_P11, BL_P10, BL_P01, BL_P00 };

/* Many tables, one array per quantity, each 64-byte aligned and `capacity` long (a multiple of 8). */
typedef struct {
  int capacity;
  double *share[4]; /* of the four cells; they sum to 1 and none is negative */
  double *h, *k;    /* Phi^-1 of the margins p11 + p10 and p11 + p01, finite */
  double *rho;      /* out */
  double *variance; /* out, unless NULL: N times the sampling variance of rho; not finite when unknown */
} bl_tetra_batch;

/* Solves Phi2(h,k;rho) = p11 for the first `count` tables. All levels give the same bits. */
BL_KERNEL(void, bl_tetra_solve, const bl_tetra_batch *batch, int count);
static inline void bl_tetra_solve(blica_simd level, const bl_tetra_batch *batch, int count) {
  BL_AT(level, bl_tetra_solve)(batch, count);
}

/* One table by the safe scalar route. */
double bl_tetra_root(double h, double k, const double share[4]);

/* N times the variance of the estimate, thresholds estimated from the same table (delta method). */
double bl_tetra_variance(double h, double k, double rho, const double share[4]);

/* ---- correlations behind tables of two ordinal variables ---- */

enum {
  BL_POLYCHORIC_MAX = 100,  /* levels */
  BL_POLYCHORIC_TERMS = 416 /* of the series at |rho| = 0.9249 */
};
#define BL_POLYCHORIC_BOUND 0.9999 /* |rho| stays below it where the likelihood grows to the end */

#define BL_POLYCHORIC_WORK(rows, columns)                                                                              \
  (BL_LANES * (3 * (rows) * (columns) + ((rows) + (columns) + 6) * (BL_POLYCHORIC_TERMS + 8))) /* doubles */

/* Maximum likelihood correlations of `count` tables, at most eight, of one shape, given thresholds from their margins.
 * share [rows,columns,8] has cell (a,b) of table t at (a * columns + b) * 8 + t; each table sums to 1 and has at least
 * two rows and two columns that are not empty. Lanes from count on are read and must be finite. cuts
 * [rows-1+columns-1,8] are the thresholds, those of the rows first, if the caller has them already (as
 * bl_polychoric_cut makes them), else NULL. rho [8]; variance [8] is N times the sampling variance of rho, the
 * thresholds being estimated from the same table. work: BL_POLYCHORIC_WORK(rows, columns) doubles. */
BL_KERNEL(void, bl_polychoric, int rows, int columns, int count, const double *share, const double *cuts, double *work,
          double *rho, double *variance);
static inline void bl_polychoric(blica_simd level, int rows, int columns, int count, const double *share,
                                 const double *cuts, double *work, double *rho, double *variance) {
  BL_AT(level, bl_polychoric)(rows, columns, count, share, cuts, work, rho, variance);
}

/* The threshold that has the probability `below` below it; -37 or 37 where nobody is below or above. */
static inline double bl_polychoric_cut(double below) {
  return fmin(fmax(bl_phi_quantile(fmin(below, 1)), -37), 37);
}

/* ---- probabilities at the corners of one table, as functions of its correlation ---- */

/* Corners (h_m, k_m), all finite, and what the kernels compute there. Arrays hold `count` elements and are read and
 * written up to the next multiple of eight. */
typedef struct {
  int count;
  double *h, *k;
  double *excess, *density;      /* 2 pi (Phi2(h,k;rho) - Phi(h) Phi(k)); the derivative of Phi2 in rho */
  double *k_given_h, *h_given_k; /* Phi((k - rho h)/sqrt(1-rho^2)), and with h and k exchanged */
} bl_corners;

/* Doubles that the arrays of up to `most` corners take. */
static inline size_t bl_corners_size(size_t most) {
  return 6 * ((most + 7) / 8 * 8);
}

/* Places the arrays for up to `most` corners in work [bl_corners_size(most)], which is all zero. */
static inline void bl_corners_place(bl_corners *c, size_t most, double *work) {
  double **const array[] = {&c->h, &c->k, &c->excess, &c->density, &c->k_given_h, &c->h_given_k};
  for (int i = 0; i < 6; i++) *array[i] = work + (size_t)i * ((most + 7) / 8 * 8);
}

#define BL_CORNERS_MOST 0.9249
/* Sets excess and density at rho, |rho| <= BL_CORNERS_MOST. */
BL_KERNEL(void, bl_corners_at, bl_corners *corners, double rho);
/* Sets k_given_h and h_given_k at rho. */
BL_KERNEL(void, bl_corners_conditional, bl_corners *corners, double rho);

/* ---- log-likelihoods of 2x2 tables ---- */

/* `count` tables that share their second variable: thresholds h [count] and k, cells [count] each, correlations
 * -1 < rho < 1. Sets value to minus the log-likelihood, sum of -cell log P, and slope to its derivative in rho. Arrays
 * are read and written up to the next multiple of eight. */
typedef struct {
  const double *h, *below, *above; /* Phi(h), Phi(-h) */
  double k, k_below, k_above;
  const double *n11, *n10, *n01, *n00, *rho;
  double *value, *slope;
} bl_bvn_tables;

BL_KERNEL(void, bl_bvn_tables, const bl_bvn_tables *tables, int count);
static inline void bl_bvn_tables_run(blica_simd level, const bl_bvn_tables *tables, int count) {
  BL_AT(level, bl_bvn_tables)(tables, count);
}

#endif
