/* Posterior means and standard deviations of `blica_sources` beside a Gibbs sampler that shares nothing with them:
 * given the latent variables y of the items the sources are normal, given the sources each y is a truncated normal
 * (Albert and Chib 1993). Up to two sources also beside the integral over the sources on a fine grid. 3 to 100 items, 1
 * to 10 sources, steep and flat loadings, levels, missing values, rare values.
 *
 * What the sampler itself is off by comes from the spread of 40 parts of its chain, and is taken off the squares of the
 * differences. test_gibbs SWEEPS prints the table of bench/results/sources.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/normal/normal.h"
#include "num/rng.h"

enum { MOST_N = 100, MOST_K = 10, MOST_ROWS = 20, PARTS = 40, NODES = 600 };

typedef struct {
  int n, k, levels;
  double mixing, sd_low, sd_high, intercepts, missing;
  bool grid;  /* by the integral, not by the sampler */
  int sweeps; /* for the test */
} design;

static const design designs[] = {
    {3, 1, 2, 3, .5, 3, 0, 0, true, 0},         {8, 2, 2, 3, .5, 3, 0, 0, true, 0},
    {12, 2, 2, 3, .2, 8, 0, 0, true, 0},        {30, 1, 2, 3, .2, 8, 0, 0, true, 0},
    {3, 2, 2, 3, .5, 3, 0, 0, false, 100000},   {6, 3, 2, 3, .5, 3, 0, 0, false, 100000},
    {10, 10, 2, 3, .5, 3, 0, 0, false, 100000}, {20, 8, 2, 3, .5, 3, 0, 0, false, 100000},
    {40, 5, 2, .7, .5, 3, 0, 0, false, 100000}, {40, 5, 2, 3, .5, 3, 0, 0, false, 100000},
    {60, 4, 2, 3, .5, 3, 0, 0, false, 100000},  {100, 10, 2, 3, .5, 3, 0, 0, false, 160000},
    {20, 5, 2, 3, .5, 3, 0, .3, false, 100000}, {15, 3, 4, 3, .5, 3, .5, 0, false, 100000},
    {15, 3, 2, 3, .5, 3, 3, 0, false, 100000}};

/* One row: items that are there, in standardised sources; y lies between low and high. */
typedef struct {
  int n, k;
  double mean[MOST_N], loading[MOST_N][MOST_K], low[MOST_N], high[MOST_N];
} problem;

/* Moments of standardised sources, and the error of each as a standard deviation. */
typedef struct {
  double mean[MOST_K], sd[MOST_K], mean_error[MOST_K], sd_error[MOST_K];
} truth;

static problem problem_of(const blica_model *m, const int8_t *x) {
  problem p = {.k = m->k};
  for (int i = 0; i < m->n; i++) {
    const int first = m->coding ? m->coding->first[i] : i, last = m->coding ? m->coding->first[i + 1] : i + 1;
    if (x[i] == BLICA_MISSING) continue;
    for (int j = 0; j < m->k; j++) {
      const double a = sqrt(m->link) * m->mixing[i + j * m->n];
      p.mean[p.n] += a * m->means[j];
      p.loading[p.n][j] = a * sqrt(m->variances[j]);
    }
    p.low[p.n] = x[i] > 0 ? m->cuts[first + x[i] - 1] : -INFINITY;
    p.high[p.n] = first + x[i] < last ? m->cuts[first + x[i]] : INFINITY;
    p.n++;
  }
  return p;
}

/* ---- the sampler ---- */

/* A standard normal variable above a. */
static double draw_above(bl_rng *rng, double a) {
  const double rate = 0.5 * (a + sqrt(a * a + 4));
  for (;;) {
    const double x = a < 0.4 ? bl_rng_normal(rng) : a - log(bl_rng_uniform(rng)) / rate;
    if (a < 0.4 ? x > a : bl_rng_uniform(rng) < exp(-0.5 * (x - rate) * (x - rate))) return x;
  }
}

static double draw_between(bl_rng *rng, double low, double high) {
  if (isinf(high)) return draw_above(rng, low);
  if (isinf(low)) return -draw_above(rng, -high);
  if (low > 0) return -draw_between(rng, -high, -low); /* in the tail where numbers are small */
  const double p = bl_phi_cdf(low), q = bl_phi_cdf(high);
  return bl_phi_quantile(p + (q - p) * bl_rng_uniform(rng));
}

/* Inverse of the positive definite a [k,k], and its Cholesky factor. */
static void invert(int k, double a[MOST_K][MOST_K], double inverse[MOST_K][MOST_K], double factor[MOST_K][MOST_K]) {
  double b[MOST_K][2 * MOST_K] = {0};
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++) b[i][j] = a[i][j], b[i][k + j] = i == j;
  for (int c = 0; c < k; c++) {
    for (int j = 2 * k - 1; j >= c; j--) b[c][j] /= b[c][c];
    for (int i = 0; i < k; i++)
      for (int j = 2 * k - 1; i != c && j >= c; j--) b[i][j] -= b[i][c] * b[c][j];
  }
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++) inverse[i][j] = b[i][k + j];
  for (int i = 0; i < k; i++)
    for (int j = 0; j <= i; j++) {
      double sum = inverse[i][j];
      for (int c = 0; c < j; c++) sum -= factor[i][c] * factor[j][c];
      factor[i][j] = i == j ? sqrt(sum) : sum / factor[j][j];
    }
}

