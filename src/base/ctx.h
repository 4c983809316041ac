/* ctx.h - the fields of a context and its threads, for base/ only. */
#ifndef BL_CTX_H
#define BL_CTX_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

/* ---- threads that wait for loops (pool.c) ---- */

enum { BL_MOST_THREADS = 256 }; /* a caller that asks for more would lose more than it gains, or the process */

/* Zeroed, it has no threads. */
typedef struct {
  pthread_mutex_t lock; /* of what follows, the handles aside */
  pthread_cond_t begun, ended;
  int64_t process;       /* whose threads these are: a fork has none of them; 0: there is no lock either */
  int started, named;    /* threads, and those that know their number */
  bool refused;          /* the system gave no more */
  _Atomic unsigned loop; /* number of the loop in hand */
  bool open, leaving;    /* threads may still join the loop; they are to end */
  int wanted, working;   /* threads that the loop wants, the calling one included; that work on it */
  _Atomic int64_t next;  /* item that nobody has taken */
  int64_t count;
  bl_task task;
  void *user;
  pthread_t handle[BL_MOST_THREADS];
} bl_pool;

/* Runs all items on at most `threads` threads; the calling one is number 0. Starts threads that are missing; if the
 * system refuses one, fewer do the work. Within a loop of the same pool, everything runs on the calling thread. */
void bl_pool_run(bl_pool *pool, int threads, int64_t count, bl_task task, void *user);
void bl_pool_close(bl_pool *pool); /* ends its threads */

struct blica_ctx {
  blica_realloc_fn hook;
  void *hook_user;
  blica_poll_fn poll;
  void *poll_user;
  blica_warn_fn warn;
  void *warn_user;
  blica_comm comm;
  int comm_failed;                    /* an exchange failed: no more are tried */
  double stop_request, stop_requests; /* this rank's, and the sum over ranks as of the last exchange */
  bool stop_exchanged;                /* an exchange has brought the others' requests since the last poll */
  int threads;                        /* 0: all cores */
  blica_simd simd;
  atomic_int stop;         /* the poll callback asked to stop */
  blica_ctx *parent;       /* of a forked child, which runs on one thread */
  bl_loop_poll *loop_poll; /* polls inside loops; NULL: they run to their end */
  int held;                /* warnings are dropped while above 0 */
  int silent;              /* a child in another thread: may not call the user */
  char message[BL_MESSAGE];
  bl_pool pool;
};

#endif
