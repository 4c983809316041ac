/* rectangle.c - the probability of one rectangle of a multivariate normal distribution, with its derivatives.
 *
 * Method: separation of variables on SHIFTS randomly shifted lattices (mvn.h), doubled in size until the error is small
 * enough. Variables come in the order of the least conditional probability, the others being at their conditional means
 * (Gibson, Glasbey and Elston 1994; Genz and Bretz 2009). The error is BOUND standard errors over the shifts. With up
 * to three columns of loadings the value is that of the trapezoidal rule over the factors (grid.h), whose error is what
 * half a spacing changes. Derivatives are those of the lattice sum.
 * Accuracy: checked against mvtnorm on 1000 random problems and, the derivatives, against differences of the value by
 * other means: tests/parity/rectangles.sh, tests/unit/num/test_rectangle.c. */
#include <math.h>
#include <string.h>

#include "num/rectangles/grid.h"
#include "num/rectangles/mvn.h"
#include "num/normal/normal.h"

enum { SHIFTS = 16, FIRST_POINTS = 64, MOST_POINTS = 8192 };
#define BOUND 6.0     /* standard errors; a t distribution with 15 degrees of freedom is beyond once in 40 000 times */
#define GRID_WORK 1e8 /* nodes times variables: below a second */

/* Variables that have an end, as items with levels (intervals.h): the level is 1 above the lower end, else 0. */
typedef struct {
  int n;
  int *variable; /* [n] of the rectangle */
  int *first;    /* [n+1] edges */
  uint8_t *x;    /* [n] */
  double *mean, *edge, *cov, *loading;
  double *g_mean, *g_edge, *g_cov; /* of one lattice; then sums over lattices */
  double *sum_mean, *sum_edge, *sum_cov;
  int *order;
} problem;

/* Fails naming the first member that cannot be used. */
static blica_status check_rectangle(blica_ctx *ctx, const blica_rectangle *r) {
  if (r->n < 1 || r->n > BL_MVN_MAX)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "a rectangle of %d dimensions; from 1 to %d can be used", r->n, BL_MVN_MAX);
  if (!(r->error >= 0)) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "error is %g; give a positive number", r->error);
  if (r->k < 0 || !(r->k > 0 ? r->loading && r->unique : r->cov != NULL))
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "give cov, or k columns of loading and unique");
  for (int i = 0; i < r->n; i++) {
    const double low = r->lower ? r->lower[i] : -INFINITY, high = r->upper ? r->upper[i] : INFINITY;
    const double mean = r->mean ? r->mean[i] : 0, variance = r->k > 0 ? r->unique[i] : r->cov[i + (size_t)i * r->n];
    if (!(low < high))
      return bl_fail(ctx, BLICA_ERR_ARGUMENT, "dimension %d: lower is %g and upper is %g; lower must be below upper",
                     i + 1, low, high);
    if (!isfinite(mean) || !(variance > 0 && variance < INFINITY))
      return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                     "dimension %d: mean is %g and variance is %g; means must be finite, "
                     "variances positive",
                     i + 1, mean, variance);
    for (int j = 0; r->k == 0 && j < i; j++) {
      const double a = r->cov[i + (size_t)j * r->n], b = r->cov[j + (size_t)i * r->n];
      if (!(fabs(a - b) <= 1e-10 * (fabs(a) + fabs(b))))
        return bl_fail(ctx, BLICA_ERR_ARGUMENT, "cov is not symmetric: elements %d,%d are %g and %g", i + 1, j + 1, a,
                       b);
    }
    for (int j = 0; j < r->k; j++)
      if (!isfinite(r->loading[i + (size_t)j * r->n]))
        return bl_fail(ctx, BLICA_ERR_ARGUMENT, "loading %d,%d is %g; it must be finite", i + 1, j + 1,
                       r->loading[i + (size_t)j * r->n]);
  }
  return BLICA_OK;
}

