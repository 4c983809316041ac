/* corfit_lanes.c - the matched Gaussian likelihood of eight segments at once, one per SIMD lane.
 *
 * Formulas and letters of corfit_matched.c, which is the specification; here the segment index is in the lanes, and A,
 * being common, is a broadcast scalar (as in sgauss_lanes.c). Accuracy: agrees with corfit_matched.c to rounding at
 * every SIMD level (tests/identity/test_corfit.c). */
#include <math.h>

#include "estimate/corfit.h"
#include "num/lanes_linear.h"

enum { TOGETHER = 4 }; /* factors psi whose product is formed before its logarithm */

/* b, root b, 1/root b [k]; d, psi, 1/psi, diagonal of G [n]; L, W, Z [k,k]; B, F, X, E, GB [n,k]. */
size_t bl_corfit_lanes_work(int n, int k) {
  return (size_t)BL_LANES * (3 * (size_t)k + 4 * (size_t)n + 3 * (size_t)k * k + 5 * (size_t)n * k);
}

typedef struct {
  bl_v8 *b, *root, *unroot, *d, *psi, *unpsi, *g, *l, *w, *z, *bb, *f, *x, *e, *gb;
} parts;

BL_INLINE parts divide(bl_v8 *work, int n, int k) {
  parts p = {.b = work, .root = work + k, .unroot = work + 2 * k, .d = work + 3 * k};
  p.psi = p.d + n, p.unpsi = p.psi + n, p.g = p.unpsi + n;
  p.l = p.g + n, p.w = p.l + k * k, p.z = p.w + k * k;
  p.bb = p.z + k * k, p.f = p.bb + n * k, p.x = p.f + n * k, p.e = p.x + n * k, p.gb = p.e + n * k;
  return p;
}

/* b, d, psi, B, F = B/psi. */
BL_INLINE void scale_model(int n, int k, double link, const double *a, const bl_v8 *log_v, const bl_v8 *noise,
                           parts *p) {
  for (int j = 0; j < k; j++) {
    p->b[j] = bl_v8_all(link) * bl_v8_exp(log_v[j]);
    p->root[j] = bl_v8_root(p->b[j]);
    p->unroot[j] = bl_v8_all(1) / p->root[j];
  }
  for (int i = 0; i < n; i++) {
    bl_v8 m = bl_v8_all(1);
    for (int j = 0; j < k; j++) m += p->b[j] * bl_v8_all(a[i + j * n] * a[i + j * n]);
    bl_v8 square = bl_v8_all(1) / m;
    p->psi[i] = square + noise[i];
    p->unpsi[i] = bl_v8_all(1) / p->psi[i];
    p->d[i] = bl_v8_root(square);
  }
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      p->bb[i + j * n] = p->d[i] * bl_v8_all(a[i + j * n]) * p->root[j];
      p->f[i + j * n] = p->bb[i + j * n] * p->unpsi[i];
    }
}

/* W = (I + B'F)^-1; returns det (I + B'F). */
BL_INLINE bl_v8 invert_capacitance(int n, int k, parts *p) {
  for (int j = 0; j < k; j++)
    for (int i = j; i < k; i++) {
      bl_v8 sum = bl_v8_all(i == j);
      for (int m = 0; m < n; m++) sum += p->bb[m + i * n] * p->f[m + j * n];
      p->l[i + j * k] = sum;
    }
  return bl_v8_invert(k, p->l, p->w);
}

/* G = dF/dT over N/2: its product with B and its diagonal; returns tr(C T^-1). */
BL_INLINE bl_v8 residual(int n, int k, const bl_v8 *c, parts *p) {
  bl_v8 trace = bl_v8_all(0);
  bl_v8_multiply(n, k, k, p->f, 1, n, p->w, p->x);
  bl_v8_multiply(n, n, k, c, n, 1, p->x, p->e); /* C is symmetric: rows are read as columns */
  bl_v8_multiply(k, n, k, p->f, n, 1, p->e, p->z);
  bl_v8_multiply(n, k, k, p->x, 1, n, p->z, p->gb);
  for (int i = 0; i < n; i++) {
    bl_v8 own = c[i + i * n] * p->unpsi[i], g = (bl_v8_all(1) - own) * p->unpsi[i];
    trace += own;
    for (int j = 0; j < k; j++) {
      int at = i + j * n;
      bl_v8 ef = p->e[at] * p->f[at], xf = p->x[at] * p->f[at];
      trace -= ef;
      g -= xf - bl_v8_all(2) * ef * p->unpsi[i] + p->gb[at] * p->f[at];
      p->gb[at] = p->x[at] - p->e[at] * p->unpsi[i] + p->gb[at];
    }
    p->g[i] = g;
  }
  return trace;
}

