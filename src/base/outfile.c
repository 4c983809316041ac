/* outfile.c - write to a temporary file in the same folder, sync, rename. */
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
  size_t length = strlen(path) + sizeof ".XXXXXX";
  file->temp = malloc(length);
  if (!file->temp) return fail(file, ENOMEM);
  snprintf(file->temp, length, "%s.XXXXXX", path);
  int descriptor = mkstemp(file->temp);
  if (descriptor < 0) {
    int reason = errno;
    free(file->temp);
    file->temp = NULL;
    return fail(file, reason);
  }
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
  FILE *stream = file->stream;
  file->stream = NULL;
  if (fclose(stream) != 0) return fail(file, errno);
  if (!file->special) {
    if (rename(file->temp, file->path) != 0) return fail(file, errno);
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
