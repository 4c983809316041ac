/* sandwich.c - Godambe's covariance of the estimates, H^-1 J H^-1, from the influence of single units: of rows, or of
 * clusters or blocks of rows.
 *
 * All pair-based methods minimise sum_s F_s(x_s(A, v_s)), x_s the correlations and, of ordinal items, the log-scales
 * 1/2 log M_s,ii + d_i (d_i: one constant per item, eliminated). With D_s = d x / d theta,
 *   H = sum_s D_s' F_s'' D_s + sum F_s' d2 x + P, P the precision of the prior, and
 *   J = sum over units of g g', g the change of the gradient that the unit brings about, less its mean in the segment
 *       (row_scores.c).
 *   pairwise            two levels: F'' and F' are those of the tables at the observed margins (the observed Hessian),
 *                       and g comes from the scores of the tables: what lavaan's PML does. More levels: the expected
 *                       Hessian of the tables.
 *   matched, mle, ...   F'' = N w (K_ac K_bd + K_ad K_bc) w, K = (R + D)^-1, D the noise of coarse data
 *                       (gauss/segments.c), w^2 the share of the rows that have both items, and the precision of the
 *                       log-scales; F' is taken as 0, and g = D_s' F'' psi, psi the influence of the unit on x_s. For
 *                       the full likelihood (where it is large: information.c has the others) this is near the best
 *                       weighting of pairs, so that its errors are slightly too large.
 *   blica               the same with D = the shift of the regularisation and the scales q eliminated.
 * Where a fit used the margins (docs/method.md, equation 33; its note margin_misfit), x_s has the thresholds too, with
 * the fit's weights, and the parameters the means and cuts, which are eliminated.
 * D_s is sparse, a pair having 3k parameters, and F'' is applied to matrices: nothing of size pairs times parameters is
 * made. J is multiplied by N_s / (N_s - parameters of the segment), as in regression.
 * A prior shrinks the estimate by H^-1 P theta, theta being the truth, which is further out than the estimate by as
 * much. For lengths of columns and log v this bias is computed from the estimate, and squared. For directions, about
 * which the estimate says little, it is the mean square over thetas from the prior, H^-1 P H^-1, times SHARE, which is
 * right on simulated data (bench/results/inference.md). The result is brought to the scale where the mean of each log v
 * is 0.
 * Reference: Godambe, Ann. Math. Stat. 31 (1960); Joreskog and Moustaki, Multivariate Behav. Res. 36 (2001). Checked
 * against lavaan's PML and by simulation. */
#include "inference/errors.h"

#include <math.h>
#include <string.h>

#include "estimate/estimate.h"
#include "inference/implied.h"
#include "inference/scores/row_scores.h"
#include "model/model.h"
#include "num/linear/blas.h"

enum { TOGETHER = 8 }; /* segments whose blocks are in memory at a time */
static const double SHARE = 0.25;

/* The matrices of D'F'' x in closed form (closed_pairs): B, Psi^-1 B, K B, N X K B, and work; I + B'Psi^-1 B, and work;
 * Psi. */
typedef struct {
  double *b, *c, *kb, *xkb, *more, *last; /* [n,k] */
  double *w, *inner, *both;               /* [k,k] */
  double *psi;                            /* [n] */
} closed_form;

/* One thread's. */
typedef struct {
  bl_influence *influence;
  bl_units_reader units;
  bl_score_sums sums;
  double *scale, *z, *rho, *omega, *total, *t; /* [n], [n], [pairs], [pairs], [n], [n] thresholds that the model says */
  double *full, *qq, *x, *y;                   /* [n,n] */
  closed_form closed;
  double *column, *weighted, *plain; /* [statistics], [statistics], [nk + k] */
  double *score, *theta;             /* [m,BL_BATCH], [nk] */
} workspace;

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_rows *rows;
  const blica_counts *counts;
  size_t nk, pairs, statistics;
  size_t shared;         /* d of ordinal items, or cuts */
  size_t m;              /* parameters that a segment sees: A, log v_s, the shared ones and, with margins, means */
  size_t p, all;         /* A and all log v; with the shared ones and all means */
  bool tables;           /* F is a sum over tables */
  bool expected;         /* F'' is the expected one and F' = 0 also for tables */
  bool closed;           /* D'F'' has a closed form: the Gaussian likelihood of complete rows without free scales */
  bool margins;          /* thresholds are statistics */
  double misfit;         /* of the margins, a standard deviation */
  double *t;             /* [planes,u] thresholds */
  int first;             /* segment of the first of the blocks */
  double *h, *j;         /* [m,m,TOGETHER] contributions of segments */
  workspace *workspaces; /* per thread; they own the other arrays */
  bool *failed;          /* [u] */
} job;