/* Sums over a part of the chain of the mean of the sources given y, and of its square. */
typedef struct {
  double one[MOST_K], two[MOST_K];
} sums;

static void run_chain(const problem *p, int sweeps, bl_rng *rng, double gain[MOST_K][MOST_N],
                      double factor[MOST_K][MOST_K], double z[MOST_K], sums *s) {
  for (int sweep = 0; sweep < sweeps; sweep++) {
    double given[MOST_K] = {0}, normal[MOST_K];
    for (int i = 0; i < p->n; i++) {
      double center = p->mean[i];
      for (int j = 0; j < p->k; j++) center += p->loading[i][j] * z[j];
      const double y = center + draw_between(rng, p->low[i] - center, p->high[i] - center) - p->mean[i];
      for (int j = 0; j < p->k; j++) given[j] += gain[j][i] * y;
    }
    for (int j = 0; j < p->k; j++) {
      s->one[j] += given[j], s->two[j] += given[j] * given[j];
      z[j] = given[j], normal[j] = bl_rng_normal(rng);
      for (int c = 0; c <= j; c++) z[j] += factor[j][c] * normal[c];
    }
  }
}

static truth sample(const problem *p, int sweeps, uint64_t seed) {
  double a[MOST_K][MOST_K] = {0}, inverse[MOST_K][MOST_K], factor[MOST_K][MOST_K] = {0}, gain[MOST_K][MOST_N] = {0};
  double z[MOST_K] = {0};
  sums part[PARTS] = {0}, burnt = {0};
  bl_rng rng = bl_rng_make(seed, 5);
  truth t = {0};
  for (int j = 0; j < p->k; j++)
    for (int c = 0; c < p->k; c++) {
      a[j][c] = j == c;
      for (int i = 0; i < p->n; i++) a[j][c] += p->loading[i][j] * p->loading[i][c];
    }
  invert(p->k, a, inverse, factor);
  for (int j = 0; j < p->k; j++)
    for (int i = 0; i < p->n; i++)
      for (int c = 0; c < p->k; c++) gain[j][i] += inverse[j][c] * p->loading[i][c];
  run_chain(p, sweeps / 10, &rng, gain, factor, z, &burnt);
  for (int b = 0; b < PARTS; b++) run_chain(p, sweeps / PARTS, &rng, gain, factor, z, &part[b]);
  const double each = sweeps / PARTS;
  for (int j = 0; j < p->k; j++) {
    double variance = inverse[j][j], first = 0, second = 0;
    for (int b = 0; b < PARTS; b++) t.mean[j] += part[b].one[j] / each / PARTS;
    for (int b = 0; b < PARTS; b++) variance += (part[b].two[j] / each - t.mean[j] * t.mean[j]) / PARTS;
    t.sd[j] = sqrt(variance);
    for (int b = 0; b < PARTS; b++) { /* of the part beside the whole */
      const double shift = part[b].one[j] / each - t.mean[j];
      const double own = inverse[j][j] + part[b].two[j] / each - t.mean[j] * (2 * shift + t.mean[j]);
      first += shift * shift, second += pow(own / variance - 1, 2);
    }
    t.mean_error[j] = sqrt(first / (PARTS * (PARTS - 1.0))) / t.sd[j];
    t.sd_error[j] = 0.5 * sqrt(second / (PARTS * (PARTS - 1.0)));
  }
  return t;
}

/* ---- the integral over one or two sources ---- */

static double log_joint(const problem *p, const double *z) {
  double value = 0;
  for (int j = 0; j < p->k; j++) value -= 0.5 * z[j] * z[j];
  for (int i = 0; i < p->n; i++) {
    double center = p->mean[i];
    for (int j = 0; j < p->k; j++) center += p->loading[i][j] * z[j];
    value += isinf(p->low[i]) ? bl_phi_log_cdf(p->high[i] - center) : bl_phi_log_cdf(center - p->low[i]);
  }
  return value;
}

/* The trapezoidal rule from -8 to 8 in each source, for items of two levels. */
static truth integrate(const problem *p) {
  const int others = p->k > 1 ? NODES : 1;
  double top = -INFINITY, sum = 0, one[2] = {0}, two[2] = {0};
  truth t = {0};
  for (int a = 0; a < NODES; a++)
    for (int b = 0; b < others; b++) {
      const double z[2] = {16.0 * a / (NODES - 1) - 8, 16.0 * b / (NODES - 1) - 8};
      const double value = log_joint(p, z), scale = value > top ? exp(top - value) : 1;
      top = fmax(top, value);
      sum = sum * scale + exp(value - top);
      for (int j = 0; j < p->k; j++) {
        one[j] = one[j] * scale + exp(value - top) * z[j];
        two[j] = two[j] * scale + exp(value - top) * z[j] * z[j];
      }
    }
  for (int j = 0; j < p->k; j++) t.mean[j] = one[j] / sum, t.sd[j] = sqrt(two[j] / sum - pow(one[j] / sum, 2));
  return t;
}

