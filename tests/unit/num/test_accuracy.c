/* The worst error of every special function over its whole domain, and where it is: the table of docs/accuracy.md, each
 * row held to its stated bound. References have 50 digits (tools/make_reference_*.py). Vector functions run as their
 * kernels are compiled: for any machine, for AVX2 and for AVX-512, multiply-adds fused in the last two. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "num/normal/normal.h"
#include "num/rectangles/mvn.h"
#include "num/normal/tables.h"
#include "num/simd.h"
#include "orthant.h"

/* ---- one row of the table ---- */

typedef struct {
  const char *name, *where; /* function; file and path */
  const char *unit;         /* "ulp": relative, in 2^-53; else absolute */
  double bound, worst;
  char at[64];
  long count;
} row;

static double error_of(const row *r, double got, double want) {
  if (got == want) return 0;
  double miss = fabs(got - want);
  return strcmp(r->unit, "ulp") == 0 ? miss / fmax(fabs(want), DBL_MIN) * 0x1p53 : miss;
}

static void look(row *r, double error, const char *format, ...) {
  r->count++;
  if (error <= r->worst) return;
  r->worst = error;
  va_list args;
  va_start(args, format);
  vsnprintf(r->at, sizeof r->at, format, args);
  va_end(args);
}

static void tell(const row *r) {
  if (r->count == 0) {
    printf("| %s | %s | not on this machine | | | |\n", r->name, r->where);
    return;
  }
  printf("| %s | %s | %.2g %s | %s | %.2g | %ld |\n", r->name, r->where, r->worst,
         strcmp(r->unit, "ulp") == 0 ? "ulp" : "", r->at, r->bound, r->count);
  if (!(r->worst <= r->bound))
    fail_msg("%s, %s: error %g at %s is above the stated %g", r->name, r->where, r->worst, r->at, r->bound);
}

/* Fields of a line as numbers, the first `skip` left out. */
static int numbers(char *line, int skip, int most, double *v) {
  int count = 0;
  for (char *at = strtok(line, ","); at; at = strtok(NULL, ","))
    if (skip-- <= 0 && count < most) v[count++] = strtod(at, NULL);
  return count;
}

static FILE *reference(const char *name) {
  char path[128], header[256];
  snprintf(path, sizeof path, "tests/data/%s_reference.csv", name);
  FILE *file = fopen(path, "r");
  if (!file) fail_msg("%s is missing", path);
  assert_non_null(fgets(header, sizeof header, file));
  return file;
}

/* ---- vector functions at each level ---- */

enum { V_EXP, V_LOG, V_SIN, V_PHI, V_DENSITY, V_QUANTILE };

BL_INLINE void apply(int what, const double *from, double *to) {
  bl_v x, y, below, above, density;
  memcpy(&x, from, sizeof x);
  bl_v_phi(what == V_PHI || what == V_DENSITY ? x : bl_v_all(0), &below, &above, &density);
  switch (what) {
  case V_EXP:
    y = bl_v_exp(x);
    break;
  case V_LOG:
    y = bl_v_log(x);
    break;
  case V_SIN:
    y = bl_v_sin(x);
    break;
  case V_PHI:
    y = below;
    break;
  case V_DENSITY:
    y = density;
    break;
  default:
    y = bl_v_phi_inverse(x, &density);
    break;
  }
  memcpy(to, &y, sizeof y);
}

typedef void (*level_fn)(int what, const double *from, double *to);
static void any_machine(int what, const double *from, double *to) {
  apply(what, from, to);
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void with_avx2(int what, const double *from, double *to) {
  apply(what, from, to);
}
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))) static void with_avx512(int what, const double *from,
                                                                                          double *to) {
  apply(what, from, to);
}
#else
#define with_avx2 any_machine
#define with_avx512 any_machine
#endif
static const struct {
  const char *name;
  blica_simd level;
  level_fn run;
} levels[] = {{"any machine", BLICA_SIMD_SCALAR, any_machine},
              {"AVX2", BLICA_SIMD_AVX2, with_avx2},
              {"AVX-512", BLICA_SIMD_AVX512, with_avx512}};

static blica_simd machine(void) {
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  blica_simd level = blica_simd_level(ctx);
  blica_ctx_free(ctx);
  return level;
}

static double at_level(int level, int what, double x) {
  double from[BL_LANES] __attribute__((aligned(64))), to[BL_LANES] __attribute__((aligned(64)));
  for (int i = 0; i < BL_LANES; i++) from[i] = x;
  levels[level].run(what, from, to);
  return to[5];
}

