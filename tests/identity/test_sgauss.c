/* Scaled Gaussian likelihood: value against plain linear algebra, gradient and Hessian against central
 * differences, lanes against BLAS, every SIMD level, any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "estimate/gauss/sgauss.h"
#include "num/blas.h"
#include "num/rng.h"

typedef struct {
  blica_ctx *ctx;
  bl_sgauss_data data;
  bl_sgauss *g;
  double *theta, *gradient;
  size_t size;
} problem;

/* Random correlation matrices in either layout, whatever n is. */
static void make(problem *p, int n, int k, int u, bool lanes, int threads) {
  *p = (problem){.data = {.n = n, .k = k, .u = u, .link = 0.39, .lanes = lanes, .blocks = (u + 7) / 8}};
  assert_int_equal(blica_ctx_create(&p->ctx), BLICA_OK);
  blica_set_threads(p->ctx, threads);
  size_t nn = (size_t)n * n, copies = lanes ? (size_t)p->data.blocks * 8 : (size_t)u;
  assert_int_equal(bl_alloc(p->ctx, nn * copies, &p->data.c), BLICA_OK);
  assert_int_equal(bl_alloc(p->ctx, (size_t)u, &p->data.weight), BLICA_OK);
  bl_rng rng = bl_rng_make(7, 0);
  double *raw = calloc(2 * nn, sizeof *raw), *c = calloc(nn, sizeof *c);
  for (int s = 0; s < (int)copies; s++) {
    for (size_t i = 0; i < 2 * nn; i++) raw[i] = bl_rng_normal(&rng);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        c[i + j * n] = 0;
        for (int r = 0; r < 2 * n; r++) c[i + j * n] += raw[i + r * n] * raw[j + r * n];
      }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        double rho = i == j ? 1 : c[i + j * n] / sqrt(c[i + i * n] * c[j + j * n]);
        if (lanes)
          p->data.c[((size_t)(s / 8) * nn + (size_t)(i + j * n)) * 8 + (size_t)(s % 8)] = rho;
        else
          p->data.c[nn * (size_t)s + (size_t)(i + j * n)] = rho;
      }
    if (s < u) p->data.weight[s] = 50 + 10 * s;
  }
  free(raw), free(c);
  p->size = bl_sgauss_size(&p->data);
  p->theta = calloc(p->size, sizeof *p->theta);
  p->gradient = calloc(p->size, sizeof *p->gradient);
  bl_rng start = bl_rng_make(8, 0);
  for (size_t i = 0; i < p->size; i++) p->theta[i] = 0.7 * bl_rng_normal(&start);
  assert_int_equal(bl_sgauss_make(p->ctx, &p->data, &p->g), BLICA_OK);
}

static void drop(problem *p) {
  bl_sgauss_free(p->g);
  bl_free(p->data.c), bl_free(p->data.weight);
  free(p->theta), free(p->gradient);
  blica_ctx_free(p->ctx);
}

/* f from its definition: S formed, factored and inverted. */
static double by_definition(const problem *p) {
  const bl_sgauss_data *d = &p->data;
  int n = d->n, k = d->k;
  double total = 0, *s_matrix = calloc((size_t)n * n, sizeof(double)), *c = calloc((size_t)n * n, sizeof(double));
  for (int s = 0; s < d->u; s++) {
    const double *lv = p->theta + bl_sgauss_local(d, s), *lq = lv + k;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        double m = i == j;
        for (int l = 0; l < k; l++) m += d->link * p->theta[i + l * n] * exp(lv[l]) * p->theta[j + l * n];
        s_matrix[i + j * n] = exp(lq[i] + lq[j]) * m;
      }
    bl_sgauss_matrix(d, s, c);
    assert_int_equal(bl_dpotrf('L', n, s_matrix, n), 0);
    double log_det = 0, trace = 0;
    for (int i = 0; i < n; i++) log_det += 2 * log(s_matrix[i + i * n]);
    bl_dpotrs('L', n, n, s_matrix, n, c, n);
    for (int i = 0; i < n; i++) trace += c[i + i * n];
    total += 0.5 * d->weight[s] * (log_det + trace);
  }
  free(s_matrix), free(c);
  return total;
}

static const int sizes[][3] = {{2, 1, 3}, {4, 4, 9}, {5, 3, 8}, {7, 7, 3}, {10, 6, 17}, {3, 2, 1}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void value_is_the_definition(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++)
    for (int lanes = 0; lanes < 2; lanes++) {
      problem p;
      make(&p, sizes[c][0], sizes[c][1], sizes[c][2], lanes, 1);
      double f = bl_sgauss_eval(p.g, p.theta, p.gradient), reference = by_definition(&p);
      assert_compare(fabs(f - reference), <, 1e-12 * fabs(reference));
      drop(&p);
    }
}

static void gradient_is_the_derivative(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++)
    for (int lanes = 0; lanes < 2; lanes++) {
      problem p;
      make(&p, sizes[c][0], sizes[c][1], sizes[c][2], lanes, 1);
      p.data.precision_mixing = 0.3, p.data.precision_variance = 0.7;
      bl_sgauss_eval(p.g, p.theta, p.gradient);
      for (size_t i = 0; i < p.size; i++) {
        double keep = p.theta[i], h = 1e-5;
        p.theta[i] = keep + h;
        double up = bl_sgauss_eval(p.g, p.theta, NULL);
        p.theta[i] = keep - h;
        double down = bl_sgauss_eval(p.g, p.theta, NULL);
        p.theta[i] = keep;
        assert_compare(fabs((up - down) / (2 * h) - p.gradient[i]), <, 1e-6 * (1 + fabs(p.gradient[i])));
      }
      drop(&p);
    }
}

