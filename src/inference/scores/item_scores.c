/* item_scores.c - scores of the items' parameters in single segments, from the influences of rows.
 *
 * In segment s let r be what the rows show less what the model says, psi_r the influence of a row on it, D its slopes
 * by the shared parameters, E by the segment's own, and W a weight. With G = D - E (E'WE)^-1 E'WD the score is G'W r,
 * its information G'WG and its variance sum over rows of (G'W psi_r)(G'W psi_r)': insensitive to the segment's own
 * parameters to first order (Neyman's C(alpha)).
 *
 * Cuts: r are thresholds t_il = Phi^-1 of the share at or above a level, W the inverse of their covariance in the rows
 * with the correlations of all segments, D the cuts, E the means of the sources and the log v_s,
 * t_il = (sqrt(c) a_i'mu_s - tau_il) / sqrt(M_s,ii). The correlations say more of log v_s and of A, and both are
 * shared parameters here: errors of A do not count either. A level that fewer than FEW rows reach, or fail to reach,
 * has next to no weight. Loadings: r are the latent correlations less those that A and v_s imply, with margins
 * corrected for (influence.c), W their nominal information, D their slopes by A, E those by log v_s. Their variances in
 * few rows are drawn towards those of all segments, as if there were as many more rows as parameters. Size and power:
 * bench/results/invariance.md. */
#include "inference/scores/item_scores.h"

#include <math.h>
#include <string.h>

#include "inference/implied.h"
#include "inference/scores/row_scores.h"
#include "model/model.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"

enum { FEW = 5, MOST = BL_ITEM_SCORES_SOURCES };

typedef struct {
  bl_influence *influence;
  bl_units_reader units;              /* loadings */
  bl_score_sums sums;                 /* of m + own scores */
  double *score;                      /* [m+own,BL_BATCH] */
  double *slope;                      /* [q,m+own] */
  double *weight;                     /* [q,m+own] W slope */
  double *full;                       /* [m+own,m+own] */
  double *rho, *scale, *side, *total; /* [pairs], [n], [own,m], [q] */
  double *sum;                        /* [m+own] */
  double *working;                    /* [q,q] cuts */
} workspace;

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_rows *rows;
  const blica_counts *counts;
  bool cuts;
  size_t q, own;                  /* statistics of a segment, and parameters of its own */
  double *t;                      /* [planes,u] observed thresholds */
  double *spread, *common;        /* cuts: [q,q,u] covariance of the thresholds, [q,q] their common correlations */
  const bl_item_scores *loadings; /* cuts: those of the same model and rows */
  bl_item_scores *out;
  workspace *workspace; /* per thread */
} job;

/* variance [m,m] <- that of G'W r over the units, and score [m] <- the sum. weight [q,m] is W G. */
static void sum_units(const job *b, int s, const workspace *w, size_t m, double *score, double *variance) {
  const int im = (int)m, q = (int)b->q;
  const double rows = fmax(1, b->counts->samples[s]);
  const double own = 2.0 * b->rows->planes / b->rows->n + (double)b->own + (double)b->out->m / b->out->u;
  const double few = bl_units_few(b->rows, s) * (rows > 2 * own ? rows / (rows - own) : 2);
  bl_score_sums sums = w->sums;
  int64_t at = 0;
  bl_score_sums_clear(m, &sums);
  for (int count; (count = bl_units_read(&w->units, s, &at)) > 0;) {
    bl_dgemm('T', 'N', im, count, q, 1, w->weight, q, w->units.psi, q, 0, w->score, im);
    bl_score_sums_add(&w->units, count, m, w->score, &sums);
  }
  memcpy(score, sums.sum, m * sizeof *score);
  for (size_t c = 0; c < m; c++) sums.sum[c] /= rows;
  bl_score_sums_centre(sums.sum, m, &sums);
  for (size_t c = 0; c < m; c++)
    for (size_t r = c; r < m; r++) variance[r + m * c] = variance[c + m * r] = few * sums.product[r + m * c];
}

/* ---- what a segment has of its own is projected out ---- */

