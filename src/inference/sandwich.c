/* sandwich.c - Godambe's covariance of the estimates, H^-1 J H^-1, from the influence of single rows.
 *
 * All pair-based methods minimise sum_s F_s(x_s(A, v_s)), x_s the correlations and, of ordinal items, the log-scales
 * 1/2 log M_s,ii + d_i (d_i: one constant per item, eliminated). With D_s = d x / d theta,
 *   H = sum_s D_s' F_s'' D_s + sum F_s' d2 x + P, P the precision of the prior, and
 *   J = sum over rows of g g', g the change of the gradient that the row brings about, less its mean in the segment
 *       (influence.c).
 *   pairwise            two levels: F'' and F' are those of the tables at the observed margins (the observed Hessian),
 *                       and g comes from the scores of the tables: what lavaan's PML does. More levels: the expected
 *                       Hessian of the tables.
 *   matched, mle, ...   F'' = N (K_ac K_bd + K_ad K_bc), K = (R + D)^-1, D the noise of coarse data (corfit_matched.c),
 *                       and the precision of the log-scales; F' is taken as 0, and g = D_s' F'' psi, psi the influence
 *                       of the row on x_s. For the full likelihood (where it is large: information.c has the others)
 *                       this is near the best weighting of pairs, so that its errors are slightly too large.
 *   blica               the same with D = the shift of the regularisation and the scales q eliminated.
 * J is multiplied by N_s / (N_s - parameters of the segment), as in regression. A prior shrinks the estimate by
 * H^-1 P theta, theta being the truth, which is further out than the estimate by as much; this bias, at the estimate
 * and there, is given beside the covariance.
 * The result is brought to the scale where the mean of each log v is 0. Reference: Godambe, Ann. Math. Stat. 31 (1960);
 * Joreskog and Moustaki, Multivariate Behav. Res. 36 (2001). Checked against lavaan's PML and by simulation. */
#include "inference/sandwich.h"

#include <math.h>
#include <string.h>

#include "estimate/method.h"
#include "inference/implied.h"
#include "inference/influence.h"
#include "model/model.h"
#include "num/blas.h"
#include "num/normal.h"

enum { BATCH = 128 }; /* rows whose influence is multiplied at a time */

/* One thread's. */
typedef struct {
  bl_influence *influence;
  double *work;
  double *scale, *z, *rho, *slope, *weighted, *full, *qq, *x, *y, *psi, *score, *mean, *moved, *theta, *sum;
} workspace;

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_rows *rows;
  const blica_counts *counts;
  size_t nk, pairs, statistics;
  size_t m;              /* parameters that a segment sees: A, log v_s and, with ordinal items, d */
  size_t p, all;         /* A and all log v; with d */
  bool tables;           /* F is a sum over tables */
  bool expected;         /* F'' is the expected one and F' = 0 also for tables */
  double *t;             /* [planes,u] thresholds */
  double *h, *j;         /* [m,m,u] contributions of the segments */
  workspace *workspaces; /* per thread; they own the other arrays */
  bool *failed;          /* [u] */
} job;

/* ---- workspaces ---- */

static void free_workspaces(job *b) {
  for (int i = 0; b->workspaces && i < bl_max_threads(b->ctx); i++) bl_free(b->workspaces[i].influence);
  bl_free(b->workspaces);
}

static blica_status make_workspace(const job *b, workspace *r) {
  const size_t n = (size_t)b->model->n, q = b->statistics, m = b->m;
  const size_t size = 2 * n + b->pairs + 2 * q * m + 4 * n * n + BATCH * (q + m) + q + b->pairs * m + b->nk + m;
  const bool scores = b->tables && !bl_coding_ordinal(b->rows->coding);
  MUST(bl_influence_make(b->ctx, b->model->n, b->rows->coding, scores, &r->influence));
  MUST(bl_alloc_for(b->ctx, b->workspaces, size, &r->work));
  r->scale = r->work, r->z = r->scale + n, r->rho = r->z + n, r->slope = r->rho + b->pairs;
  r->weighted = r->slope + q * m, r->full = r->weighted + q * m, r->qq = r->full + n * n, r->x = r->qq + n * n;
  r->y = r->x + n * n, r->psi = r->y + n * n, r->score = r->psi + BATCH * q, r->mean = r->score + BATCH * m;
  r->moved = r->mean + q, r->theta = r->moved + b->pairs * m, r->sum = r->theta + b->nk;
  return BLICA_OK;
}

