/* symmetric.c - products with a symmetric matrix that is kept full or in packed pairs.
 *
 * Packed, one vector or few variables: every column is read once for each vector, as a dot product and a multiple
 * added, so the rate is that of memory. (A product of matrices by OpenBLAS takes a buffer of 128 MB for each thread
 * that is in one, and tries for ever where address space is limited.) Packed, several vectors: the matrix is taken in
 * tiles, copied to where BLAS can use them (packed columns do not lie at equal distances), and each tile serves its own
 * place and the mirrored one: half the memory traffic of a full matrix. Accuracy is that of a dot product of length n.
 * Checked against the full product in tests/unit/num/test_symmetric.c. */
#include "num/linear/symmetric.h"

#include <stdbool.h>
#include <string.h>

#include "num/linear/blas.h"

enum {
  TILE = 192, /* 288 KiB: a tile stays in the second-level cache */
  FEW = 32
};

size_t bl_symmetric_work(void) {
  return (size_t)TILE * TILE;
}

static const double *column_of(const bl_symmetric *m, int j) {
  return m->pairs + (size_t)j * (size_t)(j - 1) / 2;
}

static int least(int a, int b) {
  return a < b ? a : b;
}

static void one_vector(const bl_symmetric *m, const double *x, double *y) {
  for (int j = 1; j < m->n; j++) {
    const double *column = column_of(m, j);
    y[j] += bl_ddot(j, column, 1, x, 1);
    bl_daxpy(j, x[j], column, 1, y, 1);
  }
}

/* Rows i0.. of columns j0.., all above the diagonal. */
static void copy_tile(const bl_symmetric *m, int i0, int rows, int j0, int columns, double *tile) {
  for (int c = 0; c < columns; c++)
    memcpy(tile + (size_t)c * rows, column_of(m, j0 + c) + i0, (size_t)rows * sizeof *tile);
}

/* Columns j0.. and their own rows, filled to both sides. */
static void copy_corner(const bl_symmetric *m, int j0, int columns, double *tile) {
  for (int c = 0; c < columns; c++) {
    for (int r = 0; r < c; r++)
      tile[r + (size_t)c * columns] = tile[c + (size_t)r * columns] = column_of(m, j0 + c)[j0 + r];
    tile[c + (size_t)c * columns] = 0;
  }
}

/* Adds to y [n,k] the product of x with columns j0 .. j0+columns-1 of the matrix and their mirror image. */
static void multiply_stripe(const bl_symmetric *m, int j0, int columns, int k, const double *x, double *y,
                            double *tile) {
  const int n = m->n, height = TILE * TILE / columns / 8 * 8;
  for (int i0 = 0; i0 < j0; i0 += height) {
    int rows = least(height, j0 - i0);
    copy_tile(m, i0, rows, j0, columns, tile);
    bl_dgemm('N', 'N', rows, k, columns, 1, tile, rows, x + j0, n, 1, y + i0, n);
    bl_dgemm('T', 'N', columns, k, rows, 1, tile, rows, x + i0, n, 1, y + j0, n);
  }
  copy_corner(m, j0, columns, tile);
  bl_dgemm('N', 'N', columns, k, columns, 1, tile, columns, x + j0, n, 1, y + j0, n);
}

void bl_symmetric_product(const bl_symmetric *m, int k, const double *x, double *y, double *work) {
  const int n = m->n, stripes = (n + TILE - 1) / TILE;
  const size_t size = (size_t)n * (size_t)k;
  if (m->full) {
    bl_dgemm('N', 'N', n, k, n, 1, m->full, n, x, n, 0, y, n);
    return;
  }
  memset(y, 0, size * sizeof *y);
  const bool single = k == 1 || n <= FEW;
  for (int l = 0; single && l < k; l++) one_vector(m, x + (size_t)l * (size_t)n, y + (size_t)l * (size_t)n);
  for (int s = 0; !single && s < stripes; s++) {
    const int j0 = n * s / stripes;
    multiply_stripe(m, j0, n * (s + 1) / stripes - j0, k, x, y, work);
  }
  for (size_t i = 0; i < size; i++) y[i] = x[i] + m->scale * y[i];
}
