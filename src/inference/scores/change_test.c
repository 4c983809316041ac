/* change_test.c - a score test of changing variances, from the scores of single rows.
 *
 * Null hypothesis: all segments have the same latent correlations; margins are free. The pooled correlations are those
 * of pooled.c, with margins that are shrunk, and scores that are insensitive to them to first order. The alternative is
 * changes of the covariance of the k leading factors of the pooled matrix: directions D [pairs,m], m <= k(k+1)/2.
 * Nothing depends on the fitted mixing matrix, which under the null hypothesis adapts to the noise. With U_r the score
 * of row r along D, H_s = D'W_s D the nominal information of segment s of N_s rows, l_s = diag(H_s)^1/2, f_s = N_s / N:
 *   S_s = sum over rows of s of (U_r - mean U),  R = (1/N) sum Z_r Z_r',  Z_r = N_s^1/2 l_s^-1 (U_r - mean U),
 *   J_s = l_s R l_s,  Q_s = J_s^-1 - (J_s + H_s H_s / RIDGE)^-1,  T = sum_s S_s' Q_s S_s,
 * the statistic for random changes of standard deviation RIDGE^-1/2 with the rows' own variance in place of the nominal
 * one. Its tail is that of the gamma distribution with mean sum (1 - f_s) tr Q_s J_s and variance
 * 2 sum (1 - f_s) tr (Q_s J_s)^2. After Zeileis and Hornik (Statistica Neerlandica 61, 2007) and Merkle and Zeileis
 * (Psychometrika 78, 2013).
 *
 * Where rows depend on those before them, R is multiplied by the inflation of dependence.c.
 *
 * Sources that are not normal change the correlations of items with their thresholds, so that means which differ look
 * like variances that do. To first order this follows the means: beyond_means() tests what is left of S_s after a
 * regression on them, with the leverages in place of f_s in (1 - f_s).
 *
 * For one source the null model is the fitted one with the variance of this source the same everywhere, directions are
 * the log-variances of the model, the others are projected out, and the ratio of R to the nominal variance is that at
 * the fitted model; it needs axes that are determined, so its p is never below the overall one.
 * Checked against an independent computation (tests/cli/assess.bats); size and power: bench/results/inference.md. */
#include "inference/scores/change_test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "inference/scores/pooled.h"
#include "inference/implied.h"
#include "inference/scores/row_scores.h"
#include "num/linear/blas.h"
#include "num/chi2.h"

enum { ROUNDS = 10, DIRECTIONS_MOST = 36, LAG_DIRECTIONS = 6 };
static const double RIDGE = 4; /* 1 / 0.5^2: changes by about half of a variance */

/* One thread's. */
typedef struct {
  bl_influence *influence;
  bl_units_reader units;
  double *weight, *score, *rho, *z;
} workspace;

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_rows *rows;
  const blica_counts *counts;
  int n, k, u;
  size_t pairs, m;      /* m: directions */
  bl_pooled *pooled;    /* null model of all segments; it owns d, h, lags and the sums */
  double *d;            /* [pairs,m] directions; NULL: those of the fitted log-variances of each segment */
  double *h;            /* [m,m,u] nominal information */
  bl_lag_sums *lags;    /* [u] */
  bl_score_sums *sums;  /* [u] */
  bool adjacent;        /* lags are wanted */
  workspace *workspace; /* per thread */
} job;

/* ---- directions and row scores ---- */

/* How many leading factors: all of their covariances are directions. */
static int factors_of(const job *b) {
  int f = 0;
  while (f < b->k && (f + 1) * (f + 2) / 2 <= DIRECTIONS_MOST && (size_t)(f + 1) * (size_t)(f + 2) / 2 <= b->pairs) f++;
  return f;
}

