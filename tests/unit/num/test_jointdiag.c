/* The joint diagonaliser on matrices that have an exact answer. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "num/linear/jointdiag.h"
#include "num/rng.h"

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
  assert_int_equal(bl_jointdiag(ctx, M, U, weight, c, 100, 0, b), BLICA_OK);
  for (int s = 0; s < U; s++)
    for (int i = 0; i < M; i++)
      for (int j = 0; j < M; j++) {
        const double *d = c + s * M * M;
        if (i != j) assert_compare(fabs(d[i + j * M]), <, 1e-7 * sqrt(d[i + i * M] * d[j + j * M]));
      }
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(exact_sets_are_diagonalised)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
