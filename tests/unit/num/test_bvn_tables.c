/* Tables eight at a time against one at a time, at every SIMD level. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "num/normal/normal.h"
#include "num/normal/tables.h"
#include "num/rng.h"

enum { COUNT = 61, PADDED = 64, ROUNDS = 200 };

typedef struct {
  double h[PADDED], below[PADDED], above[PADDED], rho[PADDED], cell[4][PADDED], value[PADDED], slope[PADDED], k;
} tables;

static void draw(tables *t, bl_rng *rng) {
  t->k = 2 * bl_rng_normal(rng);
  for (int i = 0; i < PADDED; i++) {
    t->h[i] = 2 * bl_rng_normal(rng);
    t->below[i] = bl_phi_cdf(t->h[i]), t->above[i] = bl_phi_cdf(-t->h[i]);
    t->rho[i] = sin(1.5707 * (2 * bl_rng_uniform(rng) - 1));
    for (int c = 0; c < 4; c++) t->cell[c][i] = floor(fmax(0, 100 * bl_rng_uniform(rng) - 10));
  }
}

static void run(tables *t, blica_simd level) {
  bl_bvn_tables all = {t->h,       t->below,   t->above,   t->k,   bl_phi_cdf(t->k), bl_phi_cdf(-t->k), t->cell[0],
                       t->cell[1], t->cell[2], t->cell[3], t->rho, t->value,         t->slope};
  bl_bvn_tables_run(level, &all, COUNT);
}

/* One table from its definition. */
static double one_table(const double cell[4], double h, double k, double rho, double *slope) {
  const double p11 = blica_bvn(h, k, rho), ph = bl_phi_cdf(h), pk = bl_phi_cdf(k);
  const double p[4] = {p11, ph - p11, pk - p11, bl_phi_cdf(-h) - (pk - p11)}, sign[4] = {1, -1, -1, 1};
  double value = 0, change = 0;
  for (int i = 0; i < 4; i++) {
    const double q = fmax(p[i], DBL_EPSILON);
    if (cell[i] > 0) value -= cell[i] * log(q), change -= sign[i] * cell[i] / q;
  }
  *slope = change * bl_bvn_density(h, k, rho);
  return value;
}

static void test_against_scalar(void **state) {
  (void)state;
  static tables t;
  bl_rng rng = bl_rng_make(1, 1);
  double worst_value = 0, worst_slope = 0;
  for (int round = 0; round < ROUNDS; round++) {
    draw(&t, &rng);
    run(&t, BLICA_SIMD_SCALAR);
    for (int i = 0; i < COUNT; i++) {
      const double cell[4] = {t.cell[0][i], t.cell[1][i], t.cell[2][i], t.cell[3][i]};
      double slope, value = one_table(cell, t.h[i], t.k, t.rho[i], &slope), least = 1;
      double p11 = blica_bvn(t.h[i], t.k, t.rho[i]);
      const double p[] = {p11, t.below[i] - p11, bl_phi_cdf(t.k) - p11, t.above[i] - bl_phi_cdf(t.k) + p11};
      for (int c = 0; c < 4; c++)
        if (cell[c] > 0) least = fmin(least, p[c]);
      if (least < 1e-6) continue; /* there a probability's rounding is a large part of it */
      worst_value = fmax(worst_value, fabs(t.value[i] - value) / fmax(1, fabs(value)));
      worst_slope = fmax(worst_slope, fabs(t.slope[i] - slope) / fmax(1, fabs(slope)));
    }
  }
  printf("relative differences: values %.2g, slopes %.2g\n", worst_value, worst_slope);
  assert_compare(worst_value, <, 1e-9);
  assert_compare(worst_slope, <, 1e-8);
}

static void test_levels(void **state) {
  (void)state;
  static tables t, other;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  bl_rng rng = bl_rng_make(2, 1);
  draw(&t, &rng);
  other = t;
  run(&t, BLICA_SIMD_SCALAR);
  for (int level = BLICA_SIMD_AVX2; level <= (int)blica_simd_level(ctx); level++) {
    run(&other, (blica_simd)level);
    assert_memory_equal(other.value, t.value, COUNT * sizeof(double));
    assert_memory_equal(other.slope, t.slope, COUNT * sizeof(double));
  }
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_scalar), cmocka_unit_test(test_levels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
