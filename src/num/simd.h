/* simd.h - vectors of doubles, and elementary and normal functions on them: the only such header.
 *
 * Vectors. GCC's vector extensions, eight lanes; narrower machines do the same operations in pieces. Lanes never mix
 * and nothing branches, so the operations and their order are the same at every level. Never pass a vector by value
 * to a function that is not inlined or of the same file: how it travels differs between instruction sets.
 *
 * Instruction sets. A kernel, listed in cmake/simd.cmake, is compiled once for each level (generic, AVX2, AVX-512),
 * with BL_LEVEL as the level's name; it defines BL_NAME(f). Its header declares it with BL_KERNEL, and callers take the
 * variant with BL_AT(level, f). Where all levels must give the same bits the kernel is compiled without contraction;
 * cmake/simd.cmake says which.
 *
 * Methods and accuracy. exp: Cody-Waite reduction and a polynomial of degree 11, 2 ulp; log: 2 atanh(s), s =
 * (m-1)/(m+1), 4 ulp. Phi: the Mills ratio times (1 + x) is a polynomial of degree 23 in (x - 5)/(x + 5); relative
 * error below 3e-15 down to x = -10 and growing like 1e-16 x^2/2 beyond (rounding of the exponent). Phi^-1: a
 * polynomial start good to 1e-4 and one step of third order with Phi; error below 1e-14. sine for |x| <= 1.26: odd
 * polynomial, 4e-16; Estrin's scheme, as short chains matter more than a few products. Coefficients:
 * tools/vmath_coefficients.py, tools/make_sine.py. Checked against 30-digit values, long double and libm:
 * tests/unit/num/test_accuracy.c, test_simd.c. */
#ifndef BL_SIMD_H
#define BL_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "num/sine_poly.h"
#include "num/vmath_coefficients.h"

/* ---- instruction sets ---- */

#define BL_JOIN_NAMES(name, level) name##_##level
#define BL_EXPAND_NAMES(name, level) BL_JOIN_NAMES(name, level)
#define BL_NAME(name) BL_EXPAND_NAMES(name, BL_LEVEL) /* of the variant that is being compiled */
#if defined(BLICA_AVX)
#define BL_KERNEL(result, name, ...)                                                                                   \
  result name##_generic(__VA_ARGS__);                                                                                  \
  result name##_avx2(__VA_ARGS__);                                                                                     \
  result name##_avx512(__VA_ARGS__)
#define BL_AT(level, name)                                                                                             \
  ((level) == BLICA_SIMD_AVX512 ? name##_avx512 : (level) == BLICA_SIMD_AVX2 ? name##_avx2 : name##_generic)
#else
#define BL_KERNEL(result, name, ...) result name##_generic(__VA_ARGS__)
#define BL_AT(level, name) ((void)(level), name##_generic)
#endif

/* ---- vectors ---- */

#define BL_LANES 8 /* segments, rows or tables side by side; partial sums */

typedef double bl_v __attribute__((vector_size(8 * BL_LANES)));
typedef int64_t bl_vi __attribute__((vector_size(8 * BL_LANES)));
typedef uint64_t bl_vu __attribute__((vector_size(8 * BL_LANES))); /* bits that wrap outside of a function's domain */

#define BL_INLINE static inline __attribute__((always_inline, unused))

BL_INLINE bl_v bl_v_all(double x) {
  return x - (bl_v){0};
}
BL_INLINE bl_v bl_v_select(bl_vi mask, bl_v yes, bl_v no) {
  return (bl_v)((mask & (bl_vi)yes) | (~mask & (bl_vi)no));
}
/* x < y ? yes : no, lane by lane. */
BL_INLINE bl_v bl_v_if_less(bl_v x, bl_v y, bl_v yes, bl_v no) {
#if defined(__AVX512F__)
  return (bl_v)_mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_LT_OQ), (__m512d)no, (__m512d)yes);
#else
  return bl_v_select((bl_vi)(x < y), yes, no);
