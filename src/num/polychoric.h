/* polychoric.h - the correlation behind a table of two ordinal variables. */
#ifndef BL_POLYCHORIC_H
#define BL_POLYCHORIC_H

#include "blica.h"

enum { BL_POLYCHORIC_MAX = 100 };  /* levels */
#define BL_POLYCHORIC_BOUND 0.9999 /* |rho| stays below it where the likelihood grows to the end */

#define BL_POLYCHORIC_WORK(rows, columns)                                                                              \
  (11 * ((rows) + 1) * ((columns) + 1) + 4 * ((rows) + (columns) + 2) + 64) /* doubles */
/* Returns the maximum likelihood correlation given thresholds from the margins. share [rows,columns], row-major, sums
 * to 1, and no row or column of it is empty; rows and columns are at least 2. variance: N times the sampling variance
 * of rho, the thresholds being estimated from the same table; may be NULL. work: BL_POLYCHORIC_WORK(rows, columns)
 * doubles. */
double bl_polychoric(blica_simd level, int rows, int columns, const double *share, double *work, double *variance);

#endif
