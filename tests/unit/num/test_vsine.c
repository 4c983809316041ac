/* The vector sine against the C library's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "num/vsine.h"

static void test_sine(void **state) {
  (void)state;
  double worst = 0;
  for (int i = -100000; i <= 100000; i += 8) {
    bl_v w;
    for (int lane = 0; lane < BL_LANES; lane++) w[lane] = 1.26e-5 * (i + lane > 100000 ? 100000 : i + lane);
    bl_v s = bl_v_sin(w);
    for (int lane = 0; lane < BL_LANES; lane++)
      worst = fmax(worst, w[lane] == 0 ? fabs(s[lane]) : fabs(s[lane] / sin(w[lane]) - 1));
  }
  printf("worst relative error %.2g\n", worst);
  assert_true(worst < 4e-16);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sine)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
