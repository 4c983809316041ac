/* Rows of ordinal items: probabilities of rectangles against 30-digit values, identities, and derivatives in all
 * parameters by every engine, with missing values and items of two levels among the others. */
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
#include "likelihood/likelihood.h"
#include "num/rectangles/ep.h"
#include "num/rectangles/grid.h"
#include "num/rectangles/mvn.h"
#include "num/normal/normal.h"
#include "num/rng.h"

enum { LARGEST = 12, EDGES = 80, POINTS = 4096, SHIFTS = 8 };

typedef struct {
  int n, first[LARGEST + 1];
  double log_p, mean[LARGEST], load[LARGEST], edge[EDGES];
  uint8_t x[LARGEST];
} rectangle;

static bool read_rectangle(FILE *file, rectangle *r) {
  static char line[4096];
  if (!fgets(line, sizeof line, file)) return false;
  char *at = line;
  r->n = (int)strtol(at, &at, 10);
  r->log_p = strtod(at + 1, &at);
  for (int i = 0; i < r->n; i++) {
    r->mean[i] = strtod(at + 1, &at);
    r->load[i] = strtod(at + 1, &at);
    r->first[i + 1] = r->first[i] + (int)strtol(at + 1, &at, 10);
    for (int e = r->first[i]; e < r->first[i + 1]; e++) r->edge[e] = strtod(at + 1, &at);
    r->x[i] = (uint8_t)strtol(at + 1, &at, 10);
  }
  return true;
}

static void *aligned(size_t doubles) {
  return aligned_alloc(64, (doubles + 8) / 8 * 8 * sizeof(double));
}

static double by_grid(const rectangle *r, blica_simd level) {
  double p, band, *work = aligned(bl_grid_work(r->n, r->first[r->n], 1));
  bl_grid grid = {.n = r->n, .k = 1, .mean = r->mean, .loading = r->load, .count = 1, .x = r->x, .p = &p, .work = work};
  grid.levels = (bl_intervals){r->first, r->edge};
  bl_grid_band(r->n, 1, r->load, &band);
  bl_grid_plan(&grid, &band, 1e-16);
  bl_grid_run(&grid, level);
  free(work);
  return p;
}

static double by_ep(const rectangle *r, blica_simd level) {
  double log_p, *work = aligned(bl_ep_work(r->n, 1));
  bl_ep ep = {
      .n = r->n, .k = 1, .mean = r->mean, .loading = r->load, .count = 1, .x = r->x, .log_p = &log_p, .work = work};
  ep.levels = (bl_intervals){r->first, r->edge};
  bl_ep_run(&ep, level);
  free(work);
  return log_p;
}

/* log p and five standard errors of it over shifts. */
static double by_lattice(blica_ctx *ctx, const rectangle *r, double *error) {
  bl_mvn_tree *tree;
  bl_mvn_work *work;
  bl_intervals levels = {r->first, r->edge};
  int order[LARGEST];
  double cov[LARGEST * LARGEST], log_p[SHIFTS], mean = 0, squares = 0;
  for (int i = 0; i < r->n; i++)
    for (int j = 0; j < r->n; j++) cov[i * r->n + j] = r->load[i] * r->load[j] + (i == j);
  bl_mvn_order(r->n, cov, order);
  assert_int_equal(bl_mvn_tree_make(ctx, r->n, order, 1, r->x, &tree), BLICA_OK);
  assert_int_equal(bl_mvn_work_make(ctx, r->n, r->first[r->n], BL_MVN_BLOCK, 1, &work), BLICA_OK);
  for (int s = 0; s < SHIFTS; s++) {
    bl_mvn_result result = {.log_p = &log_p[s]};
    assert_true(bl_mvn_lattice(tree, r->mean, cov, &levels, 0, 1, POINTS, 1, (uint64_t)s, blica_simd_level(ctx), work,
                               &result));
    mean += exp(log_p[s] - log_p[0]) / SHIFTS;
  }
  for (int s = 0; s < SHIFTS; s++) squares += pow(exp(log_p[s] - log_p[0]) / mean - 1, 2);
  *error = 5 * sqrt(squares / (SHIFTS * (SHIFTS - 1))) + 1e-13;
  bl_free(tree);
  bl_free(work);
  return log_p[0] + log(mean);
}

