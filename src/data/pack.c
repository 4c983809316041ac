/* pack.c - from rows of 0/1 bytes to bit columns sorted into segments.
 *
 * Rows arrive in any order of segments. Each segment keeps the words of its current 64 rows side by
 * side, so that a row sets one bit in each of n neighbouring words; a full block of n words is
 * appended to the segment's list, which grows by doubling. The end turns the blocks into columns. Eight rows of one
 * segment that follow each other, the usual case, are gathered into bytes first: an eighth of the traffic to the words.
 */
#include <string.h>

#include "data/pack.h"

#include "base/hash.h"

void blica_packer_free(blica_packer *packer) {
  if (!packer) return;
  bl_free(packer->variables);
  for (size_t s = 0; s < packer->segment_capacity; s++) {
    bl_free(packer->segments[s].ones);
    bl_free(packer->segments[s].present);
  }
  bl_free(packer->segments);
  bl_intern_clear(&packer->labels);
  blica_coding_free(packer->coding);
  bl_free(packer->row_segment);
  bl_free(packer);
}

/* Fails when two variables have one name. */
static blica_status check_names(blica_ctx *ctx, int n, char *const *variables) {
  BL_CLEAN(bl_intern_clear) bl_intern seen = {0};
  for (int i = 0; i < n; i++) {
    int32_t id;
    MUST(bl_intern_add(ctx, &seen, variables[i], strlen(variables[i]), &id));
    if (id < i)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "variables %d and %d are both named '%s'; give each variable a name of its own", id + 1, i + 1,
                     variables[i]);
  }
  return BLICA_OK;
}

blica_status blica_pack_begin(blica_ctx *ctx, int n, const char *const *variables, blica_packer **out) {
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  BL_AUTO(blica_packer) *packer = NULL;
  if (n < 2)
    return bl_fail(ctx, BLICA_ERR_DATA, "%d variable%s: at least 2 are needed, as pairs of them are counted", n,
                   n == 1 ? "" : "s");
  MUST(bl_alloc(ctx, 1, &packer));
  packer->n = n;
  for (int i = 0; variables && i < n; i++) {
    if (!variables[i])
      return bl_fail(ctx, BLICA_ERR_ARGUMENT, "the name of variable %d is NULL; pass names for all or for none", i + 1);
    if (!*variables[i]) return bl_fail(ctx, BLICA_ERR_DATA, "the name of variable %d is empty; give it a name", i + 1);
  }
  if (variables)
    MUST(bl_copy_texts(ctx, n, variables, &packer->variables));
  else
    MUST(bl_number_texts(ctx, n, "x", &packer->variables));
  MUST(check_names(ctx, n, packer->variables));
  *out = bl_take(&packer);
  return BLICA_OK;
}

blica_status blica_pack_segment(blica_ctx *ctx, blica_packer *packer, const char *label, int32_t *id) {
  BL_NEED(ctx, packer, label, id);
  int32_t s;
  *id = -1;
  MUST(bl_intern_add(ctx, &packer->labels, label, strlen(label), &s));
  if ((size_t)s >= packer->segment_capacity) {
    size_t capacity = packer->segment_capacity ? 2 * packer->segment_capacity : 16;
    MUST(bl_resize(ctx, packer->segment_capacity, capacity, &packer->segments));
    memset(packer->segments + packer->segment_capacity, 0,
           (capacity - packer->segment_capacity) * sizeof *packer->segments);
    packer->segment_capacity = capacity;
  }
  *id = s;
  return BLICA_OK;
}

blica_status bl_pack_add_block(blica_ctx *ctx, bl_segment_bits *bits, size_t n) {
  if (bits->blocks == bits->capacity) {
    size_t capacity = bits->capacity ? 2 * bits->capacity : 1, used = bl_mul(bits->blocks, n);
    MUST(bl_resize(ctx, used, bl_mul(capacity, n), &bits->ones));
    if (bits->present) MUST(bl_resize(ctx, used, bl_mul(capacity, n), &bits->present));
    bits->capacity = capacity;
  }
  memset(bits->ones + bits->blocks * n, 0, n * sizeof *bits->ones);
  if (bits->present) memset(bits->present + bits->blocks * n, 0, n * sizeof *bits->present);
  bits->blocks++;
  return BLICA_OK;
}

blica_status bl_pack_begin_missing(blica_ctx *ctx, bl_segment_bits *bits, size_t n) {
  MUST(bl_alloc(ctx, bl_mul(bits->capacity, n), &bits->present));
  int last = (int)(bits->rows % 64); /* rows of the last block that were there before this one */
  for (size_t w = 0; w < bits->blocks * n; w++) bits->present[w] = ~(uint64_t)0;
  for (size_t i = 0; i < n; i++) bits->present[(bits->blocks - 1) * n + i] = ((uint64_t)1 << last) - 1;
  return BLICA_OK;
}

