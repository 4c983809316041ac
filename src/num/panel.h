/* panel.h - small matrix products on panels: a panel holds a multiple of eight rows, `vectors` vec of them for each
 * variable, variable after variable. The row index runs along the lanes, so small matrices (n, k from 2 to a few
 * hundred) keep all lanes busy. Each result is a sum in one fixed order, whatever the tiling and the width.
 * Include after setting the instruction set, as with vec.h. */
#ifndef BL_PANEL_H
#define BL_PANEL_H

#include "num/vec.h"

#define BL_TILE_VECTORS 2

/* The eight partial sums of one variable's rows are added to `lanes`. */
VEC_INLINE void panel_add_rows(const vec *x, int vectors, double *lanes) {
  for (int part = 0; part < VEC_PARTS; part++) {
    vec sum = ((vec *)lanes)[part];
    for (int v = part; v < vectors; v += VEC_PARTS) sum += x[v];
    ((vec *)lanes)[part] = sum;
  }
}

/* jt outputs times vt vectors of y_j = start_j + sum_c w[c * ld + j] x_c */
VEC_INLINE void panel_multiply_tile(const int jt, const int vt, int inner, const double *w, int ld, const double *start,
                                    const vec *x, vec *y, int vectors) {
  vec acc[4][2];
  for (int j = 0; j < jt; j++)
    for (int v = 0; v < vt; v++) acc[j][v] = vec_all(start ? start[j] : 0.0);
  for (int c = 0; c < inner; c++)
    for (int j = 0; j < jt; j++)
      for (int v = 0; v < vt; v++)
        acc[j][v] = vec_fma(vec_all(w[(size_t)c * ld + j]), x[(size_t)c * vectors + v], acc[j][v]);
  for (int j = 0; j < jt; j++)
    for (int v = 0; v < vt; v++) y[(size_t)j * vectors + v] = acc[j][v];
}

/* y [outer] = start + w' x [inner]; w[c * ld + j] takes input c to output j; start may be NULL */
VEC_INLINE void panel_multiply(int outer, int inner, const double *w, int ld, const double *start, const vec *x, vec *y,
                               int vectors) {
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

VEC_INLINE void panel_outer_tile(const int jt, const int ct, const vec *d, const vec *z, vec *g, int ld, int vectors) {
  for (int part = 0; part < VEC_PARTS; part++) {
    vec acc[2][4];
    for (int j = 0; j < jt; j++)
      for (int c = 0; c < ct; c++) acc[j][c] = g[((size_t)j * ld + c) * VEC_PARTS + part];
    for (int v = part; v < vectors; v += VEC_PARTS)
      for (int j = 0; j < jt; j++)
        for (int c = 0; c < ct; c++)
          acc[j][c] = vec_fma(d[(size_t)j * vectors + v], z[(size_t)c * vectors + v], acc[j][c]);
    for (int j = 0; j < jt; j++)
      for (int c = 0; c < ct; c++) g[((size_t)j * ld + c) * VEC_PARTS + part] = acc[j][c];
  }
}

VEC_INLINE void panel_outer_rows(const int jt, int columns, const vec *d, const vec *z, vec *g, int ld, int vectors) {
  int c = 0;
  for (; c + 4 <= columns; c += 4)
    panel_outer_tile(jt, 4, d, z + (size_t)c * vectors, g + (size_t)c * VEC_PARTS, ld, vectors);
  for (; c + 2 <= columns; c += 2)
    panel_outer_tile(jt, 2, d, z + (size_t)c * vectors, g + (size_t)c * VEC_PARTS, ld, vectors);
  if (c < columns) panel_outer_tile(jt, 1, d, z + (size_t)c * vectors, g + (size_t)c * VEC_PARTS, ld, vectors);
}

/* g[j * columns + c], eight partial sums each, += d_j z_c over the rows of the panel */
VEC_INLINE void panel_outer(int rows, int columns, const vec *d, const vec *z, vec *g, int vectors) {
  int j = 0;
  for (; j + 2 <= rows; j += 2)
    panel_outer_rows(2, columns, d + (size_t)j * vectors, z, g + (size_t)j * columns * VEC_PARTS, columns, vectors);
  if (j < rows)
    panel_outer_rows(1, columns, d + (size_t)j * vectors, z, g + (size_t)j * columns * VEC_PARTS, columns, vectors);
}

#endif
