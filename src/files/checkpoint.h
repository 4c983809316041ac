/* checkpoint.h - inside of a checkpoint: sections in memory, and the file. For base/ and tests only. */
#ifndef BL_CHECKPOINT_H
#define BL_CHECKPOINT_H

#include <pthread.h>

#include "files/stage.h"

typedef struct {
  char name[BL_STAGE_NAME];
  bl_stage_kept kept;
  size_t size;
  unsigned char *bytes;
} bl_section;

struct bl_checkpoint {
  pthread_mutex_t lock;
  char *path;
  double seconds, next, deadline; /* between writes; when the next is due; after this nothing is kept */
  bool resumed;
  bool frozen;  /* the work was stopped */
  bool changed; /* since the last write */
  bool writes;  /* rank 0 */
  int failed;   /* errno of a write that failed without a warning yet */
  bool warned;
  uint64_t written[3];  /* device, number and time of the file as this process knows it; zeros: no file */
  uint64_t round;       /* of saving */
  int entered, offered; /* iterations running, and those of them that saved in this round */
  bl_section *section;
  size_t sections, capacity;
};

/* Whole or not at all; false with the reason in errno, EEXIST when another process has written the file meanwhile. */
bool bl_checkpoint_write(bl_checkpoint *checkpoint, const char *path);
/* Remembers the file as it is now. */
void bl_checkpoint_mark(bl_checkpoint *checkpoint, const char *path);
/* Reads the bytes of a file (bl_free); found is false when the file does not exist. */
blica_status bl_checkpoint_bytes(blica_ctx *ctx, const char *path, unsigned char **bytes, uint64_t *size, bool *found);
/* Fills the sections of an empty checkpoint. path is for messages. */
blica_status bl_checkpoint_parse(blica_ctx *ctx, const char *path, const unsigned char *bytes, uint64_t size,
                                 bl_checkpoint *checkpoint);
/* A new, empty section at the end. */
blica_status bl_checkpoint_add(blica_ctx *ctx, bl_checkpoint *checkpoint, const char *name, bl_section **out);

#endif
