/* sandwich.c - Godambe's covariance of the estimates, H^-1 J H^-1, from the influence of single rows.
 *
 * All pair-based methods minimise sum_s F_s(rho_s(A, v_s)). With D_s = d rho / d theta,
 *   H = sum_s D_s' F_s'' D_s + sum F_s' d2 rho + P, P the precision of the prior, and
 *   J = sum over rows of g g', g the change of the gradient that the row brings about, less its mean in the segment.
 *   pairwise           F'' and F' are those of the tables at the observed margins (the observed Hessian), and g comes
 * from G = phi2 sum of +-n_c/P_c, thresholds estimated from the margins: what lavaan's PML does; matched, mle, ...  F''
 * = N (K_ac K_bd + K_ad K_bc), K = (R + D)^-1, D the noise of dichotomising (corfit_matched.c), F' is taken as 0, and g
 * = D_s' F'' psi, psi the influence of the row on the correlations, [x_i x_j - P11 - P(1|t_i) (x_i - p_i) - P(1|t_j)
 * (x_j - p_j)] / phi2 / N. For the full likelihood this is near the best weighting of pairs, so that its errors are
 * slightly too large; blica              the same with D = the shift of the regularisation and the scales q eliminated.
 * With a prior the mean squared error over parameters drawn from it has P added to J: the bias of shrinkage.
 * The result is brought to the scale where the mean of each log v is 0. Reference: Godambe, Ann. Math. Stat. 31 (1960);
 * Joreskog and Moustaki, Multivariate Behav. Res. 36 (2001). Checked against lavaan's PML and by simulation. */
#include "inference/sandwich.h"

#include <math.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "inference/implied.h"
#include "num/normal.h"

enum { BATCH = 128 }; /* rows whose influence is multiplied at a time */

/* What a row changes: by its values of both variables, of the first, of the second. */
typedef struct {
  double both[2][2], first[2], second[2];
} row_change;

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_rows *rows;
  const blica_counts *counts;
  size_t nk, m, pairs; /* m = nk + k parameters that a segment sees */
  bool by_tables;      /* F is a sum over tables */
  bool expected;       /* F'' is the expected one and F' = 0 also for tables */
  double *h, *j;       /* [m,m,u] contributions of the segments */
  double *work;        /* per thread */
  size_t each;
  bool *failed; /* [u] */
} job;

/* ---- thresholds of a segment ---- */

static double share(const blica_counts *c, int s, int i) {
  const size_t at = i + (size_t)s * c->n;
  const double least = 0.5 / fmax(1, c->present[at]);
  return c->present[at] > 0 ? fmin(fmax(c->ones[at] / c->present[at], least), 1 - least) : 0.5;
}

void bl_threshold_errors(const blica_counts *c, double *error) {
  for (int s = 0; s < c->u; s++)
    for (int i = 0; i < c->n; i++) {
      const size_t at = i + (size_t)s * c->n;
      const double p = c->present[at] > 0 ? c->ones[at] / c->present[at] : 0;
      error[at] = p > 0 && p < 1 ? sqrt(p * (1 - p) / c->present[at]) / bl_phi_density(bl_phi_quantile(p)) : NAN;
    }
}

/* ---- the weight of the correlations ---- */

/* full [n,n] <- (R + D)^-1 of segment s; false when singular. */
static bool inverse(const job *b, int s, const double *rho, const double *t, double *full) {
  const int n = b->model->n;
  const double *shift = b->model->fit.shift;
  const bool plain = strcmp(b->model->method, "blica") == 0;
  const double d = plain && shift ? shift[s] : 0;
  for (int i = 0; i < n; i++) {
    const double p = bl_phi_cdf(t[i]), density = bl_phi_density(t[i]);
    full[i + (size_t)i * n] = plain ? 1 : p * (1 - p) / (density * density);
    for (int a = 0; a < i; a++) full[a + (size_t)i * n] = full[i + (size_t)a * n] = rho[blica_pair(a, i)] / (1 + d);
  }
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, full, n) != 0) return false;
  LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', n, full, n);
  for (int i = 0; i < n; i++)
    for (int a = 0; a < i; a++) full[a + (size_t)i * n] = full[i + (size_t)a * n];
  return true;
}

/* qq [n,n] <- the Cholesky factor of K * T + I (elementwise), T = K^-1: the information about the scales, over N. */
static void scale_information(int n, const double *k, double *t, double *qq) {
  memcpy(t, k, (size_t)n * n * sizeof *t);
  LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, t, n);
  LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', n, t, n);
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) qq[i + (size_t)j * n] = k[i + (size_t)j * n] * t[i + (size_t)j * n] + (i == j);
  LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, qq, n);
}

