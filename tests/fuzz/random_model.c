/* random_model.c - see random_model.h. */
#include "random_model.h"

#include <math.h>

/* Of any size, but finite: others are refused when a model is loaded. */
static double wide(fuzz_bytes *b) {
  double x = fuzz_any(b);
  return isfinite(x) ? x : 1;
}

blica_model *random_model(fuzz_bytes *b, bool wild) {
  int n = fuzz_int(b, 2, 5), k = fuzz_int(b, 1, n), u = fuzz_int(b, 1, 4);
  blica_model *m;
  CHECK(blica_model_create(fuzz_ctx(), n, k, u, &m) == BLICA_OK);
  m->link = wild ? fmax(fabs(wide(b)), 5e-324) : 0.39269908169872414;
  for (int i = 0; i < n * k; i++) m->mixing[i] = wild ? wide(b) : fuzz_real(b, -3, 3);
  for (int i = 0; i < k * u; i++) m->variances[i] = wild ? fabs(wide(b)) : fuzz_real(b, 0, 9);
  for (int i = 0; i < k * u; i++) m->means[i] = wild ? wide(b) : fuzz_real(b, -2, 2);
  for (int s = 0; s < u; s++) m->samples[s] = fuzz_int(b, 0, 1000);
  return m;
}

blica_data *random_data(fuzz_bytes *b, int n, int u, int most) {
  int8_t x[8 * 64];
  int32_t segment[64];
  blica_data *data;
  int rows = fuzz_int(b, 1, most);
  CHECK(n <= 8 && most <= 64);
  for (int r = 0; r < rows; r++) {
    unsigned bits = fuzz_byte(b), missing = fuzz_byte(b);
    segment[r] = (int32_t)(missing >> 5) % u;
    missing = missing % 32 < 28 ? 0 : bits >> 3 ^ missing;
    for (int i = 0; i < n; i++) x[r * n + i] = missing >> i & 1 ? BLICA_MISSING : (int8_t)(bits >> i & 1);
  }
  blica_status status =
      blica_pack(fuzz_ctx(), &(blica_table){.rows = rows, .n = n, .x = x, .segment = segment, .u = u}, &data);
  if (status != BLICA_OK) fuzz_check_failure(status, data);
  return data;
}