/* A vector function's three rows. */
static void vector_rows(const char *name, const char *file, int what, const char *unit, double bound, const double *x,
                        const double *want, int count) {
  for (int level = 0; level < 3; level++) {
    char where[64];
    snprintf(where, sizeof where, "%s, %s", file, levels[level].name);
    row r = {name, where, unit, bound, 0, "", 0};
    for (int i = 0; i < count && levels[level].level <= machine(); i++)
      look(&r, error_of(&r, at_level(level, what, x[i]), want[i]), "x = %.6g", x[i]);
    tell(&r);
  }
}

/* ---- the functions ---- */

enum { MOST = 4000 };

/* Points of one function of the elementary table. */
static int points(const char *name, double *x, double *want) {
  FILE *file = reference("elementary");
  char line[256];
  double v[2];
  int count = 0;
  while (fgets(line, sizeof line, file)) {
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ',') continue;
    assert_int_equal(numbers(line, 1, 2, v), 2);
    x[count] = v[0], want[count++] = v[1];
  }
  fclose(file);
  assert_compare(count, >, 200);
  return count;
}

static void elementary(void **state) {
  (void)state;
  static double x[MOST], want[MOST];
  int count = points("exp", x, want);
  vector_rows("exp", "simd.h", V_EXP, "ulp", 2, x, want, count);
  count = points("log", x, want);
  vector_rows("log", "simd.h", V_LOG, "ulp", 4, x, want, count);
  count = points("sin", x, want);
  vector_rows("sin, abs(x) <= 1.26", "simd.h", V_SIN, "ulp", 4, x, want, count);
  row r = {"Mills' ratio Phi(-x)/phi(x), x >= 0", "normal.c", "ulp", 8, 0, "", 0};
  count = points("mills", x, want);
  for (int i = 0; i < count; i++) look(&r, error_of(&r, bl_phi_mills(x[i]), want[i]), "x = %.6g", x[i]);
  tell(&r);
}

static void normal(void **state) {
  (void)state;
  static double x[MOST], phi[MOST], density[MOST], line_values[5];
  row rows[] = {{"density phi", "normal.c", "ulp", 4, 0, "", 0},
                {"Phi", "normal.c", "ulp", 5, 0, "", 0},
                {"log Phi", "normal.c", "ulp", 6, 0, "", 0}};
  double (*const f[])(double) = {bl_phi_density, bl_phi_cdf, bl_phi_log_cdf};
  FILE *file = reference("normal");
  char line[512];
  int count = 0;
  while (fgets(line, sizeof line, file)) {
    assert_int_equal(numbers(line, 0, 5, line_values), 5);
    for (int i = 0; i < 3; i++)
      if (fabs(line_values[1 + i]) > DBL_MIN)
        look(&rows[i], error_of(&rows[i], f[i](line_values[0]), line_values[1 + i]), "x = %.6g", line_values[0]);
    if (fabs(line_values[0]) > 37) continue; /* vector functions end there */
    x[count] = line_values[0], density[count] = line_values[1], phi[count++] = line_values[2];
  }
  fclose(file);
  for (int i = 0; i < 3; i++) tell(&rows[i]);
  vector_rows("density phi, abs(x) <= 37", "simd.h", V_DENSITY, "ulp", 700, x, density, count);
  vector_rows("Phi, abs(x) <= 37", "simd.h", V_PHI, "ulp", 700, x, phi, count);
  int near = 0;
  for (int i = 0; i < count; i++)
    if (fabs(x[i]) <= 5) x[near] = x[i], phi[near++] = phi[i];
  vector_rows("Phi, abs(x) <= 5", "simd.h", V_PHI, "ulp", 10, x, phi, near);
}

static void quantile(void **state) {
  (void)state;
  static double p[MOST], x[MOST];
  double v[2];
  row r = {"Phi^-1", "normal.c", "ulp", 5, 0, "", 0};
  FILE *file = reference("quantile");
  char line[256];
  int count = 0;
  while (fgets(line, sizeof line, file)) {
    assert_int_equal(numbers(line, 0, 2, v), 2);
    look(&r, error_of(&r, bl_phi_quantile(v[0]), v[1]), "p = %.6g", v[0]);
    if (v[0] > 1e-290) p[count] = v[0], x[count++] = v[1];
  }
  fclose(file);
  tell(&r);
  vector_rows("Phi^-1, p > 1e-290", "simd.h", V_QUANTILE, "absolute", 2e-14, p, x, count);
}

/* The tetrachoric correlation of the table that a reference value makes. Its error counts as the change of the table's
 * probability that would cause it: where the density is small no method can do better. */
