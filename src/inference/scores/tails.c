/* tails.c - do the sources have heavier tails than the normal distribution?
 *
 * A single pair of binary items cannot tell, but four can: a source of heavy tails moves many of its items far at once.
 * The statistic of a row is, over sources, the fourth elementary symmetric polynomial of w_i y_i: y_i is the item, with
 * levels added up, less its mean in the segment, and w_i its slope on the source in units of its variance. In a source
 * with the density phi(z) (1 + c He_4(z)/24) its mean grows with c. Under the model it is the mean over normal sources
 * z of the same polynomial of E(y_i | z), here over draws of z, whose noise is added to the variance. How it depends on
 * the thresholds and, by Plackett's identity d E f / d rho_ij = E d2 f / dq_i dq_j, on the correlations of the segment
 * is subtracted with the influence of every row on these (influence.h): errors of the fit and sources that are
 * normal but fit badly do not count to first order (Neyman's C(alpha)). Rows with missing values have the polynomial of
 * the items that they have, and so do the draws. p is one-sided. Sizes and powers: docs/uncertainty.md. */
#include <math.h>
#include <string.h>

#include "inference/implied.h"
#include "inference/scores/m2.h"
#include "inference/scores/pooled.h"
#include "inference/scores/row_scores.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"
#include "num/rng.h"

enum {
  ITEMS = 16,
  DRAWS_OF_ROW = 16,
  DRAWS = 1 << 17,
  DRAWS_LEAST = 256
}; /* of a source; at most, in all; a segment */
static const uint64_t SEED = 0x7461696c73;

typedef struct {
  int n, k;
  size_t pairs, planes;
  const blica_model *model;
  const bl_rows *rows;
  bl_pooled *pooled; /* shrunk thresholds; it owns the arrays below */
  bl_influence *influence;
  bl_units_reader units;
  const double *t;          /* [planes] thresholds of the segment */
  double *share;            /* [planes] their probabilities */
  double *rho, *scale;      /* [pairs], [n] of the model */
  double *load, *z;         /* [n,k] standardised loadings, [k] a draw */
  int *item, *items;        /* [ITEMS,k] of a source, those with the largest loadings, and [k] how many */
  double *w;                /* [ITEMS,k] */
  double *y, *slope, *each; /* [n], [n] dy/dq, and its part by threshold [planes] */
  double *gradient;         /* [pairs + planes] of the sum over rows */
  double sum, variance;     /* of all segments */
} job;

/* Sets y of a row with the values x, or given sources z its expectation and slopes; missing items have 0. */
static void respond(job *b, const int8_t *x, const double *z) {
  for (int i = 0; i < b->n; i++) {
    double mean = 0;
    b->y[i] = b->slope[i] = 0;
    for (int j = 0; z && j < b->k; j++) mean += b->load[i + b->n * j] * z[j];
    const int first = bl_plane(b->rows->coding, i), last = bl_plane(b->rows->coding, i + 1);
    for (int p = first; p < last && x[i] != BLICA_MISSING; p++) {
      const double at = (b->t[p] - mean) / b->scale[i];
      b->y[i] += (z ? bl_phi_cdf(at) : x[i] > p - first) - b->share[p];
      if (z) b->slope[i] += b->each[p] = bl_phi_density(at) / b->scale[i];
    }
  }
}