static double covariance(const blica_rectangle *r, int i, int j) {
  if (r->k == 0) return r->cov[i + (size_t)j * r->n];
  double sum = i == j ? r->unique[i] : 0.0;
  for (int l = 0; l < r->k; l++) sum += r->loading[i + (size_t)l * r->n] * r->loading[j + (size_t)l * r->n];
  return sum;
}

static blica_status make_problem(blica_ctx *ctx, const blica_rectangle *r, problem **out) {
  const size_t n = (size_t)r->n;
  BL_OWNED problem *p = NULL;
  MUST(bl_alloc(ctx, 1, &p));
  MUST(bl_alloc_for(ctx, p, n, &p->variable));
  MUST(bl_alloc_for(ctx, p, n, &p->order));
  MUST(bl_alloc_for(ctx, p, n + 1, &p->first));
  MUST(bl_alloc_for(ctx, p, n, &p->x));
  MUST(bl_alloc_for(ctx, p, n, &p->mean));
  MUST(bl_alloc_for(ctx, p, 2 * n, &p->edge));
  MUST(bl_alloc_for(ctx, p, n * n, &p->cov));
  MUST(bl_alloc_for(ctx, p, n * (size_t)(r->k + 1), &p->loading));
  MUST(bl_alloc_for(ctx, p, 6 * n + 2 * n * n, &p->g_mean));
  p->g_edge = p->g_mean + n, p->g_cov = p->g_edge + 2 * n;
  p->sum_mean = p->g_cov + n * n, p->sum_edge = p->sum_mean + n, p->sum_cov = p->sum_edge + 2 * n;
  for (int i = 0; i < r->n; i++) {
    const double low = r->lower ? r->lower[i] : -INFINITY, high = r->upper ? r->upper[i] : INFINITY;
    if (isinf(low) && isinf(high)) continue;
    const int at = p->n++, edge = p->first[at];
    p->variable[at] = i;
    p->x[at] = !isinf(low);
    p->mean[at] = (r->mean ? r->mean[i] : 0) - (isinf(low) ? high : low);
    p->first[at + 1] = edge + 1;
    if (isinf(low) || isinf(high)) continue;
    p->edge[edge + 1] = high - low;
    p->first[at + 1]++;
  }
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->n; j++) p->cov[i * p->n + j] = covariance(r, p->variable[i], p->variable[j]);
  *out = bl_take(&p);
  return BLICA_OK;
}

static bl_intervals intervals_of(const problem *p) {
  return (bl_intervals){p->first, p->edge};
}

/* log Phi between the ends of variable i, given the mean and standard deviation it has. */
static double log_interval(const problem *p, int i, double mean, double sd) {
  const double width = p->first[i + 1] - p->first[i] > 1 ? p->edge[p->first[i] + 1] : INFINITY;
  return p->x[i] ? bl_phi_log_between(-mean / sd, (width - mean) / sd) : bl_phi_log_cdf(-mean / sd);
}

/* The mean of a standard normal variable between the ends of variable i. */
static double truncated_mean(const problem *p, int i, double mean, double sd) {
  const double width = p->first[i + 1] - p->first[i] > 1 ? p->edge[p->first[i] + 1] : INFINITY;
  const double low = p->x[i] ? -mean / sd : -INFINITY, high = p->x[i] ? (width - mean) / sd : -mean / sd;
  const double gap = (isinf(low) ? 0 : bl_phi_density(low)) - (isinf(high) ? 0 : bl_phi_density(high));
  const double at = gap / exp(log_interval(p, i, mean, sd));
  return isfinite(at) && at >= low && at <= high ? at : isinf(low) ? high : low;
}

