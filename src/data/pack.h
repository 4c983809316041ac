/* pack.h - the packer's insides, shared by the ways that rows can come in. */
#ifndef BL_PACK_H
#define BL_PACK_H

#include "base/base.h"
#include "base/intern.h"

typedef struct {
  int64_t rows;
  size_t blocks, capacity; /* blocks of n words, the last one may be under way */
  uint64_t *ones;          /* [n,capacity] */
  uint64_t *present;       /* the same once a value was missing, else NULL */
} bl_segment_bits;

struct blica_packer {
  int n;
  char **variables;
  bl_intern labels;
  size_t segment_capacity;
  bl_segment_bits *segments; /* [segment_capacity], labels.count in use */
  int64_t rows, missing;
  size_t row_capacity;
  int32_t *row_segment;
};

blica_status bl_pack_reserve(blica_ctx *ctx, blica_packer *packer, int64_t more); /* room for so many rows more */
/* One row, of segment s; row_segment has room for it. */
blica_status bl_pack_row(blica_ctx *ctx, blica_packer *packer, const int8_t *x, int32_t s);
/* Room for one more block of 64 rows, its words clear. */
blica_status bl_pack_add_block(blica_ctx *ctx, bl_segment_bits *bits, size_t n);
/* The first missing value of a segment: all rows before were present. */
blica_status bl_pack_begin_missing(blica_ctx *ctx, bl_segment_bits *bits, size_t n);

/* A digest of the values of segment s. */
uint64_t bl_data_digest(const blica_data *data, int s);

#endif
