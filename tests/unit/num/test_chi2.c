/* Chi-square probabilities against R's pchisq (4.2.2). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "num/chi2.h"

static void near(double found, double wanted) {
  if (!(fabs(found - wanted) <= 1e-11 * fabs(wanted) + 1e-14)) fail_msg("found %.15g, wanted %.15g", found, wanted);
}

static void central(void **state) {
  (void)state;
  near(bl_chi2_upper(11.938, 5), 0.035647270867451841);
  near(bl_chi2_upper(505.1, 240), 5.3204227738372895e-21);
  near(bl_chi2_upper(0.3, 7), 0.99989996261774783);
  near(bl_chi2_upper(0, 3), 1);
  near(bl_chi2_upper(1.5, 0.7), 0.14662992346073545);
  near(bl_chi2_upper(40, 25.5), 0.033809991133334806);
  near(bl_chi2_upper(3, 24.2), 0.99999994487277988);
  near(bl_chi2_upper(0.01, 0.3), 0.51620446569814682);
}

static void noncentral(void **state) {
  (void)state;
  near(bl_chi2_noncentrality(11.938, 5, 0.5623661794929411), 6.9);
  near(bl_chi2_noncentrality(505.1, 240, 0.51012794112013971), 265);
  near(bl_chi2_noncentrality(505.1, 240, 0.05), 333.573357625455); /* by uniroot */
  near(bl_chi2_noncentrality(11.938, 5, 0.05), 21.1032022545939);
  near(1 - bl_chi2_upper(3, 5), 0.3000141641213725);
  near(bl_chi2_noncentrality(2, 5, 0.95), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(central), cmocka_unit_test(noncentral)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
