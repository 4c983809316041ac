/* fuzz_matrix.c - mixing matrices as tables of numbers or model.json. */
#include <stdlib.h>

#include "fuzz.h"
#include "data_args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char message[SOURCE_MESSAGE] = "";
  matrix m;
  blica_status status = matrix_read(fuzz_ctx(), fuzz_file("in.csv", data, size), &m, message);
  if (status == BLICA_OK) {
    CHECK(m.n >= 1 && m.k >= 1 && fuzz_finite(m.x, (size_t)m.n * (size_t)m.k));
  } else {
    CHECK(!m.x && message[0] && status != BLICA_ERR_MEMORY && status != BLICA_ERR_IO);
  }
  free(m.x);
  return 0;
}