#endif
}
BL_INLINE bl_v bl_v_abs(bl_v x) {
  return (bl_v)((bl_vi)x & INT64_MAX);
}
BL_INLINE bl_v bl_v_max(bl_v a, bl_v b) {
  return bl_v_if_less(b, a, a, b);
}
BL_INLINE bl_v bl_v_min(bl_v a, bl_v b) {
  return bl_v_if_less(a, b, a, b);
}
BL_INLINE bl_v bl_v_sqrt(bl_v x) {
  bl_v y;
  for (int i = 0; i < BL_LANES; i++) y[i] = __builtin_sqrt(x[i]);
  return y;
}
BL_INLINE bl_v bl_v_load(const double *x) {
  bl_v v;
  memcpy(&v, x, sizeof v);
  return v;
}
BL_INLINE void bl_v_store(double *x, bl_v v) {
  memcpy(x, &v, sizeof v);
}
/* Eight partial sums, added in one fixed order. */
BL_INLINE double bl_v_sum(bl_v x) {
  return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

/* ---- functions ---- */

/* e^x for x <= 709; below -708 as at -708. The polynomial interpolates (e^r - 1 - r)/r^2 on |r| <= log(2)/2 at
 * Chebyshev nodes, relative error 2e-17 before rounding. */
BL_INLINE bl_v bl_v_exp(bl_v x) {
  const double c[10] = {0.5,
                        0x1.5555555555556p-3,
                        0x1.5555555553d63p-5,
                        0x1.11111111109b3p-7,
                        0x1.6c16c1788bd90p-10,
                        0x1.a01a01a7c41d5p-13,
                        0x1.a019b90d2ae7ap-16,
                        0x1.71de0dae63bb3p-19,
                        0x1.289185613a3d6p-22,
                        0x1.af38a9b0ec855p-26};
  x = bl_v_max(bl_v_all(-708.0), x);                  /* NaN stays */
  bl_v shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52; /* integer in the low bits */
  bl_v whole = shifted - 0x1.8p52;
  bl_v r = whole * -0x1.62e42feep-1 + x;
  r = whole * -0x1.a39ef35793c76p-33 + r;
  bl_v r2 = r * r, r4 = r2 * r2, pair[5];
  for (int i = 0; i < 5; i++) pair[i] = r * c[2 * i + 1] + c[2 * i];
  bl_v low = pair[1] * r2 + pair[0], high = pair[4] * r4 + (pair[3] * r2 + pair[2]);
  bl_v p = (high * r4 + low) * r2 + r + 1.0;
  return (bl_v)((bl_vu)p + ((bl_vu)shifted << 52));
}
/* Above 709 as at 709. */
BL_INLINE bl_v bl_v_exp_limit(bl_v x) {
  return bl_v_min(bl_v_all(709.0), x); /* NaN stays */
}

/* log for positive normal x. */
BL_INLINE bl_v bl_v_log(bl_v x) {
  bl_vu bits = (bl_vu)x - UINT64_C(0x3fe6a09e667f3bcd); /* of sqrt(1/2) */
  bl_vi exponent = (bl_vi)bits >> 52;
  bl_v m = (bl_v)((bits & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
  bl_v e = (bl_v)(exponent + INT64_C(0x4338000000000000)) - 0x1.8p52;
  bl_v s = (m - 1.0) / (m + 1.0), t = s * s, t2 = t * t, t4 = t2 * t2;
  bl_v tail = ((1.0 / 3 + t * (1.0 / 5)) + t2 * (1.0 / 7 + t * (1.0 / 9))) +
              t4 * ((1.0 / 11 + t * (1.0 / 13)) + t2 * (1.0 / 15 + t * (1.0 / 17))) +
              t4 * t4 * (1.0 / 19 + t * (1.0 / 21));
  return e * 0x1.62e42fefa3800p-1 + (2.0 * s + (2.0 * s * t * tail + e * 0x1.ef35793c76730p-45));
}

/* Seven-degree polynomial. */
BL_INLINE bl_v bl_v_poly7(const double *c, bl_v t) {
  bl_v t2 = t * t;
  return ((c[0] + t * c[1]) + t2 * (c[2] + t * c[3])) + t2 * t2 * ((c[4] + t * c[5]) + t2 * (c[6] + t * c[7]));
}

/* (1 + x) Phi(-x) / phi(x) in t = (x - scale)/(x + scale). */
BL_INLINE bl_v bl_v_mills_poly(bl_v t) {
  const double *c = bl_mills_poly;
  bl_v t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
  return bl_v_poly7(c, t) + t8 * (bl_v_poly7(c + 8, t) + t8 * bl_v_poly7(c + 16, t));
}

/* Phi(-x) and the density at x, for x >= 0; x above 37 counts as 37. */
BL_INLINE bl_v bl_v_tail(bl_v x, bl_v *density) {
  x = bl_v_min(x, bl_v_all(37.0));
  bl_v phi = bl_v_exp(-0.5 * x * x) * 0.3989422804014326779;
  bl_v up = x + BL_MILLS_SCALE, one = x + 1.0;
  bl_v inverse = 1.0 / (up * one);
  *density = phi;
  return phi * bl_v_mills_poly((x - BL_MILLS_SCALE) * (inverse * one)) * (inverse * up);
}

/* Phi(x) and Phi(-x) with the density. */
BL_INLINE void bl_v_phi(bl_v x, bl_v *below, bl_v *above, bl_v *density) {
  bl_v tail = bl_v_tail(bl_v_abs(x), density);
  bl_vi positive = (bl_vi)(x > 0.0);
  *below = bl_v_select(positive, 1.0 - tail, tail);
  *above = bl_v_select(positive, tail, 1.0 - tail);
}

/* The probability of d_low > -w > d_high for standard normal w, d_low > d_high, from Phi and 1 - Phi at both: in the
 * tail where neither is near 1. Its relative error is that of Phi times Phi over the difference. */
BL_INLINE bl_v bl_v_between(bl_v d_low, bl_v below_low, bl_v above_low, bl_v d_high, bl_v below_high, bl_v above_high) {
  bl_v p = bl_v_select((bl_vi)(d_low + d_high > 0.0), above_high - above_low, below_low - below_high);
  return bl_v_max(p, bl_v_all(1e-300));
}

/* log to about 1e-7 of its larger of size and 1, for a start. */
BL_INLINE bl_v bl_v_rough_log(bl_v x) {
  bl_vi bits = (bl_vi)x - INT64_C(0x3fe6a09e667f3bcd);
  bl_v m = (bl_v)((bits & INT64_C(0x000fffffffffffff)) + INT64_C(0x3fe6a09e667f3bcd));
  bl_v e = (bl_v)((bits >> 52) + INT64_C(0x4338000000000000)) - 0x1.8p52;
  return e * 0x1.62e42fefa39efp-1 + bl_v_poly7(bl_rough_log_poly, m * 2.8284271247461903 - 3.0);
}

/* Phi^-1(p) for 1e-290 < p < 1, and one over the density there. Divisions are what costs, so one serves the
 * Mills ratio and the density both. */
BL_INLINE bl_v bl_v_phi_inverse(bl_v p, bl_v *over_density) {
  bl_vi upper = (bl_vi)(p > 0.5);
  bl_v q = bl_v_max(bl_v_select(upper, 1.0 - p, p), bl_v_all(1e-290));
  bl_v r = bl_v_sqrt(-2.0 * bl_v_rough_log(q));
  bl_v t = (r - BL_TAIL_SCALE) / (r + BL_TAIL_SCALE) * BL_TAIL_SLOPE + BL_TAIL_SHIFT;
  bl_v x = bl_v_max(r - bl_v_poly7(bl_tail_poly, t), bl_v_all(0.0));
  bl_v phi = bl_v_exp(-0.5 * x * x) * 0.3989422804014326779;
  bl_v up = x + BL_MILLS_SCALE, one = x + 1.0, both = up * one, inverse = 1.0 / (both * phi);
  bl_v over_phi = inverse * both, over = inverse * phi; /* 1/phi, 1/both */
  bl_v mills = bl_v_mills_poly((x - BL_MILLS_SCALE) * (over * one)) * (over * up);
  bl_v d = mills - q * over_phi; /* (tail - q)/phi; x(q) expanded about tail: x' = -1/phi, x'' = x/phi^2, ... */
  bl_v step = d * (1.0 + d * (0.5 * x + d * ((2.0 * x * x + 1.0) * (1.0 / 6))));
  bl_v y = x + step, e = 0.5 * step * (x + y);
  *over_density = over_phi * (1.0 + e * (1.0 + e * (0.5 + e * (1.0 / 6 + e * (1.0 / 24)))));
  return bl_v_select(upper, y, -y);
}

/* Sine for |w| <= 1.26. */
BL_INLINE bl_v bl_v_sin(bl_v w) {
  bl_v y = w * w, y2 = y * y;
  const double *c = bl_sine_poly;
  bl_v even = c[0] + y2 * (c[2] + y2 * (c[4] + y2 * (c[6] + y2 * c[8])));
  bl_v odd = c[1] + y2 * (c[3] + y2 * (c[5] + y2 * c[7]));
  return w + w * (y * (even + y * odd));
}

#endif
