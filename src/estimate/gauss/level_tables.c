/* level_tables.c - the likelihood of the tables of all pairs of items with levels, means and cuts included.
 *
 * Item i is at least its level a where a normal variable is below t_ia = (m_i - tau_ia)/sigma_i, with M = I + c A V A',
 * sigma_i^2 = M_ii, m = sqrt(c) A mu. With F(a,b) = Phi2(t_ia, t_jb; rho_ij), F(0,b) = Phi(t_jb), a cell of the table
 * of items i and j has the probability P_ab = F(a,b) - F(a+1,b) - F(a,b+1) + F(a+1,b+1). The derivative by F is a
 * difference of n/P; dPhi2/drho is the density (Plackett 1954), dPhi2/dt = phi(t_a) Phi((t_b - rho t_a)/sqrt(1 -
 * rho^2)); the rest is the chain rule. This is lavaan's pairwise likelihood of ordered items in several groups
 * (Katsikatsou and others 2012, Computational Statistics & Data Analysis 56, 4243-4258) with equal loadings and
 * thresholds and residual variances of 1.
 * Segments are computed by any thread into their own slots and added in order. Accuracy: that of Phi2
 * (num/normal/tables.h, or num/normal/bvn.c beyond its range), cells below SMALLEST being rounding. Checked: gradient
 * against central differences (tests/identity/test_level_tables.c), estimates against lavaan (tests/parity/pml.sh). */
#include "estimate/estimate.h"
#include "estimate/gauss/gauss.h"

#include <math.h>
#include <string.h>

#include "counts/counts.h"
#include "data/coding.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"
#include "num/normal/tables.h"

#define SMALLEST 1e-18
#define RHO_MAX (1 - 1e-12)

struct bl_level_tables {
  blica_ctx *ctx;
  blica_simd level;
  int n, k, u, planes, most; /* most levels of an item */
  double link, weight, precision_mixing, precision_variance;
  const blica_coding *coding;
  size_t cells;  /* of a segment */
  size_t *first; /* [pairs] first cell of each pair */
  double *cell;  /* [cells,u] rows, the first item's level slowest */
  size_t slot;   /* doubles of a segment's result: value, A, log v, means, cuts */
  double *slots; /* [slot,u] */
  size_t work_size;
  double *work; /* per thread */
  const double *theta;
};

size_t bl_level_tables_size(const bl_level_tables *t) {
  return (size_t)t->n * (size_t)t->k + 2 * (size_t)t->k * (size_t)t->u + (size_t)t->planes;
}

/* Corners inside the largest table. */
static size_t inner_most(const bl_level_tables *t) {
  return (size_t)(t->most - 1) * (size_t)(t->most - 1);
}

static int cuts_of(const bl_level_tables *t, int i) {
  return bl_plane(t->coding, i + 1) - bl_plane(t->coding, i);
}

/* ---- the tables ---- */

static void fill_cells(bl_level_tables *t, const blica_counts *c, int s) {
  for (int j = 1; j < t->n; j++)
    for (int i = 0; i < j; i++)
      bl_counts_cells(c, t->coding, s, i, j, t->cell + t->cells * (size_t)s + t->first[blica_pair(i, j)]);
}

blica_status bl_level_tables_make(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, double weight,
                                  double precision_mixing, double precision_variance, bl_level_tables **out) {
  blica_status status;
  BL_OWNED bl_level_tables *t = NULL;
  const size_t n = (size_t)model->n, k = (size_t)model->k, u = (size_t)model->u;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &t));
  t->ctx = ctx, t->level = blica_simd_level(ctx), t->n = model->n, t->k = model->k, t->u = model->u,
  t->planes = model->planes, t->link = model->link;
  t->weight = weight, t->precision_mixing = precision_mixing, t->precision_variance = precision_variance;
  t->coding = model->coding;
  TRY(bl_alloc_for(ctx, t, n * (n - 1) / 2, &t->first));
  for (int j = 0; j < t->n; j++) {
    if (cuts_of(t, j) + 1 > t->most) t->most = cuts_of(t, j) + 1;
    for (int i = 0; i < j; i++) {
      t->first[blica_pair(i, j)] = t->cells;
      t->cells += (size_t)(cuts_of(t, i) + 1) * (size_t)(cuts_of(t, j) + 1);
    }
  }
  TRY(bl_alloc_for(ctx, t, bl_mul(t->cells, u), &t->cell));
  for (int s = 0; s < t->u; s++) fill_cells(t, counts, s);
  t->slot = 1 + n * k + 2 * k + (size_t)t->planes;
  TRY(bl_alloc_for(ctx, t, bl_mul(t->slot, u), &t->slots));
  const size_t corners = (size_t)(t->most + 1) * (size_t)(t->most + 1);
  t->work_size =
      2 * n * n + 2 * n * k + 4 * n + 4 * (size_t)t->planes + k + 4 * corners + bl_corners_size(inner_most(t));
  TRY(bl_alloc_for(ctx, t, bl_mul(t->work_size, (size_t)bl_max_threads(ctx)), &t->work));
  *out = bl_take(&t);
