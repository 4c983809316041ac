/* symmetric.c - products with a symmetric matrix that is kept full or in packed pairs.
 *
 * Packed, one vector: every column is read once, as a dot product and a multiple added, so the rate is that of memory.
 * Packed, several vectors: the matrix is taken in square tiles, copied to where BLAS can use them (packed columns do not lie
 * at equal distances), and each tile serves its own place and the mirrored one: half the memory traffic of a full
 * matrix. Accuracy is that of a dot product of length n. Checked against the full product in tests/unit/test_symmetric.c. */
#include "num/symmetric.h"

#include <string.h>

#include <cblas.h>

enum { TILE = 192 }; /* 288 KiB: a tile stays in the second-level cache */

size_t bl_symmetric_work(int n) {
  (void)n;
  return (size_t)TILE * TILE;
}

static const double *column_of(const bl_symmetric *m, int j) { return m->pairs + (size_t)j * (size_t)(j - 1) / 2; }

static void one_vector(const bl_symmetric *m, const double *x, double *y) {
  memset(y, 0, (size_t)m->n * sizeof *y);
  for (int j = 1; j < m->n; j++) {
    const double *column = column_of(m, j);
    y[j] += cblas_ddot(j, column, 1, x, 1);
    cblas_daxpy(j, x[j], column, 1, y, 1);
  }
  for (int i = 0; i < m->n; i++) y[i] = x[i] + m->scale * y[i];
}

/* Rows i0.. and columns j0.. above the diagonal; a tile on the diagonal is filled to both sides. */
static void copy_tile(const bl_symmetric *m, int i0, int rows, int j0, int columns, double *tile) {
  for (int c = 0; c < columns; c++) {
    const double *column = column_of(m, j0 + c);
    if (i0 < j0) {
      memcpy(tile + (size_t)c * rows, column + i0, (size_t)rows * sizeof *tile);
      continue;
    }
    for (int r = 0; r < c; r++) tile[r + (size_t)c * rows] = tile[c + (size_t)r * rows] = column[i0 + r];
    tile[c + (size_t)c * rows] = 0;
  }
}

static void several_vectors(const bl_symmetric *m, int k, const double *x, double *y, double *tile) {
  const int n = m->n;
  memset(y, 0, (size_t)n * (size_t)k * sizeof *y);
  for (int j0 = 0; j0 < n; j0 += TILE)
    for (int i0 = 0; i0 <= j0; i0 += TILE) {
      int rows = n - i0 < TILE ? n - i0 : TILE, columns = n - j0 < TILE ? n - j0 : TILE;
      copy_tile(m, i0, rows, j0, columns, tile);
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, k, columns, 1, tile, rows, x + j0, n, 1, y + i0, n);
      if (i0 < j0)
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, columns, k, rows, 1, tile, rows, x + i0, n, 1, y + j0, n);
    }
  for (size_t i = 0; i < (size_t)n * (size_t)k; i++) y[i] = x[i] + m->scale * y[i];
}

void bl_symmetric_product(const bl_symmetric *m, int k, const double *x, double *y, double *work) {
  if (m->full)
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m->n, k, m->n, 1, m->full, m->n, x, m->n, 0, y, m->n);
  else if (k == 1)
    one_vector(m, x, y);
  else
    several_vectors(m, k, x, y, work);
}