/* ---- workspaces ---- */

static void free_workspaces(job *b) {
  for (int i = 0; b->workspaces && i < bl_max_threads(b->ctx); i++) bl_free(b->workspaces[i].influence);
  bl_free(b->workspaces);
}

static blica_status make_workspace(const job *b, workspace *r) {
  const size_t n = (size_t)b->model->n, k = (size_t)b->model->k, q = b->statistics, m = b->m;
  const bool scores = b->tables && !bl_coding_ordinal(b->rows->coding);
  const struct {
    double **x;
    size_t size;
  } arrays[] = {{&r->scale, n},
                {&r->z, n},
                {&r->rho, b->pairs},
                {&r->omega, b->pairs},
                {&r->total, n},
                {&r->t, n},
                {&r->full, n * n},
                {&r->qq, n * n},
                {&r->x, n * n},
                {&r->y, n * n},
                {&r->closed.b, 6 * b->nk + 3 * k * k + n},
                {&r->column, q},
                {&r->weighted, q},
                {&r->plain, b->nk + k},
                {&r->score, BL_BATCH * m},
                {&r->theta, b->nk}};
  MUST(bl_influence_make(b->ctx, b->model->n, b->rows->coding,
                         scores       ? BL_TABLE_SCORES
                         : b->margins ? BL_THRESHOLDS
                                      : BL_SCALES,
                         &r->influence));
  MUST(bl_units_make(b->ctx, r->influence, r->influence, b->rows, &r->units));
  MUST(bl_score_sums_make(b->ctx, r->influence, m, &r->sums));
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    MUST(bl_alloc_for(b->ctx, r->influence, arrays[i].size, arrays[i].x));
  closed_form *f = &r->closed;
  double **const slice[] = {&f->c, &f->kb, &f->xkb, &f->more, &f->last};
  for (size_t i = 0; i < 5; i++) *slice[i] = f->b + (i + 1) * b->nk;
  f->w = f->b + 6 * b->nk, f->inner = f->w + k * k, f->both = f->inner + k * k, f->psi = f->both + k * k;
  return BLICA_OK;
}

/* ---- D of one segment ---- */

/* out [m] += D'x of the statistics that follow the correlations in x [statistics]. */
static void gather_items(const job *b, int s, const workspace *r, const double *x, double *out) {
  const blica_model *m = b->model;
  const size_t n = (size_t)m->n, k = (size_t)m->k;
  const double *v = m->variances + k * (size_t)s, *mean = m->means + k * (size_t)s, root = sqrt(m->link);
  for (size_t i = 0; b->statistics > b->pairs && i < n; i++) {
    const double y = x[b->pairs + i], to = r->scale[i];
    for (size_t l = 0; l < k; l++) {
      const double a = m->mixing[i + n * l], part = m->link * v[l] * a * to * to;
      if (b->margins) {
        out[i + n * l] += y * (root * mean[l] * to - r->t[i] * part);
        out[b->nk + l] -= y * 0.5 * r->t[i] * part * a;
        out[b->nk + k + n + l] += y * root * a * to;
      } else {
        out[i + n * l] += y * part;
        out[b->nk + l] += y * 0.5 * part * a;
      }
    }
    out[b->nk + k + i] = b->margins ? -y * to : y;
  }
}

