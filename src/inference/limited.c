/* limited.c - M2: do the margins and pairs fit?
 *
 * With e_s the differences between observed and fitted shares of ones and of pairs of ones in segment s, Xi_s/N_s their
 * covariance under the model and Delta their slopes in all parameters, M2 = min over d of
 * sum_s N_s (e_s - Delta_s d)' Xi_s^-1 (e_s - Delta_s d), chi-square with as many degrees of freedom as there are
 * moments less the rank of Delta (Maydeu-Olivares and Joe, JASA 100, 2005; Psychometrika 71, 2006). It holds for every
 * consistent estimator, because the projection takes out what depends on it. The thresholds of every segment are
 * parameters here, as in all pair-based methods, so that margins fit exactly and what is tested are the pairs.
 * Xi needs the probabilities of three and four ones, by Plackett's reduction (num/plackett.h, 24 nodes).
 * RMSEA2 = sqrt(u max(0, M2 - df) / (df N)): with u > 1 as Steiger (1998) has it for several groups.
 * Checked against a computation over all 32 patterns of LSAT7 (tests/identity/test_inference.c). */
#include "inference/limited.h"

#include <math.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "inference/implied.h"
#include "num/chi2.h"
#include "num/gauss.h"
#include "num/normal.h"
#include "num/plackett.h"

enum { LANES = 8, QUADS_MOST = 2000000, MOMENTS_MOST = 1300, PARAMETERS_MOST = 3000 };
static const double ZERO = 1e-10; /* relative eigenvalues below it are zero */

static double choose(int n, int k) {
  double value = 1;
  for (int i = 0; i < k; i++) value *= (double)(n - i) / (i + 1);
  return value;
}

/* Sets of 1 to 4 columns of different items, sets[1] to sets[4]. */
static void count_sets(const blica_coding *coding, int n, double sets[5]) {
  for (int m = 0; m <= 4; m++) sets[m] = m == 0;
  for (int i = 0; i < n; i++)
    for (int m = 4; m >= 1; m--) sets[m] += sets[m - 1] * (bl_levels(coding, i) - 1);
}

bool bl_limited_possible(const blica_coding *coding, int n, int k, int u) {
  double sets[5];
  count_sets(coding, n, sets);
  return u * sets[4] <= QUADS_MOST && sets[1] + sets[2] <= MOMENTS_MOST && choose(bl_plane(coding, n), 4) <= 1e8 &&
         (double)k * (n + u) <= PARAMETERS_MOST;
}

/* One segment's room. Columns are those of the counts: of an ordinal item one for each level but the lowest. */
typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_rows *rows;
  const blica_counts *counts;
  int n, k, columns;
  size_t pairs, q, m; /* pairs of items; q moments, m = nk + k parameters beside the thresholds */
  int *member;        /* [2,q] columns of a moment; of a margin twice the same */
  size_t *moment_at;  /* [columns,columns] the moment of two columns of different items, the lower first */
  bool *used;         /* [columns] */
  double *t, *p, *scale, *rho;
  bl_implied_table *table; /* [q] of pairs */
  double *three, *four;    /* probabilities of three and four ones */
  double *xi;              /* [q,q] */
  double *z;               /* [q, columns + m + 1] slopes in thresholds and parameters, residuals */
  double *slope;           /* [pairs,m] */
  bl_plackett_rule rule;
  double *h, *r, *moment, *work;
} room;

static size_t triple(int a, int b, int c) { /* a < b < c */
  return (size_t)c * (c - 1) * (c - 2) / 6 + (size_t)b * (b - 1) / 2 + (size_t)a;
}
static size_t quad(int a, int b, int c, int d) { /* a < b < c < d */
  return (size_t)d * (d - 1) * (d - 2) * (d - 3) / 24 + triple(a, b, c);
}

static void free_room(room *r) {
  void *const blocks[] = {r->member, r->moment_at, r->used, r->t,     r->p, r->scale, r->rho,    r->table, r->three,
                          r->four,   r->xi,        r->z,    r->slope, r->h, r->r,     r->moment, r->work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) bl_free(blocks[i]);
}

