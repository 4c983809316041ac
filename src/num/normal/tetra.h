/* tetra.h - tetrachoric correlation: from the shares of a 2x2 table to the correlation behind it. */
#ifndef BL_TETRA_H
#define BL_TETRA_H

#include "blica.h"
#include "num/simd.h"

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

#endif
