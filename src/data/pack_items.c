/* pack_items.c - rows of levels become rows of bits (coding.h), and are packed as those are. */
#include "data/pack.h"

enum { CHUNK = 64, LONG_CHUNK = 256 }; /* rows at a time, from rows and from columns: their bits stay in the cache */

static blica_status refuse(blica_ctx *ctx, const blica_packer *packer, int i, int64_t row, int value) {
  const blica_coding *c = packer->coding;
  return bl_fail(ctx, BLICA_ERR_DATA,
                 "row %lld, variable %d ('%s'): value %d is not a level from 0 to %d, nor missing (-1)",
                 (long long)row + 1, i + 1, c->names[i], value, c->first[i + 1] - c->first[i]);
}

/* Rows of levels to rows of bits: column l of an item is 1 where its level is at least l. */
static blica_status expand(blica_ctx *ctx, const blica_packer *packer, int64_t rows, const int8_t *x,
                           ptrdiff_t row_stride, ptrdiff_t column_stride, int8_t *out) {
  const blica_coding *c = packer->coding;
  for (int i = 0; i < c->items; i++) {
    const int most = c->first[i + 1] - c->first[i];
    const int8_t *item = x + i * column_stride;
    int8_t *to = out + c->first[i];
    for (int64_t r = 0; r < rows; r++, to += packer->n) {
      const int value = item[r * row_stride];
      if (value < -1 || value > most) return refuse(ctx, packer, i, packer->rows + r, value);
      for (int l = 0; l < most; l++) to[l] = (int8_t)(value < 0 ? BLICA_MISSING : value > l);
    }
  }
  return BLICA_OK;
}

/* Columns of levels to columns of bits, [rows,columns]. */
static blica_status expand_columns(blica_ctx *ctx, const blica_packer *packer, int rows, const int8_t *x,
                                   ptrdiff_t column_stride, int8_t *out) {
  const blica_coding *c = packer->coding;
  for (int i = 0; i < c->items; i++) {
    const int8_t *item = x + i * column_stride, most = (int8_t)(c->first[i + 1] - c->first[i]);
    int8_t *to = out + (ptrdiff_t)c->first[i] * rows, low = 0, high = 0;
    for (int r = 0; r < rows; r++) low = item[r] < low ? item[r] : low, high = item[r] > high ? item[r] : high;
    for (int r = 0; (low < -1 || high > most) && r < rows; r++)
      if (item[r] < -1 || item[r] > most) return refuse(ctx, packer, i, packer->rows + r, item[r]);
    for (int8_t l = 0; l < most; l++, to += rows)
      for (int r = 0; r < rows; r++) to[r] = (int8_t)((item[r] > l) | item[r] >> 7); /* BLICA_MISSING is -1 */
  }
  return BLICA_OK;
}

/* Expands levels to bits, a chunk of rows after the other, and packs these. */
static blica_status take_items(blica_ctx *ctx, blica_packer *packer, int64_t rows, const int8_t *x,
                               ptrdiff_t row_stride, ptrdiff_t column_stride, const int32_t *segment) {
  BL_OWNED int8_t *bits = NULL;
  const bool columns = row_stride == 1 && packer->coding->items > 1;
  const int64_t chunk = columns ? LONG_CHUNK : CHUNK;
  MUST(bl_alloc(ctx, bl_mul((size_t)chunk, (size_t)packer->n), &bits));
  for (int64_t first = 0; first < rows; first += chunk) {
    const int64_t count = rows - first < chunk ? rows - first : chunk;
    const int8_t *from = x + first * row_stride;
    if (columns) {
      MUST(expand_columns(ctx, packer, (int)count, from, column_stride, bits));
      MUST(bl_pack_bit_columns(ctx, packer, count, bits, segment + first));
    } else {
      MUST(expand(ctx, packer, count, from, row_stride, column_stride, bits));
      MUST(bl_pack_bits(ctx, packer, count, bits, segment + first));
    }
  }
  return BLICA_OK;
}

blica_status blica_pack_begin_items(blica_ctx *ctx, int n, const char *const *variables, const int *levels,
                                    const char *const *labels, blica_packer **out) {
  BL_NEED_OUT(ctx, out, levels);
  BL_AUTO(blica_coding) *coding = NULL;
  BL_OWNED char **columns = NULL;
  BL_OWNED char **numbers = NULL;
  if (n < 2) return blica_pack_begin(ctx, n, variables, out); /* which refuses it */
  if (!variables) MUST(bl_number_texts(ctx, n, "x", &numbers));
  MUST(bl_coding_make(ctx, n, variables ? variables : (const char *const *)numbers, levels, labels, &coding));
  MUST(bl_coding_columns(ctx, coding, &columns));
  MUST(blica_pack_begin(ctx, coding->first[n], (const char *const *)columns, out));
  (*out)->coding = coding;
  (*out)->take_items = take_items;
  coding = NULL;
  return BLICA_OK;
}
