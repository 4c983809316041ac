/* Products with packed symmetric matrices, eigenvalues at their ends by Lanczos, and what the scaled Gaussian
 * likelihood makes of them for large n: each against the form that keeps full matrices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "estimate/gauss/sgauss_precondition.h"
#include "estimate/gauss/sgauss_precondition_low.h"
#include "num/blas.h"
#include "num/lanczos.h"
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
      double *c = unpacked(&m), *work = zeros(bl_symmetric_work((int)n, (int)k));
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

typedef struct {
  blica_ctx *ctx;
  bl_sgauss_data data;
  size_t size;
  double *theta, *pairs;
} problem;

static problem make_problem(int n, int k, int u) {
  problem p = {.data = {.n = n, .k = k, .u = u, .link = 0.4}};
  size_t pairs = (size_t)n * (size_t)(n - 1) / 2;
  assert_int_equal(blica_ctx_create(&p.ctx), BLICA_OK);
  p.pairs = random_numbers(pairs * (size_t)u, 0.2, 1);
  p.data.pairs = p.pairs;
  p.data.scale = zeros((size_t)u);
  p.data.weight = zeros((size_t)u);
  for (int s = 0; s < u; s++) p.data.scale[s] = 1 / (1.5 + s), p.data.weight[s] = 100 + 10 * s;
  p.size = bl_sgauss_size(&p.data);
  p.theta = random_numbers(p.size, 0.5, 2);
  return p;
}

static void free_problem(problem *p) {
  free(p->pairs), free(p->data.scale), free(p->data.weight), free(p->theta);
  blica_ctx_free(p->ctx);
}

/* The likelihood from packed pairs is the likelihood from full matrices, and the same on 1, 2 and 7 threads. */
static void test_likelihood(void **state) {
  (void)state;
  problem p = make_problem(250, 6, 5);
  size_t nn = 250 * 250;
  bl_sgauss_data full = p.data;
  full.c = zeros(nn * 5);
  for (int s = 0; s < 5; s++) bl_sgauss_matrix(&p.data, s, full.c + nn * (size_t)s);
  double *g1 = zeros(p.size), *g2 = zeros(p.size), value = 0;
  const int threads[] = {1, 2, 7};
  bl_sgauss *e;
  for (int t = 0; t < 3; t++) {
    blica_set_threads(p.ctx, threads[t]);
    assert_int_equal(bl_sgauss_make(p.ctx, &p.data, &e), BLICA_OK);
    bl_blas_hold();
    double again = bl_sgauss_eval(e, p.theta, t == 0 ? g1 : g2);
    bl_blas_release();
    bl_sgauss_free(e);
    if (t == 0) value = again;
    assert_true(value == again);
    if (t > 0) assert_memory_equal(g1, g2, p.size * sizeof *g1);
  }
  assert_int_equal(bl_sgauss_make(p.ctx, &full, &e), BLICA_OK);
  double other = bl_sgauss_eval(e, p.theta, g2);
  assert_compare(fabs(other - value), <, 1e-13 * fabs(value));
  for (size_t i = 0; i < p.size; i++) assert_compare(fabs(g1[i] - g2[i]), <, 1e-11 * (1 + fabs(g2[i])));
  bl_sgauss_free(e);
  free(g1), free(g2), free(full.c);
  free_problem(&p);
}