/* ---- designs ---- */

/* A model and rows as `blica simulate` draws them, in one segment, with some values taken away. */
static blica_data *draw_rows(const design *d, int rows, blica_model **m, int8_t *x) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *drawn, *kept;
  int levels[MOST_N];
  bl_rng rng = bl_rng_make(11, 3);
  o.variables = d->n, o.sources = d->k, o.segments = 1, o.samples = rows, o.seed = 3, o.levels = d->levels;
  o.mixing_range = d->mixing, o.sd_low = d->sd_low, o.sd_high = d->sd_high, o.intercepts = d->intercepts;
  if (blica_simulate(ctx, &o, m, &drawn, NULL) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  for (int i = 0; i < d->n; i++) {
    const int planes = levels[i] = d->levels - 1;
    for (int r = 0; r < rows; r++) {
      x[r * d->n + i] = 0;
      for (int l = i * planes; l < (i + 1) * planes; l++)
        x[r * d->n + i] += (int8_t)(drawn->ones[0][l * drawn->words[0] + r / 64] >> r % 64 & 1);
      if (bl_rng_uniform(&rng) < d->missing) x[r * d->n + i] = BLICA_MISSING;
    }
    levels[i]++;
  }
  blica_table table = {.rows = rows, .n = d->n, .x = x, .levels = levels, .u = 1};
  table.variables = (const char *const *)((*m)->coding ? (*m)->coding->names : (*m)->variables);
  table.segments = (const char *const *)(*m)->segments;
  assert_int_equal(blica_pack(ctx, &table, &kept), BLICA_OK);
  blica_data_free(drawn);
  return kept;
}

/* Squares of what `blica_sources` is off by, less those of the reference; the largest difference, the least and the
 * largest ratio of standard deviations, and the error of the reference. */
typedef struct {
  double mean, sd, mean_error, sd_error, most, low, high;
} comparison;

static comparison compare(const design *d, int rows, int sweeps) {
  int8_t x[MOST_ROWS * MOST_N];
  blica_model *m;
  blica_posterior *found;
  comparison c = {.low = INFINITY};
  blica_data *data = draw_rows(d, rows, &m, x);
  const double each = rows * d->k;
  if (blica_sources(ctx, m, data, NULL, &found) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  for (int r = 0; r < rows; r++) {
    const problem p = problem_of(m, x + r * d->n);
    const truth t = d->grid ? integrate(&p) : sample(&p, sweeps, (uint64_t)r);
    for (int j = 0; j < d->k; j++) {
      const double unit = sqrt(m->variances[j]) * t.sd[j], ratio = found->sd[r * d->k + j] / unit;
      const double shift = (found->mean[r * d->k + j] - m->means[j]) / unit - t.mean[j] / t.sd[j];
      c.mean_error += pow(t.mean_error[j], 2) / each, c.sd_error += pow(t.sd_error[j], 2) / each;
      c.mean += pow(shift, 2) / each, c.sd += pow(ratio - 1, 2) / each;
      c.most = fmax(c.most, fabs(shift)), c.low = fmin(c.low, ratio), c.high = fmax(c.high, ratio);
    }
  }
  c.mean -= c.mean_error, c.sd -= c.sd_error;
  blica_posterior_free(found);
  blica_data_free(data);
  blica_model_free(m);
  return c;
}

static double root(double square) {
  return sqrt(fmax(square, 0));
}

/* As a row of a table. */
static void print(const design *d, const comparison *c) {
  printf("| n=%d k=%d%s%s%s%s | %s | %.4f, %.3f | %.4f | %.4f, %.3f to %.3f | %.4f |\n", d->n, d->k,
         d->mixing < 1 ? ", flat" : "", d->sd_high > 3 ? ", steep" : "", d->missing > 0 ? ", 30 % missing" : "",
         d->levels > 2       ? ", four levels"
         : d->intercepts > 2 ? ", rare values"
                             : "",
         d->grid ? "integral" : "Gibbs", root(c->mean), c->most, root(c->mean_error), root(c->sd), c->low, c->high,
         root(c->sd_error));
  fflush(stdout);
}

/* Means within .02 standard deviations and standard deviations within 3 %, none of them 0. */
static void test_posteriors(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
    const design *d = &designs[i];
    const comparison c = compare(d, d->grid ? 3 : 6, d->sweeps);
    print(d, &c);
    assert_compare(root(c.mean), <, 0.02);
    assert_compare(root(c.sd), <, 0.03);
    assert_compare(root(c.mean_error), <, 0.025); /* or the sampler could not tell */
    assert_compare(c.low, >, 0.8);
  }
}

int main(int count, char **argument) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_posteriors)};
  if (count < 2) return cmocka_run_group_tests(tests, open_context, close_context);
  open_context(NULL);
  for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
    const comparison c = compare(&designs[i], designs[i].grid ? 20 : MOST_ROWS, atoi(argument[1]));
    print(&designs[i], &c);
  }
  return close_context(NULL);
}
