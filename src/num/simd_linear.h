/* simd_linear.h - products and inverses of small matrices, eight side by side, one in each SIMD lane (simd.h).
 * Column-major; an element is a vector of the eight matrices' elements. */
#ifndef BL_SIMD_LINEAR_H
#define BL_SIMD_LINEAR_H

#include "num/simd.h"

/* out[r + c rows] = sum_m p(r,m) q[m + c inner] with p a vector matrix, p[r ps + m pt]. Two rows by four
 * columns in registers. */
BL_INLINE void bl_v_multiply(int rows, int inner, int columns, const bl_v *p, int ps, int pt, const bl_v *q,
                             bl_v *out) {
  for (int c = 0; c < columns; c += 4) {
    int wide = columns - c < 4 ? columns - c : 4;
    if (wide < 4) {
      for (int d = c; d < columns; d++)
        for (int r = 0; r < rows; r++) {
          bl_v sum = bl_v_all(0);
          for (int m = 0; m < inner; m++) sum += p[r * ps + m * pt] * q[m + d * inner];
          out[r + d * rows] = sum;
        }
      break;
    }
    const bl_v *q0 = q + c * inner, *q1 = q0 + inner, *q2 = q1 + inner, *q3 = q2 + inner;
    int r = 0;
    for (; r + 1 < rows; r += 2) {
      bl_v s00 = bl_v_all(0), s01 = s00, s02 = s00, s03 = s00, s10 = s00, s11 = s00, s12 = s00, s13 = s00;
      for (int m = 0; m < inner; m++) {
        bl_v p0 = p[r * ps + m * pt], p1 = p[(r + 1) * ps + m * pt];
        s00 += p0 * q0[m], s01 += p0 * q1[m], s02 += p0 * q2[m], s03 += p0 * q3[m];
        s10 += p1 * q0[m], s11 += p1 * q1[m], s12 += p1 * q2[m], s13 += p1 * q3[m];
      }
      bl_v *o = out + r + c * rows;
      o[0] = s00, o[rows] = s01, o[2 * rows] = s02, o[3 * rows] = s03;
      o[1] = s10, o[rows + 1] = s11, o[2 * rows + 1] = s12, o[3 * rows + 1] = s13;
    }
    for (; r < rows; r++)
      for (int d = c; d < c + 4; d++) {
        bl_v sum = bl_v_all(0);
        for (int m = 0; m < inner; m++) sum += p[r * ps + m * pt] * q[m + d * inner];
        out[r + d * rows] = sum;
      }
  }
}

/* w [k,k] <- the inverse of the symmetric matrix whose lower triangle is l, by Cholesky; returns its determinant, NaN
 * or negative where it is not positive definite. l ends as the inverse factor. */
BL_INLINE bl_v bl_v_invert(int k, bl_v *l, bl_v *w) {
  bl_v det = bl_v_all(1);
  for (int j = 0; j < k; j++) {
    bl_v pivot = l[j + j * k];
    for (int m = 0; m < j; m++) pivot -= l[j + m * k] * l[j + m * k];
    det *= pivot;
    bl_v inverse = bl_v_all(1) / bl_v_sqrt(pivot);
    l[j + j * k] = inverse;
    for (int i = j + 1; i < k; i++) {
      bl_v sum = l[i + j * k];
      for (int m = 0; m < j; m++) sum -= l[i + m * k] * l[j + m * k];
      l[i + j * k] = sum * inverse;
    }
  }
  for (int j = 0; j < k; j++) /* invert the factor in place, column by column */
    for (int i = j + 1; i < k; i++) {
      bl_v sum = l[i + j * k] * l[j + j * k];
      for (int m = j + 1; m < i; m++) sum += l[i + m * k] * l[m + j * k];
      l[i + j * k] = -sum * l[i + i * k];
    }
  for (int j = 0; j < k; j++)
    for (int i = 0; i <= j; i++) {
      bl_v sum = bl_v_all(0);
      for (int m = j; m < k; m++) sum += l[m + i * k] * l[m + j * k];
      w[i + j * k] = w[j + i * k] = sum;
    }
  return det;
}

#endif
