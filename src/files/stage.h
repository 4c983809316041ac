/* stage.h - long work that can be continued: a checkpoint keeps the state of named pieces of work.
 *
 * Work is a tree of stages, "start 2", below it "start 2/round 5". A checkpoint holds for each stage its result, once
 * it is over, or its state in between. To continue, a program runs again from its beginning: a stage whose result is
 * kept takes it, the stage that was in between takes up its state, all later ones run as ever. So the flow of a
 * method is written once, and what a stage computes must depend on nothing but its inputs.
 *
 * After an interrupt or the end of the time nothing more is kept, because results that follow rest on unfinished work;
 * nor after a failed exchange between ranks.
 * All calls may come from several threads; with a checkpoint of NULL they do nothing. */
#ifndef BL_STAGE_H
#define BL_STAGE_H

#include "base/base.h"

enum { BL_STAGE_NAME = 96 };

typedef struct bl_checkpoint bl_checkpoint;

typedef struct {
  bl_checkpoint *checkpoint; /* NULL: nothing is kept */
  char name[BL_STAGE_NAME];
  uint64_t saved; /* the round of saving that has its state already */
} bl_stage;

/* A stage below another. */
bl_stage bl_stage_below(const bl_stage *parent, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- state as bytes: one function passes the fields in one order, out of memory or into it ---- */

typedef struct {
  blica_status status; /* of all passes so far */
  bool reading;        /* into the fields */
  unsigned char *bytes;
  size_t size, at, capacity;
  blica_ctx *ctx;
} bl_serializer;

typedef void (*bl_pass_fn)(bl_serializer *io, void *user);
/* Passes the bytes of one field into the serializer or out of it. */
void bl_pass(bl_serializer *io, void *field, size_t bytes);
void bl_pass_nothing(bl_serializer *io, void *user); /* for a stage whose point is all */
#define BL_PASS(io, field) bl_pass((io), &(field), sizeof(field))
/* Fields that not every value fits; others in a file are BLICA_ERR_FORMAT. */
void bl_pass_flag(bl_serializer *io, bool *flag);
void bl_pass_count(bl_serializer *io, int64_t *count); /* 0 to 2^48: some of them add up to what a double holds */
void bl_pass_int(bl_serializer *io, int *value, int least, int most); /* within least..most */

/* ---- stages ---- */

typedef enum { BL_STAGE_NONE = 0, BL_STAGE_BETWEEN = 1, BL_STAGE_OVER = 2 } bl_stage_kept;

/* Says whether the checkpoint has the stage's result, its state in between, or nothing. */
bl_stage_kept bl_stage_find(const bl_stage *stage);
/* Passes what is kept into the fields; the stage must have been found. */
blica_status bl_stage_load(blica_ctx *ctx, const bl_stage *stage, bl_pass_fn pass, void *user);
/* Marks the stage as over, stores its result and drops the stages below it. If memory is out, the checkpoint keeps what
 * it had, the next write warns, and the fit continues. */
void bl_stage_over(blica_ctx *ctx, bl_stage *stage, bl_pass_fn pass, void *user);
/* As bl_stage_over, for a result that does not depend on how far the work came: it is kept even when time is up before
 * the work begins. */
blica_status bl_stage_fact(blica_ctx *ctx, const bl_stage *stage, bl_pass_fn pass, void *user);

/* As bl_stage_over, for a result with a point x [size]. */
void bl_stage_over_at(blica_ctx *ctx, bl_stage *stage, bl_pass_fn pass, void *user, double *x, size_t size);
/* As bl_stage_load, for a result with a point x [size]. */
blica_status bl_stage_load_at(blica_ctx *ctx, const bl_stage *stage, bl_pass_fn pass, void *user, double *x,
                              size_t size);

/* What the hook of an iteration returns after each step. */
enum {
  BL_CONTINUE = 0,
  BL_LIMIT_REACHED = 1, /* a limit of the method: as good an end as any */
  BL_STOP_REQUESTED = 2 /* by the user or the clock: a resumed run continues here */
};

/* An iteration: enter before the first step, offer after each with the hook's answer, leave after the last. The state
 * is kept when it is time, or at once when a stop is requested; the file is written when all that have entered offered.
 */
void bl_stage_enter(blica_ctx *ctx, bl_stage *stage);
/* Offers the state after a step; hook is what the hook answered. */
void bl_stage_offer(blica_ctx *ctx, bl_stage *stage, int hook, bl_pass_fn pass, void *user);
void bl_stage_leave(blica_ctx *ctx, bl_stage *stage); /* after the last step */
/* Keeps nothing more: work was stopped outside of an iteration. */
void bl_stage_freeze(const bl_stage *stage);

/* ---- the checkpoint ---- */

/* Opens a checkpoint that is written to path every `seconds` seconds. With resume the file is read: if it is missing,
 * the function warns; if it is damaged or has another format, it fails with BLICA_ERR_FORMAT. Without resume an
 * existing file is refused. Collective: rank 0 reads and writes. */
blica_status bl_checkpoint_open(blica_ctx *ctx, const char *path, double seconds, bool resume, double deadline,
                                bl_checkpoint **out);
bool bl_checkpoint_resumed(const bl_checkpoint *checkpoint);     /* whether it was read from a file */
const char *bl_checkpoint_path(const bl_checkpoint *checkpoint); /* its file */
/* Writes what is new, whether it is time or not. */
void bl_checkpoint_flush(blica_ctx *ctx, bl_checkpoint *checkpoint);
void bl_checkpoint_free(bl_checkpoint *checkpoint);
BL_AUTO_FREE(bl_checkpoint)

#endif