/* The sum over sources of the polynomials of y; with weight, adds weight times their slopes to the gradient. */
static double statistic(job *b, const int8_t *x, double weight) {
  double sum = 0;
  for (int j = 0; j < b->k; j++) {
    const int *item = b->item + ITEMS * j;
    const double *w = b->w + ITEMS * j;
    double e[5] = {1};
    for (int a = 0; a < b->items[j]; a++)
      for (int o = 4; o > 0; o--) e[o] += w[a] * b->y[item[a]] * e[o - 1];
    sum += e[4];
    for (int a = 0; a < b->items[j] && weight > 0; a++) {
      const int i = item[a];
      const double own = w[a] * b->y[i], e1 = e[1] - own, e2 = e[2] - own * e1, e3 = e[3] - own * e2;
      if (x[i] == BLICA_MISSING) continue;
      for (int p = bl_plane(b->rows->coding, i); p < bl_plane(b->rows->coding, i + 1); p++)
        b->gradient[b->pairs + p] += weight * w[a] * b->each[p] * e3;
      for (int c = 0; c < a; c++) {
        const int l = item[c];
        const double other = w[c] * b->y[l];
        b->gradient[i < l ? blica_pair(i, l) : blica_pair(l, i)] +=
            weight * w[a] * w[c] * b->slope[i] * b->slope[l] * (e2 - other * (e1 - other));
      }
    }
  }
  return sum;
}

/* Takes item i into those of source j if its loading is among the largest; keeps them in falling order. */
static void take_item(job *b, int i, int j, double w) {
  int *item = b->item + ITEMS * j, at = b->items[j];
  const double *load = b->load + b->n * j;
  while (at > 0 && fabs(load[item[at - 1]]) < fabs(load[i])) at--;
  if (at == ITEMS) return;
  b->items[j] = b->items[j] < ITEMS ? b->items[j] + 1 : ITEMS;
  const size_t after = (size_t)(b->items[j] - 1 - at);
  memmove(item + at + 1, item + at, after * sizeof *item);
  memmove(b->w + ITEMS * j + at + 1, b->w + ITEMS * j + at, after * sizeof *b->w);
  item[at] = i, b->w[ITEMS * j + at] = w;
}

/* Everything that does not depend on rows. */
static void describe(job *b, const blica_counts *counts, int s) {
  const blica_model *m = b->model;
  const double *v = m->variances + b->k * s;
  b->t = b->pooled->t + b->planes * (size_t)s;
  bl_implied_rho(m->n, m->k, m->link, m->mixing, v, b->scale, b->rho);
  bl_influence_describe(counts, s, b->rho, b->t, b->t, b->influence);
  for (int j = 0; j < b->k; j++) b->items[j] = 0;
  for (int i = 0; i < b->n; i++) {
    const int first = bl_plane(b->rows->coding, i), last = bl_plane(b->rows->coding, i + 1);
    double slope = 0, variance = 0;
    for (int p = first; p < last; p++) b->share[p] = bl_phi_cdf(b->t[p]), slope += bl_phi_density(b->t[p]);
    for (int p = first; p < last; p++)
      for (int q = first; q < last; q++) variance += fmin(b->share[p], b->share[q]) - b->share[p] * b->share[q];
    for (int j = 0; j < b->k; j++) {
      b->load[i + b->n * j] = sqrt(m->link * v[j]) * m->mixing[i + b->n * j] * b->scale[i];
      if (b->pooled->used[i + b->n * s] && variance > 0) take_item(b, i, j, b->load[i + b->n * j] * slope / variance);
    }
  }
}

/* The sum over the rows of segment s of what the model expects, and its gradient. Draws take rows in turn, as often as
 * their weights say. */
static double expect(job *b, int s) {
  const bl_rows *rows = b->rows;
  const double size = rows->size[s], per = fmin(DRAWS_OF_ROW, DRAWS / (double)rows->row_first[rows->u]);
  const int draws = (int)fmax(DRAWS_LEAST, per * size);
  int64_t at = rows->first[s];
  double passed = rows->weight[at], sum = 0, squares = 0;
  bl_rng rng = bl_rng_make(SEED, (uint64_t)s);
  memset(b->gradient, 0, (b->pairs + b->planes) * sizeof *b->gradient);
  for (int d = 0; d < draws; d++) {
    while (passed < (d + 0.5) / draws * size && at + 1 < rows->first[s + 1]) passed += rows->weight[++at];
    const int8_t *x = rows->x + (size_t)b->n * (size_t)at;
    for (int j = 0; j < b->k; j++) b->z[j] = bl_rng_normal(&rng);
    respond(b, x, b->z);
    const double one = statistic(b, x, size / draws);
    sum += one, squares += one * one;
  }
  b->variance += size * size / draws * (squares - sum * sum / draws) / draws;
  return sum * size / draws;
}