/* Solves with the own block of full [all,all], the last `own` parameters: side [own,m] <- (E'WE)^-1 E'WD. */
static void own_side(size_t m, size_t own, const double *full, double *side) {
  const size_t all = m + own;
  double block[4 * MOST * MOST], trace = 0;
  for (size_t c = 0; c < own; c++) {
    trace += full[(m + c) * (all + 1)];
    for (size_t a = 0; a < own; a++) block[a + own * c] = full[m + a + all * (m + c)];
    for (size_t r = 0; r < m; r++) side[c + own * r] = full[m + c + all * r];
  }
  for (size_t c = 0; c < own; c++) block[c * (own + 1)] += 1e-10 * trace / (double)own + 1e-300;
  if (bl_dpotrf('L', (int)own, block, (int)own) == 0)
    bl_dpotrs('L', (int)own, (int)m, block, (int)own, side, (int)own);
  else
    memset(side, 0, own * m * sizeof *side);
}

/* The scores of segment s by slope and weight [q,m+own] in w. */
static void project(const job *b, int s, const workspace *w) {
  const size_t m = b->out->m, own = b->own, all = m + own;
  const int q = (int)b->q;
  double *information = b->out->information + m * m * (size_t)s;
  bl_dgemm('T', 'N', (int)all, (int)all, q, 1, w->slope, q, w->weight, q, 0, w->full, (int)all);
  own_side(m, own, w->full, w->side);
  for (size_t c = 0; c < m; c++) memcpy(information + m * c, w->full + all * c, m * sizeof *information);
  bl_dgemm('T', 'N', (int)m, (int)m, (int)own, -1, w->full + m, (int)all, w->side, (int)own, 1, information, (int)m);
  bl_dgemm('N', 'N', q, (int)m, (int)own, -1, w->weight + b->q * m, q, w->side, (int)own, 1, w->weight, q);
}

/* ---- loadings ---- */

/* x [own,columns] <- a^-1 x for a symmetric a [own,own], which is destroyed; zeros where a is singular. */
static void solve_or_zero(size_t own, double *a, size_t columns, double *x) {
  double trace = 0;
  for (size_t c = 0; c < own; c++) trace += a[c * (own + 1)];
  for (size_t c = 0; c < own; c++) a[c * (own + 1)] += 1e-9 * trace / (double)own + 1e-300;
  if (bl_dpotrf('L', (int)own, a, (int)own) == 0)
    bl_dpotrs('L', (int)own, (int)columns, a, (int)own, x, (int)own);
  else
    memset(x, 0, own * columns * sizeof *x);
}

/* What the correlations of a segment say of log v: the estimated difference I^-1 z, its variance I^-1 V I^-1 and the
 * inverse of that, I V^-1 I. z [k] are the scores, I [k,k] their nominal information, V [k,k] their variance. */
static void own_knowledge(size_t k, const double *nominal, const double *v, const double *z, bl_own_knowledge *o) {
  const int ik = (int)k;
  double matrix[MOST * MOST], side[MOST * MOST];
  memcpy(o->difference, z, k * sizeof *z);
  memcpy(matrix, nominal, k * k * sizeof *matrix);
  solve_or_zero(k, matrix, 1, o->difference);
  memcpy(side, v, k * k * sizeof *side);
  for (int pass = 0; pass < 2; pass++) { /* V is symmetric: the transpose of I^-1 V, then of that once more */
    memcpy(matrix, nominal, k * k * sizeof *matrix);
    solve_or_zero(k, matrix, k, side);
    for (size_t c = 0; c < k; c++)
      for (size_t a = 0; a < k; a++) o->variance[a + k * c] = side[c + k * a];
    memcpy(side, o->variance, k * k * sizeof *side);
  }
  memcpy(side, nominal, k * k * sizeof *side);
  memcpy(matrix, v, k * k * sizeof *matrix);
  solve_or_zero(k, matrix, k, side);
  bl_dgemm('N', 'N', ik, ik, ik, 1, nominal, ik, side, ik, 0, o->information, ik);
}

