/* outfile.c - write to a temporary file in the same folder, sync, rename. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A file without a name in the folder of path, or -1. The name comes through /proc when all is written. */
static int open_unnamed(const char *path) {
#ifdef O_TMPFILE
  if (access("/proc/self/fd", X_OK) != 0) return -1;
  char *copy = strdup(path);
  if (!copy) return -1;
  int descriptor = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  free(copy);
  return descriptor;
#else
  (void)path;
  return -1;
#endif
}

/* Opens the temporary file; file->temp is NULL when it has no name. */
static int open_temporary(bl_outfile *file) {
  int descriptor = open_unnamed(file->path);
  if (descriptor >= 0) return descriptor;
  size_t length = strlen(file->path) + sizeof ".XXXXXX";
  file->temp = malloc(length);
  if (!file->temp) return -1;
  snprintf(file->temp, length, "%s.XXXXXX", file->path);
  descriptor = mkstemp(file->temp);
  if (descriptor >= 0) return descriptor;
  int reason = errno;
  free(file->temp);
  file->temp = NULL;
  errno = reason;
  return -1;
}

/* Gives the unnamed file its final name or, where that is taken, one from which it is renamed at once: always the same
 * one, so that what a kill between the two leaves behind is gone with the next write. */
static bool give_name(bl_outfile *file, int descriptor) {
  static const char ending[] = ".blica-new";
  char own[64];
  snprintf(own, sizeof own, "/proc/self/fd/%d", descriptor);
  if (linkat(AT_FDCWD, own, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0) return true;
  if (errno != EEXIST) return false;
  size_t length = strlen(file->path) + sizeof ending;
  char *name = malloc(length);
  if (!name) {
    errno = ENOMEM; /* the compiler takes it that malloc leaves errno alone */
    return false;
  }
  snprintf(name, length, "%s%s", file->path, ending);
  unlink(name);
  if (linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
    file->temp = name;
    return true;
  }
  int reason = errno;
  free(name);
  errno = reason;
  return false;
}

bool bl_outfile_open(bl_outfile *file, const char *path) {
  memset(file, 0, sizeof *file);
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return fail(file, EISDIR);
  file->path = strdup(path);
  if (!file->path) return fail(file, ENOMEM);
  if (exists && !S_ISREG(info.st_mode)) {
    file->special = true;
    file->stream = fopen(path, "wb");
    return file->stream ? true : fail(file, errno);
  }
  int descriptor = open_temporary(file);
  if (descriptor < 0) return fail(file, errno);
  mode_t mask = umask(0);
  umask(mask);
  mode_t mode = exists ? info.st_mode & 0777 : 0666 & ~mask;
  if (fchmod(descriptor, mode) != 0 || !(file->stream = fdopen(descriptor, "wb"))) {
    int reason = errno;
    close(descriptor);
    return fail(file, reason);
  }
  return true;
}

/* The rename itself must survive a crash, so the folder is synced too; not all file systems can. */
static void sync_folder(char *path) {
  int folder = open(dirname(path), O_RDONLY | O_DIRECTORY);
  if (folder < 0) return;
  (void)fsync(folder);
  close(folder);
}

bool bl_outfile_commit(bl_outfile *file) {
  errno = 0;
  if (fflush(file->stream) != 0 || ferror(file->stream)) return fail(file, errno ? errno : EIO);
  if (!file->special && fsync(fileno(file->stream)) != 0) return fail(file, errno);
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
    if (file->temp && rename(file->temp, file->path) != 0) return fail(file, errno);
    sync_folder(file->path);
  }
  release(file);
  return true;
}

void bl_outfile_discard(bl_outfile *file) {
  int keep = errno;
  if (file->path) fail(file, keep);
  errno = keep;
}
