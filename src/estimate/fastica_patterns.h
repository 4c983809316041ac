/* fastica_patterns.h - the distinct rows of packed data and how often each occurs, all segments together. */
#ifndef BL_FASTICA_PATTERNS_H
#define BL_FASTICA_PATTERNS_H

#include "base/base.h"

typedef struct {
  int64_t patterns;
  size_t words, value_words; /* of a key; of its values, the rest telling which are present */
  uint64_t *keys;            /* [patterns][words], in order of first appearance */
  int64_t *count;            /* [patterns] */
} bl_pooled_patterns;

/* The distinct rows of all segments together. */
blica_status bl_pooled_patterns_create(blica_ctx *ctx, const blica_data *data, bl_pooled_patterns **out);
void bl_pooled_patterns_free(bl_pooled_patterns *patterns);

static inline const uint64_t *bl_pattern_key(const bl_pooled_patterns *p, size_t index) {
  return p->keys + index * p->words;
}
static inline bool bl_pattern_present(const bl_pooled_patterns *p, const uint64_t *key, size_t i) {
  return p->words == p->value_words || (key[p->value_words + i / 64] >> (i % 64) & 1);
}

#endif
