/* sources_information.c - Fisher's information about the covariances of the sources of one segment.
 *
 * In the letters of kernel.h, T = R + D = diag(psi) + B B'. When the covariance of the sources changes to I +
 * F, rows being normalised again, dT = B F B' - C R - R C with C = diag(c), c_i = B_i F B_i'/2. With L = T^-1, P = B' L
 * B = I - W and, for symmetric changes, X1 = B' diag(c/psi) B, X2 = B' diag(c D/psi^2) B, tr(L dT L dT) = tr(P F P F) +
 * 4 tr(F W X2 W) + 4 tr(W X2 W X2) - 4 sum_i c_i B_i W F B_i'/psi_i - 2 tr(W X1 X1)
 *                   + sum_i c_i^2 [ 4 D_i^2 (L_ii^2 - e_i^2) - 8 D_i L_ii + 2 + 2 L_ii (1 + D_i) + 2 e_i |B_i|^2 ],
 * e_i = B_i W B_i'/psi_i^2 and L_ii = 1/psi_i - e_i; N/2 times it is the information. Checked against traces of dense
 * matrices in tests/unit/estimate/test_information.c. */
#include "estimate/gauss/information.h"
#include "num/linear/blas.h"

#include <math.h>
#include <string.h>

enum { ROWS = 64 }; /* taken together */

typedef struct {
  const bl_point *at;
  const double *root, *w;
  int changes, entries; /* F: k or all pairs; pairs i <= j */
  double *b, *bw;       /* [k,ROWS] rows of B and of B W, one after the other */
  double *c, *weighted; /* [changes,ROWS] */
  double *products;     /* [entries,ROWS] B_ia B_ib */
  double *x1, *x2;      /* [entries,changes] upper triangles of X1, X2 */
  double *square;       /* [k,k], twice */
  double *packed;       /* [entries] */
  double *among, *pairs;
} job;

static int count_changes(int k, bool pairs) {
  return pairs ? k * (k + 1) / 2 : k;
}

size_t bl_sources_information_work(int k, bool pairs) {
  const size_t changes = (size_t)count_changes(k, pairs), entries = (size_t)count_changes(k, true), side = (size_t)k;
  return (2 * side + 2 * changes + entries) * ROWS + 2 * entries * changes + 2 * side * side + entries;
}

/* Divides work among the arrays. */
static void place_arrays(job *j, double *work) {
  const size_t k = (size_t)j->at->k, changes = (size_t)j->changes, entries = (size_t)j->entries;
  j->b = work, j->bw = j->b + k * ROWS;
  j->c = j->bw + k * ROWS, j->weighted = j->c + changes * ROWS;
  j->products = j->weighted + changes * ROWS;
  j->x1 = j->products + entries * ROWS, j->x2 = j->x1 + entries * changes;
  j->square = j->x2 + entries * changes, j->packed = j->square + 2 * k * k;
}

double bl_information_row(const bl_point *at, const double *root, int i, double *row) {
  double m = 1;
  for (int j = 0; j < at->k; j++) {
    row[j] = at->a[i + (size_t)j * (size_t)at->n] * root[j];
    m += row[j] * row[j];
  }
  const double d = 1 / sqrt(m);
  for (int j = 0; j < at->k; j++) row[j] *= d;
  return d;
}

/* W; work [k,ROWS]. */
static bool invert_capacitance(const bl_point *at, const double *root, double *w, double *work) {
  const int n = at->n, k = at->k;
  memset(w, 0, (size_t)k * (size_t)k * sizeof *w);
  for (int first = 0; first < n; first += ROWS) {
    const int rows = n - first < ROWS ? n - first : ROWS;
    for (int r = 0; r < rows; r++) {
      double *row = work + (size_t)r * (size_t)k;
      const double d = bl_information_row(at, root, first + r, row);
      bl_dscal(k, 1 / sqrt(d * d + at->noise[first + r]), row, 1);
    }
    bl_dsyrk('L', 'N', k, rows, 1, work, k, 1, w, k);
  }
  for (int j = 0; j < k; j++) w[(size_t)j * (size_t)(k + 1)] += 1;
  return !isnan(bl_invert(k, w));
}

/* What item `row` of those taken together adds beside X1 and X2. */
static void add_row(job *j, int r, double psi, double noise) {
  const int k = j->at->k;
  const double *b = j->b + (size_t)r * (size_t)k, *bw = j->bw + (size_t)r * (size_t)k;
  double *c = j->c + (size_t)r * (size_t)j->changes, *products = j->products + (size_t)r * (size_t)j->entries;
  const double e = bl_ddot(k, b, 1, bw, 1) / (psi * psi), l = 1 / psi - e, beta = noise / (psi * psi);
  const double square =
      4 * noise * noise * (l * l - e * e) - 8 * noise * l + 2 + 2 * l * (1 + noise) + 2 * e * bl_ddot(k, b, 1, b, 1);
  for (int q = 0; q < k; q++) {
    const double cq = 0.5 * b[q] * b[q];
    for (int p = 0; p <= q; p++) {
      const int t = q * (q + 1) / 2 + p;
      products[t] = b[p] * b[q];
      if (j->pairs) c[t] = p == q ? cq : products[t];
      if (j->pairs && p < q)
        j->pairs[p + (size_t)q * (size_t)k] +=
            products[t] * (square * products[t] + 8 * beta * bw[p] * bw[q] - 4 / psi * (bw[p] * b[q] + bw[q] * b[p]));
    }
    if (!j->pairs) c[q] = cq;
    for (int p = 0; p <= q; p++) {
      const double cp = 0.5 * b[p] * b[p];
      j->among[p + (size_t)q * (size_t)k] += square * cp * cq + 2 * cq * bw[p] * (beta * bw[p] - b[p] / psi) +
                                             2 * cp * bw[q] * (beta * bw[q] - b[q] / psi);
    }
  }
}

