/* fuzz_compare.c - the comparison of any two matrices. */
#include <math.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { MOST = 6 };
  fuzz_bytes b = {data, size};
  int n = fuzz_int(&b, 1, MOST), k = fuzz_int(&b, 1, MOST), matching[MOST], seen = 0;
  double x[MOST * MOST], y[MOST * MOST], mcs, cosine[MOST];
  for (int i = 0; i < n * k; i++) x[i] = fuzz_any(&b), y[i] = fuzz_any(&b);
  blica_status status = blica_compare(fuzz_ctx(), n, k, x, y, &mcs, matching, cosine);
  if (status != BLICA_OK) {
    fuzz_check_failure(status, NULL);
    CHECK(!fuzz_finite(x, (size_t)(n * k)) || !fuzz_finite(y, (size_t)(n * k)));
    return 0;
  }
  CHECK(mcs >= 0 && mcs <= 1);
  for (int j = 0; j < k; j++) {
    CHECK(matching[j] >= 0 && matching[j] < k && cosine[j] >= -1 && cosine[j] <= 1);
    seen |= 1 << matching[j];
  }
  CHECK(seen == (1 << k) - 1);
  double other, self;
  CHECK(blica_compare(fuzz_ctx(), n, k, y, x, &other, NULL, NULL) == BLICA_OK && fabs(other - mcs) <= 1e-12);
  CHECK(blica_compare(fuzz_ctx(), n, k, x, x, &self, NULL, NULL) == BLICA_OK && self >= mcs - 1e-12);
  return 0;
}