void bl_threshold_errors(const blica_counts *c, double *error) {
  for (size_t at = 0; at < (size_t)c->n * (size_t)c->u; at++) {
    const double p = c->present[at] > 0 ? c->ones[at] / c->present[at] : 0;
    error[at] = p > 0 && p < 1 ? sqrt(p * (1 - p) / c->present[at]) / bl_phi_density(bl_phi_quantile(p)) : NAN;
  }
}

/* ---- the weight of the correlations ---- */

/* full [n,n] <- (R + D)^-1 of segment s; false when singular. */
static bool inverse(const job *b, int s, const workspace *r) {
  const int n = b->model->n;
  const double *shift = b->model->fit.shift;
  const bool plain = bl_method_covariance(b->model) == BL_COVARIANCE_REGULARISED;
  const double d = plain && shift ? shift[s] : 0;
  double *full = r->full;
  for (int i = 0; i < n; i++) {
    full[i + (size_t)i * n] = plain ? 1 : 1 / r->influence->kept[i];
    for (int a = 0; a < i; a++) full[a + (size_t)i * n] = full[i + (size_t)a * n] = r->rho[blica_pair(a, i)] / (1 + d);
  }
  if (bl_dpotrf('L', n, full, n) != 0) return false;
  bl_dpotri('L', n, full, n);
  for (int i = 0; i < n; i++)
    for (int a = 0; a < i; a++) full[a + (size_t)i * n] = full[i + (size_t)a * n];
  return true;
}

/* qq [n,n] <- the Cholesky factor of K * T + I (elementwise), T = K^-1: the information about the scales, over N. */
static void scale_information(int n, const double *k, double *t, double *qq) {
  memcpy(t, k, (size_t)n * n * sizeof *t);
  bl_dpotrf('L', n, t, n);
  bl_dpotri('L', n, t, n);
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) qq[i + (size_t)j * n] = k[i + (size_t)j * n] * t[i + (size_t)j * n] + (i == j);
  bl_dpotrf('L', n, qq, n);
}

/* The correlations' rows of weighted <- W slope, column by column: with X the symmetric matrix of a column, zero on the
 * diagonal, W x is N K X K; less, with scales that are free, N K_ab (z_a + z_b), z = qq^-1 diag(K X). */
static void weigh_dense(const job *b, double rows, bool free_scales, const workspace *r) {
  const int n = b->model->n;
  const double *k = r->full;
  double *x = r->x, *y = r->y, *z = r->z;
  if (free_scales) scale_information(n, k, x, r->qq);
  for (size_t c = 0; c < b->m; c++) {
    const double *d = r->slope + b->statistics * c;
    double *o = r->weighted + b->statistics * c;
    for (int j = 0; j < n; j++) {
      x[j + (size_t)j * n] = 0;
      for (int i = 0; i < j; i++) x[i + (size_t)j * n] = x[j + (size_t)i * n] = d[blica_pair(i, j)];
    }
    bl_dgemm('N', 'N', n, n, n, 1, k, n, x, n, 0, y, n);
    bl_dgemm('N', 'N', n, n, n, rows, y, n, k, n, 0, x, n);
    for (int i = 0; i < n; i++) z[i] = free_scales ? y[i + (size_t)i * n] : 0;
    if (free_scales) bl_dpotrs('L', n, 1, r->qq, n, z, n);
    for (int j = 1; j < n; j++)
      for (int i = 0; i < j; i++)
        o[blica_pair(i, j)] = x[i + (size_t)j * n] - rows * k[i + (size_t)j * n] * (z[i] + z[j]);
  }
}

/* ---- one segment ---- */

/* d x / d (A, log v, d): slope [statistics,m]. */
static void slopes(const job *b, const double *v, const workspace *r) {
  const blica_model *model = b->model;
  const size_t n = (size_t)model->n, k = (size_t)model->k, q = b->statistics;
  bl_implied_rho(model->n, model->k, model->link, model->mixing, v, r->scale, r->rho);
  bl_implied_slope(model->n, model->k, model->link, model->mixing, v, r->scale, r->rho, r->moved);
  memset(r->slope, 0, q * b->m * sizeof *r->slope);
  for (size_t c = 0; c < b->nk + k; c++) memcpy(r->slope + q * c, r->moved + b->pairs * c, b->pairs * sizeof *r->slope);
  for (size_t i = 0; q > b->pairs && i < n; i++) {
    double *row = r->slope + b->pairs + i;
    for (size_t l = 0; l < k; l++) {
      const double a = model->mixing[i + n * l], part = model->link * v[l] * a * r->scale[i] * r->scale[i];
      row[q * (i + n * l)] = part;
      row[q * (b->nk + l)] = 0.5 * part * a;
    }
    row[q * (b->nk + k + i)] = 1;
  }
}

