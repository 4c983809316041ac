/* The same numbers whatever the machine does: any number of threads and any repetition give the same bits of every
 * result; instruction sets give the same bits of counts and correlations, and of the rest to the bounds below. */
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
#include "blica.h"
#include "set_word.h"

enum { N = 6, K = 2, U = 9, ROWS = 120, METHODS = 6 };
static const char *const methods[METHODS] = {"blica", "matched", "pairwise", "mle", "ivae", "fastica"};

static blica_ctx *ctx;
static blica_data *data;
static blica_model *truth;

/* Everything that is computed from the data, in one place. */
typedef struct {
  blica_counts *counts;
  blica_cor *cor;
  blica_model *model[METHODS];
  blica_loglik_result *loglik[3]; /* by grid, lattice and expectation propagation */
  blica_posterior *sources[3];
} results;

static const char *const engines[3] = {"grid", "lattice", "ep"};

static int begin(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = N, o.sources = K, o.segments = U, o.samples = ROWS, o.seed = 12;
  if (blica_ctx_create(&ctx) != BLICA_OK) return -1;
  return blica_simulate(ctx, &o, &truth, &data, NULL) == BLICA_OK ? 0 : -1;
}

static int end(void **state) {
  (void)state;
  blica_data_free(data), blica_model_free(truth), blica_ctx_free(ctx);
  return 0;
}

static void compute(int threads, blica_simd level, results *r) {
  blica_set_threads(ctx, threads);
  blica_set_simd(ctx, level);
  assert_int_equal(blica_count(ctx, data, &r->counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, r->counts, &r->cor), BLICA_OK);
  for (int i = 0; i < METHODS; i++) {
    blica_fit_options o = blica_fit_options_default();
    blica_input input = {data, NULL, NULL};
    o.method = blica_method_find(methods[i]);
    o.sources = K, o.starts = 2;
    assert_int_equal(blica_fit(ctx, &input, &o, &r->model[i]), BLICA_OK);
  }
  for (int e = 0; e < 3; e++) {
    blica_loglik_options lo = blica_loglik_options_default();
    blica_sources_options so = blica_sources_options_default();
    set_word(blica_loglik_option_table, &lo, "engine", engines[e]);
    so.segment = e == 1 ? BLICA_SEGMENTS_UNKNOWN : BLICA_SEGMENTS_KNOWN;
    so.draws = e;
    assert_int_equal(blica_loglik(ctx, truth, data, &lo, &r->loglik[e]), BLICA_OK);
    assert_int_equal(blica_sources(ctx, truth, data, &so, &r->sources[e]), BLICA_OK);
  }
}

static void release(results *r) {
  blica_counts_free(r->counts), blica_cor_free(r->cor);
  for (int i = 0; i < METHODS; i++) blica_model_free(r->model[i]);
  for (int e = 0; e < 3; e++) blica_loglik_result_free(r->loglik[e]), blica_posterior_free(r->sources[e]);
}

static void same(const char *what, const double *a, const double *b, size_t count) {
  if (memcmp(a, b, count * sizeof *a) != 0) fail_msg("%s: other bits", what);
}

static void same_statistics(const results *a, const results *b) {
  size_t tables = (size_t)a->counts->pairs * U;
  same("n11", a->counts->n11, b->counts->n11, tables);
  same("ones", a->counts->ones, b->counts->ones, N * U);
  same("rho", a->cor->rho, b->cor->rho, tables);
  same("se", a->cor->se, b->cor->se, tables);
  same("thresholds", a->cor->thresholds, b->cor->thresholds, N * U);
}

static void same_everything(const results *a, const results *b) {
  same_statistics(a, b);
  for (int i = 0; i < METHODS; i++) {
    same(methods[i], a->model[i]->mixing, b->model[i]->mixing, N * K);
    same(methods[i], a->model[i]->variances, b->model[i]->variances, K * U);
    same(methods[i], a->model[i]->means, b->model[i]->means, K * U);
    same(methods[i], &a->model[i]->fit.objective, &b->model[i]->fit.objective, 1);
  }
  for (int e = 0; e < 3; e++) {
    same(engines[e], a->loglik[e]->loglik, b->loglik[e]->loglik, U);
    same(engines[e], a->sources[e]->mean, b->sources[e]->mean, (size_t)K * U * ROWS);
    same(engines[e], a->sources[e]->sd, b->sources[e]->sd, (size_t)K * U * ROWS);
  }
}

static void threads_and_repetition(void **state) {
  (void)state;
  const int threads[] = {1, 1, 2, 7}; /* the second is a repetition */
  results first, other;
  compute(1, BLICA_SIMD_AUTO, &first);
  for (int i = 1; i < 4; i++) {
    compute(threads[i], BLICA_SIMD_AUTO, &other);
    same_everything(&first, &other);
    release(&other);
  }
  release(&first);
}

static double largest_difference(const double *a, const double *b, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

/* Fits stop at a relative gradient of 1e-8, so their points differ by more than rounding, and more the flatter the
 * objective; ivae, whose kernels do the same operations at every width, and fastica do not differ at all. */
static void compare_fits(const results *a, const results *b) {
  const double objective[METHODS] = {1e-12, 1e-9, 1e-9, 1e-9, 0, 0}, cosine[METHODS] = {1e-10, 1e-6, 1e-6, 1e-6, 0, 0};
  for (int i = 0; i < METHODS; i++) {
    double mcs, own[K], change = fabs(a->model[i]->fit.objective / b->model[i]->fit.objective - 1);
    int matching[K];
    assert_int_equal(blica_compare(ctx, N, K, a->model[i]->mixing, b->model[i]->mixing, &mcs, matching, own), BLICA_OK);
    print_message("  %s: objective differs by %.1e of itself, 1 - MCS %.1e\n", methods[i], change, 1 - mcs);
    assert_compare(change, <=, objective[i]);
    if (cosine[i] > 0)
      assert_compare(1 - mcs, <=, cosine[i]);
    else
      same(methods[i], a->model[i]->mixing, b->model[i]->mixing, N * K);
  }
}

static void instruction_sets(void **state) {
  (void)state;
  results scalar, other;
  compute(1, BLICA_SIMD_SCALAR, &scalar);
  for (blica_simd level = BLICA_SIMD_AVX2; level <= BLICA_SIMD_AVX512; level++) {
    blica_set_simd(ctx, level);
    if (blica_simd_level(ctx) != level) {
      print_message("no %s on this machine: skipped\n", level == BLICA_SIMD_AVX2 ? "AVX2" : "AVX-512");
      continue;
    }
    compute(1, level, &other);
    print_message("%s beside scalar:\n", level == BLICA_SIMD_AVX2 ? "AVX2" : "AVX-512");
    same_statistics(&scalar, &other);
    compare_fits(&scalar, &other);
    for (int e = 0; e < 3; e++) {
      double loglik = fabs(scalar.loglik[e]->total / other.loglik[e]->total - 1);
      double mean = largest_difference(scalar.sources[e]->mean, other.sources[e]->mean, (size_t)K * U * ROWS);
      print_message("  %s: loglik differs by %.1e of itself, posterior means by %.1e\n", engines[e], loglik, mean);
      assert_compare(loglik, <=, 1e-13);
      assert_compare(mean, <=, 1e-12);
    }
    release(&other);
  }
  release(&scalar);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_and_repetition), cmocka_unit_test(instruction_sets)};
  return cmocka_run_group_tests(tests, begin, end);
}
