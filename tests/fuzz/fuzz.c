/* fuzz.c - see fuzz.h. */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

enum { PATHS = 4, LONGEST = 512 };
static const size_t MOST_MEMORY = (size_t)256 << 20; /* of one request */

_Noreturn void fuzz_broken(const char *file, int line, const char *condition) {
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  abort();
}

static void *limited(void *old, size_t size, void *user) {
  (void)user;
  CHECK(size <= MOST_MEMORY);
  if (size) return realloc(old, size);
  free(old);
  return NULL;
}

blica_ctx *fuzz_ctx(void) {
  static blica_ctx *ctx;
  if (ctx) return ctx;
  CHECK(blica_ctx_create_with(limited, NULL, &ctx) == BLICA_OK);
  blica_set_threads(ctx, 1);
  bl_blas_hold();
  return ctx;
}

void fuzz_check_failure(blica_status status, const void *out) {
  CHECK(out == NULL);
  CHECK(status != BLICA_ERR_MEMORY && status != BLICA_ERR_INTERNAL);
  CHECK(blica_message(fuzz_ctx())[0] != 0);
}

/* ---- files ---- */

static char folder[64];

static void remove_folder(void) {
  DIR *list = opendir(folder);
  for (struct dirent *entry; list && (entry = readdir(list));) {
    char path[LONGEST];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    unlink(path);
  }
  if (list) closedir(list);
  rmdir(folder);
}

const char *fuzz_path(const char *name) {
  static char paths[PATHS][LONGEST];
  static int next;
  if (!folder[0]) {
    struct stat info;
    bool memory = stat("/dev/shm", &info) == 0 && access("/dev/shm", W_OK) == 0;
    snprintf(folder, sizeof folder, "%s/blica-fuzz.XXXXXX", memory ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(folder));
    atexit(remove_folder);
  }
  next = (next + 1) % PATHS;
  snprintf(paths[next], LONGEST, "%s/%s", folder, name);
  return paths[next];
}

const char *fuzz_file(const char *name, const void *data, size_t size) {
  const char *path = fuzz_path(name);
  FILE *f = fopen(path, "wb");
  CHECK(f);
  CHECK(size == 0 || fwrite(data, 1, size, f) == size);
  CHECK(fclose(f) == 0);
  return path;
}

bool fuzz_same_files(const char *a, const char *b) {
  FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
  CHECK(f && g);
  int c, d;
  do c = getc(f), d = getc(g);
  while (c == d && c != EOF);
  fclose(f);
  fclose(g);
  return c == d;
}

/* ---- comparing ---- */

bool fuzz_same_text(char *const *a, char *const *b, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(a[i], b[i]) != 0) return false;
  return true;
}

bool fuzz_same_numbers(const double *a, const double *b, size_t count) {
  if (!a || !b) return a == b;
  for (size_t i = 0; i < count; i++)
    if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))) return false;
  return true;
}

bool fuzz_finite(const double *x, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* ---- numbers ---- */

uint8_t fuzz_byte(fuzz_bytes *b) {
  if (!b->left) return 0;
  b->left--;
  return *b->at++;
}

int fuzz_int(fuzz_bytes *b, int low, int high) {
  unsigned range = (unsigned)(high - low) + 1, value = fuzz_byte(b);
  if (range > 256) value = value << 8 | fuzz_byte(b);
  return low + (int)(value % range);
}

uint64_t fuzz_word(fuzz_bytes *b) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word = word << 8 | fuzz_byte(b);
  return word;
}

double fuzz_any(fuzz_bytes *b) {
  static const double special[] = {0.0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.5,
                                   NAN,
                                   INFINITY,
                                   -INFINITY,
                                   5e-324,
                                   2.2250738585072014e-308,
                                   1.7976931348623157e308,
                                   -1.7976931348623157e308,
                                   1e-17,
                                   1 - 0x1p-53,
                                   1 + 0x1p-52,
                                   40};
  uint8_t kind = fuzz_byte(b);
  if (kind < 16) return special[kind];
  if (kind < 128) return fuzz_real(b, -8, 8);
  if (kind < 160) return fuzz_real(b, -1, 1);
  if (kind < 192) {
    double share = fuzz_real(b, -1, 1); /* before the exponent: the order of arguments is the compiler's */
    return ldexp(share, fuzz_int(b, -127, 128));
  }
  uint64_t word = fuzz_word(b);
  double value;
  memcpy(&value, &word, sizeof value);
  return value;
}

double fuzz_real(fuzz_bytes *b, double low, double high) {
  unsigned value = fuzz_byte(b);
  value = value << 8 | fuzz_byte(b);
  return low + (high - low) * ((double)value / 65535);
}