/* The order of least conditional probability; false where the covariance is not positive definite. */
static bool choose_order(problem *p, double *l /* [n,n] rows */) {
  const int n = p->n;
  double y[BL_MVN_MAX];
  bool taken[BL_MVN_MAX] = {false};
  for (int step = 0; step < n; step++) {
    double least = INFINITY, best_mean = 0, best_sd = 1;
    int best = -1;
    for (int i = 0; i < n; i++) {
      double mean = p->mean[i], left = p->cov[i * n + i];
      if (taken[i]) continue;
      for (int m = 0; m < step; m++) mean += l[i * n + m] * y[m], left -= l[i * n + m] * l[i * n + m];
      if (!(left > 1e-14 * p->cov[i * n + i])) return false;
      const double value = log_interval(p, i, mean, sqrt(left));
      if (best >= 0 && !(value < least)) continue;
      best = i, least = value, best_mean = mean, best_sd = sqrt(left);
    }
    p->order[step] = best, taken[best] = true;
    y[step] = truncated_mean(p, best, best_mean, best_sd);
    for (int i = 0; i < n; i++) {
      double sum = p->cov[i * n + best];
      if (taken[i]) continue;
      for (int m = 0; m < step; m++) sum -= l[i * n + m] * l[best * n + m];
      l[i * n + step] = sum / best_sd;
    }
  }
  return true;
}

/* All shifts of one size; the sums of derivatives of p over them, divided by their number. */
static bool run_shifts(const problem *p, const bl_mvn_tree *tree, const blica_rectangle *r, int points, bool gradient,
                       blica_simd level, bl_mvn_work *work, double *value, double *error) {
  const int n = p->n, edges = p->first[n];
  const double one = 1.0;
  const bl_intervals levels = intervals_of(p);
  double mean = 0, squares = 0, log_p;
  bl_mvn_result result = {.log_p = &log_p};
  if (gradient) {
    result.weight = &one, result.g_mean = p->g_mean, result.g_cov = p->g_cov, result.g_edge = p->g_edge;
    memset(p->sum_mean, 0, sizeof(double) * (size_t)n);
    memset(p->sum_edge, 0, sizeof(double) * (size_t)edges);
    memset(p->sum_cov, 0, sizeof(double) * (size_t)(n * n));
  }
  for (int shift = 0; shift < SHIFTS; shift++) {
    if (!bl_mvn_lattice(tree, p->mean, p->cov, &levels, 0, 1, points, r->seed, (uint64_t)shift, level, work, &result))
      return false;
    const double now = exp(log_p), step = now - mean;
    mean += step / (shift + 1);
    squares += step * (now - mean);
    for (int i = 0; gradient && i < n; i++) p->sum_mean[i] += now / SHIFTS * p->g_mean[i];
    for (int e = 0; gradient && e < edges; e++) p->sum_edge[e] += now / SHIFTS * p->g_edge[e];
    for (int i = 0; gradient && i < n * n; i++) p->sum_cov[i] += now / SHIFTS * p->g_cov[i];
  }
  *value = mean;
  *error = BOUND * sqrt(squares / (SHIFTS * (SHIFTS - 1))) + 1e-15;
  return true;
}

/* The trapezoidal rule over the factors, where it is quick; *value stays as it is where it is not. */
static blica_status by_factors(blica_ctx *ctx, problem *p, const blica_rectangle *r, double *value, double *error) {
  const int n = p->n, k = r->k;
  BL_OWNED double *work = NULL;
  double band[BL_GRID_SOURCES], both[2];
  bl_grid grid = {
      .n = n, .k = k, .mean = p->mean, .loading = p->loading, .count = 1, .x = p->x, .levels = intervals_of(p)};
  const double wanted = fmax(0.1 * r->error, 1e-15);
  for (int i = 0; i < n; i++) {
    const int from = p->variable[i];
    const double over = 1.0 / sqrt(r->unique[from]);
    p->mean[i] *= over;
    for (int e = p->first[i]; e < p->first[i + 1]; e++) p->edge[e] *= over;
    for (int l = 0; l < k; l++) p->loading[i * k + l] = r->loading[from + (size_t)l * r->n] * over;
  }
  bl_grid_band(n, k, p->loading, band);
  if (bl_grid_plan(&grid, band, wanted) * n > GRID_WORK) return BLICA_OK;
  MUST(bl_alloc(ctx, bl_grid_work(n, p->first[n], k), &work));
  grid.work = work;
  for (int half = 0; half < 2; half++) {
    grid.shift = 0.5 * half, grid.p = &both[half];
    bl_grid_run(&grid, blica_simd_level(ctx));
  }
  *value = 0.5 * (both[0] + both[1]);
  *error = fabs(both[0] - both[1]) + wanted + 1e-14;
  return BLICA_OK;
}

