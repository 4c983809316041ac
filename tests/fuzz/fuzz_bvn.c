/* fuzz_bvn.c - the bivariate normal probability of any three numbers. */
#include <math.h>

#include "fuzz.h"

static double phi(double x) {
  return 0.5 * erfc(-x * 0.70710678118654752440);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  double h = fuzz_any(&b), k = fuzz_any(&b), rho = fuzz_any(&b), p = blica_bvn(h, k, rho);
  if (isnan(h) || isnan(k) || !(rho >= -1 && rho <= 1)) {
    CHECK(isnan(p));
    return 0;
  }
  CHECK(p >= 0 && p <= 1);
  CHECK(fabs(blica_bvn(k, h, rho) - p) <= 1e-14);
  double low = fmax(0, phi(h) + phi(k) - 1), high = fmin(phi(h), phi(k)); /* the bounds of Frechet */
  CHECK(p >= low - 1e-14 && p <= high + 1e-14);
  CHECK(fabs(blica_bvn(h, -k, -rho) + p - phi(h)) <= 3e-14);
  return 0;
}