/* Sums over the units of segment s of the scores of shared and own parameters. */
static void keep_sums(const job *b, int s, const workspace *w) {
  const size_t m = b->out->m, own = b->own, all = m + own;
  double nominal[MOST * MOST], v[MOST * MOST], *variance = b->out->variance + m * m * (size_t)s;
  for (size_t c = 0; c < own; c++)
    for (size_t a = 0; a < own; a++) nominal[a + own * c] = w->full[m + a + all * (m + c)];
  sum_units(b, s, w, all, w->sum, w->full);
  memcpy(b->out->score + m * (size_t)s, w->sum, m * sizeof *w->sum);
  for (size_t c = 0; c < m; c++) memcpy(variance + m * c, w->full + all * c, m * sizeof *variance);
  for (size_t c = 0; c < own; c++)
    for (size_t a = 0; a < own; a++) v[a + own * c] = w->full[m + a + all * (m + c)];
  bl_own_knowledge *known = &b->out->known[s];
  own_knowledge(own, nominal, v, w->sum + m, known);
  memcpy(known->slope, w->side, own * m * sizeof *w->side);
}

/* Scores of the loadings in one segment. */
static void loading_task(int64_t item, int thread, void *user) {
  const job *b = user;
  const int s = (int)item, n = b->model->n, k = b->model->k;
  const workspace *w = &b->workspace[thread];
  const bl_influence *f = w->influence;
  const double *v = b->model->variances + (size_t)k * (size_t)s;
  const size_t m = b->out->m, pairs = f->pairs, all = m + b->own;
  const double *t = b->t + (size_t)b->rows->planes * (size_t)s;
  bl_implied_rho(n, k, b->model->link, b->model->mixing, v, w->scale, w->rho);
  bl_influence_describe(b->counts, s, w->rho, t, t, w->influence);
  memset(w->slope, 0, b->q * all * sizeof *w->slope);
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      const size_t at = (size_t)blica_pair(i, j);
      double slope[3 * MOST];
      bl_implied_pair_slopes(n, k, b->model->link, b->model->mixing, v, w->scale, w->rho[at], i, j, slope);
      for (int l = 0; l < k; l++) {
        w->slope[at + b->q * (size_t)(i * k + l)] = slope[l];
        w->slope[at + b->q * (size_t)(j * k + l)] = slope[k + l];
        w->slope[at + b->q * (m + (size_t)l)] = slope[2 * k + l];
      }
    }
  for (size_t c = 0; c < all; c++)
    for (size_t at = 0; at < b->q; at++)
      w->weight[at + b->q * c] = at < pairs ? f->both[at] * f->information[at] * w->slope[at + b->q * c] : 0;
  project(b, s, w);
  keep_sums(b, s, w);
}

/* Draws the variance of each segment towards the common ratio of variance and nominal information. */
static blica_status pool_variances(const job *b) {
  bl_item_scores *o = b->out;
  const size_t m = o->m;
  BL_OWNED double *common = NULL;
  MUST(bl_alloc(b->ctx, m * m, &common));
#define SIZE(s, a) sqrt(fmax(o->information[(a) * (m + 1) + m * m * (s)], 1e-12))
  for (size_t s = 0; s < (size_t)o->u; s++)
    for (size_t c = 0; c < m; c++)
      for (size_t a = 0; a < m; a++)
        common[a + m * c] += o->share[s] * o->variance[a + m * c + m * m * s] / SIZE(s, a) / SIZE(s, c);
  for (size_t s = 0; s < (size_t)o->u; s++) {
    const double rows = b->counts->samples[s], own = rows / (rows + (double)m);
    for (size_t c = 0; c < m; c++)
      for (size_t a = 0; a < m; a++) {
        double *variance = &o->variance[a + m * c + m * m * s];
        *variance = own * *variance + (1 - own) * SIZE(s, a) * common[a + m * c] * SIZE(s, c);
      }
  }
#undef SIZE
  return BLICA_OK;
}

/* ---- cuts ---- */

/* Variances are never less than those of as many independent rows. */
static void raise_spreads(const job *b) {
  const size_t q = (size_t)b->rows->planes;
  for (size_t at = 0; at < q * (size_t)b->out->u; at++) {
    const double share = bl_phi_cdf(b->t[at]), density = bl_phi_density(b->t[at]);
    double *spread = &b->spread[at % q * (q + 1) + at / q * q * q];
    *spread = fmax(*spread, share * (1 - share) / (density * density) / fmax(1, b->counts->present[at]));
  }
}

