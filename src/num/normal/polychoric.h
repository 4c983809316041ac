/* polychoric.h - the correlations behind tables of two ordinal variables. */
#ifndef BL_POLYCHORIC_H
#define BL_POLYCHORIC_H

#include "blica.h"
#include "num/simd.h"

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
double bl_polychoric_cut(double below);

#endif
