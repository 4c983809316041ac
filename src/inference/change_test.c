/* change_test.c - a score test of changing variances, its reference distribution by simulation.
 *
 * Null hypothesis: all segments have the same latent correlations; margins are free. The common correlation of a pair
 * is its pairwise maximum-likelihood estimate over all segments. Against it stand changes of the covariance of the k
 * leading factors of that common matrix: directions D [pairs,m], m <= k(k+1)/2. With U_s the score of the pairwise
 * likelihood of segment s along D and V_s = D' W_s D its nominal information, the statistic is sum_s U_s' (V_s + R
 * I)^-1 U_s: a score test against random changes of standard deviation R^-1/2. Nothing of it depends on the fitted
 * mixing matrix, which under the null hypothesis adapts to the noise. Data sets with the same rows, margins and missing
 * values are simulated under the common correlations, and the statistic is computed anew in each. Margins of small
 * segments are noisy: they are shrunk to the variable's mean over segments as a beta-binomial model has it.
 *
 * For one source the null model is the fitted one with the variance of this source the same everywhere, the directions
 * are the model's, and the other sources are projected out; that needs axes that are determined, so its p is never
 * below the overall one. Uniformity of p and power: bench/results/inference.md. */
#include "inference/change_test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "counts/counts.h"
#include "inference/common.h"
#include "inference/implied.h"
#include "num/normal.h"
#include "num/rng.h"

enum { ROUNDS = 25, DIRECTIONS_MOST = 36 };
static const double RIDGE = 4; /* 1 / 0.5^2: changes by about half of a variance */

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_rows *rows;
  const blica_counts *observed;
  int n, k, u, factors;
  size_t pairs, m; /* directions, the larger of the two hypotheses' */
  uint64_t seed;
  int source;                   /* -1: overall */
  double *rho;                  /* [pairs] common, or [pairs,u] of a source's null model */
  double *slope;                /* [pairs,k,u] of a source's null model */
  double *shrunk;               /* [planes,u] thresholds to simulate with */
  double *factor;               /* [n,n,1 or u] Cholesky factors of the null correlations */
  double statistic;             /* observed */
  double *simulated;            /* [simulations] */
  struct workspace *workspaces; /* per thread; they own all arrays */
} job;

/* One thread's. */
typedef struct workspace {
  blica_data *data;                /* simulated rows */
  blica_counts *counts;            /* of these rows */
  bl_common *common;               /* of these counts, at the null correlations */
  double *matrix, *values;         /* [n,n], [n] */
  double *d;                       /* [pairs,m] */
  double *score, *info, *weighted; /* [m], [m,m], [pairs,m] */
  double *z;                       /* [n] */
} workspace;

static blica_status make_workspace(job *b, workspace *r) {
  blica_ctx *ctx = b->ctx;
  const size_t n = (size_t)b->n;
  void *owner = b->workspaces;
  MUST(bl_rows_data(ctx, b->rows, b->rows->weight, &r->data));
  MUST(bl_rows_counts_create(ctx, b->rows, &r->counts));
  MUST(bl_common_make(ctx, b->n, b->u, b->rows->coding, &r->common));
  MUST(bl_alloc_for(ctx, owner, n * n, &r->matrix));
  MUST(bl_alloc_for(ctx, owner, n, &r->values));
  MUST(bl_alloc_for(ctx, owner, b->pairs * b->m, &r->d));
  MUST(bl_alloc_for(ctx, owner, b->m, &r->score));
  MUST(bl_alloc_for(ctx, owner, b->m * b->m, &r->info));
  MUST(bl_alloc_for(ctx, owner, b->pairs * b->m + 4 * (size_t)b->k * b->k, &r->weighted));
  MUST(bl_alloc_for(ctx, owner, n, &r->z));
  return BLICA_OK;
}

/* ---- scores of counts ---- */

/* d rho for a unit change of the covariance of two leading factors of the common matrix, into d; returns how many,
 * or -1 when LAPACK failed. */
