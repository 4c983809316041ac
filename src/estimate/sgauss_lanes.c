/* sgauss_lanes.c - the scaled Gaussian likelihood of eight segments at once, one per SIMD lane.
 *
 * For small n a segment's matrices are too small for BLAS to be fast; with the segment index in the lanes
 * every operation below is a full-width multiply-add, and A, being common, is a broadcast scalar.
 * Method (docs/method.md, equations 7 to 12): with b = c v, X = K A = A U, U = b^1/2 (I+B'B)^-1 b^-1/2,
 * E = D X, F = A'E: dA = N (X - E + X diag(b) F) diag(b), diag(DK) = D_ii - sum_k b_k E_ik A_ik.
 * Accuracy: agrees with the dense version to rounding (tests/unit/test_sgauss.c). */
#include <math.h>

#include "estimate/sgauss_kernels.h"

/* Workspace: b, root b, 1/root b [k each]; w [n]; L, W, U [k,k]; X, Y, E [n,k]; F [k,k]; gradient [n,k]. */
size_t bl_sgauss_lanes_work(int n, int k) { return (size_t)BL_LANES * (3 * k + n + 4 * k * k + 4 * n * k); }

/* out[r + c rows] = sum_m p(r,m) q[m + c inner] with p a vector matrix, p[r ps + m pt]. Two rows by four
 * columns in registers. */
BL_INLINE void multiply_vectors(int rows, int inner, int columns, const bl_v8 *p, int ps, int pt, const bl_v8 *q,
                                bl_v8 *out) {
  for (int c = 0; c < columns; c += 4) {
    int wide = columns - c < 4 ? columns - c : 4;
    if (wide < 4) {
      for (int d = c; d < columns; d++)
        for (int r = 0; r < rows; r++) {
          bl_v8 sum = bl_v8_all(0);
          for (int m = 0; m < inner; m++) sum += p[r * ps + m * pt] * q[m + d * inner];
          out[r + d * rows] = sum;
        }
      break;
    }
    const bl_v8 *q0 = q + c * inner, *q1 = q0 + inner, *q2 = q1 + inner, *q3 = q2 + inner;
    int r = 0;
    for (; r + 1 < rows; r += 2) {
      bl_v8 s00 = bl_v8_all(0), s01 = s00, s02 = s00, s03 = s00, s10 = s00, s11 = s00, s12 = s00, s13 = s00;
      for (int m = 0; m < inner; m++) {
        bl_v8 p0 = p[r * ps + m * pt], p1 = p[(r + 1) * ps + m * pt];
        s00 += p0 * q0[m], s01 += p0 * q1[m], s02 += p0 * q2[m], s03 += p0 * q3[m];
        s10 += p1 * q0[m], s11 += p1 * q1[m], s12 += p1 * q2[m], s13 += p1 * q3[m];
      }
      bl_v8 *o = out + r + c * rows;
      o[0] = s00, o[rows] = s01, o[2 * rows] = s02, o[3 * rows] = s03;
      o[1] = s10, o[rows + 1] = s11, o[2 * rows + 1] = s12, o[3 * rows + 1] = s13;
    }
    for (; r < rows; r++)
      for (int d = c; d < c + 4; d++) {
        bl_v8 sum = bl_v8_all(0);
        for (int m = 0; m < inner; m++) sum += p[r * ps + m * pt] * q[m + d * inner];
        out[r + d * rows] = sum;
      }
  }
}

/* The same with a scalar left factor p[r ps + m pt]. */
BL_INLINE void multiply_scalars(int rows, int inner, int columns, const double *p, int ps, int pt, const bl_v8 *q,
                                bl_v8 *out) {
  int c = 0;
  for (; c + 3 < columns; c += 4) {
    const bl_v8 *q0 = q + c * inner, *q1 = q0 + inner, *q2 = q1 + inner, *q3 = q2 + inner;
    for (int r = 0; r < rows; r++) {
      bl_v8 s0 = bl_v8_all(0), s1 = s0, s2 = s0, s3 = s0;
      for (int m = 0; m < inner; m++) {
        bl_v8 factor = bl_v8_all(p[r * ps + m * pt]);
        s0 += factor * q0[m], s1 += factor * q1[m], s2 += factor * q2[m], s3 += factor * q3[m];
      }
      out[r + c * rows] = s0, out[r + (c + 1) * rows] = s1, out[r + (c + 2) * rows] = s2, out[r + (c + 3) * rows] = s3;
    }
  }
  for (; c < columns; c++)
    for (int r = 0; r < rows; r++) {
      bl_v8 sum = bl_v8_all(0);
      for (int m = 0; m < inner; m++) sum += bl_v8_all(p[r * ps + m * pt]) * q[m + c * inner];
      out[r + c * rows] = sum;
    }
}

BL_INLINE bl_v8 root(bl_v8 x) {
  bl_v8 r;
  for (int l = 0; l < BL_LANES; l++) r[l] = sqrt(x[l]);
  return r;
}

/* W <- (I + B'B)^-1 by Cholesky; returns the product of the squared pivots, i.e. the determinant. l [k,k] is
 * scratch and ends as the inverse factor. */
