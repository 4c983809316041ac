/* patterns.c - merges equal rows. Rows become keys of 2 w words (values, presence); distinct keys are found by
 * hashing, then ordered by presence and value, so that the result does not depend on the order of rows. */
#include "data/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

typedef struct {
  int n;                      /* items */
  const blica_coding *coding; /* NULL: one bit each */
  int bits, words;            /* of all items; words per half of a key */
  const int *column;          /* [bits]; NULL: all in their order */
  int64_t count;              /* distinct keys */
  uint64_t *key;              /* [2 words, count] presence, then values */
  int64_t *weight;            /* [count] */
  int64_t *id;                /* [rows] key of each row */
  int64_t slots;              /* a power of two */
  int64_t *slot;              /* key + 1 */
  int64_t *rank;              /* [count] keys in order */
  int64_t *place;             /* [count] where a key stands in that order */
} segment_keys;

static void free_keys(segment_keys *k) {
  bl_free(k->key);
  bl_free(k->weight);
  bl_free(k->id);
  bl_free(k->slot);
  bl_free(k->rank);
  bl_free(k->place);
}

static void row_key(const blica_data *data, int s, int64_t row, const segment_keys *k, uint64_t *key) {
  int words = k->words;
  int64_t stride = data->words[s], word = row / 64;
  int bit = (int)(row % 64);
  const uint64_t *ones = data->ones[s], *present = data->present[s];
  memset(key, 0, sizeof *key * 2 * (size_t)words);
  for (int i = 0; i < k->bits; i++) {
    int64_t at = (k->column ? k->column[i] : i) * stride + word;
    uint64_t here = present ? present[at] >> bit & 1 : 1;
    key[i / 64] |= here << (i % 64);
    key[words + i / 64] |= (ones[at] >> bit & 1) << (i % 64);
  }
}

/* Keys of the rows of segments first..last-1, one after the other. */
static blica_status find_keys(blica_ctx *ctx, const blica_data *data, int first, int last, segment_keys *k) {
  blica_status status = BLICA_OK;
  size_t rows = 0, width = 2 * (size_t)k->words;
  for (int s = first; s < last; s++) rows += (size_t)data->samples[s];
  for (k->slots = 16; k->slots < 2 * (int64_t)rows; k->slots *= 2)
    ;
  TRY(bl_alloc(ctx, bl_mul(rows + 1, width), &k->key));
  TRY(bl_alloc(ctx, rows, &k->weight));
  TRY(bl_alloc(ctx, rows, &k->id));
  TRY(bl_alloc(ctx, (size_t)k->slots, &k->slot));
  int64_t *id = k->id;
  const bl_hash_key secret = bl_hash_key_draw(k);
  for (int s = first; s < last; s++)
    for (int64_t r = 0; r < data->samples[s]; r++, id++) {
      uint64_t *key = k->key + (size_t)k->count * width; /* becomes the next key if it is new */
      row_key(data, s, r, k, key);
      int64_t at = (int64_t)(bl_hash(secret, key, width * sizeof *key) & (uint64_t)(k->slots - 1));
      while (k->slot[at] && memcmp(k->key + (size_t)(k->slot[at] - 1) * width, key, width * sizeof *key) != 0)
        at = (at + 1) & (k->slots - 1);
      if (!k->slot[at]) k->slot[at] = ++k->count;
      *id = k->slot[at] - 1;
      k->weight[*id]++;
    }
done:
  return status;
}

static int order_keys(const uint64_t *a, const uint64_t *b, int width) {
  for (int w = 0; w < width; w++)
    if (a[w] != b[w]) return a[w] < b[w] ? -1 : 1;
  return 0;
}

/* Bottom-up merge sort of key numbers: qsort would need a global for the keys. */
static blica_status sort_keys(blica_ctx *ctx, segment_keys *k) {
  blica_status status = BLICA_OK;
  int width = 2 * k->words;
  TRY(bl_alloc(ctx, (size_t)k->count, &k->rank));
  TRY(bl_alloc(ctx, (size_t)k->count, &k->place));
  int64_t *from = k->rank, *to = k->place;
  for (int64_t i = 0; i < k->count; i++) from[i] = i;
  for (int64_t run = 1; run < k->count; run *= 2) {
    for (int64_t low = 0; low < k->count; low += 2 * run) {
      int64_t middle = low + run < k->count ? low + run : k->count;
      int64_t high = low + 2 * run < k->count ? low + 2 * run : k->count, a = low, b = middle;
      for (int64_t at = low; at < high; at++) {
        bool left =
            a < middle && (b >= high || order_keys(k->key + from[a] * width, k->key + from[b] * width, width) <= 0);
        to[at] = left ? from[a++] : from[b++];
      }
    }
    int64_t *swap = from;
    from = to;
    to = swap;
  }
  k->rank = from;
  k->place = to;
  for (int64_t i = 0; i < k->count; i++) k->place[k->rank[i]] = i;
done:
  return status;
}

static int bit(const uint64_t *words, int i) {
  return (int)(words[i / 64] >> (i % 64) & 1);
}

