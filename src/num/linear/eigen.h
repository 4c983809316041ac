/* eigen.h - extreme eigenvalues of a symmetric matrix. */
#ifndef BL_EIGEN_H
#define BL_EIGEN_H

#include "base/base.h"

/* Doubles of workspace for bl_eigen_extremes at size n. */
size_t bl_eigen_work(int n);

/* Smallest and largest eigenvalue of the symmetric a [n,n], which is destroyed. Returns 0, or not 0 when an entry is
 * not finite. No allocation through the context: callable from a task. */
int bl_eigen_extremes(int n, double *a, double *work, double *smallest, double *largest);

#endif
