/* tetrachoric.c - one 2x2 table: its shares, thresholds and tetrachoric correlation.
 *
 * Rules for tables that a sample leaves thin are in docs/correlations.md:
 *   constant column   its share is taken as 1/(2N) away from 0 or 1; correlation 0, no standard error
 *   empty cell        filled with e/(1+2e), e its count under independence, margins kept
 *   no common row     correlation 0, no standard error
 * None is applied to exact counts, save that thresholds stay finite. */
#include <math.h>

#include "cor/correlate.h"
#include "num/normal/normal.h"
#include "num/normal/tables.h"

/* A cell of a sample below this share is empty: what subtraction leaves of 0, never a quarter of a row. */
static double empty_share(bool exact, double total) {
  return exact ? 0.0 : fmin(1e-9, 0.25 / total);
}

/* Fills the empty cells `a` (and its diagonal opposite with it) in units of shares; total is the number of rows. */
static void fill_empty(double share[4], int a, double margins, double total) {
  double expected = margins * total, add = expected / (1.0 + 2.0 * expected) / total;
  bool diagonal = a == BL_P11 || a == BL_P00;
  double sign = diagonal ? 1.0 : -1.0,
         available = diagonal ? fmin(share[BL_P10], share[BL_P01]) : fmin(share[BL_P11], share[BL_P00]);
  add = fmin(add, 0.5 * available); /* cells of fractions of a row may have less to give */
  share[BL_P11] += sign * add;
  share[BL_P00] += sign * add;
  share[BL_P10] -= sign * add;
  share[BL_P01] -= sign * add;
}

static const double MOST = 0x1p1000; /* rows: sums and shares of more would overflow */

int bl_table_shares(const double cell[4], bool exact, double share[4]) {
  double total = cell[0] + cell[1] + cell[2] + cell[3], none = empty_share(exact, total);
  if (!(total <= MOST)) return -1;
  if (!(total > 0.0)) { /* cells of opposite signs may cancel */
    bool none_there = cell[0] == 0.0 && cell[1] == 0.0 && cell[2] == 0.0 && cell[3] == 0.0;
    return none_there ? BLICA_PAIR_EMPTY : -1;
  }
  for (int c = 0; c < 4; c++) {
    share[c] = cell[c] / total;
    if (!(share[c] > -1e-9)) return -1;
    if (share[c] < 0.0) share[c] = 0.0;
  }
  double p1 = share[BL_P11] + share[BL_P10], p2 = share[BL_P11] + share[BL_P01];
  double q1 = share[BL_P01] + share[BL_P00], q2 = share[BL_P10] + share[BL_P00];
  /* twice: two empty cells make a constant, so that an empty cell has neighbours that are not */
  if (p1 <= 2.0 * none || q1 <= 2.0 * none || p2 <= 2.0 * none || q2 <= 2.0 * none) return BLICA_PAIR_CONSTANT;
  int zero = BL_P11; /* the smallest, so that relabelling the variables changes nothing */
  for (int c = 0; c < 4; c++)
    if (share[c] < share[zero]) zero = c;
  if (share[zero] > none) return 0;
  if (!exact) fill_empty(share, zero, (zero <= BL_P10 ? p1 : q1) * (zero == BL_P11 || zero == BL_P01 ? p2 : q2), total);
  return BLICA_PAIR_ZERO_CELL;
}

double bl_share_threshold(double ones, double zeros) {
  double present = ones + zeros;
  if (!(present > 0.0)) return 0.0;
  double floor = 0.5 / fmax(present, 1.0);
  double low = ones <= 0.0 || zeros <= 0.0 ? floor : fmin(ones, zeros) / present;
  double t = bl_phi_quantile(fmax(low, 0x1p-1022)); /* a share so small as to vanish has a finite threshold too */
  return ones < zeros ? t : -t;
}

void bl_thresholds(const blica_counts *c, double *thresholds) {
  for (size_t i = 0; i < (size_t)c->n * c->u; i++)
    thresholds[i] = bl_share_threshold(c->ones[i], c->present[i] - c->ones[i]);
}

/* Cells 11, 10, 01, 00. Returns the flags, or a negative number, setting nothing, when they cannot be a table. */
static int one_table(blica_simd level, bool exact, const double cell[4], double *rho, double *se, double threshold[2]) {
  _Alignas(64) double buffer[8][8] = {{0}};
  bl_tetra_batch one = {8, {buffer[0], buffer[1], buffer[2], buffer[3]}, buffer[4], buffer[5], buffer[6], buffer[7]};
  double share[4];
  const int flags = bl_table_shares(cell, exact, share);
  if (flags < 0) return flags;
  threshold[0] = one.h[0] = bl_share_threshold(cell[0] + cell[1], cell[2] + cell[3]);
  threshold[1] = one.k[0] = bl_share_threshold(cell[0] + cell[2], cell[1] + cell[3]);
  *rho = 0.0, *se = NAN;
  if (flags & (BLICA_PAIR_CONSTANT | BLICA_PAIR_EMPTY)) return flags;
  for (int c = 0; c < 4; c++) one.share[c][0] = share[c];
  bl_tetra_solve(level, &one, 1);
  *rho = one.rho[0];
  const double error = sqrt(one.variance[0] / (cell[0] + cell[1] + cell[2] + cell[3]));
  if (isfinite(error)) *se = error;
  return flags;
}

blica_status blica_tetrachoric(blica_ctx *ctx, const double cell[4], double *rho, double *se, double threshold[2],
                               int *flags) {
  BL_NEED(ctx, cell, rho);
  double error, thresholds[2];
  const int found =
      one_table(blica_simd_level(ctx), false, cell, rho, se ? se : &error, threshold ? threshold : thresholds);
  if (found < 0)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "table %g %g %g %g: cells must be counts, none negative or above 2^1000",
                   cell[0], cell[1], cell[2], cell[3]);
  if (flags) *flags = found;
  return BLICA_OK;
}

int bl_tetrachoric(blica_simd level, bool exact, const double *cell, double *rho, double *se) {
  const double own[4] = {cell[3], cell[2], cell[1], cell[0]};
  double thresholds[2];
  return one_table(level, exact, own, rho, se, thresholds);
}