/* D'x, x [statistics], to out [m]. */
static void gather(const job *b, int s, const workspace *r, const double *x, double *out) {
  const blica_model *m = b->model;
  memset(out, 0, b->m * sizeof *out);
  bl_implied_gather(m->n, m->k, m->link, m->mixing, m->variances + m->k * (size_t)s, r->scale, r->rho, x, r->z, out);
  gather_items(b, s, r, x, out);
}

/* x [statistics] <- column c of D. Returns the item whose pairs alone it has, or -1. */
static int column(const job *b, int s, const workspace *r, size_t c, double *x) {
  const blica_model *m = b->model;
  const size_t n = (size_t)m->n, k = (size_t)m->k;
  const double *v = m->variances + k * (size_t)s, *mean = m->means + k * (size_t)s, root = sqrt(m->link);
  const bool more = b->statistics > b->pairs;
  double *item = x + b->pairs;
  memset(x, 0, b->statistics * sizeof *x);
  if (c >= b->nk + k) {
    const size_t at = c - b->nk - k;
    if (at < n) item[at] = b->margins ? -r->scale[at] : 1;
    for (size_t i = 0; at >= n && i < n; i++) item[i] = root * m->mixing[i + n * (at - n)] * r->scale[i];
    return -1;
  }
  const size_t l = c < b->nk ? c / n : c - b->nk, only = c < b->nk ? c % n : n;
  const double weight = sqrt(m->link * v[l]), *a = m->mixing + n * l;
  for (size_t i = 0; i < n; i++) {
    const double part = m->link * v[l] * a[i] * r->scale[i] * r->scale[i];
    if (!more || (only < n && i != only)) continue;
    if (b->margins)
      item[i] = only < n ? root * mean[l] * r->scale[i] - r->t[i] * part : -0.5 * r->t[i] * part * a[i];
    else
      item[i] = only < n ? part : 0.5 * part * a[i];
  }
  for (size_t j = 0; only < n && j < n; j++) {
    if (j == only) continue;
    const size_t at = (size_t)(j < only ? blica_pair((int)j, (int)only) : blica_pair((int)only, (int)j));
    x[at] = weight * r->scale[only] * weight * (a[j] * r->scale[j] - r->rho[at] * a[only] * r->scale[only]);
  }
  if (only < n) return (int)only;
  for (size_t j = 1; j < n; j++)
    for (size_t i = 0; i < j; i++) {
      const size_t at = (size_t)blica_pair((int)i, (int)j);
      const double bi = weight * a[i] * r->scale[i], bj = weight * a[j] * r->scale[j];
      x[at] = bi * bj - 0.5 * r->rho[at] * (bi * bi + bj * bj);
    }
  return -1;
}

/* ---- F'' of one segment ---- */

/* full [n,n] <- K = (R + D)^-1 of segment s; false when singular. */
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

/* The correlations of y <- N w K X K w, X the symmetric matrix of w x, zero on the diagonal; less, with scales that are
 * free, N w K_ab (z_a + z_b), z = qq^-1 diag(K X). `only`: x has the pairs of this item alone; -1: all. */