/* out <- W slope, column by column: with X the symmetric matrix of a column, zero on the diagonal, W x is N K X K;
 * less, with scales that are free (qq not NULL), N K_ab (z_a + z_b), z = qq^-1 diag(K X). */
static void weigh_dense(int n, size_t m, double rows, const double *k, const double *qq, const double *slope, double *x,
                        double *y, double *z, double *out) {
  const size_t pairs = (size_t)n * (n - 1) / 2;
  for (size_t c = 0; c < m; c++) {
    const double *d = slope + pairs * c;
    double *o = out + pairs * c;
    for (int j = 0; j < n; j++) {
      x[j + (size_t)j * n] = 0;
      for (int i = 0; i < j; i++) x[i + (size_t)j * n] = x[j + (size_t)i * n] = d[blica_pair(i, j)];
    }
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, k, n, x, n, 0, y, n);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, rows, y, n, k, n, 0, x, n);
    for (int i = 0; i < n; i++) z[i] = qq ? y[i + (size_t)i * n] : 0;
    if (qq) LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', n, 1, qq, n, z, n);
    for (int j = 1; j < n; j++)
      for (int i = 0; i < j; i++)
        o[blica_pair(i, j)] = x[i + (size_t)j * n] - rows * k[i + (size_t)j * n] * (z[i] + z[j]);
  }
}

/* ---- one segment ---- */

typedef struct {
  double *scale, *t, *z, *rho, *slope, *weighted, *full, *qq, *x, *y, *psi, *score, *pull, *moved;
  bl_implied_table *table;
  row_change *change;
} room;

static size_t room_size(const job *b) {
  const size_t n = (size_t)b->model->n;
  return 3 * n + b->pairs + 2 * b->pairs * b->m + 4 * n * n + BATCH * (b->pairs + b->m) +
         b->pairs * ((sizeof(bl_implied_table) + sizeof(row_change)) / sizeof(double) + 2) + b->pairs * b->m + b->nk +
         b->m;
}

static room divide(const job *b, double *work) {
  const size_t n = (size_t)b->model->n;
  room r = {.scale = work, .t = work + n, .z = work + 2 * n, .rho = work + 3 * n};
  r.slope = r.rho + b->pairs, r.weighted = r.slope + b->pairs * b->m;
  r.full = r.weighted + b->pairs * b->m, r.qq = r.full + n * n, r.x = r.qq + n * n, r.y = r.x + n * n;
  r.psi = r.y + n * n, r.score = r.psi + BATCH * b->pairs;
  r.pull = r.score + BATCH * b->m, r.moved = r.pull + 2 * b->pairs;
  r.table = (bl_implied_table *)(r.moved + b->pairs * b->m + b->nk + b->m);
  r.change = (row_change *)(r.table + b->pairs);
  return r;
}

/* Influence of rows on the correlation of a pair at table t, both and present rows of it and of its variables. */
static row_change on_correlation(const bl_implied_table *t, double both, const double present[2]) {
  row_change c = {.first = {0, 0}};
  if (!(t->density > 0) || !(both > 0)) return c;
  for (int x = 0; x < 2; x++) {
    c.first[x] = -t->first * (x - (t->cell[0] + t->cell[1])) / present[0] / t->density;
    c.second[x] = -t->second * (x - (t->cell[0] + t->cell[2])) / present[1] / t->density;
    for (int y = 0; y < 2; y++) c.both[x][y] = (x * y - t->cell[0]) / both / t->density;
  }
  return c;
}

/* G = phi2 sum of +- share_c / P_c: the score of a table with these shares, over its rows. */
static double table_score(const double share_of[4], double h, double k, double rho) {
  const bl_implied_table t = bl_implied_pair(h, k, rho);
  return t.density *
         (share_of[0] / t.cell[0] - share_of[1] / t.cell[1] - share_of[2] / t.cell[2] + share_of[3] / t.cell[3]);
}

/* Influence of rows on half the score of a table, its slope in rho into pull[0] and itself into pull[1] (both of the
 * objective to be minimised, over all rows). */