/* The margins of all columns, then the pairs of columns of different items. */
static void list_moments(room *r) {
  size_t at = 0;
  for (int c = 0; c < r->columns; c++, at++) r->member[2 * at] = r->member[2 * at + 1] = c;
  for (int d = 1; d < r->columns; d++)
    for (int c = 0; c < d; c++) {
      if (r->rows->item[c] == r->rows->item[d]) continue;
      r->member[2 * at] = c, r->member[2 * at + 1] = d;
      r->moment_at[c + (size_t)r->columns * d] = at++;
    }
}

static blica_status make_room(room *r) {
  blica_status status;
  blica_ctx *ctx = r->ctx;
  const size_t n = (size_t)r->n, columns = (size_t)r->columns;
  TRY(bl_alloc(ctx, 2 * r->q, &r->member));
  TRY(bl_alloc(ctx, columns * columns, &r->moment_at));
  TRY(bl_alloc(ctx, columns, &r->used));
  TRY(bl_alloc(ctx, columns, &r->t));
  TRY(bl_alloc(ctx, columns, &r->p));
  TRY(bl_alloc(ctx, n, &r->scale));
  TRY(bl_alloc(ctx, r->pairs, &r->rho));
  TRY(bl_alloc(ctx, r->q, &r->table));
  TRY(bl_alloc(ctx, columns * columns * columns / 6 + 1, &r->three));
  TRY(bl_alloc(ctx, (size_t)choose(r->columns, 4) + 1, &r->four));
  TRY(bl_alloc(ctx, r->q * r->q, &r->xi));
  TRY(bl_alloc(ctx, r->q * (columns + r->m + 1), &r->z));
  TRY(bl_alloc(ctx, r->pairs * r->m, &r->slope));
  TRY(bl_alloc(ctx, LANES * 4, &r->h));
  TRY(bl_alloc(ctx, LANES * 6, &r->r));
  TRY(bl_alloc(ctx, LANES * 16, &r->moment));
  TRY(bl_alloc(ctx, bl_plackett_batch_work(4), &r->work));
  list_moments(r);
  r->rule.nodes = 24;
  for (int i = 0; i < 12; i++) {
    r->rule.node[i] = 0.5 * (1 - bl_gauss24_node[i]), r->rule.node[23 - i] = 0.5 * (1 + bl_gauss24_node[i]);
    r->rule.weight[i] = r->rule.weight[23 - i] = 0.5 * bl_gauss24_weight[i];
  }
done:
  return status;
}

/* Correlation of the items of two columns c < d. */
static double rho_of(const room *r, int c, int d) {
  return r->rho[blica_pair(r->rows->item[c], r->rows->item[d])];
}

/* ---- probabilities of ones ---- */

/* The mean over all subsets of the first `of` variables of the lane's sign moments: P(all of them are 1). */
static double all_ones(const double *moment, int lane, int of) {
  double sum = 0;
  for (int set = 0; set < 1 << of; set++) sum += moment[lane + LANES * set];
  return sum / (1 << of);
}

/* Runs `count` sets of m columns, set c in members + 4 c, and keeps their probabilities. */
static void run_sets(room *r, int m, int count, const int *members) {
  for (int lane = 0; lane < LANES; lane++) {
    const int *v = members + 4 * (lane < count ? lane : 0);
    for (int i = 0; i < m; i++) {
      r->h[lane + LANES * i] = r->t[v[i]];
      for (int j = 0; j < i; j++) r->r[lane + LANES * (i * (i - 1) / 2 + j)] = rho_of(r, v[j], v[i]);
    }
  }
  const bl_plackett_batch batch = {
      .m = m, .rule = &r->rule, .h = r->h, .rho = r->r, .moment = r->moment, .work = r->work};
  bl_plackett_batch_run(&batch, blica_simd_level(r->ctx));
  for (int c = 0; c < count; c++) {
    const int *v = members + 4 * c;
    if (m == 4) r->four[quad(v[0], v[1], v[2], v[3])] = all_ones(r->moment, c, 4);
    if (m == 3) r->three[triple(v[0], v[1], v[2])] = all_ones(r->moment, c, 3);
  }
}

static bool different_items(const room *r, const int *set, int m) {
  for (int i = 1; i < m; i++) /* ascending columns: equal items are neighbours */
    if (r->rows->item[set[i]] == r->rows->item[set[i - 1]]) return false;
  return true;
}

