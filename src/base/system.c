/* system.c - see system.h. */
#define _GNU_SOURCE /* CPU_COUNT, O_TMPFILE */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE /* _SC_NPROCESSORS_ONLN */
#endif
#include "base/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _WIN32
#include <io.h>
#include <windows.h>
#else
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <sys/stat.h>
#endif

int64_t bl_process(void) {
  return getpid();
}

const char *bl_file_part(const char *path) {
  const char *slash = strrchr(path, '/');
#ifdef _WIN32
  const char *back = strrchr(path, '\\');
  if (back && (!slash || back > slash)) slash = back;
#endif
  return slash ? slash + 1 : path;
}

#ifdef _WIN32

int bl_cores(void) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwNumberOfProcessors > 0 ? (int)info.dwNumberOfProcessors : 1;
}

bool bl_sync(int descriptor) {
  return _commit(descriptor) == 0;
}

void bl_sync_folder(char *path) {
  (void)path;
}

int bl_open_unnamed(const char *path) {
  (void)path;
  return -1;
}

bool bl_link(int descriptor, const char *name) {
  (void)descriptor, (void)name;
  return false;
}

bool bl_set_mode(int descriptor, unsigned mode) {
  (void)descriptor, (void)mode;
  return true;
}

bool bl_rename(const char *from, const char *to) {
  if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) return true;
  errno = EACCES;
  return false;
}

FILE *bl_memory_open(char **text, size_t *size) {
  *text = NULL, *size = 0;
  return tmpfile();
}

bool bl_memory_close(FILE *stream, char **text, size_t *size) {
  const long written = ferror(stream) || fflush(stream) != 0 ? -1 : ftell(stream);
  *text = written >= 0 ? malloc((size_t)written + 1) : NULL;
  rewind(stream);
  const bool fine = *text && fread(*text, 1, (size_t)written, stream) == (size_t)written;
  if (fine) (*text)[ *size = (size_t)written] = 0;
  if (!fine) free(*text), *text = NULL;
  return fclose(stream) == 0 && fine;
}

#else

int bl_cores(void) {
#ifdef CPU_COUNT
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (int)count : 1;
}

bool bl_sync(int descriptor) {
  return fsync(descriptor) == 0;
}

void bl_sync_folder(char *path) {
  int folder = open(dirname(path), O_RDONLY | O_DIRECTORY);
  if (folder < 0) return;
  (void)fsync(folder); /* not all file systems can */
  close(folder);
}

int bl_open_unnamed(const char *path) {
#ifdef O_TMPFILE /* the name comes through /proc when all is written */
  if (access("/proc/self/fd", X_OK) != 0) return -1;
  char *copy = strdup(path);
  if (!copy) return -1;
  int descriptor = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  free(copy);
  return descriptor;
#else
  (void)path;
  return -1;
#endif
}

bool bl_link(int descriptor, const char *name) {
  char own[64];
  snprintf(own, sizeof own, "/proc/self/fd/%d", descriptor);
  return linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

bool bl_set_mode(int descriptor, unsigned mode) {
  return fchmod(descriptor, (mode_t)mode) == 0;
}

bool bl_rename(const char *from, const char *to) {
  return rename(from, to) == 0;
}

FILE *bl_memory_open(char **text, size_t *size) {
  return open_memstream(text, size);
}

bool bl_memory_close(FILE *stream, char **text, size_t *size) {
  (void)size;
  const bool failed = ferror(stream) != 0;
  if (fclose(stream) == 0 && !failed) return true;
  free(*text);
  *text = NULL;
  return false;
}

#endif