/* common [q,q] <- the correlations of thresholds, averaged over segments. */
static void pool_spreads(const job *b) {
  const size_t q = (size_t)b->rows->planes;
  memset(b->common, 0, q * q * sizeof *b->common);
  for (size_t s = 0; s < (size_t)b->out->u; s++)
    for (size_t c = 0; c < q; c++)
      for (size_t a = 0; a < q; a++) {
        const double *spread = b->spread + q * q * s;
        b->common[a + q * c] += b->out->share[s] * spread[a + q * c] / sqrt(spread[a * (q + 1)] * spread[c * (q + 1)]);
      }
}

/* working [q,q] <- the covariance by which thresholds of segment s are weighed: its variances with the common
 * correlations. Rare levels have next to no weight. */
static void work_with(const job *b, size_t s, double *working) {
  const size_t q = (size_t)b->rows->planes;
  const double *spread = b->spread + q * q * s;
  for (size_t c = 0; c < q; c++) {
    const double ones = b->counts->ones[c + q * s], zeros = b->counts->present[c + q * s] - ones;
    for (size_t a = 0; a < q; a++)
      working[a + q * c] = b->common[a + q * c] * sqrt(spread[a * (q + 1)] * spread[c * (q + 1)]);
    if (fmin(ones, zeros) < FEW) working[c * (q + 1)] *= 1e6;
  }
}

/* Describes segment s: residual [q] holds the thresholds less those of the model, then what the correlations say of log
 * v; the workspace holds their slopes by cuts and mixing matrix, means and log v. */
static void describe_thresholds(const job *b, int s, const workspace *w, double *residual) {
  const blica_model *model = b->model;
  const bl_own_knowledge *known = &b->loadings->known[s];
  const size_t q = b->q, m = b->out->m, k = (size_t)model->k, planes = (size_t)b->rows->planes;
  const double *v = model->variances + k * (size_t)s, *mean = model->means + k * (size_t)s, link = model->link;
  bl_model_margins(model, s, w->scale, residual);
  memset(w->slope, 0, q * (m + b->own) * sizeof *w->slope);
  for (size_t p = 0; p < planes; p++) {
    const size_t i = (size_t)b->rows->item[p];
    const double root = sqrt(w->scale[i]), t = residual[p];
    residual[p] = b->t[p + planes * (size_t)s] - t;
    w->slope[p + q * p] = -1 / root;
    for (size_t l = 0; l < k; l++) {
      const double a = model->mixing[i + l * (size_t)model->n], part = t * link * v[l] * a / w->scale[i];
      w->slope[p + q * (planes + l + k * i)] = sqrt(link) * mean[l] / root - part;
      w->slope[p + q * (m + l)] = sqrt(link) * a / root;
      w->slope[p + q * (m + k + l)] = -0.5 * part * a;
    }
  }
  for (size_t l = 0; l < k; l++) {
    residual[planes + l] = known->difference[l];
    w->slope[planes + l + q * (m + k + l)] = 1;
    for (size_t c = planes; c < m; c++) w->slope[planes + l + q * c] = known->slope[l + k * (c - planes)];
  }
}

/* weight <- W slope; false when items agree in all rows. */
static bool weigh_thresholds(const job *b, int s, const workspace *w) {
  const size_t q = b->q, k = (size_t)b->model->k, planes = q - k, all = b->out->m + b->own;
  const int ip = (int)planes, ik = (int)k, iall = (int)all;
  work_with(b, (size_t)s, w->working);
  if (bl_dpotrf('L', ip, w->working, ip) != 0) return false;
  memcpy(w->weight, w->slope, q * all * sizeof *w->weight);
  bl_dtrsm('L', 'L', 'N', 'N', ip, iall, 1, w->working, ip, w->weight, (int)q);
  bl_dtrsm('L', 'L', 'T', 'N', ip, iall, 1, w->working, ip, w->weight, (int)q);
  bl_dgemm('N', 'N', ik, iall, ik, 1, b->loadings->known[s].information, ik, w->slope + planes, (int)q, 0,
           w->weight + planes, (int)q);
  return true;
}