static void look_tetra(row *r, blica_simd level, double h, double k, double rho, double p11) {
  double array[4 + 4][8] __attribute__((aligned(64)));
  double share[4] = {p11, bl_phi_cdf(h) - p11, bl_phi_cdf(k) - p11, bl_phi_cdf(-h) - bl_phi_cdf(k) + p11};
  bl_tetra_batch batch = {.capacity = 8, .h = array[4], .k = array[5], .rho = array[6], .variance = array[7]};
  for (int c = 0; c < 4; c++) {
    if (!(share[c] > 1e-12)) return;
    batch.share[c] = array[c];
    for (int i = 0; i < 8; i++) array[c][i] = share[c];
  }
  for (int i = 0; i < 8; i++) array[4][i] = h, array[5][i] = k;
  bl_tetra_solve(level, &batch, 8);
  double miss = fmax(0, fabs(batch.rho[3] - rho) - DBL_EPSILON / 2); /* rho itself is rounded */
  look(r, miss * bl_bvn_density(h, k, rho), "h = %.4g, k = %.4g, rho = %.6g", h, k, rho);
}

static void bivariate(void **state) {
  (void)state;
  double v[4];
  row r = {"Phi2(h,k;rho)", "bvn.c", "absolute", 1e-15, 0, "", 0}, t[3];
  for (int level = 0; level < 3; level++)
    t[level] = (row){"tetrachoric rho, as an error of p11", levels[level].name, "absolute", 1e-15, 0, "", 0};
  FILE *file = reference("bvn");
  char line[256];
  while (fgets(line, sizeof line, file)) {
    assert_int_equal(numbers(line, 0, 4, v), 4);
    look(&r, error_of(&r, blica_bvn(v[0], v[1], v[2]), v[3]), "h = %.4g, k = %.4g, rho = %.6g", v[0], v[1], v[2]);
    for (int level = 0; level < 3; level++)
      if (levels[level].level <= machine() && isfinite(v[0]) && isfinite(v[1]) && fabs(v[2]) < 1)
        look_tetra(&t[level], levels[level].level, v[0], v[1], v[2], v[3]);
  }
  fclose(file);
  tell(&r);
  for (int level = 0; level < 3; level++) tell(&t[level]);
}

/* Correlations of tables of up to 6 by 6 levels. */
static void polychoric(void **state) {
  (void)state;
  enum { LEVELS = 6 };
  double v[3 + LEVELS * LEVELS], work[BL_POLYCHORIC_WORK(LEVELS, LEVELS)];
  row r[3];
  for (int level = 0; level < 3; level++)
    r[level] = (row){"polychoric rho", levels[level].name, "absolute", 1e-13, 0, "", 0};
  FILE *file = reference("polychoric");
  char line[1024];
  while (fgets(line, sizeof line, file)) {
    const int count = numbers(line, 0, 3 + LEVELS * LEVELS, v), rows = (int)v[0], columns = (int)v[1];
    double total = 0, share[LEVELS * LEVELS * BL_LANES], rho[BL_LANES];
    assert_int_equal(count, 3 + rows * columns);
    for (int c = 0; c < rows * columns; c++) total += v[3 + c];
    for (int c = 0; c < rows * columns * BL_LANES; c++) share[c] = v[3 + c / BL_LANES] / total;
    for (int level = 0; level < 3; level++) {
      if (levels[level].level > machine()) continue;
      bl_polychoric(levels[level].level, rows, columns, 1, share, NULL, work, rho, NULL);
      look(&r[level], fabs(rho[0] - v[2]), "%d by %d levels, rho = %.6g", rows, columns, v[2]);
    }
  }
  fclose(file);
  for (int level = 0; level < 3; level++) tell(&r[level]);
}

enum { LARGEST = 20 };

static void orthants(void **state) {
  (void)state;
  static char line[65536];
  static double v[1 + LARGEST + LARGEST * LARGEST + LARGEST];
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  row lattice = {"log P of an orthant, n = 3, wanted 1e-6", "mvn.c", "absolute", 1e-4, 0, "", 0};
  FILE *file = reference("mvn");
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "three,3,", 8) != 0) continue;
    uint8_t x[3];
    double log_p, error;
    assert_int_equal(numbers(line, 2, 1 + 3 + 9 + 3, v), 16);
    for (int i = 0; i < 3; i++) x[i] = (uint8_t)v[13 + i];
    assert_true(one_orthant(ctx, 3, v + 1, v + 4, x, 1e-6, &log_p, &error));
    look(&lattice, fabs(log_p - v[0]), "log P = %.4g", v[0]);
  }
  fclose(file);
  tell(&lattice);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(elementary), cmocka_unit_test(normal),
                                     cmocka_unit_test(quantile),   cmocka_unit_test(bivariate),
                                     cmocka_unit_test(polychoric), cmocka_unit_test(orthants)};
  printf("| function | where | worst error | at | stated bound | values |\n|---|---|---|---|---|---|\n");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