static int directions(const job *b, workspace *r) {
  const int n = b->n;
  int count = 0;
  bl_common_matrix(n, r->common->rho, r->matrix);
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, r->matrix, n, r->values) != 0) return -1;
  for (int f = 0; f < b->factors; f++)
    for (int g = 0; g <= f; g++, count++) {
      const double *x = r->matrix + (size_t)(n - 1 - f) * n, *y = r->matrix + (size_t)(n - 1 - g) * n;
      const double size = 0.5 * sqrt(fmax(0, r->values[n - 1 - f]) * fmax(0, r->values[n - 1 - g]));
      double *d = r->d + b->pairs * (size_t)count;
      for (int j = 1; j < n; j++)
        for (int i = 0; i < j; i++) {
          const size_t at = (size_t)blica_pair(i, j);
          d[at] = size * (x[i] * y[j] + x[j] * y[i] - r->common->rho[at] * (x[i] * y[i] + x[j] * y[j]));
        }
    }
  return count;
}

/* Score [m] and information [m,m] of segment s along d [pairs,m]. */
static void segment_score(const job *b, workspace *r, int s, const double *d, int m) {
  const double *score = r->common->score + b->pairs * (size_t)s;
  const double *information = r->common->information + b->pairs * (size_t)s;
  cblas_dgemv(CblasColMajor, CblasTrans, (int)b->pairs, m, 1, d, (int)b->pairs, score, 1, 0, r->score, 1);
  for (int c = 0; c < m; c++)
    for (size_t at = 0; at < b->pairs; at++)
      r->weighted[at + b->pairs * (size_t)c] = information[at] * d[at + b->pairs * (size_t)c];
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, m, (int)b->pairs, 1, d, (int)b->pairs, r->weighted,
              (int)b->pairs, 0, r->info, m);
}

/* U' (V + R I)^-1 U; info is overwritten. */
static double quadratic(double *info, double *score, int m) {
  for (int c = 0; c < m; c++) info[c * (m + 1)] += RIDGE;
  if (m == 0 || LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', m, info, m) != 0) return 0;
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, info, m, score, 1);
  return cblas_ddot(m, score, 1, score, 1);
}

static blica_status overall_statistic(blica_ctx *ctx, const job *b, const blica_counts *c, workspace *r, double *sum) {
  bl_common_fit(c, r->common);
  errno = 0;
  const int m = directions(b, r);
  if (m < 0)
    return bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "the eigenvalues of the common correlations did not converge");
  *sum = 0;
  for (int s = 0; s < b->u; s++) {
    segment_score(b, r, s, r->d, m);
    *sum += quadratic(r->info, r->score, m);
  }
  return BLICA_OK;
}

/* The statistic less the same without the source: what is left for it when the others are projected out. */
static double source_statistic(const job *b, const blica_counts *c, workspace *r) {
  const int k = b->k;
  double sum = 0;
  bl_common_margins(c, r->common);
  for (int s = 0; s < b->u; s++) {
    const double *rho = b->rho + b->pairs * (size_t)s;
    for (int j = 1; j < b->n; j++)
      for (int i = 0; i < j; i++) bl_common_score(c, s, i, j, rho[blica_pair(i, j)], r->common);
    segment_score(b, r, s, b->slope + b->pairs * (size_t)k * s, k);
    int at = 0;
    for (int col = 0; col < k; col++) { /* the others, packed */
      if (col == b->source) continue;
      int row_at = 0;
      for (int row = 0; row < k; row++)
        if (row != b->source) r->weighted[k * k + row_at++ + (k - 1) * at] = r->info[row + k * col];
      r->weighted[2 * k * k + at++] = r->score[col];
    }
    sum += quadratic(r->info, r->score, k) - quadratic(r->weighted + k * k, r->weighted + 2 * k * k, k - 1);
  }
  return sum;
}

/* ---- simulation ---- */

/* Draws values in place of the observed ones, under the null correlations; the same values are missing. */
static void simulate(const job *b, int64_t index, workspace *r) {
  const bl_rows *rows = b->rows;
  const int n = b->n;
  for (int s = 0; s < b->u; s++) {
    bl_rng rng = bl_rng_make(b->seed, ((uint64_t)(b->source + 2) << 56) + ((uint64_t)index << 28) + (uint64_t)s);
    const double *factor = b->factor + (b->source < 0 ? 0 : (size_t)n * n * s),
                 *t = b->shrunk + (size_t)rows->planes * s;
    const size_t words = (size_t)r->data->words[s];
    uint64_t *ones = r->data->ones[s];
    int64_t row = 0; /* of the segment */
    memset(ones, 0, words * (size_t)rows->planes * sizeof *ones);
    for (int64_t pattern = rows->first[s]; pattern < rows->first[s + 1]; pattern++)
      for (int64_t copy = 0; copy < (int64_t)rows->weight[pattern]; copy++, row++) {
        const int8_t *like = rows->x + (size_t)n * (size_t)pattern;
        for (int i = 0; i < n; i++) r->z[i] = bl_rng_normal(&rng);
        for (int i = 0; i < n; i++) {
          double q = 0;
          for (int l = 0; l <= i; l++) q += factor[i + (size_t)l * n] * r->z[l];
          for (int p = bl_plane(rows->coding, i); p < bl_plane(rows->coding, i + 1) && like[i] != BLICA_MISSING; p++)
            ones[(size_t)p * words + (size_t)(row / 64)] |= (uint64_t)(q < t[p]) << row % 64;
        }
      }
  }
}