done:
  return status;
}

/* ---- one segment ---- */

typedef struct {
  double *m, *g;                                  /* [n,n] M, and the derivative by it */
  double *scaled, *by_m;                          /* [n,k] A diag(c v); the derivative by A through M */
  double *sd, *location, *by_sd;                  /* [n]; by log sigma */
  double *by_location;                            /* [n] */
  double *t, *below, *density, *by_t;             /* [planes]; below is Phi(t) */
  double *b;                                      /* [k] c v */
  double *corner, *slope_i, *slope_j, *slope_rho; /* of one pair: F and its derivatives */
  bl_corners inner;                               /* those inside the table */
} segment_workspace;

/* Divides the memory of a thread among the arrays. */
static segment_workspace place_workspace(const bl_level_tables *t, int thread) {
  const size_t n = (size_t)t->n, k = (size_t)t->k, corners = (size_t)(t->most + 1) * (size_t)(t->most + 1);
  segment_workspace r = {.m = t->work + t->work_size * (size_t)thread};
  r.g = r.m + n * n, r.scaled = r.g + n * n, r.by_m = r.scaled + n * k, r.sd = r.by_m + n * k, r.location = r.sd + n;
  r.by_sd = r.location + n, r.by_location = r.by_sd + n, r.t = r.by_location + n, r.below = r.t + t->planes,
  r.density = r.below + t->planes;
  r.by_t = r.density + t->planes, r.b = r.by_t + t->planes, r.corner = r.b + k, r.slope_i = r.corner + corners;
  r.slope_j = r.slope_i + corners, r.slope_rho = r.slope_j + corners;
  bl_corners_place(&r.inner, inner_most(t), r.slope_rho + corners);
  return r;
}

/* The cuts themselves from the first and the logs of the distances; density is free for them. */
static void place_thresholds(const bl_level_tables *t, int s, segment_workspace *r) {
  const int n = t->n, k = t->k;
  const double *a = t->theta, *log_v = a + (size_t)n * k + (size_t)k * s, *mean = log_v + (size_t)k * t->u,
               *cuts = a + (size_t)n * k + 2 * (size_t)k * t->u;
  memset(r->location, 0, (size_t)n * sizeof(double));
  for (int j = 0; j < k; j++) {
    r->b[j] = t->link * exp(log_v[j]);
    for (int i = 0; i < n; i++) {
      r->scaled[i + (size_t)j * n] = a[i + (size_t)j * n] * r->b[j];
      r->location[i] += sqrt(t->link) * a[i + (size_t)j * n] * mean[j];
    }
  }
  bl_dgemm('N', 'T', n, n, k, 1, r->scaled, n, a, n, 0, r->m, n);
  for (int i = 0; i < n; i++) {
    double cut = 0;
    r->sd[i] = sqrt(1 + r->m[i + (size_t)i * n]);
    for (int p = bl_plane(t->coding, i); p < bl_plane(t->coding, i + 1); p++) {
      cut = p == bl_plane(t->coding, i) ? cuts[p] : cut + exp(cuts[p]);
      r->t[p] = (r->location[i] - cut) / r->sd[i];
      r->below[p] = bl_phi_cdf(r->t[p]);
      r->density[p] = bl_phi_density(r->t[p]);
    }
  }
}

/* F and its derivatives at the corners inside the table of items whose thresholds begin at h and k: four arrays with
 * rows of `stride`. */
