/* Bivariate normal probabilities of many corners: against the scalar functions, and equal bits at all levels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/normal/normal.h"
#include "num/normal/tables.h"

enum { COUNT = 21, CAPACITY = 24, RHOS = 11 };
static const double list[RHOS] = {0.3, 0.31, 0.009, 0.011, -0.14, -0.16, -0.2, -0.9249, -0.85, 0.9249, 0};

typedef struct {
  double array[6][CAPACITY];
  bl_corners corners;
} arrays;

static void open_arrays(arrays *r) {
  *r = (arrays){.corners = {.count = COUNT}};
  bl_corners_place(&r->corners, COUNT, r->array[0]);
  for (int m = 0; m < COUNT; m++) r->corners.h[m] = -3 + 0.31 * m, r->corners.k[m] = 2.5 - 0.4 * (m % 13);
}

static void values(void **state) {
  (void)state;
  arrays r;
  open_arrays(&r);
  const bl_corners *c = &r.corners;
  for (int at = 0; at < RHOS; at++) {
    const double rho = list[at], root = sqrt(1 - rho * rho);
    bl_corners_at_generic(&r.corners, rho);
    bl_corners_conditional_generic(&r.corners, rho);
    for (int m = 0; m < COUNT; m++) {
      const double h = c->h[m], k = c->k[m];
      const double p = bl_phi_cdf(h) * bl_phi_cdf(k) + c->excess[m] / 6.2831853071795864769;
      assert_compare(fabs(p - blica_bvn(h, k, rho)), <, 4e-15);
      assert_compare(fabs(c->density[m] - bl_bvn_density(h, k, rho)), <, 1e-14 * (1 + c->density[m]));
      assert_compare(fabs(c->k_given_h[m] - bl_phi_cdf((k - rho * h) / root)), <, 1e-14);
      assert_compare(fabs(c->h_given_k[m] - bl_phi_cdf((h - rho * k) / root)), <, 1e-14);
    }
  }
}

static void same_bits_at_all_levels(void **state) {
  (void)state;
  for (int level = BLICA_SIMD_AVX2; level <= (int)blica_simd_level(ctx); level++) {
    arrays a, b;
    open_arrays(&a), open_arrays(&b);
    for (int at = 0; at < RHOS; at++) {
      bl_corners_at_generic(&a.corners, list[at]);
      bl_corners_conditional_generic(&a.corners, list[at]);
      BL_AT(level, bl_corners_at)(&b.corners, list[at]);
      BL_AT(level, bl_corners_conditional)(&b.corners, list[at]);
      assert_memory_equal(a.array, b.array, sizeof a.array);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(same_bits_at_all_levels)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
