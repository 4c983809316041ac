/* symmetric.c - products with a symmetric matrix that is kept full or in packed pairs.
 *
 * Packed, one vector: every column is read once, as a dot product and a multiple added, so the rate is that of memory.
 * Packed, several vectors: the matrix is taken in tiles, copied to where BLAS can use them (packed columns do not lie
 * at equal distances), and each tile serves its own place and the mirrored one: half the memory traffic of a full
 * matrix. Accuracy is that of a dot product of length n. Checked against the full product, and parts bit by bit against
 * the whole, in tests/unit/num/test_symmetric.c. */
#include "num/linear/symmetric.h"

#include <math.h>
#include <string.h>

#include "num/linear/blas.h"

enum {
  TILE = 192,        /* 288 KiB: a tile stays in the second-level cache */
  PART_COLUMNS = 96, /* a part has at least about half as many */
  MOST_PARTS = 32
};

int bl_symmetric_parts(int n) {
  int parts = 1;
  while (2 * parts <= MOST_PARTS && 2 * parts * PART_COLUMNS <= n) parts *= 2;
  return parts;
}

/* Where a part begins, so that all have about as many pairs; whole vectors of eight. */
static int bound(int n, int parts, int part) {
  return part == parts ? n : (int)(n * sqrt((double)part / parts)) / 8 * 8;
}

/* Columns first..last-1 are in the part. */
static void columns_of(int n, int part, int *first, int *last) {
  int parts = bl_symmetric_parts(n);
  *first = bound(n, parts, part);
  *last = bound(n, parts, part + 1);
}

size_t bl_symmetric_tile(void) {
  return (size_t)TILE * TILE;
}

size_t bl_symmetric_work(int n, int k) {
  size_t sums = 0;
  for (int parts = bl_symmetric_parts(n); parts > 1; parts /= 2) sums++;
  return bl_symmetric_tile() + sums * (size_t)n * (size_t)k;
}

static const double *column_of(const bl_symmetric *m, int j) {
  return m->pairs + (size_t)j * (size_t)(j - 1) / 2;
}

static int least(int a, int b) {
  return a < b ? a : b;
}

static void one_vector(const bl_symmetric *m, int first, int last, const double *x, double *y) {
  for (int j = first > 1 ? first : 1; j < last; j++) {
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

static void stripe(const bl_symmetric *m, int j0, int columns, int k, const double *x, double *y, double *tile) {
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

/* The part, in the rows that it reaches: those of its columns and above; other rows are left as they are. */
static void part_above(const bl_symmetric *m, int part, int k, const double *x, double *y, double *tile) {
  int first, last;
  columns_of(m->n, part, &first, &last);
  for (int c = 0; c < k; c++) memset(y + (size_t)c * (size_t)m->n, 0, (size_t)last * sizeof *y);
  if (k == 1) {
    one_vector(m, first, last, x, y);
    return;
  }
  int width = last - first, stripes = (width + TILE - 1) / TILE;
  for (int s = 0; s < stripes; s++) {
    int j0 = first + width * s / stripes;
    stripe(m, j0, first + width * (s + 1) / stripes - j0, k, x, y, tile);
  }
}

void bl_symmetric_part(const bl_symmetric *m, int part, int k, const double *x, double *y, double *work) {
  const size_t n = (size_t)m->n;
  int first, last;
  part_above(m, part, k, x, y, work);
  columns_of(m->n, part, &first, &last);
  for (size_t c = 0; c < (size_t)k; c++) memset(y + c * n + last, 0, (n - (size_t)last) * sizeof *y);
}

/* Parts first.. of `parts` ones, added over the tree; `sums` has room for [n,k] of each level below. */
static void branch(const bl_symmetric *m, int first, int parts, int k, const double *x, double *y, double *tile,
                   double *sums) {
  const size_t n = (size_t)m->n;
  int start, middle, last;
  if (parts == 1) {
    part_above(m, first, k, x, y, tile);
    return;
  }
  branch(m, first, parts / 2, k, x, y, tile, sums);
  branch(m, first + parts / 2, parts / 2, k, x, sums, tile, sums + n * (size_t)k);
  columns_of(m->n, first + parts / 2, &middle, &last);
  columns_of(m->n, first + parts - 1, &start, &last);
  for (size_t c = 0; c < (size_t)k; c++) {
    double *to = y + c * n;
    const double *from = sums + c * n;
    for (int i = 0; i < middle; i++) to[i] += from[i];
    for (int i = middle; i < last; i++)
      to[i] = 0.0 + from[i]; /* what the first half has there, so that -0 becomes 0 here too */
  }
}

void bl_symmetric_product(const bl_symmetric *m, int k, const double *x, double *y, double *work) {
  if (m->full) {
    bl_dgemm('N', 'N', m->n, k, m->n, 1, m->full, m->n, x, m->n, 0, y, m->n);
    return;
  }
  branch(m, 0, bl_symmetric_parts(m->n), k, x, y, work, work + bl_symmetric_tile());
  for (size_t i = 0; i < (size_t)m->n * (size_t)k; i++) y[i] = x[i] + m->scale * y[i];
}
