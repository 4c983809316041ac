/* Methods blica, matched and pairwise: values against plain computation, gradients against central differences, exact
 * correlations as the minimum, Fisher's information as the Hessian there, scoring, Laplace, the average, threads. */
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
#include "context.h"
#include "estimate/gauss/rounds.h"
#include "num/linear/blas.h"
#include "num/rng.h"
#include "spectrum.h"

/* Counts of a small sample, their correlations, and a random point. */
typedef struct {
  blica_model *truth;
  blica_data *rows;
  blica_counts *counts;
  blica_cor *cor;
  bl_criterion criterion;
  bl_gauss *gauss;
  bl_tables *tables;
  double *theta, *gradient;
  size_t size;
} problem;

typedef enum { PAIRWISE, MATCHED, FREE, KINDS } kind;
typedef enum { LANES, PACKED, LAYOUTS } storage;

/* Matrices in another layout than that which suits n. */
static void set_layout(problem *p, storage which) {
  assert_true(p->gauss->lanes);
  p->gauss->lanes = which == LANES;
}

static void make(problem *p, int n, int k, int u, int exact, kind which) {
  memset(p, 0, sizeof *p);
  blica_simulate_options o = blica_simulate_options_default();
  double shift[32];
  o.variables = n, o.sources = k, o.segments = u, o.samples = 200, o.seed = 3, o.exact = exact;
  assert_int_equal(blica_simulate(ctx, &o, &p->truth, exact ? NULL : &p->rows, exact ? &p->counts : NULL), BLICA_OK);
  if (!exact) assert_int_equal(blica_count(ctx, p->rows, &p->counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, p->counts, &p->cor), BLICA_OK);
  const bl_layout *layout = &p->criterion.layout;
  p->criterion.layout =
      (bl_layout){.n = n, .k = k, .u = u, .locals = which == FREE ? k + n : k, .link = p->truth->link};
  for (int s = 0; s < u; s++) shift[s] = exact ? 0 : 0.01 * s;
  if (which == PAIRWISE) {
    assert_int_equal(bl_tables_make(ctx, layout, p->counts, p->cor->thresholds, &p->tables), BLICA_OK);
    for (int s = 0; s < u; s++) p->tables->weight[s] = 0.5;
    bl_criterion_add(&p->criterion, bl_tables_term(p->tables));
  } else {
    assert_int_equal(bl_gauss_make(ctx, layout, p->cor, which == FREE ? shift : NULL, 1, &p->gauss), BLICA_OK);
    for (int s = 0; s < u; s++) p->gauss->weight[s] = p->gauss->samples[s] = 150 + s;
    p->criterion.gauss = p->gauss;
    bl_criterion_add(&p->criterion, bl_gauss_term(p->gauss));
  }
  p->size = bl_layout_size(layout);
  p->theta = calloc(p->size, sizeof(double));
  p->gradient = calloc(p->size, sizeof(double));
  bl_rng rng = bl_rng_make(5, 0);
  for (size_t i = 0; i < p->size; i++) p->theta[i] = (which == FREE ? 0.7 : 1) * bl_rng_normal(&rng);
}

static void drop(problem *p) {
  bl_free(p->gauss), bl_free(p->tables);
  free(p->theta), free(p->gradient);
  blica_model_free(p->truth), blica_data_free(p->rows), blica_counts_free(p->counts), blica_cor_free(p->cor);
}