/* X1 and X2 += those of the rows taken together. */
static void add_moments(job *j, int first, int rows, const double *psi) {
  const int changes = j->changes, entries = j->entries;
  for (int power = 1; power <= 2; power++) {
    for (int r = 0; r < rows; r++) {
      const double factor = power == 1 ? 1 / psi[r] : j->at->noise[first + r] / (psi[r] * psi[r]);
      for (int t = 0; t < changes; t++)
        j->weighted[t + (size_t)r * (size_t)changes] = factor * j->c[t + (size_t)r * (size_t)changes];
    }
    bl_dgemm('N', 'T', entries, changes, rows, 1, j->products, entries, j->weighted, changes, 1,
             power == 1 ? j->x1 : j->x2, entries);
  }
}

static void add_rows(job *j, int first, int rows) {
  const int k = j->at->k;
  double psi[ROWS];
  for (int r = 0; r < rows; r++) {
    const double d = bl_information_row(j->at, j->root, first + r, j->b + (size_t)r * (size_t)k);
    psi[r] = d * d + j->at->noise[first + r];
  }
  bl_dgemm('N', 'N', k, rows, k, 1, j->w, k, j->b, k, 0, j->bw, k);
  for (int r = 0; r < rows; r++) add_row(j, r, psi[r], j->at->noise[first + r]);
  add_moments(j, first, rows, psi);
}

/* packed [entries] <- W X W (both) or the symmetric part of W X, X having the upper triangle x; entries off the
 * diagonal count twice, so that the trace of the product with a symmetric matrix is a product of triangles. */
static const double *times_w(job *j, bool both, const double *x) {
  const int k = j->at->k;
  double *wx = j->square + (size_t)k * (size_t)k;
  for (int q = 0; q < k; q++)
    for (int p = 0; p <= q; p++)
      j->square[p + (size_t)q * (size_t)k] = j->square[q + (size_t)p * (size_t)k] = x[q * (q + 1) / 2 + p];
  bl_dgemm('N', 'N', k, k, k, 1, j->w, k, j->square, k, 0, wx, k);
  if (both) {
    bl_dgemm('N', 'N', k, k, k, 1, wx, k, j->w, k, 0, j->square, k);
    wx = j->square;
  }
  for (int q = 0; q < k; q++)
    for (int p = 0; p <= q; p++) {
      const double sum = wx[p + (size_t)q * (size_t)k] + wx[q + (size_t)p * (size_t)k];
      j->packed[q * (q + 1) / 2 + p] = p == q ? 0.5 * sum : sum;
    }
  return j->packed;
}

static const double *triangle(const job *j, const double *x, int p, int q) {
  return x + (size_t)j->entries * (size_t)(j->pairs ? q * (q + 1) / 2 + p : q);
}

/* The traces about F_pq alone. */
static void finish_pair(job *j, int p, int q) {
  const size_t k = (size_t)j->at->k, row = (size_t)p, column = (size_t)q;
  const double w = j->w[row + column * k], wp = j->w[row * (k + 1)], wq = j->w[column * (k + 1)];
  const double *x1 = triangle(j, j->x1, p, q), *x2 = triangle(j, j->x2, p, q);
  double sum = j->pairs[row + column * k] + 2 * (w * w + (1 - wp) * (1 - wq));
  sum += 4 * bl_ddot(j->entries, times_w(j, true, x2), 1, x2, 1);
  sum -= 2 * bl_ddot(j->entries, times_w(j, false, x1), 1, x1, 1);
  j->pairs[row + column * k] = 0.5 * j->at->weight * sum;
}

/* Those about F_qq and all F_pp up to it. */
static void finish_diagonal(job *j, int q) {
  const size_t k = (size_t)j->at->k, column = (size_t)q;
  for (int power = 1; power <= 2; power++) {
    const double *x = power == 1 ? j->x1 : j->x2, *packed = times_w(j, power == 2, triangle(j, x, q, q));
    for (int p = 0; p <= q; p++)
      j->among[(size_t)p + column * k] +=
          (power == 1 ? -2 : 4) * bl_ddot(j->entries, packed, 1, triangle(j, x, p, p), 1);
  }
  for (size_t p = 0; p <= column; p++) {
    const double w = (p == column) - j->w[p + column * k];
    double *upper = &j->among[p + column * k], *lower = &j->among[column + p * k];
    *upper = 0.5 * j->at->weight * (*upper + w * w);
    *lower = *upper;
  }
}

bool bl_sources_information(const bl_point *at, double *root, double *w, double *among, double *pairs, double *work) {
  const int n = at->n, k = at->k;
  const size_t kk = (size_t)k * (size_t)k;
  job j = {.at = at, .root = root, .w = w, .among = among, .pairs = pairs};
  j.changes = count_changes(k, pairs != NULL), j.entries = count_changes(k, true);
  place_arrays(&j, work);
  for (int q = 0; q < k; q++) root[q] = sqrt(at->link * exp(at->log_v[q]));
  if (!invert_capacitance(at, root, w, j.b)) return false;
  memset(among, 0, kk * sizeof *among);
  if (pairs) memset(pairs, 0, kk * sizeof *pairs);
  memset(j.x1, 0, 2 * (size_t)j.entries * (size_t)j.changes * sizeof *j.x1);
  for (int first = 0; first < n; first += ROWS) add_rows(&j, first, n - first < ROWS ? n - first : ROWS);
  for (int q = 0; q < k; q++) {
    for (int p = 0; p < q && pairs; p++) finish_pair(&j, p, q);
    finish_diagonal(&j, q);
  }
  return true;
}