/* The statistic of the row of pattern p. */
static double observe(job *b, int64_t p) {
  const int8_t *x = b->rows->x + (size_t)b->n * (size_t)p;
  respond(b, x, NULL);
  return statistic(b, x, 0);
}

/* Adds segment s to sum and variance. */
static void add_segment(job *b, const blica_counts *counts, int s) {
  const bl_rows *rows = b->rows;
  double sum = 0, squares = 0, size = 0;
  int64_t at = 0, unit = rows->first[s];
  if (rows->first[s + 1] == unit) return;
  describe(b, counts, s);
  b->sum -= expect(b, s);
  if (rows->unit_first) (void)bl_units(rows, s, &unit);
  for (int count; (count = bl_units_read(&b->units, s, &at)) > 0;)
    for (int c = 0; c < count; c++, unit++) {
      double value = rows->unit_first ? 0 : b->units.size[c] * observe(b, unit);
      int64_t from, to;
      bl_unit_rows(rows, unit, &from, &to);
      for (int64_t r = from; r < to && rows->unit_first; r++)
        value += bl_row_weight(rows, r) * observe(b, rows->row[r]);
      value -= bl_ddot((int)(b->pairs + b->planes), b->gradient, 1, b->units.psi + b->units.q * (size_t)c, 1);
      sum += b->units.times[c] * value, squares += b->units.times[c] * value * value, size += b->units.times[c];
    }
  b->sum += sum, b->variance += squares - sum * sum / size;
}

blica_status bl_tails_test(blica_ctx *ctx, const blica_model *m, const bl_rows *rows, const blica_counts *counts,
                           double *p) {
  blica_status status;
  const size_t n = (size_t)m->n, k = (size_t)m->k, planes = (size_t)rows->planes, pairs = n * (n - 1) / 2;
  job b = {.n = m->n, .k = m->k, .pairs = pairs, .planes = planes, .model = m, .rows = rows};
  const struct {
    double **x;
    size_t size;
  } arrays[] = {{&b.share, planes}, {&b.rho, pairs}, {&b.scale, n}, {&b.load, n * k},  {&b.z, k},
                {&b.w, ITEMS * k},  {&b.y, n},       {&b.slope, n}, {&b.each, planes}, {&b.gradient, pairs + planes}};
  bl_blas_hold();
  TRY(bl_pooled_make(ctx, m->n, m->u, rows->coding, true, &b.pooled));
  TRY(bl_influence_make(ctx, m->n, rows->coding, BL_THRESHOLDS, &b.influence));
  TRY(bl_units_make(ctx, b.influence, b.influence, rows, &b.units));
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    TRY(bl_alloc_for(ctx, b.pooled, arrays[i].size, arrays[i].x));
  TRY(bl_alloc_for(ctx, b.pooled, ITEMS * k, &b.item));
  TRY(bl_alloc_for(ctx, b.pooled, k, &b.items));
  bl_pooled_margins(counts, b.pooled);
  for (int s = 0; s < m->u; s++) {
    if (bl_poll(ctx, &(blica_progress){.stage = "fit statistics", .fraction = (double)s / m->u, .objective = NAN}))
      FAIL(ctx, BLICA_ERR_INTERRUPTED, "interrupted while the tails of the sources were tested");
    add_segment(&b, counts, s);
  }
  *p = b.variance > 0 ? bl_phi_cdf(-b.sum / sqrt(b.variance)) : NAN;
done:
  bl_blas_release();
  bl_free(b.influence);
  bl_free(b.pooled);
  return status;
}
