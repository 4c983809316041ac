/* pooled.c - the common correlation of a pair over segments with different margins: the root of the sum of the pairwise
 * scores, by Fisher scoring.
 *
 * Shrunk: the margins of small segments are noisy, so they are shrunk to the item's mean over segments as a
 * beta-binomial model has it (intra-class correlation by the method of moments), and what the thresholds then get wrong
 * is taken out of the score to first order (table.c: `first` and `second`). */
#include "inference/scores/pooled.h"

#include <math.h>

#include "counts/counts.h"
#include "inference/implied.h"
#include "num/normal/normal.h"

enum { ROUNDS = 25 };
static const double RHO_MOST = 0.98;

blica_status bl_pooled_make(blica_ctx *ctx, int n, int u, const blica_coding *coding, bool shrunk, bl_pooled **out) {
  BL_OWNED bl_pooled *c = NULL;
  const int most = bl_most_levels(coding, n);
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &c));
  c->n = n, c->u = u, c->coding = coding, c->planes = bl_plane(coding, n), c->pairs = (size_t)n * (n - 1) / 2;
  c->shrunk = shrunk;
  const size_t tables = bl_mul(c->pairs, (size_t)u);
  MUST(bl_alloc_for(ctx, c, bl_mul((size_t)c->planes, (size_t)u), &c->t));
  MUST(bl_alloc_for(ctx, c, bl_mul((size_t)n, (size_t)u), &c->used));
  MUST(bl_alloc_for(ctx, c, c->pairs, &c->rho));
  MUST(bl_alloc_for(ctx, c, tables, &c->score));
  MUST(bl_alloc_for(ctx, c, tables, &c->information));
  MUST(bl_alloc_for(ctx, c, (size_t)most * most, &c->cell));
  MUST(bl_table_make(ctx, c, most, &c->table));
  *out = bl_take(&c);
  return BLICA_OK;
}

/* The share of ones of column p over all segments, and how much more than chance its shares vary: the intra-class
 * correlation. */
static double intraclass(const blica_counts *c, int p, double *mean) {
  double ones = 0, rows = 0, squares = 0, chi = 0;
  int seen = 0;
  for (int s = 0; s < c->u; s++) {
    const size_t at = p + (size_t)c->n * s;
    ones += c->ones[at], rows += c->present[at], squares += c->present[at] * c->present[at];
  }
  *mean = (ones + 0.5) / (rows + 1);
  for (int s = 0; s < c->u; s++) {
    const size_t at = p + (size_t)c->n * s;
    if (!(c->present[at] > 0)) continue;
    chi += pow(c->ones[at] - c->present[at] * *mean, 2) / c->present[at] / (*mean * (1 - *mean));
    seen++;
  }
  /* E chi = seen - 1 + (rows - squares / rows) correlation - ..., to first order in the intra-class correlation */
  return fmin(fmax((chi - (seen - 1)) / fmax(rows - squares / rows, 1), 0), 0.99);
}

/* Thresholds of the shares of item i, shrunk to their means over segments; all columns of an item by the same amount,
 * so that the shares of higher levels stay below those of lower ones. */
static void shrink_item(const blica_counts *c, int first, int last, double *t) {
  double together = 0, mean;
  int varying = 0;
  for (int p = first; p < last; p++) {
    const double own = intraclass(c, p, &mean);
    double ones = 0, rows = 0;
    for (int s = 0; s < c->u; s++) ones += c->ones[p + (size_t)c->n * s], rows += c->present[p + (size_t)c->n * s];
    if (ones > 0 && ones < rows) together += own, varying++;
  }
  together /= fmax(1, varying);
  const double prior = together > 0 ? (1 - together) / together : INFINITY;
  for (int p = first; p < last; p++) {
    intraclass(c, p, &mean);
    for (int s = 0; s < c->u; s++) {
      const size_t at = p + (size_t)c->n * s;
      const double share = isfinite(prior) ? (c->ones[at] + prior * mean) / (c->present[at] + prior) : mean;
      t[at] = bl_phi_quantile(fmin(fmax(share, 1e-9), 1 - 1e-9));
    }
  }
}

