/* base.h - what every file of the library uses: errors, memory, threads, polling; it knows nothing of ICA. */
#ifndef BL_BASE_H
#define BL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blica_ranks.h"

enum { BL_MESSAGE = 1024 };

/* ---- failing: one `status` and one `done:` label per function ---- */

/* Records the message and returns the code. */
blica_status bl_fail(blica_ctx *ctx, blica_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Reports a failure inside another library (LAPACK, zlib), which may blame the input when memory was out: if errno is
 * ENOMEM, the code is BLICA_ERR_MEMORY and the message says so. Set errno to 0 before the call. */
blica_status bl_fail_outside(blica_ctx *ctx, blica_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool bl_may_warn(
    const blica_ctx *ctx); /* false in a forked child that runs in another thread: it may not call the user */
/* Between the two warnings are dropped: for verbs that call others again and again. Calls may nest. */
void bl_warn_hold(blica_ctx *ctx);
void bl_warn_release(blica_ctx *ctx); /* ends bl_warn_hold */
/* Passes a warning to the user's callback, if there is one. */
void bl_warn(blica_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__ /* does not see that a failure is never BLICA_OK */
#define bl_fail(ctx, code, ...) ((void)(bl_fail)(ctx, code, __VA_ARGS__), (code))
#define bl_fail_outside(ctx, code, ...) ((void)(bl_fail_outside)(ctx, code, __VA_ARGS__), (code))
#endif

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    status = (call);                                                                                                   \
    if (status != BLICA_OK) goto done;                                                                                 \
  } while (0)

/* Where there is nothing to undo: the function returns the status of a call that failed. */
#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    const blica_status status_ = (call);                                                                               \
    if (status_ != BLICA_OK) return status_;                                                                           \
  } while (0)

#define FAIL(ctx, code, ...)                                                                                           \
  do {                                                                                                                 \
    status = bl_fail((ctx), (code), __VA_ARGS__);                                                                      \
    goto done;                                                                                                         \
  } while (0)

#define FAIL_OUTSIDE(ctx, code, ...)                                                                                   \
  do {                                                                                                                 \
    status = bl_fail_outside((ctx), (code), __VA_ARGS__);                                                              \
    goto done;                                                                                                         \
  } while (0)

/* Public functions refuse NULL. BL_NEED(ctx, a, b) returns BLICA_ERR_ARGUMENT, with a message that names it, when ctx
 * or one of the pointers is NULL; BL_NEED_OUT(ctx, out, a, b) sets *out to NULL first. */
blica_status bl_refuse_null(blica_ctx *ctx, const char *function, const char *names, int count,
                            const void *const *pointers);
#define BL_NEED(ctx, ...)                                                                                              \
  do {                                                                                                                 \
    const void *const needed_[] = {ctx, __VA_ARGS__};                                                                  \
    const int count_ = (int)(sizeof needed_ / sizeof *needed_);                                                        \
    for (int i_ = 0; i_ < count_; i_++)                                                                                \
      if (!needed_[i_]) return bl_refuse_null(ctx, __func__, #__VA_ARGS__, count_ - 1, needed_ + 1);                   \
  } while (0)
#define BL_NEED_OUT(ctx, out, ...)                                                                                     \
  do {                                                                                                                 \
    if (out) *(out) = NULL;                                                                                            \
    BL_NEED(ctx, out, __VA_ARGS__);                                                                                    \
  } while (0)

/* ---- memory: overflow-checked, zeroed, through the context's hook, aligned to 64 bytes ---- */

/* Zeroed; on failure *out is NULL. */
blica_status bl_alloc_bytes(blica_ctx *ctx, size_t count, size_t size, void **out);
/* Grows or shrinks to count elements, keeping the old content; new bytes are not zeroed. */
blica_status bl_resize_bytes(blica_ctx *ctx, size_t old_count, size_t count, size_t size, void **inout);
/* Zeroed, and freed together with the block `owner`, never alone; neither is ever resized. */
blica_status bl_alloc_bytes_for(blica_ctx *ctx, void *owner, size_t count, size_t size, void **out);
void bl_free(void *block); /* and all that it owns; finds its hook in a header before the block; NULL is fine */
/* The context's hook itself, and its user, for code that knows no contexts. */
blica_realloc_fn bl_hook(const blica_ctx *ctx, void **user);

/* TRY(bl_alloc(ctx, n * k, &a)): the element size comes from the pointer. */
#define bl_alloc(ctx, count, out) bl_alloc_bytes((ctx), (count), sizeof **(out), (void **)(out))
#define bl_alloc_for(ctx, owner, count, out) bl_alloc_bytes_for((ctx), (owner), (count), sizeof **(out), (void **)(out))
#define bl_resize(ctx, old_count, count, inout)                                                                        \
  bl_resize_bytes((ctx), (old_count), (count), sizeof **(inout), (void **)(inout))

/* BL_OWNED double *a = NULL, *b = NULL; frees them when the function returns: pointers only, before the first TRY. */
#define BL_OWNED __attribute__((cleanup(bl_free_owned)))
/* Frees an object that has its own _free function: BL_AUTO(blica_model) *model = NULL; a header must declare
 * BL_AUTO_FREE(blica_model). */
#define BL_AUTO(type) __attribute__((cleanup(bl_auto_##type))) type
#define BL_AUTO_FREE(type)                                                                                             \
  static inline void bl_auto_##type(type **object) {                                                                   \
    type##_free(*object);                                                                                              \
  }
BL_AUTO_FREE(blica_check)
BL_AUTO_FREE(blica_coding)
BL_AUTO_FREE(blica_cor)
BL_AUTO_FREE(blica_counts)
BL_AUTO_FREE(blica_data)
BL_AUTO_FREE(blica_model)
BL_AUTO_FREE(blica_packer)
/* The same for a struct: BL_CLEAN(bl_intern_clear) bl_intern names = {0}; */
#define BL_CLEAN(release) __attribute__((cleanup(release)))
void bl_free_owned(void *variable); /* frees what the pointer variable at this address points to */
void *bl_take(void *variable);      /* the same, but returns it; the variable becomes NULL: *out = bl_take(&a) */

/* a * b, or SIZE_MAX when it overflows (which no allocation grants). */
size_t bl_mul(size_t a, size_t b);

blica_status bl_copy_text(blica_ctx *ctx, const char *text, char **out); /* a copy, to be freed with bl_free */
blica_status bl_copy_text_for(blica_ctx *ctx, void *owner, const char *text, char **out); /* the same, owned by owner */
/* Copies of all; bl_free of the list frees them too. */
blica_status bl_copy_texts(blica_ctx *ctx, int count, const char *const *texts, char ***out);
/* Names prefix1, prefix2, ... */
blica_status bl_number_texts(blica_ctx *ctx, int count, const char *prefix, char ***out);

/* ---- threads: item i of count runs once, on some thread; results must not depend on which ---- */

typedef void (*bl_task)(int64_t item, int thread, void *user);
/* Runs all items; returns when the last is done. */
void bl_parallel(blica_ctx *ctx, int64_t count, bl_task task, void *user);
int bl_max_threads(const blica_ctx *ctx); /* upper bound of `thread` + 1 in a bl_task */
/* Between the two, BLAS runs on the calling thread alone; calls may nest and overlap. */
void bl_blas_hold(void);
void bl_blas_release(void);     /* ends bl_blas_hold */
const char *bl_blas_name(void); /* of the kernels that BLAS chose for this processor; "unknown" when it does not say */

typedef blica_status (*bl_child_task)(blica_ctx *child, int64_t item, int thread, void *user);
/* Runs the items first..last-1, each in a child context that neither warns nor polls; thread 0 polls between its items,
 * with this stage. Fails as the first item that failed does, naming it "<stage> <number>: ", or when the user wants to
 * stop; items after the one that failed may be left out. For loops that ranks share there is bl_split_children. */
blica_status bl_parallel_children(blica_ctx *ctx, int64_t first, int64_t last, const char *stage, bl_child_task task,
                                  void *user);

/* ---- polling ---- */

/* True when the user wants to stop (now or at an earlier poll). Calls the callback only in the
 * thread that owns the context. */
bool bl_poll(blica_ctx *ctx, const blica_progress *progress);
bool bl_interrupted(const blica_ctx *ctx); /* whether a poll has said stop */
void bl_poll_reset(blica_ctx *ctx); /* at the beginning of a public call: forgets earlier stops, unless it is a child */
void bl_poll_stop(blica_ctx *ctx);  /* as if the user had said stop */
double bl_seconds(void);            /* monotonic clock */

/* Polling from inside a loop over items, for work that is too long to poll only between its steps. After a stop the
 * remaining items are left out; the code that sums them must check `stopped`. */
typedef struct {
  double deadline;         /* infinity: the user alone */
  blica_progress progress; /* what the poll callback gets */
  bool armed;              /* false: loops run to their end */
  double polled;           /* when the callback was last called */
  _Atomic bool stopped;
} bl_loop_poll;
void bl_loop_poll_set(blica_ctx *ctx, bl_loop_poll *poll); /* borrowed until the next call; NULL: none */
bl_loop_poll *bl_loop_poll_of(const blica_ctx *ctx);       /* the one that is set; NULL: none */
bool bl_loop_stopped(blica_ctx *ctx, int thread);          /* to be asked by each item: true: leave it out */

const blica_comm *bl_comm(const blica_ctx *ctx); /* never NULL: alone is rank 0 of 1 */
blica_status bl_comm_check(blica_ctx *ctx);      /* fails once an exchange between ranks has failed */

#endif
