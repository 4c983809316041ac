/* ranks_names.c - names exchanged between ranks. */
#include <string.h>

#include "base/base.h"
#include "base/share.h"
#include "ranks/ranks.h"

int64_t bl_text_bytes(char *const *texts, int count) {
  int64_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += (int64_t)strlen(texts[i]) + 1;
  return bytes;
}

blica_status bl_broadcast_texts(blica_ctx *ctx, char *const *texts, int count, int64_t bytes, int root, char **out) {
  blica_status status;
  *out = NULL;
  TRY(bl_alloc(ctx, (size_t)bytes + 1, out));
  char *at = *out;
  for (int i = 0; bl_comm(ctx)->rank == root && i < count; i++) {
    size_t length = strlen(texts[i]) + 1;
    memcpy(at, texts[i], length);
    at += length;
  }
  TRY(bl_broadcast(ctx, *out, (size_t)bytes, root));
done:
  if (status != BLICA_OK) bl_comm_give_up(ctx, status); /* the others wait for a message that will not come */
  return status;
}

static blica_status split_texts(blica_ctx *ctx, const char *block, int count, const char ***out) {
  blica_status status = bl_alloc(ctx, (size_t)count, out);
  for (int i = 0; status == BLICA_OK && i < count; i++) {
    (*out)[i] = block;
    block += strlen(block) + 1;
  }
  return status;
}

blica_status bl_agree_on_names(blica_ctx *ctx, int n, int64_t bytes, char **own, int own_n, int root, char **block,
                               const char ***names) {
  blica_status status;
  TRY(bl_broadcast_texts(ctx, own, n, bytes, root, block));
  TRY(split_texts(ctx, *block, n, names));
  if (!own) goto done;
  if (own_n != n)
    FAIL(ctx, BLICA_ERR_DATA, "rank %d has %d variables and rank %d has %d", root, n, bl_comm(ctx)->rank, own_n);
  for (int i = 0; i < own_n; i++)
    if (strcmp(own[i], (*names)[i]) != 0)
      FAIL(ctx, BLICA_ERR_DATA, "variable %d is '%s' on rank %d and '%s' on rank %d", i + 1, (*names)[i], root, own[i],
           bl_comm(ctx)->rank);
done:
  return status;
}
