/* symmetric.h - a symmetric matrix as its owner keeps it, full or in packed pairs, and its products. */
#ifndef BL_SYMMETRIC_H
#define BL_SYMMETRIC_H

#include <stddef.h>
#include <stdint.h>

/* Either full [n,n], or pairs: the entries above the diagonal, column by column (entry i < j at j(j-1)/2 + i), each to
 * be multiplied by scale; the diagonal is then 1. Packed takes half the memory, and correlations come that way. */
typedef struct {
  int n;
  const double *full;
  const double *pairs;
  double scale;
} bl_symmetric;

/* y [n,k] <- matrix x [n,k]; work [bl_symmetric_work()]. Same bits on any number of threads as long as BLAS is held to
 * one. */
size_t bl_symmetric_work(void);
void bl_symmetric_product(const bl_symmetric *matrix, int k, const double *x, double *y, double *work); /* see above */

#endif