static void weigh_dense(const job *b, double rows, bool free_scales, int only, const workspace *r, const double *x,
                        double *y) {
  const int n = b->model->n;
  const double *k = r->full;
  double *matrix = r->x, *half = r->y, *z = r->z;
  if (only >= 0) { /* X = e u' + u e', so that K X K = (K e)(K u)' + (K u)(K e)' */
    const double *ke = k + (size_t)n * only;
    double *u = matrix, *ku = matrix + n;
    for (int i = 0; i < n; i++) {
      const size_t at = i == only ? 0 : (size_t)(i < only ? blica_pair(i, only) : blica_pair(only, i));
      u[i] = i == only ? 0 : r->omega[at] * x[at];
    }
    bl_dgemv('N', n, n, 1, k, n, u, 1, 0, ku, 1);
    for (int i = 0; i < n; i++) z[i] = free_scales ? ke[i] * u[i] + (i == only ? ku[i] : 0) : 0;
    if (free_scales) bl_dpotrs('L', n, 1, r->qq, n, z, n);
    for (int j = 1; j < n; j++)
      for (int i = 0; i < j; i++) {
        const size_t at = (size_t)blica_pair(i, j);
        y[at] = rows * r->omega[at] * (ke[i] * ku[j] + ku[i] * ke[j] - k[i + (size_t)j * n] * (z[i] + z[j]));
      }
    return;
  }
  for (int j = 0; j < n; j++) {
    matrix[j + (size_t)j * n] = 0;
    for (int i = 0; i < j; i++) {
      const size_t at = (size_t)blica_pair(i, j);
      matrix[i + (size_t)j * n] = matrix[j + (size_t)i * n] = r->omega[at] * x[at];
    }
  }
  bl_dgemm('N', 'N', n, n, n, 1, k, n, matrix, n, 0, half, n);
  bl_dgemm('N', 'N', n, n, n, 1, half, n, k, n, 0, matrix, n);
  for (int i = 0; i < n; i++) z[i] = free_scales ? half[i + (size_t)i * n] : 0;
  if (free_scales) bl_dpotrs('L', n, 1, r->qq, n, z, n);
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      const size_t at = (size_t)blica_pair(i, j);
      y[at] = rows * r->omega[at] * (matrix[i + (size_t)j * n] - k[i + (size_t)j * n] * (z[i] + z[j]));
    }
}

/* Precision of the threshold of item i in segment s, as the fit has it. */
static double threshold_precision(const job *b, int s, int i, const workspace *r) {
  const double rows = b->counts->present[i + (size_t)s * b->counts->n];
  return rows > 0 ? 1 / (1 / r->influence->kept[i] / rows + b->misfit * b->misfit) : 0;
}

/* The statistics of y [statistics] that follow the correlations <- F'' x. */
static void weigh_items(const job *b, int s, const workspace *r, const double *x, double *y) {
  const double margins = b->tables ? 0.5 * (b->model->n - 1) : 1; /* the tables have every margin n - 1 times */
  for (size_t i = b->pairs; i < b->statistics; i++)
    y[i] = x[i] * (b->margins ? threshold_precision(b, s, (int)(i - b->pairs), r)
                              : margins * r->influence->precision[i - b->pairs]);
}

/* y [statistics] <- F'' x. */
static void weigh(const job *b, int s, int only, const workspace *r, const double *x, double *y) {
  const bl_influence *f = r->influence;
  if (b->tables)
    for (size_t at = 0; at < b->pairs; at++)
      y[at] = x[at] * (b->expected ? 0.5 * f->both[at] * f->information[at] : f->derivatives[2 * at]);
  else
    weigh_dense(b, b->rows->size[s], bl_method_covariance(b->model) == BL_COVARIANCE_REGULARISED, only, r, x, y);
  weigh_items(b, s, r, x, y);
}

/* Prepares closed_pairs for segment s. */
static void prepare_closed_pairs(const job *b, int s, const workspace *r) {
  const blica_model *m = b->model;
  const closed_form *f = &r->closed;
  const int n = m->n, k = m->k;
  for (int i = 0; i < n; i++) f->psi[i] = 1 / r->influence->kept[i];
  for (int l = 0; l < k; l++)
    for (int i = 0; i < n; i++) {
      const size_t at = i + (size_t)l * n;
      f->b[at] = sqrt(m->link * m->variances[l + (size_t)k * s]) * m->mixing[at] * r->scale[i];
      f->psi[i] -= f->b[at] * f->b[at];
    }
  for (size_t at = 0; at < b->nk; at++) f->c[at] = f->b[at] / f->psi[at % (size_t)n];
  for (int l = 0; l < k * k; l++) f->w[l] = l % (k + 1) == 0;
  bl_dgemm('T', 'N', k, k, n, 1, f->b, n, f->c, n, 1, f->w, k);
  bl_dgemm('N', 'N', n, k, n, 1, r->full, n, f->b, n, 0, f->kb, n);
}

/* The first nk + k of out <- D'F'' x of the correlations, N D' K X K, without forming K X K: with B B' + Psi = K^-1,
 * K = Psi^-1 - K B B' Psi^-1 and K X K B = Psi^-1 X K B - K B (B' Psi^-1 X K B). The parts of D that multiply b_i, the
 * sums over j of rho_ij (K X K)_ij, are the diagonal of K X K (K^-1 - D), D = diag(K^-1) - I. Cost: n^2 k. */
