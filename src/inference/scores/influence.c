/* influence.c - influences of rows, to first order.
 *
 * On a polychoric correlation with thresholds estimated from the margins: [score + what the thresholds change] / (N I)
 * (table.c). On the log-scale of an ordinal item, whose margins P(x >= l) = Phi((a - tau_l) / sigma) show location and
 * scale, cuts known (cor/item_scales.c): the score of log sigma less its projection on that of a, over its information.
 * On half the score of a 2x2 table at the model's correlation, for pairwise likelihood: by its own cell and through the
 * thresholds, by differences. */
#include "inference/scores/influence.h"

#include <math.h>

#include "inference/implied.h"
#include "num/normal/normal.h"

static const double LEAST = 1e-9; /* information below it is none */

blica_status bl_influence_make(blica_ctx *ctx, int n, const blica_coding *coding, bl_statistics kind,
                               bl_influence **out) {
  BL_OWNED bl_influence *f = NULL;
  size_t size = 0;
  const int most = bl_most_levels(coding, n);
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &f));
  f->n = n, f->coding = coding, f->kind = kind, f->pairs = kind == BL_MARGINS ? 0 : (size_t)n * (n - 1) / 2;
  const size_t planes = (size_t)bl_plane(coding, n);
  f->statistics = f->pairs + (kind == BL_THRESHOLDS || kind == BL_MARGINS ? planes
                              : bl_coding_ordinal(coding)                 ? (size_t)n
                                                                          : 0);
  MUST(bl_alloc_for(ctx, f, f->pairs, &f->information));
  MUST(bl_alloc_for(ctx, f, f->pairs, &f->both));
  MUST(bl_alloc_for(ctx, f, 2 * f->pairs, &f->derivatives));
  MUST(bl_alloc_for(ctx, f, (size_t)n, &f->kept));
  MUST(bl_alloc_for(ctx, f, (size_t)n, &f->precision));
  MUST(bl_alloc_for(ctx, f, f->pairs, &f->place));
  for (int j = 1; j < n && f->pairs > 0; j++)
    for (int i = 0; i < j; i++) {
      const size_t rows = (size_t)bl_levels(coding, i), columns = (size_t)bl_levels(coding, j);
      f->place[blica_pair(i, j)] = size;
      size += rows * columns + rows + columns;
    }
  MUST(bl_alloc_for(ctx, f, size, &f->change));
  MUST(bl_alloc_for(ctx, f, planes + (size_t)n, &f->on_scale));
  MUST(bl_alloc_for(ctx, f, 2 * planes, &f->on_margin));
  MUST(bl_alloc_for(ctx, f, (size_t)most * most, &f->cell));
  MUST(bl_table_make(ctx, f, most, &f->table));
  *out = bl_take(&f);
  return BLICA_OK;
}

/* ---- one item ---- */

/* kept, precision and on_scale of item i with thresholds t [levels-1] in `present` rows. */
static void describe_item(bl_influence *f, int i, const double *t, double present) {
  const int levels = bl_levels(f->coding, i);
  double *change = f->on_scale + bl_plane(f->coding, i) + i;
  double aa = 0, al = 0, ll = 0, above = 1, before = 0, moved = 0;
  for (int pass = 0; pass < 2; pass++, above = 1, before = moved = 0) {
    const double rest = ll - al * al / aa; /* of the first pass */
    for (int c = 0; c < levels; c++) {
      const bool last = c + 1 == levels;
      const double next = last ? 0 : bl_phi_cdf(t[c]), density = last ? 0 : bl_phi_density(t[c]);
      const double p = fmax(above - next, 1e-12), a = (before - density) / p;
      const double l = ((last ? 0 : t[c] * density) - moved) / p;
      above = next, before = density, moved = last ? 0 : t[c] * density;
      if (pass == 0)
        aa += p * a * a, al += p * a * l, ll += p * l * l;
      else
        change[c] = rest > LEAST && present > 0 ? (l - al / aa * a) / rest / present : 0;
    }
    if (pass == 0) f->precision[i] = levels > 2 && ll - al * al / aa > LEAST ? present * (ll - al * al / aa) : 0;
  }
  if (levels == 2) change[0] = change[1] = 0;
  f->kept[i] = aa;
}

/* ---- one pair ---- */

/* On the correlation. present: rows of either item. */
static void on_correlation(bl_influence *f, int i, int j, double both, const double present[2], const double *h,
                           const double *k, double rho) {
  const size_t at = (size_t)blica_pair(i, j);
  const int rows = bl_levels(f->coding, i), columns = bl_levels(f->coding, j);
  bl_table *t = &f->table;
  double *to = f->change + f->place[at];
  bl_table_at(rows, columns, h, k, rho, t);
  bl_table_margins(h, k, rho, t);
  f->information[at] = t->information;
  const double unit = t->information > 0 && both > 0 ? 1 / t->information : 0;
  for (int c = 0; c < rows * columns; c++) *to++ = unit > 0 ? unit * t->score[c] / both : 0;
  for (int a = 0; a < rows; a++) *to++ = unit * t->first[a] / present[0];
  for (int b = 0; b < columns; b++) *to++ = unit * t->second[b] / present[1];
}

