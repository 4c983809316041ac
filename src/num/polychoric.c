/* polychoric.c - polychoric correlations of tables, thresholds fixed by their margins (Olsson 1979, Psychometrika 44,
 * 443-460: the two-step estimate).
 *
 * P_ab(rho) is the probability of a rectangle, four values of Phi2; its derivative P'_ab the same combination of
 * densities (Plackett 1954). The score sum_ab s_ab P'_ab / P_ab has one root where it falls; Newton's method with the
 * exact second derivative, inside a bracket. Eight tables at once by num/polychoric_kernel.c where |rho| <= 0.9249;
 * tables beyond come here, one by one, with Phi2 by num/bvn.c; a step below 1e-7 is the last. Where the likelihood
 * grows up to |rho| = 1 the bound BL_POLYCHORIC_BOUND is the answer.
 *
 * Variance by the delta method, the thresholds' own errors included: with s = P'/P the score of a cell, I = sum P s^2,
 *   N var(rho) = Var(w) / I^2,   w_ab = s_ab - sum_m c_m z_m(a) - sum_m d_m z_m(b),
 *   z_m(a) = (1[a <= m] - Phi(h_m)) / phi(h_m),   c_m = sum_ab s_ab dP_ab/dh_m;
 * for two by two levels this is the variance of num/tetra.c.
 * Accuracy: the root to 1e-13 of rho, less where observed cells are improbable (1.4e-12 was seen in a table of
 * psychTools::spi). Checked against tables with 50 digits in tests/unit/num/test_accuracy.c, against num/tetra.c for
 * 2x2 and against simulated sampling variances in test_polychoric.c. */
#include "num/polychoric.h"

#include <math.h>
#include <string.h>

#include "num/bvn.h"
#include "num/normal.h"

#define SMALLEST 1e-18 /* a rectangle below it is rounding */
#define FURTHEST 37    /* the threshold of a level that nobody is below or above */

/* One lane of the tables. */
typedef struct {
  int rows, columns;
  const double *share;               /* [rows,columns], BL_LANES apart */
  double *h, *k, *below_h, *below_k; /* thresholds [rows+1], [columns+1] with infinite ends, and Phi of them */
  double *p, *d, *e;                 /* [rows+1,columns+1] Phi2, its first and second derivative at the corners */
  double *s;                         /* [rows,columns] scores */
} table;

static double share_of(const table *t, int a, int b) {
  return t->share[(a * t->columns + b) * BL_LANES];
}

double bl_polychoric_cut(double below) {
  return fmin(fmax(bl_phi_quantile(fmin(below, 1)), -FURTHEST), FURTHEST);
}

/* Thresholds from the probabilities below them; the ends are infinite. */
static void set_thresholds(int levels, double *below, double *h) {
  below[0] = 0, below[levels] = 1;
  for (int a = 1; a < levels; a++) h[a] = bl_polychoric_cut(below[a]);
  h[0] = -INFINITY, h[levels] = INFINITY;
}

static void begin(table *t, double *work) {
  const int grid = (t->rows + 1) * (t->columns + 1), stride = t->columns + 1;
  memset(work, 0, sizeof(double) * (size_t)(4 * grid + 2 * (t->rows + t->columns + 2)));
  t->p = work, t->d = t->p + grid, t->e = t->d + grid, t->s = t->e + grid;
  t->h = t->s + grid, t->k = t->h + t->rows + 1, t->below_h = t->k + t->columns + 1;
  t->below_k = t->below_h + t->rows + 1;
  for (int a = 0; a < t->rows; a++)
    for (int b = 0; b < t->columns; b++) t->below_h[a + 1] += share_of(t, a, b), t->below_k[b + 1] += share_of(t, a, b);
  for (int a = 1; a < t->rows; a++) t->below_h[a + 1] += t->below_h[a];
  for (int b = 1; b < t->columns; b++) t->below_k[b + 1] += t->below_k[b];
  set_thresholds(t->rows, t->below_h, t->h);
  set_thresholds(t->columns, t->below_k, t->k);
  for (int a = 0; a <= t->rows; a++) t->p[a * stride + t->columns] = t->below_h[a];
  for (int b = 0; b <= t->columns; b++) t->p[t->rows * stride + b] = t->below_k[b];
}