/* d <- d rho for a unit change of the covariance of two leading factors of the pooled matrix. */
static blica_status factor_directions(const job *b, int factors, double *d) {
  const int n = b->n;
  BL_OWNED double *matrix = NULL, *values = NULL;
  MUST(bl_alloc(b->ctx, (size_t)n * n, &matrix));
  MUST(bl_alloc(b->ctx, (size_t)n, &values));
  bl_pooled_matrix(n, b->pooled->rho, matrix);
  errno = 0;
  if (bl_dsyevd('V', 'L', n, matrix, n, values) != 0)
    return bl_fail_outside(b->ctx, BLICA_ERR_NUMERIC, "the eigenvalues of the pooled correlations did not converge");
  for (int f = 0; f < factors; f++)
    for (int g = 0; g <= f; g++, d += b->pairs) {
      const double *x = matrix + (size_t)(n - 1 - f) * n, *y = matrix + (size_t)(n - 1 - g) * n;
      const double size = 0.5 * sqrt(fmax(0, values[n - 1 - f]) * fmax(0, values[n - 1 - g]));
      for (int j = 1; j < n; j++)
        for (int i = 0; i < j; i++) {
          const size_t at = (size_t)blica_pair(i, j);
          d[at] = size * (x[i] * y[j] + x[j] * y[i] - b->pooled->rho[at] * (x[i] * y[i] + x[j] * y[j]));
        }
    }
  return BLICA_OK;
}

/* weight [q,m] <- W_s D with the information that f describes, h [m,m] <- D'W_s D. */
static void weigh(const job *b, int s, const bl_influence *f, const double *d, double *weight, double *h) {
  const bool *used = b->pooled->used + (size_t)b->n * s;
  memset(weight, 0, f->statistics * b->m * sizeof *weight);
  for (size_t c = 0; c < b->m; c++)
    for (int j = 1; j < b->n; j++)
      for (int i = 0; i < j; i++) {
        const size_t at = (size_t)blica_pair(i, j);
        if (used[i] && used[j])
          weight[at + f->statistics * c] = f->both[at] * f->information[at] * d[at + b->pairs * c];
      }
  bl_dgemm('T', 'N', (int)b->m, (int)b->m, (int)b->pairs, 1, d, (int)b->pairs, weight, (int)f->statistics, 0, h,
           (int)b->m);
}

/* Sums over the units of segment s of their scores along the columns of weight. */
static void add_scores(job *b, int s, const workspace *r) {
  const int q = (int)r->units.q, m = (int)b->m;
  int64_t at = 0;
  bl_score_sums_clear(b->m, &b->sums[s]);
  for (int count; (count = bl_units_read(&r->units, s, &at)) > 0;) {
    bl_dgemm('T', 'N', m, count, q, 1, r->weight, q, r->units.psi, q, 0, r->score, m);
    bl_score_sums_add(&r->units, count, b->m, r->score, &b->sums[s]);
  }
}

/* Scores of segment s in the tested directions and, for the lags, products of neighbouring units. */
static void segment_task(int64_t item, int thread, void *user) {
  job *b = user;
  const int s = (int)item;
  const blica_model *model = b->model;
  workspace *r = &b->workspace[thread];
  const double *rho = b->pooled->rho, *d = b->d;
  double *h = b->h + b->m * b->m * (size_t)s, scale[LAG_DIRECTIONS];
  if (!d) {
    const double *v = model->variances + (size_t)b->k * s;
    double *slope = r->rho + b->pairs, *sizes = slope + b->pairs * b->m;
    bl_implied_rho(b->n, b->k, model->link, model->mixing, v, sizes, r->rho);
    bl_implied_variance_slope(b->n, b->k, model->link, model->mixing, v, sizes, r->rho, slope);
    rho = r->rho, d = slope;
  }
  bl_influence_describe(b->counts, s, rho, b->pooled->t + (size_t)b->rows->planes * s, NULL, r->influence);
  weigh(b, s, r->influence, d, r->weight, h);
  add_scores(b, s, r);
  if (!b->adjacent) return;
  const size_t used = b->m < LAG_DIRECTIONS ? b->m : LAG_DIRECTIONS;
  for (size_t c = 0; c < used; c++) scale[c] = h[c * (b->m + 1)] > 0 ? sqrt(b->rows->size[s] / h[c * (b->m + 1)]) : 0;
  bl_row_scores_lags(&r->units, s, r->weight, used, scale, r->score, r->z, b->lags[s].score);
  bl_lag_items(b->rows, s, r->z, &b->lags[s]);
}

/* ---- the statistic ---- */

