/* moments.c - margins and pairs of one segment: their residuals, their covariance under the model, and their slopes.
 *
 * Columns are those of the counts: x_i = 1, or x_i >= l for each level of an ordinal item but the lowest. Moments are
 * the margins of all columns and the pairs of columns of different items. Their covariance needs the probabilities of
 * three and four ones, by Plackett's reduction (num/plackett.h, 24 nodes). What is handed on is whitened, and free of
 * the thresholds, which are parameters of every segment. */
#include "inference/moments.h"

#include <math.h>
#include <string.h>

#include "num/blas.h"
#include "num/gauss.h"
#include "num/normal.h"

enum { LANES = 8 };

void bl_moments_sets(const blica_coding *coding, int n, double sets[5]) {
  for (int m = 0; m <= 4; m++) sets[m] = m == 0;
  for (int i = 0; i < n; i++)
    for (int m = 4; m >= 1; m--) sets[m] += sets[m - 1] * (bl_levels(coding, i) - 1);
}

static size_t triple(int a, int b, int c) { /* a < b < c */
  return (size_t)c * (c - 1) * (c - 2) / 6 + (size_t)b * (b - 1) / 2 + (size_t)a;
}
static size_t quad(int a, int b, int c, int d) { /* a < b < c < d */
  return (size_t)d * (d - 1) * (d - 2) * (d - 3) / 24 + triple(a, b, c);
}

void bl_moments_free(bl_moments *r) {
  bl_free(r->member);
}

/* The margins of all columns, then the pairs of columns of different items. */
static void list_moments(bl_moments *r) {
  size_t at = 0;
  for (int c = 0; c < r->columns; c++, at++) r->member[2 * at] = r->member[2 * at + 1] = c;
  for (int d = 1; d < r->columns; d++)
    for (int c = 0; c < d; c++) {
      if (r->rows->item[c] == r->rows->item[d]) continue;
      r->member[2 * at] = c, r->member[2 * at + 1] = d;
      r->moment_at[c + (size_t)r->columns * d] = at++;
    }
}

blica_status bl_moments_make(bl_moments *r) {
  blica_ctx *ctx = r->ctx;
  const size_t n = (size_t)r->n, columns = (size_t)r->columns;
  MUST(bl_alloc(ctx, 2 * r->q, &r->member));
  MUST(bl_alloc_for(ctx, r->member, columns * columns, &r->moment_at));
  MUST(bl_alloc_for(ctx, r->member, columns, &r->used));
  MUST(bl_alloc_for(ctx, r->member, columns, &r->t));
  MUST(bl_alloc_for(ctx, r->member, columns, &r->p));
  MUST(bl_alloc_for(ctx, r->member, n, &r->scale));
  MUST(bl_alloc_for(ctx, r->member, r->pairs, &r->rho));
  MUST(bl_alloc_for(ctx, r->member, r->q, &r->table));
  MUST(bl_alloc_for(ctx, r->member, columns * columns * columns / 6 + 1, &r->three));
  const int last = r->columns > 4 ? r->columns - 1 : 3;
  MUST(bl_alloc_for(ctx, r->member, quad(last - 3, last - 2, last - 1, last) + 1, &r->four));
  MUST(bl_alloc_for(ctx, r->member, r->q * r->q, &r->xi));
  MUST(bl_alloc_for(ctx, r->member, r->q * (columns + r->m + 1), &r->z));
  MUST(bl_alloc_for(ctx, r->member, r->pairs * r->m, &r->slope));
  MUST(bl_alloc_for(ctx, r->member, LANES * 4, &r->h));
  MUST(bl_alloc_for(ctx, r->member, LANES * 6, &r->r));
  MUST(bl_alloc_for(ctx, r->member, LANES * 16, &r->moment));
  MUST(bl_alloc_for(ctx, r->member, bl_plackett_batch_work(4), &r->work));
  list_moments(r);
  r->rule.nodes = 24;
  for (int i = 0; i < 12; i++) {
    r->rule.node[i] = 0.5 * (1 - bl_gauss24_node[i]), r->rule.node[23 - i] = 0.5 * (1 + bl_gauss24_node[i]);
    r->rule.weight[i] = r->rule.weight[23 - i] = 0.5 * bl_gauss24_weight[i];
  }
  return BLICA_OK;
}

