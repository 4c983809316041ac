/* pack_columns.c - packing from columns of bytes, as R matrices and data frames have them.
 *
 * Neighbouring rows of one segment fill neighbouring bits of a word, eight bytes by one multiplication. Where segments
 * change from row to row there is nothing to gain: such rows are converted to rows of bytes first. */
#include <string.h>

#include "data/pack.h"

enum { TILE = 1024, SHORT_RUN = 8 };

/* A run of neighbouring rows of one segment within one block of 64. */
typedef struct {
  int64_t row; /* in x */
  int length;  /* 1..64 */
  int32_t segment;
} row_run;

/* Bit 0 of each of eight bytes, gathered into a byte. The products' bits do not overlap. */
static uint64_t low_bits(uint64_t bytes) {
  if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) bytes = __builtin_bswap64(bytes); /* the first byte is the lowest */
  return (bytes & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56;
}

/* Bit `shift` of each of count <= 64 bytes, as a word. */
static uint64_t gather_bits(const int8_t *x, int count, int shift) {
  uint64_t bits = 0, word;
  int b = 0;
  for (; b + 8 <= count; b += 8) {
    memcpy(&word, x + b, 8);
    bits |= low_bits(word >> shift) << b;
  }
  if (b < count) {
    word = 0;
    memcpy(&word, x + b, (size_t)(count - b));
    bits |= low_bits(word >> shift) << b;
  }
  return bits;
}

/* Whether a run holds nothing but 0 and 1, the usual case. */
static bool all_binary(const int8_t *x, int n, int64_t rows, row_run at) {
  uint64_t any = 0, word;
  for (int i = 0; i < n; i++) {
    const int8_t *from = x + at.row + i * rows;
    int b = 0;
    for (; b + 8 <= at.length; b += 8) {
      memcpy(&word, from + b, 8);
      any |= word;
    }
    for (; b < at.length; b++) any |= (uint8_t)from[b];
  }
  return (any & UINT64_C(0xFEFEFEFEFEFEFEFE)) == 0;
}

/* Before anything is changed: a caller may go on after an error. */
static blica_status check_values(blica_ctx *ctx, const blica_packer *packer, const int8_t *x, int64_t rows,
                                 row_run at) {
  for (int64_t r = at.row; r < at.row + at.length; r++)
    for (int i = 0; i < packer->n; i++) {
      int value = x[r + i * rows];
      if (value < -1 || value > 1) return bl_pack_bad_value(ctx, packer, r - at.row, i, value);
    }
  return BLICA_OK;
}

/* Packs rows of one segment that fit into one word of bits. */
static blica_status pack_run(blica_ctx *ctx, blica_packer *packer, const int8_t *x, int64_t rows, row_run at) {
  size_t n = (size_t)packer->n;
  bl_segment_bits *bits = &packer->segments[at.segment];
  int bit = (int)(bits->rows % 64);
  uint64_t all = (at.length == 64 ? ~UINT64_C(0) : (UINT64_C(1) << at.length) - 1) << bit;
  bool binary = all_binary(x, packer->n, rows, at);
  if (!binary) MUST(check_values(ctx, packer, x, rows, at));
  if (bit == 0) MUST(bl_pack_add_block(ctx, bits, n));
  size_t block = (bits->blocks - 1) * n;
  if (bits->present)
    for (size_t i = 0; i < n; i++) bits->present[block + i] |= all;
  for (size_t i = 0; i < n; i++) {
    const int8_t *from = x + at.row + (int64_t)i * rows;
    uint64_t sign = binary ? 0 : gather_bits(from, at.length, 7);
    bits->ones[block + i] |= (gather_bits(from, at.length, 0) & ~sign) << bit;
    if (!sign) continue;
    if (!bits->present) {
      MUST(bl_pack_begin_missing(ctx, bits, n));
      for (size_t j = 0; j < n; j++) bits->present[block + j] |= all;
    }
    bits->present[block + i] &= ~(sign << bit);
    packer->missing += __builtin_popcountll(sign);
  }
  bits->rows += at.length;
  for (int r = 0; r < at.length; r++) packer->row_segment[packer->rows++] = at.segment;
  return BLICA_OK;
}

static blica_status check_segments(blica_ctx *ctx, const blica_packer *packer, int64_t rows, const int32_t *segment) {
  for (int64_t r = 0; r < rows; r++)
    if (segment[r] < 0 || segment[r] >= packer->labels.count) return bl_pack_bad_segment(ctx, packer, r, segment[r]);
  return BLICA_OK;
}

static blica_status pack_tile_by_columns(blica_ctx *ctx, blica_packer *packer, const int8_t *x, int64_t rows,
                                         int64_t from, int64_t to, const int32_t *segment) {
  for (row_run at = {.row = from}; at.row < to; at.row += at.length) {
    at.segment = segment[at.row];
    int left = 64 - (int)(packer->segments[at.segment].rows % 64);
    for (at.length = 1; at.length < left && at.row + at.length < to && segment[at.row + at.length] == at.segment;)
      at.length++;
    MUST(pack_run(ctx, packer, x, rows, at));
  }
  return BLICA_OK;
}

static blica_status pack_tile_by_rows(blica_ctx *ctx, blica_packer *packer, const int8_t *x, int64_t rows, int64_t from,
                                      int64_t to, const int32_t *segment, int8_t *tile) {
  const int n = packer->n;
  for (int i = 0; i < n; i++)
    for (int64_t r = from; r < to; r++) tile[(r - from) * n + i] = x[r + i * rows];
  for (int64_t r = from; r < to; r++) MUST(bl_pack_row(ctx, packer, tile + (r - from) * n, segment[r]));
  return BLICA_OK;
}

blica_status bl_pack_bit_columns(blica_ctx *ctx, blica_packer *packer, int64_t rows, const int8_t *x,
                                 const int32_t *segment) {
  BL_OWNED int8_t *tile = NULL;
  MUST(check_segments(ctx, packer, rows, segment));
  MUST(bl_pack_reserve(ctx, packer, rows));
  for (int64_t from = 0; from < rows; from += TILE) {
    int64_t to = rows - from < TILE ? rows : from + TILE, changes = 0;
    for (int64_t r = from + 1; r < to; r++) changes += segment[r] != segment[r - 1];
    if (changes * SHORT_RUN <= to - from) {
      MUST(pack_tile_by_columns(ctx, packer, x, rows, from, to, segment));
      continue;
    }
    if (!tile) MUST(bl_alloc(ctx, bl_mul(TILE, (size_t)packer->n), &tile));
    MUST(pack_tile_by_rows(ctx, packer, x, rows, from, to, segment, tile));
  }
  return BLICA_OK;
}

blica_status blica_pack_columns(blica_ctx *ctx, blica_packer *packer, int64_t rows, const int8_t *x,
                                const int32_t *segment) {
  BL_NEED(ctx, packer);
  if (rows > 0) BL_NEED(ctx, x, segment);
  if (rows < 0) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "the number of rows is %lld", (long long)rows);
  return packer->take_items ? packer->take_items(ctx, packer, rows, x, 1, (ptrdiff_t)rows, segment)
                            : bl_pack_bit_columns(ctx, packer, rows, x, segment);
}
