/* Products with packed symmetric matrices, and eigenvalues at their ends by Lanczos: each against the form that keeps
 * full matrices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "num/linear/blas.h"
#include "num/linear/symmetric.h"
#include "numbers.h"

static double *unpacked(const bl_symmetric *m) {
  size_t n = (size_t)m->n;
  double *c = zeros(n * n);
  for (size_t j = 0; j < n; j++) {
    c[j + j * n] = 1;
    for (size_t i = 0; i < j; i++) c[i + j * n] = c[j + i * n] = m->scale * m->pairs[j * (j - 1) / 2 + i];
  }
  return c;
}

/* Sizes around the tile's, one vector and several. */
static void test_products(void **state) {
  (void)state;
  const int sizes[] = {2, 5, 191, 192, 193, 400}, vectors[] = {1, 2, 10};
  for (int t = 0; t < 6; t++)
    for (int v = 0; v < 3; v++) {
      size_t n = (size_t)sizes[t], k = (size_t)vectors[v];
      double *pairs = random_numbers(n * (n - 1) / 2, 1, n), *x = random_numbers(n * k, 1, 77), *y = zeros(n * k);
      bl_symmetric m = {.n = (int)n, .pairs = pairs, .scale = 0.3};
      double *c = unpacked(&m), *work = zeros(bl_symmetric_work());
      bl_symmetric_product(&m, (int)k, x, y, work);
      for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++) {
          double sum = 0;
          for (size_t l = 0; l < n; l++) sum += c[i + l * n] * x[l + j * n];
          assert_compare(fabs(sum - y[i + j * n]), <, 1e-13 * sqrt((double)n));
        }
      free(pairs), free(x), free(y), free(c), free(work);
    }
}

/* Checks values against all eigenvalues w (rising), and that vectors and residuals are what they are said to be. */
static void check_ends(const bl_symmetric *m, const bl_lanczos_options *o, const double *w, double slack,
                       int expected) {
  size_t n = (size_t)m->n, wanted = (size_t)(o->low + o->high);
  double *work = zeros(bl_lanczos_work(m->n, o)), values[16], residual[16], *vectors = zeros(n * wanted), *y = zeros(n);
  assert_int_equal(bl_lanczos(m, o, work, values, residual, vectors), expected);
  double size = fmax(fabs(w[0]), fabs(w[n - 1]));
  for (size_t i = 0; i < wanted; i++) {
    double truth = i < (size_t)o->low ? w[i] : w[n - wanted + i], norm = 0, error = 0;
    assert_compare(fabs(values[i] - truth), <=, residual[i] + slack * size);
    if (expected == 0) assert_compare(residual[i], <=, o->tolerance * size);
    bl_symmetric_product(m, 1, vectors + i * n, y, work);
    for (size_t r = 0; r < n; r++) {
      double v = vectors[r + i * n], d = y[r] - values[i] * v;
      norm += v * v, error += d * d;
    }
    assert_compare(fabs(norm - 1), <, 1e-12);
    assert_compare(fabs(sqrt(error) - residual[i]), <, 1e-12 * size);
  }
  free(work), free(vectors), free(y);
}

static void check_against_lapack(const bl_symmetric *m, double slack) {
  const bl_lanczos_options both = {1, 1, 1e-9, 1000}, top = {0, 6, 1e-9, 1000}, low = {5, 0, 1e-9, 1000};
  double *c = unpacked(m), *w = zeros((size_t)m->n);
  assert_int_equal(bl_dsyev('N', 'L', m->n, c, m->n, w), 0);
  check_ends(m, &both, w, slack, 0);
  check_ends(m, &top, w, slack, 0);
  check_ends(m, &low, w, slack, 0);
  free(c), free(w);
}

/* Dense random spectra, a spectrum with few strong directions, repeated eigenvalues, and too few steps. */
static void test_lanczos(void **state) {
  (void)state;
  const size_t n = 350, pairs = n * (n - 1) / 2;
  double *r = random_numbers(pairs, 1, 8), *a = random_numbers(3 * n, 1, 9);
  bl_symmetric m = {.n = (int)n, .pairs = r, .scale = 1};
  check_against_lapack(&m, 1e-13);
  for (size_t j = 1; j < n; j++)
    for (size_t i = 0; i < j; i++)
      r[j * (j - 1) / 2 + i] = 0.05 * r[j * (j - 1) / 2 + i] +
                               0.3 * (a[i] * a[j] + 0.5 * a[n + i] * a[n + j] + 0.1 * a[2 * n + i] * a[2 * n + j]);
  check_against_lapack(&m, 1e-13);
  const bl_lanczos_options few = {1, 1, 1e-9, 20};
  double *c = unpacked(&m), *w = zeros(n);
  assert_int_equal(bl_dsyev('N', 'L', (int)n, c, (int)n, w), 0);
  check_ends(&m, &few, w, w[1] - w[0], 1);       /* not there yet; the residual says by how much */
  for (size_t p = 0; p < pairs; p++) r[p] = 0.3; /* 0.7 n-1 times, 0.7 + 0.3 n once */
  check_against_lapack(&m, 1e-13);
  memset(r, 0, pairs * sizeof *r); /* the identity */
  check_against_lapack(&m, 1e-13);
  r[17] = NAN;
  double *big = zeros(bl_lanczos_work((int)n, &few)), values[2], residual[2];
  assert_int_equal(bl_lanczos(&m, &few, big, values, residual, NULL), -1);
  free(r), free(a), free(c), free(w), free(big);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_lanczos)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