/* Counts the missing values of a row; the index of the first that is not 0, 1 or missing in *bad. */
static int scan_row(const int8_t *x, int n, int *bad) {
  int missing = 0;
  unsigned wrong = 0;
  uint8_t any = 0;
  *bad = n;
  for (int i = 0; i < n; i++) any |= (uint8_t)x[i];
  if (any <= 1) return 0; /* the usual row */
  for (int i = 0; i < n; i++) {
    missing += x[i] < 0;
    wrong |= (uint8_t)(x[i] + 1) > 2;
  }
  if (wrong)
    for (*bad = 0; (uint8_t)(x[*bad] + 1) <= 2; ++*bad) continue;
  return missing;
}

blica_status bl_pack_bad_segment(blica_ctx *ctx, const blica_packer *packer, int64_t row, int32_t s) {
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "row %lld: segment id %d is not one of the %d that blica_pack_segment gave",
                 (long long)(packer->rows + row) + 1, s, packer->labels.count);
}

blica_status bl_pack_bad_value(blica_ctx *ctx, const blica_packer *packer, int64_t row, int i, int value) {
  return bl_fail(ctx, BLICA_ERR_DATA, "row %lld, variable %d ('%s'): value %d is not 0, 1 or missing (-1)",
                 (long long)(packer->rows + row) + 1, i + 1, packer->variables[i], value);
}

blica_status bl_pack_row(blica_ctx *ctx, blica_packer *packer, const int8_t *x, int32_t s) {
  int n = packer->n, bad;
  if (s < 0 || s >= packer->labels.count) return bl_pack_bad_segment(ctx, packer, 0, s);
  int missing = scan_row(x, n, &bad);
  if (bad < n) return bl_pack_bad_value(ctx, packer, 0, bad, x[bad]);
  bl_segment_bits *bits = &packer->segments[s];
  int bit = (int)(bits->rows % 64);
  if (bit == 0) MUST(bl_pack_add_block(ctx, bits, (size_t)n));
  if (missing && !bits->present) MUST(bl_pack_begin_missing(ctx, bits, (size_t)n));
  uint64_t *ones = bits->ones + (bits->blocks - 1) * (size_t)n;
  if (!missing)
    for (int i = 0; i < n; i++) ones[i] |= (uint64_t)x[i] << bit;
  else
    for (int i = 0; i < n; i++) ones[i] |= (uint64_t)(x[i] == 1) << bit;
  if (bits->present) {
    uint64_t *present = bits->present + (bits->blocks - 1) * (size_t)n;
    for (int i = 0; i < n; i++) present[i] |= (uint64_t)(x[i] >= 0) << bit;
  }
  bits->rows++;
  packer->missing += missing;
  packer->row_segment[packer->rows++] = s;
  return BLICA_OK;
}

/* Bit r of byte i <- row r of column i, rows stride apart. */
static void gather_eight(const uint8_t *restrict r, size_t stride, size_t columns, uint8_t *restrict bytes) {
  for (size_t i = 0; i < columns; i++)
    bytes[i] =
        (uint8_t)(r[i] | r[i + stride] << 1 | r[i + 2 * stride] << 2 | r[i + 3 * stride] << 3 | r[i + 4 * stride] << 4 |
                  r[i + 5 * stride] << 5 | r[i + 6 * stride] << 6 | r[i + 7 * stride] << 7);
}

static bool only_zeros_and_ones(const int8_t *x, size_t count) {
  uint8_t any = 0;
  for (size_t i = 0; i < count; i++) any |= (uint8_t)x[i];
  return any <= 1;
}

/* Packs eight rows at once if they are complete rows of one segment, at a multiple of 8; else *done is false. */
static blica_status pack_eight(blica_ctx *ctx, blica_packer *packer, const int8_t *x, const int32_t *segment,
                               bool *done) {
  enum { COLUMNS = 512 };
  uint8_t bytes[COLUMNS];
  const size_t n = (size_t)packer->n;
  const int32_t s = segment[0];
  *done = false;
  if (s < 0 || s >= packer->labels.count) return BLICA_OK;
  for (int r = 1; r < 8; r++)
    if (segment[r] != s) return BLICA_OK;
  bl_segment_bits *bits = &packer->segments[s];
  int bit = (int)(bits->rows % 64);
  if (bit % 8 != 0 || !only_zeros_and_ones(x, 8 * n)) return BLICA_OK;
  if (bit == 0) MUST(bl_pack_add_block(ctx, bits, n));
  uint64_t *ones = bits->ones + (bits->blocks - 1) * n;
  for (size_t from = 0; from < n; from += COLUMNS) {
    size_t columns = n - from < COLUMNS ? n - from : COLUMNS;
    gather_eight((const uint8_t *)x + from, n, columns, bytes);
    for (size_t i = 0; i < columns; i++) ones[from + i] |= (uint64_t)bytes[i] << bit;
  }
  uint64_t *present = bits->present ? bits->present + (bits->blocks - 1) * n : NULL;
  for (size_t i = 0; present && i < n; i++) present[i] |= (uint64_t)0xff << bit;
  bits->rows += 8;
  for (int r = 0; r < 8; r++) packer->row_segment[packer->rows++] = s;
  *done = true;
  return BLICA_OK;
}

