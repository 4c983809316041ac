/* ctx.c - the context: everything ambient in one place. */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ctx.h"
#include "base/text.h"

#ifndef BLICA_VERSION
#error "the build defines BLICA_VERSION from the file VERSION"
#endif

const char *blica_version(void) {
  return BLICA_VERSION;
}

const char *blica_status_name(blica_status status) {
  static const char *const names[] = {
      "ok",         "out of memory",     "bad argument", "bad data",      "input/output error",
      "bad format", "numerical failure", "interrupted",  "internal error"};
  return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

static void *default_realloc(void *old, size_t size, void *user) {
  (void)user;
  if (size == 0) {
    free(old);
    return NULL;
  }
  return realloc(old, size);
}

blica_status blica_ctx_create(blica_ctx **out) {
  if (!out) return BLICA_ERR_ARGUMENT;
  return blica_ctx_create_with(default_realloc, NULL, out);
}

blica_status blica_ctx_create_with(blica_realloc_fn hook, void *user, blica_ctx **out) {
  if (!hook || !out) return BLICA_ERR_ARGUMENT;
  *out = NULL;
  blica_ctx *ctx = hook(NULL, sizeof *ctx, user);
  if (!ctx) return BLICA_ERR_MEMORY;
  memset(ctx, 0, sizeof *ctx);
  ctx->hook = hook;
  ctx->hook_user = user;
  ctx->comm.size = 1;
  *out = ctx;
  return BLICA_OK;
}

void blica_ctx_free(blica_ctx *ctx) {
  if (!ctx) return;
  bl_pool_close(&ctx->pool);
  ctx->hook(ctx, 0, ctx->hook_user);
}

const char *blica_message(const blica_ctx *ctx) {
  return ctx ? ctx->message : "no context";
}

void blica_set_threads(blica_ctx *ctx, int threads) {
  if (!ctx) return;
  ctx->threads = threads < 0 ? 0 : threads;
}

void blica_set_poll(blica_ctx *ctx, blica_poll_fn poll, void *user) {
  if (!ctx) return;
  ctx->poll = poll;
  ctx->poll_user = user;
}

void blica_set_warn(blica_ctx *ctx, blica_warn_fn warn, void *user) {
  if (!ctx) return;
  ctx->warn = warn;
  ctx->warn_user = user;
}

void blica_set_comm(blica_ctx *ctx, const blica_comm *comm) {
  if (!ctx) return;
  ctx->comm_failed = 0;
  if (comm)
    ctx->comm = *comm;
  else
    ctx->comm = (blica_comm){.size = 1};
}

const blica_comm *bl_comm(const blica_ctx *ctx) {
  return &ctx->comm;
}

blica_status(bl_fail)(blica_ctx *ctx, blica_status code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(ctx->message, sizeof ctx->message, format, args);
  va_end(args);
  bl_text_clean(ctx->message);
  return code;
}

blica_status(bl_fail_outside)(blica_ctx *ctx, blica_status code, const char *format, ...) {
  static const char out_of_memory[] = "out of memory: ";
  size_t head = errno == ENOMEM ? strlen(out_of_memory) : 0;
  va_list args;
  memcpy(ctx->message, out_of_memory, head);
  va_start(args, format);
  vsnprintf(ctx->message + head, sizeof ctx->message - head, format, args);
  va_end(args);
  bl_text_clean(ctx->message);
  return head ? BLICA_ERR_MEMORY : code;
}

blica_status bl_refuse_null(blica_ctx *ctx, const char *function, const char *names, int count,
                            const void *const *pointers) {
  if (!ctx) return BLICA_ERR_ARGUMENT;
  for (int i = 0; i < count; i++) {
    const size_t length = strcspn(names, ",");
    if (!pointers[i])
      return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%s: argument %.*s is NULL", function, (int)length, names);
    names += length + strspn(names + length, ", ");
  }
  return BLICA_ERR_INTERNAL;
}

bool bl_may_warn(const blica_ctx *ctx) {
  return !ctx->silent;
}

void bl_warn_hold(blica_ctx *ctx) {
  while (ctx->parent) ctx = ctx->parent;
  ctx->held++;
}

void bl_warn_release(blica_ctx *ctx) {
  while (ctx->parent) ctx = ctx->parent;
  ctx->held--;
}

void bl_warn(blica_ctx *ctx, const char *format, ...) {
  if (!bl_may_warn(ctx)) return;
  while (ctx->parent) ctx = ctx->parent;
  if (!ctx->warn || ctx->held) return;
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  bl_text_clean(text);
  ctx->warn(text, ctx->warn_user);
}

static atomic_int *stop_flag(const blica_ctx *ctx) {
  while (ctx->parent) ctx = ctx->parent;
  return (atomic_int *)&ctx->stop;
}

bool bl_interrupted(const blica_ctx *ctx) {
  return atomic_load_explicit(stop_flag(ctx), memory_order_relaxed) != 0;
}

void bl_poll_reset(blica_ctx *ctx) {
  if (ctx->parent) return;
  atomic_store(stop_flag(ctx), 0);
  ctx->stop_request = 0;
  ctx->stop_exchanged = false;
}

void bl_poll_stop(blica_ctx *ctx) {
  atomic_store(stop_flag(ctx), 1);
}

bool bl_poll(blica_ctx *ctx, const blica_progress *progress) {
  if (bl_interrupted(ctx)) return true;
  if (ctx->silent) return false;
  while (ctx->parent) ctx = ctx->parent;
  if (!ctx->poll) return false;
  if (ctx->poll(progress, ctx->poll_user)) atomic_store(stop_flag(ctx), 1);
  return bl_interrupted(ctx);
}

void bl_loop_poll_set(blica_ctx *ctx, bl_loop_poll *loop_poll) {
  ctx->loop_poll = loop_poll;
}
bl_loop_poll *bl_loop_poll_of(const blica_ctx *ctx) {
  return ctx->loop_poll;
}

bool bl_loop_stopped(blica_ctx *ctx, int thread) {
  static const double OFTEN = 0.05; /* seconds between two questions to the user */
  bl_loop_poll *w = ctx->loop_poll;
  if (!w || !w->armed) return false;
  if (atomic_load_explicit(&w->stopped, memory_order_relaxed)) return true;
  double now = bl_seconds();
  bool stop = now > w->deadline || bl_interrupted(ctx);
  if (!stop && thread == 0 && now > w->polled + OFTEN) {
    w->polled = now;
    stop = bl_poll(ctx, &w->progress);
  }
  if (stop) atomic_store(&w->stopped, true);
  return stop;
}

double bl_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