/* Phi2 and its derivatives at all corners. */
static void fill_corners(table *t, double rho) {
  const int stride = t->columns + 1;
  const double c2 = (1 - rho) * (1 + rho);
  for (int a = 1; a < t->rows; a++)
    for (int b = 1; b < t->columns; b++) {
      const int at = a * stride + b;
      const double h = t->h[a], k = t->k[b];
      t->p[at] = blica_bvn(h, k, rho);
      t->d[at] = bl_bvn_density(h, k, rho);
      t->e[at] = t->d[at] * (rho / c2 + (h * k * (1 + rho * rho) - rho * (h * h + k * k)) / (c2 * c2));
    }
}

/* Fills the corners and returns the score; *slope its derivative. */
static double score_at(table *t, double rho, double *slope) {
  const int stride = t->columns + 1;
  double score = 0, curvature = 0;
  fill_corners(t, rho);
  for (int a = 0; a < t->rows; a++) {
    const double *p = t->p + a * stride, *d = t->d + a * stride, *e = t->e + a * stride;
    for (int b = 0; b < t->columns; b++) {
      double cell = p[b + stride + 1] - p[b + stride] - p[b + 1] + p[b];
      double first = d[b + stride + 1] - d[b + stride] - d[b + 1] + d[b];
      double second = e[b + stride + 1] - e[b + stride] - e[b + 1] + e[b];
      double inverse = 1 / (cell > SMALLEST ? cell : SMALLEST), ratio = first * inverse;
      t->s[a * t->columns + b] = cell > SMALLEST ? ratio : 0;
      score += share_of(t, a, b) * ratio;
      curvature += share_of(t, a, b) * (second * inverse - ratio * ratio);
    }
  }
  *slope = curvature;
  return score;
}

/* The root, from a first guess. *last is where the scores were computed last, within 1e-7 of it. */
static double solve(table *t, double rho, double *last) {
  double low = -BL_POLYCHORIC_BOUND, high = BL_POLYCHORIC_BOUND, slope;
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
  const double *s = t->s, root = sqrt((1 - rho) * (1 + rho));
  for (int a = 1; a < t->rows; a++) {
    double before = 0;
    c[a] = 0;
    for (int b = 0; b < t->columns; b++) {
      double now = bl_phi_cdf((t->k[b + 1] - rho * t->h[a]) / root); /* 1 at the end */
      c[a] += (now - before) * (s[(a - 1) * t->columns + b] - s[a * t->columns + b]);
      before = now;
    }
  }
  for (int b = 1; b < t->columns; b++) {
    double before = 0;
    d[b] = 0;
    for (int a = 0; a < t->rows; a++) {
      double now = bl_phi_cdf((t->h[a + 1] - rho * t->k[b]) / root);
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
      double share = share_of(t, a, b), w = t->s[a * t->columns + b];
      double cell = p[stride + 1] - p[stride] - p[1] + p[0];
      information += cell > 0 ? cell * w * w : 0;
      w -= c[a] + d[b];
      mean += share * w;
      squares += share * w * w;
    }
  return (squares - mean * mean) / (information * information);
}

/* A table whose correlation is beyond the series. */
static void solve_one(int rows, int columns, const double *share, bool positive, double *work, double *rho,
                      double *variance) {
  table t = {.rows = rows, .columns = columns, .share = share};
  double *c = work, *d = c + rows + 1, last;
  begin(&t, d + columns + 1);
  *rho = solve(&t, positive ? 0.95 : -0.95, &last);
  if (variance) *variance = variance_of(&t, last, c, d);
}

void bl_polychoric(blica_simd level, int rows, int columns, int count, const double *share, const double *cuts,
                   double *work, double *rho, double *variance) {
  unsigned beyond = BL_AT(level, bl_polychoric_eight)(rows, columns, share, cuts, work, rho, variance);
  for (int t = 0; t < count; t++)
    if (beyond >> t & 1) solve_one(rows, columns, share + t, rho[t] > 0, work, &rho[t], variance ? &variance[t] : NULL);
}
