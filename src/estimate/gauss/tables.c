/* tables.c - the likelihood of the 2x2 tables of all pairs, and the share of the weight that method matched gives them.
 *
 * F = -w sum over pairs and cells of n log P, P11 = Phi2(t_i, t_j; rho), the other cells by subtraction, thresholds
 * fixed at the margins, rho = R_ij. A variable takes part in n - 1 tables, so the terms are not independent: w (1/2 by
 * default) keeps them from being counted as if they were. Tables of one variable with all before it are computed eight
 * at a time (num/normal/bvn_kernel.c).
 *
 * Pairs of a segment come in parts, columns of about equal work whose number depends on n alone; threads share the
 * parts of all segments, and sums run over pairs of a part and then over parts, whoever makes them.
 *
 * Rare outcomes. Where both items of a pair are rare and the table has few rows in its smallest cell, the tetrachoric
 * correlation is far from normal and its precision depends on its sign: method matched then shares the segment between
 * its Gaussian likelihood and the likelihood of the tables (docs/method.md, equation 30). The share of a pair is min(1,
 * 2 sqrt(r_i r_j)) / (1 + (e/100)^2),  r = max(0, 1 - p/0.25),  e = N p_i p_j, p the share of the rarer value of an
 * item and e the count that independence predicts; that of a segment is the mean over pairs. It is 0 when no two items
 * have a value rarer than one in four.
 *
 * One rare item is enough where it leaves cells empty: a correlation from a cell that was filled is drawn towards 0,
 * which no weight makes good. With f the share of all tables that have an empty cell and w the mean over pairs of
 * max(0, 1 - min(p_i, p_j)/0.25), the share is at least 1 - exp(-f w/0.02) where that is above a tenth: tables take
 * time and memory. */
#include <string.h>

#include "cor/cor.h"
#include "data/coding.h"
#include "estimate/gauss/gauss.h"
#include "num/linear/blas.h"
#include "num/normal/tables.h"
#include "num/normal/normal.h"

static const double RHO_MAX = 1 - 1e-12; /* at 1 the density is infinite; beyond this the value stays as it is */
enum { TOGETHER = 64, PART_PAIRS = 512, MOST_PARTS = 32 };

typedef struct {
  const bl_tables *t;
  blica_simd level;
  bl_places_of_segments places;
  int parts;          /* of a segment */
  size_t work_size;   /* of a segment: d [n], B [n,k], the results of its parts */
  size_t result_size; /* of a part: value, shares of the diagonal [n], slopes of its pairs, room [n] */
  double *work;       /* of this rank's segments */
  double *g;          /* [n,n] per thread */
  const double *theta;
} evaluation;

/* ---- the tables ---- */

typedef struct {
  double h[TOGETHER], below[TOGETHER], above[TOGETHER], rho[TOGETHER], cell[4][TOGETHER], value[TOGETHER],
      slope[TOGETHER];
} batch;

/* Tables of j with first, first + 1, ...; what is left of a multiple of eight is a copy of the last. */
static int fill(const bl_tables *t, int s, int j, int first, const double *rho, batch *b) {
  const size_t base = (size_t)t->layout.n * (size_t)s;
  const int count = j - first < TOGETHER ? j - first : TOGETHER;
  for (int at = 0; at < (count + 7) / 8 * 8; at++) {
    const int i = first + (at < count ? at : count - 1);
    double cell[4];
    blica_counts_table(t->counts, s, i, j, cell);
    for (int c = 0; c < 4; c++) b->cell[c][at] = cell[c];
    b->h[at] = t->thresholds[base + (size_t)i];
    b->below[at] = t->below[base + (size_t)i], b->above[at] = t->above[base + (size_t)i];
    b->rho[at] = fmin(fmax(rho[i], -RHO_MAX), RHO_MAX);
  }
  return count;
}

/* The sum over pairs (i,j), i < j, of one j at correlations rho [j], and the slope of each there. */
static double sum_of_item(const evaluation *e, int s, int j, const double *rho, double *slope) {
  const bl_tables *t = e->t;
  const size_t own = (size_t)t->layout.n * (size_t)s + (size_t)j;
  const double weight = t->weight[s];
  double value = 0;
  batch b;
  if (weight == 0) {
    for (int i = 0; i < j; i++) slope[i] = 0;
    return 0;
  }
  const bl_bvn_tables tables = {.h = b.h,
                                .below = b.below,
                                .above = b.above,
                                .k = t->thresholds[own],
                                .k_below = t->below[own],
                                .k_above = t->above[own],
                                .n11 = b.cell[0],
                                .n10 = b.cell[1],
                                .n01 = b.cell[2],
                                .n00 = b.cell[3],
                                .rho = b.rho,
                                .value = b.value,
                                .slope = b.slope};
  for (int first = 0; first < j; first += TOGETHER) {
    const int count = fill(t, s, j, first, rho, &b);
    bl_bvn_tables_run(e->level, &tables, count);
    for (int at = 0; at < count; at++) {
      value += b.value[at];
      slope[first + at] = fabs(rho[first + at]) > RHO_MAX ? 0 : weight * b.slope[at];
    }
  }
  return weight * value;
}

