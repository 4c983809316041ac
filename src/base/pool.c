/* pool.c - parallel loops over independent items: by OpenMP, or by plain threads where a build has no OpenMP or where
 * the process is a fork of the one that loaded the library. The runtime of OpenMP (libgomp) does not survive a fork: a
 * child waits for ever for threads that it does not have. Plain threads also serve the thread sanitizer, which does not
 * see how OpenMP's own library synchronises. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/ctx.h"

static int cores(void) {
#ifdef _OPENMP
  return omp_get_num_procs();
#else
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (int)count : 1;
#endif
}

int bl_max_threads(const blica_ctx *ctx) {
  if (ctx->parent) return 1;
  return ctx->threads > 0 ? ctx->threads : cores();
}

int blica_threads(const blica_ctx *ctx) {
  return bl_max_threads(ctx);
}

/* ---- plain threads ---- */

enum { MAX_WORKERS = 255 };

typedef struct {
  _Atomic int64_t next; /* item that nobody has taken */
  int64_t count;
  bl_task task;
  void *user;
} loop;

typedef struct {
  loop *of;
  int thread;
  pthread_t handle;
} worker;

static void *run_worker(void *user) {
  const worker *w = user;
  for (int64_t i; (i = atomic_fetch_add(&w->of->next, 1)) < w->of->count;) w->of->task(i, w->thread, w->of->user);
  return NULL;
}

/* A thread that cannot be created is done without: the calling thread takes part and leaves no item undone. */
static void run_plain(int threads, int64_t count, bl_task task, void *user) {
  loop l = {.count = count, .task = task, .user = user};
  worker helpers[MAX_WORKERS], own = {.of = &l};
  int started = 0;
  while (started < threads - 1 && started < MAX_WORKERS) {
    helpers[started] = (worker){.of = &l, .thread = started + 1};
    if (pthread_create(&helpers[started].handle, NULL, run_worker, &helpers[started]) != 0) break;
    started++;
  }
  run_worker(&own);
  for (int i = 0; i < started; i++) pthread_join(helpers[i].handle, NULL);
}

/* ---- OpenMP ---- */

#ifdef _OPENMP
static atomic_bool forked; /* this process is a fork of the one that loaded the library */

static void note_fork(void) {
  atomic_store(&forked, true);
}

/* When the library is loaded, so that it also notices forks after other users of OpenMP in the same process. */
__attribute__((constructor)) static void expect_forks(void) {
  (void)pthread_atfork(NULL, NULL, note_fork);
}

static void run_loop(int threads, int64_t count, bl_task task, void *user) {
  if (atomic_load_explicit(&forked, memory_order_relaxed)) {
    run_plain(threads, count, task, user);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t i = 0; i < count; i++) task(i, omp_get_thread_num(), user);
}
#else
static void run_loop(int threads, int64_t count, bl_task task, void *user) {
  run_plain(threads, count, task, user);
}
#endif

void bl_parallel(blica_ctx *ctx, int64_t count, bl_task task, void *user) {
  int threads = bl_max_threads(ctx);
  if (threads > count) threads = (int)count;
  if (threads > 1) {
    run_loop(threads, count, task, user);
    return;
  }
  for (int64_t i = 0; i < count; i++) task(i, 0, user);
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
