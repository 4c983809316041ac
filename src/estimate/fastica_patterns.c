/* fastica_patterns.c - merges equal rows by a hash table over their bits. The order of patterns is that of first
 * appearance, segment after segment, so it depends on the data alone. */
#include "estimate/fastica_patterns.h"

#include <string.h>

#include "base/hash.h"

/* Column bits of one segment into row keys. */
static void transpose(const uint64_t *columns, int64_t words, int n, size_t stride, size_t offset, uint64_t *keys) {
  for (int i = 0; i < n; i++)
    for (int64_t w = 0; w < words; w++)
      for (uint64_t bits = columns[i * words + w]; bits; bits &= bits - 1) {
        size_t row = (size_t)w * 64 + (size_t)__builtin_ctzll(bits);
        keys[row * stride + offset + (size_t)i / 64] |= UINT64_C(1) << (i % 64);
      }
}

static void mark_present(int64_t rows, int n, size_t stride, size_t offset, uint64_t *keys) {
  for (int64_t r = 0; r < rows; r++)
    for (int i = 0; i < n; i++) keys[(size_t)r * stride + offset + (size_t)i / 64] |= UINT64_C(1) << (i % 64);
}

/* Moves the first of each set of equal rows forward and counts it. slots [size], a power of 2, holds index + 1. */
static void merge(bl_pooled_patterns *p, int64_t rows, int64_t *slots, size_t size) {
  const size_t bytes = p->words * sizeof(uint64_t);
  const bl_hash_key secret = bl_hash_key_draw(p);
  for (int64_t r = 0; r < rows; r++) {
    const uint64_t *key = p->keys + (size_t)r * p->words;
    size_t at = (size_t)bl_hash(secret, key, bytes) & (size - 1);
    while (slots[at] && memcmp(p->keys + (size_t)(slots[at] - 1) * p->words, key, bytes) != 0)
      at = (at + 1) & (size - 1);
    if (!slots[at]) {
      memmove(p->keys + (size_t)p->patterns * p->words, key, bytes);
      slots[at] = ++p->patterns;
    }
    p->count[slots[at] - 1]++;
  }
}

blica_status bl_pooled_patterns_create(blica_ctx *ctx, const blica_data *data, bl_pooled_patterns **out) {
  blica_status status;
  bl_pooled_patterns *p = NULL;
  int64_t *slots = NULL;
  size_t rows = (size_t)data->rows, size = 16, first = 0;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &p));
  p->value_words = ((size_t)data->n + 63) / 64;
  p->words = data->missing ? 2 * p->value_words : p->value_words;
  while (size < 2 * rows) size *= 2;
  TRY(bl_alloc(ctx, bl_mul(rows, p->words), &p->keys));
  TRY(bl_alloc(ctx, rows, &p->count));
  TRY(bl_alloc(ctx, size, &slots));
  for (int s = 0; s < data->u; s++) {
    uint64_t *keys = p->keys + first * p->words;
    transpose(data->ones[s], data->words[s], data->n, p->words, 0, keys);
    if (data->missing && data->present[s])
      transpose(data->present[s], data->words[s], data->n, p->words, p->value_words, keys);
    else if (data->missing)
      mark_present(data->samples[s], data->n, p->words, p->value_words, keys);
    first += (size_t)data->samples[s];
  }
  merge(p, data->rows, slots, size);
  *out = p;
  p = NULL;
done:
  bl_free(slots);
  bl_pooled_patterns_free(p);
  return status;
}

void bl_pooled_patterns_free(bl_pooled_patterns *patterns) {
  if (!patterns) return;
  bl_free(patterns->keys);
  bl_free(patterns->count);
  bl_free(patterns);
}
