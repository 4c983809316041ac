/* fuzz_correlate.c - counts of random rows and their correlations. */
#include "counts_check.h"
#include "random_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  blica_ctx *ctx = fuzz_ctx();
  int n = fuzz_int(&b, 2, 8), u = fuzz_int(&b, 1, 6);
  blica_data *d = random_data(&b, n, u, 64);
  blica_counts *counts;
  if (!d) return 0;
  CHECK(blica_count(ctx, d, &counts) == BLICA_OK);
  blica_cor *cor;
  blica_status status = blica_correlate(ctx, counts, &cor);
  if (status == BLICA_OK)
    cor_check(cor);
  else
    fuzz_check_failure(status, cor);
  blica_cor_free(cor);
  blica_counts_free(counts);
  blica_data_free(d);
  return 0;
}