static void run_all_sets(room *r, int m) {
  int members[4 * LANES], count = 0;
  for (int d = m == 4 ? 3 : 0; d < (m == 4 ? r->columns : 1); d++)
    for (int c = 2; c < (m == 4 ? d : r->columns); c++)
      for (int b = 1; b < c; b++)
        for (int a = 0; a < b; a++) {
          const int set[4] = {a, b, c, d};
          if (!different_items(r, set, m)) continue;
          memcpy(members + 4 * count++, set, sizeof set);
          if (count < LANES) continue;
          run_sets(r, m, count, members);
          count = 0;
        }
  if (count) run_sets(r, m, count, members);
}

/* P(all columns of the list are 1). Of several columns of an item the one of the highest level says all. */
static double ones_of(const room *r, const int *list, int count) {
  int v[4], m = 0;
  for (int i = 0; i < count; i++) {
    int at = m, known = -1;
    for (int j = 0; j < m; j++)
      if (r->rows->item[v[j]] == r->rows->item[list[i]]) known = j;
    if (known >= 0) {
      if (v[known] < list[i]) v[known] = list[i];
      continue;
    }
    while (at > 0 && v[at - 1] > list[i]) v[at] = v[at - 1], at--;
    v[at] = list[i];
    m++;
  }
  if (m == 1) return r->p[v[0]];
  if (m == 2) return r->table[r->moment_at[v[0] + (size_t)r->columns * v[1]]].cell[0];
  return m == 3 ? r->three[triple(v[0], v[1], v[2])] : r->four[quad(v[0], v[1], v[2], v[3])];
}

static bool moment_used(const room *r, size_t a) {
  return r->used[r->member[2 * a]] && r->used[r->member[2 * a + 1]];
}

/* Xi / N, unit rows for moments that are not used. */
static void covariance(room *r, double rows) {
  for (size_t b = 0; b < r->q; b++)
    for (size_t a = b; a < r->q; a++) {
      const int *first = r->member + 2 * a, *second = r->member + 2 * b;
      const int list[4] = {first[0], first[1], second[0], second[1]};
      r->xi[a + r->q * b] = moment_used(r, a) && moment_used(r, b)
                                ? (ones_of(r, list, 4) - ones_of(r, first, 2) * ones_of(r, second, 2)) / rows
                                : a == b;
    }
}

/* ---- one segment ---- */

/* Shares and thresholds of segment s. A column that is constant, or equal to the one below since nobody has the level
 * between, is not used. */
static void describe_margins(room *r, int s) {
  const blica_counts *c = r->counts;
  for (int i = 0; i < r->columns; i++) {
    const double *ones = c->ones + (size_t)s * r->columns + i;
    const bool same = i > 0 && r->rows->item[i] == r->rows->item[i - 1] && ones[0] == ones[-1];
    r->p[i] = ones[0] / c->samples[s];
    r->used[i] = r->p[i] > 0 && r->p[i] < 1 && !same;
    if (!(r->p[i] > 0 && r->p[i] < 1)) r->p[i] = 0.5;
    r->t[i] = bl_phi_quantile(r->p[i]);
  }
}

/* What the model and the data say of segment s; returns the number of pairs used. */
static int64_t describe(room *r, int s) {
  const blica_model *model = r->model;
  const double *v = model->variances + (size_t)r->k * s;
  int64_t used = 0;
  describe_margins(r, s);
  bl_implied_rho(r->n, r->k, model->link, model->mixing, v, r->scale, r->rho);
  bl_implied_slope(r->n, r->k, model->link, model->mixing, v, r->scale, r->rho, r->slope);
  for (size_t a = (size_t)r->columns; a < r->q; a++) {
    const int c = r->member[2 * a], d = r->member[2 * a + 1];
    r->table[a] = bl_implied_pair(r->t[c], r->t[d], rho_of(r, c, d));
    used += moment_used(r, a);
  }
  return used;
}