static row_change on_score(const double cell[4], double both, const double present[2], const double t[2], double rho,
                           double pull[2]) {
  const double step = 1e-4, sign[4] = {1, -1, -1, 1};
  const bl_implied_table at = bl_implied_pair(t[0], t[1], rho);
  row_change c = {.first = {0, 0}};
  pull[0] = pull[1] = 0;
  if (!(at.density > 0) || !(both > 0)) return c;
  double share_of[4];
  for (int i = 0; i < 4; i++) share_of[i] = cell[i] / both;
  const double by[2] = {
      (table_score(share_of, t[0] + step, t[1], rho) - table_score(share_of, t[0] - step, t[1], rho)) / (2 * step),
      (table_score(share_of, t[0], t[1] + step, rho) - table_score(share_of, t[0], t[1] - step, rho)) / (2 * step)};
  const double own = step * fmin(1, 1 - fabs(rho) + 1e-3);
  pull[0] = -0.5 * both *
            (table_score(share_of, t[0], t[1], rho + own) - table_score(share_of, t[0], t[1], rho - own)) / (2 * own);
  pull[1] = -0.5 * both * table_score(share_of, t[0], t[1], rho);
  for (int x = 0; x < 2; x++) {
    c.first[x] = 0.5 * by[0] * (x - bl_phi_cdf(t[0])) / bl_phi_density(t[0]) * both / present[0];
    c.second[x] = 0.5 * by[1] * (x - bl_phi_cdf(t[1])) / bl_phi_density(t[1]) * both / present[1];
    for (int y = 0; y < 2; y++) {
      const int cell_of = x ? (y ? 0 : 1) : (y ? 2 : 3);
      c.both[x][y] = 0.5 * sign[cell_of] * at.density / at.cell[cell_of];
    }
  }
  return c;
}

/* Tables, influences and, for tables, second and first derivatives of the objective in the correlations. */
static void describe(const job *b, int s, const room *r) {
  const blica_counts *c = b->counts;
  const int n = c->n;
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      const size_t at = (size_t)blica_pair(i, j);
      const double present[2] = {fmax(c->present[i + (size_t)s * n], 1), fmax(c->present[j + (size_t)s * n], 1)};
      const double t[2] = {r->t[i], r->t[j]};
      double cell[4];
      blica_counts_table(c, s, i, j, cell);
      const double both = cell[0] + cell[1] + cell[2] + cell[3];
      r->table[at] = bl_implied_pair(t[0], t[1], r->rho[at]);
      r->change[at] = b->by_tables ? on_score(cell, both, present, t, r->rho[at], r->pull + 2 * at)
                                   : on_correlation(&r->table[at], both, present);
    }
}

/* What the row changes of all pairs. */
static void influence(const room *r, int n, const int8_t *row, double *psi) {
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      const row_change *c = &r->change[blica_pair(i, j)];
      const bool has_i = row[i] != BLICA_MISSING, has_j = row[j] != BLICA_MISSING;
      psi[blica_pair(i, j)] = (has_i && has_j ? c->both[row[i]][row[j]] : 0) + (has_i ? c->first[row[i]] : 0) +
                              (has_j ? c->second[row[j]] : 0);
    }
}

/* Adds sum over pairs of F' d2 rho to h, by differences of the slopes. */
static void add_curvature(const job *b, const double *variance, const room *r, double *h) {
  const int n = b->model->n, k = b->model->k;
  double *theta = r->moved + b->pairs * b->m, *sum = theta + b->nk;
  const double step = 1e-5;
  memcpy(theta, b->model->mixing, b->nk * sizeof *theta);
  for (size_t c = 0; c < b->m; c++)
    for (int side = -1; side <= 1; side += 2) {
      const bool of_mixing = c < b->nk;
      double v[64];
      for (int l = 0; l < k; l++) v[l] = variance[l] * (!of_mixing && (size_t)l == c - b->nk ? exp(side * step) : 1);
      if (of_mixing) theta[c] = b->model->mixing[c] + side * step;
      bl_implied_rho(n, k, b->model->link, theta, v, r->scale, r->rho);
      bl_implied_slope(n, k, b->model->link, theta, v, r->scale, r->rho, r->moved);
      if (of_mixing) theta[c] = b->model->mixing[c];
      for (size_t a = 0; a < b->m; a++) {
        sum[a] = 0;
        for (size_t at = 0; at < b->pairs; at++) sum[a] += r->pull[2 * at + 1] * r->moved[at + b->pairs * a];
        h[a + b->m * c] += side * sum[a] / (4 * step);
        h[c + b->m * a] += side * sum[a] / (4 * step);
      }
    }
}