static void test_reference(void **state) {
  (void)state;
  blica_ctx *ctx;
  rectangle r = {0};
  int rows = 0, relative = 0;
  double worst_grid = 0, worst_lattice = 0, worst_ep = 0;
  char header[128];
  FILE *file = fopen("tests/data/rectangle_reference.csv", "r");
  assert_non_null(file);
  assert_non_null(fgets(header, sizeof header, file));
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  for (; read_rectangle(file, &r); rows++) {
    for (int level = BLICA_SIMD_SCALAR; level <= BLICA_SIMD_AVX512; level++) {
      blica_set_simd(ctx, (blica_simd)level);
      double p = by_grid(&r, blica_simd_level(ctx));
      assert_compare(fabs(p - exp(r.log_p)), <, 1e-14);
      if (r.log_p > log(1e-6)) worst_grid = fmax(worst_grid, fabs(log(p) - r.log_p)), relative++;
      worst_ep = fmax(worst_ep, fabs(by_ep(&r, blica_simd_level(ctx)) - r.log_p));
    }
    double error, gap = fabs(by_lattice(ctx, &r, &error) - r.log_p);
    if (gap > error || error > (r.log_p > -30 ? 0.05 : 0.5))
      printf("n=%d log p %.10g: lattice misses by %.3g, stated %.3g\n", r.n, r.log_p, gap, error);
    assert_compare(gap, <=, error);
    assert_compare(error, <, (r.log_p > -30 ? 0.05 : 0.5));
    worst_lattice = fmax(worst_lattice, gap);
  }
  fclose(file);
  printf("%d rectangles; largest error of log p: grid %.2g (p > 1e-6), lattice %.2g, ep %.2g\n", rows, worst_grid,
         worst_lattice, worst_ep);
  assert_true(rows == 50 && relative > 30);
  assert_compare(worst_grid, <, 1e-13);
  assert_compare(worst_ep, <, 0.01);
  blica_ctx_free(ctx);
}

/* One item alone: expectation propagation is exact, far into the tails too; and the scalar function it is held to. */
static void test_one(void **state) {
  (void)state;
  const int first[] = {0, 3};
  const double edge[] = {0, 0.25, 1.5};
  for (int level = 0; level < 4; level++)
    for (double mean = -30; mean <= 30; mean += 1.5) {
      double load = 1.25, sd = sqrt(1 + load * load), log_p, work[64 * 8] __attribute__((aligned(64)));
      uint8_t x = (uint8_t)level;
      bl_ep ep = {.n = 1, .k = 1, .mean = &mean, .loading = &load, .count = 1, .x = &x, .log_p = &log_p, .work = work};
      ep.levels = (bl_intervals){first, edge};
      bl_ep_run(&ep, BLICA_SIMD_SCALAR);
      double low = level ? edge[level - 1] - mean : -INFINITY, high = level < 3 ? edge[level] - mean : INFINITY;
      assert_compare(fabs(log_p - bl_phi_log_between(low / sd, high / sd)), <, 1e-11 * (1 + fabs(log_p)));
    }
  /* Phi(-9.5) - Phi(-10), Phi(0.1) - Phi(-0.1) and their mirror images, 30 digits by mpmath */
  assert_compare(fabs(bl_phi_log_between(-10, -9.5) + 48.313306582565195), <, 1e-13);
  assert_compare(fabs(bl_phi_log_between(9.5, 10) + 48.313306582565195), <, 1e-13);
  assert_compare(fabs(bl_phi_log_between(-0.1, 0.1) + 2.5300420015472385), <, 1e-14);
}

/* ---- the likelihood of rows ---- */

enum { N = 4, K = 2, SEGMENTS = 2, ROWS = 800, CUTS = 7 };

typedef struct {
  blica_ctx *ctx;
  blica_data *data;
  bl_patterns *patterns;
  bl_likelihood *likelihood;
  double mixing[N * K], variances[K * SEGMENTS], means[K * SEGMENTS], cuts[CUTS];
  bl_params params;
  bl_accuracy accuracy;
} problem;

