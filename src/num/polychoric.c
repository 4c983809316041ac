/* polychoric.c - polychoric correlation of one table, thresholds fixed by its margins (Olsson 1979, Psychometrika 44,
 * 443-460: the two-step estimate).
 *
 * P_ab(rho) is the probability of a rectangle, four values of Phi2; its derivative P'_ab the same combination of
 * densities (Plackett 1954). The score sum_ab s_ab P'_ab / P_ab has one root where it falls; Newton's method with the
 * exact second derivative, inside a bracket, from the correlation of normal scores divided by their variances, which
 * is right to first order in rho. A step below 1e-7 is the last. Phi2 of all corners comes from num/corners_kernel.c up
 * to |rho| = 0.9249 and thresholds of 30, else from num/bvn.c. Where the likelihood grows up to |rho| = 1 the bound
 * BL_POLYCHORIC_BOUND is the answer.
 *
 * Variance by the delta method, the thresholds' own errors included: with s = P'/P the score of a cell, I = sum P s^2,
 *   N var(rho) = Var(w) / I^2,   w_ab = s_ab - sum_m c_m z_m(a) - sum_m d_m z_m(b),
 *   z_m(a) = (1[a <= m] - Phi(h_m)) / phi(h_m),   c_m = sum_ab s_ab dP_ab/dh_m;
 * for two by two levels this is the variance of num/tetra.c.
 * Accuracy: the root to 1e-12 of rho. Checked in tests/unit/num/test_polychoric.c against tables with 50 digits,
 * against num/tetra.c for 2x2, and against simulated sampling variances. */
#include "num/polychoric.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "num/bvn.h"
#include "num/corners.h"
#include "num/normal.h"

#define SMALLEST 1e-18 /* a rectangle below it is rounding */
#define FURTHEST 30    /* threshold of the vector route */

typedef struct {
  blica_simd level;
  int rows, columns;
  const double *share;
  double *h, *k, *below_h, *below_k; /* thresholds [rows+1], [columns+1] with infinite ends, and Phi of them */
  double *p, *d, *e;                 /* [rows+1,columns+1] Phi2, its first and second derivative at the corners */
  double *s;                         /* [rows,columns] scores */
  bl_corners inner;                  /* [rows-1,columns-1] corners with two finite thresholds */
  int far;                           /* a threshold is beyond FURTHEST */
} table;

/* Probabilities below the thresholds, from the margins: levels are `step` cells apart and sum over `across` cells,
 * `stride` apart. */
static void add_margins(const double *share, int levels, int step, int across, int stride, double *below) {
  double sum = 0;
  below[0] = 0, below[levels] = 1;
  for (int a = 1; a < levels; a++) {
    for (int b = 0; b < across; b++) sum += share[(a - 1) * step + b * stride];
    below[a] = sum;
  }
}

/* Thresholds of rows and columns, all in one call; the ends are infinite. */
static void set_thresholds(table *t) {
  add_margins(t->share, t->rows, t->columns, t->columns, 1, t->below_h);
  add_margins(t->share, t->columns, 1, t->rows, t->columns, t->below_k);
  BL_AT(t->level, bl_corners_quantiles)(t->rows + t->columns + 2, t->below_h, t->h);
  t->h[0] = t->k[0] = -INFINITY, t->h[t->rows] = t->k[t->columns] = INFINITY;
}

static void begin(table *t, double *work) {
  const int grid = (t->rows + 1) * (t->columns + 1), stride = t->columns + 1;
  const int inner = (t->rows - 1) * (t->columns - 1), padded = (inner + 7) / 8 * 8;
  const int ends = (t->rows + t->columns + 9) / 8 * 8;
  t->p = work, t->d = t->p + grid, t->e = t->d + grid, t->s = t->e + grid;
  t->h = t->s + grid, t->k = t->h + t->rows + 1; /* k behind h, and the same below: one call serves both */
  t->below_h = t->h + ends, t->below_k = t->below_h + t->rows + 1;
  bl_corners *c = &t->inner;
  c->count = inner;
  c->h = t->below_h + ends, c->k = c->h + padded, c->product = c->k + padded;
  c->squares = c->product + padded, c->excess = c->squares + padded, c->first = c->excess + padded;
  c->second = c->first + padded;
  set_thresholds(t);
  memset(t->p, 0, sizeof(double) * 3 * (size_t)grid);
  for (int a = 0; a <= t->rows; a++) t->p[a * stride + t->columns] = t->below_h[a];
  for (int b = 0; b <= t->columns; b++) t->p[t->rows * stride + b] = t->below_k[b];
  for (int a = 1, m = 0; a < t->rows; a++)
    for (int b = 1; b < t->columns; b++, m++) {
      c->h[m] = t->h[a], c->k[m] = t->k[b];
      t->far |= fabs(t->h[a]) > FURTHEST || fabs(t->k[b]) > FURTHEST;
    }
  bl_corners_begin(c);
}

/* Phi2 and its derivatives at all corners. */
static void fill_corners(table *t, double rho) {
  const int stride = t->columns + 1;
  const bool near = fabs(rho) <= BL_CORNERS_MOST && !t->far;
  const double c2 = (1 - rho) * (1 + rho);
  if (near) BL_AT(t->level, bl_corners_move)(&t->inner, rho);
  for (int a = 1, m = 0; a < t->rows; a++)
    for (int b = 1; b < t->columns; b++, m++) {
      const int at = a * stride + b;
      const double h = t->h[a], k = t->k[b];
      t->p[at] =
          near ? t->below_h[a] * t->below_k[b] + t->inner.excess[m] * 0.15915494309189533577 : blica_bvn(h, k, rho);
      t->d[at] = near ? t->inner.first[m] : bl_bvn_density(h, k, rho);
      t->e[at] = near ? t->inner.second[m]
                      : t->d[at] * (rho / c2 + (h * k * (1 + rho * rho) - rho * (h * h + k * k)) / (c2 * c2));
    }
}

