/* outfile.c - write to a temporary file in the same folder, sync, rename. */
#include "files/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/system.h"

#ifndef O_CLOEXEC /* Windows: files are inherited, and text unless O_BINARY says otherwise */
#define O_CLOEXEC O_BINARY
#endif

static void release(bl_outfile *file) {
  free(file->path);
  free(file->temp);
  memset(file, 0, sizeof *file);
}

static bool fail(bl_outfile *file, int reason) {
  if (file->stream) fclose(file->stream);
  if (file->temp) unlink(file->temp);
  release(file);
  errno = reason;
  return false;
}

/* A name in the folder of path that no other file should have; it is short, whatever the length of path's own. */
static char *draw_name(const char *path) {
  static _Atomic unsigned drawn; /* differs between threads that draw in the same moment */
  const int folder = (int)(bl_file_part(path) - path);
  size_t length = (size_t)folder + 64;
  struct timespec now;
  char *name = malloc(length);
  clock_gettime(CLOCK_REALTIME, &now);
  if (name)
    snprintf(name, length, "%.*s.blica-%lx-%lx-%x", folder, path, (unsigned long)bl_process(),
             (unsigned long)now.tv_nsec, drawn++);
  else
    errno = ENOMEM; /* the compiler takes it that malloc leaves errno alone */
  return name;
}

/* Gives file->temp a new name: by making a file of it (from < 0), or by linking the open file `from` to it. Returns the
 * descriptor, or -1. */
static int take_name(bl_outfile *file, int from) {
  enum { TRIES = 100 };
  for (int i = 0; i < TRIES; i++) {
    char *name = draw_name(file->path);
    if (!name) return -1;
    int descriptor = from < 0              ? open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666)
                     : bl_link(from, name) ? from
                                           : -1;
    if (descriptor >= 0) {
      file->temp = name;
      return descriptor;
    }
    int reason = errno;
    free(name);
    errno = reason;
    if (reason != EEXIST) break;
  }
  return -1;
}

/* Gives the unnamed file its final name or, where that is taken, a new one from which it is renamed at once. */
static bool give_name(bl_outfile *file, int descriptor) {
  if (bl_link(descriptor, file->path)) return true;
  return errno == EEXIST && take_name(file, descriptor) >= 0;
}

/* The open descriptor that the path names, as /dev/stdout does, or -1. It is written at its current offset. */
static int own_descriptor(const char *path) {
  if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
  if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  for (int i = 0; i < 2; i++) {
    const size_t length = strlen(folders[i]);
    if (strncmp(path, folders[i], length) != 0 || path[length] < '0' || path[length] > '9') continue;
    char *end;
    const long number = strtol(path + length, &end, 10);
    return *end == 0 && number <= INT_MAX ? (int)number : -1;
  }
  return -1;
}

/* What cannot be renamed over; takes the descriptor, or gives the reason in errno when it is -1. */
static bool open_special(bl_outfile *file, int descriptor) {
  file->special = true;
  file->stream = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
  if (file->stream) return true;
  int reason = errno;
  if (descriptor >= 0) close(descriptor);
  return fail(file, reason);
}

bool bl_outfile_open(bl_outfile *file, const char *path) {
  memset(file, 0, sizeof *file);
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return fail(file, EISDIR);
  file->path = strdup(path);
  if (!file->path) return fail(file, ENOMEM);
  int descriptor = own_descriptor(path);
  if (descriptor >= 0 || (exists && !S_ISREG(info.st_mode)))
    return open_special(file, descriptor >= 0 ? dup(descriptor) : open(path, O_WRONLY | O_CLOEXEC));
  descriptor = bl_open_unnamed(path);
  if (descriptor < 0) descriptor = take_name(file, -1);
  if (descriptor < 0) return fail(file, errno);
  bool kept = !exists || bl_set_mode(descriptor, info.st_mode & 0777); /* a new file has the mode that umask leaves */
  if (!kept || !(file->stream = fdopen(descriptor, "wb"))) {
    int reason = errno;
    close(descriptor);
    return fail(file, reason);
  }
  return true;
}

bool bl_outfile_commit(bl_outfile *file) {
  errno = 0;
  if (fflush(file->stream) != 0 || ferror(file->stream)) return fail(file, errno ? errno : EIO);
  if (!file->special && !bl_sync(fileno(file->stream))) return fail(file, errno);
  bool unnamed = !file->special && !file->temp;
  int held = unnamed ? dup(fileno(file->stream)) : -1; /* it gets its name when nothing can fail any more */
  if (unnamed && held < 0) return fail(file, errno);
  FILE *stream = file->stream;
  file->stream = NULL;
  bool fine = fclose(stream) == 0 && (!unnamed || give_name(file, held));
  int reason = errno;
  if (held >= 0) close(held);
  if (!fine) return fail(file, reason);
  if (!file->special) {
    if (file->temp && !bl_rename(file->temp, file->path)) return fail(file, errno);
    bl_sync_folder(file->path);
  }
  release(file);
  return true;
}

void bl_outfile_discard(bl_outfile *file) {
  int keep = errno;
  if (file->path) fail(file, keep);
  errno = keep;
}