/* Adds what the correlations say of the mixing matrix, the last parameters. */
static void add_loadings(const job *b, int s) {
  const bl_item_scores *from = b->loadings, *to = b->out;
  const size_t m = to->m, planes = (size_t)b->rows->planes, own = from->m;
  for (size_t c = 0; c < own; c++) {
    const size_t column = planes + c;
    to->score[column + m * (size_t)s] += from->score[c + own * (size_t)s];
    for (size_t a = 0; a < own; a++) {
      const size_t at = planes + a + m * column + m * m * (size_t)s, source = a + own * c + own * own * (size_t)s;
      to->information[at] += from->information[source], to->variance[at] += from->variance[source];
    }
  }
}

/* Scores of the cuts in one segment. */
static void cut_task(int64_t item, int thread, void *user) {
  const job *b = user;
  const int s = (int)item, q = (int)b->q, m = (int)b->out->m, k = b->model->k, planes = q - k;
  const workspace *w = &b->workspace[thread];
  double *score = b->out->score + (size_t)m * s, *variance = b->out->variance + (size_t)m * m * s, *half = w->slope;
  describe_thresholds(b, s, w, w->total);
  if (!weigh_thresholds(b, s, w)) return;
  project(b, s, w);
  bl_dgemv('T', q, m, 1, w->weight, q, w->total, 1, 0, score, 1);
  bl_dgemm('N', 'N', planes, m, planes, 1, b->spread + (size_t)planes * planes * s, planes, w->weight, q, 0, half, q);
  bl_dgemm('N', 'N', k, m, k, 1, b->loadings->known[s].variance, k, w->weight + planes, q, 0, half + planes, q);
  bl_dgemm('T', 'N', m, m, q, 1, w->weight, q, half, q, 0, variance, m);
  add_loadings(b, s);
}

/* ---- both ---- */

static blica_status make_workspace(const job *b, workspace *w) {
  const size_t m = b->out->m, all = m + b->own;
  blica_ctx *ctx = b->ctx;
  MUST(bl_influence_make(ctx, b->model->n, b->rows->coding, b->cuts ? BL_MARGINS : BL_SCALES, &w->influence));
  void *owner = w->influence;
  if (!b->cuts) {
    MUST(bl_units_make(ctx, owner, w->influence, b->rows, &w->units));
    MUST(bl_score_sums_make(ctx, owner, all, &w->sums));
    MUST(bl_alloc_for(ctx, owner, bl_mul(all, BL_BATCH), &w->score));
  }
  MUST(bl_alloc_for(ctx, owner, bl_mul(b->q, all), &w->slope));
  MUST(bl_alloc_for(ctx, owner, bl_mul(b->q, all), &w->weight));
  MUST(bl_alloc_for(ctx, owner, bl_mul(all, all), &w->full));
  MUST(bl_alloc_for(ctx, owner, w->influence->pairs, &w->rho));
  MUST(bl_alloc_for(ctx, owner, (size_t)b->model->n, &w->scale));
  MUST(bl_alloc_for(ctx, owner, bl_mul(b->own, m), &w->side));
  MUST(bl_alloc_for(ctx, owner, all, &w->sum));
  if (b->cuts) MUST(bl_alloc_for(ctx, owner, bl_mul(b->q, b->q), &w->working));
  return bl_alloc_for(ctx, owner, b->q, &w->total);
}

static blica_status make_scores(job *b, size_t m) {
  blica_ctx *ctx = b->ctx;
  const size_t u = (size_t)b->model->u, n = (size_t)b->model->n;
  double rows = 0;
  MUST(bl_alloc(ctx, 1, &b->out));
  *b->out = (bl_item_scores){.n = b->model->n, .u = b->model->u, .m = m};
  MUST(bl_alloc_for(ctx, b->out, n + 1, &b->out->place));
  MUST(bl_alloc_for(ctx, b->out, u, &b->out->share));
  MUST(bl_alloc_for(ctx, b->out, bl_mul(m, u), &b->out->score));
  MUST(bl_alloc_for(ctx, b->out, bl_mul(bl_mul(m, m), u), &b->out->information));
  MUST(bl_alloc_for(ctx, b->out, bl_mul(bl_mul(m, m), u), &b->out->variance));
  for (size_t i = 0; i <= n; i++)
    b->out->place[i] = b->cuts ? (size_t)bl_plane(b->rows->coding, (int)i) : i * (size_t)b->model->k;
  for (size_t s = 0; s < u; s++) rows += b->counts->samples[s];
  for (size_t s = 0; s < u; s++) b->out->share[s] = b->counts->samples[s] / rows;
  return BLICA_OK;
}

