/* Bivariate normal probabilities of many corners: against the scalar functions along a walk of rho, and equal bits at
 * all levels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/bvn.h"
#include "num/corners.h"
#include "num/normal.h"

enum { COUNT = 21, CAPACITY = 24, STEPS = 9 };
static const double walk[STEPS] = {0.3, 0.31, 0.309, -0.2, -0.9249, -0.85, 0.9249, 0.924, 0};

typedef struct {
  double array[7][CAPACITY];
  bl_corners corners;
} arrays;

static void open_arrays(arrays *r) {
  r->corners =
      (bl_corners){COUNT, r->array[0], r->array[1], r->array[2], r->array[3], 0, r->array[4], r->array[5], r->array[6]};
  for (int m = 0; m < COUNT; m++) r->array[0][m] = -3 + 0.31 * m, r->array[1][m] = 2.5 - 0.4 * (m % 13);
  bl_corners_begin(&r->corners);
}

static void values(void **state) {
  (void)state;
  arrays r;
  open_arrays(&r);
  const bl_corners *c = &r.corners;
  for (int step = 0; step < STEPS; step++) {
    const double rho = walk[step], small = 1e-5;
    bl_corners_move_generic(&r.corners, rho);
    for (int m = 0; m < COUNT; m++) {
      const double h = c->h[m], k = c->k[m];
      const double p = bl_phi_cdf(h) * bl_phi_cdf(k) + c->excess[m] / 6.2831853071795864769;
      assert_compare(fabs(p - blica_bvn(h, k, rho)), <, 4e-15);
      assert_compare(fabs(c->first[m] - bl_bvn_density(h, k, rho)), <, 1e-14 * (1 + c->first[m]));
      const double slope = (bl_bvn_density(h, k, rho + small) - bl_bvn_density(h, k, rho - small)) / (2 * small);
      assert_compare(fabs(c->second[m] - slope), <, 1e-6 * (1 + fabs(slope)));
    }
    bl_corners_conditional_generic(&r.corners, rho);
    for (int m = 0; m < COUNT; m++) {
      const double h = c->h[m], k = c->k[m], root = sqrt(1 - rho * rho);
      assert_compare(fabs(c->first[m] - bl_phi_cdf((k - rho * h) / root)), <, 1e-14);
      assert_compare(fabs(c->second[m] - bl_phi_cdf((h - rho * k) / root)), <, 1e-14);
    }
  }
}

static void same_bits_at_all_levels(void **state) {
  (void)state;
  for (int level = BLICA_SIMD_AVX2; level <= (int)blica_simd_level(ctx); level++) {
    arrays a, b;
    open_arrays(&a), open_arrays(&b);
    for (int step = 0; step < STEPS; step++) {
      bl_corners_move_generic(&a.corners, walk[step]);
      BL_AT(level, bl_corners_move)(&b.corners, walk[step]);
      assert_memory_equal(a.array, b.array, sizeof a.array);
      bl_corners_conditional_generic(&a.corners, walk[step]);
      BL_AT(level, bl_corners_conditional)(&b.corners, walk[step]);
      assert_memory_equal(a.array, b.array, sizeof a.array);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(same_bits_at_all_levels)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
