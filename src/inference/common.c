/* common.c - the common correlation of a pair over segments with different margins: the root of the sum of the pairwise
 * scores, by Fisher scoring. */
#include "inference/common.h"

#include <math.h>

#include "counts/counts.h"
#include "inference/implied.h"

enum { ROUNDS = 25 };
static const double RHO_MOST = 0.98;

blica_status bl_common_make(blica_ctx *ctx, int n, int u, const blica_coding *coding, bl_common **out) {
  BL_OWNED bl_common *c = NULL;
  const int most = bl_most_levels(coding, n);
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &c));
  c->n = n, c->u = u, c->coding = coding, c->planes = bl_plane(coding, n), c->pairs = (size_t)n * (n - 1) / 2;
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

void bl_common_margins(const blica_counts *counts, bl_common *c) {
  bl_table_thresholds(counts, c->t);
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
static void score_of_two(const blica_counts *counts, int s, int i, int j, double h, double k, double rho, double *score,
                         double *information) {
  const bl_implied_table t = bl_implied_pair(h, k, rho);
  double cell[4];
  if (!(t.density > 0)) return;
  blica_counts_table(counts, s, i, j, cell);
  const double rows = cell[0] + cell[1] + cell[2] + cell[3];
  *information = rows * t.information;
  *score = (cell[0] - rows * t.cell[0]) * t.information / t.density;
}

void bl_common_score(const blica_counts *counts, int s, int i, int j, double rho, bl_common *c) {
  const size_t at = (size_t)blica_pair(i, j) + c->pairs * (size_t)s;
  const int first = bl_plane(c->coding, i), second = bl_plane(c->coding, j);
  const int rows = bl_levels(c->coding, i), columns = bl_levels(c->coding, j);
  const double *h = c->t + first + (size_t)c->planes * s, *k = c->t + second + (size_t)c->planes * s;
  c->score[at] = c->information[at] = 0;
  if (!c->used[i + (size_t)c->n * s] || !c->used[j + (size_t)c->n * s]) return;
  if (rows == 2 && columns == 2) {
    score_of_two(counts, s, first, second, *h, *k, rho, &c->score[at], &c->information[at]);
    return;
  }
  const double total = bl_counts_cells(counts, c->coding, s, i, j, c->cell);
  bl_table_at(rows, columns, h, k, rho, &c->table);
  c->information[at] = total * c->table.information;
  for (int cell = 0; cell < rows * columns; cell++) c->score[at] += c->cell[cell] * c->table.score[cell];
}

static void fit_pair(const blica_counts *counts, int i, int j, bl_common *c) {
  const size_t pair = (size_t)blica_pair(i, j);
  double *rho = &c->rho[pair];
  for (int round = 0; round < ROUNDS; round++) {
    double score = 0, information = 0;
    for (int s = 0; s < c->u; s++) {
      bl_common_score(counts, s, i, j, *rho, c);
      score += c->score[pair + c->pairs * (size_t)s];
      information += c->information[pair + c->pairs * (size_t)s];
    }
    if (!(information > 0)) break;
    const double next = fmin(fmax(*rho + fmin(fmax(score / information, -0.3), 0.3), -RHO_MOST), RHO_MOST);
    if (fabs(next - *rho) < 1e-5) break; /* the tables stay within that of the root */
    *rho = next;
  }
}

void bl_common_fit(const blica_counts *counts, bl_common *c) {
  bl_common_margins(counts, c);
  for (int j = 1; j < c->n; j++)
    for (int i = 0; i < j; i++) fit_pair(counts, i, j, c);
}

void bl_common_matrix(int n, const double *rho, double *matrix) {
  for (int j = 0; j < n; j++) {
    matrix[j + (size_t)j * n] = 1;
    for (int i = 0; i < j; i++) matrix[i + (size_t)j * n] = matrix[j + (size_t)i * n] = rho[blica_pair(i, j)];
  }
}
