/* stage.c - what a checkpoint keeps, and when it reads and writes. See stage.h. */
#include "files/stage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "files/checkpoint.h"
#include "base/ctx.h"
#include "base/split.h"

bl_stage bl_stage_below(const bl_stage *parent, const char *format, ...) {
  bl_stage stage = {.checkpoint = parent->checkpoint};
  size_t at = 0;
  va_list args;
  if (!stage.checkpoint) return stage;
  if (parent->name[0]) at = (size_t)snprintf(stage.name, sizeof stage.name, "%s/", parent->name);
  va_start(args, format);
  if (at < sizeof stage.name) vsnprintf(stage.name + at, sizeof stage.name - at, format, args);
  va_end(args);
  return stage;
}

/* ---- state as bytes ---- */

void bl_pass(bl_serializer *io, void *field, size_t bytes) {
  if (io->status != BLICA_OK || bytes == 0) return;
  if (io->reading) {
    if (bytes > io->size - io->at) {
      io->status = BLICA_ERR_FORMAT;
      return;
    }
    memcpy(field, io->bytes + io->at, bytes);
  } else {
    if (bytes > io->capacity - io->at) {
      size_t capacity = 2 * io->capacity > io->at + bytes ? 2 * io->capacity : io->at + bytes;
      io->status = bl_resize(io->ctx, io->at, capacity, &io->bytes);
      if (io->status != BLICA_OK) return;
      io->capacity = capacity;
    }
    memcpy(io->bytes + io->at, field, bytes);
  }
  io->at += bytes;
}

void bl_pass_flag(bl_serializer *io, bool *flag) {
  unsigned char byte = io->reading ? 0 : *flag; /* a bool that is neither 0 nor 1 must not even be read */
  BL_PASS(io, byte);
  if (byte > 1 && io->status == BLICA_OK) io->status = BLICA_ERR_FORMAT;
  if (io->reading) *flag = byte == 1;
}

void bl_pass_count(bl_serializer *io, int64_t *count) {
  BL_PASS(io, *count);
  if ((*count < 0 || *count > INT64_C(1) << 48) && io->status == BLICA_OK) io->status = BLICA_ERR_FORMAT;
}

void bl_pass_int(bl_serializer *io, int *value, int least, int most) {
  BL_PASS(io, *value);
  if ((*value < least || *value > most) && io->status == BLICA_OK) io->status = BLICA_ERR_FORMAT;
}

void bl_pass_nothing(bl_serializer *io, void *user) {
  (void)io, (void)user;
}

/* ---- the table of sections; callers hold the lock ---- */

static bl_section *find(bl_checkpoint *c, const char *name) {
  for (size_t i = 0; i < c->sections; i++)
    if (strcmp(c->section[i].name, name) == 0) return &c->section[i];
  return NULL;
}

/* Drops the sections below a name. */
static void drop_below(bl_checkpoint *c, const char *name) {
  size_t length = strlen(name), to = 0;
  for (size_t i = 0; i < c->sections; i++) {
    bl_section *s = &c->section[i];
    if (strncmp(s->name, name, length) == 0 && s->name[length] == '/')
      bl_free(s->bytes);
    else
      c->section[to++] = *s;
  }
  c->sections = to;
}

/* Nothing is kept once the work was stopped: by the user or by the clock. */
static bool frozen(const blica_ctx *ctx, bl_checkpoint *c) {
  if (bl_interrupted(ctx) || bl_seconds() > c->deadline || ctx->comm_failed) c->frozen = true;
  return c->frozen;
}

/* False when memory is out: the checkpoint is as before. */
static bool store(blica_ctx *ctx, bl_checkpoint *c, const char *name, bl_stage_kept kept, bl_serializer *io) {
  bl_section *s = find(c, name);
  if (io->status == BLICA_OK && !s) io->status = bl_checkpoint_add(ctx, c, name, &s);
  if (io->status != BLICA_OK) {
    c->failed = ENOMEM;
    bl_free(io->bytes);
    return false;
  }
  bl_free(s->bytes);
  s->kept = kept, s->bytes = io->bytes, s->size = io->at;
  c->changed = true;
  return true;
}

/* ---- writing ---- */

/* Warns of a failure once, from the thread that may call the user. */
static void warn_once(blica_ctx *ctx, bl_checkpoint *c) {
  if (!c->failed || c->warned || !bl_may_warn(ctx)) return;
  c->warned = true;
  if (c->failed == EEXIST)
    bl_warn(ctx,
            "checkpoint '%s' is written by another process, too; the fit goes on, but its state is not kept: give each "
            "fit a checkpoint of its own",
            c->path);
  else
    bl_warn(ctx,
            "checkpoint '%s' could not be written: %s; the fit goes on, and what was written before stays in place",
            c->path, strerror(c->failed));
}