/* Fills the corners and returns the score; *slope its derivative. */
static double score_at(table *t, double rho, double *slope) {
  const int stride = t->columns + 1;
  double score = 0, bend = 0;
  fill_corners(t, rho);
  for (int a = 0; a < t->rows; a++) {
    const double *p = t->p + a * stride, *d = t->d + a * stride, *e = t->e + a * stride;
    const double *share = t->share + a * t->columns;
    for (int b = 0; b < t->columns; b++) {
      double cell = p[b + stride + 1] - p[b + stride] - p[b + 1] + p[b];
      double first = d[b + stride + 1] - d[b + stride] - d[b + 1] + d[b];
      double second = e[b + stride + 1] - e[b + stride] - e[b + 1] + e[b];
      double inverse = 1 / (cell > SMALLEST ? cell : SMALLEST), ratio = first * inverse;
      t->s[a * t->columns + b] = cell > SMALLEST ? ratio : 0;
      score += share[b] * ratio;
      bend += share[b] * (second * inverse - ratio * ratio);
    }
  }
  *slope = bend;
  return score;
}

/* Mean of a standard normal variable within each level, and the variance of these means. */
static double scores_of(const double *h, const double *below, int levels, double *mean) {
  double variance = 0, density = 0;
  for (int a = 0; a < levels; a++) {
    double next = a + 1 < levels ? bl_phi_density(h[a + 1]) : 0, mass = below[a + 1] - below[a];
    mean[a] = (density - next) / fmax(mass, SMALLEST);
    variance += mass * mean[a] * mean[a];
    density = next;
  }
  return variance;
}

static double first_guess(const table *t, double *row, double *column) {
  double product = scores_of(t->h, t->below_h, t->rows, row) * scores_of(t->k, t->below_k, t->columns, column), sum = 0;
  for (int a = 0; a < t->rows; a++) {
    double own = 0;
    for (int b = 0; b < t->columns; b++) own += t->share[a * t->columns + b] * column[b];
    sum += own * row[a];
  }
  return fmin(fmax(sum / product, -0.9), 0.9);
}

/* The root, from a first guess. *last is where the scores were computed last, within 1e-7 of it. */
static double solve(table *t, double rho, double *last) {
  double low = -BL_POLYCHORIC_BOUND, high = BL_POLYCHORIC_BOUND, slope;
  if (isnan(rho)) rho = 0;
  for (int step = 0; step < 200; step++) {
    double score = score_at(t, rho, &slope);
    *last = rho;
    *(score > 0 ? &low : &high) = rho;
    double next = slope < 0 ? rho - score / slope : NAN;
    if (!(next > low && next < high))
      next = 0.5 * (low + high);
    else if (fabs(next - rho) < 1e-7)
      return next;
    if (next == rho || high - low < 1e-13) break;
    rho = next;
  }
  return rho;
}

/* Sums over the levels above: on return c[a] = sum of c_m over the thresholds m above level a. */
static void add_up(double *c, int levels) {
  c[levels] = 0;
  for (int a = levels - 1; a >= 0; a--) c[a] = c[a + 1] + (a > 0 ? c[a] : 0);
  for (int a = 0; a < levels; a++) c[a] = c[a + 1];
}

/* c_m of the thresholds of the rows and d_m of those of the columns, each over the density at its threshold. */
static void threshold_effects(table *t, double rho, double *c, double *d) {
  const int n = t->columns - 1;
  const double *s = t->s;
  BL_AT(t->level, bl_corners_conditional)(&t->inner, rho);
  for (int a = 1; a < t->rows; a++) {
    double before = 0;
    c[a] = 0;
    for (int b = 0; b < t->columns; b++) {
      double now = b < n ? t->inner.first[(a - 1) * n + b] : 1;
      c[a] += (now - before) * (s[(a - 1) * t->columns + b] - s[a * t->columns + b]);
      before = now;
    }
  }
  for (int b = 1; b < t->columns; b++) {
    double before = 0;
    d[b] = 0;
    for (int a = 0; a < t->rows; a++) {
      double now = a < t->rows - 1 ? t->inner.second[a * n + b - 1] : 1;
      d[b] += (now - before) * (s[a * t->columns + b - 1] - s[a * t->columns + b]);
      before = now;
    }
  }
}

/* At the rho of the last scores. */
static double variance_of(table *t, double rho, double *c, double *d) {
  const int stride = t->columns + 1;
  double information = 0, mean = 0, squares = 0;
  threshold_effects(t, rho, c, d);
  add_up(c, t->rows);
  add_up(d, t->columns);
  for (int a = 0; a < t->rows; a++)
    for (int b = 0; b < t->columns; b++) {
      const double *p = t->p + a * stride + b;
      double share = t->share[a * t->columns + b], w = t->s[a * t->columns + b];
      double cell = p[stride + 1] - p[stride] - p[1] + p[0];
      information += cell > 0 ? cell * w * w : 0;
      w -= c[a] + d[b];
      mean += share * w;
      squares += share * w * w;
    }
  return (squares - mean * mean) / (information * information);
}

double bl_polychoric(blica_simd level, int rows, int columns, const double *share, double *work, double *variance) {
  table t = {.level = level, .rows = rows, .columns = columns, .share = share};
  double *c = work, *d = c + rows + 1, last;
  begin(&t, d + columns + 1);
  double rho = solve(&t, first_guess(&t, c, d), &last);
  if (variance) *variance = variance_of(&t, last, c, d);
  return rho;
}