/* Adds sum over pairs of F' d2 rho to h, by differences of the slopes. */
static void add_curvature(const job *b, const double *variance, const workspace *r, double *h) {
  const int n = b->model->n, k = b->model->k;
  const double step = 1e-5;
  memcpy(r->theta, b->model->mixing, b->nk * sizeof *r->theta);
  for (size_t c = 0; c < b->m; c++)
    for (int side = -1; side <= 1; side += 2) {
      const bool of_mixing = c < b->nk;
      double v[64];
      for (int l = 0; l < k; l++) v[l] = variance[l] * (!of_mixing && (size_t)l == c - b->nk ? exp(side * step) : 1);
      if (of_mixing) r->theta[c] = b->model->mixing[c] + side * step;
      bl_implied_rho(n, k, b->model->link, r->theta, v, r->scale, r->rho);
      bl_implied_slope(n, k, b->model->link, r->theta, v, r->scale, r->rho, r->moved);
      if (of_mixing) r->theta[c] = b->model->mixing[c];
      for (size_t a = 0; a < b->m; a++) {
        r->sum[a] = 0;
        for (size_t at = 0; at < b->pairs; at++)
          r->sum[a] += r->influence->derivatives[2 * at + 1] * r->moved[at + b->pairs * a];
        h[a + b->m * c] += side * r->sum[a] / (4 * step);
        h[c + b->m * a] += side * r->sum[a] / (4 * step);
      }
    }
}

static void add_rows(const job *b, int s, const workspace *r, double *j) {
  const bl_rows *rows = b->rows;
  const int q = (int)b->statistics, m = (int)b->m;
  double *mean = r->mean; /* of the segment: rows of other segments are not drawn in its place */
  memset(mean, 0, b->statistics * sizeof *mean);
  for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p += BATCH) {
    const int count = rows->first[s + 1] - p < BATCH ? (int)(rows->first[s + 1] - p) : BATCH;
    for (int c = 0; c < count; c++) {
      double *psi = r->psi + b->statistics * (size_t)c;
      bl_influence_row(r->influence, rows->x + (size_t)rows->n * (size_t)(p + c), psi);
      bl_daxpy(q, rows->weight[p + c], psi, 1, mean, 1);
      bl_dscal(q, sqrt(rows->weight[p + c]), psi, 1);
    }
    bl_dgemm('T', 'N', m, count, q, 1, r->weighted, q, r->psi, q, 0, r->score, m);
    bl_dsyrk('L', 'N', m, count, 1, r->score, m, 1, j, m);
  }
  bl_dgemv('T', q, m, 1, r->weighted, q, mean, 1, 0, r->score, 1);
  bl_dsyr('L', m, -1 / fmax(1, (double)rows->total[s]), r->score, 1, j, m);
  const double own = (double)rows->planes + b->model->k + (double)b->nk / b->model->u; /* parameters, A shared */
  bl_dscal(m * m, rows->total[s] > 2 * own ? (double)rows->total[s] / ((double)rows->total[s] - own) : 2, j, 1);
}

/* h <- D' F'' D, and weighted <- what a row's influence is multiplied by. */
static void weigh(const job *b, int s, const workspace *r, double *h) {
  const double rows = b->counts->samples[s];
  const bl_influence *f = r->influence;
  const int q = (int)b->statistics, m = (int)b->m;
  const double margins = b->tables ? 0.5 * (b->model->n - 1) : 1; /* the tables have every margin n - 1 times */
  if (b->tables)
    for (size_t c = 0; c < b->m; c++)
      for (size_t at = 0; at < b->pairs; at++)
        r->weighted[at + b->statistics * c] =
            r->slope[at + b->statistics * c] * (b->expected ? 0.5 * rows * f->information[at] : f->derivatives[2 * at]);
  else
    weigh_dense(b, rows, bl_method_covariance(b->model) == BL_COVARIANCE_REGULARISED, r);
  for (size_t c = 0; c < b->m; c++)
    for (size_t i = b->pairs; i < b->statistics; i++)
      r->weighted[i + b->statistics * c] = margins * f->precision[i - b->pairs] * r->slope[i + b->statistics * c];
  bl_dgemm('T', 'N', m, m, q, 1, r->slope, q, r->weighted, q, 0, h, m);
  if (f->scores) memcpy(r->weighted, r->slope, b->statistics * b->m * sizeof(double));
}