/* Memory for what the correlations say of log v. */
static blica_status make_known(const job *b) {
  const size_t k = (size_t)b->model->k, u = (size_t)b->model->u;
  MUST(bl_alloc_for(b->ctx, b->out, u, &b->out->known));
  for (size_t s = 0; s < u; s++) {
    bl_own_knowledge *o = &b->out->known[s];
    MUST(bl_alloc_for(b->ctx, b->out, k + 2 * k * k + k * b->out->m, &o->difference));
    o->variance = o->difference + k, o->information = o->variance + k * k, o->slope = o->information + k * k;
  }
  return BLICA_OK;
}

/* Allocates, and computes the scores of all segments; b->out belongs to the caller on failure, too. */
static blica_status fill_scores(job *b, size_t m) {
  blica_ctx *ctx = b->ctx;
  const int u = b->model->u;
  MUST(make_scores(b, m));
  if (!b->cuts) MUST(make_known(b));
  MUST(bl_alloc_for(ctx, b->out, bl_mul((size_t)b->rows->planes, (size_t)u), &b->t));
  bl_table_thresholds(b->counts, b->t);
  MUST(bl_alloc(ctx, (size_t)bl_max_threads(ctx), &b->workspace));
  for (int i = 0; i < bl_max_threads(ctx); i++) MUST(make_workspace(b, &b->workspace[i]));
  if (!b->cuts) {
    bl_parallel(ctx, u, loading_task, b);
    return pool_variances(b);
  }
  const size_t q = (size_t)b->rows->planes;
  MUST(bl_alloc_for(ctx, b->out, bl_mul(bl_mul(q, q), (size_t)u), &b->spread));
  MUST(bl_alloc_for(ctx, b->out, bl_mul(q, q), &b->common));
  MUST(bl_threshold_covariance(ctx, b->rows, b->counts, b->t, b->spread));
  raise_spreads(b);
  pool_spreads(b);
  bl_parallel(ctx, u, cut_task, b);
  return BLICA_OK;
}

/* Computes the scores with BLAS on one thread for each task, and frees the workspaces. */
static blica_status make_item_scores(job *b, size_t m, bl_item_scores **out) {
  bl_blas_hold();
  const blica_status status = fill_scores(b, m);
  bl_blas_release();
  for (int i = 0; b->workspace && i < bl_max_threads(b->ctx); i++) bl_free(b->workspace[i].influence);
  bl_free(b->workspace);
  if (status == BLICA_OK)
    *out = b->out;
  else
    bl_item_scores_free(b->out);
  return status;
}

blica_status bl_cut_scores(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                           const bl_item_scores *loadings, bl_item_scores **out) {
  job b = {.ctx = ctx, .model = model, .rows = rows, .counts = counts, .cuts = true, .loadings = loadings};
  *out = NULL;
  if (rows->planes <= model->k) return BLICA_OK;
  b.q = (size_t)(rows->planes + model->k), b.own = 2 * (size_t)model->k;
  return make_item_scores(&b, (size_t)rows->planes + loadings->m, out);
}

blica_status bl_loading_scores(blica_ctx *ctx, const blica_model *model, const bl_rows *rows,
                               const blica_counts *counts, bl_item_scores **out) {
  job b = {.ctx = ctx, .model = model, .rows = rows, .counts = counts};
  const size_t n = (size_t)model->n;
  *out = NULL;
  b.q = n * (n - 1) / 2 + (bl_coding_ordinal(rows->coding) ? n : 0), b.own = (size_t)model->k;
  return make_item_scores(&b, n * (size_t)model->k, out);
}
