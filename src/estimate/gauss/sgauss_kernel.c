/* sgauss_kernel.c - the scaled Gaussian likelihood of eight segments at once, one per SIMD lane.
 *
 * For small n a segment's matrices are too small for BLAS to be fast; with the segment index in the lanes
 * every operation below is a full-width multiply-add, and A, being common, is a broadcast scalar.
 * Method (docs/method.md, equations 7 to 12): with b = c v, X = K A = A U, U = b^1/2 (I+B'B)^-1 b^-1/2,
 * E = D X, F = A'E: dA = N (X - E + X diag(b) F) diag(b), diag(DK) = D_ii - sum_k b_k E_ik A_ik.
 * Accuracy: agrees with the dense version to rounding (tests/identity/test_sgauss.c). */
#include <math.h>

#include "estimate/gauss/sgauss_kernels.h"
#include "num/simd_linear.h"

void BL_NAME(bl_sgauss_lanes)(const bl_sgauss_shared *shared, const bl_v *c, const bl_v *weights, const bl_v *local,
                              double *value, double *gradient_a, bl_v *local_gradient) {
  const int n = shared->n, k = shared->k;
  const double *a = shared->a;
  const bl_v weight = *weights;
  bl_v *b = (bl_v *)shared->work, *rb = b + k, *ib = rb + k, *w = ib + k, *l = w + n, *inv = l + k * k,
       *u = inv + k * k, *x = u + k * k, *y = x + n * k, *e = y + n * k, *f = e + n * k, *z = f + k * k;
  bl_v log_q = bl_v_all(0);
  for (int j = 0; j < k; j++) {
    b[j] = bl_v_all(shared->link) * bl_v_exp(bl_v_exp_limit(local[j]));
    rb[j] = bl_v_sqrt(b[j]);
    ib[j] = bl_v_all(1) / rb[j];
  }
  for (int i = 0; i < n; i++) {
    w[i] = bl_v_exp(bl_v_exp_limit(-local[k + i]));
    log_q += local[k + i];
  }
  for (int j = 0; j < k; j++)
    for (int i = j; i < k; i++) l[i + j * k] = bl_v_all(shared->gram[i + j * k]) * rb[i] * rb[j] + bl_v_all(i == j);
  bl_v det = bl_v_invert(k, l, inv);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) u[i + j * k] = rb[i] * inv[i + j * k] * ib[j];
  bl_v_multiply_scalars(n, k, k, a, 1, n, u, x);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) y[i + j * n] = w[i] * x[i + j * n];
  bl_v_multiply(n, n, k, c, n, 1, y, e); /* C is symmetric: rows are read as columns */
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) e[i + j * n] *= w[i];
  bl_v_multiply_scalars(k, n, k, a, n, 1, e, f);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) f[i + j * k] *= b[i];
  bl_v_multiply(n, k, k, x, 1, n, f, z);
  for (int j = 0; j < k; j++) {
    bl_v slope = bl_v_all(0);
    for (int i = 0; i < n; i++) {
      bl_v g = weight * b[j] * (x[i + j * n] - e[i + j * n] + z[i + j * n]);
      slope += bl_v_all(0.5 * a[i + j * n]) * g;
      double sum = 0;
      for (int lane = 0; lane < BL_LANES; lane++) sum += g[lane];
      gradient_a[i + j * n] = sum;
    }
    local_gradient[j] = slope;
  }
  bl_v trace = bl_v_all(0);
  for (int i = 0; i < n; i++) {
    bl_v dk = w[i] * w[i] * c[i + i * n];
    dk = bl_v_select(dk <= bl_v_all(BL_SGAUSS_MAX_D), dk, bl_v_all(NAN));
    for (int j = 0; j < k; j++) dk -= b[j] * e[i + j * n] * bl_v_all(a[i + j * n]);
    trace += dk;
    local_gradient[k + i] = weight * (bl_v_all(1) - dk);
  }
  double sum = 0;
  for (int lane = 0; lane < BL_LANES; lane++)
    if (weight[lane] > 0) sum += 0.5 * weight[lane] * (log(det[lane]) + 2 * log_q[lane] + trace[lane]);
  *value = sum;
}
