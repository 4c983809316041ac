/* checkpoint.c - opening, closing and freeing a checkpoint. */
#include "files/checkpoint.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/share.h"

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

/* ---- reading, on rank 0, for all ---- */

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

static blica_status read_all(blica_ctx *ctx, const char *path, bool resume, bl_checkpoint *c) {
  blica_status status = BLICA_OK;
  finding f = {.found = false};
  unsigned char *bytes = NULL;
  bool root = bl_comm(ctx)->rank == 0;
  if (root) status = find_file(ctx, path, resume, &bytes, &f);
  if (root && f.found) bl_checkpoint_mark(c, path);
  TRY(bl_agree(ctx, status));
  TRY(bl_broadcast(ctx, &f, sizeof f, 0));
  if (resume && !f.found) bl_warn(ctx, "there is no checkpoint '%s' yet: the fit starts from the beginning", path);
  if (!f.found) goto done;
  if (!root) status = bl_alloc(ctx, f.size + 1, &bytes);
  TRY(bl_agree(ctx, status));
  TRY(bl_broadcast(ctx, bytes, f.size, 0));
  TRY(bl_checkpoint_parse(ctx, path, bytes, f.size, c));
  c->resumed = true;
done:
  bl_free(bytes);
  return status;
}

blica_status bl_checkpoint_open(blica_ctx *ctx, const char *path, double seconds, bool resume, double deadline,
                                bl_checkpoint **out) {
  blica_status status;
  bl_checkpoint *c = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &c));
  pthread_mutex_init(&c->lock, NULL);
  TRY(bl_copy_text(ctx, path, &c->path));
  c->seconds = seconds;
  c->deadline = deadline;
  c->next = bl_seconds() + seconds;
  c->round = 1;
  c->writes = bl_comm(ctx)->rank == 0;
  TRY(read_all(ctx, path, resume, c));
  *out = bl_take(&c);
done:
  bl_checkpoint_free(c);
  return status;
}