static void lanes_equal_dense_at_every_level(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++) {
    problem a;
    make(&a, sizes[c][0], sizes[c][1], sizes[c][2], false, 1);
    double fa = bl_sgauss_eval(a.g, a.theta, a.gradient);
    for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
      problem b;
      make(&b, sizes[c][0], sizes[c][1], sizes[c][2], true, 1);
      bl_sgauss_free(b.g);
      blica_set_simd(b.ctx, (blica_simd)level);
      assert_int_equal(bl_sgauss_make(b.ctx, &b.data, &b.g), BLICA_OK);
      double fb = bl_sgauss_eval(b.g, b.theta, b.gradient);
      assert_compare(fabs(fa - fb), <, 1e-12 * fabs(fa));
      for (size_t i = 0; i < a.size; i++)
        assert_compare(fabs(a.gradient[i] - b.gradient[i]), <, 1e-10 * (1 + fabs(a.gradient[i])));
      drop(&b);
    }
    drop(&a);
  }
}

static void threads_do_not_change_bits(void **state) {
  (void)state;
  for (int lanes = 0; lanes < 2; lanes++) {
    problem one;
    make(&one, 9, 5, 37, lanes, 1);
    double f = bl_sgauss_eval(one.g, one.theta, one.gradient);
    for (int threads = 2; threads <= 7; threads += 5) {
      problem many;
      make(&many, 9, 5, 37, lanes, threads);
      double again = bl_sgauss_eval(many.g, many.theta, many.gradient);
      assert_memory_equal(&f, &again, sizeof f);
      assert_memory_equal(one.gradient, many.gradient, one.size * sizeof *one.gradient);
      drop(&many);
    }
    drop(&one);
  }
}

static void hessian_is_the_second_derivative(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++) {
    problem p;
    make(&p, sizes[c][0], sizes[c][1], sizes[c][2], true, 1);
    size_t nk = (size_t)p.data.n * p.data.k, m = (size_t)(p.data.n + p.data.k), size = p.size;
    double *hessian = calloc(size * size, sizeof(double)), *aa = calloc(nk * nk, sizeof(double)),
           *al = calloc(nk * m, sizeof(double)), *ll = calloc(m * m, sizeof(double));
    bl_sgauss_hessian *work;
    assert_int_equal(bl_sgauss_hessian_make(p.ctx, &p.data, &work), BLICA_OK);
    for (int s = 0; s < p.data.u; s++) {
      size_t at = bl_sgauss_local(&p.data, s);
      bl_sgauss_hessian_segment(work, s, p.theta, false, aa, al, ll);
      for (size_t j = 0; j < m; j++) {
        for (size_t i = 0; i < nk; i++) hessian[i + size * (at + j)] = hessian[(at + j) + size * i] = al[i + nk * j];
        for (size_t i = 0; i < m; i++) hessian[(at + i) + size * (at + j)] = ll[i + m * j];
      }
    }
    for (size_t j = 0; j < nk; j++)
      for (size_t i = 0; i < nk; i++) hessian[i + size * j] = aa[i + nk * j];
    double *up = calloc(size, sizeof(double)), *down = calloc(size, sizeof(double));
    for (size_t j = 0; j < size; j++) {
      double keep = p.theta[j], h = 1e-5;
      p.theta[j] = keep + h;
      bl_sgauss_eval(p.g, p.theta, up);
      p.theta[j] = keep - h;
      bl_sgauss_eval(p.g, p.theta, down);
      p.theta[j] = keep;
      for (size_t i = 0; i < size; i++) {
        double exact = hessian[i + size * j], approximate = (up[i] - down[i]) / (2 * h);
        assert_compare(fabs(exact - approximate), <, 1e-5 * (1 + fabs(exact)));
      }
    }
    free(up), free(down), free(hessian), free(aa), free(al), free(ll);
    bl_free(work);
    drop(&p);
  }
}

static void newton_ends_at_a_stationary_point(void **state) {
  (void)state;
  problem p;
  make(&p, 6, 3, 12, true, 1);
  p.data.precision_mixing = 0.1, p.data.precision_variance = 0.5;
  bl_newton_options options = {.tolerance = 1e-10, .max_steps = 200};
  bl_newton_result result;
  assert_int_equal(bl_sgauss_newton(p.ctx, p.g, p.theta, &options, &result), BLICA_OK);
  double f = bl_sgauss_eval(p.g, p.theta, p.gradient), most = 0;
  for (size_t i = 0; i < p.size; i++) most = fmax(most, fabs(p.gradient[i]));
  assert_true(f == result.value);
  assert_true(most == result.gradient_max);
  assert_compare(most, <, 1e-10 * fabs(f));
  assert_true(result.positive);
  drop(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(value_is_the_definition),          cmocka_unit_test(gradient_is_the_derivative),
      cmocka_unit_test(lanes_equal_dense_at_every_level), cmocka_unit_test(threads_do_not_change_bits),
      cmocka_unit_test(hessian_is_the_second_derivative), cmocka_unit_test(newton_ends_at_a_stationary_point)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
