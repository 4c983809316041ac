/* fuzz_mvn.c - orthant probabilities of random multivariate normal distributions. */
#include <math.h>

#include "fuzz.h"
#include "orthant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { MOST = 5 };
  fuzz_bytes b = {data, size};
  blica_ctx *ctx = fuzz_ctx();
  int n = fuzz_int(&b, 1, MOST);
  bool wild = fuzz_byte(&b) % 4 == 0;
  uint8_t x[MOST], bits = fuzz_byte(&b);
  double mean[MOST], root[MOST * MOST], cov[MOST * MOST], log_p = NAN, error = NAN;
  for (int i = 0; i < n; i++) {
    x[i] = bits >> i & 1;
    mean[i] = wild ? fuzz_any(&b) : fuzz_real(&b, -6, 6);
  }
  for (int i = 0; i < n * n; i++) root[i] = wild ? fuzz_any(&b) : fuzz_real(&b, -2, 2);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      cov[i + j * n] = i == j ? 1 : 0;
      for (int l = 0; l < n; l++) cov[i + j * n] += root[i + l * n] * root[j + l * n];
    }
  bool finite = fuzz_finite(mean, (size_t)n) && fuzz_finite(cov, (size_t)(n * n));
  if (!one_orthant(ctx, n, mean, cov, x, 1e-2, &log_p, &error)) {
    CHECK(wild);
    return 0;
  }
  if (!finite) return 0;
  CHECK(!isnan(log_p) && log_p <= 1e-9 + error && !isnan(error) && error >= 0);
  if (!wild) CHECK(isfinite(log_p) && isfinite(error));
  return 0;
}