/* G = phi2 sum of +- share_c / P_c: the score of a table with these shares, over its rows. */
static double table_score(const double share_of[4], double h, double k, double rho) {
  const bl_implied_table t = bl_implied_pair(h, k, rho);
  return t.density *
         (share_of[0] / t.cell[0] - share_of[1] / t.cell[1] - share_of[2] / t.cell[2] + share_of[3] / t.cell[3]);
}

/* On half the score of a 2x2 table with these cells, 11, 10, 01, 00. */
static void on_score(bl_influence *f, size_t at, const double cell[4], double both, const double present[2],
                     const double t[2], double rho) {
  const double step = 1e-4, sign[4] = {1, -1, -1, 1};
  const bl_implied_table here = bl_implied_pair(t[0], t[1], rho);
  double *derivatives = f->derivatives + 2 * at, *to = f->change + f->place[at], *first = to + 4, *second = to + 6,
         share_of[4];
  derivatives[0] = derivatives[1] = 0;
  f->information[at] = here.information;
  for (int c = 0; c < 8; c++) to[c] = 0;
  if (!(here.density > 0) || !(both > 0)) return;
  for (int c = 0; c < 4; c++) share_of[c] = cell[c] / both;
  const double by[2] = {
      (table_score(share_of, t[0] + step, t[1], rho) - table_score(share_of, t[0] - step, t[1], rho)) / (2 * step),
      (table_score(share_of, t[0], t[1] + step, rho) - table_score(share_of, t[0], t[1] - step, rho)) / (2 * step)};
  const double own = step * fmin(1, 1 - fabs(rho) + 1e-3);
  derivatives[0] = -0.5 * both *
                   (table_score(share_of, t[0], t[1], rho + own) - table_score(share_of, t[0], t[1], rho - own)) /
                   (2 * own);
  derivatives[1] = -0.5 * both * table_score(share_of, t[0], t[1], rho);
  for (int x = 0; x < 2; x++) {
    first[x] = 0.5 * by[0] * (x - bl_phi_cdf(t[0])) / bl_phi_density(t[0]) * both / present[0];
    second[x] = 0.5 * by[1] * (x - bl_phi_cdf(t[1])) / bl_phi_density(t[1]) * both / present[1];
    for (int y = 0; y < 2; y++) {
      const int cell_of = x ? (y ? 0 : 1) : (y ? 2 : 3);
      to[2 * x + y] = 0.5 * sign[cell_of] * here.density / here.cell[cell_of];
    }
  }
}

/* ---- a segment and its rows ---- */

void bl_influence_describe(const blica_counts *c, int s, const double *rho, const double *t, const double *margin,
                           bl_influence *f) {
  const double *present = c->present + (size_t)s * c->n;
  for (int p = 0; margin && p < bl_plane(f->coding, f->n); p++) {
    const double share = bl_phi_cdf(margin[p]), per = 1 / fmax(bl_phi_density(margin[p]), LEAST) / fmax(present[p], 1);
    f->on_margin[2 * p] = -share * per, f->on_margin[2 * p + 1] = (1 - share) * per;
  }
  if (!t) return;
  for (int i = 0; i < f->n; i++) describe_item(f, i, t + bl_plane(f->coding, i), present[bl_plane(f->coding, i)]);
  for (int j = 1; j < f->n && f->pairs > 0; j++)
    for (int i = 0; i < j; i++) {
      const int first = bl_plane(f->coding, i), second = bl_plane(f->coding, j);
      const double have[2] = {fmax(present[first], 1), fmax(present[second], 1)}, at[2] = {t[first], t[second]};
      double cell[4];
      blica_counts_table(c, s, first, second, cell);
      const double both = f->both[blica_pair(i, j)] = cell[0] + cell[1] + cell[2] + cell[3];
      if (f->kind == BL_TABLE_SCORES)
        on_score(f, (size_t)blica_pair(i, j), cell, both, have, at, rho[blica_pair(i, j)]);
      else
        on_correlation(f, i, j, both, have, t + first, t + second, rho[blica_pair(i, j)]);
    }
}

void bl_influence_row(const bl_influence *f, const int8_t *x, double *psi) {
  for (int j = 1; j < f->n && f->pairs > 0; j++) {
    const int columns = bl_levels(f->coding, j);
    for (int i = 0; i < j; i++) {
      const size_t at = (size_t)blica_pair(i, j);
      const int rows = bl_levels(f->coding, i);
      const double *both = f->change + f->place[at], *first = both + rows * columns, *second = first + rows;
      const bool has_i = x[i] != BLICA_MISSING, has_j = x[j] != BLICA_MISSING;
      psi[at] =
          (has_i && has_j ? both[x[i] * columns + x[j]] : 0) + (has_i ? first[x[i]] : 0) + (has_j ? second[x[j]] : 0);
    }
  }
  const bool thresholds = f->kind == BL_THRESHOLDS || f->kind == BL_MARGINS;
  double *more = psi + f->pairs;
  for (int i = 0; f->statistics > f->pairs && i < f->n; i++) {
    const int first = bl_plane(f->coding, i), last = bl_plane(f->coding, i + 1);
    const bool has = x[i] != BLICA_MISSING;
    if (!thresholds) more[i] = has ? f->on_scale[first + i + x[i]] : 0;
    for (int p = first; thresholds && p < last; p++) more[p] = has ? f->on_margin[2 * p + (x[i] > p - first)] : 0;
  }
}
