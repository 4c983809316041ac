/* parallel.c - loops over items on the threads of a context, and in contexts of their own. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "base/system.h"

int bl_max_threads(const blica_ctx *ctx) {
  if (ctx->parent) return 1;
  const int wanted = ctx->threads > 0 ? ctx->threads : bl_cores();
  return wanted < BL_MOST_THREADS ? wanted : BL_MOST_THREADS;
}

int blica_threads(const blica_ctx *ctx) {
  return ctx ? bl_max_threads(ctx) : 1;
}

void bl_parallel(blica_ctx *ctx, int64_t count, bl_task task, void *user) {
  bl_pool_run(&ctx->pool, bl_max_threads(ctx), count, task, user);
}

/* A single-threaded child context for one item of a loop, with the same hooks. */
static blica_status fork_context(blica_ctx *parent, blica_ctx **out) {
  MUST(blica_ctx_create_with(parent->hook, parent->hook_user, out));
  (*out)->parent = parent;
  (*out)->silent = true;
  (*out)->simd = parent->simd;
  return BLICA_OK;
}

/* Frees the child; keeps its message when it failed, or says that there was no memory for it (NULL). */
static void join_context(blica_ctx *child, char message[BL_MESSAGE]) {
  if (!child) snprintf(message, BL_MESSAGE, "out of memory: there is no room for a context of a thread");
  if (!child) return;
  if (child->message[0]) memcpy(message, child->message, BL_MESSAGE);
  blica_ctx_free(child);
}

typedef struct {
  blica_ctx *ctx;
  const char *stage;
  bl_child_task task;
  void *user;
  int64_t first, last;
  _Atomic int64_t finished;
  pthread_mutex_t lock;
  int64_t failed; /* the first item that failed so far; last: none */
  blica_status status;
  char message[BL_MESSAGE];
} children;

/* Items after one that failed are left out: what their thread keeps between items may be unfinished. */
static bool is_needed(children *c, int64_t item) {
  pthread_mutex_lock(&c->lock);
  const bool needed = item < c->failed;
  pthread_mutex_unlock(&c->lock);
  return needed && !bl_interrupted(c->ctx);
}

/* Runs an item in a child context if it is still needed; keeps the failure of the first item that failed. */
static void run_child(int64_t index, int thread, void *user) {
  children *c = user;
  blica_ctx *child = NULL;
  char message[BL_MESSAGE] = "";
  const int64_t item = c->first + index;
  const double part = (double)atomic_load(&c->finished) / (double)(c->last - c->first);
  if (!is_needed(c, item)) return;
  if (thread == 0)
    bl_poll(c->ctx, &(blica_progress){.stage = c->stage, .fraction = part, .objective = NAN, .iteration = item});
  blica_status status = fork_context(c->ctx, &child);
  if (status == BLICA_OK) status = c->task(child, item, thread, c->user);
  join_context(child, message);
  atomic_fetch_add(&c->finished, 1);
  pthread_mutex_lock(&c->lock);
  if (status != BLICA_OK && item < c->failed) {
    c->failed = item, c->status = status;
    memcpy(c->message, message, BL_MESSAGE);
  }
  pthread_mutex_unlock(&c->lock);
}

blica_status bl_parallel_children(blica_ctx *ctx, int64_t first, int64_t last, const char *stage, bl_child_task task,
                                  void *user) {
  children c = {.ctx = ctx, .stage = stage, .task = task, .user = user, .first = first, .last = last, .failed = last};
  pthread_mutex_init(&c.lock, NULL);
  bl_parallel(ctx, last - first, run_child, &c);
  pthread_mutex_destroy(&c.lock);
  if (bl_interrupted(ctx)) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "%s: interrupted", stage);
  if (c.status == BLICA_OK) return BLICA_OK;
  return bl_fail(ctx, c.status, "%s %lld: %s", stage, (long long)c.failed + 1, c.message);
}