static blica_coding *coding_of(blica_ctx *ctx, const int *levels) {
  static const char *const names[] = {"a", "b", "c", "d"};
  blica_coding *coding;
  assert_int_equal(bl_coding_make(ctx, N, names, levels, NULL, &coding), BLICA_OK);
  return coding;
}

/* Items of 2, 4, 3 and 2 levels... and rows of any levels, some missing. */
static problem *make_problem(blica_engine engine, bool missing) {
  static const int levels[N] = {2, 4, 3, 2}, segment[SEGMENTS] = {0, 1};
  static int column[CUTS] = {0, 1, 2, 3, 4, 5, 6};
  problem *p = calloc(1, sizeof *p);
  bl_rng rng = bl_rng_make(8, 1);
  int8_t x[ROWS * N];
  int32_t of[ROWS];
  assert_int_equal(blica_ctx_create(&p->ctx), BLICA_OK);
  for (int i = 0; i < N * K; i++) p->mixing[i] = 1.5 * bl_rng_normal(&rng);
  for (int i = 0; i < K * SEGMENTS; i++)
    p->variances[i] = 0.5 + bl_rng_uniform(&rng), p->means[i] = bl_rng_normal(&rng);
  for (int i = 0, c = 0; i < N; i++)
    for (int l = 1; l < levels[i]; l++, c++)
      p->cuts[c] = l > 1 ? p->cuts[c - 1] + 0.2 + bl_rng_uniform(&rng) : bl_rng_normal(&rng);
  for (int r = 0; r < ROWS; r++) {
    of[r] = r % SEGMENTS;
    for (int i = 0; i < N; i++) {
      x[r * N + i] = (int8_t)(bl_rng_uniform(&rng) * levels[i]);
      if (missing && bl_rng_uniform(&rng) < 0.1) x[r * N + i] = -1;
    }
  }
  blica_coding *coding = coding_of(p->ctx, levels);
  assert_int_equal(
      blica_pack(p->ctx, &(blica_table){.rows = ROWS, .n = N, .x = x, .levels = levels, .segment = of, .u = SEGMENTS},
                 &p->data),
      BLICA_OK);
  assert_int_equal(bl_patterns_make(p->ctx, p->data, N, coding, column, false, &p->patterns), BLICA_OK);
  blica_coding_free(coding);
  p->params = (bl_params){N, K, SEGMENTS, 0.4, p->mixing, p->variances, p->means, p->cuts, NULL};
  p->accuracy = (bl_accuracy){.points = BL_MVN_BLOCK, .seed = 1, .grid_error = 1e-12};
  assert_int_equal(
      bl_likelihood_make(p->ctx, p->patterns, segment, N, K, SEGMENTS, engine, BL_MVN_BLOCK, &p->likelihood), BLICA_OK);
  assert_int_equal(bl_likelihood_order(p->ctx, p->likelihood, &p->params), BLICA_OK);
  return p;
}

static void drop(problem *p) {
  bl_likelihood_free(p->likelihood);
  bl_patterns_free(p->patterns);
  blica_data_free(p->data);
  blica_ctx_free(p->ctx);
  free(p);
}

static double value(problem *p) {
  double *log_p = calloc((size_t)p->patterns->count, sizeof *log_p), sum = 0;
  assert_int_equal(bl_likelihood_values(p->ctx, p->likelihood, &p->params, &p->accuracy, log_p), BLICA_OK);
  for (int g = 0; g < p->patterns->groups; g++)
    for (int64_t r = 0; r < p->patterns->group[g].count; r++)
      sum += p->patterns->group[g].weight[r] * log_p[p->patterns->group[g].offset + r];
  free(log_p);
  return sum;
}

/* d value / d log variance, or d parameter, by central differences. */
static double slope(problem *p, double *parameter, bool logarithm) {
  double keep = *parameter, h = 1e-5;
  *parameter = logarithm ? keep * exp(h) : keep + h;
  double up = value(p);
  *parameter = logarithm ? keep * exp(-h) : keep - h;
  double down = value(p);
  *parameter = keep;
  return (up - down) / (2 * h);
}

