/* eigen.c - smallest and largest eigenvalue of a symmetric matrix.
 *
 * Method (Golub and Van Loan, Matrix Computations, 8.3 and 8.4): Householder reduction to tridiagonal form, then
 * bisection with Sturm counts for the two ends only, started from Gershgorin's interval. Backward stable: the error is
 * a few n eps ||a||, as with a full eigenvalue solver, and there is no iteration that can fail to converge or, as
 * Lanczos may, miss the smallest of a cluster. Not LAPACK's dsytrd: many small matrices in parallel make a threaded
 * BLAS fight itself (20 times slower on two cores), and its bits depend on the machine. Checked in
 * tests/unit/cor/test_regularise.c against matrices of known spectrum and LAPACK's own solver. */
#include "num/linear/eigen.h"

#include <float.h>
#include <math.h>

size_t bl_eigen_work(int n) {
  return 3 * (size_t)n;
}

/* One reflection I - beta v v' that leaves of x [m] only its first entry, which is returned; v goes to x. */
static double reflect(int m, double *x, double *beta) {
  double tail = 0.0, first = x[0];
  for (int i = 1; i < m; i++) tail += x[i] * x[i];
  *beta = 0.0;
  if (first * first + tail < DBL_MIN / DBL_EPSILON || tail == 0.0)
    return first; /* beta would overflow: nothing beside 1 */
  double norm = sqrt(first * first + tail), kept = first > 0.0 ? -norm : norm;
  x[0] = first - kept;
  *beta = 2.0 / (x[0] * x[0] + tail);
  return kept;
}

/* a [m,m] with columns lda apart: a <- H a H for H = I - beta v v', both triangles kept. */
static void two_sided(int m, double *a, size_t lda, const double *v, double beta, double *restrict w) {
  double inner = 0.0;
  for (int i = 0; i < m; i++) w[i] = 0.0;
  for (int j = 0; j < m; j++) {
    const double *column = a + (size_t)j * lda;
    double factor = beta * v[j];
    for (int i = 0; i < m; i++) w[i] += factor * column[i];
  }
  for (int i = 0; i < m; i++) inner += w[i] * v[i];
  for (int i = 0; i < m; i++) w[i] -= 0.5 * beta * inner * v[i];
  for (int j = 0; j < m; j++) {
    double *restrict column = a + (size_t)j * lda, vj = v[j], wj = w[j];
    for (int i = 0; i < m; i++) column[i] -= v[i] * wj + w[i] * vj;
  }
}

static void tridiagonalise(int n, double *a, double *d, double *e, double *w) {
  for (int k = 0; k < n; k++) {
    double *column = a + (size_t)k * (size_t)n, beta;
    d[k] = column[k];
    if (k + 1 == n) break;
    e[k] = reflect(n - k - 1, column + k + 1, &beta);
    if (beta > 0.0) two_sided(n - k - 1, column + n + k + 1, (size_t)n, column + k + 1, beta, w);
  }
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
  double *d = work, *e = work + n;
  tridiagonalise(n, a, d, e, work + 2 * n);
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
