/* pack.h - the packer's insides, shared by the ways that rows can come in. */
#ifndef BL_PACK_H
#define BL_PACK_H

#include "base/base.h"
#include "base/intern.h"
#include "data/coding.h"

typedef struct {
  int64_t rows;
  size_t blocks, capacity; /* blocks of n words, the last one may be under way */
  uint64_t *ones;          /* [n,capacity] */
  uint64_t *present;       /* the same once a value was missing, else NULL */
} bl_segment_bits;

/* Rows of levels: element (r,i) is x[r * row_stride + i * column_stride]. */
typedef blica_status (*bl_take_items)(blica_ctx *ctx, blica_packer *packer, int64_t rows, const int8_t *x,
                                      ptrdiff_t row_stride, ptrdiff_t column_stride, const int32_t *segment);

struct blica_packer {
  int n; /* columns of bits */
  char **variables;
  blica_coding *coding;     /* rows hold levels of its items; NULL: bits */
  bl_take_items take_items; /* with a coding */
  bl_intern labels;
  size_t segment_capacity;
  bl_segment_bits *segments; /* [segment_capacity], labels.count in use */
  int64_t rows, missing;
  size_t row_capacity;
  int32_t *row_segment;
};

blica_status bl_pack_reserve(blica_ctx *ctx, blica_packer *packer, int64_t more); /* space for `more` additional rows */
/* Rows of bits. */
blica_status bl_pack_bits(blica_ctx *ctx, blica_packer *packer, int64_t rows, const int8_t *x, const int32_t *segment);
/* Columns of bits [rows,n]. */
blica_status bl_pack_bit_columns(blica_ctx *ctx, blica_packer *packer, int64_t rows, const int8_t *x,
                                 const int32_t *segment);
/* One row, of segment s; row_segment has room for it. */
blica_status bl_pack_row(blica_ctx *ctx, blica_packer *packer, const int8_t *x, int32_t s);
/* Fails: row `row` of those that are packed now has a segment that cannot be. */
blica_status bl_pack_bad_segment(blica_ctx *ctx, const blica_packer *packer, int64_t row, int32_t s);
/* The same for a value of column i. */
blica_status bl_pack_bad_value(blica_ctx *ctx, const blica_packer *packer, int64_t row, int i, int value);
/* Room for one more block of 64 rows, its words clear. */
blica_status bl_pack_add_block(blica_ctx *ctx, bl_segment_bits *bits, size_t n);
/* The first missing value of a segment: all rows before were present. */
blica_status bl_pack_begin_missing(blica_ctx *ctx, bl_segment_bits *bits, size_t n);

/* Fails when rows have weights, or clusters or strata where those would count, naming who does not know them. */
blica_status bl_data_plain(blica_ctx *ctx, const blica_data *data, const char *who, bool clusters);
/* The value of column i in row `row` of segment s: 0, 1 or BLICA_MISSING. */
static inline int8_t bl_data_value(const blica_data *data, int s, int i, int64_t row) {
  const int64_t word = i * data->words[s] + row / 64;
  if (data->present[s] && !(data->present[s][word] >> (row % 64) & 1)) return BLICA_MISSING;
  return (int8_t)(data->ones[s][word] >> (row % 64) & 1);
}
/* The place of each row of the input among the rows sorted by segment; the caller frees it. */
blica_status bl_row_places(blica_ctx *ctx, const blica_data *data, int64_t **out);
/* Compares keys of this many words: below 0, 0 or above 0. */
static inline int bl_compare_words(const uint64_t *a, const uint64_t *b, int words) {
  for (int w = 0; w < words; w++)
    if (a[w] != b[w]) return a[w] < b[w] ? -1 : 1;
  return 0;
}
/* The segment whose tasks hold this one: the last s with first[s] <= task, of first [u+1], which rises. */
static inline int bl_segment_of_task(const int64_t *first, int u, int64_t task) {
  int low = 0, high = u;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    *(first[middle] <= task ? &low : &high) = middle;
  }
  return low;
}
/* The weights of the rows of segment s; NULL: all are 1. */
const double *bl_data_weights(const blica_data *data, int s);
/* The sum of the weights of a segment: its rows when all weights are 1. */
double bl_data_rows(const blica_data *data, int s);
/* A digest of the values of segment s, and of its weights. */
uint64_t bl_data_digest(const blica_data *data, int s);

#endif
