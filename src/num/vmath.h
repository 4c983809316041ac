/* vmath.h - exp, log, the normal distribution function and its inverse on eight doubles at once.
 *
 * Included by kernels that are compiled once per instruction set (GCC vector extensions; narrower
 * machines get the same operations in pieces). No branches: every lane does the same work.
 * Phi: the Mills ratio times (1 + x) is a polynomial of degree 23 in (x - 5)/(x + 5); relative error
 * below 3e-15 down to x = -10 and growing like 1e-16 x^2/2 beyond (rounding of the exponent).
 * Phi^-1: a polynomial start good to 1e-4 and one step of third order with Phi; error below 1e-14.
 * Coefficients: tools/vmath_coefficients.py. Checked against 30-digit values in tests/unit/num/test_vmath.c. */
#ifndef BL_VMATH_H
#define BL_VMATH_H

#include <stdint.h>
#include <string.h>

#include "num/vmath_coefficients.h"

#define BL_LANES 8
typedef double bl_v __attribute__((vector_size(64), aligned(64)));
typedef int64_t bl_vi __attribute__((vector_size(64), aligned(64)));
typedef uint64_t bl_vu
    __attribute__((vector_size(64), aligned(64))); /* bits that wrap outside of a function's domain */

#define BL_INLINE static inline __attribute__((always_inline, unused))

BL_INLINE bl_v bl_v_all(double x) {
  return (bl_v){x, x, x, x, x, x, x, x};
}
BL_INLINE bl_v bl_v_select(bl_vi mask, bl_v yes, bl_v no) {
  return (bl_v)((mask & (bl_vi)yes) | (~mask & (bl_vi)no));
}
BL_INLINE bl_v bl_v_abs(bl_v x) {
  return (bl_v)((bl_vi)x & INT64_C(0x7fffffffffffffff));
}
BL_INLINE bl_v bl_v_max(bl_v a, bl_v b) {
  return bl_v_select((bl_vi)(a > b), a, b);
}
BL_INLINE bl_v bl_v_min(bl_v a, bl_v b) {
  return bl_v_select((bl_vi)(a < b), a, b);
}
BL_INLINE double bl_v_sum(bl_v x) {
  return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

BL_INLINE bl_v bl_v_sqrt(bl_v x) {
  bl_v y;
  for (int i = 0; i < BL_LANES; i++) y[i] = __builtin_sqrt(x[i]);
  return y;
}

/* exp for -700 <= x <= 700; below, exp(-700). */
BL_INLINE bl_v bl_v_exp(bl_v x) {
  const double shifter = 0x1.8p52;
  x = bl_v_max(x, bl_v_all(-700.0));
  bl_v z = x * 0x1.71547652b82fep0 + shifter;
  bl_v turns = z - shifter;
  bl_v r = (x - turns * 0x1.62e42fefa3800p-1) - turns * 0x1.ef35793c76730p-45;
  bl_v r2 = r * r, r4 = r2 * r2;
  bl_v low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6));
  bl_v mid = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  bl_v high = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800)) + r4 * (1.0 / 479001600);
  bl_v y = low + r4 * (mid + r4 * high);
  return (bl_v)((bl_vu)y + ((bl_vu)z << 52));
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

#endif
