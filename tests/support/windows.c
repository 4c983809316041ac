/* windows.c - functions of POSIX that tests call and Windows has under other names. */
#include <direct.h>
#include <io.h>
#include <stddef.h>
#include <stdlib.h>

char *mkdtemp(char *name);
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
void *aligned_alloc(size_t alignment, size_t size);
int symlink(const char *target, const char *path);

char *mkdtemp(char *name) {
  return _mktemp(name) && _mkdir(name) == 0 ? name : NULL;
}

int setenv(const char *name, const char *value, int overwrite) {
  return overwrite || !getenv(name) ? _putenv_s(name, value) : 0;
}

int unsetenv(const char *name) {
  return _putenv_s(name, "");
}

/* 16 bytes, which is all that vectors need there. */
void *aligned_alloc(size_t alignment, size_t size) {
  (void)alignment;
  return malloc(size);
}

/* Whoever tests links skips what needs them. */
int symlink(const char *target, const char *path) {
  (void)target, (void)path;
  return -1;
}