static void write_gradient(const problem *p, const blica_rectangle *r, blica_rectangle_gradient *g) {
  const size_t n = (size_t)r->n;
  memset(g->lower, 0, sizeof(double) * n);
  memset(g->upper, 0, sizeof(double) * n);
  memset(g->mean, 0, sizeof(double) * n);
  memset(g->cov, 0, sizeof(double) * n * n);
  for (int i = 0; i < p->n; i++) {
    const int to = p->variable[i];
    const double by_mean = p->sum_mean[i],
                 by_width = p->first[i + 1] - p->first[i] > 1 ? p->sum_edge[p->first[i] + 1] : 0;
    g->mean[to] = by_mean;
    if (p->x[i])
      g->lower[to] = -by_mean - by_width, g->upper[to] = by_width;
    else
      g->upper[to] = -by_mean;
    for (int j = 0; j < p->n; j++) g->cov[to + n * (size_t)p->variable[j]] = p->sum_cov[i * p->n + j];
  }
}

/* Lattices of growing size until the error is below that wanted. */
static blica_status by_lattices(blica_ctx *ctx, problem *p, const blica_rectangle *r, bool gradient, double *value,
                                double *error) {
  blica_status status = BLICA_OK;
  BL_OWNED bl_mvn_tree *tree = NULL;
  BL_OWNED bl_mvn_work *work = NULL;
  BL_OWNED double *l = NULL;
  const double wanted = r->error > 0 ? r->error : 1e-6;
  MUST(bl_alloc(ctx, (size_t)p->n * (size_t)p->n, &l));
  if (!choose_order(p, l)) return bl_fail(ctx, BLICA_ERR_NUMERIC, "the covariance is not positive definite");
  MUST(bl_mvn_tree_make(ctx, p->n, p->order, 1, p->x, &tree));
  for (int points = FIRST_POINTS; points <= MOST_POINTS; points *= 2) {
    bl_free(work);
    work = NULL;
    TRY(bl_mvn_work_make(ctx, p->n, p->first[p->n], points > BL_MVN_BLOCK ? points : BL_MVN_BLOCK, 1, &work));
    if (!run_shifts(p, tree, r, points, gradient, blica_simd_level(ctx), work, value, error))
      return bl_fail(ctx, BLICA_ERR_NUMERIC, "the covariance is not positive definite");
    if (*error <= wanted) break;
  }
done:
  return status;
}

blica_status blica_mvn(blica_ctx *ctx, const blica_rectangle *rectangle, double *value, double *error,
                       blica_rectangle_gradient *gradient) {
  BL_NEED(ctx, rectangle, value, error);
  BL_OWNED problem *p = NULL;
  MUST(check_rectangle(ctx, rectangle));
  MUST(make_problem(ctx, rectangle, &p));
  const bool factors = rectangle->k > 0 && rectangle->k <= BL_GRID_SOURCES;
  double by_grid = NAN, grid_error = NAN;
  *value = 1, *error = 0;
  if (p->n == 1 && !gradient) {
    *value = exp(log_interval(p, 0, p->mean[0], sqrt(p->cov[0])));
    *error = 1e-15;
    return BLICA_OK;
  }
  if (p->n > 0 && (gradient || !factors)) MUST(by_lattices(ctx, p, rectangle, gradient != NULL, value, error));
  if (gradient) write_gradient(p, rectangle, gradient);
  if (p->n > 0 && factors) MUST(by_factors(ctx, p, rectangle, &by_grid, &grid_error));
  if (!isnan(by_grid))
    *value = by_grid, *error = grid_error;
  else if (p->n > 0 && factors && !gradient)
    MUST(by_lattices(ctx, p, rectangle, false, value, error));
  return BLICA_OK;
}
