/* replay.c - main() of a fuzz target outside libFuzzer: gives it the files named, those in the folders named, and
 * --random COUNT inputs of random bytes, the same on every run. A target that finds a fault aborts. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fuzz.h"

static long replayed;
static char current[1024] = "no input";

static void on_abort(int number) {
  (void)number;
  fprintf(stderr, "while replaying %s\n", current);
}

static void run_file(const char *path) {
  FILE *f = fopen(path, "rb");
  static uint8_t bytes[1 << 20];
  if (!f) {
    perror(path);
    exit(1);
  }
  size_t size = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees a step past the end */
  if (!exact) exit(1);
  memcpy(exact, bytes, size);
  snprintf(current, sizeof current, "%s", path);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  replayed++;
}

static void run_path(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return; /* a target without crashes has no folder of them */
  if (!S_ISDIR(info.st_mode)) {
    run_file(path);
    return;
  }
  DIR *list = opendir(path);
  for (struct dirent *entry; list && (entry = readdir(list));) {
    char file[1024];
    snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    if (entry->d_name[0] != '.') run_file(file);
  }
  if (list) closedir(list);
}

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void run_random(long count) {
  uint64_t state = 1;
  for (long i = 0; i < count; i++) {
    uint8_t bytes[512];
    size_t size = (size_t)(next_random(&state) % (sizeof bytes + 1));
    uint64_t all = next_random(&state) % 4 ? 255 : 15; /* small bytes: small sizes, special numbers */
    for (size_t k = 0; k < size; k++) bytes[k] = (uint8_t)(next_random(&state) & all);
    snprintf(current, sizeof current, "random input %ld", i);
    LLVMFuzzerTestOneInput(bytes, size);
    replayed++;
  }
}

int main(int argc, char **argv) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30}; /* sizes that a file only declares must not be taken */
  setrlimit(RLIMIT_AS, &limit);
#endif
  signal(SIGABRT, on_abort);
  LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--random") == 0 && i + 1 < argc)
      run_random(atol(argv[++i]));
    else
      run_path(argv[i]);
  }
  printf("%ld inputs replayed, the last %s\n", replayed, current);
  return 0;
}
