/* mvn.c - probabilities of orthants and rectangles of a multivariate normal distribution by separation of variables on
 * a randomly shifted rank-1 lattice.
 *
 * Method: Genz (1992) over a tree of orthants (sov_kernel.h); lattice by component-by-component construction
 * (lattice_vector.h), folded by the baker's transformation (Hickernell 2002). The derivative with respect to mean
 * and covariance is that of the lattice sum itself: reverse mode through the tree, then through the
 * Cholesky factor (Murray 2016).
 * Accuracy: estimated from independent shifts, never assumed. Checked against closed forms (n = 2, 3,
 * equicorrelated, products), mvtnorm, sums over all orthants and central differences: tests/unit/num/test_mvn.c,
 * tests/parity/mvn.sh. */
#include "num/rectangles/mvn.h"

#include <math.h>
#include <string.h>

#include "num/linear/blas.h"
#include "num/rectangles/lattice_vector.h"
#include "num/normal/normal.h"
#include "num/rng.h"
#include "num/rectangles/sov.h"

blica_status bl_mvn_work_make(blica_ctx *ctx, int n, int edges, int points, int64_t count, bl_mvn_work **out) {
  blica_status status = BLICA_OK;
  BL_OWNED bl_mvn_work *work = NULL;
  size_t square = (size_t)n * (size_t)n, rows = (size_t)count;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &work));
  work->n = n;
  work->edges = edges;
  work->points = points;
  work->count = count;
  TRY(bl_alloc_for(ctx, work, square, &work->cholesky));
  TRY(bl_alloc_for(ctx, work, square, &work->slope));
  TRY(bl_alloc_for(ctx, work, square, &work->g_slope));
  TRY(bl_alloc_for(ctx, work, 3 * square, &work->solve));
  TRY(bl_alloc_for(ctx, work, (size_t)n, &work->offset));
  TRY(bl_alloc_for(ctx, work, (size_t)n, &work->g_offset));
  TRY(bl_alloc_for(ctx, work, bl_mul((size_t)n, (size_t)points), &work->uniform));
  TRY(bl_alloc_for(ctx, work, (size_t)n + 1, &work->first_edge));
  TRY(bl_alloc_for(ctx, work, (size_t)edges, &work->edge));
  TRY(bl_alloc_for(ctx, work, (size_t)edges, &work->g_edge));
  TRY(bl_alloc_for(ctx, work, rows, &work->weight));
  TRY(bl_alloc_for(ctx, work, rows, &work->log_p));
  TRY(bl_alloc_for(ctx, work, bl_sov_work(n, points), &work->kernel));
  *out = bl_take(&work);
done:
  return status;
}

/* Lower Cholesky factor, row-major, of cov with its variables in the given order. */
static bool cholesky(int n, const int *order, const double *cov, double *l) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = cov[(size_t)order[i] * n + order[j]];
      for (int m = 0; m < j; m++) sum -= l[i * n + m] * l[j * n + m];
      if (i == j) {
        if (!(sum > 1e-14 * cov[(size_t)order[i] * n + order[i]])) return false;
        l[i * n + i] = sqrt(sum);
      } else {
        l[i * n + j] = sum / l[j * n + j];
      }
    }
  return true;
}

/* Points first..first+count-1 of a shifted lattice, folded: dimension d of the p-th at uniform[d * count + p], away
 * from 0 and 1. */
static void lattice(int dimensions, int points, int first, int count, uint64_t seed, uint64_t stream, double *uniform) {
  bl_rng rng = bl_rng_make(seed, stream);
  double scale = 1.0 / points;
  for (int d = 0; d < dimensions; d++) {
    double shift = bl_rng_uniform(&rng);
    uint32_t step = bl_lattice_vector[d], mask = (uint32_t)points - 1;
    for (int p = 0; p < count; p++) {
      double y = (double)((uint32_t)(first + p) * step & mask) * scale + shift;
      y = y >= 1.0 ? y - 1.0 : y;
      double folded = 1.0 - fabs(2.0 * y - 1.0);
      folded = folded < 1e-14 ? 1e-14 : folded;
      uniform[(size_t)d * count + p] = folded > 1.0 - 1e-14 ? 1.0 - 1e-14 : folded;
    }
  }
}

/* x <- L^-T x L^-1, or its transpose. By columns, L' is l. */
static void sandwich(int n, const double *l, double *x) {
  bl_dtrsm('L', 'U', 'N', 'N', n, n, 1, l, n, x, n);
  bl_dtrsm('R', 'U', 'T', 'N', n, n, 1, l, n, x, n);
}

/* Turns the gradient in slope and offset into that in mean and cov: first in L, then back through the
 * Cholesky factorisation, g_cov = sym(L^-T low(L' Lbar) L^-1) with the diagonal of low() halved. */
