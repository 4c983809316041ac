/* intern.c - a hash table of names (linear probing, at most half full). */
#include "base/intern.h"

#include <string.h>

#include "base/text.h"

static bool same(const char *known, const char *text, size_t length) {
  return strncmp(known, text, length) == 0 && known[length] == 0;
}

/* The slot of the text, or the empty slot where it belongs. */
static size_t probe(const bl_intern *names, uint64_t hash, const char *text, size_t length) {
  size_t mask = names->slot_count - 1, slot = hash & mask;
  for (;; slot = (slot + 1) & mask) {
    int32_t id = names->slots[slot] - 1;
    if (id < 0 || (names->hashes[id] == hash && same(names->texts[id], text, length))) return slot;
  }
}

/* Makes room for one more name; keeps the slots at most half full. */
static blica_status make_room(blica_ctx *ctx, bl_intern *names) {
  size_t count = (size_t)names->count;
  if (count == names->capacity) {
    size_t capacity = names->capacity ? 2 * names->capacity : 16;
    MUST(bl_resize(ctx, count, capacity, &names->texts));
    MUST(bl_resize(ctx, count, capacity, &names->hashes));
    names->capacity = capacity;
  }
  if (2 * (count + 1) > names->slot_count) {
    if (!names->slot_count) names->key = bl_hash_key_draw(names);
    size_t slot_count = names->slot_count ? 2 * names->slot_count : 64;
    int32_t *slots;
    MUST(bl_alloc(ctx, slot_count, &slots));
    for (size_t i = 0; i < count; i++) {
      size_t slot = names->hashes[i] & (slot_count - 1);
      while (slots[slot]) slot = (slot + 1) & (slot_count - 1);
      slots[slot] = (int32_t)i + 1;
    }
    bl_free(names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
  }
  return BLICA_OK;
}

int32_t bl_intern_find(const bl_intern *names, const char *text, size_t length) {
  if (!names->slot_count) return -1;
  return names->slots[probe(names, bl_hash(names->key, text, length), text, length)] - 1;
}

blica_status bl_intern_add(blica_ctx *ctx, bl_intern *names, const char *text, size_t length, int32_t *id) {
  BL_OWNED char *copy = NULL;
  *id = bl_intern_find(names, text, length);
  if (*id >= 0) return BLICA_OK;
  if (names->count == INT32_MAX) return bl_fail(ctx, BLICA_ERR_MEMORY, "more than %d different names", INT32_MAX);
  MUST(make_room(ctx, names));
  uint64_t hash = bl_hash(names->key, text, length);
  MUST(bl_alloc(ctx, length + 1, &copy));
  memcpy(copy, text, length);
  if (!bl_is_utf8(copy))
    return bl_fail(ctx, BLICA_ERR_DATA,
                   "the name '%.80s' is not UTF-8 text; convert the file, as by iconv -f LATIN1 -t UTF-8", copy);
  names->texts[names->count] = bl_take(&copy);
  names->hashes[names->count] = hash;
  names->slots[probe(names, hash, text, length)] = names->count + 1;
  *id = names->count++;
  return BLICA_OK;
}

void bl_intern_clear(bl_intern *names) {
  for (int32_t i = 0; i < names->count; i++) bl_free(names->texts[i]);
  bl_free(names->texts);
  bl_free(names->hashes);
  bl_free(names->slots);
  memset(names, 0, sizeof *names);
}
