/* pool.c - parallel loops over independent items. */
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/ctx.h"

int bl_max_threads(const blica_ctx *ctx) {
#ifdef _OPENMP
  if (ctx->parent) return 1;
  return ctx->threads > 0 ? ctx->threads : omp_get_num_procs();
#else
  (void)ctx;
  return 1;
#endif
}

void bl_parallel(blica_ctx *ctx, int64_t count, bl_task task, void *user) {
  int threads = bl_max_threads(ctx);
  if (threads > count) threads = (int)count;
  if (threads <= 1) {
    for (int64_t i = 0; i < count; i++) task(i, 0, user);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t i = 0; i < count; i++) task(i, omp_get_thread_num(), user);
#endif
}

blica_status bl_ctx_fork(blica_ctx *parent, int thread, blica_ctx **out) {
  blica_status status = blica_ctx_create_with(parent->hook, parent->hook_user, out);
  if (status != BLICA_OK) return status;
  (*out)->parent = parent;
  (*out)->silent = thread != 0;
  (*out)->simd = parent->simd;
  return BLICA_OK;
}

void bl_ctx_join(blica_ctx *child, char message[BL_MESSAGE]) {
  if (!child) return;
  if (child->message[0]) memcpy(message, child->message, BL_MESSAGE);
  blica_ctx_free(child);
}