static void inner_corners(const bl_level_tables *t, segment_workspace *r, int h, int k, int rows, int columns,
                          double rho) {
  const int stride = columns + 1, width = columns - 1;
  bl_corners *c = &r->inner;
  c->count = (rows - 1) * width;
  for (int m = 0; m < c->count; m++) c->h[m] = r->t[h + m / width], c->k[m] = r->t[k + m % width];
  const bool fast = fabs(rho) <= BL_CORNERS_MOST;
  if (fast) BL_AT(t->level, bl_corners_at)(c, rho);
  if (fast) BL_AT(t->level, bl_corners_conditional)(c, rho);
  const double root = sqrt(1 - rho * rho);
  for (int m = 0; m < c->count; m++) {
    const int at = (m / width + 1) * stride + m % width + 1;
    r->corner[at] = fast ? r->below[h + m / width] * r->below[k + m % width] + c->excess[m] / 6.283185307179586477
                         : blica_bvn(c->h[m], c->k[m], rho);
    r->slope_rho[at] = fast ? c->density[m] : bl_bvn_density(c->h[m], c->k[m], rho);
    const double below_k = fast ? c->k_given_h[m] : bl_phi_cdf((c->k[m] - rho * c->h[m]) / root);
    const double below_h = fast ? c->h_given_k[m] : bl_phi_cdf((c->h[m] - rho * c->k[m]) / root);
    r->slope_i[at] = r->density[h + m / width] * below_k;
    r->slope_j[at] = r->density[k + m % width] * below_h;
  }
}

/* The same at all corners: the first row and column are margins, behind the last lie zeros. */
static void corners_of(const bl_level_tables *t, segment_workspace *r, int i, int j, double rho) {
  const int rows = cuts_of(t, i) + 1, columns = cuts_of(t, j) + 1, stride = columns + 1, h = bl_plane(t->coding, i),
            k = bl_plane(t->coding, j);
  double *const arrays[] = {r->corner, r->slope_i, r->slope_j, r->slope_rho};
  for (int a = 0; a < 4; a++) memset(arrays[a], 0, sizeof(double) * (size_t)((rows + 1) * stride));
  r->corner[0] = 1;
  for (int a = 1; a < rows; a++)
    r->corner[a * stride] = r->below[h + a - 1], r->slope_i[a * stride] = r->density[h + a - 1];
  for (int b = 1; b < columns; b++) r->corner[b] = r->below[k + b - 1], r->slope_j[b] = r->density[k + b - 1];
  inner_corners(t, r, h, k, rows, columns, rho);
}

/* One table: its value; derivatives by thresholds are added, that by rho returned. */
static double pair_term(const bl_level_tables *t, segment_workspace *r, int i, int j, double rho, const double *cell,
                        double *by_rho) {
  const int rows = cuts_of(t, i) + 1, columns = cuts_of(t, j) + 1, stride = columns + 1;
  double *by_i = r->by_t + bl_plane(t->coding, i) - 1, *by_j = r->by_t + bl_plane(t->coding, j) - 1, value = 0;
  static const int sign[4] = {1, -1, -1, 1};
  const int corner[4] = {0, 1, stride, stride + 1};
  corners_of(t, r, i, j, rho);
  *by_rho = 0;
  for (int a = 0; a < rows; a++)
    for (int b = 0; b < columns; b++) {
      const double count = cell[a * columns + b];
      const int at = a * stride + b;
      double p = 0;
      if (!(count > 0)) continue;
      for (int c = 0; c < 4; c++) p += sign[c] * r->corner[at + corner[c]];
      value -= count * log(fmax(p, SMALLEST));
      if (!(p > SMALLEST)) continue;
      const double slope = -t->weight * count / p;
      for (int c = 0; c < 4; c++) {
        const double own = sign[c] * slope;
        *by_rho += own * r->slope_rho[at + corner[c]];
        if (a + c / 2 > 0 && a + c / 2 < rows) by_i[a + c / 2] += own * r->slope_i[at + corner[c]];
        if (b + c % 2 > 0 && b + c % 2 < columns) by_j[b + c % 2] += own * r->slope_j[at + corner[c]];
      }
    }
  return t->weight * value;
}