static void segment_task(int64_t item, int thread, void *user) {
  job *b = user;
  const int s = (int)item;
  const double *v = b->model->variances + (size_t)b->model->k * s;
  const workspace *r = &b->workspaces[thread];
  double *h = b->h + b->m * b->m * (size_t)s, *j = b->j + b->m * b->m * (size_t)s;
  slopes(b, v, r);
  bl_influence_describe(b->counts, s, r->rho, b->t + (size_t)b->rows->planes * s, r->influence);
  if (!b->tables && !inverse(b, s, r)) {
    b->failed[s] = true;
    return;
  }
  weigh(b, s, r, h);
  add_rows(b, s, r, j);
  if (!b->expected) add_curvature(b, v, r, h);
}

/* ---- all of them ---- */

/* Where parameter c of segment s stands among all. */
static size_t place_of(const job *b, int s, size_t c) {
  const size_t k = (size_t)b->model->k;
  return c < b->nk ? c : c < b->nk + k ? b->nk + k * (size_t)s + (c - b->nk) : b->p + (c - b->nk - k);
}

/* Adds block [m,m] of segment s, lower triangle, to full [all,all]. */
static void scatter(const job *b, int s, const double *block, double *full) {
  for (size_t c = 0; c < b->m; c++)
    for (size_t r = c; r < b->m; r++) full[place_of(b, s, r) + b->all * place_of(b, s, c)] += block[r + b->m * c];
}

/* Adds the prior's precision to h and puts its gradient P theta into bias. Without a prior, the scale of each column is
 * fixed by mean log v = 0, which changes nothing else. */
static void add_prior(const job *b, double *h, double *bias) {
  const double mixing = b->model->fit.prior_mixing, variance = b->model->fit.prior_variance;
  const size_t k = (size_t)b->model->k, u = (size_t)b->model->u;
  memset(bias, 0, 2 * b->all * sizeof *bias);
  for (size_t i = b->p; i < b->all; i++) /* an item that no segment shows the scale of */
    if (!(h[i * (b->all + 1)] > 0)) h[i * (b->all + 1)] = 1;
  if (isfinite(mixing) && isfinite(variance)) {
    for (size_t i = 0; i < b->p; i++) {
      const double precision = i < b->nk ? 1 / (mixing * mixing) : 1 / (variance * variance);
      h[i * (b->all + 1)] += precision;
      bias[i] = precision * (i < b->nk ? b->model->mixing[i] : log(b->model->variances[i - b->nk]));
    }
    return;
  }
  double trace = 0;
  for (size_t i = b->nk; i < b->p; i++) trace += h[i * (b->all + 1)];
  const double weight = fmax(trace / (double)(b->p - b->nk), 1e-300);
  for (size_t l = 0; l < k; l++)
    for (size_t s = 0; s < u; s++)
      for (size_t t = s; t < u; t++) h[b->nk + l + k * t + b->all * (b->nk + l + k * s)] += weight / (double)u;
}

/* Rows of x [all,columns] become those of canonical parameters: log v less its mean, A scaled by half of that mean. */
static void canonical_rows(const job *b, double *x, size_t columns) {
  const blica_model *m = b->model;
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  for (size_t c = 0; c < columns; c++)
    for (size_t l = 0; l < k; l++) {
      double *v = x + b->all * c + b->nk + l, mean = 0;
      for (size_t s = 0; s < u; s++) mean += v[k * s] / (double)u;
      for (size_t s = 0; s < u; s++) v[k * s] -= mean;
      for (size_t i = 0; i < n; i++) x[b->all * c + i + n * l] += 0.5 * mean * m->mixing[i + n * l];
    }
}

static void transpose(double *x, size_t p) {
  for (size_t c = 0; c < p; c++)
    for (size_t r = c + 1; r < p; r++) {
      const double keep = x[r + p * c];
      x[r + p * c] = x[c + p * r];
      x[c + p * r] = keep;
    }
}

/* bias [all,2], its first column being P theta, <- H^-1 P theta and H^-1 P (theta + H^-1 P theta). */
static void solve_bias(const job *b, const double *h, double *bias) {
  const int p = (int)b->all;
  const double mixing = b->model->fit.prior_mixing, variance = b->model->fit.prior_variance;
  double *further = bias + b->all;
  if (!isfinite(mixing) || !isfinite(variance)) return;
  bl_dpotrs('L', p, 1, h, p, bias, p);
  for (size_t i = 0; i < b->p; i++)
    further[i] = i < b->nk ? (b->model->mixing[i] + bias[i]) / (mixing * mixing)
                           : (log(b->model->variances[i - b->nk]) + bias[i]) / (variance * variance);
  bl_dpotrs('L', p, 1, h, p, further, p);
  canonical_rows(b, bias, 2);
}

