/* polychoric.c - polychoric correlation of one table, thresholds fixed by its margins (Olsson 1979, Psychometrika 44,
 * 443-460: the two-step estimate).
 *
 * P_ab(rho) is the probability of a rectangle, four values of Phi2; its derivative P'_ab the same combination of
 * densities (Plackett 1954). The score sum_ab s_ab P'_ab / P_ab has one root where it falls; Newton's method with the
 * exact second derivative, inside a bracket. Where the likelihood grows up to |rho| = 1 the bound BL_POLYCHORIC_BOUND
 * is the answer.
 *
 * Variance by the delta method, the thresholds' own errors included: with s = P'/P the score of a cell, I = sum P s^2,
 *   N var(rho) = Var(w) / I^2,   w_ab = s_ab - sum_m c_m z_m(a) - sum_m d_m z_m(b),
 *   z_m(a) = (1[a <= m] - Phi(h_m)) / phi(h_m),   c_m = sum_ab s_ab dP_ab/dh_m;
 * for two by two levels this is the variance of num/tetra.c.
 * Accuracy: the root to 1e-12 of rho, from Phi2 of num/bvn.c. Checked in tests/unit/num/test_polychoric.c against the
 * table of Olsson, against num/tetra.c for 2x2, and against simulated sampling variances. */
#include "num/polychoric.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "blica.h"
#include "num/bvn.h"
#include "num/normal.h"

#define SMALLEST 1e-18 /* a rectangle below it is rounding */

typedef struct {
  int rows, columns;
  const double *share;
  double *h, *k;     /* [rows+1], [columns+1] with infinite ends */
  double *p, *d, *e; /* [rows+1,columns+1] Phi2, its first and second derivative at the corners */
  double *s;         /* [rows,columns] scores */
} table;

/* Fills the corners and returns the score; *slope its derivative. */
static double score_at(const table *t, double rho, double *slope) {
  const int stride = t->columns + 1;
  double c2 = 1 - rho * rho, score = 0;
  *slope = 0;
  for (int a = 0; a <= t->rows; a++)
    for (int b = 0; b <= t->columns; b++) {
      int at = a * stride + b;
      double h = t->h[a], k = t->k[b];
      t->p[at] = blica_bvn(h, k, rho);
      t->d[at] = t->e[at] = 0;
      if (isinf(h) || isinf(k)) continue;
      t->d[at] = bl_bvn_density(h, k, rho);
      t->e[at] = t->d[at] * (rho / c2 + (h * k * (1 + rho * rho) - rho * (h * h + k * k)) / (c2 * c2));
    }
  for (int a = 0; a < t->rows; a++)
    for (int b = 0; b < t->columns; b++) {
      int at = a * stride + b, up = at + stride;
      double p = t->p[up + 1] - t->p[up] - t->p[at + 1] + t->p[at],
             d = t->d[up + 1] - t->d[up] - t->d[at + 1] + t->d[at],
             e = t->e[up + 1] - t->e[up] - t->e[at + 1] + t->e[at], share = t->share[a * t->columns + b];
      p = fmax(p, SMALLEST);
      t->s[a * t->columns + b] = p > SMALLEST ? d / p : 0;
      if (share == 0) continue;
      score += share * d / p;
      *slope += share * (e / p - d / p * (d / p));
    }
  return score;
}

static double solve(const table *t) {
  double low = -BL_POLYCHORIC_BOUND, high = BL_POLYCHORIC_BOUND, rho = 0, slope;
  for (int step = 0; step < 200; step++) {
    double score = score_at(t, rho, &slope);
    *(score > 0 ? &low : &high) = rho;
    double next = slope < 0 ? rho - score / slope : NAN;
    if (fabs(next - rho) < 1e-13) break;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (next == rho) break;
    rho = next;
  }
  return rho;
}

/* c_m of the thresholds of the rows; transposed: of the columns. */
static double cross(const table *t, bool transposed, int m, double rho) {
  const double *other = transposed ? t->h : t->k, x = transposed ? t->k[m] : t->h[m], root = sqrt(1 - rho * rho);
  int count = transposed ? t->rows : t->columns;
  double sum = 0, before = 0, density = bl_phi_density(x);
  for (int b = 0; b < count; b++) {
    double now = isinf(other[b + 1]) ? 1 : bl_phi_cdf((other[b + 1] - rho * x) / root);
    int under = transposed ? b * t->columns + m - 1 : (m - 1) * t->columns + b;
    int over = transposed ? under + 1 : under + t->columns;
    sum += density * (now - before) * (t->s[under] - t->s[over]);
    before = now;
  }
  return sum;
}

static double variance_of(const table *t, double rho, double *c, double *d) {
  double slope, information = 0, mean = 0, squares = 0;
  score_at(t, rho, &slope);
  for (int m = 1; m < t->rows; m++) c[m] = cross(t, false, m, rho) / bl_phi_density(t->h[m]);
  for (int m = 1; m < t->columns; m++) d[m] = cross(t, true, m, rho) / bl_phi_density(t->k[m]);
  for (int a = 0; a < t->rows; a++)
    for (int b = 0; b < t->columns; b++) {
      int at = a * (t->columns + 1) + b, up = at + t->columns + 1;
      double share = t->share[a * t->columns + b], w = t->s[a * t->columns + b];
      double p = t->p[up + 1] - t->p[up] - t->p[at + 1] + t->p[at];
      information += fmax(p, 0) * w * w;
      for (int m = 1; m < t->rows; m++) w -= a < m ? c[m] : 0;
      for (int m = 1; m < t->columns; m++) w -= b < m ? d[m] : 0;
      mean += share * w;
      squares += share * w * w;
    }
  return (squares - mean * mean) / (information * information);
}

double bl_polychoric(int rows, int columns, const double *share, double *work, double *variance) {
  const int corners = (rows + 1) * (columns + 1);
  table t = {rows, columns, share, .p = work};
  t.d = t.p + corners, t.e = t.d + corners, t.s = t.e + corners;
  t.h = t.s + corners, t.k = t.h + rows + 1;
  double *c = t.k + columns + 1, *d = c + rows + 1, sum = 0;
  t.h[0] = t.k[0] = -INFINITY, t.h[rows] = t.k[columns] = INFINITY;
  for (int a = 1; a < rows; a++) {
    for (int b = 0; b < columns; b++) sum += share[(a - 1) * columns + b];
    t.h[a] = bl_phi_quantile(sum);
  }
  sum = 0;
  for (int b = 1; b < columns; b++) {
    for (int a = 0; a < rows; a++) sum += share[a * columns + b - 1];
    t.k[b] = bl_phi_quantile(sum);
  }
  double rho = solve(&t);
  if (variance) *variance = variance_of(&t, rho, c, d);
  return rho;
}
