/* Tables of two items with levels: their thresholds by counting, missing values included, and their cells and scores
 * against the bivariate normal distribution, also where two thresholds coincide. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "inference/scores/table.h"
#include "level_rows.h"
#include "num/normal/normal.h"

static void near(const char *what, int at, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("%s %d: %.12g, not %.12g", what, at, found, wanted);
}

/* Shares are those of the rows where the item is present, at least half a row away from 0 and 1; 0 without values. */
static void thresholds_of_counts(void **state) {
  (void)state;
  enum { N = 4, PLANES = 6 };
  static const int levels[N] = {3, 2, 3, 2};
  level_rows y = draw_level_rows(N, 2, 300, levels, 0.3, 3);
  for (int64_t r = 0; r < y.rows; r++) {
    if (y.segment[r] == 0 && y.x[N * r] == 0) y.x[N * r] = 1;
    if (y.segment[r] == 1) y.x[N * r + 3] = BLICA_MISSING;
  }
  blica_counts *counts = count_level_rows(&y);
  double t[2 * PLANES];
  bl_table_thresholds(counts, t);
  for (int s = 0; s < 2; s++)
    for (int i = 0, plane = 0; i < N; i++)
      for (int l = 1; l < levels[i]; l++, plane++) {
        double above = 0, present = 0;
        for (int64_t r = 0; r < y.rows; r++)
          if (y.segment[r] == s && y.x[N * r + i] != BLICA_MISSING) present++, above += y.x[N * r + i] >= l;
        const double least = 0.5 / present, share = fmin(fmax(above / present, least), 1 - least);
        near("threshold", plane, t[plane + PLANES * s], present > 0 ? bl_phi_quantile(share) : 0, 1e-12);
      }
  blica_counts_free(counts);
  drop_level_rows(&y);
}

static double corner(const double *h, const double *k, int a, int b, int rows, int columns, double rho) {
  if (a == rows || b == columns) return 0;
  if (a == 0) return b ? bl_phi_cdf(k[b - 1]) : 1;
  return b ? blica_bvn(h[a - 1], k[b - 1], rho) : bl_phi_cdf(h[a - 1]);
}

/* Moderate correlations, and some beyond the range of the fast corners. */
static void cells_and_scores(void **state) {
  (void)state;
  const double h[2] = {0.9, -0.4}, k[3] = {1.2, 0.1, -0.7}, rhos[] = {-0.97, -0.5, 0, 0.3, 0.8, 0.985}, step = 1e-5;
  double *owner;
  bl_table t;
  assert_int_equal(bl_alloc(ctx, 1, &owner), BLICA_OK);
  assert_int_equal(bl_table_make(ctx, owner, 4, &t), BLICA_OK);
  for (size_t r = 0; r < sizeof rhos / sizeof *rhos; r++) {
    double information = 0;
    bl_table_at(3, 4, h, k, rhos[r], &t);
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 4; b++) {
        double p[3];
        for (int side = 0; side < 3; side++) {
          const double rho = rhos[r] + (side - 1) * step;
          p[side] = corner(h, k, a, b, 3, 4, rho) - corner(h, k, a + 1, b, 3, 4, rho) -
                    corner(h, k, a, b + 1, 3, 4, rho) + corner(h, k, a + 1, b + 1, 3, 4, rho);
        }
        near("cell", 4 * a + b, t.cell[4 * a + b], p[1], 1e-13);
        if (p[1] < 1e-6) continue;
        near("score", 4 * a + b, t.score[4 * a + b] * p[1], (p[2] - p[0]) / (2 * step), 1e-6);
        information += pow((p[2] - p[0]) / (2 * step), 2) / p[1];
      }
    near("information", (int)r, t.information / information, 1, 5e-3); /* but for the cells left out */
  }
  /* Nobody has the middle level: its cells are empty, and the table is that of the others. */
  const double same[2] = {0.3, 0.3};
  bl_table two;
  assert_int_equal(bl_table_make(ctx, owner, 4, &two), BLICA_OK);
  bl_table_at(3, 4, same, k, 0.4, &t);
  bl_table_at(2, 4, same, k, 0.4, &two);
  for (int b = 0; b < 4; b++) {
    near("cell of the lowest level", b, t.cell[b], two.cell[b], 1e-14);
    near("cell of an empty level", b, t.cell[4 + b], 0, 1e-15);
    near("cell of the highest level", b, t.cell[8 + b], two.cell[4 + b], 1e-14);
  }
  bl_free(owner);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(thresholds_of_counts), cmocka_unit_test(cells_and_scores)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
