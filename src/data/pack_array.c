/* pack_array.c - packing an array that is all in memory. */
#include "data/pack.h"

/* Segments 0..u-1 under these labels; NULL: 1, 2, .... */
static blica_status add_segments(blica_ctx *ctx, blica_packer *packer, int u, const char *const *labels) {
  BL_OWNED char **numbers = NULL;
  int32_t id;
  if (!labels) {
    MUST(bl_number_texts(ctx, u, "", &numbers));
    labels = (const char *const *)numbers;
  }
  for (int s = 0; s < u; s++) {
    MUST(blica_pack_segment(ctx, packer, labels[s], &id));
    if (id != s)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "segments %d and %d are both named '%s'; give each segment a label of its own", id + 1, s + 1,
                     labels[s]);
  }
  return BLICA_OK;
}

/* Rows of bits, which may lie anywhere in memory, by way of a chunk of rows. */
static blica_status take_bits(blica_ctx *ctx, blica_packer *packer, const blica_table *t, ptrdiff_t row_stride,
                              ptrdiff_t column_stride, const int32_t *segment) {
  enum { CHUNK = 1024 };
  BL_OWNED int8_t *chunk = NULL;
  if (row_stride == 1 && column_stride == t->rows) return blica_pack_columns(ctx, packer, t->rows, t->x, segment);
  MUST(bl_alloc(ctx, bl_mul(CHUNK, (size_t)t->n), &chunk));
  for (int64_t r0 = 0; r0 < t->rows; r0 += CHUNK) {
    const int64_t count = t->rows - r0 < CHUNK ? t->rows - r0 : CHUNK;
    for (int64_t r = 0; r < count; r++)
      for (int i = 0; i < t->n; i++) chunk[r * t->n + i] = t->x[(r0 + r) * row_stride + i * column_stride];
    MUST(blica_pack_rows(ctx, packer, count, chunk, segment + r0));
  }
  return BLICA_OK;
}

blica_status blica_pack(blica_ctx *ctx, const blica_table *t, blica_data **out) {
  BL_NEED_OUT(ctx, out, t);
  if (t->rows > 0) BL_NEED(ctx, t->x);
  BL_AUTO(blica_packer) *packer = NULL;
  BL_OWNED int32_t *one = NULL;
  const bool apart = t->row_stride || t->column_stride;
  const ptrdiff_t row_stride = apart ? t->row_stride : t->n, column_stride = apart ? t->column_stride : 1;
  const int u = t->segment || t->u ? t->u : 1;
  if (t->rows < 0) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "the number of rows is %lld", (long long)t->rows);
  if (u < 1) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%d segments: at least 1 is needed", u);
  if (!t->segment && u > 1)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%d segments, but segment, that of each row, is NULL", u);
  if (!t->segment) MUST(bl_alloc(ctx, (size_t)t->rows, &one));
  const int32_t *segment = t->segment ? t->segment : one;
  MUST(t->levels ? blica_pack_begin_items(ctx, t->n, t->variables, t->levels, t->level_labels, &packer)
                 : blica_pack_begin(ctx, t->n, t->variables, &packer));
  MUST(add_segments(ctx, packer, u, t->segments));
  MUST(t->levels ? packer->take_items(ctx, packer, t->rows, t->x, row_stride, column_stride, segment)
                 : take_bits(ctx, packer, t, row_stride, column_stride, segment));
  return blica_pack_end(ctx, bl_take(&packer), out);
}
