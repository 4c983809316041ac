/* torture_cases.h - data that no one planned for, small enough to fit by every method in a moment. */
#ifndef TEST_TORTURE_CASES_H
#define TEST_TORTURE_CASES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "blica.h"

typedef struct {
  const char *name;
  int n, k, u;
  int rows; /* per segment */
  void (*fill)(int8_t *x /* [u rows] rows of n */, int n, int u, int rows);
  double scale;   /* 0: fitted from rows; else from counts times this */
  char path[160]; /* of a table without names, plain or .gz, the segment last, in place of fill */
} torture_case;

/* The same numbers everywhere: SplitMix64. */
static inline double torture_uniform(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* Two hidden switches per row, whose strength changes over segments, move the variables: a plain data set to spoil. */
static inline void fill_plain(int8_t *x, int n, int u, int rows) {
  uint64_t state = 7;
  for (int r = 0; r < u * rows; r++) {
    double strength = 0.1 + 0.35 * ((r / rows * 5) % 7) / 6.0;
    int first = torture_uniform(&state) < 0.5, second = torture_uniform(&state) < 0.5;
    for (int i = 0; i < n; i++) {
      int on = i % 2 ? first : second;
      x[(size_t)r * n + i] = torture_uniform(&state) < 0.5 + (on ? strength : -strength) * (i % 3 == 2 ? -1 : 1);
    }
  }
}

static inline void fill_constant(int8_t *x, int n, int u, int rows) {
  fill_plain(x, n, u, rows);
  for (int r = 0; r < u * rows; r++) {
    x[(size_t)r * n] = 0;
    x[(size_t)r * n + 1] = 1;
    if (r < rows) x[(size_t)r * n + 2] = 1; /* in the first segment only */
  }
}

static inline void fill_same(int8_t *x, int n, int u, int rows) {
  for (int r = 0; r < u * rows; r++)
    for (int i = 0; i < n; i++) x[(size_t)r * n + i] = (int8_t)(i % 2);
}

static inline void fill_twins(int8_t *x, int n, int u, int rows) {
  fill_plain(x, n, u, rows);
  for (int r = 0; r < u * rows; r++) {
    x[(size_t)r * n + 1] = x[(size_t)r * n];
    x[(size_t)r * n + 3] = (int8_t)!x[(size_t)r * n + 2];
  }
}

static inline void fill_clones(int8_t *x, int n, int u, int rows) {
  fill_plain(x, n, u, rows);
  for (int r = 0; r < u * rows; r++)
    for (int i = 1; i < n; i++) x[(size_t)r * n + i] = (int8_t)(i % 2 ? !x[(size_t)r * n] : x[(size_t)r * n]);
}

static inline void fill_sparse(int8_t *x, int n, int u, int rows) {
  uint64_t state = 11;
  for (int i = 0; i < n * u * rows; i++) x[i] = torture_uniform(&state) < 0.001;
}

static inline void fill_coin(int8_t *x, int n, int u, int rows) {
  uint64_t state = 13;
  for (int i = 0; i < n * u * rows; i++) x[i] = torture_uniform(&state) < 0.5;
}

static inline void fill_separated(int8_t *x, int n, int u, int rows) { /* the segment says all */
  for (int r = 0; r < u * rows; r++)
    for (int i = 0; i < n; i++) x[(size_t)r * n + i] = (int8_t)((r / rows + i) % 2);
}

static inline void fill_segment_missing(int8_t *x, int n, int u, int rows) {
  fill_plain(x, n, u, rows);
  memset(x + (size_t)rows * n, BLICA_MISSING, (size_t)rows * n);
}

static inline void fill_variable_missing(int8_t *x, int n, int u, int rows) {
  fill_plain(x, n, u, rows);
  for (int r = 0; r < u * rows; r++) x[(size_t)r * n + 2] = BLICA_MISSING;
}

static inline void fill_all_missing(int8_t *x, int n, int u, int rows) {
  memset(x, BLICA_MISSING, (size_t)n * u * rows);
}

static inline void fill_never_together(int8_t *x, int n, int u, int rows) { /* no row has both of the first two */
  fill_plain(x, n, u, rows);
  for (int r = 0; r < u * rows; r++) x[(size_t)r * n + r % 2] = BLICA_MISSING;
}

static inline void fill_two_vary(int8_t *x, int n, int u, int rows) { /* the others are constant in every segment */
  fill_plain(x, n, u, rows);
  for (int r = 0; r < u * rows; r++)
    for (int i = 2; i < n; i++) x[(size_t)r * n + i] = (int8_t)((i + r / rows) % 2);
}

static inline void fill_one_varies(int8_t *x, int n, int u,
                                   int rows) { /* the others are constant in all other segments */
  fill_plain(x, n, u, rows);
  for (int r = rows; r < u * rows; r++)
    for (int i = 1; i < n; i++) x[(size_t)r * n + i] = (int8_t)(i % 2);
}

static inline void fill_forms(int8_t *x, int n, int u,
                              int rows) { /* half of the rows lack the first item, half the last */
  fill_plain(x, n, u, rows);
  for (int r = 0; r < u * rows; r++) x[(size_t)r * n + (r % 2 ? 0 : n - 1)] = -1;
}

static inline void fill_staircase(int8_t *x, int n, int u, int rows) { /* a perfect scale: x_i = 1 when i < level */
  uint64_t state = 17;
  for (int r = 0; r < u * rows; r++) {
    int level = (int)(torture_uniform(&state) * (n + 1));
    for (int i = 0; i < n; i++) x[(size_t)r * n + i] = i < level;
  }
}

static inline double torture_normal(uint64_t *state) {
  double radius = sqrt(-2 * log(1 - torture_uniform(state)));
  return radius * cos(6.283185307179586477 * torture_uniform(state));
}

/* As many sources as variables, whose variances differ by 1 % over segments: A is hardly identified. */
static inline void fill_nearly_equal(int8_t *x, int n, int u, int rows) {
  uint64_t state = 19;
  for (int r = 0; r < u * rows; r++) {
    double y[16] = {0};
    for (int j = 0; j < n; j++) {
      double z = torture_normal(&state) * (1 + 0.005 * ((r / rows + j) % 2));
      for (int i = 0; i < n; i++) y[i] += z * (1.5 * ((3 * i + 5 * j) % 7) - 4);
    }
    for (int i = 0; i < n; i++) x[(size_t)r * n + i] = torture_normal(&state) < 0.62665706865775 * y[i];
  }
}

/* clang-format off */
static const torture_case torture_cases[] = {
    {"constant columns",          6, 2,    5,  60, fill_constant, 0, ""},
    {"every row the same",        4, 2,    3,  20, fill_same, 0, ""},
    {"identical and opposite",    6, 3,    6,  80, fill_twins, 0, ""},
    {"all identical or opposite", 5, 2,    4,  50, fill_clones, 0, ""},
    {"99.9 % zeros",              8, 2,    4, 500, fill_sparse, 0, ""},
    {"2 rows per segment",        5, 2,   50,   2, fill_plain, 0, ""},
    {"1 row per segment",         5, 2,   50,   1, fill_plain, 0, ""},
    {"1000 segments",             4, 2, 1000,  20, fill_plain, 0, ""},
    {"coins, k = n",              5, 5,   10, 200, fill_coin, 0, ""},
    {"k = n, variances nearly equal", 4, 4, 10, 200, fill_nearly_equal, 0, ""},
    {"k = n = 8, nearly equal",   8, 8,   10, 300, fill_nearly_equal, 0, ""},
    {"n = 500, N = 5",          500, 3,    2,   5, fill_plain, 0, ""},
    {"segment all missing",       5, 2,    4,  60, fill_segment_missing, 0, ""},
    {"variable all missing",      5, 2,    4,  60, fill_variable_missing, 0, ""},
    {"everything missing",        4, 2,    3,  10, fill_all_missing, 0, ""},
    {"pair never together",       5, 2,    4,  80, fill_never_together, 0, ""},
    {"two items vary",            6, 2,    5,  80, fill_two_vary, 0, ""},
    {"one segment varies",        6, 2,    5,  80, fill_one_varies, 0, ""},
    {"two forms",                 6, 2,    5,  80, fill_forms, 0, ""},
    {"one segment",               6, 2,    1, 200, fill_plain, 0, ""},
    {"one row",                   3, 1,    1,   1, fill_plain, 0, ""},
    {"one source",                5, 1,    6, 100, fill_plain, 0, ""},
    {"k = n = 2",                 2, 2,    8, 100, fill_plain, 0, ""},
    {"segment tells all",         5, 2,    6,  30, fill_separated, 0, ""},
    {"perfect scale",             6, 2,    5, 100, fill_staircase, 0, ""},
    {"counts times 1e10",         5, 2,    6, 100, fill_plain, 1e10, ""},
    {"counts times 1e-3",         5, 2,    6, 100, fill_plain, 1e-3, ""},
};
/* clang-format on */
enum { TORTURE_CASES = sizeof torture_cases / sizeof *torture_cases };

/* A value of a table: 0, 1, or missing when it is empty or NA. */
static inline blica_data *torture_read(blica_ctx *ctx, torture_case *c) {
  static char line[65536];
  int8_t *x = NULL;
  int32_t *segment = NULL;
  char **label = NULL;
  size_t rows = 0, capacity = 0;
  blica_data *data = NULL;
  gzFile file = gzopen(c->path, "rb");
  c->u = 0;
  while (file && gzgets(file, line, sizeof line)) {
    char *field[1024], *at = line;
    int fields = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (char *next; at && fields < 1024; at = next) {
      next = strpbrk(at, ", \t");
      if (next) *next++ = 0;
      field[fields++] = at;
    }
    c->n = fields - 1;
    if (rows == capacity) {
      capacity = capacity ? 2 * capacity : 1024;
      x = realloc(x, capacity * (size_t)c->n), segment = realloc(segment, capacity * sizeof *segment);
    }
    for (int i = 0; i < c->n; i++)
      x[rows * (size_t)c->n + (size_t)i] = field[i][0] == '1' ? 1 : field[i][0] == '0' ? 0 : BLICA_MISSING;
    int s = 0;
    while (s < c->u && strcmp(label[s], field[c->n]) != 0) s++;
    if (s == c->u) label = realloc(label, (size_t)++c->u * sizeof *label), label[s] = strdup(field[c->n]);
    segment[rows++] = s;
  }
  if (file) gzclose(file);
  if (rows)
    blica_pack(ctx,
               &(blica_table){.rows = (int64_t)rows,
                              .n = c->n,
                              .x = x,
                              .segment = segment,
                              .u = c->u,
                              .segments = (const char *const *)label},
               &data);
  for (int s = 0; s < c->u; s++) free(label[s]);
  free(x), free(segment), free(label);
  return data;
}

static inline blica_data *torture_data(blica_ctx *ctx, torture_case *c) {
  if (c->path[0]) return torture_read(ctx, c);
  size_t rows = (size_t)c->u * c->rows;
  int8_t *x = calloc(rows * c->n, 1);
  int32_t *segment = calloc(rows, sizeof *segment);
  blica_data *data = NULL;
  c->fill(x, c->n, c->u, c->rows);
  for (size_t r = 0; r < rows; r++) segment[r] = (int32_t)(r / (size_t)c->rows);
  blica_pack(ctx, &(blica_table){.rows = (int64_t)rows, .n = c->n, .x = x, .segment = segment, .u = c->u}, &data);
  free(x), free(segment);
  return data;
}

/* Weights as a survey has them: all counts times the same. */
static inline void torture_scale(blica_counts *counts, double scale) {
  size_t tables = (size_t)counts->pairs * counts->u, columns = (size_t)counts->n * counts->u;
  double *cells[] = {counts->n11, counts->n10, counts->n01, counts->n00};
  for (int c = 0; c < 4; c++)
    for (size_t i = 0; cells[c] && i < tables; i++) cells[c][i] *= scale;
  for (size_t i = 0; i < columns; i++) counts->ones[i] *= scale, counts->present[i] *= scale;
  for (int s = 0; s < counts->u; s++) counts->samples[s] *= scale;
}

#endif
