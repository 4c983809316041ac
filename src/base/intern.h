/* intern.h - numbers for names: each distinct text gets the next id, 0, 1, 2, ... */
#ifndef BL_INTERN_H
#define BL_INTERN_H

#include "base/base.h"
#include "base/hash.h"

typedef struct {
  int32_t count;
  bl_hash_key key;
  size_t capacity;   /* of texts */
  char **texts;      /* [count], by id */
  uint64_t *hashes;  /* [count] */
  size_t slot_count; /* a power of two, or 0 */
  int32_t *slots;    /* id + 1, or 0 for an empty slot; linear probing */
} bl_intern;

/* The id of the text of that length (it need not end in a zero byte), new or known. Fails on a new one that is not
 * UTF-8: files could not hold it as it is. */
blica_status bl_intern_add(blica_ctx *ctx, bl_intern *names, const char *text, size_t length, int32_t *id);
int32_t bl_intern_find(const bl_intern *names, const char *text, size_t length); /* -1: unknown */
void bl_intern_clear(bl_intern *names);

#endif
