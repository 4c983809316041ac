/* precondition_rows.c - an approximate inverse Hessian for few sources of many items.
 *
 * If the sources were seen, the rows of A would be independent regressions: D_i, [k,k], Fisher's information about row
 * i with all others fixed, inverts most of the Hessian. It misses that the items know the covariances of the sources
 * only as well as N_s samples do, however many items there are: in the directions A E, E [k,k], and in those of log v
 * the information G is far less. There it is inverted on its own, and what D says of A E is left out (docs/method.md,
 * 31): H0 = 0.9 [ D^-1 - Z (Z'DZ)^-1 Z' + Z G^-1 Z' ] with D = diag(D_i) and Z (E, delta) = (A E, delta). In segment s
 * the change of the sources' covariance is F_ab = E_ab r + E_ba / r, r = (v_b / v_a)^1/2, off the diagonal and 2 E_aa +
 * delta_as on it; of the information about F (sources_information.c) G keeps that about the diagonal and that about
 * each F_ab alone, which leaves 2 x 2 systems for (E_ab, E_ba) and one of k for the diagonal, delta being eliminated.
 * Where H is Fisher's information, H0 H has eigenvalues within a factor of 2 to 3 for n = 16 to 120 and k <= n/4
 * (simulated models): scoring takes a dozen iterations. Checked in tests/unit/estimate/test_information.c. */
#include "estimate/gauss/information.h"
#include "num/linear/blas.h"

#include <math.h>
#include <string.h>

static const double SCALE = 0.9; /* brings the eigenvalues of H0 H near 1, so that most first trials pass */
static const double LIFT = 1e-9, LIFT_SCALES = 1e-6; /* relative: factors stay positive definite without priors too */
/* Relative to the information about F_ab without normalisation of rows: the least that is kept, and what is taken when
 * sources are many. */
static const double LEAST = 0.05, MANY = 0.7;
enum {
  CHUNK = 16,      /* rows of A to a task */
  FEW = 24,        /* sources; beyond, parts of it that cost k^4 are replaced by approximations that cost k^3 */
  SIZE_LEAST = 200 /* n k up to this are solved before it pays */
};

typedef struct {
  blica_ctx *ctx;
  const bl_criterion *criterion;
  bool few; /* sources */
  const double *theta;
  double *mixing;   /* [n,k] A where it was set */
  double *rows;     /* [k,k,n] factors of D_i */
  double *root, *w; /* [k,u], [k,k,u] */
  double *among;    /* [k,k,u] information about the diagonal of F */
  double *inverse;  /* [k,k,u] of that with the prior of log v */
  double *pairs;    /* [k,k,u] information about F_ab, a < b */
  double *cross;    /* [3,k,k] 2 x 2 systems of (E_ab, E_ba), a < b */
  double *diagonal; /* [k,k] factor of the system of E_aa */
  double *change;   /* [k,k] E */
  double *span; /* [k^2,k^2] factor of Z' diag(D_i) Z, and room for as much; of many sources, those of its two sides */
  double *inside; /* [k^2] */
  double *work;   /* per thread */
  size_t work_size;
} by_rows;

bool bl_precondition_rows_fits(const bl_layout *p) {
  return 4 * p->k <= p->n && p->n * p->k > SIZE_LEAST;
}

/* The lower triangle of a matrix [k,k] <- its factor, precision being added to its diagonal; of the diagonal alone
 * where the whole is not positive definite. */
static void factor(int k, double precision, double *matrix, double *diagonal /* [k] */) {
  double most = 0;
  for (int i = 0; i < k; i++) most = fmax(most, diagonal[i] = matrix[(size_t)i * (size_t)(k + 1)] + precision);
  if (!(most > 0)) most = 1;
  for (int i = 0; i < k; i++) matrix[(size_t)i * (size_t)(k + 1)] = diagonal[i] + LIFT * most;
  if (bl_dpotrf('L', k, matrix, k) == 0) return;
  memset(matrix, 0, (size_t)k * (size_t)k * sizeof *matrix);
  for (int i = 0; i < k; i++) matrix[(size_t)i * (size_t)(k + 1)] = sqrt(fmax(diagonal[i], LEAST * most));
}

