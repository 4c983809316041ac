/* Correlations of items with levels against the table of each pair, counted by plain loops over the rows and solved on
 * its own (blica_polychoric, which tests/unit/num/test_polychoric.c compares with 30-digit values). */
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
#include "counts/counts.h"
#include "level_rows.h"
#include "num/normal/normal.h"

static void near(const char *what, int s, int i, int j, double found, double wanted, double tolerance) {
  if (isnan(found) != isnan(wanted) || fabs(found - wanted) > tolerance)
    fail_msg("%s of items %d and %d in segment %d: %.12g, not %.12g", what, i, j, s, found, wanted);
}

static blica_cor *correlate(const blica_counts *counts) {
  blica_cor *cor = NULL;
  if (blica_correlate(ctx, counts, &cor) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return cor;
}

/* Thresholds are those of the rows where the item is present. */
static void check_thresholds(const level_rows *y, const blica_cor *cor) {
  for (int s = 0; s < y->u; s++)
    for (int i = 0, plane = 0; i < y->n; i++)
      for (int l = 1; l < y->levels[i]; l++, plane++) {
        double present = 0, above = 0;
        for (int64_t r = 0; r < y->rows; r++) {
          if (y->segment[r] != s || y->x[r * y->n + i] == BLICA_MISSING) continue;
          present++, above += y->x[r * y->n + i] >= l;
        }
        const double share = fmin(fmax(above / present, 0.5 / present), 1 - 0.5 / present);
        near("threshold", s, i, l, cor->thresholds[plane + s * cor->planes], bl_phi_quantile(share), 1e-12);
      }
}

static void check_pairs(const level_rows *y, const blica_cor *cor) {
  int64_t zero = 0, constant = 0, empty = 0;
  for (int s = 0; s < y->u; s++)
    for (int j = 1; j < y->n; j++)
      for (int i = 0; i < j; i++) {
        double cell[64], rho = 0, se = NAN;
        int flags = BLICA_PAIR_EMPTY;
        const size_t at = (size_t)(blica_pair(i, j) + s * cor->pairs);
        if (plain_table(y, s, i, j, cell) > 0)
          assert_int_equal(blica_polychoric(ctx, y->levels[i], y->levels[j], cell, &rho, &se, NULL, &flags), BLICA_OK);
        near("correlation", s, i, j, cor->rho[at], rho, 1e-9);
        near("standard error", s, i, j, cor->se[at], se, 1e-9);
        assert_int_equal(cor->flags[at], flags);
        zero += (flags & BLICA_PAIR_ZERO_CELL) != 0, constant += (flags & BLICA_PAIR_CONSTANT) != 0;
        empty += (flags & BLICA_PAIR_EMPTY) != 0;
      }
  assert_int_equal(cor->zero_cells, zero);
  assert_int_equal(cor->constant_pairs, constant);
  assert_int_equal(cor->empty_pairs, empty);
}

/* Twelve items make more pairs than one block, and more pairs of a shape than are solved together. */
static const int levels[12] = {3, 4, 2, 3, 4, 2, 5, 3, 4, 2, 3, 4};

static void pairs_have_the_correlations_of_their_tables(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    level_rows y = draw_level_rows(12, 3, 1200, levels, holes ? 0.25 : 0, 3);
    blica_counts *counts = count_level_rows(&y);
    blica_cor *cor = correlate(counts);
    assert_int_equal(cor->n, 12);
    assert_int_equal(cor->pairs, 66);
    assert_int_equal(counts->n10 != NULL, holes);
    check_thresholds(&y, cor);
    check_pairs(&y, cor);
    assert_int_equal(cor->constant_columns, 0);
    blica_cor_free(cor);
    blica_counts_free(counts);
    drop_level_rows(&y);
  }
}

/* In segment 0 nobody has the middle level of item 0, item 1 has one level alone, and items 2 and 3 were never asked
 * together; in segment 1 item 4 has no value. */
static void what_a_segment_lacks(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    level_rows y = draw_level_rows(6, 2, 400, (const int[]){3, 3, 4, 3, 2, 2}, 0, 5);
    for (int64_t r = 0; r < y.rows; r++) {
      int8_t *x = y.x + 6 * r;
      if (y.segment[r] == 0 && x[0] == 1) x[0] = 2;
      if (y.segment[r] == 0) x[1] = 1;
      if (holes && y.segment[r] == 0) x[2 + r % 2] = BLICA_MISSING;
      if (holes && y.segment[r] == 1) x[4] = BLICA_MISSING;
    }
    blica_counts *counts = count_level_rows(&y);
    blica_cor *cor = correlate(counts);
    check_pairs(&y, cor);
    assert_int_equal(cor->constant_pairs, 5);
    assert_int_equal(cor->empty_pairs, holes ? 6 : 0);
    assert_int_equal(cor->constant_columns, holes ? 2 : 1);
    blica_cor_free(cor);
    blica_counts_free(counts);
    drop_level_rows(&y);
  }
}

/* Counts that rise from one level to the next are no counts of levels: the message names segment and items. */
static void counts_that_rise_are_refused(void **state) {
  (void)state;
  level_rows y = draw_level_rows(3, 2, 300, (const int[]){3, 3, 2}, 0, 6);
  blica_counts *counts = count_level_rows(&y);
  blica_cor *cor = NULL;
  counts->n11[blica_pair(1, 4) + counts->pairs] += 300;
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_ERR_DATA);
  assert_null(cor);
  assert_non_null(strstr(blica_message(ctx), "segment '2', items 'x1' and 'x3'"));
  blica_counts_free(counts);
  drop_level_rows(&y);
}

/* bl_counts_cells are the tables of the rows. */
static void cells_of_counts_are_those_of_the_rows(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    level_rows y = draw_level_rows(5, 2, 500, levels + 2, holes ? 0.2 : 0, 9);
    blica_counts *counts = count_level_rows(&y);
    blica_coding *coding = NULL;
    assert_int_equal(blica_counts_coding(ctx, counts, &coding), BLICA_OK);
    for (int s = 0; s < 2; s++)
      for (int j = 1; j < 5; j++)
        for (int i = 0; i < j; i++) {
          double cell[64], wanted[64];
          const double total = plain_table(&y, s, i, j, wanted);
          near("rows", s, i, j, bl_counts_cells(counts, coding, s, i, j, cell), total, 0);
          for (int c = 0; c < y.levels[i] * y.levels[j]; c++) near("cell", s, i, j, cell[c], wanted[c], 0);
        }
    blica_coding_free(coding);
    blica_counts_free(counts);
    drop_level_rows(&y);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pairs_have_the_correlations_of_their_tables), cmocka_unit_test(what_a_segment_lacks),
      cmocka_unit_test(counts_that_rise_are_refused), cmocka_unit_test(cells_of_counts_are_those_of_the_rows)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
