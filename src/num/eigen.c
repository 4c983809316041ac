/* eigen.c - smallest and largest eigenvalue of a symmetric matrix.
 *
 * Method: Householder reduction to tridiagonal form (LAPACK dsytrd, 4/3 n^3 operations), then bisection with Sturm
 * counts for the two ends only, started from Gershgorin's interval. Backward stable: the error is a few
 * n eps ||a||, as with a full eigenvalue solver, and there is no iteration that can fail to converge or, as Lanczos
 * may, miss the smallest of a cluster. Checked in tests/unit/test_eigen.c against matrices of known spectrum. */
#include "num/eigen.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>

enum { PANEL = 32 };

size_t bl_eigen_work(int n) {
  return (size_t)n * (3 + PANEL) + 1;
}

/* How many eigenvalues of the tridiagonal matrix (d, e) lie below x: negative pivots of its LDL'. */
static int count_below(int n, const double *d, const double *e2, double x, double tiny) {
  int below = 0;
  double pivot = 1.0;
  for (int i = 0; i < n; i++) {
    pivot = d[i] - x - (i > 0 ? e2[i - 1] / pivot : 0.0);
    if (fabs(pivot) < tiny) pivot = -tiny;
    below += pivot < 0.0;
  }
  return below;
}

/* The eigenvalue with exactly `index` others below it. */
static double bisect(int n, const double *d, const double *e2, int index, double low, double high, double tiny) {
  for (int i = 0; i < 200; i++) {
    double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high || high - low <= DBL_EPSILON * fmin(fabs(low), fabs(high))) break;
    *(count_below(n, d, e2, middle, tiny) > index ? &high : &low) = middle;
  }
  return 0.5 * (low + high);
}

int bl_eigen_extremes(int n, double *a, double *work, double *smallest, double *largest) {
  double *d = work, *e = work + n, *tau = work + 2 * n, *space = work + 3 * n;
  int info = LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', n, a, n, d, e, tau, space, n * PANEL);
  if (info != 0) return info;
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < n; i++) {
    if (!isfinite(d[i]) || (i < n - 1 && !isfinite(e[i]))) return 1;
    double radius = (i > 0 ? fabs(e[i - 1]) : 0.0) + (i < n - 1 ? fabs(e[i]) : 0.0);
    low = fmin(low, d[i] - radius);
    high = fmax(high, d[i] + radius);
  }
  double size = fmax(fabs(low), fabs(high)), tiny = fmax(DBL_MIN, DBL_EPSILON * DBL_EPSILON * size * size);
  for (int i = 0; i + 1 < n; i++) e[i] *= e[i];
  low -= n * DBL_EPSILON * size;
  high += n * DBL_EPSILON * size;
  *smallest = bisect(n, d, e, 0, low, high, tiny);
  *largest = bisect(n, d, e, n - 1, low, high, tiny);
  return 0;
}