static void write_file(blica_ctx *ctx, bl_checkpoint *c) {
  if (c->writes && c->changed) {
    if (bl_checkpoint_write(c, c->path))
      c->changed = false, c->failed = 0, c->warned = false;
    else
      c->failed = errno;
  }
  warn_once(ctx, c);
  c->round++;
  c->offered = 0;
  c->next = bl_seconds() + c->seconds;
}

/* Writes when it is time and every running iteration has offered its state. */
static void write_if_due(blica_ctx *ctx, bl_checkpoint *c) {
  if (c->offered == c->entered && (c->frozen || bl_seconds() >= c->next)) write_file(ctx, c);
}

void bl_checkpoint_flush(blica_ctx *ctx, bl_checkpoint *c) {
  if (!c) return;
  pthread_mutex_lock(&c->lock);
  write_file(ctx, c);
  pthread_mutex_unlock(&c->lock);
}

/* ---- stages ---- */

bl_stage_kept bl_stage_find(const bl_stage *stage) {
  bl_checkpoint *c = stage->checkpoint;
  if (!c) return BL_STAGE_NONE;
  pthread_mutex_lock(&c->lock);
  bl_section *s = find(c, stage->name);
  bl_stage_kept kept = s ? s->kept : BL_STAGE_NONE;
  pthread_mutex_unlock(&c->lock);
  return kept;
}

blica_status bl_stage_load(blica_ctx *ctx, const bl_stage *stage, bl_pass_fn pass, void *user) {
  bl_checkpoint *c = stage->checkpoint;
  bl_serializer io = {.reading = true, .ctx = ctx};
  pthread_mutex_lock(&c->lock);
  bl_section *s = find(c, stage->name);
  if (s) {
    io.bytes = s->bytes, io.size = s->size;
    pass(&io, user);
    if (io.status == BLICA_OK && io.at != io.size) io.status = BLICA_ERR_FORMAT;
  }
  pthread_mutex_unlock(&c->lock);
  if (s && (io.status == BLICA_OK || io.status == BLICA_ERR_MEMORY)) return io.status;
  return bl_fail(ctx, BLICA_ERR_FORMAT, "checkpoint '%s': the state of '%s' does not belong to this fit", c->path,
                 stage->name);
}

/* always: also when the work was stopped. */
static blica_status keep_result(blica_ctx *ctx, const bl_stage *stage, bl_pass_fn pass, void *user, bool always) {
  bl_checkpoint *c = stage->checkpoint;
  if (!c) return BLICA_OK;
  bl_serializer io = {.ctx = ctx};
  pass(&io, user);
  pthread_mutex_lock(&c->lock);
  if (frozen(ctx, c) && !always)
    bl_free(io.bytes);
  else if (store(ctx, c, stage->name, BL_STAGE_OVER, &io))
    drop_below(c, stage->name);
  pthread_mutex_unlock(&c->lock);
  return io.status;
}

void bl_stage_over(blica_ctx *ctx, bl_stage *stage, bl_pass_fn pass, void *user) {
  (void)keep_result(ctx, stage, pass, user, false);
}

blica_status bl_stage_fact(blica_ctx *ctx, const bl_stage *stage, bl_pass_fn pass, void *user) {
  return keep_result(ctx, stage, pass, user, true);
}

/* A result and its point. */
typedef struct {
  bl_pass_fn pass;
  void *user;
  double *x;
  size_t size;
} result_at;

static void pass_at(bl_serializer *io, void *user) {
  result_at *r = user;
  r->pass(io, r->user);
  bl_pass(io, r->x, r->size * sizeof *r->x);
}

void bl_stage_over_at(blica_ctx *ctx, bl_stage *stage, bl_pass_fn pass, void *user, double *x, size_t size) {
  bl_stage_over(ctx, stage, pass_at, &(result_at){pass, user, x, size});
}

blica_status bl_stage_load_at(blica_ctx *ctx, const bl_stage *stage, bl_pass_fn pass, void *user, double *x,
                              size_t size) {
  return bl_stage_load(ctx, stage, pass_at, &(result_at){pass, user, x, size});
}

/* ---- iterations ---- */

static const uint64_t NEVER = UINT64_MAX; /* an iteration that was entered after the stop */

void bl_stage_enter(blica_ctx *ctx, bl_stage *stage) {
  bl_checkpoint *c = stage->checkpoint;
  if (!c) return;
  pthread_mutex_lock(&c->lock);
  stage->saved = frozen(ctx, c) ? NEVER : 0;
  c->entered += stage->saved != NEVER;
  pthread_mutex_unlock(&c->lock);
}

