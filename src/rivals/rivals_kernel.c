/* rivals_kernel.c - see rivals.h. Contrasts (Hyvarinen 1999): G = log cosh y, -exp(-y^2/2), y^4/4; g = G'.
 * Absolute errors are some 1e-16 of the larger of value and 1. */
#include "rivals/rivals.h"

static size_t vectors(size_t count) {
  return (count + BL_LANES - 1) / BL_LANES;
}

void BL_NAME(bl_exponentials)(size_t count, double *x) {
  bl_v *at = (bl_v *)x;
  for (size_t v = 0; v < vectors(count); v++) at[v] = bl_v_exp(bl_v_exp_limit(at[v]));
}

void BL_NAME(bl_softplus)(size_t count, double *x, double *value) {
  bl_v *at = (bl_v *)x, *to = (bl_v *)value;
  const bl_v zero = bl_v_all(0), one = bl_v_all(1);
  for (size_t v = 0; v < vectors(count); v++) {
    const bl_v e = bl_v_exp(-bl_v_abs(at[v]));
    to[v] = bl_v_max(at[v], zero) + bl_v_log(1.0 + e);
    at[v] = bl_v_if_less(at[v], zero, e, one) / (1.0 + e);
  }
}

/* The sign of y is that of the result. */
BL_INLINE bl_v tanh_of(bl_v y) {
  const bl_v e = bl_v_exp(-2.0 * bl_v_abs(y));
  return (bl_v)((bl_vi)((1.0 - e) / (1.0 + e)) | ((bl_vi)y & INT64_MIN));
}

void BL_NAME(bl_contrast_slopes)(blica_contrast contrast, size_t count, double *y, double *second) {
  bl_v *at = (bl_v *)y, *to = (bl_v *)second;
  for (size_t v = 0; v < vectors(count); v++) {
    const bl_v x = at[v], square = x * x;
    if (contrast == BLICA_CONTRAST_LOGCOSH) {
      at[v] = tanh_of(x);
      to[v] = 1.0 - at[v] * at[v];
    } else {
      const bl_v e = contrast == BLICA_CONTRAST_EXP ? bl_v_exp(-0.5 * square) : square;
      to[v] = contrast == BLICA_CONTRAST_EXP ? (1.0 - square) * e : 3.0 * e;
      at[v] = x * e;
    }
  }
}