/* Correlation of the items of two columns c < d. */
static double rho_of(const bl_moments *r, int c, int d) {
  return r->rho[blica_pair(r->rows->item[c], r->rows->item[d])];
}

/* ---- probabilities of ones ---- */

/* The mean over all subsets of the first `of` variables of the lane's sign moments: P(all of them are 1). */
static double all_ones(const double *moment, int lane, int of) {
  double sum = 0;
  for (int set = 0; set < 1 << of; set++) sum += moment[lane + LANES * set];
  return sum / (1 << of);
}

/* Runs `count` sets of m columns, set c in members + 4 c, and keeps their probabilities. */
static void run_sets(bl_moments *r, int m, int count, const int *members) {
  for (int lane = 0; lane < LANES; lane++) {
    const int *v = members + 4 * (lane < count ? lane : 0);
    for (int i = 0; i < m; i++) {
      r->h[lane + LANES * i] = r->t[v[i]];
      for (int j = 0; j < i; j++) r->r[lane + LANES * (i * (i - 1) / 2 + j)] = rho_of(r, v[j], v[i]);
    }
  }
  const bl_plackett_batch batch = {
      .m = m, .rule = &r->rule, .h = r->h, .rho = r->r, .moment = r->moment, .work = r->work};
  bl_plackett_batch_run(&batch, blica_simd_level(r->ctx));
  for (int c = 0; c < count; c++) {
    const int *v = members + 4 * c;
    if (m == 4) r->four[quad(v[0], v[1], v[2], v[3])] = all_ones(r->moment, c, 4);
    if (m == 3) r->three[triple(v[0], v[1], v[2])] = all_ones(r->moment, c, 3);
  }
}

static bool different_items(const bl_moments *r, const int *set, int m) {
  for (int i = 1; i < m; i++) /* ascending columns: equal items are neighbours */
    if (r->rows->item[set[i]] == r->rows->item[set[i - 1]]) return false;
  return true;
}

static void run_all_sets(bl_moments *r, int m) {
  int members[4 * LANES], count = 0;
  for (int d = m == 4 ? 3 : 0; d < (m == 4 ? r->columns : 1); d++)
    for (int c = 2; c < (m == 4 ? d : r->columns); c++)
      for (int b = 1; b < c; b++)
        for (int a = 0; a < b; a++) {
          const int set[4] = {a, b, c, d};
          if (!different_items(r, set, m)) continue;
          memcpy(members + 4 * count++, set, sizeof set);
          if (count < LANES) continue;
          run_sets(r, m, count, members);
          count = 0;
        }
  if (count) run_sets(r, m, count, members);
}

/* P(all columns of the list are 1). Of several columns of an item the one of the highest level says all. */
static double ones_of(const bl_moments *r, const int *list, int count) {
  int v[4], m = 0;
  for (int i = 0; i < count; i++) {
    int at = m, known = -1;
    for (int j = 0; j < m; j++)
      if (r->rows->item[v[j]] == r->rows->item[list[i]]) known = j;
    if (known >= 0) {
      if (v[known] < list[i]) v[known] = list[i];
      continue;
    }
    while (at > 0 && v[at - 1] > list[i]) v[at] = v[at - 1], at--;
    v[at] = list[i];
    m++;
  }
  if (m == 1) return r->p[v[0]];
  if (m == 2) return r->table[r->moment_at[v[0] + (size_t)r->columns * v[1]]].cell[0];
  return m == 3 ? r->three[triple(v[0], v[1], v[2])] : r->four[quad(v[0], v[1], v[2], v[3])];
}

static bool moment_used(const bl_moments *r, size_t a) {
  return r->used[r->member[2 * a]] && r->used[r->member[2 * a + 1]];
}

/* Xi / N, unit rows for moments that are not used. */
static void covariance(bl_moments *r, double rows) {
  for (size_t b = 0; b < r->q; b++)
    for (size_t a = b; a < r->q; a++) {
      const int *first = r->member + 2 * a, *second = r->member + 2 * b;
      const int list[4] = {first[0], first[1], second[0], second[1]};
      r->xi[a + r->q * b] = moment_used(r, a) && moment_used(r, b)
                                ? (ones_of(r, list, 4) - ones_of(r, first, 2) * ones_of(r, second, 2)) / rows
                                : a == b;
    }
}

/* ---- one segment ---- */

/* Shares and thresholds of segment s. A column that is constant, or equal to the one below since nobody has the level
 * between, is not used. */