/* inverse [m,m] <- (l r l + more)^-1, both triangles; more may be NULL. False when it is singular. */
static bool invert(size_t m, const double *l, const double *r, const double *more, double *inverse) {
  double trace = 0;
  for (size_t c = 0; c < m; c++)
    for (size_t a = 0; a < m; a++) inverse[a + m * c] = l[a] * r[a + m * c] * l[c] + (more ? more[a + m * c] : 0);
  for (size_t c = 0; c < m; c++) trace += inverse[c * (m + 1)];
  for (size_t c = 0; c < m; c++) inverse[c * (m + 1)] += 1e-9 * trace / (double)m + 1e-12;
  if (bl_dpotrf('L', (int)m, inverse, (int)m) != 0) return false;
  bl_dpotri('L', (int)m, inverse, (int)m);
  for (size_t c = 0; c < m; c++)
    for (size_t a = 0; a < c; a++) inverse[a + m * c] = inverse[c + m * a];
  return true;
}

/* P(statistic >= what is observed): sum [m,u] the scores of segments, h [m,m,u], r [m,m], share [u] of the rows.
 * work [3 m^2 + 2 m]. NaN when a matrix is singular. */
static double tail(size_t m, int u, const double *sum, const double *h, const double *r, const double *share,
                   double *work) {
  double *q = work, *other = q + m * m, *product = other + m * m, *l = product + m * m, *qs = l + m;
  double statistic = 0, mean = 0, variance = 0;
  const int im = (int)m;
  for (int s = 0; s < u; s++) {
    const double *hs = h + m * m * (size_t)s;
    if (!(share[s] > 0)) continue;
    for (size_t c = 0; c < m; c++) l[c] = sqrt(fmax(hs[c * (m + 1)], 1e-9));
    bl_dgemm('N', 'N', im, im, im, 1 / RIDGE, hs, im, hs, im, 0, product, im);
    if (!invert(m, l, r, NULL, q) || !invert(m, l, r, product, other)) return NAN;
    for (size_t c = 0; c < m * m; c++) q[c] -= other[c];
    bl_dgemv('N', im, im, 1, q, im, sum + m * (size_t)s, 1, 0, qs, 1);
    statistic += bl_ddot(im, qs, 1, sum + m * (size_t)s, 1);
    for (size_t c = 0; c < m; c++)
      for (size_t a = 0; a < m; a++) other[a + m * c] = l[a] * r[a + m * c] * l[c];
    bl_dgemm('N', 'N', im, im, im, 1, q, im, other, im, 0, product, im);
    for (size_t c = 0; c < m; c++) {
      mean += (1 - share[s]) * product[c * (m + 1)];
      for (size_t a = 0; a < m; a++) variance += 2 * (1 - share[s]) * product[a + m * c] * product[c + m * a];
    }
  }
  return mean > 0 && variance > 0 ? bl_chi2_upper(2 * statistic * mean / variance, 2 * mean * mean / variance) : NAN;
}

/* r [m,m] <- R, and sum [m,u] <- S, of the sums of row scores. */
static void collect(const job *b, const double *share, double *r, double *sum) {
  const size_t m = b->m;
  double rows = 0, mean[DIRECTIONS_MOST] = {0};
  for (int s = 0; s < b->u; s++) rows += b->rows->size[s];
  for (int s = 0; s < b->u; s++)
    for (size_t c = 0; c < m; c++) mean[c] += b->sums[s].sum[c] / rows;
  memset(r, 0, m * m * sizeof *r);
  for (int s = 0; s < b->u; s++) {
    const double *h = b->h + m * m * (size_t)s, own = share[s] * rows;
    bl_score_sums_centre(mean, m, &b->sums[s]);
    for (size_t c = 0; c < m; c++) {
      sum[c + m * (size_t)s] = b->sums[s].sum[c] - own * mean[c];
      for (size_t a = c; a < m; a++)
        r[a + m * c] += b->sums[s].product[a + m * c] * share[s] / sqrt(fmax(h[c * (m + 1)], 1e-9)) /
                        sqrt(fmax(h[a * (m + 1)], 1e-9));
    }
  }
  for (size_t c = 0; c < m; c++)
    for (size_t a = 0; a < c; a++) r[a + m * c] = r[c + m * a];
}