/* ---- parts ---- */

static int bound(const evaluation *e, int part) {
  const int n = e->t->layout.n;
  return part == e->parts ? n : (int)(n * sqrt((double)part / e->parts));
}

static double *work_of(const evaluation *e, int64_t own) {
  return e->work + e->work_size * (size_t)own;
}
static double *result_of(const evaluation *e, int64_t own, int part) {
  const size_t n = (size_t)e->t->layout.n, k = (size_t)e->t->layout.k;
  return work_of(e, own) + n + n * k + e->result_size * (size_t)part;
}

/* d and B of a segment; `own` counts from this rank's first. */
static void begin_segment(int64_t own, int thread, void *user) {
  const evaluation *e = user;
  const bl_layout *p = &e->t->layout;
  const int n = p->n, k = p->k;
  const double *a = e->theta, *log_v = a + bl_local(p, (int)(e->places.split.first + own));
  double *d = work_of(e, own), *b = d + n;
  (void)thread;
  for (int i = 0; i < n; i++) d[i] = 1;
  for (int j = 0; j < k; j++) {
    const double root = sqrt(p->link * exp(log_v[j]));
    for (int i = 0; i < n; i++) {
      const double own_b = root * a[i + (size_t)j * n];
      b[i + (size_t)j * n] = own_b, d[i] += own_b * own_b;
    }
  }
  for (int i = 0; i < n; i++) d[i] = 1 / sqrt(d[i]);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) b[i + (size_t)j * n] *= d[i];
}

/* One part's sum over pairs, and the slopes by correlations. */
static void sum_part(int64_t item, int thread, void *user) {
  const evaluation *e = user;
  const int n = e->t->layout.n, k = e->t->layout.k, part = (int)(item % e->parts);
  const int64_t own = item / e->parts;
  const double *b = work_of(e, own) + n;
  double *result = result_of(e, own, part), *diagonal = result + 1, *slopes = diagonal + n,
         *rho = result + e->result_size - n, value = 0;
  *result = BL_LEFT_OUT;
  if (bl_loop_stopped(e->places.ctx, thread)) return;
  memset(diagonal, 0, (size_t)n * sizeof *diagonal);
  for (int j = bound(e, part); j < bound(e, part + 1); slopes += j++) {
    if (j > 0) bl_dgemv('N', j, k, 1, b, n, b + j, n, 0, rho, 1);
    value += sum_of_item(e, (int)(e->places.split.first + own), j, rho, slopes);
    for (int i = 0; i < j; i++) {
      diagonal[i] += slopes[i] * rho[i];
      diagonal[j] += slopes[i] * rho[i];
    }
  }
  *result = value;
}

/* The value, from the results of all parts, and its gradient: with G the symmetric matrix of slopes, its diagonal -
 * sum_j G_ij R_ij, dF/dA = diag(d) G B diag(b)^1/2 (docs/method.md, equation 22, where G counts each pair twice). */
static void end_segment(int64_t own, int thread, void *user) {
  evaluation *e = user;
  const bl_layout *p = &e->t->layout;
  const int n = p->n, k = p->k;
  const size_t s = (size_t)(e->places.split.first + own), nn = (size_t)n * (size_t)n;
  const double *d = work_of(e, own), *b = d + n, *log_v = e->theta + bl_local(p, (int)s);
  double *mixing = e->places.mixing + (size_t)n * (size_t)k * s, *local = e->places.local + (size_t)p->locals * s,
         *g = e->g + nn * (size_t)thread, value = 0;
  memset(g, 0, nn * sizeof *g);
  for (int part = 0; part < e->parts; part++) {
    const double *result = result_of(e, own, part), *slopes = result + 1 + n;
    if (*result == BL_LEFT_OUT) {
      e->places.value[s] = BL_LEFT_OUT;
      return;
    }
    value += *result;
    for (int i = 0; i < n; i++) g[(size_t)i * (size_t)(n + 1)] -= result[1 + i];
    for (int j = bound(e, part); j < bound(e, part + 1); j++)
      for (int i = 0; i < j; i++) g[j + (size_t)i * n] = *slopes++;
  }
  bl_dsymm('L', 'L', n, k, 1, g, n, b, n, 0, mixing, n);
  for (int j = 0; j < k; j++) {
    const double root = sqrt(p->link * exp(log_v[j])), *a = e->theta + (size_t)j * n;
    double *own_mixing = mixing + (size_t)j * n;
    for (int i = 0; i < n; i++) own_mixing[i] *= d[i] * root;
    local[j] = 0.5 * bl_ddot(n, own_mixing, 1, a, 1);
  }
  e->places.value[s] = value;
}

