/* outfile.h - files that appear whole or not at all. Linked into the library and the program. */
#ifndef BL_OUTFILE_H
#define BL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
  FILE *stream;      /* write here */
  char *path, *temp; /* final and temporary name, in the same folder; temp is NULL while the file has no name */
  bool special;      /* a pipe or device such as /dev/stdout: written in place */
} bl_outfile;

/* Opens a temporary file beside path, without a name where the system can: then a process that is killed leaves nothing
 * behind. On failure returns false with the reason in errno. */
bool bl_outfile_open(bl_outfile *file, const char *path);
/* Flushes, syncs and renames over path. On failure removes the temporary file, returns false, errno set. */
bool bl_outfile_commit(bl_outfile *file);
/* Throws the temporary file away; does nothing after commit. */
void bl_outfile_discard(bl_outfile *file);

#endif
