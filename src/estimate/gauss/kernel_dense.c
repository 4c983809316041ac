/* kernel_dense.c - one segment of the Gaussian likelihood by BLAS: kernel.h with doubles. */
#include <string.h>

#include "estimate/gauss/gauss.h"
#include "num/linear/blas.h"

typedef double V;
typedef const bl_symmetric *CORRELATIONS;

BL_INLINE V all(double x) {
  return x;
}
BL_INLINE V exp_of(V x) {
  return exp(x);
}
BL_INLINE V sqrt_of(V x) {
  return sqrt(x);
}
BL_INLINE V if_less(V x, V y, V yes, V no) {
  return x < y ? yes : no;
}
BL_INLINE double sum_of(V x) {
  return x;
}
static V log_sum(int n, const V *x) {
  V sum = 0;
  for (int i = 0; i < n; i++) sum += log(x[i]);
  return sum;
}
static void multiply(int rows, int inner, int columns, bool transposed, const V *a, const V *b, V *out) {
  bl_dgemm(transposed ? 'T' : 'N', 'N', rows, columns, inner, 1, a, transposed ? inner : rows, b, inner, 0, out, rows);
}
static void set_capacitance(int n, int k, const V *b, const V *f, V *l) {
  multiply(k, n, k, true, b, f, l);
  for (int j = 0; j < k; j++) l[(size_t)j * (size_t)(k + 1)] += 1;
}
static V invert(int k, V *l, V *w) {
  memcpy(w, l, (size_t)k * (size_t)k * sizeof *w);
  return bl_invert(k, w);
}
static void product(CORRELATIONS c, int n, int k, const V *x, V *y, V *rest) {
  (void)n;
  bl_symmetric_product(c, k, x, y, rest);
}

#include "estimate/gauss/kernel.h"

size_t bl_gauss_segment_work(int n, int k) {
  return parts_size(n, k) + bl_symmetric_work();
}

double bl_gauss_segment(const bl_point *at, const bl_symmetric *c, double *work, double *mixing, double *local) {
  const int n = at->n, k = at->k;
  parts p = place_parts(work, n, k);
  scale_rows(n, k, at->link, at->a, at->log_v, at->log_q, at->noise, &p);
  const double value = evaluate(n, k, c, at->noise, &p);
  chain(n, k, at->a, at->log_q != NULL, at->weight, &p, mixing, local);
  return 0.5 * at->weight * value;
}

size_t bl_gauss_parts_size(int n, int k) {
  return parts_size(n, k);
}