static void closed_pairs(const job *b, int s, const workspace *r, const double *x, double *out) {
  const closed_form *f = &r->closed;
  const int n = b->model->n, k = b->model->k;
  for (int j = 0; j < n; j++) {
    memcpy(r->x + (size_t)j * n, x + (size_t)j * (j > 0 ? j - 1 : 0) / 2, (size_t)j * sizeof *x);
    r->x[j * ((size_t)n + 1)] = 0;
  }
  bl_dsymm('L', 'U', n, k, b->rows->size[s], r->x, n, f->kb, n, 0, f->xkb, n);
  bl_dgemm('T', 'N', k, k, n, 1, f->c, n, f->xkb, n, 0, f->inner, k);
  bl_dgemm('N', 'N', k, k, k, 1, f->inner, k, f->w, k, 0, f->both, k);
  bl_dgemm('N', 'N', n, k, k, 1, f->xkb, n, f->w, k, 0, f->more, n); /* X Psi^-1 B */
  bl_dgemm('N', 'N', n, k, k, 1, f->kb, n, f->both, k, 0, f->last, n);
  for (int i = 0; i < n; i++) {
    double own = 0, square = 0;
    for (size_t at = (size_t)i; at < b->nk; at += (size_t)n)
      own += f->more[at] * f->kb[at], square += f->last[at] * f->kb[at];
    r->z[i] = own + (1 / r->influence->kept[i] - 1) * (square - 2 * own / f->psi[i]);
  }
  bl_dgemm('N', 'N', n, k, k, 1, f->kb, n, f->inner, k, 0, f->last, n);
  for (int l = 0; l < k; l++) {
    double total = 0;
    for (int i = 0; i < n; i++) {
      const size_t at = i + (size_t)l * n;
      const double by = f->xkb[at] / f->psi[i] - f->last[at] + f->b[at] * r->z[i];
      total += f->b[at] * by;
      out[at] = by * sqrt(b->model->link * b->model->variances[l + (size_t)k * s]) * r->scale[i];
    }
    out[b->nk + l] = 0.5 * total;
  }
}

/* out [m] <- D'F'' x; `only` as for weigh_dense. */
static void weigh_and_gather(const job *b, int s, int only, const workspace *r, const double *x, double *out) {
  if (!b->closed) {
    weigh(b, s, only, r, x, r->weighted);
    gather(b, s, r, r->weighted, out);
    return;
  }
  memset(out, 0, b->m * sizeof *out);
  closed_pairs(b, s, r, x, out);
  weigh_items(b, s, r, x, r->weighted);
  gather_items(b, s, r, r->weighted, out);
}

/* ---- one segment ---- */

/* Sets the implied correlations of segment s, the influences on its statistics and the weights of pairs. */
static void describe_segment(const job *b, int s, const workspace *r) {
  const blica_model *m = b->model;
  const double *v = m->variances + (size_t)m->k * s, *t = b->t + (size_t)b->rows->planes * s;
  bl_implied_rho(m->n, m->k, m->link, m->mixing, v, r->scale, r->rho);
  bl_influence_describe(b->counts, s, r->rho, t, t, r->influence);
  if (b->margins) bl_model_margins(m, s, r->total, r->t);
  for (size_t at = 0; at < b->pairs; at++)
    r->omega[at] = b->rows->complete ? 1 : sqrt(fmin(1, r->influence->both[at] / fmax(b->rows->size[s], 1e-300)));
}