static const int sizes[][3] = {{2, 1, 1}, {3, 1, 2}, {5, 2, 8}, {4, 4, 3}, {7, 5, 13}, {11, 7, 17}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double evaluate(problem *p, const double *theta, double *gradient) {
  bl_evaluator *e;
  assert_int_equal(bl_evaluator_make(ctx, &p->criterion, &e), BLICA_OK);
  double value = bl_evaluate(e, theta, gradient);
  bl_evaluator_free(e);
  return value;
}

/* Fills the truth in, with scales that make the diagonal of T 1. */
static void go_to_the_truth(problem *p) {
  const bl_layout *l = &p->criterion.layout;
  memcpy(p->theta, p->truth->mixing, (size_t)(l->n * l->k) * sizeof(double));
  for (int s = 0; s < l->u; s++) {
    double *local = p->theta + bl_local(l, s);
    for (int j = 0; j < l->k; j++) local[j] = log(p->truth->variances[j + l->k * s]);
    for (int i = 0; i < l->locals - l->k; i++) {
      double m = 1;
      for (int j = 0; j < l->k; j++) m += l->link * exp(local[j]) * p->theta[i + l->n * j] * p->theta[i + l->n * j];
      local[l->k + i] = -0.5 * log(m);
    }
  }
}

/* From the definition: T formed, factored and inverted. */
static double by_definition(const problem *p) {
  const bl_layout *l = &p->criterion.layout;
  const int n = l->n, k = l->k;
  double total = 0, *t = calloc((size_t)(n * n), sizeof(double)), *c = calloc((size_t)(n * n), sizeof(double)), q[16];
  for (int s = 0; s < l->u; s++) {
    const double *local = p->theta + bl_local(l, s), *noise = p->gauss->noise + n * s;
    for (int i = 0; i < n; i++) {
      double m = 1;
      for (int f = 0; f < k; f++) m += l->link * exp(local[f]) * p->theta[i + f * n] * p->theta[i + f * n];
      q[i] = l->locals > k ? exp(local[k + i]) : 1 / sqrt(m);
    }
    blica_cor_matrix(p->cor, s, c);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        double sum = i == j;
        for (int f = 0; f < k; f++) sum += l->link * exp(local[f]) * p->theta[i + f * n] * p->theta[j + f * n];
        t[i + j * n] = q[i] * q[j] * sum + (i == j ? noise[i] : 0);
        c[i + j * n] = i == j ? 1 + noise[i] : p->gauss->shrink[s] * c[i + j * n];
      }
    assert_int_equal(bl_dpotrf('L', n, t, n), 0);
    bl_dpotrs('L', n, n, t, n, c, n);
    for (int i = 0; i < n; i++) total += 0.5 * p->gauss->weight[s] * (2 * log(t[i + i * n]) + c[i + i * n]);
  }
  free(t), free(c);
  return total;
}

static void value_is_the_definition(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++)
    for (int which = MATCHED; which < KINDS; which++)
      for (int layout = 0; layout < LAYOUTS; layout++) {
        problem p;
        make(&p, sizes[c][0], sizes[c][1], sizes[c][2], 0, (kind)which);
        const double wanted = by_definition(&p);
        set_layout(&p, layout);
        assert_compare(fabs(evaluate(&p, p.theta, p.gradient) - wanted), <, 1e-12 * fabs(wanted));
        drop(&p);
      }
}

static void gradients_are_derivatives(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++)
    for (int which = 0; which < KINDS; which++) {
      problem p;
      make(&p, sizes[c][0], sizes[c][1], sizes[c][2], 0, (kind)which);
      p.criterion.precision_mixing = 0.2, p.criterion.precision_variance = 0.6;
      if (which == MATCHED) p.criterion.row_power = sizes[c][1];
      double *other = calloc(p.size, sizeof(double));
      evaluate(&p, p.theta, p.gradient);
      for (size_t i = 0; i < p.size; i++) {
        double keep = p.theta[i], h = 1e-5;
        p.theta[i] = keep + h;
        double up = evaluate(&p, p.theta, other);
        p.theta[i] = keep - h;
        double down = evaluate(&p, p.theta, other);
        p.theta[i] = keep;
        assert_compare(fabs((up - down) / (2 * h) - p.gradient[i]), <, 2e-6 * (1 + fabs(p.gradient[i])));
      }
      free(other);
      drop(&p);
    }
}

