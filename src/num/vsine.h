/* vsine.h - the sine of eight doubles at once, for |w| <= 1.26; relative error below 4e-16.
 * Checked in tests/unit/num/test_vsine.c; polynomial from tools/make_sine.py. */
#ifndef BL_VSINE_H
#define BL_VSINE_H

#include "num/sine_poly.h"
#include "num/vmath.h"

BL_INLINE bl_v bl_v_sin(bl_v w) {
  bl_v y = w * w, y2 = y * y;
  const double *c = bl_sine_poly;
  bl_v even = c[0] + y2 * (c[2] + y2 * (c[4] + y2 * (c[6] + y2 * c[8])));
  bl_v odd = c[1] + y2 * (c[3] + y2 * (c[5] + y2 * c[7]));
  return w + w * (y * (even + y * odd));
}

#endif