/* Adds sum over pairs of F' d2 rho to h, by differences of the slopes. */
static void add_curvature(const job *b, const double *variance, const workspace *r, double *h) {
  const int n = b->model->n, k = b->model->k;
  const double step = 1e-5;
  memcpy(r->theta, b->model->mixing, b->nk * sizeof *r->theta);
  for (size_t at = 0; at < b->pairs; at++) r->column[at] = r->influence->derivatives[2 * at + 1];
  for (size_t c = 0; c < b->m; c++)
    for (int side = -1; side <= 1; side += 2) {
      const bool of_mixing = c < b->nk;
      double v[64];
      for (int l = 0; l < k; l++) v[l] = variance[l] * (!of_mixing && (size_t)l == c - b->nk ? exp(side * step) : 1);
      if (of_mixing) r->theta[c] = b->model->mixing[c] + side * step;
      bl_implied_rho(n, k, b->model->link, r->theta, v, r->scale, r->rho);
      bl_implied_gather(n, k, b->model->link, r->theta, v, r->scale, r->rho, r->column, r->z, r->plain);
      if (of_mixing) r->theta[c] = b->model->mixing[c];
      for (size_t a = 0; a < b->m; a++) {
        h[a + b->m * c] += side * r->plain[a] / (4 * step);
        h[c + b->m * a] += side * r->plain[a] / (4 * step);
      }
    }
}

/* j <- sum of g g' over the units of segment s. */
static void add_units(const job *b, int s, workspace *r, double *j) {
  const int m = (int)b->m, u = b->model->u;
  const double rows = fmax(b->rows->size[s], 1e-300);
  int64_t at = 0;
  double *mean = r->score; /* of the segment: rows of other segments are not drawn in its place */
  bl_score_sums_clear(b->m, &r->sums);
  for (int count; (count = bl_units_read(&r->units, s, &at)) > 0;) {
    for (int c = 0; c < count; c++) {
      const double *psi = r->units.psi + b->statistics * (size_t)c;
      double *score = r->score + b->m * (size_t)c;
      if (r->influence->kind == BL_TABLE_SCORES)
        gather(b, s, r, psi, score);
      else
        weigh_and_gather(b, s, -1, r, psi, score);
    }
    bl_score_sums_add(&r->units, count, b->m, r->score, &r->sums);
  }
  for (int c = 0; c < m; c++) mean[c] = r->sums.sum[c] / rows;
  bl_score_sums_centre(mean, b->m, &r->sums);
  const double own = b->model->n + b->model->k + (double)b->nk / u; /* parameters, A shared; of the margins locations */
  const double clusters = b->rows->unit_first ? bl_units_few(b->rows, s) : 1;
  bl_daxpy(m * m, clusters * (rows > 2 * own ? rows / (rows - own) : 2), r->sums.product, 1, j, 1);
  for (int i = 0; b->margins && b->misfit > 0 && i < b->model->n; i++) { /* thresholds err by the misfit, too */
    memset(r->column, 0, b->statistics * sizeof *r->column);
    r->column[b->pairs + (size_t)i] = threshold_precision(b, s, i, r) * b->misfit;
    gather(b, s, r, r->column, r->score);
    bl_dsyr('L', m, 1, r->score, 1, j, m);
  }
}

/* H and J of one segment; marks it as failed when its correlations are not positive definite. */
static void segment_task(int64_t item, int thread, void *user) {
  job *b = user;
  const int s = b->first + (int)item;
  workspace *r = &b->workspaces[thread];
  double *h = b->h + b->m * b->m * (size_t)item, *j = b->j + b->m * b->m * (size_t)item;
  describe_segment(b, s, r);
  if (!b->tables && !inverse(b, s, r)) {
    b->failed[s] = true;
    return;
  }
  if (b->closed) prepare_closed_pairs(b, s, r);
  if (bl_method_covariance(b->model) == BL_COVARIANCE_REGULARISED) scale_information(b->model->n, r->full, r->x, r->qq);
  for (size_t c = 0; c < b->m; c++) {
    const int only = column(b, s, r, c, r->column);
    weigh_and_gather(b, s, only, r, r->column, h + b->m * c);
  }
  add_units(b, s, r, j);
  if (!b->expected) add_curvature(b, b->model->variances + (size_t)b->model->k * s, r, h);
}

/* ---- all of them ---- */

