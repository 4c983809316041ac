/* item_sets.c - lists of item sets, in order, searched by bisection. */
#include "counts/item_sets.h"

#include <string.h>

#include "base/intern.h"
#include "data/pack.h"

enum { WORD = 64 };

blica_status bl_item_sets_make(blica_ctx *ctx, int n, int u, bl_item_sets **out) {
  BL_AUTO(bl_item_sets) *sets = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &sets));
  sets->n = n, sets->words = (n + WORD - 1) / WORD;
  MUST(bl_item_sets_grow(ctx, sets, u));
  *out = bl_take(&sets);
  return BLICA_OK;
}

void bl_item_sets_give_up(bl_item_sets *sets, int s) {
  bl_item_set_list *list = &sets->segment[s];
  bl_free(list->mask);
  bl_free(list->rows);
  *list = (bl_item_set_list){.count = -1};
}

void bl_item_sets_free(bl_item_sets *sets) {
  if (!sets) return;
  for (int s = 0; s < sets->u; s++) bl_item_sets_give_up(sets, s);
  bl_free(sets->segment);
  bl_free(sets);
}

blica_status bl_item_sets_grow(blica_ctx *ctx, bl_item_sets *sets, int u) {
  MUST(bl_resize(ctx, (size_t)sets->u, (size_t)u, &sets->segment));
  sets->u = u;
  return BLICA_OK;
}

blica_status bl_item_sets_copy(blica_ctx *ctx, const bl_item_sets *sets, bl_item_sets **out) {
  BL_AUTO(bl_item_sets) *copy = NULL;
  *out = NULL;
  MUST(bl_item_sets_make(ctx, sets->n, sets->u, &copy));
  for (int s = 0; s < sets->u; s++) {
    const bl_item_set_list *from = &sets->segment[s];
    bl_item_set_list *to = &copy->segment[s];
    if (from->count <= 0) {
      to->count = from->count;
      continue;
    }
    const size_t count = (size_t)from->count, words = (size_t)sets->words;
    MUST(bl_alloc(ctx, count * words, &to->mask));
    MUST(bl_alloc(ctx, count, &to->rows));
    memcpy(to->mask, from->mask, count * words * sizeof *to->mask);
    memcpy(to->rows, from->rows, count * sizeof *to->rows);
    to->count = to->room = from->count, to->size = from->size;
  }
  *out = bl_take(&copy);
  return BLICA_OK;
}

