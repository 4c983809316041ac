/* lanczos.h - a few eigenvalues at the ends of a large symmetric matrix that is only multiplied by vectors. */
#ifndef BL_LANCZOS_H
#define BL_LANCZOS_H

#include <stdbool.h>
#include <stddef.h>

#include "num/linear/symmetric.h"

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
