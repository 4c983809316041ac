/* Fisher's information of method matched about the covariances of the sources, against traces of dense matrices; and
 * the preconditioner that it serves, against the whole information matrix. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "estimate/gauss/matched_information.h"
#include "estimate/gauss/matched_precondition.h"
#include "num/blas.h"
#include "numbers.h"

void dgeev_(const char *, const char *, const int *, double *, const int *, double *, double *, double *, const int *,
            double *, const int *, double *, const int *, int *, size_t, size_t);

/* R, and L^1/2 with L = (R + D)^-1, of one segment, all [n,n] and dense. */
typedef struct {
  double *b, *r, *root; /* [n,k], [n,n], [n,n] */
} dense;

static dense make_dense(const bl_matched_point *at) {
  const size_t n = (size_t)at->n, k = (size_t)at->k;
  dense m = {zeros(n * k), zeros(n * n), zeros(n * n)};
  for (size_t i = 0; i < n; i++) {
    double sum = 1;
    for (size_t j = 0; j < k; j++) sum += at->link * exp(at->log_v[j]) * at->a[i + j * n] * at->a[i + j * n];
    for (size_t j = 0; j < k; j++) m.b[i + j * n] = at->a[i + j * n] * sqrt(at->link * exp(at->log_v[j]) / sum);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t l = 0; l < n; l++) {
      double sum = 0;
      for (size_t j = 0; j < k; j++) sum += m.b[i + j * n] * m.b[l + j * n];
      m.r[i + l * n] = i == l ? 1 : sum;
      m.root[i + l * n] = m.r[i + l * n] + (i == l ? at->noise[i] : 0);
    }
  assert_int_equal(bl_dpotrf('L', at->n, m.root, at->n), 0);
  return m;
}

static void free_dense(dense *m) {
  free(m->b), free(m->r), free(m->root);
}

/* x <- L^1/2' x L^1/2, of which products are the information. */
static void whiten(int n, const double *root, double *x) {
  bl_dtrsm('L', 'L', 'N', 'N', n, n, 1, root, n, x, n);
  bl_dtrsm('R', 'L', 'T', 'N', n, n, 1, root, n, x, n);
}

/* The change of T by F_pq = F_qp = 1, whitened. */
static double *change_by_covariance(const bl_matched_point *at, const dense *m, size_t p, size_t q) {
  const size_t n = (size_t)at->n;
  double *x = zeros(n * n);
  const double *bp = m->b + p * n, *bq = m->b + q * n;
  for (size_t i = 0; i < n; i++)
    for (size_t l = 0; l < n; l++) {
      const double half = p == q ? 0.5 : 1, ci = half * bp[i] * bq[i], cl = half * bp[l] * bq[l];
      x[i + l * n] = half * (bp[i] * bq[l] + bq[i] * bp[l]) - (ci + cl) * m->r[i + l * n];
    }
  whiten(at->n, m->root, x);
  return x;
}

static void test_information(void **state) {
  (void)state;
  enum { N = 70, K = 4 };
  double *a = random_numbers(N * K, 3, 1), *log_v = random_numbers(K, 1, 2), *noise = random_numbers(N, 0.3, 3);
  for (size_t i = 0; i < N; i++) noise[i] += 0.6;
  bl_matched_point at = {N, K, 0.39, 300, a, log_v, noise};
  double root[K], w[K * K], among[K * K], pairs[K * K], alone[K * K], plain[K * K],
      *work = zeros(bl_matched_information_work(K, true)), *other = zeros(bl_matched_mixing_work(N, K));
  assert_true(bl_matched_information(&at, root, w, among, pairs, work));
  assert_true(bl_matched_information(&at, root, w, alone, NULL, work));
  assert_true(bl_matched_variances(&at, plain, other));
  dense m = make_dense(&at);
  for (size_t q = 0; q < K; q++)
    for (size_t p = 0; p <= q; p++) {
      double *x = change_by_covariance(&at, &m, p, q), *xp = change_by_covariance(&at, &m, p, p),
             *xq = change_by_covariance(&at, &m, q, q);
      const double alike = 150 * bl_ddot(N * N, xp, 1, xq, 1), own = 150 * bl_ddot(N * N, x, 1, x, 1);
      assert_true(fabs(among[p + q * K] - alike) < 1e-10 * (1 + fabs(alike)));
      assert_true(among[q + p * K] == among[p + q * K]);
      assert_true(fabs(alone[p + q * K] - alike) < 1e-10 * (1 + fabs(alike)));
      assert_true(fabs(plain[p + q * K] - alike) < 1e-10 * (1 + fabs(alike)));
      if (p < q) assert_true(fabs(pairs[p + q * K] - own) < 1e-10 * (1 + own));
      free(x), free(xp), free(xq);
    }
  free_dense(&m);
  free(a), free(log_v), free(noise), free(work), free(other);
}

