/* table.c - tables of two items with any number of levels.
 *
 * P(x_i >= a, x_j >= b) = Phi2(t_a, t_b; rho), t_0 = infinity and t_L = -infinity; a cell is the difference of four of
 * them, and its derivative in rho the same difference of densities (Plackett, Biometrika 41, 1954). A threshold that is
 * estimated from the margin moves with every row, by (1[x >= m] - P_m) / phi(t_m) over the rows, and the mean score by
 * -C_m times that, C_m = sum_ab score_ab d cell_ab / d t_m: the two-step influence of Olsson (Psychometrika 44, 1979).
 * Thresholds of levels that nobody has may coincide: their cells count as empty. Phi2 from num/normal/corners_kernel.c,
 * and from num/normal/bvn.c beyond its range. Checked in tests/identity/test_inference.c by differences and against
 * num/normal/polychoric_kernel.c. */
#include "inference/scores/table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "num/normal/normal.h"

static const double RHO_MAX = 1 - 1e-9; /* beyond it the density is too large for double precision */

int bl_most_levels(const blica_coding *coding, int n) {
  int most = 2;
  for (int i = 0; i < n; i++)
    if (bl_levels(coding, i) > most) most = bl_levels(coding, i);
  return most;
}

blica_status bl_table_make(blica_ctx *ctx, void *owner, int most, bl_table *t) {
  const size_t cells = (size_t)most * most, corners = (size_t)(most + 1) * (most + 1),
               inner = (size_t)(most - 1) * (most - 1);
  const size_t size = 2 * cells + 2 * (size_t)most + 2 * corners + bl_corners_size(inner);
  MUST(bl_alloc_for(ctx, owner, size, &t->cell));
  t->score = t->cell + cells, t->first = t->score + cells, t->second = t->first + most, t->work = t->second + most;
  bl_corners_place(&t->inner, inner, t->work + 2 * corners);
  t->level = blica_simd_level(ctx);
  return BLICA_OK;
}

/* P(x_i >= a, x_j >= b) and its derivative at the corners inside the table; p has the margins already. */
static void inner_corners(int rows, int columns, const double *h, const double *k, double rho, double *p, double *d,
                          bl_table *t) {
  const int stride = columns + 1, width = columns - 1;
  bl_corners *c = &t->inner;
  const bool fast = fabs(rho) <= BL_CORNERS_MOST;
  c->count = (rows - 1) * width;
  for (int m = 0; m < c->count; m++) c->h[m] = h[m / width], c->k[m] = k[m % width];
  if (fast) BL_AT(t->level, bl_corners_at)(c, rho);
  for (int m = 0; m < c->count; m++) {
    const int a = m / width + 1, b = m % width + 1, at = a * stride + b;
    p[at] = fast ? p[a * stride] * p[b] + c->excess[m] / 6.283185307179586477 : blica_bvn(c->h[m], c->k[m], rho);
    d[at] = fast ? c->density[m] : bl_bvn_density(c->h[m], c->k[m], rho);
  }
}

/* The same at all corners, [rows+1,columns+1]. */
static void corners(int rows, int columns, const double *h, const double *k, double rho, double *p, double *d,
                    bl_table *t) {
  const int stride = columns + 1;
  memset(p, 0, sizeof *p * (size_t)((rows + 1) * stride));
  memset(d, 0, sizeof *d * (size_t)((rows + 1) * stride));
  p[0] = 1;
  for (int a = 1; a < rows; a++) p[a * stride] = bl_phi_cdf(h[a - 1]);
  for (int b = 1; b < columns; b++) p[b] = bl_phi_cdf(k[b - 1]);
  inner_corners(rows, columns, h, k, rho, p, d, t);
}

void bl_table_at(int rows, int columns, const double *h, const double *k, double rho, bl_table *t) {
  const int stride = columns + 1;
  double *p = t->work, *d = p + (size_t)(rows + 1) * stride;
  t->rows = rows, t->columns = columns, t->information = 0;
  corners(rows, columns, h, k, fmin(fmax(rho, -RHO_MAX), RHO_MAX), p, d, t);
  for (int a = 0; a < rows; a++)
    for (int b = 0; b < columns; b++) {
      const int at = a * stride + b, up = at + stride, c = a * columns + b;
      t->cell[c] = fmax(p[at] - p[up] - p[at + 1] + p[up + 1], DBL_EPSILON);
      t->score[c] = (d[at] - d[up] - d[at + 1] + d[up + 1]) / t->cell[c];
      t->information += t->cell[c] * t->score[c] * t->score[c];
    }
}

/* d P(x_j in b | q_i = x) of all levels b, other [levels-1] being the thresholds of j. */
static double slice(const double *other, int levels, int b, double x, double rho, double root) {
  const double from = b ? bl_phi_cdf((other[b - 1] - rho * x) / root) : 1;
  const double to = b + 1 < levels ? bl_phi_cdf((other[b] - rho * x) / root) : 0;
  return from - to;
}

/* change [levels] of the score by the thresholds of one item, the steps between its cells' scores being `step` apart
 * and those of the other item `across`. */
static void margin(int levels, const double *own, int others, const double *other, double rho, const double *score,
                   int step, int across, double *change) {
  const double root = sqrt((1 - rho) * (1 + rho));
  for (int a = 0; a < levels; a++) change[a] = 0;
  for (int m = 1; m < levels; m++) {
    double c = 0;
    for (int b = 0; b < others; b++)
      c += slice(other, others, b, own[m - 1], rho, root) *
           (score[m * step + b * across] - score[(m - 1) * step + b * across]);
    for (int a = 0; a < levels; a++) change[a] -= c * ((a >= m) - bl_phi_cdf(own[m - 1]));
  }
}

void bl_table_margins(const double *h, const double *k, double rho, bl_table *t) {
  rho = fmin(fmax(rho, -RHO_MAX), RHO_MAX);
  margin(t->rows, h, t->columns, k, rho, t->score, t->columns, 1, t->first);
  margin(t->columns, k, t->rows, h, rho, t->score, 1, t->columns, t->second);
}

void bl_table_thresholds(const blica_counts *c, double *threshold) {
  for (size_t at = 0; at < (size_t)c->n * (size_t)c->u; at++) {
    const double least = 0.5 / fmax(1, c->present[at]);
    threshold[at] =
        c->present[at] > 0 ? bl_phi_quantile(fmin(fmax(c->ones[at] / c->present[at], least), 1 - least)) : 0;
  }
}
