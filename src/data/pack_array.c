/* pack_array.c - packing an array that is all in memory. */
#include "data/pack.h"

blica_status bl_pack_labels(blica_ctx *ctx, blica_packer *packer, int u, const char *const *labels) {
  blica_status status = BLICA_OK;
  char **numbers = NULL;
  int32_t id;
  if (!labels) {
    TRY(bl_number_texts(ctx, u, "", &numbers));
    labels = (const char *const *)numbers;
  }
  for (int s = 0; s < u; s++) {
    TRY(blica_pack_segment(ctx, packer, labels[s], &id));
    if (id != s)
      FAIL(ctx, BLICA_ERR_DATA, "segments %d and %d are both named '%s'; give each segment a label of its own", id + 1,
           s + 1, labels[s]);
  }
done:
  bl_free_texts(numbers, u);
  return status;
}

blica_status blica_pack(blica_ctx *ctx, int64_t rows, int n, const int8_t *x, ptrdiff_t row_stride,
                        ptrdiff_t column_stride, const char *const *variables, const int32_t *segment, int u,
                        const char *const *labels, blica_data **out) {
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  if (rows > 0) BL_NEED(ctx, x, segment);
  enum { CHUNK = 1024 };
  blica_status status;
  blica_packer *packer = NULL;
  BL_OWNED int8_t *chunk = NULL;
  if (rows < 0) FAIL(ctx, BLICA_ERR_ARGUMENT, "the number of rows is %lld", (long long)rows);
  if (u < 1) FAIL(ctx, BLICA_ERR_ARGUMENT, "%d segments: at least 1 is needed", u);
  TRY(blica_pack_begin(ctx, n, variables, &packer));
  TRY(bl_pack_labels(ctx, packer, u, labels));
  bool columns = row_stride == 1 && column_stride == rows;
  if (columns) TRY(blica_pack_columns(ctx, packer, rows, x, segment));
  TRY(bl_alloc(ctx, bl_mul(CHUNK, (size_t)n), &chunk));
  for (int64_t r0 = 0; !columns && r0 < rows; r0 += CHUNK) {
    int64_t count = rows - r0 < CHUNK ? rows - r0 : CHUNK;
    for (int64_t r = 0; r < count; r++)
      for (int i = 0; i < n; i++) chunk[r * n + i] = x[(r0 + r) * row_stride + i * column_stride];
    TRY(blica_pack_rows(ctx, packer, count, chunk, segment + r0));
  }
  status = blica_pack_end(ctx, packer, out);
  packer = NULL;
done:
  blica_packer_free(packer);
  return status;
}