/* The same of what of the scores does not follow the means of the segments, by least squares: sum [m,u], whose variance
 * is that of rows, is overwritten. NaN where that leaves fewer than two segments. */
static double beyond_means(const job *b, const double *share, const double *r, double *sum, double *work) {
  const int k = b->model->k, u = b->u;
  const size_t m = b->m;
  double *basis = work + 3 * m * m + 2 * m, *leverage = basis + (size_t)u * (size_t)(k + 1);
  memset(leverage, 0, (size_t)u * sizeof *leverage);
  if (u < k + 3) return NAN;
  for (int c = 0; c <= k; c++) {
    double *x = basis + (size_t)u * (size_t)c;
    for (int s = 0; s < u; s++) x[s] = sqrt(share[s]) * (c ? b->model->means[c - 1 + k * s] : 1);
    for (int round = 0; round < 2; round++)
      for (int e = 0; e < c; e++)
        bl_daxpy(u, -bl_ddot(u, basis + (size_t)u * e, 1, x, 1), basis + (size_t)u * e, 1, x, 1);
    const double size = bl_dnrm2(u, x, 1);
    bl_dscal(u, size > 1e-9 ? 1 / size : 0, x, 1);
    for (int s = 0; s < u; s++) leverage[s] += x[s] * x[s];
    for (size_t a = 0; a < m; a++) {
      double along = 0;
      for (int s = 0; s < u; s++) along += share[s] > 0 ? x[s] * sum[a + m * (size_t)s] / sqrt(share[s]) : 0;
      for (int s = 0; s < u; s++) sum[a + m * (size_t)s] -= along * x[s] * sqrt(share[s]);
    }
  }
  for (int s = 0; s < u; s++) leverage[s] = share[s] > 0 ? fmin(leverage[s], 1) : 0;
  return tail(m, u, sum, b->h, r, leverage, work);
}

/* ---- single sources ---- */

/* sum [k,u] and h [k,k,u] at the model with variance exp(log_variance) of source j in all segments. */
static void source_null(job *b, int j, double log_variance, double *rho, double *slope, double *sum, double *h) {
  const blica_model *model = b->model;
  const size_t pairs = b->pairs, k = (size_t)b->k;
  double *sizes = slope + pairs * k, *v = sizes + b->n, *weighted = v + k;
  for (int s = 0; s < b->u; s++) {
    const double *score = b->pooled->score + pairs * (size_t)s,
                 *information = b->pooled->information + pairs * (size_t)s;
    for (size_t l = 0; l < k; l++) v[l] = (int)l == j ? exp(log_variance) : model->variances[l + k * (size_t)s];
    bl_implied_rho(b->n, b->k, model->link, model->mixing, v, sizes, rho);
    bl_implied_variance_slope(b->n, b->k, model->link, model->mixing, v, sizes, rho, slope);
    for (int c = 1; c < b->n; c++)
      for (int i = 0; i < c; i++) bl_pooled_score(b->counts, s, i, c, rho[blica_pair(i, c)], b->pooled);
    for (size_t l = 0; l < k; l++)
      for (size_t at = 0; at < pairs; at++) weighted[at + pairs * l] = information[at] * slope[at + pairs * l];
    bl_dgemm('T', 'N', b->k, b->k, (int)pairs, 1, slope, (int)pairs, weighted, (int)pairs, 0, h + k * k * (size_t)s,
             b->k);
    bl_dgemv('T', (int)pairs, b->k, 1, slope, (int)pairs, score, 1, 0, sum + k * (size_t)s, 1);
  }
}

/* x [k] <- the direction of source j, the others of the k projected out by h: x_j = 1. False, and x of this source
 * alone, where they cannot be. work [k,k]. */
static bool own_direction(size_t k, size_t j, const double *h, double *work, double *x) {
  for (size_t c = 0; c < k; c++)
    for (size_t a = 0; a < k; a++) work[a + k * c] = a == j || c == j ? a == c : h[a + k * c];
  for (size_t a = 0; a < k; a++) x[a] = a == j ? 1 : 0, work[a * (k + 1)] += 1e-9 * h[a * (k + 1)];
  if (bl_dpotrf('L', (int)k, work, (int)k) != 0) return false;
  for (size_t a = 0; a < k; a++) x[a] = a == j ? 0 : -h[a + k * j];
  bl_dpotrs('L', (int)k, 1, work, (int)k, x, (int)k);
  x[j] = 1;
  return true;
}

