/* panel.h - small matrix products on panels: a panel holds a multiple of eight rows, `vectors` bl_v of them for each
 * variable, variable after variable. The row index runs along the lanes, so small matrices (n, k from 2 to a few
 * hundred) keep all lanes busy. Each result is a sum in one fixed order, whatever the tiling and the width.
 * The including file sets
 * BL_WIDTH to BL_REGISTER first. */
#ifndef BL_PANEL_H
#define BL_PANEL_H

#include "num/simd.h"

#define BL_TILE_VECTORS 2
#define BL_PARTS (BL_LANES / BL_WIDTH) /* vectors that hold the partial sums of one result */

/* The eight partial sums of one variable's rows are added to `lanes`. */
BL_INLINE void panel_add_rows(const bl_v *x, int vectors, double *lanes) {
  for (int part = 0; part < BL_PARTS; part++) {
    bl_v sum = ((bl_v *)lanes)[part];
    for (int v = part; v < vectors; v += BL_PARTS) sum += x[v];
    ((bl_v *)lanes)[part] = sum;
  }
}

/* jt outputs times vt vectors of y_j = start_j + sum_c w[c * ld + j] x_c */
BL_INLINE void panel_multiply_tile(const int jt, const int vt, int inner, const double *w, int ld, const double *start,
                                   const bl_v *x, bl_v *y, int vectors) {
  bl_v acc[4][2];
  for (int j = 0; j < jt; j++)
    for (int v = 0; v < vt; v++) acc[j][v] = bl_v_all(start ? start[j] : 0.0);
  for (int c = 0; c < inner; c++)
    for (int j = 0; j < jt; j++)
      for (int v = 0; v < vt; v++)
        acc[j][v] = bl_v_fma(bl_v_all(w[(size_t)c * ld + j]), x[(size_t)c * vectors + v], acc[j][v]);
  for (int j = 0; j < jt; j++)
    for (int v = 0; v < vt; v++) y[(size_t)j * vectors + v] = acc[j][v];
}

/* y [outer] = start + w' x [inner]; w[c * ld + j] takes input c to output j; start may be NULL */
BL_INLINE void panel_multiply(int outer, int inner, const double *w, int ld, const double *start, const bl_v *x,
                              bl_v *y, int vectors) {
  for (int v = 0; v < vectors; v += BL_TILE_VECTORS) {
    int j = 0;
    for (; j + 4 <= outer; j += 4)
      panel_multiply_tile(4, BL_TILE_VECTORS, inner, w + j, ld, start ? start + j : start, x + v,
                          y + (size_t)j * vectors + v, vectors);
    for (; j + 2 <= outer; j += 2)
      panel_multiply_tile(2, BL_TILE_VECTORS, inner, w + j, ld, start ? start + j : start, x + v,
                          y + (size_t)j * vectors + v, vectors);
    if (j < outer)
      panel_multiply_tile(1, BL_TILE_VECTORS, inner, w + j, ld, start ? start + j : start, x + v,
                          y + (size_t)j * vectors + v, vectors);
  }
}

BL_INLINE void panel_outer_tile(const int jt, const int ct, const bl_v *d, const bl_v *z, bl_v *g, int ld,
                                int vectors) {
  for (int part = 0; part < BL_PARTS; part++) {
    bl_v acc[2][4];
    for (int j = 0; j < jt; j++)
      for (int c = 0; c < ct; c++) acc[j][c] = g[((size_t)j * ld + c) * BL_PARTS + part];
    for (int v = part; v < vectors; v += BL_PARTS)
      for (int j = 0; j < jt; j++)
        for (int c = 0; c < ct; c++)
          acc[j][c] = bl_v_fma(d[(size_t)j * vectors + v], z[(size_t)c * vectors + v], acc[j][c]);
    for (int j = 0; j < jt; j++)
      for (int c = 0; c < ct; c++) g[((size_t)j * ld + c) * BL_PARTS + part] = acc[j][c];
  }
}

BL_INLINE void panel_outer_rows(const int jt, int columns, const bl_v *d, const bl_v *z, bl_v *g, int ld, int vectors) {
  int c = 0;
  for (; c + 4 <= columns; c += 4)
    panel_outer_tile(jt, 4, d, z + (size_t)c * vectors, g + (size_t)c * BL_PARTS, ld, vectors);
  for (; c + 2 <= columns; c += 2)
    panel_outer_tile(jt, 2, d, z + (size_t)c * vectors, g + (size_t)c * BL_PARTS, ld, vectors);
  if (c < columns) panel_outer_tile(jt, 1, d, z + (size_t)c * vectors, g + (size_t)c * BL_PARTS, ld, vectors);
}

/* g[j * columns + c], eight partial sums each, += d_j z_c over the rows of the panel */
BL_INLINE void panel_outer(int rows, int columns, const bl_v *d, const bl_v *z, bl_v *g, int vectors) {
  int j = 0;
  for (; j + 2 <= rows; j += 2)
    panel_outer_rows(2, columns, d + (size_t)j * vectors, z, g + (size_t)j * columns * BL_PARTS, columns, vectors);
  if (j < rows)
    panel_outer_rows(1, columns, d + (size_t)j * vectors, z, g + (size_t)j * columns * BL_PARTS, columns, vectors);
}

#endif
