/* patterns.c - merges equal rows. Rows become keys of 2 w words (values, presence); distinct keys are found by
 * hashing, then ordered by presence and value, so that the result does not depend on the order of rows. */
#include "data/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/pack.h"

void bl_row_keys_free(bl_row_keys *k) {
  bl_free(k->key);
}

/* Sets bit i of the keys of rows that have a bit in the column of bit i. */
static void set_bits(const bl_row_keys *k, const uint64_t *columns, int64_t words, uint64_t *keys) {
  const size_t width = 2 * (size_t)k->words;
  for (int i = 0; i < k->bits; i++) {
    const uint64_t *column = columns + (k->column ? k->column[i] : i) * words;
    for (int64_t w = 0; w < words; w++)
      for (uint64_t bits = column[w]; bits; bits &= bits - 1)
        keys[((size_t)w * 64 + (size_t)__builtin_ctzll(bits)) * width + (size_t)i / 64] |= UINT64_C(1) << (i % 64);
  }
}

/* Keys of the rows of segment s. */
static void row_keys(const blica_data *data, int s, const bl_row_keys *k, uint64_t *keys) {
  const uint64_t last = k->bits % 64 ? (UINT64_C(1) << (k->bits % 64)) - 1 : ~UINT64_C(0);
  set_bits(k, data->ones[s], data->words[s], keys + k->words);
  if (data->present[s]) set_bits(k, data->present[s], data->words[s], keys);
  for (int64_t r = 0; !data->present[s] && r < data->samples[s]; r++)
    for (int w = 0; w < k->words; w++) keys[r * 2 * k->words + w] = w + 1 < k->words ? ~UINT64_C(0) : last;
}

/* Distinct keys are found by hashing and moved forward. */
blica_status bl_row_keys_make(blica_ctx *ctx, const blica_data *data, int first, int last, int bits, const int *column,
                              bl_row_keys *k) {
  BL_OWNED int64_t *slot = NULL; /* [size, a power of two] key + 1 */
  size_t size = 16;
  *k = (bl_row_keys){.bits = bits, .words = (bits + 63) / 64, .column = column};
  const size_t width = 2 * (size_t)k->words, bytes = width * sizeof *k->key;
  for (int s = first; s < last; s++) k->rows += data->samples[s];
  while (size < 2 * (size_t)k->rows) size *= 2;
  MUST(bl_alloc(ctx, bl_mul((size_t)k->rows, width), &k->key));
  MUST(bl_alloc_for(ctx, k->key, (size_t)k->rows, &k->weight));
  MUST(bl_alloc_for(ctx, k->key, (size_t)k->rows, &k->id));
  MUST(bl_alloc(ctx, size, &slot));
  const double *weight = bl_data_weights(data, first);
  const bl_hash_key secret = bl_hash_key_draw(k);
  uint64_t *key = k->key;
  for (int s = first; s < last; key += (size_t)data->samples[s++] * width) row_keys(data, s, k, key);
  key = k->key;
  for (int64_t r = 0; r < k->rows; r++, key += width) {
    size_t at = (size_t)bl_hash(secret, key, bytes) & (size - 1);
    while (slot[at] && memcmp(k->key + (size_t)(slot[at] - 1) * width, key, bytes) != 0) at = (at + 1) & (size - 1);
    if (!slot[at]) {
      memmove(k->key + (size_t)k->count * width, key, bytes);
      slot[at] = ++k->count;
    }
    k->id[r] = slot[at] - 1;
    k->weight[k->id[r]] += weight ? weight[r] : 1;
  }
  return BLICA_OK;
}

/* ---- in order, and in groups ---- */

typedef struct {
  int n;                      /* items */
  const blica_coding *coding; /* NULL: one bit each */
  bl_row_keys keys;
  int64_t *rank;  /* [count] keys in order */
  int64_t *place; /* [count] place of each key in that order */
} segment_keys;

static void free_keys(segment_keys *k) {
  bl_row_keys_free(&k->keys);
  bl_free(k->rank);
  bl_free(k->place);
}

static const uint64_t *key_at(const segment_keys *k, int64_t rank) {
  return k->keys.key + k->rank[rank] * 2 * k->keys.words;
}

/* Bottom-up merge sort of key numbers: qsort would need a global for the keys. */
static blica_status sort_keys(blica_ctx *ctx, segment_keys *k) {
  const int64_t count = k->keys.count, width = 2 * k->keys.words;
  const uint64_t *key = k->keys.key;
  MUST(bl_alloc(ctx, (size_t)count, &k->rank));
  MUST(bl_alloc(ctx, (size_t)count, &k->place));
  int64_t *from = k->rank, *to = k->place;
  for (int64_t i = 0; i < count; i++) from[i] = i;
  for (int64_t run = 1; run < count; run *= 2) {
    for (int64_t low = 0; low < count; low += 2 * run) {
      int64_t middle = low + run < count ? low + run : count;
      int64_t high = low + 2 * run < count ? low + 2 * run : count, a = low, b = middle;
      for (int64_t at = low; at < high; at++) {
        bool left = a < middle &&
                    (b >= high || bl_compare_words(key + from[a] * width, key + from[b] * width, (int)width) <= 0);
        to[at] = left ? from[a++] : from[b++];
      }
    }
    int64_t *swap = from;
    from = to;
    to = swap;
  }
  k->rank = from;
  k->place = to;
  for (int64_t i = 0; i < count; i++) k->place[k->rank[i]] = i;
  return BLICA_OK;
}