/* Where parameter c of segment s is among all. */
static size_t place_of(const job *b, int s, size_t c) {
  const size_t k = (size_t)b->model->k, own = b->nk + k;
  if (c < b->nk) return c;
  if (c < own) return b->nk + k * (size_t)s + (c - b->nk);
  return c < own + b->shared ? b->p + (c - own) : b->p + b->shared + k * (size_t)s + (c - own - b->shared);
}

/* Adds block [m,m] of segment s, lower triangle, to the lower triangle of full [all,all]. */
static void scatter(const job *b, int s, const double *block, double *full) {
  for (size_t c = 0; c < b->m; c++)
    for (size_t r = c; r < b->m; r++) {
      const size_t row = place_of(b, s, r), at = place_of(b, s, c);
      full[row > at ? row + b->all * at : at + b->all * row] += block[r + b->m * c];
    }
}

/* The precision of the prior of parameter i of A and log v; 0 without one. */
static double prior_precision(const job *b, size_t i) {
  const double mixing = b->model->fit.prior_mixing, variance = b->model->fit.prior_variance;
  return !isfinite(mixing) || !isfinite(variance) ? 0 : i < b->nk ? 1 / (mixing * mixing) : 1 / (variance * variance);
}

/* Adds the prior's precision to h, and its share to j. Without a prior, the scale of each column is fixed by mean log v
 * = 0, which changes nothing else. */
static void add_prior(const job *b, double *h, double *j) {
  const size_t k = (size_t)b->model->k, u = (size_t)b->model->u;
  for (size_t i = b->p; i < b->all; i++) { /* means have a prior; an item that no segment shows the scale of has none */
    if (i >= b->p + b->shared) h[i * (b->all + 1)] += 1 / (BL_MEAN_SD * BL_MEAN_SD);
    if (!(h[i * (b->all + 1)] > 0)) h[i * (b->all + 1)] = 1;
  }
  for (size_t i = 0; i < b->p; i++) {
    h[i * (b->all + 1)] += prior_precision(b, i);
    j[i * (b->all + 1)] += SHARE * prior_precision(b, i);
  }
  if (prior_precision(b, 0) > 0) return;
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

/* bias [all] <- H^-1 P (theta + H^-1 P theta) in canonical scale; of A only what is along its columns. */
static void solve_bias(const job *b, const double *h, double *bias) {
  const blica_model *m = b->model;
  const int all = (int)b->all, n = m->n;
  memset(bias, 0, b->all * sizeof *bias);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < b->all; i++) {
      const double theta = i < b->nk ? m->mixing[i] : i < b->p ? log(m->variances[i - b->nk]) : 0;
      bias[i] = i < b->p ? prior_precision(b, i) * (theta + bias[i]) : 0;
    }
    bl_dpotrs('L', all, 1, h, all, bias, all);
  }
  canonical_rows(b, bias, 1);
  for (int l = 0; l < m->k; l++) {
    const double *a = m->mixing + (size_t)n * l;
    double *x = bias + (size_t)n * l;
    const double length = bl_ddot(n, a, 1, x, 1) / fmax(bl_ddot(n, a, 1, a, 1), 1e-300);
    for (int i = 0; i < n; i++) x[i] = length * a[i];
  }
}

/* j <- H^-1 J H^-1 in canonical scale, and the square of the bias; h is overwritten. bias [all] is workspace. */
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
    bl_dpotrs('L', p, side ? (int)b->p : p, h, p, j, p); /* the rest of the second side is not wanted */
    canonical_rows(b, j, b->all);
    transpose(j, b->all);
  }
  bl_dger(p, p, 1, bias, 1, bias, 1, j, p);
  return BLICA_OK;
}