static void add_rows(const job *b, int s, const room *r, double *j) {
  const bl_rows *rows = b->rows;
  double *mean = r->moved; /* of the segment: rows of other segments are not drawn in its place */
  memset(mean, 0, b->pairs * sizeof *mean);
  for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p += BATCH) {
    const int count = rows->first[s + 1] - p < BATCH ? (int)(rows->first[s + 1] - p) : BATCH;
    for (int q = 0; q < count; q++) {
      double *psi = r->psi + b->pairs * (size_t)q;
      influence(r, rows->n, rows->x + (size_t)rows->n * (size_t)(p + q), psi);
      cblas_daxpy((int)b->pairs, rows->weight[p + q], psi, 1, mean, 1);
      cblas_dscal((int)b->pairs, sqrt(rows->weight[p + q]), psi, 1);
    }
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)b->m, count, (int)b->pairs, 1, r->weighted, (int)b->pairs,
                r->psi, (int)b->pairs, 0, r->score, (int)b->m);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (int)b->m, count, 1, r->score, (int)b->m, 1, j, (int)b->m);
  }
  cblas_dgemv(CblasColMajor, CblasTrans, (int)b->pairs, (int)b->m, 1, r->weighted, (int)b->pairs, mean, 1, 0, r->score,
              1);
  cblas_dsyr(CblasColMajor, CblasLower, (int)b->m, -1 / fmax(1, (double)rows->total[s]), r->score, 1, j, (int)b->m);
}

/* h <- D' F'' D, and weighted <- what a row's influence is multiplied by. */
static void weigh(const job *b, int s, const room *r, double *h) {
  const double rows = b->counts->samples[s];
  const bool scales = strcmp(b->model->method, "blica") == 0;
  if (b->by_tables)
    for (size_t c = 0; c < b->m; c++)
      for (size_t at = 0; at < b->pairs; at++)
        r->weighted[at + b->pairs * c] =
            r->slope[at + b->pairs * c] * (b->expected ? 0.5 * rows * r->table[at].information : r->pull[2 * at]);
  else {
    if (scales) scale_information(b->model->n, r->full, r->x, r->qq);
    weigh_dense(b->model->n, b->m, rows, r->full, scales ? r->qq : NULL, r->slope, r->x, r->y, r->z, r->weighted);
  }
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)b->m, (int)b->m, (int)b->pairs, 1, r->slope, (int)b->pairs,
              r->weighted, (int)b->pairs, 0, h, (int)b->m);
  if (b->by_tables) memcpy(r->weighted, r->slope, b->pairs * b->m * sizeof(double));
}

static void segment_task(int64_t item, int thread, void *user) {
  job *b = user;
  const blica_model *model = b->model;
  const int s = (int)item, n = model->n, k = model->k;
  const double *v = model->variances + (size_t)k * s;
  const room r = divide(b, b->work + b->each * (size_t)thread);
  double *h = b->h + b->m * b->m * (size_t)s, *j = b->j + b->m * b->m * (size_t)s;
  for (int i = 0; i < n; i++) r.t[i] = bl_phi_quantile(share(b->counts, s, i));
  bl_implied_rho(n, k, model->link, model->mixing, v, r.scale, r.rho);
  bl_implied_slope(n, k, model->link, model->mixing, v, r.scale, r.rho, r.slope);
  describe(b, s, &r);
  if (!b->by_tables && !inverse(b, s, r.rho, r.t, r.full)) {
    b->failed[s] = true;
    return;
  }
  weigh(b, s, &r, h);
  add_rows(b, s, &r, j);
  if (b->by_tables && !b->expected) add_curvature(b, v, &r, h);
}

/* ---- all of them ---- */

/* Adds block [m,m] of segment s, lower triangle, to full [p,p]. */
static void scatter(const job *b, int s, const double *block, double *full, size_t p) {
  const size_t k = (size_t)b->model->k;
  for (size_t c = 0; c < b->m; c++)
    for (size_t r = c; r < b->m; r++) {
      const size_t row = r < b->nk ? r : b->nk + k * (size_t)s + (r - b->nk);
      const size_t column = c < b->nk ? c : b->nk + k * (size_t)s + (c - b->nk);
      full[row + p * column] += block[r + b->m * c];
    }
}

static double note(const blica_model *model, const char *name) {
  for (int i = 0; i < model->fit.n_notes; i++)
    if (strcmp(model->fit.notes[i].name, name) == 0) return model->fit.notes[i].value;
  return INFINITY;
}

/* The prior into h and j; without one, the scale of each column is fixed by mean log v = 0, which changes nothing else.
 */
static void add_prior(const job *b, double *h, double *j, size_t p) {
  const double mixing = note(b->model, "prior_mixing"), variance = note(b->model, "prior_variance");
  const size_t k = (size_t)b->model->k, u = (size_t)b->model->u;
  if (isfinite(mixing) && isfinite(variance)) {
    for (size_t i = 0; i < p; i++) {
      const double precision = i < b->nk ? 1 / (mixing * mixing) : 1 / (variance * variance);
      h[i * (p + 1)] += precision;
      j[i * (p + 1)] += precision;
    }
    return;
  }
  double trace = 0;
  for (size_t i = b->nk; i < p; i++) trace += h[i * (p + 1)];
  const double weight = fmax(trace / (double)(p - b->nk), 1e-300);
  for (size_t l = 0; l < k; l++)
    for (size_t s = 0; s < u; s++)
      for (size_t t = s; t < u; t++) h[b->nk + l + k * t + p * (b->nk + l + k * s)] += weight / (double)u;
}