/* Which items are present, and where their cuts are. An item is missing in all of its bits or in none. */
static blica_status describe_group(blica_ctx *ctx, const segment_keys *k, const uint64_t *mask, bl_group *g) {
  blica_status status = BLICA_OK;
  const bool ordinal = bl_coding_ordinal(k->coding);
  for (int i = 0; i < k->n; i++) g->n += bit(mask, bl_plane(k->coding, i));
  TRY(bl_alloc(ctx, (size_t)g->n, &g->variable));
  TRY(bl_alloc(ctx, (size_t)g->n, &g->cut));
  if (ordinal) TRY(bl_alloc(ctx, (size_t)g->n + 1, &g->first));
  for (int i = 0, at = 0; i < k->n; i++) {
    if (!bit(mask, bl_plane(k->coding, i))) continue;
    g->variable[at] = i;
    g->cut[at++] = bl_plane(k->coding, i);
    if (ordinal) g->first[at] = g->first[at - 1] + bl_plane(k->coding, i + 1) - bl_plane(k->coding, i);
  }
done:
  return status;
}

static blica_status add_group(blica_ctx *ctx, bl_patterns *p, const segment_keys *k, int s, int64_t low, int64_t high) {
  blica_status status = BLICA_OK;
  const uint64_t *mask = k->key + k->rank[low] * 2 * k->words;
  TRY(bl_resize(ctx, (size_t)p->groups, (size_t)p->groups + 1, &p->group));
  bl_group *g = &p->group[p->groups++];
  memset(g, 0, sizeof *g);
  g->segment = s;
  g->offset = p->count;
  g->count = high - low;
  TRY(describe_group(ctx, k, mask, g));
  TRY(bl_alloc(ctx, bl_mul((size_t)g->count, (size_t)g->n), &g->x));
  TRY(bl_alloc(ctx, (size_t)g->count, &g->weight));
  for (int64_t r = 0; r < g->count; r++) {
    const uint64_t *values = k->key + k->rank[low + r] * 2 * k->words + k->words;
    for (int i = 0; i < g->n; i++)
      for (int c = g->cut[i]; c < bl_plane(k->coding, g->variable[i] + 1); c++)
        g->x[r * g->n + i] += (uint8_t)bit(values, c);
    g->weight[r] = (double)k->weight[k->rank[low + r]];
  }
  p->count += g->count;
done:
  return status;
}

static bool nothing_present(const segment_keys *k, int64_t rank) {
  const uint64_t *key = k->key + k->rank[rank] * 2 * k->words;
  for (int w = 0; w < k->words; w++)
    if (key[w]) return false;
  return true;
}

/* Groups of the rows of segments first..last-1 taken together. */
static blica_status add_segments(blica_ctx *ctx, bl_patterns *p, const blica_data *data, int first, int last,
                                 int64_t first_row, int n, const blica_coding *coding, const int *column) {
  blica_status status = BLICA_OK;
  const int bits = bl_plane(coding, n);
  segment_keys k = {.n = n, .coding = coding, .bits = bits, .words = (bits + 63) / 64, .column = column};
  int64_t rows = 0;
  for (int s = first; s < last; s++) rows += data->samples[s];
  TRY(find_keys(ctx, data, first, last, &k));
  TRY(sort_keys(ctx, &k));
  int64_t start = p->count, empty = k.count > 0 && nothing_present(&k, 0) ? 1 : 0; /* sorts first */
  for (int64_t low = empty; low < k.count;) {
    int64_t high = low + 1;
    size_t bytes = sizeof(uint64_t) * (size_t)k.words;
    while (high < k.count && memcmp(k.key + k.rank[low] * 2 * k.words, k.key + k.rank[high] * 2 * k.words, bytes) == 0)
      high++;
    TRY(add_group(ctx, p, &k, first, low, high));
    low = high;
  }
  for (int64_t r = 0; r < rows; r++) {
    int64_t place = k.place[k.id[r]] - empty;
    p->row_pattern[first_row + r] = place < 0 ? -1 : start + place;
  }
done:
  free_keys(&k);
  return status;
}

blica_status bl_patterns_make(blica_ctx *ctx, const blica_data *data, int n, const blica_coding *coding,
                              const int *column, bool pooled, bl_patterns **out) {
  blica_status status = BLICA_OK;
  bl_patterns *p = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &p));
  p->rows = data->rows;
  p->cuts = bl_plane(coding, n);
  p->ordinal = bl_coding_ordinal(coding);
  TRY(bl_alloc(ctx, (size_t)data->rows, &p->row_pattern));
  int64_t row = 0;
  if (pooled) TRY(add_segments(ctx, p, data, 0, data->u, 0, n, coding, column));
  for (int s = 0; !pooled && s < data->u; s++) {
    TRY(add_segments(ctx, p, data, s, s + 1, row, n, coding, column));
    row += data->samples[s];
  }
  *out = p;
  p = NULL;
done:
  bl_patterns_free(p);
  return status;
}

void bl_patterns_free(bl_patterns *p) {
  if (!p) return;
  for (int g = 0; g < p->groups; g++) {
    bl_free(p->group[g].variable);
    bl_free(p->group[g].cut);
    bl_free(p->group[g].first);
    bl_free(p->group[g].x);
    bl_free(p->group[g].weight);
  }
  bl_free(p->group);
  bl_free(p->row_pattern);
  bl_free(p);
}
