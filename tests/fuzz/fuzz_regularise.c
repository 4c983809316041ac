/* fuzz_regularise.c - correlation matrices of any numbers, brought to any condition number. */
#include <math.h>

#include "cor/cor.h"
#include "counts_check.h"
#include "num/linear/blas.h"

enum { MOST = 6 };

static void check_condition(const blica_cor *cor, double condition) {
  double c[MOST * MOST], values[MOST];
  for (int s = 0; s < cor->u; s++) {
    blica_cor_matrix(cor, s, c);
    CHECK(bl_dsyev('N', 'L', cor->n, c, cor->n, values) == 0);
    if (isfinite(condition)) CHECK(values[0] > 0 && values[cor->n - 1] <= condition * (1 + 1e-6) * values[0]);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  blica_ctx *ctx = fuzz_ctx();
  static char *names[] = {"a", "b", "c", "d", "e", "f"};
  int n = fuzz_int(&b, 2, MOST), u = fuzz_int(&b, 1, 3);
  bool wild = fuzz_byte(&b) % 4 == 0, finite = true;
  double samples[3] = {10, 20, 30}, condition = wild ? fuzz_any(&b) : fuzz_real(&b, 1.001, 100);
  blica_cor *cor, *out;
  CHECK(bl_cor_create(ctx, n, u, names, names, samples, true, &cor) == BLICA_OK);
  for (int64_t p = 0; p < cor->pairs * u; p++) {
    cor->rho[p] = wild ? fuzz_any(&b) : fuzz_real(&b, -1, 1);
    finite = finite && fabs(cor->rho[p]) <= 1;
    cor->se[p] = NAN;
  }
  blica_status status = blica_regularise(ctx, cor, condition, &out);
  if (status != BLICA_OK) {
    fuzz_check_failure(status, out);
    CHECK(!finite || !(condition == 0 || condition > 1));
  } else if (finite) {
    cor_check(out);
    CHECK(fuzz_finite(out->shift, (size_t)u) && fuzz_finite(out->eigen_min, (size_t)u));
    if (condition >= 1.001 && condition <= 1e6) check_condition(out, condition);
  }
  blica_cor_free(out);
  blica_cor_free(cor);
  return 0;
}