/* z <- [ slopes in thresholds | slopes in A and log v | residuals ] of segment s. */
static void slopes(room *r, int s) {
  const size_t columns = (size_t)r->columns, q = r->q;
  const blica_counts *counts = r->counts;
  memset(r->z, 0, q * (columns + r->m + 1) * sizeof *r->z);
  for (size_t i = 0; i < columns; i++) r->z[i + q * i] = bl_phi_density(r->t[i]);
  for (size_t a = columns; a < q; a++) {
    const int c = r->member[2 * a], d = r->member[2 * a + 1];
    const size_t pair = (size_t)blica_pair(r->rows->item[c], r->rows->item[d]);
    if (!moment_used(r, a)) continue;
    const bl_implied_table *t = &r->table[a];
    r->z[a + q * (size_t)c] = t->first * bl_phi_density(r->t[c]);
    r->z[a + q * (size_t)d] = t->second * bl_phi_density(r->t[d]);
    for (size_t l = 0; l < r->m; l++) r->z[a + q * (columns + l)] = t->density * r->slope[pair + r->pairs * l];
    r->z[a + q * (columns + r->m)] =
        counts->n11[blica_pair(c, d) + s * counts->pairs] / counts->samples[s] - t->cell[0];
  }
}

/* Whitens z and takes the thresholds out: what is below their rows, of the parameters and the residuals, remains. */
static bool whiten(room *r) {
  const int n = r->columns, q = (int)r->q, columns = n + (int)r->m + 1;
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', q, r->xi, q) != 0) return false;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, q, columns, 1, r->xi, q, r->z, q);
  for (int j = 0; j < n; j++) { /* Householder, column by column: n is small */
    double *x = r->z + (size_t)j * r->q + j, norm = cblas_dnrm2(q - j, x, 1);
    if (!(norm > 0)) continue;
    x[0] += x[0] < 0 ? -norm : norm;
    const double factor = 2 / cblas_ddot(q - j, x, 1, x, 1);
    for (int c = j + 1; c < columns; c++) {
      double *y = r->z + (size_t)c * r->q + j;
      cblas_daxpy(q - j, -factor * cblas_ddot(q - j, x, 1, y, 1), x, 1, y, 1);
    }
  }
  return true;
}

/* ---- all segments ---- */

typedef struct {
  size_t p;
  double *h, *g; /* [p,p], [p] */
  double **kept; /* [u] whitened slopes and residuals, [pairs, m + 1] */
} total;

static size_t place_of(const room *r, int s, size_t c) {
  const size_t nk = (size_t)r->n * r->k;
  return c < nk ? c : nk + (size_t)r->k * s + (c - nk);
}

static blica_status add_segment(room *r, int s, total *all) {
  blica_status status;
  const size_t rest = r->q - (size_t)r->columns, m = r->m;
  double *product = NULL;
  TRY(bl_alloc(r->ctx, rest * (m + 1), &all->kept[s]));
  TRY(bl_alloc(r->ctx, (m + 1) * (m + 1), &product));
  for (size_t c = 0; c <= m; c++)
    memcpy(all->kept[s] + rest * c, r->z + r->q * ((size_t)r->columns + c) + r->columns, rest * sizeof(double));
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)(m + 1), (int)rest, 1, all->kept[s], (int)rest, 0, product,
              (int)(m + 1));
  for (size_t c = 0; c < m; c++) {
    for (size_t a = c; a < m; a++) all->h[place_of(r, s, a) + all->p * place_of(r, s, c)] += product[a + (m + 1) * c];
    all->g[place_of(r, s, c)] += product[m + (m + 1) * c];
  }
done:
  bl_free(product);
  return status;
}

/* d <- H^+ g; returns the rank, or -1. h is spoiled. */
static int64_t least_squares(blica_ctx *ctx, total *all, double *d) {
  const int p = (int)all->p;
  int64_t rank = 0;
  double *values = NULL, *scale = NULL;
  if (bl_alloc(ctx, all->p, &values) != BLICA_OK || bl_alloc(ctx, all->p, &scale) != BLICA_OK) goto failed;
  for (int i = 0; i < p; i++) {
    const double diagonal = all->h[(size_t)i * (all->p + 1)];
    scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
  }
  for (int j = 0; j < p; j++)
    for (int i = j; i < p; i++) all->h[i + all->p * (size_t)j] *= scale[i] * scale[j];
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', p, all->h, p, values) != 0) goto failed;
  memset(d, 0, all->p * sizeof *d);
  for (int i = 0; i < p; i++) all->g[i] *= scale[i];
  for (int c = 0; c < p; c++) {
    if (!(values[c] > ZERO * values[p - 1])) continue;
    rank++;
    cblas_daxpy(p, cblas_ddot(p, all->h + all->p * (size_t)c, 1, all->g, 1) / values[c], all->h + all->p * (size_t)c, 1,
                d, 1);
  }
  for (int i = 0; i < p; i++) d[i] *= scale[i];
  bl_free(values);
  bl_free(scale);
  return rank;
failed:
  bl_free(values);
  bl_free(scale);
  return -1;
}