/* Both forms of the preconditioner are one matrix. */
static void test_preconditioner(void **state) {
  (void)state;
  problem p = make_problem(40, 6, 5);
  double *a = random_numbers(p.size, 1, 3), *b = zeros(p.size), size = 0;
  memcpy(b, a, p.size * sizeof *b);
  for (int prior = 0; prior < 2; prior++) {
    bl_sgauss_preconditioner *dense;
    bl_low_preconditioner *low;
    p.data.precision_mixing = prior * 3.0, p.data.precision_variance = prior * 2.0;
    assert_int_equal(bl_sgauss_preconditioner_make(p.ctx, &p.data, NULL, &dense), BLICA_OK);
    assert_int_equal(bl_low_preconditioner_make(p.ctx, &p.data, NULL, 0.05, &low), BLICA_OK);
    bl_sgauss_preconditioner_set(dense, p.theta);
    bl_low_preconditioner_set(low, p.theta);
    bl_sgauss_preconditioner_apply(dense, a);
    bl_low_preconditioner_apply(low, b);
    for (size_t i = 0; i < p.size; i++) size = fmax(size, fabs(a[i]));
    for (size_t i = 0; i < p.size; i++) assert_compare(fabs(a[i] - b[i]), <, 1e-12 * size);
    bl_sgauss_preconditioner_free(dense);
    bl_low_preconditioner_free(low);
  }
  free(a), free(b);
  free_problem(&p);
}

/* The part of a row of g [n,k] that is orthogonal to the same row of A. */
static void remove_row_scales(size_t n, size_t k, const double *a, double *g) {
  for (size_t i = 0; i < n; i++) {
    double product = 0, squares = 0;
    for (size_t j = 0; j < k; j++) product += a[i + j * n] * g[i + j * n], squares += a[i + j * n] * a[i + j * n];
    for (size_t j = 0; j < k; j++) g[i + j * n] -= product / squares * a[i + j * n];
  }
}

/* The same with the noise of method matched, of which the small form keeps the mean: noise that makes D_i M_ii equal
 * for all items leaves nothing to neglect. There are no scales q then, and the whole preconditioner is half of the sum
 * of this and of what it adds along the rows of A. (Few sources of more items have a preconditioner of their own.) */
static void test_preconditioner_noise(void **state) {
  (void)state;
  problem p = make_problem(30, 6, 5);
  const size_t n = 30, k = 6, u = 5, size = (n + u) * k;
  double *noise = zeros(n * u), *theta = zeros(size), *a = random_numbers(size, 1, 3), *b = zeros(size), most = 0;
  memcpy(theta, p.theta, n * k * sizeof *theta);
  for (size_t s = 0; s < u; s++)
    for (size_t j = 0; j < k; j++) theta[(n + s) * k + j] = 0.3 * (double)(s + j) - 0.8;
  for (size_t s = 0; s < u; s++)
    for (size_t i = 0; i < n; i++) {
      double m = 1;
      for (size_t j = 0; j < k; j++) m += p.data.link * exp(theta[(n + s) * k + j]) * pow(theta[i + j * n], 2);
      noise[i + n * s] = (0.5 + (double)s) / m;
    }
  memcpy(b, a, size * sizeof *b);
  bl_sgauss_preconditioner *dense;
  bl_low_preconditioner *low;
  p.data.precision_mixing = 3.0, p.data.precision_variance = 2.0;
  assert_int_equal(bl_sgauss_preconditioner_make(p.ctx, &p.data, noise, &dense), BLICA_OK);
  assert_int_equal(bl_low_preconditioner_make(p.ctx, &p.data, noise, 0.05, &low), BLICA_OK);
  bl_sgauss_preconditioner_set(dense, theta);
  bl_low_preconditioner_set(low, theta);
  bl_sgauss_preconditioner_apply(dense, a);
  bl_low_preconditioner_apply(low, b);
  remove_row_scales(n, k, theta, a);
  remove_row_scales(n, k, theta, b);
  for (size_t i = 0; i < size; i++) most = fmax(most, fabs(a[i]));
  for (size_t i = 0; i < size; i++) assert_compare(fabs(a[i] - 0.5 * b[i]), <, 1e-12 * most);
  bl_sgauss_preconditioner_free(dense);
  bl_low_preconditioner_free(low);
  free(noise), free(theta), free(a), free(b);
  free_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_lanczos),
                                     cmocka_unit_test(test_likelihood), cmocka_unit_test(test_preconditioner),
                                     cmocka_unit_test(test_preconditioner_noise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