/* Computes the information of segment s about the covariances of the sources. */
static void prepare_segment(int64_t s, int thread, void *user) {
  by_rows *p = user;
  const bl_point at = bl_gauss_point(p->criterion->gauss, p->theta, (int)s);
  const int k = at.k;
  const size_t kk = (size_t)k * (size_t)k, own = kk * (size_t)s;
  double *w = p->w + own, *among = p->among + own, *inverse = p->inverse + own, *pairs = p->pairs + own,
         *work = p->work + p->work_size * (size_t)thread;
  if (!bl_sources_information(&at, p->root + (size_t)k * (size_t)s, w, among, p->few ? pairs : NULL, work)) {
    memset(w, 0, kk * sizeof *w); /* a point without a value; the optimiser steps back */
    memset(among, 0, kk * sizeof *among);
    memset(pairs, 0, kk * sizeof *pairs);
  }
  for (int b = 0; b < k; b++)
    for (int a = 0; a < b; a++) {
      const double least = at.weight * (1 - w[(size_t)a * (size_t)(k + 1)]) * (1 - w[(size_t)b * (size_t)(k + 1)]);
      double *known = &pairs[a + (size_t)b * (size_t)k];
      *known = p->few ? fmax(*known, LEAST * least) : MANY * least;
    }
  memcpy(inverse, among, kk * sizeof *inverse);
  factor(k, p->criterion->precision_variance, inverse, work);
  bl_dpotri('L', k, inverse, k);
  bl_mirror(k, inverse);
}

/* D += the information of one segment about row i of A: J' q J, J = d (I - B_i B_i') diag(root) what B_i answers. b, y
 * and z [k]. */
static void add_row(const bl_point *at, const double *root, const double *w, int i, double *b, double *y, double *z,
                    double *to) {
  const int k = at->k;
  const double d = bl_information_row(at, root, i, b), psi = d * d + at->noise[i];
  bl_dsymv('L', k, 1 / psi, w, k, b, 1, 0, z, 1);
  const double zb = bl_ddot(k, z, 1, b, 1), bb = 1 - d * d, l = 1 / psi - zb / psi;
  /* q = l (I - W) - 2 l (z B_i + B_i' z') + 2 l^2 B_i' B_i + z z';  y = q B_i' */
  const double along = l - 2 * l * zb + 2 * l * l * bb, across = zb - l * psi - 2 * l * bb;
  for (int j = 0; j < k; j++) y[j] = along * b[j] + across * z[j];
  const double by = bl_ddot(k, b, 1, y, 1), scale = at->weight * d * d;
  for (int q = 0; q < k; q++)
    for (int p = q; p < k; p++) {
      const double value = l * ((p == q) - w[p + (size_t)q * (size_t)k]) - 2 * l * (z[p] * b[q] + b[p] * z[q]) +
                           (2 * l * l + by) * b[p] * b[q] + z[p] * z[q] - b[p] * y[q] - y[p] * b[q];
      to[p + (size_t)q * (size_t)k] += scale * root[p] * root[q] * value;
    }
}

/* Sets the information about each row of A in a chunk, with the precision of the prior. */
static void prepare_rows(int64_t chunk, int thread, void *user) {
  by_rows *p = user;
  const int n = p->criterion->layout.n, k = p->criterion->layout.k, first = (int)chunk * CHUNK,
            last = first + CHUNK < n ? first + CHUNK : n;
  const size_t kk = (size_t)k * (size_t)k;
  double *b = p->work + p->work_size * (size_t)thread, *y = b + k, *z = y + k;
  memset(p->rows + kk * (size_t)first, 0, kk * (size_t)(last - first) * sizeof *p->rows);
  for (int s = 0; s < p->criterion->layout.u; s++) {
    const bl_point at = bl_gauss_point(p->criterion->gauss, p->theta, s);
    for (int i = first; i < last; i++)
      add_row(&at, p->root + (size_t)k * (size_t)s, p->w + kk * (size_t)s, i, b, y, z, p->rows + kk * (size_t)i);
  }
  for (int i = first; i < last; i++) {
    double *own = p->rows + kk * (size_t)i;
    for (int r = 0; r < k; r++) own[(size_t)r * (size_t)(k + 1)] += p->criterion->precision_mixing;
    bl_mirror(k, own);
  }
}

