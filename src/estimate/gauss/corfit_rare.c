/* corfit_rare.c - how much of a segment's weight goes to its 2x2 tables: rare outcomes.
 *
 * Where both items of a pair are rare and the table has few rows in its smallest cell, the tetrachoric correlation is
 * far from normal and its precision depends on its sign: method matched then shares the segment between its Gaussian
 * likelihood and the likelihood of the tables (docs/method.md, equation 30). The share of a pair is
 *   min(1, 2 sqrt(r_i r_j)) / (1 + (e/100)^2),  r = max(0, 1 - p/0.25),  e = N p_i p_j,
 * p the share of the rarer value of an item and e the count that independence predicts; that of a segment is the mean
 * over pairs. It is 0 when no two items have a value rarer than one in four.
 *
 * One rare item is enough where it leaves cells empty: a correlation from a cell that was filled is drawn towards 0,
 * which no weight makes good. With f the share of all tables that have an empty cell and w the mean over pairs of
 * max(0, 1 - min(p_i, p_j)/0.25), the share is at least 1 - exp(-f w/0.02) where that is above a tenth: tables take
 * time and memory. */
#include <math.h>

#include "cor/cor.h"
#include "data/coding.h"
#include "estimate/gauss/corfit.h"
#include "num/normal.h"

static const double COMMON = 0.25, ENOUGH = 100, EMPTY = 0.02, WORTH = 0.1;
static const double LEAST = 0.01; /* shares below are 0 */

static double rarer(const blica_cor *cor, int s, int i) {
  const double t = cor->thresholds[(size_t)i + (size_t)cor->n * (size_t)s];
  return bl_phi_cdf(-fabs(t));
}

double bl_corfit_rare_share(const blica_cor *cor, int s) {
  double sum = 0, one = 0, pairs = 0;
  for (int j = 1; j < cor->n; j++) {
    const double p = rarer(cor, s, j);
    for (int i = 0; i < j; i++) {
      const double rows = bl_cor_pair_rows(cor, s, i, j), q = rarer(cor, s, i), expected = rows * p * q / ENOUGH;
      if (!(rows > 0)) continue;
      pairs++;
      one += fmax(0, 1 - fmin(p, q) / COMMON);
      if (p < COMMON && q < COMMON)
        sum += fmin(1, 2 * sqrt((1 - p / COMMON) * (1 - q / COMMON))) / (1 + expected * expected);
    }
  }
  if (pairs == 0) return 0;
  const double empty = (double)cor->zero_cells / ((double)cor->pairs * cor->u - (double)cor->empty_pairs);
  const double filled = 1 - exp(-empty * one / pairs / EMPTY);
  const double share = fmax(sum / pairs, filled > WORTH ? filled : 0);
  return share < LEAST ? 0 : fmin(share, 1);
}

bool bl_corfit_is_rare(const blica_cor *cor) {
  if (bl_coding_ordinal(cor->coding)) return false; /* it is a share of ones that is rare */
  for (int s = 0; s < cor->u && !cor->exact; s++)
    if (bl_corfit_rare_share(cor, s) > 0) return true;
  return false;
}