/* p of source j. r [k,k] at the fitted model: how much larger the variance of its score is than nominal. */
static double one_source(job *b, int j, double ratio, const double *share, double *work) {
  const size_t k = (size_t)b->k, u = (size_t)b->u;
  double *rho = work, *slope = rho + b->pairs, *sum = slope + 2 * b->pairs * k + k + (size_t)b->n, *h = sum + k * u,
         *score = h + k * k * u, *own = score + u, *rest = own + u, log_variance = 0, mean = 0;
  for (size_t s = 0; s < u; s++) log_variance += share[s] * log(b->model->variances[(size_t)j + k * s]);
  for (int round = 0; round < ROUNDS; round++) {
    double all = 0, information = 0;
    source_null(b, j, log_variance, rho, slope, sum, h);
    for (size_t s = 0; s < u; s++) {
      double *x = rest + k * k;
      own_direction(k, (size_t)j, h + k * k * s, rest, x);
      score[s] = bl_ddot((int)k, x, 1, sum + k * s, 1);
      own[s] = bl_ddot((int)k, x, 1, h + k * (k * s + (size_t)j), 1);
      all += score[s], information += own[s];
    }
    const double step = information > 0 ? fmin(fmax(all / information, -1), 1) : 0;
    mean = all;
    if (fabs(step) < 1e-2) break;
    log_variance += step;
  }
  for (size_t s = 0; s < u; s++) score[s] -= share[s] * mean;
  return tail(1, b->u, score, own, &ratio, share, rest);
}

/* The variance of the score of source j over its nominal one, at the fitted model: both have the others projected out
 * by the pooled nominal information. */
static double variance_ratio(size_t k, size_t j, const double *h, const double *r, double *work) {
  double *x = work + k * k, found = 0;
  if (!own_direction(k, j, h, work, x)) return NAN;
  for (size_t c = 0; c < k; c++) found += x[c] * bl_ddot((int)k, x, 1, r + k * c, 1);
  const double nominal = bl_ddot((int)k, x, 1, h + k * j, 1);
  return nominal > 0 ? found / nominal : NAN;
}

/* source_p [k] <- p of the test that the variance of a source is equal in all segments; at least that of the overall
 * test. */
static blica_status single_sources(job *b, const double *share, const bl_change *overall, double *source_p) {
  const size_t k = (size_t)b->k, u = (size_t)b->u;
  BL_OWNED double *work = NULL, *pooled = NULL, *r = NULL;
  MUST(bl_alloc(b->ctx, b->pairs * (1 + 2 * k) + (size_t)b->n + (k + k * k + 2) * u + 4 * k * k + 5 * k + 8, &work));
  MUST(bl_alloc(b->ctx, k * k + k, &pooled));
  MUST(bl_alloc(b->ctx, k * k + k * u, &r));
  b->d = NULL, b->m = k, b->adjacent = false;
  bl_parallel(b->ctx, b->u, segment_task, b);
  for (size_t s = 0; s < u; s++) { /* centred within segments: at the fitted model their means need not be 0 */
    const double rows = fmax(1, b->rows->size[s]);
    for (size_t c = 0; c < k; c++) pooled[k * k + c] = b->sums[s].sum[c] / rows;
    bl_score_sums_centre(pooled + k * k, k, &b->sums[s]);
    for (size_t c = 0; c < k; c++)
      for (size_t a = c; a < k; a++) r[a + k * c] += b->sums[s].product[a + k * c];
    for (size_t c = 0; c < k * k; c++) pooled[c] += b->h[c + k * k * s];
  }
  for (size_t c = 0; c < k; c++)
    for (size_t a = 0; a < c; a++) r[a + k * c] = r[c + k * a];
  for (size_t j = 0; j < k; j++) {
    const double ratio = variance_ratio(k, j, pooled, r, work);
    const double p = isnan(ratio) ? NAN : one_source(b, (int)j, overall->rows.inflation * ratio, share, work);
    source_p[j] = isnan(p) ? NAN : fmax(p, overall->p);
  }
  return BLICA_OK;
}

/* ---- all of it ---- */