static void chain(const bl_mvn_tree *tree, const double *mean, const bl_intervals *levels, bl_mvn_work *work,
                  const bl_mvn_result *result) {
  int n = tree->n;
  double *l = work->cholesky, *bar = work->solve, *mid = work->solve + (size_t)n * n;
  memset(bar, 0, sizeof *bar * (size_t)n * (size_t)n);
  for (int i = 0; i < n; i++) {
    double d = l[i * n + i], sum = work->g_offset[i] * mean[tree->order[i]];
    result->g_mean[tree->order[i]] = work->g_offset[i] / d;
    for (int j = 0; j < i; j++) {
      bar[i * n + j] = work->g_slope[i * n + j] / d;
      sum += work->g_slope[i * n + j] * l[i * n + j];
    }
    for (int e = 1; levels && e < work->first_edge[i + 1] - work->first_edge[i]; e++)
      sum += work->g_edge[work->first_edge[i] + e] * levels->edge[levels->first[tree->order[i]] + e];
    bar[i * n + i] = -sum / (d * d);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0.0;
      if (j <= i)
        for (int m = i; m < n; m++) sum += l[m * n + i] * bar[m * n + j];
      mid[i * n + j] = i == j ? 0.5 * sum : sum;
    }
  sandwich(n, l, mid);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      result->g_cov[(size_t)tree->order[i] * n + tree->order[j]] = 0.5 * (mid[i * n + j] + mid[j * n + i]);
}

/* Derivatives in the edges of the given variables. With two levels the only edge moves against the mean. */
static void chain_edges(const bl_mvn_tree *tree, const bl_intervals *levels, const bl_mvn_work *work,
                        const bl_mvn_result *result) {
  for (int i = 0; i < tree->n; i++) {
    const int own = work->first_edge[i], count = work->first_edge[i + 1] - own, to = levels->first[tree->order[i]];
    const double d = work->cholesky[i * tree->n + i];
    for (int e = 0; e < count; e++)
      result->g_edge[to + e] = count == 1 ? -result->g_mean[tree->order[i]] : work->g_edge[own + e] / d;
  }
}

/* Values only, in blocks of points that stay in the cache: log of the mean over blocks. */
static void run_blocks(bl_sov *task, int points, uint64_t seed, uint64_t stream, blica_simd level, bl_mvn_work *work,
                       double *log_p) {
  int blocks = points / task->points;
  for (int block = 0; block < blocks; block++) {
    lattice(task->n - 1, points, block * task->points, task->points, seed, stream, work->uniform);
    bl_sov_run(task, level);
    for (int64_t r = 0; r < task->count; r++) {
      double now = work->log_p[r] - log(blocks), before = block ? log_p[r] : -INFINITY;
      double top = fmax(now, before), low = fmin(now, before);
      log_p[r] = top + log1p(exp(low - top));
    }
  }
}

/* Slopes, offsets and edges in units of conditional deviations; false when cov is not positive definite. */
static bool standardise(const bl_mvn_tree *tree, const double *mean, const double *cov, const bl_intervals *levels,
                        bl_mvn_work *work) {
  const int n = tree->n;
  double *l = work->cholesky;
  if (!cholesky(n, tree->order, cov, l)) return false;
  for (int i = 0; i < n; i++) {
    double inverse = 1.0 / l[i * n + i];
    work->offset[i] = mean[tree->order[i]] * inverse;
    for (int j = 0; j < i; j++) work->slope[i * n + j] = l[i * n + j] * inverse;
    if (!levels) continue;
    const int from = levels->first[tree->order[i]], count = levels->first[tree->order[i] + 1] - from;
    for (int e = 0; e < count; e++) work->edge[work->first_edge[i] + e] = levels->edge[from + e] * inverse;
    work->first_edge[i + 1] = work->first_edge[i] + count;
  }
  return true;
}

/* Tells the kernel what to compute besides log p. */
static void ask(const bl_mvn_tree *tree, int64_t low, int64_t high, const bl_mvn_result *result, bl_mvn_work *work,
                bl_sov *task) {
  const size_t n = (size_t)tree->n;
  if (result->weight) {
    for (int64_t r = low; r < high; r++) work->weight[r - low] = result->weight[tree->row[r]];
    memset(work->g_offset, 0, sizeof(double) * n);
    memset(work->g_slope, 0, sizeof(double) * n * n);
    memset(work->g_edge, 0, sizeof(double) * (size_t)work->edges);
    task->weight = work->weight;
    task->g_offset = work->g_offset;
    task->g_slope = work->g_slope;
    task->g_edge = work->g_edge;
  }
}

bool bl_mvn_lattice(const bl_mvn_tree *tree, const double *mean, const double *cov, const bl_intervals *levels,
                    int64_t low, int64_t high, int points, uint64_t seed, uint64_t stream, blica_simd level,
                    bl_mvn_work *work, const bl_mvn_result *result) {
  int n = tree->n;
  if (levels && !levels->first) levels = NULL;
  if (!standardise(tree, mean, cov, levels, work)) return false;
  bl_sov task = {.n = n,
                 .slope = work->slope,
                 .offset = work->offset,
                 .count = high - low,
                 .x = tree->x + low * n,
                 .levels = {levels ? work->first_edge : NULL, work->edge},
                 .points = points,
                 .uniform = work->uniform,
                 .log_p = work->log_p,
                 .work = work->kernel};
  if (!result->weight) {
    task.points = points < BL_MVN_BLOCK ? points : BL_MVN_BLOCK;
    run_blocks(&task, points, seed, stream, level, work, result->log_p);
    return true;
  }
  ask(tree, low, high, result, work, &task);
  lattice(n - 1, points, 0, points, seed, stream, work->uniform);
  bl_sov_run(&task, level);
  memcpy(result->log_p, work->log_p, sizeof(double) * (size_t)(high - low));
  chain(tree, mean, levels, work, result);
  if (levels && result->g_edge) chain_edges(tree, levels, work, result);
  return true;
}
