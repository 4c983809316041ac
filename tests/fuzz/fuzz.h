/* fuzz.h - what the fuzz targets share. A target is one file fuzz_NAME.c with LLVMFuzzerTestOneInput: libFuzzer drives
 * it in the preset `fuzz`, replay.c drives it in the tests. Beyond not crashing it CHECKs what the library promises. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blica.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) fuzz_broken(__FILE__, __LINE__, #condition);                                                     \
  } while (0)

_Noreturn void fuzz_broken(const char *file, int line, const char *condition);

/* One context for the whole process, on one thread. Its memory hook breaks on a request that no small input can
 * justify. */
blica_ctx *fuzz_ctx(void);

/* A failure has a message and no output, and is not for want of memory. */
void fuzz_check_failure(blica_status status, const void *out);

/* The path of NAME in this process's own folder, removed at exit. The text lives until the fourth next call. */
const char *fuzz_path(const char *name);
/* The same, holding these bytes. */
const char *fuzz_file(const char *name, const void *data, size_t size);
/* Whether two files hold the same bytes. */
bool fuzz_same_files(const char *a, const char *b);
bool fuzz_same_text(char *const *a, char *const *b, int count);
/* The same bits; NaNs are alike. Either may be NULL. */
bool fuzz_same_numbers(const double *a, const double *b, size_t count);
bool fuzz_finite(const double *x, size_t count);

/* ---- numbers out of the input; past its end everything is 0 ---- */

typedef struct {
  const uint8_t *at;
  size_t left;
} fuzz_bytes;

uint8_t fuzz_byte(fuzz_bytes *b);
int fuzz_int(fuzz_bytes *b, int low, int high); /* both included */
uint64_t fuzz_word(fuzz_bytes *b);
double fuzz_any(fuzz_bytes *b); /* any bits: NaN, infinities, subnormals; often a usual number */
double fuzz_real(fuzz_bytes *b, double low, double high); /* 16 bits of it */

#endif
