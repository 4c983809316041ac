/* ranks_names.c - names exchanged between ranks. */
#include <string.h>

#include "base/base.h"
#include "base/share.h"
#include "ranks/ranks.h"

/* size: how many texts, and their bytes with their zeros. */
static blica_status receive_texts(blica_ctx *ctx, char *const *texts, const int64_t size[2], int root,
                                  const char ***out) {
  blica_status status;
  char *at;
  TRY(bl_alloc(ctx, (size_t)size[0] + 1, out));
  TRY(bl_alloc_for(ctx, *out, (size_t)size[1], &at));
  (*out)[0] = at;
  for (int64_t i = 0; bl_comm(ctx)->rank == root && i < size[0]; i++) at = stpcpy(at, texts[i]) + 1;
  TRY(bl_broadcast(ctx, (void *)(*out)[0], (size_t)size[1], root));
  for (int64_t i = 0; i < size[0]; i++) (*out)[i + 1] = (*out)[i] + strlen((*out)[i]) + 1;
done:
  if (status != BLICA_OK) bl_comm_give_up(ctx, status); /* the others wait for a message that will not come */
  return status;
}

blica_status bl_broadcast_texts(blica_ctx *ctx, char *const *texts, int *count, int root, const char ***out) {
  int64_t size[2] = {*count, 0};
  *out = NULL;
  for (int i = 0; bl_comm(ctx)->rank == root && i < *count; i++) size[1] += (int64_t)strlen(texts[i]) + 1;
  blica_status status = bl_broadcast(ctx, size, sizeof size, root);
  *count = (int)size[0];
  return status == BLICA_OK ? receive_texts(ctx, texts, size, root, out) : status;
}

blica_status bl_agree_on_names(blica_ctx *ctx, char **own, int own_n, int root, int *n, const char ***names) {
  blica_status status;
  *n = own_n;
  TRY(bl_broadcast_texts(ctx, own, n, root, names));
  if (!own || *n == 0) goto done;
  if (own_n != *n)
    FAIL(ctx, BLICA_ERR_DATA, "rank %d has %d variables and rank %d has %d", root, *n, bl_comm(ctx)->rank, own_n);
  for (int i = 0; i < own_n; i++)
    if (strcmp(own[i], (*names)[i]) != 0)
      FAIL(ctx, BLICA_ERR_DATA, "variable %d is '%s' on rank %d and '%s' on rank %d", i + 1, (*names)[i], root, own[i],
           bl_comm(ctx)->rank);
done:
  return status;
}