/* Eight segments in lanes, padding included, at every SIMD level, and matrices in packed pairs: all the same. */
static void layouts_agree(void **state) {
  (void)state;
  for (int c = 0; c < SIZES; c++)
    for (int which = MATCHED; which < KINDS; which++) {
      problem p;
      make(&p, sizes[c][0], sizes[c][1], sizes[c][2], 0, (kind)which);
      double *gradient = calloc(p.size, sizeof(double)), *lanes = calloc(p.size, sizeof(double)), most = 0, first = 0;
      for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
        blica_set_simd(ctx, (blica_simd)level);
        const double value = evaluate(&p, p.theta, gradient);
        if (level == BLICA_SIMD_SCALAR) first = value, memcpy(lanes, gradient, p.size * sizeof *lanes);
        assert_true(value == first);
        assert_memory_equal(gradient, lanes, p.size * sizeof *lanes);
      }
      blica_set_simd(ctx, BLICA_SIMD_AUTO);
      set_layout(&p, PACKED);
      const double plain = evaluate(&p, p.theta, p.gradient);
      for (size_t i = 0; i < p.size; i++) most = fmax(most, fabs(p.gradient[i]));
      assert_compare(fabs(first - plain), <=, 1e-13 * fabs(plain));
      for (size_t i = 0; i < p.size; i++) assert_compare(fabs(lanes[i] - p.gradient[i]), <=, 1e-12 * most);
      free(gradient), free(lanes);
      drop(&p);
    }
}

/* Whatever the noise, exact correlations put the minimum at the truth. */
static void truth_is_stationary_for_exact_counts(void **state) {
  (void)state;
  for (int which = 0; which < KINDS; which++) {
    problem p;
    make(&p, 6, 3, 5, 1, (kind)which);
    if (which == MATCHED) {
      set_layout(&p, PACKED);
      for (int i = 0; i < 30; i++) p.gauss->noise[i] = 0.1 + 0.1 * i;
    }
    go_to_the_truth(&p);
    double value = evaluate(&p, p.theta, p.gradient);
    for (size_t i = 0; i < p.size; i++) assert_compare(fabs(p.gradient[i]), <, 1e-11 * fmax(1000, fabs(value)));
    drop(&p);
  }
}

/* With exact counts the Hessian at the truth is Fisher's information. */
static void information_is_the_hessian_at_the_truth(void **state) {
  (void)state;
  enum { N = 6, K = 3, U = 5, NK = N * K };
  for (int which = MATCHED; which < KINDS; which++) {
    problem p;
    bl_arrow h;
    make(&p, N, K, U, 1, (kind)which);
    go_to_the_truth(&p);
    const bl_layout *l = &p.criterion.layout;
    const int m = l->locals;
    double *down = calloc(p.size, sizeof(double));
    assert_int_equal(bl_arrow_make(ctx, l, &h), BLICA_OK);
    assert_true(bl_arrow_inform(&h, &p.criterion, p.theta));
    for (int j = 0; j < (int)p.size; j++) {
      const double keep = p.theta[j], step = 1e-5;
      const int s = (j - NK) / m, own = (j - NK) % m;
      p.theta[j] = keep + step;
      evaluate(&p, p.theta, p.gradient);
      p.theta[j] = keep - step;
      evaluate(&p, p.theta, down);
      p.theta[j] = keep;
      for (int i = 0; i < (int)p.size; i++) {
        const double wanted = (p.gradient[i] - down[i]) / (2 * step);
        double got = 0;
        if (j < NK && i < NK)
          got = h.mixing[i + NK * j];
        else if (j < NK)
          continue;
        else if (i < NK)
          got = h.cross[i + NK * (own + m * s)];
        else if ((i - NK) / m == s)
          got = h.local[(i - NK) % m + m * (own + m * s)];
        assert_compare(fabs(got - wanted), <, 1e-5 * fmax(1, fabs(wanted)));
      }
    }
    free(down);
    bl_arrow_free(&h);
    drop(&p);
  }
}

/* From a random point, on a sample, to where the gradient vanishes. */
static void scoring_ends_at_a_stationary_point(void **state) {
  (void)state;
  for (int which = MATCHED; which < KINDS; which++) {
    problem p;
    bl_evaluator *e;
    make(&p, 6, 3, 12, 0, (kind)which);
    p.criterion.precision_mixing = 0.1, p.criterion.precision_variance = 0.5;
    const bl_scoring_options options = {.tolerance = 1e-10, .max_steps = 500};
    bl_scoring_result result;
    assert_int_equal(bl_evaluator_make(ctx, &p.criterion, &e), BLICA_OK);
    assert_int_equal(bl_scoring(ctx, &p.criterion, e, p.theta, &options, &result), BLICA_OK);
    double f = bl_evaluate(e, p.theta, p.gradient), most = 0;
    for (size_t i = 0; i < p.size; i++) most = fmax(most, fabs(p.gradient[i]));
    assert_true(f == result.value);
    assert_true(most == result.gradient_max);
    assert_compare(most, <, 1e-10 * fabs(f));
    bl_evaluator_free(e);
    drop(&p);
  }
}

