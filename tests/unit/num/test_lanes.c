/* The vector exponential against libm, and the joint diagonaliser on matrices that have an exact answer. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "num/jointdiag.h"
#include "num/lanes.h"
#include "num/rng.h"

static void exponential_is_that_of_libm(void **state) {
  (void)state;
  bl_rng rng = bl_rng_make(1, 0);
  double worst = 0;
  for (int i = 0; i < 100000; i++) {
    bl_v8 x;
    for (int l = 0; l < BL_LANES; l++) x[l] = (i % 2 ? 1400 : 4) * (bl_rng_uniform(&rng) - 0.5);
    bl_v8 y = bl_v8_exp(x);
    for (int l = 0; l < BL_LANES; l++) worst = fmax(worst, fabs(y[l] / exp(x[l]) - 1));
  }
  print_message("largest relative error of the vector exponential: %.2f of 2^-52\n", worst / DBL_EPSILON);
  assert_true(worst <= 2 * DBL_EPSILON);
}

static void exact_sets_are_diagonalised(void **state) {
  (void)state;
  enum { M = 6, U = 5 };
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  bl_rng rng = bl_rng_make(2, 0);
  double a[M * M], c[M * M * U] = {0}, weight[U], b[M * M];
  for (int i = 0; i < M * M; i++) a[i] = bl_rng_normal(&rng) + (i % (M + 1) == 0 ? 2 : 0);
  for (int s = 0; s < U; s++) {
    weight[s] = 1 + s;
    for (int l = 0; l < M; l++) {
      double v = 0.2 + 3 * bl_rng_uniform(&rng);
      for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) c[i + j * M + s * M * M] += v * a[i + l * M] * a[j + l * M];
    }
  }
  assert_int_equal(bl_jointdiag(ctx, M, U, weight, c, 100, b), BLICA_OK);
  for (int s = 0; s < U; s++)
    for (int i = 0; i < M; i++)
      for (int j = 0; j < M; j++) {
        const double *d = c + s * M * M;
        if (i != j) assert_true(fabs(d[i + j * M]) < 1e-7 * sqrt(d[i + i * M] * d[j + j * M]));
      }
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(exponential_is_that_of_libm),
                                     cmocka_unit_test(exact_sets_are_diagonalised)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