static void factor_row(int64_t i, int thread, void *user) {
  by_rows *p = user;
  const size_t k = (size_t)p->criterion->layout.k;
  factor(p->criterion->layout.k, 0, p->rows + k * k * (size_t)i, p->work + p->work_size * (size_t)thread);
}

/* The factor of Z' diag(D_i) Z = sum_i (a_i' a_i) x D_i, which has at (E_ab, E_cd) A_ia A_ic D_i,bd. */
static void couple_rows(by_rows *p) {
  const int n = p->criterion->layout.n, k = p->criterion->layout.k, kk = k * k;
  double *outer = p->work, *sum = p->span + (size_t)kk * (size_t)kk;
  memset(sum, 0, (size_t)kk * (size_t)kk * sizeof *sum);
  for (int first = 0; first < n; first += CHUNK) {
    const int rows = n - first < CHUNK ? n - first : CHUNK;
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < k; c++)
        for (int a = 0; a < k; a++)
          outer[a + k * c + kk * r] =
              p->mixing[first + r + (size_t)a * (size_t)n] * p->mixing[first + r + (size_t)c * (size_t)n];
    bl_dgemm('N', 'T', kk, kk, rows, 1, outer, kk, p->rows + (size_t)kk * (size_t)first, kk, 1, sum, kk);
  }
  for (int d = 0; d < k; d++)
    for (int c = 0; c < k; c++)
      for (int b = 0; b < k; b++)
        for (int a = 0; a < k; a++)
          p->span[a + k * b + (size_t)kk * (size_t)(c + k * d)] = sum[a + k * c + (size_t)kk * (size_t)(b + k * d)];
  factor(kk, 0, p->span, p->work);
}

/* The same of many sources: A'A x the mean of D_i in place of the sum. */
static void couple_sides(by_rows *p) {
  const int n = p->criterion->layout.n, k = p->criterion->layout.k, kk = k * k;
  double *gram = p->span, *mean = p->span + kk, total = 0;
  bl_dsyrk('L', 'T', k, n, 1, p->mixing, n, 0, gram, k);
  memset(mean, 0, (size_t)kk * sizeof *mean);
  for (int i = 0; i < n; i++) {
    const double square = bl_ddot(k, p->mixing + i, n, p->mixing + i, n);
    bl_daxpy(kk, square, p->rows + (size_t)kk * (size_t)i, 1, mean, 1);
    total += square;
  }
  if (total > 0) bl_dscal(kk, 1 / total, mean, 1);
  factor(k, 0, gram, p->work);
  factor(k, 0, mean, p->work);
}

/* x [k,k] <- (Z' diag(D_i) Z)^-1 x. */
static void solve_span(const by_rows *p, double *x) {
  const int k = p->criterion->layout.k, kk = k * k;
  if (p->few) {
    bl_dpotrs('L', kk, 1, p->span, kk, x, kk);
    return;
  }
  bl_dpotrs('L', k, k, p->span, k, x, k);
  for (int side = 0; side < 2; side++) bl_dtrsm('R', 'L', side ? 'N' : 'T', 'N', k, k, 1, p->span + kk, k, x, k);
}