/* The chain rule from G to A and log v (docs/method.md, equation 22). */
BL_INLINE void chain(int n, int k, const double *a, bl_v8 weight, parts *p, double *gradient_a, bl_v8 *gradient_v) {
  for (int i = 0; i < n; i++) { /* diagonal of Gamma, over -g_i^2, into psi */
    bl_v8 own = p->g[i] * p->d[i] * p->d[i];
    for (int j = 0; j < k; j++) own += p->gb[i + j * n] * p->bb[i + j * n];
    p->psi[i] = own * p->d[i] * p->d[i];
  }
  for (int j = 0; j < k; j++) {
    bl_v8 slope = bl_v8_all(0), scale = weight * p->b[j];
    for (int i = 0; i < n; i++) {
      int at = i + j * n;
      bl_v8 g = scale * (p->d[i] * p->gb[at] * p->unroot[j] - p->psi[i] * bl_v8_all(a[at]));
      slope += bl_v8_all(0.5 * a[at]) * g;
      double sum = 0;
      for (int lane = 0; lane < BL_LANES; lane++) sum += g[lane];
      gradient_a[at] = sum;
    }
    gradient_v[j] = slope;
  }
}

BL_INLINE void block(const bl_corfit_block *in, bl_v8 *work, double *value, double *gradient_a, bl_v8 *gradient_v) {
  const int n = in->n, k = in->k;
  const bl_v8 weight = *in->weight;
  parts p = divide(work, n, k);
  scale_model(n, k, in->link, in->a, in->log_v, in->noise, &p);
  bl_v8 det = invert_capacitance(n, k, &p), trace = residual(n, k, in->c, &p);
  double log_det[BL_LANES], sum = 0;
  for (int lane = 0; lane < BL_LANES; lane++) log_det[lane] = log(det[lane]);
  for (int i = 0; i < n; i += TOGETHER) {
    bl_v8 product = p.psi[i];
    for (int j = i + 1; j < n && j < i + TOGETHER; j++) product *= p.psi[j];
    for (int lane = 0; lane < BL_LANES; lane++) log_det[lane] += log(product[lane]);
  }
  chain(n, k, in->a, weight, &p, gradient_a, gradient_v);
  for (int lane = 0; lane < BL_LANES; lane++)
    if (weight[lane] > 0) sum += 0.5 * weight[lane] * (log_det[lane] + trace[lane]);
  *value = sum;
}

#define ARGUMENTS const bl_corfit_block *in, bl_v8 *work, double *value, double *gradient_a, bl_v8 *gradient_v

static void block_scalar(ARGUMENTS) {
  block(in, work, value, gradient_a, gradient_v);
}
#if defined(__x86_64__)
BL_TARGET_AVX2 static void block_avx2(ARGUMENTS) {
  block(in, work, value, gradient_a, gradient_v);
}
BL_TARGET_AVX512 static void block_avx512(ARGUMENTS) {
  block(in, work, value, gradient_a, gradient_v);
}
#endif

void bl_corfit_lanes(blica_simd level, ARGUMENTS) {
#if defined(__x86_64__)
  if (level == BLICA_SIMD_AVX512) {
    block_avx512(in, work, value, gradient_a, gradient_v);
    return;
  }
  if (level == BLICA_SIMD_AVX2) {
    block_avx2(in, work, value, gradient_a, gradient_v);
    return;
  }
#endif
  block_scalar(in, work, value, gradient_a, gradient_v);
}
