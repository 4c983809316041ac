/* symmetric.h - a symmetric matrix as its owner keeps it, full or in packed pairs: its products, and a few eigenvalues
 * at its ends. */
#ifndef BL_SYMMETRIC_H
#define BL_SYMMETRIC_H

#include <stdbool.h>
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

/* ---- eigenvalues of a large matrix that is only multiplied by vectors (lanczos.c) ---- */

typedef struct {
  int low, high;    /* how many of the smallest and of the largest */
  double tolerance; /* residual relative to the largest |eigenvalue| at which an eigenvalue is done */
  int max_steps;    /* at most n are taken */
} bl_lanczos_options;

size_t bl_lanczos_work(int n, const bl_lanczos_options *options); /* doubles that a run needs */

/* values [low+high], the smallest in rising order, then the largest in rising order; residual [low+high], each a bound
 * of the distance to an eigenvalue; vectors [n,low+high] of unit length, or NULL. Returns 0 when all are within the
 * tolerance, 1 when max_steps was not enough (values and residuals are set all the same), -1 when a number is not
 * finite. */
int bl_lanczos(const bl_symmetric *matrix, const bl_lanczos_options *options, double *work, double *values,
               double *residual, double *vectors);

/* The same of any matrix: product sets y [n] to it times x and returns whether to go on; else -1 is returned. */
typedef bool (*bl_lanczos_product)(const double *x, double *y, void *user);
int bl_lanczos_of(int n, bl_lanczos_product product, void *user, const bl_lanczos_options *options, double *work,
                  double *values, double *residual, double *vectors); /* see above */

#endif
