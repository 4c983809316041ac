/* system.h - what systems do differently: files, processes, processors. Written for POSIX and for Windows (mingw-w64,
 * whose threads are those of POSIX). For base/ and for models, which are written into memory. */
#ifndef BL_SYSTEM_H
#define BL_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

int bl_cores(void);       /* processors that this process may use */
int64_t bl_process(void); /* its number; another one in a fork */

/* Writes what the system holds of the file to the disk. False when that failed, with errno. */
bool bl_sync(int descriptor);
/* The same of the folder that the path is in, where the system can: a rename must survive a crash. Changes the path. */
void bl_sync_folder(char *path);
/* A file without a name in the folder of path, to be written; -1 where the system has none. */
int bl_open_unnamed(const char *path);
/* Gives it a name that no file has; false, with errno, when it has not got it. */
bool bl_link(int descriptor, const char *name);
/* Who may read and write the file; false when that failed. */
bool bl_set_mode(int descriptor, unsigned mode);
/* Gives `from` the name `to`, at once, also where a file has it. False when that failed, with errno. */
bool bl_rename(const char *from, const char *to);
/* The part of a path that follows the last separator of folders. */
const char *bl_file_part(const char *path);

/* Opens a stream into memory; NULL on failure, with errno set. */
FILE *bl_memory_open(char **text, size_t *size);
/* Closes it: *text is what was written, *size bytes and a zero, to be freed with free. False, and no text, when
 * something failed. */
bool bl_memory_close(FILE *stream, char **text, size_t *size);

#endif