static blica_status simulate_task(blica_ctx *child, int64_t index, int thread, void *user) {
  job *b = user;
  workspace *r = &b->workspaces[thread];
  simulate(b, index, r);
  bl_rows_clear(r->counts);
  MUST(bl_count_alone(child, r->data, &r->counts));
  if (b->source < 0) memcpy(r->common->rho, b->rho, b->pairs * sizeof(double));
  if (b->source < 0)
    MUST(overall_statistic(child, b, r->counts, r, &b->simulated[index]));
  else
    b->simulated[index] = source_statistic(b, r->counts, r);
  return BLICA_OK;
}

/* The share of ones of column p over all segments, and how much more than chance its shares vary: the intra-class
 * correlation of the beta-binomial model, by the method of moments. */
static double intraclass(const blica_counts *c, int p, double *mean) {
  double ones = 0, rows = 0, squares = 0, chi = 0;
  for (int s = 0; s < c->u; s++) {
    const size_t at = p + (size_t)c->n * s;
    ones += c->ones[at], rows += c->present[at], squares += c->present[at] * c->present[at];
  }
  *mean = (ones + 0.5) / (rows + 1);
  for (int s = 0; s < c->u; s++) {
    const size_t at = p + (size_t)c->n * s;
    if (c->present[at] > 0)
      chi += pow(c->ones[at] - c->present[at] * *mean, 2) / c->present[at] / (*mean * (1 - *mean));
  }
  /* E chi = u - 1 + (rows - squares / rows) correlation - ..., to first order in the intra-class correlation */
  return fmin(fmax((chi - (c->u - 1)) / fmax(rows - squares / rows, 1), 0), 0.99);
}

/* Shares of ones, shrunk to their means over segments; the columns of an item by the same amount, so that the shares of
 * higher levels stay below those of lower ones. */
static void shrink_margins(const job *b) {
  const blica_counts *c = b->observed;
  const blica_coding *coding = b->rows->coding;
  for (int i = 0; i < b->n; i++) {
    const int first = bl_plane(coding, i), last = bl_plane(coding, i + 1);
    double together = 0, mean;
    for (int p = first; p < last; p++) together += intraclass(c, p, &mean) / (last - first);
    const double prior = together > 0 ? (1 - together) / together : INFINITY;
    for (int p = first; p < last; p++) {
      intraclass(c, p, &mean);
      for (int s = 0; s < b->u; s++) {
        const size_t at = p + (size_t)c->n * s;
        const double share = isfinite(prior) ? (c->ones[at] + prior * mean) / (c->present[at] + prior) : mean;
        b->shrunk[at] = bl_phi_quantile(fmin(fmax(share, 1e-6), 1 - 1e-6));
      }
    }
  }
}

/* factor [n,n] <- Cholesky factor of the correlations, made positive definite. */
static bool factorise(int n, const double *rho, double *factor) {
  for (double ridge = 0; ridge<10; ridge = ridge> 0 ? 3 * ridge : 1e-6) {
    bl_common_matrix(n, rho, factor);
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        if (i != j) factor[i + (size_t)j * n] /= 1 + ridge;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, factor, n) == 0) return true;
  }
  return false;
}

static blica_status reference(job *b, int simulations, double *p) {
  int above = 0;
  MUST(bl_parallel_children(b->ctx, simulations, "change test, simulation", simulate_task, b));
  for (int i = 0; i < simulations; i++) above += !(b->simulated[i] < b->statistic);
  *p = (1.0 + above) / (1.0 + simulations);
  return BLICA_OK;
}

