/* bench_table.c - speed of reading text tables into packed bits, in MB/s of text, beside the rate of
 * memchr over the same file (what finding the line ends costs, as in wc -l) and of read() alone. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "num/rng.h"
#include "table_io.h"

static const char *const path = "bench_table.tmp.csv";

/* Rows of n values and a segment; quote: every field quoted, which the fast path refuses. */
static size_t make_file(int64_t rows, int n, bool quote) {
  FILE *f = fopen(path, "wb");
  if (!f) exit(1);
  bl_rng rng = bl_rng_make(1, 0);
  for (int i = 0; i < n; i++) fprintf(f, "x%d,", i + 1);
  fputs("segment\n", f);
  for (int64_t r = 0; r < rows; r++) {
    for (int i = 0; i < n; i++)
      fputs(bl_rng_uniform(&rng) < 0.5 ? (quote ? "\"1\"," : "1,") : (quote ? "\"0\"," : "0,"), f);
    fprintf(f, "%d\n", (int)(r * 40 / rows));
  }
  long size = ftell(f);
  fclose(f);
  return (size_t)size;
}

/* Whole file by read(), with memchr for line ends when count is set. */
static double scan_seconds(bool count) {
  enum { CHUNK = 1 << 18 };
  static char buffer[CHUNK];
  double start = bl_seconds();
  int64_t lines = 0;
  int descriptor = open(path, O_RDONLY);
  for (ssize_t got; (got = read(descriptor, buffer, CHUNK)) > 0;)
    for (char *p = buffer, *end = buffer + got; count && p < end; p++, lines++) {
      p = memchr(p, '\n', (size_t)(end - p));
      if (!p) break;
    }
  close(descriptor);
  if (count && lines == 0) exit(1);
  return bl_seconds() - start;
}

static double read_seconds(blica_ctx *ctx) {
  char message[TABLE_MESSAGE];
  table_options options = {0};
  blica_data *data;
  double start = bl_seconds();
  if (table_read(ctx, path, &options, message, &data) != BLICA_OK) {
    fprintf(stderr, "%s\n", message);
    exit(1);
  }
  double seconds = bl_seconds() - start;
  blica_data_free(data);
  return seconds;
}

int main(void) {
  static const struct {
    int64_t rows;
    int n;
    bool quote;
  } cases[] = {{2000000, 10, false}, {400000, 100, false}, {40000, 1000, false}, {200000, 100, true}};
  blica_ctx *ctx;
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  puts("MB/s of text        into bits   line ends only   read() only");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double size = (double)make_file(cases[k].rows, cases[k].n, cases[k].quote) / 1e6, best[3] = {1e9, 1e9, 1e9};
    for (int round = 0; round < 3; round++) {
      double seconds[3] = {read_seconds(ctx), scan_seconds(true), scan_seconds(false)};
      for (int m = 0; m < 3; m++)
        if (seconds[m] < best[m]) best[m] = seconds[m];
    }
    printf("n=%-5d%-10s %11.0f %16.0f %13.0f\n", cases[k].n, cases[k].quote ? "quoted" : "plain", size / best[0],
           size / best[1], size / best[2]);
  }
  unlink(path);
  blica_ctx_free(ctx);
  return 0;
}