/* j <- H^-1 J H^-1, and bias as solve_bias has it, in canonical scale; h is overwritten. */
static blica_status solve(const job *b, double *h, double *j, double *bias) {
  const int p = (int)b->all;
  for (size_t c = 0; c < b->all; c++)
    for (size_t r = c + 1; r < b->all; r++) j[c + b->all * r] = j[r + b->all * c];
  if (bl_dpotrf('L', p, h, p) != 0)
    return bl_fail(
        b->ctx, BLICA_ERR_NUMERIC,
        "the information about the mixing matrix is singular: the data do not determine all of its directions");
  solve_bias(b, h, bias);
  for (int side = 0; side < 2; side++) {
    bl_dpotrs('L', p, p, h, p, j, p);
    canonical_rows(b, j, b->all);
    transpose(j, b->all);
  }
  return BLICA_OK;
}

static blica_status attempt(job *b, double *h, double *j, double *bias) {
  const blica_model *model = b->model;
  const size_t blocks = b->m * b->m * (size_t)model->u * sizeof(double), whole = b->all * b->all * sizeof(double);
  memset(b->h, 0, blocks), memset(b->j, 0, blocks);
  memset(h, 0, whole), memset(j, 0, whole);
  bl_parallel(b->ctx, model->u, segment_task, b);
  for (int s = 0; s < model->u; s++) {
    if (b->failed[s])
      return bl_fail(b->ctx, BLICA_ERR_NUMERIC, "segment '%s': the fitted correlations are not positive definite",
                     model->segments[s]);
    scatter(b, s, b->h + b->m * b->m * (size_t)s, h);
    scatter(b, s, b->j + b->m * b->m * (size_t)s, j);
  }
  add_prior(b, h, bias);
  return solve(b, h, j, bias);
}

static blica_status allocate(job *b) {
  blica_ctx *ctx = b->ctx;
  const size_t u = (size_t)b->model->u;
  MUST(bl_alloc(ctx, (size_t)bl_max_threads(ctx), &b->workspaces));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul(b->m * b->m, u), &b->h));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul(b->m * b->m, u), &b->j));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul((size_t)b->rows->planes, u), &b->t));
  MUST(bl_alloc_for(ctx, b->workspaces, u, &b->failed));
  for (int i = 0; i < bl_max_threads(ctx); i++) MUST(make_workspace(b, &b->workspaces[i]));
  bl_table_thresholds(b->counts, b->t);
  return BLICA_OK;
}

blica_status bl_sandwich(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                         double *covariance, double *bias) {
  blica_status status;
  const size_t n = (size_t)model->n, k = (size_t)model->k, scales = bl_coding_ordinal(rows->coding) ? n : 0;
  job b = {.ctx = ctx, .model = model, .rows = rows, .counts = counts, .nk = n * k, .pairs = n * (n - 1) / 2};
  BL_OWNED double *h = NULL, *j = NULL, *pull = NULL;
  b.statistics = b.pairs + scales, b.m = b.nk + k + scales, b.p = b.nk + k * (size_t)model->u, b.all = b.p + scales;
  b.tables = bl_method_covariance(model) == BL_COVARIANCE_TABLES;
  b.expected = !b.tables || scales || k > 64;
  bl_blas_hold();
  TRY(allocate(&b));
  TRY(bl_alloc(ctx, b.all * b.all, &h));
  TRY(bl_alloc(ctx, b.all * b.all, &j));
  TRY(bl_alloc(ctx, 2 * b.all, &pull));
  status = attempt(&b, h, j, pull);
  if (status == BLICA_ERR_NUMERIC &&
      !b.expected) { /* not at a minimum of the objective itself, as with learned priors */
    b.expected = true;
    status = attempt(&b, h, j, pull);
  }
  if (status != BLICA_OK) goto done;
  for (size_t c = 0; c < 2; c++) memcpy(bias + b.p * c, pull + b.all * c, b.p * sizeof *bias);
  for (size_t c = 0; c < b.p; c++) memcpy(covariance + b.p * c, j + b.all * c, b.p * sizeof *covariance);
done:
  bl_blas_release();
  free_workspaces(&b);
  return status;
}