/* The systems of E_ab and E_ba, summed over segments. */
static void couple_pairs(by_rows *p) {
  const bl_layout *d = &p->criterion->layout;
  const size_t n = (size_t)d->n, k = (size_t)d->k;
  for (size_t b = 0; b < k; b++)
    for (size_t a = 0; a < b; a++) {
      double *system = p->cross + 3 * (a + b * k), own = bl_ddot(d->n, p->mixing + n * a, 1, p->mixing + n * a, 1),
             other = bl_ddot(d->n, p->mixing + n * b, 1, p->mixing + n * b, 1);
      system[0] = p->criterion->precision_mixing * own, system[1] = 0,
      system[2] = p->criterion->precision_mixing * other;
      for (size_t s = 0; s < (size_t)d->u; s++) {
        const double ratio = p->root[b + k * s] / p->root[a + k * s], known = p->pairs[a + k * (b + k * s)];
        system[0] += known * ratio * ratio, system[1] += known, system[2] += known / (ratio * ratio);
      }
      system[0] *= 1 + LIFT_SCALES, system[2] *= 1 + LIFT_SCALES;
    }
}

/* The system of E_aa, delta eliminated: with V_s = Q_s + 1/sd_v^2 and Q_s the information about the diagonal of F,
 * sum_s 4 (Q_s - Q_s V_s^-1 Q_s) = sum_s 4/sd_v^2 (I - V_s^-1/sd_v^2). */
static void couple_scales(by_rows *p) {
  const bl_layout *d = &p->criterion->layout;
  const size_t n = (size_t)d->n, k = (size_t)d->k, kk = k * k;
  const double prior = p->criterion->precision_variance;
  memset(p->diagonal, 0, kk * sizeof *p->diagonal);
  for (size_t s = 0; s < (size_t)d->u; s++)
    for (size_t i = 0; i < kk; i++) p->diagonal[i] += 4 * prior * ((i % (k + 1) == 0) - prior * p->inverse[i + kk * s]);
  for (size_t a = 0; a < k; a++) {
    double *own = &p->diagonal[a * (k + 1)];
    *own += p->criterion->precision_mixing * bl_ddot(d->n, p->mixing + n * a, 1, p->mixing + n * a, 1);
    for (size_t s = 0; s < (size_t)d->u; s++) *own += 4 * LIFT_SCALES * p->among[a * (k + 1) + kk * s];
  }
  factor(d->k, 0, p->diagonal, p->work);
}

/* Builds the preconditioner at theta. */
static void set_point(void *own, const double *theta) {
  by_rows *p = own;
  const bl_layout *d = &p->criterion->layout;
  p->theta = theta;
  memcpy(p->mixing, theta, (size_t)d->n * (size_t)d->k * sizeof *theta);
  bl_parallel(p->ctx, d->u, prepare_segment, p);
  bl_parallel(p->ctx, (d->n + CHUNK - 1) / CHUNK, prepare_rows, p);
  (p->few ? couple_rows : couple_sides)(p);
  bl_parallel(p->ctx, d->n, factor_row, p);
  couple_pairs(p);
  couple_scales(p);
}

/* change <- E off the diagonal. */
static void solve_pairs(by_rows *p) {
  const size_t k = (size_t)p->criterion->layout.k;
  for (size_t b = 0; b < k; b++)
    for (size_t a = 0; a < b; a++) {
      const double *system = p->cross + 3 * (a + b * k), determinant = system[0] * system[2] - system[1] * system[1];
      double *own = &p->change[a + b * k], *other = &p->change[b + a * k], first = *own, second = *other;
      *own = determinant > 0 ? (system[2] * first - system[1] * second) / determinant : 0;
      *other = determinant > 0 ? (system[0] * second - system[1] * first) / determinant : 0;
    }
}

