/* ctx.h - the fields of the context, for base/ only. */
#ifndef BL_CTX_H
#define BL_CTX_H

#include <stdatomic.h>

#include "base/pool.h"

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
