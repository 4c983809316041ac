/* fuzz_identify.c - the counts of Table 1 for any sizes, and the rank at random models. */
#include <math.h>

#include "random_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  blica_ctx *ctx = fuzz_ctx();
  uint8_t how = fuzz_byte(&b);
  if (how & 1) {
    int64_t statistics, unknowns;
    uint64_t first = fuzz_word(&b), second = fuzz_word(&b);
    int n = (int)(uint32_t)first, k = (int)(uint32_t)(first >> 32), u = (int)(uint32_t)second,
        ordinal = (int)(uint32_t)(second >> 32);
    blica_status status = blica_identify_count(ctx, n, k, u, ordinal, &statistics, &unknowns);
    if (status != BLICA_OK) fuzz_check_failure(status, NULL);
    CHECK(status != BLICA_OK || (statistics > 0 && unknowns > 0));
    return 0;
  }
  blica_model *m = random_model(&b, how & 2);
  blica_identification *id;
  blica_status status = blica_identify(ctx, m, &id);
  if (status == BLICA_OK) {
    CHECK(id->k == m->k && id->rank >= 0 && id->rank <= id->parameters);
    CHECK(id->local == (id->rank == id->parameters));
    CHECK(!isnan(id->smallest) && id->tolerance > 0);
    for (int j = 0; j < id->k; j++) CHECK(id->looseness[j] >= 0 && id->looseness[j] <= 1);
  } else {
    fuzz_check_failure(status, id);
  }
  blica_identification_free(id);
  blica_model_free(m);
  return 0;
}
