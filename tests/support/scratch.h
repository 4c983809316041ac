/* scratch.h - a folder of a test's own, in memory where the system has such a place: files are synced thousands of
 * times. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* 0 on success; folder has room for 40 characters. */
static inline int make_scratch(char *folder) {
  snprintf(folder, 40, "%s/blica-test-XXXXXX", access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
  return mkdtemp(folder) ? 0 : -1;
}

#endif