/* The preconditioner by columns leaves out how columns meet each other: H0 H has eigenvalues around 1, none far above.
 */
static void columns_invert_most_of_the_information(void **state) {
  (void)state;
  enum { N = 12, K = 2, U = 6, M = N + K, SIZE = N * K + U * M };
  problem p;
  bl_arrow h;
  bl_preconditioner by_columns;
  double *product = calloc((size_t)SIZE * SIZE, sizeof *product);
  make(&p, N, K, U, 1, FREE);
  go_to_the_truth(&p);
  p.criterion.precision_mixing = 0.1, p.criterion.precision_variance = 1;
  assert_int_equal(bl_arrow_make(ctx, &p.criterion.layout, &h), BLICA_OK);
  assert_true(bl_arrow_inform(&h, &p.criterion, p.theta));
  for (int j = 0; j < N * K; j++)
    for (int i = 0; i < N * K; i++) product[i + SIZE * j] = h.mixing[i + N * K * j];
  for (int s = 0; s < U; s++)
    for (int c = 0; c < M; c++) {
      const int column = N * K + M * s + c;
      for (int i = 0; i < N * K; i++)
        product[i + SIZE * column] = product[column + SIZE * i] = h.cross[i + N * K * (c + M * s)];
      for (int i = 0; i < M; i++) product[N * K + M * s + i + SIZE * column] = h.local[i + M * (c + M * s)];
    }
  assert_int_equal(bl_preconditioner_make(ctx, &p.criterion, &by_columns), BLICA_OK);
  by_columns.set(by_columns.own, p.theta);
  for (int j = 0; j < SIZE; j++) by_columns.apply(by_columns.own, product + SIZE * j);
  double least, most;
  assert_true(find_spectrum(SIZE, product, &least, &most));
  printf("eigenvalues from %.3f to %.3f\n", least, most);
  assert_compare(least, >, 0.003);
  assert_compare(most, <, 3);
  by_columns.close(by_columns.own), bl_arrow_free(&h), free(product);
  drop(&p);
}

/* With priors alone (weights near 0) nothing is determined; with much data everything is. */
static void effective_parameters_go_from_none_to_all(void **state) {
  (void)state;
  problem p;
  make(&p, 6, 2, 5, 1, MATCHED);
  go_to_the_truth(&p);
  p.criterion.precision_mixing = p.criterion.precision_variance = 1;
  for (int much = 0; much < 2; much++) {
    for (int s = 0; s < 5; s++) p.gauss->samples[s] = much ? 1e8 : 1e-6;
    bl_laplace laplace;
    assert_int_equal(bl_laplace_at(ctx, &p.criterion, p.theta, &laplace), BLICA_OK);
    assert_true(laplace.positive);
    double total = laplace.gamma_mixing + laplace.gamma_variance;
    if (much)
      assert_compare(fabs(total - (22 - 2)), <, 0.1); /* less the two scales */
    else
      assert_compare(total, <, 0.01);
  }
  drop(&p);
}

/* With the priors alone f is quadratic: its mean over N(m, Sigma), Sigma the priors' variance, has the closed form
 * f(m) + share k u / 2, the same share of Sigma for any k; and before widths are set the average is f itself. */