/* The null model of a source: its variance the one that fits all segments best, the others as they are. */
static bool source_null(job *b, workspace *r) {
  const blica_model *m = b->model;
  const int n = b->n, k = b->k, j = b->source;
  double *v = r->values, common = 0;
  for (int round = 0; round < ROUNDS; round++) {
    double score = 0, information = 0;
    bl_common_margins(b->observed, r->common);
    for (int s = 0; s < b->u; s++) {
      double *rho = b->rho + b->pairs * (size_t)s, *slope = b->slope + b->pairs * (size_t)k * s;
      for (int l = 0; l < k; l++) v[l] = l == j ? exp(common) : m->variances[l + (size_t)k * s];
      bl_implied_rho(n, k, m->link, m->mixing, v, r->z, rho);
      bl_implied_variance_slope(n, k, m->link, m->mixing, v, r->z, rho, slope);
      for (int c = 1; c < n; c++)
        for (int i = 0; i < c; i++) bl_common_score(b->observed, s, i, c, rho[blica_pair(i, c)], r->common);
      segment_score(b, r, s, slope, k);
      score += r->score[j];
      information += r->info[j * (k + 1)];
    }
    if (!(information > 0)) break;
    const double step = fmin(fmax(score / information, -1), 1);
    if (fabs(step) < 1e-4) break;
    common += step;
  }
  for (int s = 0; s < b->u; s++)
    if (!factorise(n, b->rho + b->pairs * (size_t)s, b->factor + (size_t)n * n * s)) return false;
  return true;
}

static blica_status allocate(job *b, int simulations) {
  blica_ctx *ctx = b->ctx;
  const size_t n = (size_t)b->n, u = (size_t)b->u;
  MUST(bl_alloc(ctx, (size_t)bl_max_threads(ctx), &b->workspaces));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul(b->pairs, u), &b->rho));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul(b->pairs * (size_t)b->k, u), &b->slope));
  MUST(bl_alloc_for(ctx, b->workspaces, (size_t)b->rows->planes * u, &b->shrunk));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul(n * n, u), &b->factor));
  MUST(bl_alloc_for(ctx, b->workspaces, (size_t)simulations, &b->simulated));
  for (int i = 0; i < bl_max_threads(ctx); i++) MUST(make_workspace(b, &b->workspaces[i]));
  return BLICA_OK;
}

static void release(job *b) {
  for (int i = 0; b->workspaces && i < bl_max_threads(b->ctx); i++) {
    blica_data_free(b->workspaces[i].data);
    blica_counts_free(b->workspaces[i].counts);
    bl_free(b->workspaces[i].common);
  }
  bl_free(b->workspaces);
}

blica_status bl_change_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                            int simulations, uint64_t seed, double *p, double *source_p) {
  blica_status status;
  job b = {.ctx = ctx, .model = model, .rows = rows, .observed = counts, .n = model->n, .k = model->k, .u = model->u};
  b.pairs = (size_t)b.n * (b.n - 1) / 2, b.seed = seed, b.source = -1;
  while (b.factors < b.k && (b.factors + 1) * (b.factors + 2) / 2 <= DIRECTIONS_MOST &&
         (size_t)(b.factors + 1) * (b.factors + 2) / 2 <= b.pairs)
    b.factors++;
  b.m = (size_t)b.factors * (b.factors + 1) / 2;
  if (b.m < (size_t)b.k + 3) b.m = (size_t)b.k + 3;
  bl_blas_hold();
  TRY(allocate(&b, simulations));
  shrink_margins(&b);
  TRY(overall_statistic(ctx, &b, counts, b.workspaces, &b.statistic));
  memcpy(b.rho, b.workspaces->common->rho, b.pairs * sizeof(double));
  if (isnan(b.statistic) || !factorise(b.n, b.rho, b.factor))
    FAIL(ctx, BLICA_ERR_NUMERIC, "the common correlations of all segments could not be decomposed");
  TRY(reference(&b, simulations, p));
  for (b.source = 0; b.source < b.k; b.source++) {
    if (!source_null(&b, b.workspaces))
      FAIL(ctx, BLICA_ERR_NUMERIC, "source %d: its null model has no valid correlations", b.source + 1);
    b.statistic = source_statistic(&b, counts, b.workspaces);
    TRY(reference(&b, simulations, &source_p[b.source]));
    source_p[b.source] = fmax(source_p[b.source], *p);
  }
done:
  bl_blas_release();
  release(&b);
  return status;
}