/* Sums H and J over the segments, adds the prior and solves for the covariance and the bias. */
static blica_status sum_and_solve(job *b, double *h, double *j, double *bias) {
  const blica_model *model = b->model;
  const size_t block = b->m * b->m, whole = b->all * b->all * sizeof(double);
  memset(h, 0, whole), memset(j, 0, whole);
  for (b->first = 0; b->first < model->u; b->first += TOGETHER) {
    const int count = model->u - b->first < TOGETHER ? model->u - b->first : TOGETHER;
    if (bl_poll(b->ctx, &(blica_progress){
                            .stage = "standard errors", .fraction = (double)b->first / model->u, .objective = NAN}))
      return bl_fail(b->ctx, BLICA_ERR_INTERRUPTED, "interrupted while standard errors were computed");
    memset(b->h, 0, block * TOGETHER * sizeof *h), memset(b->j, 0, block * TOGETHER * sizeof *j);
    bl_parallel(b->ctx, count, segment_task, b);
    for (int s = b->first; s < b->first + count; s++) {
      if (b->failed[s])
        return bl_fail(b->ctx, BLICA_ERR_NUMERIC, "segment '%s': the fitted correlations are not positive definite",
                       model->segments[s]);
      scatter(b, s, b->h + block * (size_t)(s - b->first), h);
      scatter(b, s, b->j + block * (size_t)(s - b->first), j);
    }
  }
  add_prior(b, h, j);
  return solve(b, h, j, bias);
}

static blica_status allocate(job *b) {
  blica_ctx *ctx = b->ctx;
  const size_t u = (size_t)b->model->u, block = b->m * b->m;
  MUST(bl_alloc(ctx, (size_t)bl_max_threads(ctx), &b->workspaces));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul(block, TOGETHER), &b->h));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul(block, TOGETHER), &b->j));
  MUST(bl_alloc_for(ctx, b->workspaces, bl_mul((size_t)b->rows->planes, u), &b->t));
  MUST(bl_alloc_for(ctx, b->workspaces, u, &b->failed));
  for (int i = 0; i < bl_max_threads(ctx); i++) MUST(make_workspace(b, &b->workspaces[i]));
  bl_table_thresholds(b->counts, b->t);
  return BLICA_OK;
}

/* Whether the fit used the margins; its misfit. */
static bool margins_of(const blica_model *m, double *misfit) {
  for (int i = 0; i < m->fit.n_notes; i++)
    if (strcmp(m->fit.notes[i].name, "margin_misfit") == 0) {
      *misfit = m->fit.notes[i].value;
      return *misfit >= 0 && isfinite(*misfit);
    }
  return false;
}

blica_status bl_sandwich(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                         double *covariance) {
  blica_status status;
  const size_t n = (size_t)model->n, k = (size_t)model->k, u = (size_t)model->u;
  job b = {.ctx = ctx, .model = model, .rows = rows, .counts = counts, .nk = n * k, .pairs = n * (n - 1) / 2};
  BL_OWNED double *h = NULL, *j = NULL, *bias = NULL;
  const bool ordinal = bl_coding_ordinal(rows->coding);
  b.tables = bl_method_covariance(model) == BL_COVARIANCE_TABLES;
  b.margins = !ordinal && !b.tables && margins_of(model, &b.misfit);
  b.shared = ordinal || b.margins ? n : 0;
  b.statistics = b.pairs + b.shared, b.m = b.nk + k + b.shared + (b.margins ? k : 0);
  b.p = b.nk + k * u, b.all = b.p + b.shared + (b.margins ? k * u : 0);
  b.expected = !b.tables || ordinal || k > 64;
  b.closed = !b.tables && rows->complete && bl_method_covariance(model) != BL_COVARIANCE_REGULARISED;
  bl_blas_hold();
  TRY(allocate(&b));
  TRY(bl_alloc(ctx, bl_mul(b.all, b.all), &h));
  TRY(bl_alloc(ctx, bl_mul(b.all, b.all), &j));
  TRY(bl_alloc(ctx, b.all, &bias));
  status = sum_and_solve(&b, h, j, bias);
  if (status == BLICA_ERR_NUMERIC &&
      !b.expected) { /* not at a minimum of the objective itself, as with learned priors */
    b.expected = true;
    status = sum_and_solve(&b, h, j, bias);
  }
  if (status != BLICA_OK) goto done;
  for (size_t c = 0; c < b.p; c++) memcpy(covariance + b.p * c, j + b.all * c, b.p * sizeof *covariance);
done:
  bl_blas_release();
  free_workspaces(&b);
  return status;
}
