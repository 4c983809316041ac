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

/* y [n,k] <- matrix x [n,k]; work as many doubles as bl_symmetric_work says. Same bits on any number of threads as
 * long as BLAS is held to one. */
size_t bl_symmetric_work(int n, int k);
/* The product of a whole matrix. */
void bl_symmetric_product(const bl_symmetric *matrix, int k, const double *x, double *y, double *work);

/* The product of packed pairs is x + scale (sum of parts), a part being that of some columns of pairs, all of them
 * about equal in work. The sum over parts runs over a binary tree (part i takes part i + 2^l for growing l), whoever
 * adds them, and the number of parts, a power of two, depends on n alone: so those who share the parts get the bits of
 * one who makes them all. */
int bl_symmetric_parts(int n);
/* y [n,k] <- the part; work [bl_symmetric_tile()]. */
size_t bl_symmetric_tile(void);
/* The product of one part. */
void bl_symmetric_part(const bl_symmetric *matrix, int part, int k, const double *x, double *y, double *work);

#endif