static void same(problem *p, double *parameters, const double *gradient, int count, bool logarithm) {
  for (int i = 0; i < count; i++) {
    double numeric = slope(p, &parameters[i], logarithm);
    if (fabs(gradient[i] - numeric) > 2e-6 * (10 + fabs(numeric)))
      fail_msg("parameter %d: %.10g, by differences %.10g", i, gradient[i], numeric);
  }
}

typedef struct {
  double cuts[CUTS];
} sums;

/* The gradient in the cuts from scores of single rows. */
static void add_cuts(const bl_scores *s, int thread, void *user) {
  sums *to = user;
  const bl_group *g = s->group;
  (void)thread;
  for (int64_t r = 0; r < s->count; r++)
    for (int i = 0; i < g->n; i++) {
      const double weight = g->weight[s->row[r]], by_mean = s->score[(r * g->n + i) * (1 + K)];
      const double upper = s->upper[r * g->n + i];
      const int level = g->x[s->row[r] * g->n + i];
      if (level < g->first[i + 1] - g->first[i])
        to->cuts[g->cut[i] + level] += weight * upper;
      else
        assert_true(upper == 0);
      if (level > 0) to->cuts[g->cut[i] + level - 1] -= weight * (by_mean + upper);
    }
}

static void check_engine(blica_engine engine, double tolerance) {
  problem *p = make_problem(engine, true);
  double mixing[N * K], log_variance[K * SEGMENTS], means[K * SEGMENTS], cuts[CUTS], largest = 0;
  double sum =
      bl_likelihood_gradient(p->ctx, p->likelihood, &p->params, &p->accuracy, mixing, log_variance, means, cuts);
  assert_compare(fabs(sum - value(p)), <, 1e-9 * fabs(sum));
  same(p, p->mixing, mixing, N * K, false);
  same(p, p->variances, log_variance, K * SEGMENTS, true);
  same(p, p->means, means, K * SEGMENTS, false);
  same(p, p->cuts, cuts, CUTS, false);
  sums own = {{0}};
  blica_set_threads(p->ctx, 1);
  assert_int_equal(bl_likelihood_scores(p->ctx, p->likelihood, &p->params, &p->accuracy, NULL, add_cuts, &own),
                   BLICA_OK);
  for (int i = 0; i < CUTS; i++) largest = fmax(largest, fabs(cuts[i]));
  for (int i = 0; i < CUTS; i++) assert_compare(fabs(own.cuts[i] - cuts[i]), <=, tolerance * largest);
  drop(p);
}

static void test_derivatives(void **state) {
  (void)state;
  check_engine(BLICA_ENGINE_GRID, 1e-10);
  check_engine(BLICA_ENGINE_LATTICE, 0.02); /* scores are those of expectation propagation */
  check_engine(BLICA_ENGINE_EP, 1e-10);
}

/* The lattice's value is a smooth function, also where intervals pass from one tail to the other: along a line, what it
 * gains in a step is the mean of the slopes at both ends. */
static void test_smooth(void **state) {
  (void)state;
  problem *p = make_problem(BLICA_ENGINE_LATTICE, false);
  double mixing[N * K], log_variance[K * SEGMENTS], means[K * SEGMENTS], cuts[CUTS], before = 0, slope_before = 0;
  const double h = 1e-3;
  p->means[0] -= 0.2;
  for (int step = 0; step < 400; step++, p->means[0] += h) {
    double now =
        bl_likelihood_gradient(p->ctx, p->likelihood, &p->params, &p->accuracy, mixing, log_variance, means, cuts);
    if (step > 0) assert_true(fabs(now - before - 0.5 * h * (means[0] + slope_before)) < 1e-5);
    before = now, slope_before = means[0];
  }
  drop(p);
}

/* Engines agree: the lattice within a few of its errors, expectation propagation closely. */
static void test_engines(void **state) {
  (void)state;
  double at[BLICA_ENGINE_EP + 1];
  for (int e = BLICA_ENGINE_GRID; e <= BLICA_ENGINE_EP; e++) {
    problem *p = make_problem((blica_engine)e, true);
    at[e] = value(p);
    drop(p);
  }
  printf("log-likelihood of %d rows: grid %.6f, lattice %.6f, ep %.6f\n", ROWS, at[BLICA_ENGINE_GRID],
         at[BLICA_ENGINE_LATTICE], at[BLICA_ENGINE_EP]);
  assert_compare(fabs(at[BLICA_ENGINE_LATTICE] - at[BLICA_ENGINE_GRID]), <, 0.1);
  assert_compare(fabs(at[BLICA_ENGINE_EP] - at[BLICA_ENGINE_GRID]), <, 0.02 * ROWS);
}

