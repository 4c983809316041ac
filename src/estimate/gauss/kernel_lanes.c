/* kernel_lanes.c - eight segments of the Gaussian likelihood at once, one in each SIMD lane: kernel.h with vectors. The
 * segment index is in the lanes, and A, being common, is a broadcast scalar. Same bits at every SIMD level. */
#include "estimate/gauss/gauss.h"
#include "num/simd_linear.h"

typedef bl_v V;
typedef const bl_v *CORRELATIONS;

enum { TOGETHER = 4 }; /* factors psi whose product is formed before its logarithm */

BL_INLINE V all(double x) {
  return bl_v_all(x);
}
BL_INLINE V exp_of(V x) {
  return bl_v_exp(bl_v_exp_limit(x));
}
BL_INLINE V sqrt_of(V x) {
  return bl_v_sqrt(x);
}
BL_INLINE V if_less(V x, V y, V yes, V no) {
  return bl_v_if_less(x, y, yes, no);
}
BL_INLINE double sum_of(V x) {
  return bl_v_sum(x);
}
BL_INLINE V log_of(V x) {
  for (int lane = 0; lane < BL_LANES; lane++) x[lane] = log(x[lane]);
  return x;
}
BL_INLINE V log_sum(int n, const V *x) {
  V sum = all(0);
  for (int i = 0; i < n; i += TOGETHER) {
    V factors = x[i];
    for (int j = i + 1; j < n && j < i + TOGETHER; j++) factors *= x[j];
    sum += log_of(factors);
  }
  return sum;
}
BL_INLINE void multiply(int rows, int inner, int columns, bool transposed, const V *a, const V *b, V *out) {
  bl_v_multiply(rows, inner, columns, a, transposed ? inner : 1, transposed ? 1 : rows, b, out);
}

/* l <- the lower triangle of I + B'F. */
BL_INLINE void set_capacitance(int n, int k, const V *b, const V *f, V *l) {
  for (int j = 0; j < k; j++)
    for (int i = j; i < k; i++) {
      V sum = all(i == j);
      for (int m = 0; m < n; m++) sum += b[m + i * n] * f[m + j * n];
      l[i + j * k] = sum;
    }
}
BL_INLINE V invert(int k, V *l, V *w) {
  return log_of(bl_v_invert(k, l, w));
}
BL_INLINE void product(CORRELATIONS c, int n, int k, const V *x, V *y, V *rest) {
  (void)rest;
  bl_v_multiply(n, n, k, c, n, 1, x, y); /* C is symmetric: rows are read as columns */
}

#include "estimate/gauss/kernel.h"

double BL_NAME(bl_gauss_lanes)(const bl_lanes *in, bl_v *work, double *mixing, bl_v *local) {
  const int n = in->n, k = in->k;
  const V weight = *in->weight;
  parts p = place_parts(work, n, k);
  double sum = 0;
  scale_rows(n, k, in->link, in->a, in->parameter, in->free_scales ? in->parameter + k : NULL, in->noise, &p);
  const V value = evaluate(n, k, in->c, in->noise, &p);
  chain(n, k, in->a, in->free_scales, weight, &p, mixing, local);
  for (int lane = 0; lane < BL_LANES; lane++)
    if (weight[lane] > 0) sum += 0.5 * weight[lane] * value[lane];
  return sum;
}