/* Turns derivatives by M, sigma and t into those by A, log v, the means and the cuts of the segment. */
static void chain(const bl_level_tables *t, int s, segment_workspace *r, double *out) {
  const int n = t->n, k = t->k;
  const double *a = t->theta, *mean = a + (size_t)n * k + (size_t)k * t->u + (size_t)k * s,
               *cuts = a + (size_t)n * k + 2 * (size_t)k * t->u;
  double *by_v = out + (size_t)n * k, *by_mean = by_v + k, *by_cut = by_mean + k;
  for (int i = 0; i < n; i++) {
    r->by_location[i] = 0;
    for (int p = bl_plane(t->coding, i + 1) - 1; p >= bl_plane(t->coding, i); p--) {
      const double own = r->by_t[p] / r->sd[i];
      r->by_location[i] += own;
      r->by_sd[i] -= r->by_t[p] * r->t[p];
      by_cut[p] = -own;
    }
    r->g[i + (size_t)i * n] = 0.5 * r->by_sd[i] / (r->sd[i] * r->sd[i]);
  }
  bl_cuts_chain(t->coding, n, cuts, by_cut);
  bl_dgemm('N', 'N', n, k, n, 2, r->g, n, r->scaled, n, 0, r->by_m, n);
  for (int j = 0; j < k; j++) {
    const size_t at = (size_t)j * n;
    by_v[j] = 0.5 * bl_ddot(n, r->by_m + at, 1, a + at, 1);
    by_mean[j] = sqrt(t->link) * bl_ddot(n, r->by_location, 1, a + at, 1);
    for (int i = 0; i < n; i++) out[at + i] = r->by_m[at + i] + sqrt(t->link) * mean[j] * r->by_location[i];
  }
}

/* Value and gradient of one segment, into its slot. */
static void segment_task(int64_t item, int thread, void *user) {
  bl_level_tables *t = user;
  const int s = (int)item, n = t->n;
  segment_workspace r = place_workspace(t, thread);
  double *out = t->slots + t->slot * (size_t)s;
  place_thresholds(t, s, &r);
  memset(r.by_t, 0, (size_t)t->planes * sizeof(double));
  memset(r.by_sd, 0, (size_t)n * sizeof(double));
  *out = 0;
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      const double whole = r.m[i + (size_t)j * n] / (r.sd[i] * r.sd[j]), rho = fmin(fmax(whole, -RHO_MAX), RHO_MAX);
      double slope;
      *out += pair_term(t, &r, i, j, rho, t->cell + t->cells * (size_t)s + t->first[blica_pair(i, j)], &slope);
      if (rho != whole) slope = 0;
      r.g[i + (size_t)j * n] = r.g[j + (size_t)i * n] = 0.5 * slope / (r.sd[i] * r.sd[j]);
      r.by_sd[i] -= slope * rho;
      r.by_sd[j] -= slope * rho;
    }
  chain(t, s, &r, out + 1);
}

double bl_level_tables_eval(bl_level_tables *t, const double *theta, double *gradient) {
  const size_t nk = (size_t)t->n * (size_t)t->k, k = (size_t)t->k, u = (size_t)t->u, planes = (size_t)t->planes;
  double value = 0;
  t->theta = theta;
  bl_parallel(t->ctx, t->u, segment_task, t);
  memset(gradient, 0, bl_level_tables_size(t) * sizeof *gradient);
  for (size_t s = 0; s < u; s++) {
    const double *slot = t->slots + t->slot * s, *by_v = slot + 1 + nk;
    value += *slot;
    for (size_t i = 0; i < nk; i++) gradient[i] += slot[1 + i];
    memcpy(gradient + nk + k * s, by_v, k * sizeof *gradient);
    memcpy(gradient + nk + k * u + k * s, by_v + k, k * sizeof *gradient);
    for (size_t p = 0; p < planes; p++) gradient[nk + 2 * k * u + p] += by_v[2 * k + p];
  }
  for (size_t i = 0; i < nk + k * u; i++) {
    const double precision = i < nk ? t->precision_mixing : t->precision_variance;
    value += 0.5 * precision * theta[i] * theta[i];
    gradient[i] += precision * theta[i];
  }
  return value;
}

/* ---- theta and the model ---- */

void bl_level_tables_take(const blica_model *m, double *theta) {
  const size_t nk = (size_t)m->n * (size_t)m->k, uk = (size_t)m->k * (size_t)m->u;
  memcpy(theta, m->mixing, nk * sizeof *theta);
  for (size_t i = 0; i < uk; i++) theta[nk + i] = log(m->variances[i]);
  memcpy(theta + nk + uk, m->means, uk * sizeof *theta);
  bl_cuts_set(m->coding, m->n, m->cuts, theta + nk + 2 * uk);
}

void bl_level_tables_give(const double *theta, blica_model *m) {
  const size_t nk = (size_t)m->n * (size_t)m->k, uk = (size_t)m->k * (size_t)m->u;
  memcpy(m->mixing, theta, nk * sizeof *theta);
  for (size_t i = 0; i < uk; i++) m->variances[i] = exp(theta[nk + i]);
  memcpy(m->means, theta + nk + uk, uk * sizeof *theta);
  bl_cuts_of(m->coding, m->n, theta + nk + 2 * uk, m->cuts);
}
