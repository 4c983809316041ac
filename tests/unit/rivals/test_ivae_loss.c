/* Loss and gradient of the linear iVAE: a fixture by complex steps, central differences on
 * random cases, and the same bits for any number of threads and any instruction set. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "data/ivae_fixture.h"
#include "rivals/rivals.h"
#include "ivae_fits.h"
#include "num/rng.h"

static int setup(void **state) {
  int failed = open_context(state);
  if (!failed) blica_set_threads(ctx, 1); /* the cases are too small to share out */
  return failed;
}

/* ---- own fixture: missing values, both forms of the divergence ---- */

static void check_own(bool analytic, double loss, const double *want) {
  blica_data *data = pack(FX_ROWS, FX_N, FX_U, fx_x, fx_segment);
  bl_ivae *ivae;
  double gradient[FX_SIZE];
  assert_compare(data->missing, >, 0);
  assert_int_equal(bl_ivae_create(ctx, data, FX_K, analytic, &ivae), BLICA_OK);
  assert_int_equal(bl_ivae_layout_of(FX_N, FX_K, FX_U).size, FX_SIZE);
  bl_ivae_noise_set(ivae, fx_eps);
  assert_close("loss", -1, bl_ivae_loss(ctx, ivae, fx_theta, gradient), loss, loss, 1e-13);
  for (int i = 0; i < FX_SIZE; i++) assert_close("gradient", i, gradient[i], want[i], fabs(want[i]), 1e-12);
  double alone = bl_ivae_loss(ctx, ivae, fx_theta, NULL);
  assert_close("loss without gradient", -1, alone, loss, loss, 1e-13);
  bl_free(ivae);
  blica_data_free(data);
}

static void test_own_sample(void **state) {
  (void)state;
  check_own(false, fx_loss_sample, fx_gradient_sample);
}

static void test_own_analytic(void **state) {
  (void)state;
  check_own(true, fx_loss_analytic, fx_gradient_analytic);
}

/* ---- random cases ---- */

typedef struct {
  blica_data *data;
  bl_ivae *ivae;
  size_t size;
  double *theta, *gradient;
} problem;

static problem random_problem(int n, int k, int u, int rows, bool analytic, uint64_t seed) {
  problem p;
  bl_rng rng = bl_rng_make(seed, 0);
  int8_t *x = malloc((size_t)rows * (size_t)n);
  int32_t *segment = malloc((size_t)rows * sizeof *segment);
  for (int i = 0; i < rows * n; i++) x[i] = bl_rng_uniform(&rng) < 0.05 ? BLICA_MISSING : (bl_rng_uniform(&rng) < 0.5);
  for (int r = 0; r < rows; r++) segment[r] = (int32_t)(bl_rng_uniform(&rng) * bl_rng_uniform(&rng) * u);
  for (int s = 0; s < u; s++) segment[s] = s;
  p.data = pack(rows, n, u, x, segment);
  assert_int_equal(bl_ivae_create(ctx, p.data, k, analytic, &p.ivae), BLICA_OK);
  bl_ivae_noise(p.ivae, seed);
  p.size = bl_ivae_layout_of(n, k, u).size;
  p.theta = malloc(p.size * sizeof(double));
  p.gradient = malloc(p.size * sizeof(double));
  for (size_t i = 0; i < p.size; i++) p.theta[i] = 0.6 * bl_rng_uniform(&rng) - 0.3;
  free(x), free(segment);
  return p;
}

static void free_problem(problem *p) {
  bl_free(p->ivae);
  blica_data_free(p->data);
  free(p->theta), free(p->gradient);
}

static void test_central_differences(void **state) {
  (void)state;
  static const int shape[][4] = {{2, 1, 1, 7}, {3, 2, 2, 65}, {7, 7, 4, 300}, {20, 13, 3, 500}};
  for (int c = 0; c < 8; c++) {
    const int *s = shape[c / 2];
    problem p = random_problem(s[0], s[1], s[2], s[3], c % 2, 17);
    bl_ivae_loss(ctx, p.ivae, p.theta, p.gradient);
    for (size_t i = 0; i < p.size; i += 1 + p.size / 60) {
      double at = p.theta[i], h = 1e-4, f[4];
      for (int j = 0; j < 4; j++) {
        p.theta[i] = at + (j < 2 ? j - 2 : j - 1) * h;
        f[j] = bl_ivae_loss(ctx, p.ivae, p.theta, NULL);
      }
      p.theta[i] = at;
      double want = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
      assert_close("central difference", (int)i, p.gradient[i], want, fmax(1, fabs(want)), 1e-10);
    }
    free_problem(&p);
  }
}

static void check_bits(int n, int k, int u, int rows, bool analytic) {
  problem p = random_problem(n, k, u, rows, analytic, 5);
  blica_set_threads(ctx, 1);
  double loss = bl_ivae_loss(ctx, p.ivae, p.theta, p.gradient);
  double *other = malloc(p.size * sizeof(double));
  bl_free(p.ivae);
  static const int threads[] = {1, 2, 7};
  for (int t = 0; t < 3; t++)
    for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
      blica_set_threads(ctx, threads[t]);
      blica_set_simd(ctx, (blica_simd)level);
      assert_int_equal(bl_ivae_create(ctx, p.data, k, analytic, &p.ivae), BLICA_OK);
      bl_ivae_noise(p.ivae, 5);
      double again = bl_ivae_loss(ctx, p.ivae, p.theta, other);
      assert_memory_equal(&again, &loss, sizeof loss);
      assert_memory_equal(other, p.gradient, p.size * sizeof(double));
      bl_free(p.ivae);
    }
  p.ivae = NULL;
  blica_set_simd(ctx, BLICA_SIMD_AUTO);
  blica_set_threads(ctx, 1);
  free(other);
  free_problem(&p);
}

static void test_bits(void **state) {
  (void)state;
  check_bits(5, 5, 40, 4000, false);
  check_bits(6, 2, 3, 9001, true);     /* a segment of several pieces */
  check_bits(30, 17, 70, 3000, false); /* tasks of several pieces, the larger panel */
}

/* Extreme parameters: the log-sigmoid neither overflows nor cancels. */
static void test_stable(void **state) {
  (void)state;
  static const int8_t x[] = {0, 0, 1, 1};
  static const int32_t segment[] = {0, 0};
  blica_data *data = pack(2, 2, 1, x, segment);
  bl_ivae *ivae;
  assert_int_equal(bl_ivae_create(ctx, data, 1, true, &ivae), BLICA_OK);
  double theta[14] = {0}, gradient[14]; /* Wm bm Wl bl Wf[2] Wg[3] bg Wv[3] bv */
  theta[4] = theta[5] = 1;
  theta[9] = 800; /* z = 800 in both rows (the noise is zero): softplus(800) in the first, exp(-800) in the second */
  double kl = 0.5 * 800 * 800, loss = bl_ivae_loss(ctx, ivae, theta, gradient);
  assert_close("loss", 0, loss, 800 + kl, 800 + kl, 1e-14);
  assert_close("decoder", 4, gradient[4], 400, 400, 1e-14);
  bl_free(ivae);
  blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_sample),
      cmocka_unit_test(test_own_analytic),
      cmocka_unit_test(test_central_differences),
      cmocka_unit_test(test_bits),
      cmocka_unit_test(test_stable),
  };
  return cmocka_run_group_tests(tests, setup, close_context);
}