BL_INLINE bl_v8 invert_capacitance(int k, const double *gram, const bl_v8 *rb, bl_v8 *l, bl_v8 *w) {
  bl_v8 det = bl_v8_all(1);
  for (int j = 0; j < k; j++) {
    bl_v8 pivot = bl_v8_all(1) + bl_v8_all(gram[j + j * k]) * rb[j] * rb[j];
    for (int m = 0; m < j; m++) pivot -= l[j + m * k] * l[j + m * k];
    det *= pivot;
    bl_v8 inverse = bl_v8_all(1) / root(pivot);
    l[j + j * k] = inverse;
    for (int i = j + 1; i < k; i++) {
      bl_v8 sum = bl_v8_all(gram[i + j * k]) * rb[i] * rb[j];
      for (int m = 0; m < j; m++) sum -= l[i + m * k] * l[j + m * k];
      l[i + j * k] = sum * inverse;
    }
  }
  for (int j = 0; j < k; j++) /* invert the factor in place, column by column */
    for (int i = j + 1; i < k; i++) {
      bl_v8 sum = l[i + j * k] * l[j + j * k];
      for (int m = j + 1; m < i; m++) sum += l[i + m * k] * l[m + j * k];
      l[i + j * k] = -sum * l[i + i * k];
    }
  for (int j = 0; j < k; j++)
    for (int i = 0; i <= j; i++) {
      bl_v8 sum = bl_v8_all(0);
      for (int m = j; m < k; m++) sum += l[m + i * k] * l[m + j * k];
      w[i + j * k] = w[j + i * k] = sum;
    }
  return det;
}

BL_INLINE void block(const bl_sgauss_shared *shared, const bl_v8 *c, const bl_v8 *weights, const bl_v8 *local, double *value,
                     double *gradient_a, bl_v8 *local_gradient) {
  const int n = shared->n, k = shared->k;
  const double *a = shared->a;
  const bl_v8 weight = *weights;
  bl_v8 *b = (bl_v8 *)shared->work, *rb = b + k, *ib = rb + k, *w = ib + k, *l = w + n, *inv = l + k * k,
        *u = inv + k * k, *x = u + k * k, *y = x + n * k, *e = y + n * k, *f = e + n * k, *z = f + k * k;
  bl_v8 log_q = bl_v8_all(0);
  for (int j = 0; j < k; j++) {
    b[j] = bl_v8_all(shared->link) * bl_v8_exp(local[j]);
    rb[j] = root(b[j]);
    ib[j] = bl_v8_all(1) / rb[j];
  }
  for (int i = 0; i < n; i++) {
    w[i] = bl_v8_exp(-local[k + i]);
    log_q += local[k + i];
  }
  bl_v8 det = invert_capacitance(k, shared->gram, rb, l, inv);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) u[i + j * k] = rb[i] * inv[i + j * k] * ib[j];
  multiply_scalars(n, k, k, a, 1, n, u, x);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) y[i + j * n] = w[i] * x[i + j * n];
  multiply_vectors(n, n, k, c, n, 1, y, e); /* C is symmetric: rows are read as columns */
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) e[i + j * n] *= w[i];
  multiply_scalars(k, n, k, a, n, 1, e, f);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) f[i + j * k] *= b[i];
  multiply_vectors(n, k, k, x, 1, n, f, z);
  for (int j = 0; j < k; j++) {
    bl_v8 slope = bl_v8_all(0);
    for (int i = 0; i < n; i++) {
      bl_v8 g = weight * b[j] * (x[i + j * n] - e[i + j * n] + z[i + j * n]);
      slope += bl_v8_all(0.5 * a[i + j * n]) * g;
      double sum = 0;
      for (int lane = 0; lane < BL_LANES; lane++) sum += g[lane];
      gradient_a[i + j * n] = sum;
    }
    local_gradient[j] = slope;
  }
  bl_v8 trace = bl_v8_all(0);
  for (int i = 0; i < n; i++) {
    bl_v8 dk = w[i] * w[i] * c[i + i * n];
    dk = bl_v8_choose(dk <= bl_v8_all(BL_SGAUSS_MAX_D), dk, bl_v8_all(NAN));
    for (int j = 0; j < k; j++) dk -= b[j] * e[i + j * n] * bl_v8_all(a[i + j * n]);
    trace += dk;
    local_gradient[k + i] = weight * (bl_v8_all(1) - dk);
  }
  double sum = 0;
  for (int lane = 0; lane < BL_LANES; lane++)
    if (weight[lane] > 0) sum += 0.5 * weight[lane] * (log(det[lane]) + 2 * log_q[lane] + trace[lane]);
  *value = sum;
}

#define ARGUMENTS                                                                                             \
  const bl_sgauss_shared *shared, const bl_v8 *c, const bl_v8 *weight, const bl_v8 *local, double *value,     \
      double *gradient_a, bl_v8 *local_gradient
#define BODY block(shared, c, weight, local, value, gradient_a, local_gradient)

static void block_scalar(ARGUMENTS) { BODY; }
#if defined(__x86_64__)
BL_TARGET_AVX2 static void block_avx2(ARGUMENTS) { BODY; }
BL_TARGET_AVX512 static void block_avx512(ARGUMENTS) { BODY; }
#endif

void bl_sgauss_lanes(const bl_sgauss_shared *shared, blica_simd level, const bl_v8 *c, const bl_v8 *weight,
                     const bl_v8 *local, double *value, double *gradient_a, bl_v8 *local_gradient) {
#if defined(__x86_64__)
  if (level == BLICA_SIMD_AVX512) {
    block_avx512(shared, c, weight, local, value, gradient_a, local_gradient);
    return;
  }
  if (level == BLICA_SIMD_AVX2) {
    block_avx2(shared, c, weight, local, value, gradient_a, local_gradient);
    return;
  }
#endif
  block_scalar(shared, c, weight, local, value, gradient_a, local_gradient);
}
