/* Correlations of items with two levels and missing values against the table of each pair, counted by plain loops over
 * the rows and solved on its own (blica_tetrachoric). */
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
#include "level_rows.h"
#include "num/normal/normal.h"

enum { N = 7, SEGMENTS = 3 };

static void near(const char *what, int s, int i, int j, double found, double wanted, double tolerance) {
  if (isnan(found) != isnan(wanted) || fabs(found - wanted) > tolerance)
    fail_msg("%s of items %d and %d in segment %d: %.12g, not %.12g", what, i, j, s, found, wanted);
}

/* In segment 1 the first item is constant, and the last two were never asked together. */
static void pairs_have_the_correlations_of_their_tables(void **state) {
  (void)state;
  static const int two[N] = {2, 2, 2, 2, 2, 2, 2};
  level_rows y = draw_level_rows(N, SEGMENTS, 300, two, 0.3, 4);
  blica_cor *cor;
  int64_t zero = 0;
  for (int64_t r = 0; r < y.rows; r++) {
    if (y.segment[r] != 1) continue;
    if (y.x[r * N] != BLICA_MISSING) y.x[r * N] = 1;
    y.x[r * N + N - 1 - r % 2] = BLICA_MISSING;
  }
  blica_counts *counts = count_level_rows(&y);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  for (int s = 0; s < SEGMENTS; s++)
    for (int j = 0; j < N; j++)
      for (int i = 0; i <= j; i++) {
        double cell[4], rho = 0, se = NAN;
        int flags = BLICA_PAIR_EMPTY;
        const double total = plain_table(&y, s, i, j, cell), least = 0.5 / total;
        if (i == j) {
          near("threshold", s, i, j, cor->thresholds[i + N * s],
               bl_phi_quantile(fmin(fmax(cell[3] / total, least), 1 - least)), 1e-12);
          continue;
        }
        const size_t at = (size_t)(blica_pair(i, j) + s * cor->pairs);
        if (total > 0)
          assert_int_equal(
              blica_tetrachoric(ctx, (double[]){cell[3], cell[2], cell[1], cell[0]}, &rho, &se, NULL, &flags),
              BLICA_OK);
        assert_int_equal(cor->flags[at], flags);
        near("correlation", s, i, j, cor->rho[at], rho, 1e-12);
        near("standard error", s, i, j, cor->se[at], se, 1e-12);
        zero += (flags & BLICA_PAIR_ZERO_CELL) != 0;
      }
  assert_int_equal(cor->zero_cells, zero);
  assert_int_equal(cor->constant_columns, 1);
  assert_int_equal(cor->constant_pairs, N - 1);
  assert_int_equal(cor->empty_pairs, 1);
  blica_cor_free(cor);
  blica_counts_free(counts);
  drop_level_rows(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_have_the_correlations_of_their_tables)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