/* Its diagonal, and the log-variances log_v [k,u]. */
static void solve_scales(by_rows *p, double *log_v) {
  const int k = p->criterion->layout.k, u = p->criterion->layout.u;
  const size_t kk = (size_t)k * (size_t)k;
  const double prior = p->criterion->precision_variance;
  double *e = p->work, *own = e + k;
  for (int a = 0; a < k; a++) e[a] = p->change[(size_t)a * (size_t)(k + 1)];
  for (int s = 0; s < u; s++) {
    double *g = log_v + (size_t)k * (size_t)s;
    bl_dsymv('L', k, 1, p->inverse + kk * (size_t)s, k, g, 1, 0, own, 1);
    for (int a = 0; a < k; a++) e[a] -= 2 * (g[a] - prior * own[a]), g[a] = own[a];
  }
  bl_dpotrs('L', k, 1, p->diagonal, k, e, k);
  for (int s = 0; s < u; s++) {
    double *g = log_v + (size_t)k * (size_t)s;
    bl_dsymv('L', k, 2 * prior, p->inverse + kk * (size_t)s, k, e, 1, 1, g, 1);
    for (int a = 0; a < k; a++) g[a] -= 2 * e[a];
  }
  for (int a = 0; a < k; a++) p->change[(size_t)a * (size_t)(k + 1)] = e[a];
}

/* g <- SCALE H0 g. */
static void apply_rows(void *own, double *g) {
  by_rows *p = own;
  const int n = p->criterion->layout.n, k = p->criterion->layout.k;
  const size_t nk = (size_t)n * (size_t)k, kk = (size_t)k * (size_t)k;
  double *row = p->work;
  bl_dgemm('T', 'N', k, k, n, 1, p->mixing, n, g, n, 0, p->change, k);
  for (int i = 0; i < n; i++) {
    bl_dcopy(k, g + i, n, row, 1);
    bl_dpotrs('L', k, 1, p->rows + kk * (size_t)i, k, row, k);
    bl_dcopy(k, row, 1, g + i, n);
  }
  memcpy(p->inside, p->change, kk * sizeof *p->inside);
  solve_span(p, p->inside);
  solve_pairs(p);
  solve_scales(p, g + nk);
  for (size_t i = 0; i < kk; i++) p->change[i] -= p->inside[i];
  bl_dgemm('N', 'N', n, k, k, 1, p->mixing, n, p->change, k, 1, g, n);
  for (size_t i = 0; i < nk + (size_t)k * (size_t)p->criterion->layout.u; i++) g[i] *= SCALE;
}

blica_status bl_precondition_rows(blica_ctx *ctx, const bl_criterion *criterion, bl_preconditioner *out) {
  BL_OWNED by_rows *p = NULL;
  const bl_layout *l = &criterion->layout;
  const size_t n = (size_t)l->n, k = (size_t)l->k, u = (size_t)l->u, kk = k * k;
  MUST(bl_alloc(ctx, 1, &p));
  p->ctx = ctx, p->criterion = criterion;
  p->few = l->k <= FEW;
  p->work_size = (bl_sources_information_work(l->k, p->few) + 7) / 8 * 8;
  MUST(bl_alloc_for(ctx, p, bl_mul(p->work_size, (size_t)bl_max_threads(ctx)), &p->work));
  MUST(bl_alloc_for(ctx, p, bl_mul(kk, n), &p->rows));
  MUST(bl_alloc_for(ctx, p, n * k, &p->mixing));
  MUST(bl_alloc_for(ctx, p, k * u, &p->root));
  MUST(bl_alloc_for(ctx, p, 3 * kk, &p->cross));
  MUST(bl_alloc_for(ctx, p, bl_mul(2 * kk, p->few ? kk : 1), &p->span));
  double **each[] = {&p->w, &p->among, &p->inverse, &p->pairs}, **once[] = {&p->diagonal, &p->change, &p->inside};
  for (int i = 0; i < 4; i++) MUST(bl_alloc_for(ctx, p, bl_mul(kk, u), each[i]));
  for (int i = 0; i < 3; i++) MUST(bl_alloc_for(ctx, p, kk, once[i]));
  *out =
      (bl_preconditioner){.own = bl_take(&p), .close = bl_free, .set = set_point, .apply = apply_rows, .scores = true};
  return BLICA_OK;
}
