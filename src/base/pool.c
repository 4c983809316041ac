/* pool.c - parallel loops over independent items: by OpenMP, or by plain threads where a build has no OpenMP or where
 * the process is a fork of the one that loaded the library. The runtime of OpenMP (libgomp) does not survive a fork: a
 * child waits for ever for threads that it does not have. Plain threads also serve the thread sanitizer, which does not
 * see how OpenMP's own library synchronises. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
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
  enum { MOST = 256 }; /* a caller that asks for more would lose more than it gains, or the process */
  if (ctx->parent) return 1;
  const int wanted = ctx->threads > 0 ? ctx->threads : cores();
  return wanted < MOST ? wanted : MOST;
}

int blica_threads(const blica_ctx *ctx) {
  if (!ctx) return 1;
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

static void *wait_for_all(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* Whether so many threads can be had beside the calling one: OpenMP ends the process when they cannot. It keeps its
 * threads, so that one success for each calling thread is enough. */
static bool threads_exist(int threads) {
  static _Thread_local int proven;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t made[MAX_WORKERS];
  int count = 0;
  if (threads - 1 <= proven) return true;
  pthread_mutex_lock(&gate);
  while (count < threads - 1 && count < MAX_WORKERS && pthread_create(&made[count], NULL, wait_for_all, &gate) == 0)
    count++;
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < count; i++) pthread_join(made[i], NULL);
  if (count == threads - 1) proven = count;
  return count == threads - 1;
}

static void run_loop(int threads, int64_t count, bl_task task, void *user) {
  if (atomic_load_explicit(&forked, memory_order_relaxed) || !threads_exist(threads)) {
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
  MUST(blica_ctx_create_with(parent->hook, parent->hook_user, out));
  (*out)->parent = parent;
  (*out)->silent = thread != 0 || parent->silent;
  (*out)->simd = parent->simd;
  return BLICA_OK;
}

void bl_ctx_join(blica_ctx *child, char message[BL_MESSAGE]) {
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

static void run_child(int64_t index, int thread, void *user) {
  children *c = user;
  blica_ctx *child = NULL;
  char message[BL_MESSAGE] = "";
  const int64_t item = c->first + index;
  const double part = (double)atomic_load(&c->finished) / (double)(c->last - c->first);
  if (!is_needed(c, item)) return;
  if (thread == 0)
    bl_poll(c->ctx, &(blica_progress){.stage = c->stage, .fraction = part, .objective = NAN, .iteration = item});
  blica_status status = bl_ctx_fork(c->ctx, 1, &child);
  if (status == BLICA_OK) status = c->task(child, item, thread, c->user);
  bl_ctx_join(child, message);
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