/* The probabilities of all rows add up to 1, by the lattice too. */
static void test_sum(void **state) {
  (void)state;
  for (int e = BLICA_ENGINE_GRID; e <= BLICA_ENGINE_LATTICE; e += BLICA_ENGINE_LATTICE - BLICA_ENGINE_GRID) {
    problem *p = make_problem((blica_engine)e, false);
    double *log_p = calloc((size_t)p->patterns->count, sizeof *log_p), sum[SEGMENTS] = {0};
    assert_int_equal(p->patterns->count, SEGMENTS * 2 * 4 * 3 * 2); /* the rows have all of them */
    assert_int_equal(bl_likelihood_values(p->ctx, p->likelihood, &p->params, &p->accuracy, log_p), BLICA_OK);
    for (int g = 0; g < p->patterns->groups; g++)
      for (int64_t r = 0; r < p->patterns->group[g].count; r++)
        sum[p->patterns->group[g].segment] += exp(log_p[p->patterns->group[g].offset + r]);
    for (int s = 0; s < SEGMENTS; s++) assert_compare(fabs(sum[s] - 1), <, 1e-11);
    free(log_p);
    drop(p);
  }
}

/* 90 % intervals of the sources of rows of four levels cover nine in ten. */
static void test_sources(void **state) {
  (void)state;
  enum { DRAWN = 4000, ITEMS = 6 };
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *m;
  blica_ctx *ctx;
  blica_data *data;
  bl_rng rng = bl_rng_make(5, 5);
  static double z[DRAWN * K];
  static int8_t x[DRAWN * ITEMS];
  static int32_t segment[DRAWN];
  int levels[ITEMS] = {4, 4, 4, 4, 4, 4};
  o.variables = ITEMS, o.sources = K, o.segments = 2, o.levels = 4, o.intercepts = 1, o.samples = 1, o.seed = 3;
  assert_int_equal(blica_ctx_create(&ctx), BLICA_OK);
  assert_int_equal(blica_simulate(ctx, &o, &m, NULL, NULL), BLICA_OK);
  for (int r = 0; r < DRAWN; r++) {
    const int s = segment[r] = r % 2;
    for (int j = 0; j < K; j++)
      z[r * K + j] = m->means[j + s * K] + sqrt(m->variances[j + s * K]) * bl_rng_normal(&rng);
    for (int i = 0; i < ITEMS; i++) {
      double q = bl_rng_normal(&rng);
      for (int j = 0; j < K; j++) q += sqrt(m->link) * m->mixing[i + j * ITEMS] * z[r * K + j];
      for (int c = 0; c < 3; c++) x[r * ITEMS + i] += q > m->cuts[3 * i + c];
    }
  }
  assert_int_equal(
      blica_pack(ctx, &(blica_table){.rows = DRAWN, .n = ITEMS, .x = x, .levels = levels, .segment = segment, .u = 2},
                 &data),
      BLICA_OK);
  blica_posterior *posterior;
  int covered = 0;
  assert_int_equal(blica_sources(ctx, m, data, NULL, &posterior), BLICA_OK);
  for (int i = 0; i < DRAWN * K; i++)
    covered += fabs(posterior->mean[i] - z[i]) < 1.6448536269514722 * posterior->sd[i];
  printf("coverage of 90 %% intervals %.4f\n", (double)covered / (DRAWN * K));
  assert_compare(covered, >, 0.88 * DRAWN * K);
  assert_compare(covered, <, 0.92 * DRAWN * K);
  blica_posterior_free(posterior);
  blica_data_free(data);
  blica_model_free(m);
  blica_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference),   cmocka_unit_test(test_one),
                                     cmocka_unit_test(test_derivatives), cmocka_unit_test(test_smooth),
                                     cmocka_unit_test(test_engines),     cmocka_unit_test(test_sum),
                                     cmocka_unit_test(test_sources)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