/* ---- the term ---- */

static void close_tables(void *work) {
  evaluation *e = work;
  bl_segments_close(&e->places);
  bl_free(e);
}

static blica_status open_tables(blica_ctx *ctx, const void *data, void **work) {
  blica_status status;
  evaluation *e = NULL;
  const bl_tables *t = data;
  const int n = t->layout.n, parts = (int)((int64_t)n * (n - 1) / 2 / PART_PAIRS);
  int64_t most = 0;
  TRY(bl_alloc(ctx, 1, &e));
  e->t = t, e->level = blica_simd_level(ctx);
  e->parts = parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : parts;
  for (int part = 0; part < e->parts; part++) {
    const int64_t first = bound(e, part), last = bound(e, part + 1),
                  pairs = (last * (last - 1) - first * (first - 1)) / 2;
    if (pairs > most) most = pairs;
  }
  e->result_size = 1 + 2 * (size_t)n + (size_t)most;
  e->work_size = (size_t)n * (size_t)(t->layout.k + 1) + e->result_size * (size_t)e->parts;
  TRY(bl_segments_open(ctx, &t->layout, 1, &e->places));
  TRY(bl_alloc_for(ctx, e, bl_mul(e->work_size, (size_t)(e->places.split.last - e->places.split.first)), &e->work));
  TRY(bl_alloc_for(ctx, e, bl_mul((size_t)n * (size_t)n, (size_t)bl_max_threads(ctx)), &e->g));
  *work = e;
  e = NULL;
done:
  if (e) close_tables(e);
  return status;
}

static double eval_tables(void *work, const double *theta, double *gradient) {
  evaluation *e = work;
  const int64_t segments = e->places.split.last - e->places.split.first;
  e->theta = theta;
  bl_parallel(e->places.ctx, segments, begin_segment, e);
  bl_parallel(e->places.ctx, segments * e->parts, sum_part, e);
  bl_parallel(e->places.ctx, segments, end_segment, e);
  return bl_segments_add(&e->places, gradient);
}

bl_term bl_tables_term(bl_tables *t) {
  return (bl_term){.data = t, .open = open_tables, .close = close_tables, .eval = eval_tables};
}

blica_status bl_tables_make(blica_ctx *ctx, const bl_layout *layout, const blica_counts *counts,
                            const double *thresholds, bl_tables **out) {
  BL_OWNED bl_tables *t = NULL;
  const size_t items = (size_t)layout->n * (size_t)layout->u;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &t));
  t->layout = *layout, t->counts = counts, t->thresholds = thresholds;
  MUST(bl_alloc_for(ctx, t, (size_t)layout->u, &t->weight));
  MUST(bl_alloc_for(ctx, t, items, &t->below));
  MUST(bl_alloc_for(ctx, t, items, &t->above));
  for (size_t i = 0; i < items; i++) t->below[i] = bl_phi_cdf(thresholds[i]), t->above[i] = bl_phi_cdf(-thresholds[i]);
  *out = bl_take(&t);
  return BLICA_OK;
}

/* ---- rare outcomes ---- */

static const double COMMON = 0.25, ENOUGH = 100, EMPTY = 0.02, WORTH = 0.1;
static const double LEAST = 0.01; /* shares below are 0 */

static double rarer(const blica_cor *cor, int s, int i) {
  const double t = cor->thresholds[(size_t)i + (size_t)cor->n * (size_t)s];
  return bl_phi_cdf(-fabs(t));
}

double bl_rare_share(const blica_cor *cor, int s) {
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

bool bl_is_rare(const blica_cor *cor) {
  if (bl_coding_ordinal(cor->coding)) return false; /* it is a share of ones that is rare */
  for (int s = 0; s < cor->u && !cor->exact; s++)
    if (bl_rare_share(cor, s) > 0) return true;
  return false;
}