/* The change of T by A_ij, whitened. */
static double *change_by_mixing(const bl_matched_point *at, const dense *m, size_t i, size_t j) {
  const size_t n = (size_t)at->n, k = (size_t)at->k;
  double *x = zeros(n * n), step[16];
  double root = sqrt(at->link * exp(at->log_v[j])), d = 1;
  for (size_t l = 0; l < k; l++) d += at->link * exp(at->log_v[l]) * at->a[i + l * n] * at->a[i + l * n];
  d = 1 / sqrt(d);
  for (size_t l = 0; l < k; l++) step[l] = d * root * ((l == j) - m->b[i + l * n] * m->b[i + j * n]);
  for (size_t l = 0; l < n; l++)
    for (size_t c = 0; c < k && l != i; c++) {
      x[i + l * n] += step[c] * m->b[l + c * n];
      x[l + i * n] = x[i + l * n];
    }
  whiten(at->n, m->root, x);
  return x;
}

/* H [size,size] += the information of one segment. */
static void add_information(const bl_matched_point *at, int s, size_t size, double *h) {
  const size_t n = (size_t)at->n, k = (size_t)at->k, own = n * k + k;
  dense m = make_dense(at);
  double **x = calloc(own, sizeof *x);
  for (size_t i = 0; i < own; i++)
    x[i] = i < n * k ? change_by_mixing(at, &m, i % n, i / n) : change_by_covariance(at, &m, i - n * k, i - n * k);
  for (size_t i = 0; i < own; i++)
    for (size_t j = 0; j < own; j++) {
      const size_t row = i < n * k ? i : i + k * (size_t)s, column = j < n * k ? j : j + k * (size_t)s;
      h[row + column * size] += 0.5 * at->weight * bl_ddot((int)(n * n), x[i], 1, x[j], 1);
    }
  for (size_t i = 0; i < own; i++) free(x[i]);
  free(x);
  free_dense(&m);
}

/* Few sources of many items: H0 H is near the identity. */
static void test_preconditioner(void **state) {
  (void)state;
  enum { N = 24, K = 4, U = 6, SIZE = (N + U) * K };
  double weight[U], *noise = random_numbers(N * U, 0.3, 3), *theta = random_numbers(SIZE, 2, 5),
                    *h = zeros((size_t)SIZE * SIZE), *product = zeros((size_t)SIZE * SIZE), real[SIZE], imaginary[SIZE],
                    work[8 * SIZE];
  const int size = SIZE, one = 1, room = 8 * SIZE;
  int info = 0;
  blica_ctx *ctx;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int s = 0; s < U; s++) weight[s] = 300 + 100 * s;
  for (size_t i = 0; i < N * U; i++) noise[i] += 0.6;
  const bl_sgauss_data data = {
      .n = N, .k = K, .u = U, .link = 0.39, .precision_mixing = 0.1, .precision_variance = 1, .weight = weight};
  for (int s = 0; s < U; s++) {
    const bl_matched_point at = {N, K, 0.39, weight[s], theta, theta + (N + s) * K, noise + N * s};
    add_information(&at, s, SIZE, h);
  }
  for (size_t i = 0; i < SIZE; i++) h[i * (SIZE + 1)] += i < N * K ? 0.1 : 1;
  bl_matched_preconditioner *p;
  assert_int_equal(bl_matched_preconditioner_make(ctx, &data, noise, &p), BLICA_OK);
  bl_matched_preconditioner_set(p, theta);
  memcpy(product, h, (size_t)SIZE * SIZE * sizeof *h);
  for (size_t i = 0; i < SIZE; i++) bl_matched_preconditioner_apply(p, product + i * SIZE);
  dgeev_("N", "N", &size, product, &size, real, imaginary, NULL, &one, NULL, &one, work, &room, &info, 1, 1);
  assert_int_equal(info, 0);
  for (size_t i = 0; i < SIZE; i++) assert_true(real[i] > 0.35 && real[i] < 2 && fabs(imaginary[i]) < 1e-8);
  bl_matched_preconditioner_free(p);
  free(noise), free(theta), free(h), free(product);
  blica_ctx_free(ctx);
}

/* A fit of few sources of many items takes few evaluations, and larger problems begin by joint diagonalisation. */
static void test_evaluations(void **state) {
  (void)state;
  blica_ctx *ctx;
  blica_model *truth, *model;
  blica_data *data;
  blica_simulate_options o = blica_simulate_options_default();
  blica_fit_options fit = blica_fit_options_default();
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  o.variables = 60, o.sources = 5, o.segments = 12, o.samples = 500, o.seed = 3;
  fit.sources = 5;
  assert_int_equal(blica_simulate(ctx, &o, &truth, &data, NULL), BLICA_OK);
  blica_input input = {data, NULL, NULL};
  assert_int_equal(blica_fit(ctx, &input, &fit, &model), BLICA_OK);
  assert_int_equal(model->fit.stop, BLICA_STOP_CONVERGED);
  assert_true(model->fit.evaluations <= 60);
  assert_int_equal(model->fit.n_starts, 3);
  for (int i = 0; i < 3; i++) {
    assert_true(model->fit.starts[i].evaluations <= 25);
    assert_string_equal(model->fit.starts[i].kind, i ? "half" : "jointdiag");
  }
  blica_model_free(truth), blica_model_free(model), blica_data_free(data);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_information), cmocka_unit_test(test_preconditioner),
                                     cmocka_unit_test(test_evaluations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
