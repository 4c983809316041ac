/* vec.h - vectors of doubles, and the elementary functions on them.
 *
 * Method: GCC vector types of VEC_WIDTH lanes, the width of the machine's registers. Elementwise work does the same
 * IEEE operations at any width, fused multiply-adds among them, and every sum over rows is kept as eight partial sums,
 * row r going to sum r mod 8; so all instruction sets give the same bits. A file that includes this first sets its
 * instruction set, by `#pragma GCC target`, and VEC_WIDTH. At width 2, the specification, fma comes from libm.
 * exp: Cody-Waite reduction and a polynomial of degree 11 (Chebyshev interpolant of (e^r-1-r)/r^2,
 * relative error 2e-17 before rounding). log1p on [0,1]: 2 atanh(s) with |s| <= 0.172, degree 7 in s^2
 * (error 6e-19 before rounding). Polynomials by Estrin's scheme: short chains matter more than a few products.
 * Accuracy: vec_exp 2 ulp, vec_softplus and its derivative 4 ulp, vec_tanh 3e-16 absolute.
 * Checked: tests/unit/num/test_vec.c against long double. */
#ifndef BL_VEC_H
#define BL_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef VEC_WIDTH
#define VEC_WIDTH 2
#endif
#if VEC_WIDTH > 2
#include <immintrin.h>
#endif
#define VEC_LANES 8                       /* partial sums */
#define VEC_PARTS (VEC_LANES / VEC_WIDTH) /* vectors that hold them */

typedef double vec __attribute__((vector_size(8 * VEC_WIDTH), may_alias));
typedef int64_t veci __attribute__((vector_size(8 * VEC_WIDTH), may_alias));
typedef float vecf __attribute__((vector_size(4 * VEC_WIDTH), may_alias));

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vec vec_all(double x) {
  return x - (vec){0};
}

/* a b + c, rounded once */
VEC_INLINE vec vec_fma(vec a, vec b, vec c) {
#if VEC_WIDTH == 8
  return (vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif VEC_WIDTH == 4
  return (vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  for (int i = 0; i < VEC_WIDTH; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
#endif
}

/* x < y ? a : b, lane by lane */
VEC_INLINE vec vec_if_less(vec x, vec y, vec a, vec b) {
#if VEC_WIDTH == 8
  return (vec)_mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_LT_OQ), (__m512d)b, (__m512d)a);
#elif VEC_WIDTH == 4
  return (vec)_mm256_blendv_pd((__m256d)b, (__m256d)a, _mm256_cmp_pd((__m256d)x, (__m256d)y, _CMP_LT_OQ));
#else
  veci mask = x < y;
  return (vec)((mask & (veci)a) | (~mask & (veci)b));
#endif
}

VEC_INLINE vec vec_abs(vec x) {
  return (vec)((veci)x & INT64_MAX);
}

/* The eight partial sums, added in one fixed order. */
VEC_INLINE double lanes_sum(const double *x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

#define VEC_POLY(x, c1, c0) vec_fma((x), vec_all(c1), vec_all(c0))

/* e^x for x <= 709; below -708 as at -708. */
VEC_INLINE vec vec_exp_small(vec x) {
  x = vec_if_less(x, vec_all(-708.0), vec_all(-708.0), x);
  vec shifted = vec_fma(x, vec_all(0x1.71547652b82fep+0), vec_all(0x1.8p52)); /* nearest integer in the low bits */
  vec whole = shifted - 0x1.8p52;
  vec r = vec_fma(whole, vec_all(-0x1.a39ef35793c76p-33), vec_fma(whole, vec_all(-0x1.62e42feep-1), x));
  vec r2 = r * r, r4 = r2 * r2;
  vec p01 = VEC_POLY(r, 0x1.5555555555556p-3, 0.5), p23 = VEC_POLY(r, 0x1.11111111109b3p-7, 0x1.5555555553d63p-5);
  vec p45 = VEC_POLY(r, 0x1.a01a01a7c41d5p-13, 0x1.6c16c1788bd90p-10);
  vec p67 = VEC_POLY(r, 0x1.71de0dae63bb3p-19, 0x1.a019b90d2ae7ap-16);
  vec p89 = VEC_POLY(r, 0x1.af38a9b0ec855p-26, 0x1.289185613a3d6p-22);
  vec p = vec_fma(vec_fma(p89, r4, vec_fma(p67, r2, p45)), r4, vec_fma(p23, r2, p01));
  p = vec_fma(p, r2, r) + 1.0;
  return (vec)((veci)p + ((veci)shifted << 52));
}

/* e^x; above 709 as at 709. */
VEC_INLINE vec vec_exp(vec x) {
  return vec_exp_small(vec_if_less(vec_all(709.0), x, vec_all(709.0), x));
}

/* log(1 + e^x) without overflow or cancellation, and its derivative 1/(1 + e^-x), given e = vec_exp_small(-|x|). In two
 * steps so that a loop can do each for many rows: one chain of both is too long for the processor to overlap. */
VEC_INLINE vec vec_softplus(vec x, vec e, vec *derivative) {
  vec half = vec_all(0.41421356237309503); /* 1+e > sqrt 2: log(1+e) = log 2 + log((1+e)/2) */
  vec num = vec_if_less(half, e, e - 1.0, e);
  vec den = vec_if_less(half, e, e + 3.0, e + 2.0);
  vec extra = vec_if_less(half, e, vec_all(0x1.62e42fefa39efp-1), vec_all(0.0));
  vec one = e + 1.0;
  vec inverse = 1.0 / (one * den); /* one division serves both quotients */
  vec s = num * (one * inverse);
  vec t = s * s, t2 = t * t;
  vec p01 = VEC_POLY(t, 0x1.9999999999a39p-2, 0x1.5555555555555p-1);
  vec p23 = VEC_POLY(t, 0x1.c71c7201a55d7p-3, 0x1.2492492476a1ap-2);
  vec p45 = VEC_POLY(t, 0x1.3b1c3c1c81c8fp-3, 0x1.745cf8e4bba1bp-3);
  vec p67 = VEC_POLY(t, 0x1.0c0aff044a970p-3, 0x1.0fbde0f4ad17bp-3);
  vec p = vec_fma(vec_fma(p67, t2, p45), t2 * t2, vec_fma(p23, t2, p01));
  vec log1p = vec_fma(p, t * s, 2.0 * s) + extra;
  *derivative = vec_if_less(x, vec_all(0.0), e, vec_all(1.0)) * (den * inverse);
  return vec_if_less(x, vec_all(0.0), vec_all(0.0), x) + log1p;
}

VEC_INLINE vec vec_tanh(vec x) {
  vec e = vec_exp_small(-2.0 * vec_abs(x));
  vec size = (1.0 - e) / (1.0 + e);
  return (vec)((veci)size | ((veci)x & INT64_MIN));
}

VEC_INLINE vec vec_from_floats(const float *values) {
  vecf f;
  memcpy(&f, values, sizeof f);
  return __builtin_convertvector(f, vec);
}

#endif
