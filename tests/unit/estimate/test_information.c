/* Fisher's information of method matched about the covariances of the sources, against traces of dense matrices; and
 * the preconditioner that it serves, against the whole information matrix. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "estimate/gauss/information.h"
#include "num/linear/blas.h"
#include "numbers.h"
#include "spectrum.h"

/* R, and L^1/2 with L = (R + D)^-1, of one segment, all [n,n] and dense. */
typedef struct {
  double *b, *r, *root; /* [n,k], [n,n], [n,n] */
} dense;

static dense make_dense(const bl_point *at) {
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
static double *change_by_covariance(const bl_point *at, const dense *m, size_t p, size_t q) {
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
  const bl_point at = {.n = N, .k = K, .link = 0.39, .weight = 300, .a = a, .log_v = log_v, .noise = noise};
  double root[K], w[K * K], among[K * K], pairs[K * K], alone[K * K], plain[K * K],
      *work = zeros(bl_sources_information_work(K, true)), *other = zeros(bl_information_work(N, K));
  assert_true(bl_sources_information(&at, root, w, among, pairs, work));
  assert_true(bl_sources_information(&at, root, w, alone, NULL, work));
  assert_true(bl_variances_information(&at, plain, other));
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
static double *change_by_mixing(const bl_point *at, const dense *m, size_t i, size_t j) {
  const size_t n = (size_t)at->n, k = (size_t)at->k;
  double *x = zeros(n * n), step[32];
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
static void add_information(const bl_point *at, int s, size_t size, double *h) {
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

/* Eigenvalues of H0 H, H being the information of u segments of n items and k sources, lie between these. */
static void check_preconditioner(int n, int k, int u, double least, double most) {
  const size_t size = (size_t)(n + u) * (size_t)k, nk = (size_t)n * (size_t)k;
  double *noise = random_numbers((size_t)n * (size_t)u, 0.3, 3), *theta = random_numbers(size, 2, 5),
         *h = zeros(size * size), *weight = zeros((size_t)u);
  blica_ctx *ctx;
  bl_preconditioner p;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (int s = 0; s < u; s++) weight[s] = 300 + 100 * s;
  for (size_t i = 0; i < (size_t)n * (size_t)u; i++) noise[i] += 0.6;
  const bl_layout layout = {.n = n, .k = k, .u = u, .locals = k, .link = 0.39};
  const bl_gauss gauss = {.layout = layout, .samples = weight, .noise = noise};
  const bl_criterion criterion = {.layout = layout, .precision_mixing = 0.1, .precision_variance = 1, .gauss = &gauss};
  for (int s = 0; s < u; s++) {
    const bl_point at = bl_gauss_point(&gauss, theta, s);
    add_information(&at, s, size, h);
  }
  for (size_t i = 0; i < size; i++) h[i * (size + 1)] += i < nk ? 0.1 : 1;
  assert_true(bl_precondition_rows_fits(&layout) || nk <= 200);
  assert_int_equal(bl_precondition_rows(ctx, &criterion, &p), BLICA_OK);
  p.set(p.own, theta);
  for (size_t i = 0; i < size; i++) p.apply(p.own, h + i * size);
  double low, high;
  assert_true(find_spectrum((int)size, h, &low, &high));
  printf("n=%d k=%d: eigenvalues from %.3f to %.3f\n", n, k, low, high);
  assert_true(low > least && high < most);
  p.close(p.own);
  free(noise), free(theta), free(h), free(weight);
  blica_ctx_free(ctx);
}

/* Few sources of many items: H0 H is near the identity. */
static void test_few_sources(void **state) {
  (void)state;
  check_preconditioner(24, 4, 6, 0.35, 2);
}

/* A fit of many items takes few evaluations, and larger problems begin by joint diagonalisation. */
static void check_evaluations(int n, int k, int most) {
  blica_ctx *ctx;
  blica_model *truth, *model;
  blica_data *data;
  blica_simulate_options o = blica_simulate_options_default();
  blica_fit_options fit = blica_fit_options_default();
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  o.variables = n, o.sources = k, o.segments = 12, o.samples = 500, o.seed = 3;
  fit.sources = k;
  assert_int_equal(blica_simulate(ctx, &o, &truth, &data, NULL), BLICA_OK);
  blica_input input = {data, NULL, NULL};
  assert_int_equal(blica_fit(ctx, &input, &fit, &model), BLICA_OK);
  assert_int_equal(model->fit.stop, BLICA_STOP_CONVERGED);
  printf("n=%d k=%d: %d evaluations\n", n, k, (int)model->fit.evaluations);
  assert_true(model->fit.evaluations <= most);
  assert_int_equal(model->fit.n_starts, 3);
  for (int i = 0; i < 3; i++) {
    assert_true(model->fit.starts[i].evaluations <= 25);
    assert_string_equal(model->fit.starts[i].kind, i ? "half" : "jointdiag");
  }
  blica_model_free(truth), blica_model_free(model), blica_data_free(data);
  blica_ctx_free(ctx);
}

/* Few sources, and so many that approximations serve. */
static void test_evaluations(void **state) {
  (void)state;
  check_evaluations(60, 5, 60);
  check_evaluations(112, 28, 60);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_information), cmocka_unit_test(test_few_sources),
                                     cmocka_unit_test(test_evaluations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
