/* mem.c - overflow-checked allocation through the context's hook. */
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"

/* Before each block: the hook that made it, the raw pointer to give back, and the next block that is freed with it. The
 * block itself is aligned to a cache line, which is also the widest SIMD vector. */
typedef struct {
  blica_realloc_fn hook;
  void *user;
  void *raw;
  void *next;
} header;

enum { ALIGN = 64 };

blica_realloc_fn bl_hook(const blica_ctx *ctx, void **user) {
  *user = ctx->hook_user;
  return ctx->hook;
}

size_t bl_mul(size_t a, size_t b) {
  size_t product;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

blica_status bl_alloc_bytes(blica_ctx *ctx, size_t count, size_t size, void **out) {
  *out = NULL;
  size_t bytes = bl_mul(count, size);
  size_t total = bytes > SIZE_MAX / 2 ? SIZE_MAX : bytes + sizeof(header) + ALIGN;
  char *raw = total == SIZE_MAX ? NULL : ctx->hook(NULL, total, ctx->hook_user);
  if (!raw)
    return bl_fail(ctx, BLICA_ERR_MEMORY, "out of memory: %zu elements of %zu bytes were asked for", count, size);
  char *block = raw + sizeof(header);
  block += (ALIGN - (uintptr_t)block % ALIGN) % ALIGN;
  ((header *)block)[-1] = (header){ctx->hook, ctx->hook_user, raw, NULL};
  memset(block, 0, bytes);
  *out = block;
  return BLICA_OK;
}

blica_status bl_alloc_bytes_for(blica_ctx *ctx, void *owner, size_t count, size_t size, void **out) {
  MUST(bl_alloc_bytes(ctx, count, size, out));
  ((header *)*out)[-1].next = ((header *)owner)[-1].next;
  ((header *)owner)[-1].next = *out;
  return BLICA_OK;
}

blica_status bl_resize_bytes(blica_ctx *ctx, size_t old_count, size_t count, size_t size, void **inout) {
  void *block;
  MUST(bl_alloc_bytes(ctx, count, size, &block));
  size_t keep = old_count < count ? old_count : count;
  if (*inout && keep) memcpy(block, *inout, keep * size);
  bl_free(*inout);
  *inout = block;
  return BLICA_OK;
}

void bl_free(void *block) {
  while (block) {
    header h = ((header *)block)[-1];
    h.hook(h.raw, 0, h.user);
    block = h.next;
  }
}

void *bl_take(void *variable) {
  void *block;
  memcpy(&block, variable, sizeof block);
  memset(variable, 0, sizeof block);
  return block;
}

void bl_free_owned(void *variable) {
  bl_free(bl_take(variable));
}

blica_status bl_copy_text(blica_ctx *ctx, const char *text, char **out) {
  size_t length = strlen(text) + 1;
  MUST(bl_alloc(ctx, length, out));
  memcpy(*out, text, length);
  return BLICA_OK;
}

blica_status bl_copy_text_for(blica_ctx *ctx, void *owner, const char *text, char **out) {
  size_t length = strlen(text) + 1;
  MUST(bl_alloc_for(ctx, owner, length, out));
  memcpy(*out, text, length);
  return BLICA_OK;
}

blica_status bl_copy_texts(blica_ctx *ctx, int count, const char *const *texts, char ***out) {
  BL_OWNED char **list = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, (size_t)count, &list));
  for (int i = 0; i < count; i++) MUST(bl_copy_text_for(ctx, list, texts[i], &list[i]));
  *out = bl_take(&list);
  return BLICA_OK;
}

blica_status bl_number_texts(blica_ctx *ctx, int count, const char *prefix, char ***out) {
  BL_OWNED char **list = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, (size_t)count, &list));
  for (int i = 0; i < count; i++) {
    char text[64];
    snprintf(text, sizeof text, "%s%d", prefix, i + 1);
    MUST(bl_copy_text_for(ctx, list, text, &list[i]));
  }
  *out = bl_take(&list);
  return BLICA_OK;
}
