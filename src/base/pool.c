/* pool.c - parallel loops over independent items. Threads wait for the next loop, awake for some microseconds and then
 * asleep; a thread that wakes up when the loop is done is not waited for. A fork of the process makes threads anew. */
#include "base/ctx.h"
#include "base/system.h"

static void relax(void) {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

static void run_items(bl_pool *p, int thread) {
  for (int64_t i; (i = atomic_fetch_add(&p->next, 1)) < p->count;) p->task(i, thread, p->user);
}

/* Returns, with the lock, when the loop `seen` is no longer the last one. */
static void await_loop(bl_pool *p, unsigned seen) {
  enum { TURNS = 2000 };
  pthread_mutex_unlock(&p->lock);
  for (int i = 0; i < TURNS && atomic_load_explicit(&p->loop, memory_order_relaxed) == seen; i++) relax();
  pthread_mutex_lock(&p->lock);
  while (p->loop == seen) pthread_cond_wait(&p->begun, &p->lock);
}

/* What a thread of the pool does: takes part in every loop that wants it, until the pool is closed. */
static void *serve(void *user) {
  bl_pool *p = user;
  pthread_mutex_lock(&p->lock);
  const int thread = ++p->named;
  for (unsigned seen = 0; !p->leaving; await_loop(p, seen)) {
    seen = p->loop;
    if (!p->open || thread >= p->wanted) continue;
    p->working++;
    pthread_mutex_unlock(&p->lock);
    run_items(p, thread);
    pthread_mutex_lock(&p->lock);
    if (--p->working == 0) pthread_cond_signal(&p->ended);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

static void add_threads(bl_pool *p, int threads) {
  if (p->process != bl_process()) {
    *p = (bl_pool){.process = bl_process()};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->begun, NULL);
    pthread_cond_init(&p->ended, NULL);
  }
  while (p->started < threads - 1 && !p->refused) {
    p->refused = pthread_create(&p->handle[p->started], NULL, serve, p) != 0;
    if (!p->refused) p->started++;
  }
}

void bl_pool_run(bl_pool *p, int threads, int64_t count, bl_task task, void *user) {
  if (threads > BL_MOST_THREADS) threads = BL_MOST_THREADS;
  if (threads > count) threads = (int)count;
  if (threads > 1 && !p->open) add_threads(p, threads);
  if (threads <= 1 || p->open || p->started == 0) {
    for (int64_t i = 0; i < count; i++) task(i, 0, user);
    return;
  }
  pthread_mutex_lock(&p->lock);
  p->task = task, p->user = user, p->count = count, p->wanted = threads, p->open = true;
  atomic_store(&p->next, 0);
  atomic_fetch_add(&p->loop, 1);
  pthread_cond_broadcast(&p->begun);
  pthread_mutex_unlock(&p->lock);
  run_items(p, 0);
  pthread_mutex_lock(&p->lock);
  p->open = false;
  while (p->working > 0) pthread_cond_wait(&p->ended, &p->lock);
  pthread_mutex_unlock(&p->lock);
}

void bl_pool_close(bl_pool *p) {
  if (p->process == 0 || p->process != bl_process()) return;
  pthread_mutex_lock(&p->lock);
  p->leaving = true;
  atomic_fetch_add(&p->loop, 1);
  pthread_cond_broadcast(&p->begun);
  pthread_mutex_unlock(&p->lock);
  for (int i = 0; i < p->started; i++) pthread_join(p->handle[i], NULL);
  pthread_cond_destroy(&p->begun);
  pthread_cond_destroy(&p->ended);
  pthread_mutex_destroy(&p->lock);
}