/* The first set that is not below mask; its number may be count. */
static int lower_bound(const bl_item_sets *sets, int s, const uint64_t *mask) {
  const bl_item_set_list *list = &sets->segment[s];
  int low = 0, high = list->count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (bl_compare_words(list->mask + (size_t)middle * (size_t)sets->words, mask, sets->words) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int bl_item_sets_find(const bl_item_sets *sets, int s, const uint64_t *mask) {
  const bl_item_set_list *list = &sets->segment[s];
  const int at = lower_bound(sets, s, mask);
  const bool found =
      at < list->count && bl_compare_words(list->mask + (size_t)at * (size_t)sets->words, mask, sets->words) == 0;
  return found ? at : -1;
}

static int64_t square_of(const bl_item_sets *sets, const uint64_t *mask) {
  int64_t size = 0;
  for (int w = 0; w < sets->words; w++) size += __builtin_popcountll(mask[w]);
  return size * size;
}

/* Puts a set without rows at place `at`. */
static blica_status insert(blica_ctx *ctx, bl_item_sets *sets, int s, int at, const uint64_t *mask) {
  bl_item_set_list *list = &sets->segment[s];
  const size_t words = (size_t)sets->words, place = (size_t)at, behind = (size_t)(list->count - at);
  if (list->count == list->room) {
    const size_t old = (size_t)list->room, room = old ? 2 * old : 4;
    MUST(bl_resize(ctx, old * words, room * words, &list->mask));
    MUST(bl_resize(ctx, old, room, &list->rows));
    list->room = (int)room;
  }
  memmove(list->mask + (place + 1) * words, list->mask + place * words, behind * words * sizeof *list->mask);
  memmove(list->rows + place + 1, list->rows + place, behind * sizeof *list->rows);
  memcpy(list->mask + place * words, mask, words * sizeof *mask);
  list->rows[place] = 0;
  list->count++;
  return BLICA_OK;
}

blica_status bl_item_sets_add(blica_ctx *ctx, bl_item_sets *sets, int s, const uint64_t *mask, double rows) {
  bl_item_set_list *list = &sets->segment[s];
  if (list->count < 0) return BLICA_OK;
  int at = bl_item_sets_find(sets, s, mask);
  if (at < 0) {
    const int64_t all = (int64_t)sets->n * sets->n * BL_ITEM_SETS_MOST;
    list->size += square_of(sets, mask);
    if (list->size > (all > BL_ITEM_SETS_SMALL ? all : BL_ITEM_SETS_SMALL)) {
      bl_item_sets_give_up(sets, s);
      return BLICA_OK;
    }
    at = lower_bound(sets, s, mask);
    MUST(insert(ctx, sets, s, at, mask));
  }
  list->rows[at] += rows;
  return BLICA_OK;
}

blica_status bl_item_sets_add_complete(blica_ctx *ctx, bl_item_sets *sets, int s, double rows) {
  BL_OWNED uint64_t *mask = NULL;
  MUST(bl_alloc(ctx, (size_t)sets->words, &mask));
  for (int i = 0; i < sets->n; i++) mask[i / WORD] |= UINT64_C(1) << (i % WORD);
  return bl_item_sets_add(ctx, sets, s, mask, rows);
}

blica_status bl_item_sets_merge(blica_ctx *ctx, bl_item_sets *sets, int s, const bl_item_sets *other, int t) {
  const bl_item_set_list *list = &other->segment[t];
  if (list->count < 0) bl_item_sets_give_up(sets, s);
  for (int i = 0; i < list->count; i++)
    MUST(bl_item_sets_add(ctx, sets, s, list->mask + (size_t)i * (size_t)other->words, list->rows[i]));
  return BLICA_OK;
}

/* ---- rows of data ---- */

/* Bit i of word j becomes bit j of word i. */
static void transpose(uint64_t x[WORD]) {
  uint64_t mask = 0xffffffff;
  for (int step = WORD / 2; step; step /= 2, mask ^= mask << step)
    for (int i = 0; i < WORD; i = ((i | step) + 1) & ~step) {
      const uint64_t swap = ((x[i] >> step) ^ x[i | step]) & mask;
      x[i] ^= swap << step;
      x[i | step] ^= swap;
    }
}

/* masks [words,64] <- those of rows 64 at .. 64 at + 63. */
static void read_masks(const bl_item_sets *sets, const uint64_t *present, int64_t stride, int64_t at, uint64_t *masks) {
  uint64_t block[WORD];
  for (int w = 0; w < sets->words; w++) {
    for (int i = 0; i < WORD; i++) {
      const int column = w * WORD + i;
      block[i] = column < sets->n ? present[(size_t)column * (size_t)stride + (size_t)at] : 0;
    }
    transpose(block);
    for (int r = 0; r < WORD; r++) masks[w + r * sets->words] = block[r];
  }
}

blica_status bl_item_sets_add_data(blica_ctx *ctx, bl_item_sets *sets, int s, const blica_data *data, int t) {
  const int64_t rows = data->samples[t];
  const double *weight = bl_data_weights(data, t);
  BL_OWNED uint64_t *masks = NULL;
  if (!data->present[t]) return bl_item_sets_add_complete(ctx, sets, s, bl_data_rows(data, t));
  MUST(bl_alloc(ctx, (size_t)sets->words * WORD, &masks));
  for (int64_t at = 0; at < data->words[t] && sets->segment[s].count >= 0; at++) {
    const int here = rows - at * WORD < WORD ? (int)(rows - at * WORD) : WORD;
    read_masks(sets, data->present[t], data->words[t], at, masks);
    for (int r = 0; r < here; r++)
      MUST(bl_item_sets_add(ctx, sets, s, masks + r * sets->words, weight ? weight[at * WORD + r] : 1));
  }
  return BLICA_OK;
}
