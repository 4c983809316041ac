/* corfit_kernel.c - the matched Gaussian likelihood of eight segments at once, one per SIMD lane.
 *
 * Formulas and letters of corfit_matched.c, which is the specification; here the segment index is in the lanes, and A,
 * being common, is a broadcast scalar (as in sgauss_kernel.c). Accuracy: agrees with corfit_matched.c to rounding at
 * every SIMD level (tests/identity/test_corfit.c). */
#include <math.h>

#include "estimate/gauss/corfit.h"
#include "num/simd_linear.h"

enum { TOGETHER = 4 }; /* factors psi whose product is formed before its logarithm */

typedef struct {
  bl_v *b, *root, *unroot, *d, *psi, *unpsi, *g, *l, *w, *z, *bb, *f, *x, *e, *gb;
} parts;

BL_INLINE parts divide(bl_v *work, int n, int k) {
  parts p = {.b = work, .root = work + k, .unroot = work + 2 * k, .d = work + 3 * k};
  p.psi = p.d + n, p.unpsi = p.psi + n, p.g = p.unpsi + n;
  p.l = p.g + n, p.w = p.l + k * k, p.z = p.w + k * k;
  p.bb = p.z + k * k, p.f = p.bb + n * k, p.x = p.f + n * k, p.e = p.x + n * k, p.gb = p.e + n * k;
  return p;
}

/* b, d, psi, B, F = B/psi. */
BL_INLINE void scale_model(int n, int k, double link, const double *a, const bl_v *log_v, const bl_v *noise, parts *p) {
  for (int j = 0; j < k; j++) {
    p->b[j] = bl_v_all(link) * bl_v_exp(bl_v_exp_limit(log_v[j]));
    p->root[j] = bl_v_sqrt(p->b[j]);
    p->unroot[j] = bl_v_all(1) / p->root[j];
  }
  for (int i = 0; i < n; i++) {
    bl_v m = bl_v_all(1);
    for (int j = 0; j < k; j++) m += p->b[j] * bl_v_all(a[i + j * n] * a[i + j * n]);
    bl_v square = bl_v_all(1) / m;
    p->psi[i] = square + noise[i];
    p->unpsi[i] = bl_v_all(1) / p->psi[i];
    p->d[i] = bl_v_sqrt(square);
  }
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      p->bb[i + j * n] = p->d[i] * bl_v_all(a[i + j * n]) * p->root[j];
      p->f[i + j * n] = p->bb[i + j * n] * p->unpsi[i];
    }
}

/* W = (I + B'F)^-1; returns det (I + B'F). */
BL_INLINE bl_v invert_capacitance(int n, int k, parts *p) {
  for (int j = 0; j < k; j++)
    for (int i = j; i < k; i++) {
      bl_v sum = bl_v_all(i == j);
      for (int m = 0; m < n; m++) sum += p->bb[m + i * n] * p->f[m + j * n];
      p->l[i + j * k] = sum;
    }
  return bl_v_invert(k, p->l, p->w);
}

/* G = dF/dT over N/2: its product with B and its diagonal; returns tr(C T^-1). */
BL_INLINE bl_v residual(int n, int k, const bl_v *c, parts *p) {
  bl_v trace = bl_v_all(0);
  bl_v_multiply(n, k, k, p->f, 1, n, p->w, p->x);
  bl_v_multiply(n, n, k, c, n, 1, p->x, p->e); /* C is symmetric: rows are read as columns */
  bl_v_multiply(k, n, k, p->f, n, 1, p->e, p->z);
  bl_v_multiply(n, k, k, p->x, 1, n, p->z, p->gb);
  for (int i = 0; i < n; i++) {
    bl_v own = c[i + i * n] * p->unpsi[i], g = (bl_v_all(1) - own) * p->unpsi[i];
    trace += own;
    for (int j = 0; j < k; j++) {
      int at = i + j * n;
      bl_v ef = p->e[at] * p->f[at], xf = p->x[at] * p->f[at];
      trace -= ef;
      g -= xf - bl_v_all(2) * ef * p->unpsi[i] + p->gb[at] * p->f[at];
      p->gb[at] = p->x[at] - p->e[at] * p->unpsi[i] + p->gb[at];
    }
    p->g[i] = g;
  }
  return trace;
}

/* The chain rule from G to A and log v (docs/method.md, equation 22). */
BL_INLINE void chain(int n, int k, const double *a, bl_v weight, parts *p, double *gradient_a, bl_v *gradient_v) {
  for (int i = 0; i < n; i++) { /* diagonal of Gamma, over -g_i^2, into psi */
    bl_v own = p->g[i] * p->d[i] * p->d[i];
    for (int j = 0; j < k; j++) own += p->gb[i + j * n] * p->bb[i + j * n];
    p->psi[i] = own * p->d[i] * p->d[i];
  }
  for (int j = 0; j < k; j++) {
    bl_v slope = bl_v_all(0), scale = weight * p->b[j];
    for (int i = 0; i < n; i++) {
      int at = i + j * n;
      bl_v g = scale * (p->d[i] * p->gb[at] * p->unroot[j] - p->psi[i] * bl_v_all(a[at]));
      slope += bl_v_all(0.5 * a[at]) * g;
      double sum = 0;
      for (int lane = 0; lane < BL_LANES; lane++) sum += g[lane];
      gradient_a[at] = sum;
    }
    gradient_v[j] = slope;
  }
}

void BL_NAME(bl_corfit_lanes)(const bl_corfit_block *in, bl_v *work, double *value, double *gradient_a,
                              bl_v *gradient_v) {
  const int n = in->n, k = in->k;
  const bl_v weight = *in->weight;
  parts p = divide(work, n, k);
  scale_model(n, k, in->link, in->a, in->log_v, in->noise, &p);
  bl_v det = invert_capacitance(n, k, &p), trace = residual(n, k, in->c, &p);
  double log_det[BL_LANES], sum = 0;
  for (int lane = 0; lane < BL_LANES; lane++) log_det[lane] = log(det[lane]);
  for (int i = 0; i < n; i += TOGETHER) {
    bl_v product = p.psi[i];
    for (int j = i + 1; j < n && j < i + TOGETHER; j++) product *= p.psi[j];
    for (int lane = 0; lane < BL_LANES; lane++) log_det[lane] += log(product[lane]);
  }
  chain(n, k, in->a, weight, &p, gradient_a, gradient_v);
  for (int lane = 0; lane < BL_LANES; lane++)
    if (weight[lane] > 0) sum += 0.5 * weight[lane] * (log_det[lane] + trace[lane]);
  *value = sum;
}