/* Which items are present, and where their cuts are. An item is missing in all of its bits or in none. */
static blica_status describe_group(blica_ctx *ctx, bl_patterns *p, const segment_keys *k, const uint64_t *mask,
                                   bl_group *g) {
  const bool ordinal = bl_coding_ordinal(k->coding);
  for (int i = 0; i < k->n; i++) g->n += bl_bit(mask, bl_plane(k->coding, i));
  MUST(bl_alloc_for(ctx, p, (size_t)g->n, &g->variable));
  MUST(bl_alloc_for(ctx, p, (size_t)g->n, &g->cut));
  if (ordinal) MUST(bl_alloc_for(ctx, p, (size_t)g->n + 1, &g->first));
  for (int i = 0, at = 0; i < k->n; i++) {
    if (!bl_bit(mask, bl_plane(k->coding, i))) continue;
    g->variable[at] = i;
    g->cut[at++] = bl_plane(k->coding, i);
    if (ordinal) g->first[at] = g->first[at - 1] + bl_plane(k->coding, i + 1) - bl_plane(k->coding, i);
  }
  return BLICA_OK;
}

/* Appends the group of the patterns low..high-1 of segment s, which have the same variables present. */
static blica_status add_group(blica_ctx *ctx, bl_patterns *p, const segment_keys *k, int s, int64_t low, int64_t high) {
  const size_t groups = (size_t)p->groups;
  if ((groups & (groups - 1)) == 0) MUST(bl_resize(ctx, groups, groups ? 2 * groups : 1, &p->group));
  bl_group *g = &p->group[p->groups++];
  memset(g, 0, sizeof *g);
  g->segment = s;
  g->offset = p->count;
  g->count = high - low;
  MUST(describe_group(ctx, p, k, key_at(k, low), g));
  MUST(bl_alloc_for(ctx, p, bl_mul((size_t)g->count, (size_t)g->n), &g->x));
  MUST(bl_alloc_for(ctx, p, (size_t)g->count, &g->weight));
  for (int64_t r = 0; r < g->count; r++) {
    const uint64_t *values = key_at(k, low + r) + k->keys.words;
    for (int i = 0; i < g->n; i++)
      for (int c = g->cut[i]; c < bl_plane(k->coding, g->variable[i] + 1); c++)
        g->x[r * g->n + i] += (uint8_t)bl_bit(values, c);
    g->weight[r] = k->keys.weight[k->rank[low + r]];
  }
  p->count += g->count;
  return BLICA_OK;
}

static bool nothing_present(const segment_keys *k, int64_t rank) {
  const uint64_t *key = key_at(k, rank);
  for (int w = 0; w < k->keys.words; w++)
    if (key[w]) return false;
  return true;
}

/* Groups of the rows of segments first..last-1 taken together. */
static blica_status add_segments(blica_ctx *ctx, bl_patterns *p, const blica_data *data, int first, int last,
                                 int64_t first_row, int n, const blica_coding *coding, const int *column) {
  BL_CLEAN(free_keys) segment_keys k = {.n = n, .coding = coding};
  MUST(bl_row_keys_make(ctx, data, first, last, bl_plane(coding, n), column, &k.keys));
  MUST(sort_keys(ctx, &k));
  const int64_t start = p->count, count = k.keys.count;
  const int64_t empty = count > 0 && nothing_present(&k, 0) ? 1 : 0; /* sorts first */
  for (int64_t low = empty; low < count;) {
    int64_t high = low + 1;
    const size_t bytes = sizeof(uint64_t) * (size_t)k.keys.words;
    while (high < count && memcmp(key_at(&k, low), key_at(&k, high), bytes) == 0) high++;
    MUST(add_group(ctx, p, &k, first, low, high));
    low = high;
  }
  for (int64_t r = 0; r < k.keys.rows; r++) {
    int64_t place = k.place[k.keys.id[r]] - empty;
    p->row_pattern[first_row + r] = place < 0 ? -1 : start + place;
  }
  return BLICA_OK;
}

blica_status bl_patterns_make(blica_ctx *ctx, const blica_data *data, int n, const blica_coding *coding,
                              const int *column, bool pooled, bl_patterns **out) {
  BL_AUTO(bl_patterns) *p = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &p));
  p->rows = data->rows;
  p->cuts = bl_plane(coding, n);
  p->ordinal = bl_coding_ordinal(coding);
  MUST(bl_alloc_for(ctx, p, (size_t)data->rows, &p->row_pattern));
  int64_t row = 0;
  if (pooled) MUST(add_segments(ctx, p, data, 0, data->u, 0, n, coding, column));
  for (int s = 0; !pooled && s < data->u; s++) {
    MUST(add_segments(ctx, p, data, s, s + 1, row, n, coding, column));
    row += data->samples[s];
  }
  *out = bl_take(&p);
  return BLICA_OK;
}

void bl_patterns_free(bl_patterns *p) {
  if (!p) return;
  bl_free(p->group);
  bl_free(p);
}