/* The part of segment s: what is left of its residuals. */
static double left_over(const room *r, int s, const total *all, const double *d) {
  const size_t rest = r->q - (size_t)r->columns, m = r->m;
  double *e = all->kept[s] + rest * m;
  for (size_t c = 0; c < m; c++) cblas_daxpy((int)rest, -d[place_of(r, s, c)], all->kept[s] + rest * c, 1, e, 1);
  return cblas_ddot((int)rest, e, 1, e, 1);
}

static void finish(bl_limited *out, double rows, int u) {
  const double df = (double)out->df, per = df * rows / u;
  out->p = bl_chi2_upper(out->m2, df);
  out->rmsea2 = sqrt(fmax(0, out->m2 - df) / per);
  out->rmsea2_low = sqrt(bl_chi2_noncentrality(out->m2, df, 0.95) / per);
  out->rmsea2_high = sqrt(bl_chi2_noncentrality(out->m2, df, 0.05) / per);
}

/* All segments at the model of the room into `all`; returns the number of pairs used and all rows. */
static blica_status collect(room *r, total *all, int64_t *moments, double *rows) {
  blica_status status = BLICA_OK;
  const int u = r->model->u;
  memset(all->h, 0, all->p * all->p * sizeof(double));
  memset(all->g, 0, all->p * sizeof(double));
  *moments = 0, *rows = 0;
  for (int s = 0; s < u; s++) {
    if (bl_poll(r->ctx, &(blica_progress){.stage = "fit statistics", .fraction = (double)s / u, .objective = NAN}))
      FAIL(r->ctx, BLICA_ERR_INTERRUPTED, "interrupted while M2 was computed");
    *moments += describe(r, s);
    run_all_sets(r, 3);
    if (r->n > 3) run_all_sets(r, 4);
    covariance(r, r->counts->samples[s]);
    slopes(r, s);
    if (!whiten(r))
      FAIL(r->ctx, BLICA_ERR_NUMERIC, "segment '%s': the covariance of its pairs is singular", r->model->segments[s]);
    bl_free(all->kept[s]);
    all->kept[s] = NULL;
    TRY(add_segment(r, s, all));
    *rows += r->counts->samples[s];
  }
done:
  return status;
}

blica_status bl_limited_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                             bl_limited *out, double *segment) {
  blica_status status;
  const int n = model->n, k = model->k, u = model->u;
  const size_t nk = (size_t)n * k;
  room r = {.ctx = ctx, .model = model, .rows = rows, .counts = counts, .n = n, .k = k, .columns = rows->planes};
  total all = {.p = nk + (size_t)u * k};
  double *d = NULL, total_rows = 0, sets[5];
  int64_t moments = 0;
  *out = (bl_limited){NAN, 0, NAN, NAN, NAN, NAN};
  count_sets(rows->coding, n, sets);
  r.pairs = (size_t)n * (n - 1) / 2, r.q = (size_t)(sets[1] + sets[2]), r.m = nk + (size_t)k;
  bl_blas_hold();
  TRY(make_room(&r));
  TRY(bl_alloc(ctx, all.p * all.p, &all.h));
  TRY(bl_alloc(ctx, all.p, &all.g));
  TRY(bl_alloc(ctx, all.p, &d));
  TRY(bl_alloc(ctx, (size_t)u, &all.kept));
  TRY(collect(&r, &all, &moments, &total_rows));
  const int64_t rank = least_squares(ctx, &all, d);
  if (rank < 0) FAIL(ctx, BLICA_ERR_NUMERIC, "the parameters' information in M2 could not be decomposed");
  out->df = moments - rank;
  out->m2 = 0;
  for (int s = 0; s < u; s++) out->m2 += segment[s] = left_over(&r, s, &all, d);
  if (out->df > 0)
    finish(out, total_rows, u);
  else
    out->m2 = NAN;
done:
  bl_blas_release();
  for (int s = 0; all.kept && s < u; s++) bl_free(all.kept[s]);
  bl_free(all.kept);
  bl_free(all.h);
  bl_free(all.g);
  bl_free(d);
  free_room(&r);
  return status;
}