/* Rows of x [p,columns] become those of canonical parameters: log v less its mean, A scaled by half of that mean. */
static void canonical_rows(const blica_model *m, double *x, size_t p, size_t columns) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u, nk = n * k;
  for (size_t c = 0; c < columns; c++)
    for (size_t l = 0; l < k; l++) {
      double *v = x + p * c + nk + l, mean = 0;
      for (size_t s = 0; s < u; s++) mean += v[k * s] / (double)u;
      for (size_t s = 0; s < u; s++) v[k * s] -= mean;
      for (size_t i = 0; i < n; i++) x[p * c + i + n * l] += 0.5 * mean * m->mixing[i + n * l];
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

/* covariance <- H^-1 J H^-1, in canonical scale; j and h are spoiled. */
static blica_status solve(const job *b, double *h, double *j, size_t p, double *covariance) {
  for (size_t c = 0; c < p; c++)
    for (size_t r = c; r < p; r++) covariance[r + p * c] = covariance[c + p * r] = j[r + p * c];
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)p, h, (int)p) != 0)
    return bl_fail(b->ctx, BLICA_ERR_NUMERIC,
                   "the information about the mixing matrix is singular: the data leave some of its directions open");
  LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', (int)p, (int)p, h, (int)p, covariance, (int)p);
  transpose(covariance, p);
  LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', (int)p, (int)p, h, (int)p, covariance, (int)p);
  canonical_rows(b->model, covariance, p, p);
  transpose(covariance, p);
  canonical_rows(b->model, covariance, p, p);
  return BLICA_OK;
}

static blica_status attempt(job *b, double *h, double *j, size_t p, double *covariance) {
  const blica_model *model = b->model;
  const size_t all = b->m * b->m * (size_t)model->u * sizeof(double);
  memset(b->h, 0, all), memset(b->j, 0, all);
  memset(h, 0, p * p * sizeof *h), memset(j, 0, p * p * sizeof *j);
  bl_parallel(b->ctx, model->u, segment_task, b);
  for (int s = 0; s < model->u; s++) {
    if (b->failed[s])
      return bl_fail(b->ctx, BLICA_ERR_NUMERIC, "segment '%s': the fitted correlations are not positive definite",
                     model->segments[s]);
    scatter(b, s, b->h + b->m * b->m * (size_t)s, h, p);
    scatter(b, s, b->j + b->m * b->m * (size_t)s, j, p);
  }
  add_prior(b, h, j, p);
  return solve(b, h, j, p, covariance);
}

blica_status bl_sandwich(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                         double *covariance) {
  blica_status status;
  const size_t nk = (size_t)model->n * model->k, u = (size_t)model->u, p = nk + u * (size_t)model->k;
  job b = {.ctx = ctx, .model = model, .rows = rows, .counts = counts, .nk = nk, .m = nk + (size_t)model->k};
  double *h = NULL, *j = NULL;
  b.pairs = (size_t)counts->pairs;
  b.by_tables = strcmp(model->method, "pairwise") == 0;
  b.each = (room_size(&b) + 7) / 8 * 8;
  bl_blas_hold();
  TRY(bl_alloc(ctx, bl_mul(b.m * b.m, u), &b.h));
  TRY(bl_alloc(ctx, bl_mul(b.m * b.m, u), &b.j));
  TRY(bl_alloc(ctx, bl_mul(b.each, (size_t)bl_max_threads(ctx)), &b.work));
  TRY(bl_alloc(ctx, u, &b.failed));
  TRY(bl_alloc(ctx, p * p, &h));
  TRY(bl_alloc(ctx, p * p, &j));
  b.expected = !b.by_tables || model->k > 64;
  status = attempt(&b, h, j, p, covariance);
  if (status == BLICA_ERR_NUMERIC &&
      !b.expected) { /* not at a minimum of the objective itself, as with learned priors */
    b.expected = true;
    status = attempt(&b, h, j, p, covariance);
  }
done:
  bl_blas_release();
  bl_free(b.h);
  bl_free(b.j);
  bl_free(b.work);
  bl_free(b.failed);
  bl_free(h);
  bl_free(j);
  return status;
}