static void average_of_a_quadratic_is_exact(void **state) {
  (void)state;
  double shares[3];
  const int sources[3] = {1, 3, 11}; /* fewer than signs, not a power of two, more than pairs of points */
  for (int c = 0; c < 3; c++) {
    problem p;
    bl_evaluator *e;
    bl_average *average;
    make(&p, 12, sources[c], 5, 0, MATCHED);
    p.criterion.precision_mixing = 0.2, p.criterion.precision_variance = 0.6;
    for (int s = 0; s < 5; s++) p.gauss->weight[s] = p.gauss->samples[s] = 0;
    assert_int_equal(bl_evaluator_make(ctx, &p.criterion, &e), BLICA_OK);
    assert_int_equal(bl_average_make(ctx, e, &p.criterion, 1, 1, 2, &average), BLICA_OK);
    double plain = bl_evaluate(e, p.theta, p.gradient);
    assert_true(bl_average_evaluate(average, p.theta, p.gradient) == plain);
    double trace = bl_average_update(average, p.theta), locals = 5.0 * sources[c];
    assert_compare(fabs(trace - locals / 0.6), <, 1e-7 * trace);
    shares[c] = (bl_average_evaluate(average, p.theta, p.gradient) - plain) / (0.5 * locals);
    assert_compare(shares[c], >, 0.5);
    assert_compare(shares[c], <=, 1);
    assert_compare(fabs(shares[c] - shares[0]), <, 1e-7);
    bl_average_free(average), bl_evaluator_free(e);
    drop(&p);
  }
}

static void gradient_of_the_average(void **state) {
  (void)state;
  problem p;
  bl_evaluator *e;
  bl_average *average;
  make(&p, 6, 3, 9, 0, MATCHED);
  p.criterion.precision_mixing = 0.2, p.criterion.precision_variance = 1;
  assert_int_equal(bl_evaluator_make(ctx, &p.criterion, &e), BLICA_OK);
  assert_int_equal(bl_average_make(ctx, e, &p.criterion, 1, 1, 2, &average), BLICA_OK);
  bl_average_update(average, p.theta);
  double *other = calloc(p.size, sizeof(double)), plain = bl_evaluate(e, p.theta, other);
  assert_compare(fabs(bl_average_evaluate(average, p.theta, p.gradient) - plain), >, 1); /* there are widths */
  for (size_t i = 0; i < p.size; i++) {
    double keep = p.theta[i], h = 1e-5;
    p.theta[i] = keep + h;
    double up = bl_average_evaluate(average, p.theta, other);
    p.theta[i] = keep - h;
    double down = bl_average_evaluate(average, p.theta, other);
    p.theta[i] = keep;
    assert_compare(fabs((up - down) / (2 * h) - p.gradient[i]), <, 2e-6 * (1 + fabs(p.gradient[i])));
  }
  free(other);
  bl_average_free(average), bl_evaluator_free(e);
  drop(&p);
}

static void threads_do_not_change_bits(void **state) {
  (void)state;
  for (int which = 0; which < KINDS; which++)
    for (int layout = 0; layout < LAYOUTS; layout++) {
      problem p;
      make(&p, 5, 3, 13, 0, (kind)which);
      if (p.gauss) set_layout(&p, layout);
      double *again = calloc(p.size, sizeof(double));
      blica_set_threads(ctx, 1);
      double one = evaluate(&p, p.theta, p.gradient);
      for (int threads = 2; threads <= 7; threads += 5) {
        blica_set_threads(ctx, threads);
        double many = evaluate(&p, p.theta, again);
        assert_memory_equal(&one, &many, sizeof one);
        assert_memory_equal(p.gradient, again, p.size * sizeof(double));
      }
      blica_set_threads(ctx, 0);
      free(again);
      drop(&p);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(value_is_the_definition),
                                     cmocka_unit_test(gradients_are_derivatives),
                                     cmocka_unit_test(layouts_agree),
                                     cmocka_unit_test(truth_is_stationary_for_exact_counts),
                                     cmocka_unit_test(information_is_the_hessian_at_the_truth),
                                     cmocka_unit_test(scoring_ends_at_a_stationary_point),
                                     cmocka_unit_test(columns_invert_most_of_the_information),
                                     cmocka_unit_test(effective_parameters_go_from_none_to_all),
                                     cmocka_unit_test(average_of_a_quadratic_is_exact),
                                     cmocka_unit_test(gradient_of_the_average),
                                     cmocka_unit_test(threads_do_not_change_bits)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