static void describe_margins(bl_moments *r, int s) {
  const blica_counts *c = r->counts;
  for (int i = 0; i < r->columns; i++) {
    const double *ones = c->ones + (size_t)s * r->columns + i;
    const bool same = i > 0 && r->rows->item[i] == r->rows->item[i - 1] && ones[0] == ones[-1];
    r->p[i] = ones[0] / c->samples[s];
    r->used[i] = r->p[i] > 0 && r->p[i] < 1 && !same;
    if (!(r->p[i] > 0 && r->p[i] < 1)) r->p[i] = 0.5;
    r->t[i] = bl_phi_quantile(r->p[i]);
  }
}

/* What the model and the data say of segment s; returns the number of pairs used. */
static int64_t describe(bl_moments *r, int s) {
  const blica_model *model = r->model;
  const double *v = model->variances + (size_t)r->k * s;
  int64_t used = 0;
  describe_margins(r, s);
  bl_implied_rho(r->n, r->k, model->link, model->mixing, v, r->scale, r->rho);
  bl_implied_slope(r->n, r->k, model->link, model->mixing, v, r->scale, r->rho, r->slope);
  for (size_t a = (size_t)r->columns; a < r->q; a++) {
    const int c = r->member[2 * a], d = r->member[2 * a + 1];
    r->table[a] = bl_implied_pair(r->t[c], r->t[d], rho_of(r, c, d));
    used += moment_used(r, a);
  }
  return used;
}

/* z <- [ slopes in thresholds | slopes in A and log v | residuals ] of segment s. */
static void slopes(bl_moments *r, int s) {
  const size_t columns = (size_t)r->columns, q = r->q;
  const blica_counts *counts = r->counts;
  memset(r->z, 0, q * (columns + r->m + 1) * sizeof *r->z);
  for (size_t i = 0; i < columns; i++) r->z[i + q * i] = bl_phi_density(r->t[i]);
  for (size_t a = columns; a < q; a++) {
    const int c = r->member[2 * a], d = r->member[2 * a + 1];
    const size_t pair = (size_t)blica_pair(r->rows->item[c], r->rows->item[d]);
    if (!moment_used(r, a)) continue;
    const bl_implied_table *t = &r->table[a];
    r->z[a + q * (size_t)c] = t->first * bl_phi_density(r->t[c]);
    r->z[a + q * (size_t)d] = t->second * bl_phi_density(r->t[d]);
    for (size_t l = 0; l < r->m; l++) r->z[a + q * (columns + l)] = t->density * r->slope[pair + r->pairs * l];
    r->z[a + q * (columns + r->m)] =
        counts->n11[blica_pair(c, d) + s * counts->pairs] / counts->samples[s] - t->cell[0];
  }
}

/* Whitens z and takes the thresholds out: what is below their rows, of the parameters and the residuals, remains. */
static bool whiten(bl_moments *r) {
  const int n = r->columns, q = (int)r->q, columns = n + (int)r->m + 1;
  if (bl_dpotrf('L', q, r->xi, q) != 0) return false;
  bl_dtrsm('L', 'L', 'N', 'N', q, columns, 1, r->xi, q, r->z, q);
  for (int j = 0; j < n; j++) { /* Householder, column by column: n is small */
    double *x = r->z + (size_t)j * r->q + j, norm = bl_dnrm2(q - j, x, 1);
    if (!(norm > 0)) continue;
    x[0] += x[0] < 0 ? -norm : norm;
    const double factor = 2 / bl_ddot(q - j, x, 1, x, 1);
    for (int c = j + 1; c < columns; c++) {
      double *y = r->z + (size_t)c * r->q + j;
      bl_daxpy(q - j, -factor * bl_ddot(q - j, x, 1, y, 1), x, 1, y, 1);
    }
  }
  return true;
}

blica_status bl_moments_segment(bl_moments *r, int s, int64_t *pairs) {
  *pairs = describe(r, s);
  run_all_sets(r, 3);
  if (r->n > 3) run_all_sets(r, 4);
  covariance(r, r->counts->samples[s]);
  slopes(r, s);
  if (whiten(r)) return BLICA_OK;
  return bl_fail(r->ctx, BLICA_ERR_NUMERIC, "segment '%s': the covariance of its pairs is singular",
                 r->model->segments[s]);
}