blica_status bl_pack_reserve(blica_ctx *ctx, blica_packer *packer, int64_t more) {
  size_t needed = (size_t)packer->rows + (size_t)more, capacity = packer->row_capacity;
  if (needed <= capacity) return BLICA_OK;
  if (needed < 2 * capacity) needed = 2 * capacity;
  blica_status status = bl_resize(ctx, (size_t)packer->rows, needed, &packer->row_segment);
  if (status == BLICA_OK) packer->row_capacity = needed;
  return status;
}

blica_status blica_pack_rows(blica_ctx *ctx, blica_packer *packer, int64_t rows, const int8_t *x,
                             const int32_t *segment) {
  BL_NEED(ctx, packer);
  if (rows > 0) BL_NEED(ctx, x, segment);
  return packer->take_items ? packer->take_items(ctx, packer, rows, x, packer->coding->items, 1, segment)
                            : bl_pack_bits(ctx, packer, rows, x, segment);
}

blica_status bl_pack_bits(blica_ctx *ctx, blica_packer *packer, int64_t rows, const int8_t *x, const int32_t *segment) {
  if (rows < 0) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "the number of rows is %lld", (long long)rows);
  MUST(bl_pack_reserve(ctx, packer, rows));
  for (int64_t r = 0; r < rows;) {
    bool eight = false;
    if (r + 8 <= rows) MUST(pack_eight(ctx, packer, x + r * packer->n, segment + r, &eight));
    if (!eight) MUST(bl_pack_row(ctx, packer, x + r * packer->n, segment[r]));
    r += eight ? 8 : 1;
  }
  return BLICA_OK;
}

/* Blocks [n,blocks] to columns [blocks,n], in squares that stay in the cache. */
static blica_status to_columns(blica_ctx *ctx, blica_data *data, const uint64_t *from, size_t blocks, uint64_t **out) {
  enum { SIDE = 16 };
  const size_t n = (size_t)data->n;
  MUST(bl_alloc_for(ctx, data, bl_mul(blocks, n), out));
  for (size_t b0 = 0; b0 < blocks; b0 += SIDE)
    for (size_t i0 = 0; i0 < n; i0 += SIDE)
      for (size_t i = i0; i < n && i < i0 + SIDE; i++)
        for (size_t b = b0; b < blocks && b < b0 + SIDE; b++) (*out)[i * blocks + b] = from[b * n + i];
  return BLICA_OK;
}

static blica_status finish_segment(blica_ctx *ctx, bl_segment_bits *bits, int s, blica_data *data) {
  data->samples[s] = bits->rows;
  data->words[s] = (int64_t)bits->blocks;
  MUST(to_columns(ctx, data, bits->ones, bits->blocks, &data->ones[s]));
  bl_free(bl_take(&bits->ones));
  if (bits->present) MUST(to_columns(ctx, data, bits->present, bits->blocks, &data->present[s]));
  bl_free(bl_take(&bits->present));
  return BLICA_OK;
}

blica_status blica_pack_end(blica_ctx *ctx, blica_packer *packer, blica_data **out) {
  if (out) *out = NULL;
  BL_AUTO(blica_packer) *ended = packer;
  BL_AUTO(blica_data) *data = NULL;
  BL_NEED(ctx, out, packer);
  if (packer->rows == 0) return bl_fail(ctx, BLICA_ERR_DATA, "the data have no rows");
  MUST(bl_alloc(ctx, 1, &data));
  int u = packer->labels.count;
  data->n = packer->n;
  MUST(bl_alloc_for(ctx, data, (size_t)u, &data->samples));
  MUST(bl_alloc_for(ctx, data, (size_t)u, &data->words));
  MUST(bl_alloc_for(ctx, data, (size_t)u, &data->ones));
  MUST(bl_alloc_for(ctx, data, (size_t)u, &data->present));
  data->u = u;
  MUST(bl_copy_texts(ctx, u, (const char *const *)packer->labels.texts, &data->segments));
  for (int s = 0; s < u; s++) MUST(finish_segment(ctx, &packer->segments[s], s, data));
  data->rows = packer->rows;
  data->missing = packer->missing;
  data->variables = bl_take(&packer->variables);
  data->row_segment = bl_take(&packer->row_segment);
  *out = bl_take(&data);
  return BLICA_OK;
}

void blica_data_free(blica_data *data) {
  if (!data) return;
  bl_free(data->variables);
  bl_free(data->segments);
  bl_free(data->row_segment);
  bl_free(data->weight);
  bl_free(data->cluster);
  bl_free(data->stratum);
  bl_free(data->replicate);
  bl_free(data->replicate_factor);
  bl_free(data);
}

uint64_t bl_data_digest(const blica_data *data, int s) {
  size_t bytes = (size_t)data->words[s] * (size_t)data->n * sizeof(uint64_t);
  uint64_t digest = bl_digest(0, data->ones[s], bytes);
  if (data->present[s]) digest = bl_digest(digest, data->present[s], bytes);
  const double *weight = bl_data_weights(data, s);
  return weight ? bl_digest(digest, weight, (size_t)data->samples[s] * sizeof *weight) : digest;
}