void bl_stage_offer(blica_ctx *ctx, bl_stage *stage, int hook, bl_pass_fn pass, void *user) {
  bl_checkpoint *c = stage->checkpoint;
  if (!c || stage->saved == NEVER || ctx->comm_failed) return;
  pthread_mutex_lock(&c->lock);
  if (hook == BL_STOP_REQUESTED) c->frozen = true;
  bool wanted = c->frozen || bl_seconds() >= c->next;
  if (wanted && (stage->saved != c->round || c->frozen)) {
    bl_serializer io = {.ctx = ctx};
    pass(&io, user);
    store(ctx, c, stage->name, BL_STAGE_BETWEEN, &io);
    c->offered += stage->saved != c->round;
    stage->saved = c->round;
    write_if_due(ctx, c);
  }
  pthread_mutex_unlock(&c->lock);
}

void bl_stage_freeze(const bl_stage *stage) {
  bl_checkpoint *c = stage->checkpoint;
  if (!c) return;
  pthread_mutex_lock(&c->lock);
  c->frozen = true;
  pthread_mutex_unlock(&c->lock);
}

void bl_stage_leave(blica_ctx *ctx, bl_stage *stage) {
  bl_checkpoint *c = stage->checkpoint;
  if (!c || stage->saved == NEVER) return;
  pthread_mutex_lock(&c->lock);
  c->entered--;
  c->offered -= stage->saved == c->round;
  write_if_due(ctx, c);
  pthread_mutex_unlock(&c->lock);
}

/* ---- the checkpoint ---- */

void bl_checkpoint_free(bl_checkpoint *c) {
  if (!c) return;
  for (size_t i = 0; i < c->sections; i++) bl_free(c->section[i].bytes);
  bl_free(c->section);
  bl_free(c->path);
  pthread_mutex_destroy(&c->lock);
  bl_free(c);
}

bool bl_checkpoint_resumed(const bl_checkpoint *c) {
  return c && c->resumed;
}
const char *bl_checkpoint_path(const bl_checkpoint *c) {
  return c->path;
}

/* What rank 0 found on the disk, which all ranks must know. */
typedef struct {
  bool found;
  uint64_t size;
} finding;

/* A file that is there without resume would be lost: it may hold hours of work, or be no checkpoint at all. */
static blica_status find_file(blica_ctx *ctx, const char *path, bool resume, unsigned char **bytes, finding *f) {
  struct stat info;
  if (resume) return bl_checkpoint_bytes(ctx, path, bytes, &f->size, &f->found);
  if (stat(path, &info) != 0) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_IO, "checkpoint '%s' exists already: resume from it, remove it, or name another", path);
}

/* Rank 0 reads the file, if it exists, and sends it to all ranks; every rank takes its sections from it. */
static blica_status read_all(blica_ctx *ctx, const char *path, bool resume, bl_checkpoint *c) {
  blica_status status = BLICA_OK;
  finding f = {.found = false};
  BL_OWNED unsigned char *bytes = NULL;
  bool root = bl_comm(ctx)->rank == 0;
  if (root) status = find_file(ctx, path, resume, &bytes, &f);
  if (root && f.found) bl_checkpoint_mark(c, path);
  MUST(bl_agree(ctx, status));
  MUST(bl_broadcast(ctx, &f, sizeof f, 0));
  if (resume && !f.found) bl_warn(ctx, "there is no checkpoint '%s' yet: the fit starts from the beginning", path);
  if (!f.found) return BLICA_OK;
  if (!root) status = bl_alloc(ctx, f.size + 1, &bytes);
  MUST(bl_agree(ctx, status));
  MUST(bl_broadcast(ctx, bytes, f.size, 0));
  MUST(bl_checkpoint_parse(ctx, path, bytes, f.size, c));
  c->resumed = true;
  return BLICA_OK;
}

blica_status bl_checkpoint_open(blica_ctx *ctx, const char *path, double seconds, bool resume, double deadline,
                                bl_checkpoint **out) {
  BL_AUTO(bl_checkpoint) *c = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &c));
  pthread_mutex_init(&c->lock, NULL);
  MUST(bl_copy_text(ctx, path, &c->path));
  c->seconds = seconds;
  c->deadline = deadline;
  c->next = bl_seconds() + seconds;
  c->round = 1;
  c->writes = bl_comm(ctx)->rank == 0;
  MUST(read_all(ctx, path, resume, c));
  *out = bl_take(&c);
  return BLICA_OK;
}
