/* common.c - the common correlation of a pair over segments with different margins: the root of the sum of the pairwise
 * scores, by Fisher scoring. */
#include "inference/common.h"

#include <math.h>

#include "num/normal.h"

enum { ROUNDS = 25 };
static const double RHO_MOST = 0.98;

void bl_common_free(bl_common *c) {
  if (!c) return;
  bl_free(c->t);
  bl_free(c->used);
  bl_free(c->rho);
  bl_free(c->table);
  bl_free(c->both);
  bl_free(c->excess);
  bl_free(c);
}

blica_status bl_common_make(blica_ctx *ctx, int n, int u, bl_common **out) {
  blica_status status;
  bl_common *c = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &c));
  c->n = n, c->u = u, c->pairs = (size_t)n * (n - 1) / 2;
  const size_t tables = bl_mul(c->pairs, (size_t)u), margins = bl_mul((size_t)n, (size_t)u);
  TRY(bl_alloc(ctx, margins, &c->t));
  TRY(bl_alloc(ctx, margins, &c->used));
  TRY(bl_alloc(ctx, c->pairs, &c->rho));
  TRY(bl_alloc(ctx, tables, &c->table));
  TRY(bl_alloc(ctx, tables, &c->both));
  TRY(bl_alloc(ctx, tables, &c->excess));
  *out = c;
  c = NULL;
done:
  bl_common_free(c);
  return status;
}

void bl_common_margins(const blica_counts *counts, bl_common *c) {
  for (size_t at = 0; at < (size_t)c->n * c->u; at++) {
    c->used[at] = counts->ones[at] > 0 && counts->ones[at] < counts->present[at];
    c->t[at] = c->used[at] ? bl_phi_quantile(counts->ones[at] / counts->present[at]) : 0;
  }
}

double bl_common_score(const blica_counts *counts, int s, int i, int j, double rho, double *information, bl_common *c) {
  const size_t at = (size_t)blica_pair(i, j) + c->pairs * (size_t)s, first = i + (size_t)c->n * s,
               second = j + (size_t)c->n * s;
  double cell[4];
  *information = c->both[at] = c->excess[at] = 0;
  if (!c->used[first] || !c->used[second]) return 0;
  blica_counts_table(counts, s, i, j, cell);
  c->table[at] = bl_implied_pair(c->t[first], c->t[second], rho);
  const bl_implied_table *t = &c->table[at];
  if (!(t->density > 0)) return 0;
  c->both[at] = cell[0] + cell[1] + cell[2] + cell[3];
  c->excess[at] = cell[0] - c->both[at] * t->cell[0];
  *information = c->both[at] * t->information;
  return c->excess[at] * t->information / t->density;
}

static void fit_pair(const blica_counts *counts, int i, int j, bl_common *c) {
  double *rho = &c->rho[blica_pair(i, j)];
  for (int round = 0; round < ROUNDS; round++) {
    double score = 0, information = 0, part;
    for (int s = 0; s < c->u; s++) {
      score += bl_common_score(counts, s, i, j, *rho, &part, c);
      information += part;
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