static blica_status make_workspace(job *b, size_t most, workspace *r) {
  const size_t used = most < LAG_DIRECTIONS ? most : LAG_DIRECTIONS;
  int64_t rows = 0;
  for (int s = 0; s < b->u; s++) rows = b->rows->total[s] > rows ? b->rows->total[s] : rows;
  MUST(bl_influence_make(b->ctx, b->n, b->rows->coding, BL_SCALES, &r->influence));
  MUST(bl_units_make(b->ctx, r->influence, r->influence, b->rows, &r->units));
  MUST(bl_alloc_for(b->ctx, r->influence, BL_BATCH * most, &r->score));
  MUST(bl_alloc_for(b->ctx, r->influence, bl_mul(r->influence->statistics, most), &r->weight));
  MUST(bl_alloc_for(b->ctx, r->influence, b->pairs * (most + 1) + (size_t)b->n, &r->rho));
  return bl_alloc_for(b->ctx, r->influence, bl_mul(used > (size_t)b->n ? used : (size_t)b->n, (size_t)rows), &r->z);
}

static blica_status allocate(job *b, size_t most) {
  blica_ctx *ctx = b->ctx;
  const size_t u = (size_t)b->u;
  MUST(bl_pooled_make(ctx, b->n, b->u, b->rows->coding, true, &b->pooled));
  MUST(bl_alloc_for(ctx, b->pooled, bl_mul(most * most, u), &b->h));
  MUST(bl_alloc_for(ctx, b->pooled, u, &b->lags));
  MUST(bl_alloc_for(ctx, b->pooled, u, &b->sums));
  for (size_t s = 0; s < u; s++) MUST(bl_score_sums_make(ctx, b->pooled, most, &b->sums[s]));
  MUST(bl_alloc(ctx, (size_t)bl_max_threads(ctx), &b->workspace));
  for (int i = 0; i < bl_max_threads(ctx); i++) MUST(make_workspace(b, most, &b->workspace[i]));
  return BLICA_OK;
}

static void release(job *b) {
  for (int i = 0; b->workspace && i < bl_max_threads(b->ctx); i++) bl_free(b->workspace[i].influence);
  bl_free(b->workspace);
  bl_free(b->pooled);
}

blica_status bl_change_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                            bl_change *out, double *source_p) {
  blica_status status;
  job b = {.ctx = ctx, .model = model, .rows = rows, .counts = counts, .n = model->n, .k = model->k, .u = model->u};
  BL_OWNED double *share = NULL, *r = NULL;
  double total = 0;
  *out = (bl_change){NAN, NAN, {NAN, NAN, 0, 1, NAN}};
  b.pairs = (size_t)b.n * (b.n - 1) / 2, b.adjacent = !rows->unit_first && !rows->unordered;
  const int factors = factors_of(&b);
  b.m = (size_t)factors * (factors + 1) / 2;
  const size_t m = b.m, most = m > (size_t)b.k ? m : (size_t)b.k;
  bl_blas_hold();
  TRY(allocate(&b, most));
  TRY(bl_alloc(ctx, (size_t)b.u, &share));
  TRY(bl_alloc(ctx, 4 * most * most + 2 * most + (most + (size_t)b.k + 2) * (size_t)b.u, &r));
  for (int s = 0; s < b.u; s++) total += rows->size[s];
  for (int s = 0; s < b.u; s++) share[s] = rows->size[s] / total;
  bl_pooled_fit(counts, b.pooled);
  TRY(bl_alloc_for(ctx, b.pooled, bl_mul(b.pairs, m), &b.d));
  TRY(factor_directions(&b, factors, b.d));
  bl_parallel(ctx, b.u, segment_task, &b);
  double *sum = r + m * m, *work = sum + m * (size_t)b.u;
  collect(&b, share, r, sum);
  if (b.adjacent) out->rows = bl_dependence_of(rows, b.lags);
  for (size_t c = 0; c < m * m; c++) r[c] *= out->rows.inflation;
  out->p = tail(m, b.u, sum, b.h, r, share, work);
  out->beyond_p = beyond_means(&b, share, r, sum, work);
  TRY(single_sources(&b, share, out, source_p));
done:
  bl_blas_release();
  release(&b);
  return status;
}