void bl_pooled_margins(const blica_counts *counts, bl_pooled *c) {
  bl_table_thresholds(counts, c->t);
  for (int i = 0; i < c->n && c->shrunk; i++)
    shrink_item(counts, bl_plane(c->coding, i), bl_plane(c->coding, i + 1), c->t);
  for (int s = 0; s < c->u; s++)
    for (int i = 0; i < c->n; i++) {
      bool used = false;
      for (int p = bl_plane(c->coding, i); p < bl_plane(c->coding, i + 1); p++) {
        const size_t at = (size_t)p + (size_t)c->planes * s;
        used = used || (counts->ones[at] > 0 && counts->ones[at] < counts->present[at]);
      }
      c->used[i + (size_t)c->n * s] = used;
    }
}

/* Two levels: one excess over the expected rows with two ones says all. */
static void score_of_two(const double cell[4], double h, double k, double rho, double *score, double *information) {
  const bl_implied_table t = bl_implied_pair(h, k, rho);
  if (!(t.density > 0)) return;
  const double rows = cell[0] + cell[1] + cell[2] + cell[3];
  *information = rows * t.information;
  *score = (cell[0] - rows * t.cell[0]) * t.information / t.density;
}

/* The mean over the rows with the item, times `both` rows, of what its thresholds change: change [levels]. */
static double correction(const blica_counts *c, int s, int first, int last, const double *change, double both) {
  const double *ones = c->ones + (size_t)s * c->n, rows = c->present[first + (size_t)s * c->n];
  double sum = change[0] * (rows - ones[first]);
  for (int p = first; p < last; p++) sum += change[p - first + 1] * (ones[p] - (p + 1 < last ? ones[p + 1] : 0));
  return rows > 0 ? sum * both / rows : 0;
}

void bl_pooled_score(const blica_counts *counts, int s, int i, int j, double rho, bl_pooled *c) {
  const size_t at = (size_t)blica_pair(i, j) + c->pairs * (size_t)s;
  const int first = bl_plane(c->coding, i), second = bl_plane(c->coding, j);
  const int rows = bl_levels(c->coding, i), columns = bl_levels(c->coding, j);
  const double *h = c->t + first + (size_t)c->planes * s, *k = c->t + second + (size_t)c->planes * s;
  double *score = &c->score[at], two[4];
  *score = c->information[at] = 0;
  if (!c->used[i + (size_t)c->n * s] || !c->used[j + (size_t)c->n * s]) return;
  if (rows == 2 && columns == 2 && !c->shrunk) {
    blica_counts_table(counts, s, first, second, two);
    score_of_two(two, *h, *k, rho, score, &c->information[at]);
    return;
  }
  const double total = bl_counts_cells(counts, c->coding, s, i, j, c->cell);
  bl_table_at(rows, columns, h, k, rho, &c->table);
  c->information[at] = total * c->table.information;
  for (int cell = 0; cell < rows * columns; cell++) *score += c->cell[cell] * c->table.score[cell];
  if (!c->shrunk) return;
  bl_table_margins(h, k, rho, &c->table);
  *score += correction(counts, s, first, first + rows - 1, c->table.first, total) +
            correction(counts, s, second, second + columns - 1, c->table.second, total);
}

/* Fisher scoring for the correlation of one pair over all segments. */
static void fit_pair(const blica_counts *counts, int i, int j, bl_pooled *c) {
  const size_t pair = (size_t)blica_pair(i, j);
  double *rho = &c->rho[pair];
  for (int round = 0; round < ROUNDS; round++) {
    double score = 0, information = 0;
    for (int s = 0; s < c->u; s++) {
      bl_pooled_score(counts, s, i, j, *rho, c);
      score += c->score[pair + c->pairs * (size_t)s];
      information += c->information[pair + c->pairs * (size_t)s];
    }
    if (!(information > 0)) break;
    const double next = fmin(fmax(*rho + fmin(fmax(score / information, -0.3), 0.3), -RHO_MOST), RHO_MOST);
    if (fabs(next - *rho) < 1e-5) break; /* the tables stay within that of the root */
    *rho = next;
  }
}

void bl_pooled_fit(const blica_counts *counts, bl_pooled *c) {
  bl_pooled_margins(counts, c);
  for (int j = 1; j < c->n; j++)
    for (int i = 0; i < j; i++) fit_pair(counts, i, j, c);
}

void bl_pooled_matrix(int n, const double *rho, double *matrix) {
  for (int j = 0; j < n; j++) {
    matrix[j + (size_t)j * n] = 1;
    for (int i = 0; i < j; i++) matrix[i + (size_t)j * n] = matrix[j + (size_t)i * n] = rho[blica_pair(i, j)];
  }
}
