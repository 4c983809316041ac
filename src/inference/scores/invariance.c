/* invariance.c - which items have other cuts or loadings in some segments.
 *
 * Let S_s, J_s and V_s be scores, information and variance of the shared parameters in segment s (item_scores.c). With
 * J = sum J_s and B_s = J_s J^+, the scores less what the common parameters take of them,
 *     T_s = S_s - B_s sum_t S_t,   Cov T_s = V_s - B_s V_s - V_s B_s' + B_s (sum_t V_t) B_s',
 * are free of the errors of the common parameters to first order. One item in one segment: chi-square of its block of
 * T_s, whose rank is that of the block of Cov T_s; its estimated difference is the block of J_s - B_s J_s, inverted,
 * times that of T_s. One item over all segments: the sum Q of these chi-squares, with the mean r = sum of ranks and the
 * variance 2 mean rank sum_st c_st^2, c_ss = 1, c_st^2 = f_s f_t / ((1 - f_s)(1 - f_t)), f_s the shares of the rows;
 * its tail is that of the gamma distribution with these moments (exact for segments of one size).
 *
 * The item and segment with the least p is set apart while that is significant after Benjamini and Hochberg (1995):
 * its block is projected out of S_s, J_s and V_s by J_s, as if it had parameters of its own there. What the model has
 * freed is set apart from the start. After Merkle and
 * Zeileis (Psychometrika 78, 2013) and, for setting apart stepwise, Lautenschlager and Park (Applied Psychological
 * Measurement 12, 1988). Size and power: bench/results/invariance.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "inference/scores/item_scores.h"
#include "inference/scores/table.h"
#include "model/model.h"
#include "num/linear/blas.h"
#include "num/chi2.h"
#include "num/normal/normal.h"

static const blica_option invariance_table[] = {
    BL_ROW("level", BL_FIELD(blica_invariance_options, level), BLICA_OPT_REAL, "0.05", 1e-6, 0.5, NULL, "RATE",
           "False discovery rate at which an item counts as different: the share of those named that do not differ."),
};
BL_OPTION_TABLE(invariance, invariance_table)

static const double SINGULAR = 1e-6; /* eigenvalues below this share of the largest are 0 */

const char *blica_item_part_name(blica_item_part part) {
  return part == BLICA_CUTS ? "cuts" : part == BLICA_LOADINGS ? "loadings" : NULL;
}

/* ---- small symmetric matrices ---- */

/* out [m] <- x^+ z, eigenvalues up to `least` being 0; x is destroyed, value [m] is workspace. Returns z'x^+ z; *rank
 * is that of x. */
static double solve(size_t m, double *x, double *value, double least, const double *z, double *out, int *rank) {
  double sum = 0;
  *rank = 0;
  memset(out, 0, m * sizeof *out);
  if (bl_dsyevd('V', 'L', (int)m, x, (int)m, value) != 0) return 0;
  for (size_t e = 0; e < m; e++) {
    if (!(value[e] > least)) continue;
    const double part = bl_ddot((int)m, x + m * e, 1, z, 1);
    sum += part * part / value[e];
    bl_daxpy((int)m, part / value[e], x + m * e, 1, out, 1);
    ++*rank;
  }
  return sum;
}

/* ---- the tests of one kind ---- */

typedef struct {
  double *b, *bv, *bt; /* [m,m] B_s, B_s V_s, B_s sum V */
  double *block;       /* [most,most] twice, [most] twice */
} workspace;

typedef struct {
  blica_ctx *ctx;
  const bl_item_scores *scores;
  int n, u;
  size_t m, most;    /* most: parameters of an item */
  double *s, *j, *v; /* those of scores, less what is set apart */
  double *inverse;   /* [m,m] J^+ */
  double *total;     /* [m,m] sum of V */
  double *delta;     /* [m] J^+ sum of S */
  double *chi2, *p;  /* [n,u]; p is NaN where nothing can be tested */
  int *rank;         /* [n,u] */
  int *found;        /* [n,u] set apart as the first, ...; 0: not; -1: freed by the fit */
  double *change;    /* [m,u] estimated differences */
  workspace *workspace;
} tests;

static blica_status allocate_tests(tests *t) {
  blica_ctx *ctx = t->ctx;
  const size_t m = t->m, square = bl_mul(m, m), u = (size_t)t->u, cells = bl_mul((size_t)t->n, u);
  double **const squares[] = {&t->inverse, &t->total}, **const by_segment[] = {&t->j, &t->v};
  for (int i = 0; i < 2; i++) MUST(bl_alloc_for(ctx, t, square, squares[i]));
  for (int i = 0; i < 2; i++) MUST(bl_alloc_for(ctx, t, bl_mul(square, u), by_segment[i]));
  MUST(bl_alloc_for(ctx, t, bl_mul(m, u), &t->s));
  MUST(bl_alloc_for(ctx, t, bl_mul(m, u), &t->change));
  MUST(bl_alloc_for(ctx, t, m, &t->delta));
  MUST(bl_alloc_for(ctx, t, cells, &t->chi2));
  MUST(bl_alloc_for(ctx, t, cells, &t->p));
  MUST(bl_alloc_for(ctx, t, cells, &t->rank));
  MUST(bl_alloc_for(ctx, t, cells, &t->found));
  MUST(bl_alloc_for(ctx, t, (size_t)bl_max_threads(ctx), &t->workspace));
  for (int i = 0; i < bl_max_threads(ctx); i++) {
    workspace *w = &t->workspace[i];
    MUST(bl_alloc_for(ctx, t, bl_mul(3, square), &w->b));
    w->bv = w->b + square, w->bt = w->bv + square;
    MUST(bl_alloc_for(ctx, t, 2 * t->most * (t->most + 1), &w->block));
  }
  return BLICA_OK;
}

static blica_status make_tests(blica_ctx *ctx, const bl_item_scores *o, tests **out) {
  blica_status status;
  tests *t;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &t));
  *t = (tests){.ctx = ctx, .scores = o, .n = o->n, .u = o->u, .m = o->m};
  for (size_t i = 0; i < (size_t)o->n; i++)
    if (o->place[i + 1] - o->place[i] > t->most) t->most = o->place[i + 1] - o->place[i];
  TRY(allocate_tests(t));
  memcpy(t->s, o->score, o->m * (size_t)o->u * sizeof *t->s);
  memcpy(t->j, o->information, o->m * o->m * (size_t)o->u * sizeof *t->j);
  memcpy(t->v, o->variance, o->m * o->m * (size_t)o->u * sizeof *t->v);
  *out = bl_take(&t);
done:
  bl_free(t);
  return status;
}

/* J^+, and what follows from the sums over segments. */
static blica_status pool_information(tests *t) {
  const size_t m = t->m, square = m * m;
  const int im = (int)m;
  BL_OWNED double *vector = NULL, *value = NULL;
  MUST(bl_alloc(t->ctx, square, &vector));
  MUST(bl_alloc(t->ctx, 2 * m, &value));
  double *sum = value + m;
  memset(t->total, 0, square * sizeof *t->total);
  memset(t->inverse, 0, square * sizeof *t->inverse);
  for (size_t s = 0; s < (size_t)t->u; s++) {
    bl_daxpy(im, 1, t->s + m * s, 1, sum, 1);
    for (size_t c = 0; c < square; c++) vector[c] += t->j[c + square * s], t->total[c] += t->v[c + square * s];
  }
  if (bl_dsyevd('V', 'L', im, vector, im, value) != 0)
    return bl_fail_outside(t->ctx, BLICA_ERR_NUMERIC,
                           "the eigenvalues of the information about items did not converge");
  for (size_t e = 0; e < m; e++)
    if (value[e] > SINGULAR * value[m - 1]) bl_dsyr('L', im, 1 / value[e], vector + m * e, 1, t->inverse, im);
  for (size_t c = 0; c < m; c++)
    for (size_t a = 0; a < c; a++) t->inverse[a + m * c] = t->inverse[c + m * a];
  bl_dgemv('N', im, im, 1, t->inverse, im, sum, 1, 0, t->delta, 1);
  return BLICA_OK;
}

/* The test of item i in segment s. */
static void test_item(tests *t, size_t i, size_t s, const workspace *w) {
  const size_t m = t->m, first = t->scores->place[i], size = t->scores->place[i + 1] - first, at = i + (size_t)t->n * s;
  const double *j = t->j + m * m * s, *v = t->v + m * m * s;
  double *block = w->block, *own = block + size * size, *value = own + size * size, *z = value + size;
  double *change = t->change + first + m * s, scale = 0, most = 0;
  int rank;
  for (size_t c = 0; c < size; c++) {
    const size_t column = first + c;
    z[c] = t->s[column + m * s] - bl_ddot((int)m, j + m * column, 1, t->delta, 1);
    scale += v[column * (m + 1)] / (double)size;
    for (size_t a = 0; a < size; a++) {
      const size_t row = first + a;
      block[a + size * c] = v[row + m * column] - w->bv[row + m * column] - w->bv[column + m * row] +
                            bl_ddot((int)m, w->bt + row, (int)m, w->b + column, (int)m);
      own[a + size * c] = j[row + m * column] - bl_ddot((int)m, w->b + row, (int)m, j + m * column, 1);
    }
    most = fmax(most, own[c * (size + 1)]);
  }
  t->chi2[at] = solve(size, block, value, SINGULAR * scale, z, change, &t->rank[at]);
  t->p[at] = t->rank[at] > 0 ? bl_chi2_upper(t->chi2[at], t->rank[at]) : NAN;
  (void)solve(size, own, value, 1e-4 * most, z, change, &rank);
}

/* All items of one segment that are not set apart there. */
static void test_segment(int64_t item, int thread, void *user) {
  tests *t = user;
  const workspace *w = &t->workspace[thread];
  const size_t m = t->m, s = (size_t)item;
  const int im = (int)m;
  bl_dgemm('N', 'N', im, im, im, 1, t->j + m * m * s, im, t->inverse, im, 0, w->b, im);
  bl_dgemm('N', 'N', im, im, im, 1, w->b, im, t->v + m * m * s, im, 0, w->bv, im);
  bl_dgemm('N', 'N', im, im, im, 1, w->b, im, t->total, im, 0, w->bt, im);
  for (size_t i = 0; i < (size_t)t->n; i++)
    if (t->found[i + (size_t)t->n * s] == 0) test_item(t, i, s, w);
}

static blica_status test_all(tests *t) {
  MUST(pool_information(t));
  bl_blas_hold();
  bl_parallel(t->ctx, t->u, test_segment, t);
  bl_blas_release();
  return BLICA_OK;
}

/* Gives item i parameters of its own in segment s: projects its block out. */
static blica_status set_apart(tests *t, size_t i, size_t s) {
  const size_t m = t->m, first = t->scores->place[i], size = t->scores->place[i + 1] - first;
  const int im = (int)m, is = (int)size;
  double *j = t->j + m * m * s, *v = t->v + m * m * s, *score = t->s + m * s;
  double *own = t->workspace->block, *own_score = own + size * size;
  BL_OWNED double *x = NULL, *row = NULL;
  MUST(bl_alloc(t->ctx, m * size, &x));
  MUST(bl_alloc(t->ctx, m * size, &row));
  for (size_t c = 0; c < size; c++)
    for (size_t a = 0; a < m; a++) x[c + size * a] = row[c + size * a] = j[first + c + m * a];
  double most = 0;
  for (size_t c = 0; c < size; c++) most = fmax(most, row[c + size * (first + c)]);
  for (size_t c = 0; c < size; c++)
    for (size_t a = 0; a < size; a++) own[a + size * c] = row[a + size * (first + c)] + (a == c ? 1e-10 * most : 0);
  if (bl_dpotrf('L', is, own, is) != 0) return BLICA_OK; /* it has no parameters here */
  bl_dpotrs('L', is, im, own, is, x, is);
  memcpy(own_score, score + first, size * sizeof *own_score); /* dgemv may write y before it has read x */
  bl_dgemv('T', is, im, -1, x, is, own_score, 1, 1, score, 1);
  bl_dgemm('T', 'N', im, im, is, -1, x, is, row, is, 1, j, im);
  for (int side = 0; side < 2; side++) { /* V - X'V_i., then the same from the right */
    for (size_t c = 0; c < size; c++)
      for (size_t a = 0; a < m; a++) row[c + size * a] = side ? v[a + m * (first + c)] : v[first + c + m * a];
    if (side)
      bl_dgemm('T', 'N', im, im, is, -1, row, is, x, is, 1, v, im);
    else
      bl_dgemm('T', 'N', im, im, is, -1, x, is, row, is, 1, v, im);
  }
  memset(score + first, 0, size * sizeof *score);
  return BLICA_OK;
}

/* ---- Benjamini and Hochberg ---- */

typedef struct {
  double p;
  size_t at;
} ordered;

static int by_p(const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (x->p != y->p) return x->p < y->p ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* adjusted [count] of p; NaN stays NaN and does not count. */
static blica_status adjust(blica_ctx *ctx, size_t count, const double *p, double *adjusted) {
  BL_OWNED ordered *list = NULL;
  size_t valid = 0;
  MUST(bl_alloc(ctx, count, &list));
  for (size_t i = 0; i < count; i++) {
    adjusted[i] = NAN;
    if (!isnan(p[i])) list[valid++] = (ordered){p[i], i};
  }
  qsort(list, valid, sizeof *list, by_p);
  double least = 1;
  for (size_t r = valid; r-- > 0;)
    least = adjusted[list[r].at] = fmin(least, list[r].p * ((double)valid / (double)(r + 1)));
  return BLICA_OK;
}

/* ---- one kind, from the first test to the last ---- */

/* How many items are set apart in segment s. */
static int apart_in(const tests *t, int s) {
  int count = 0;
  for (int i = 0; i < t->n; i++) count += t->found[i + t->n * s] != 0;
  return count;
}

/* Sets apart what has cuts, or a row of A, of its own in the model. */
static blica_status apart_from_the_start(tests *t, const blica_model *m, blica_item_part kind) {
  for (int s = 0; s < t->u; s++)
    for (int i = 0; i < t->n; i++) {
      const size_t at = (size_t)(i + t->n * s);
      if (bl_freed(m, i, s) < (kind == BLICA_CUTS ? BLICA_FREED_CUTS : BLICA_FREED_ROW)) continue;
      MUST(set_apart(t, (size_t)i, (size_t)s));
      t->found[at] = -1, t->p[at] = NAN;
    }
  return BLICA_OK;
}

/* Sets items apart one after another, while one differs; half of those of a segment stay together. */
static blica_status purify(tests *t, double level, double *adjusted) {
  const size_t cells = (size_t)t->n * (size_t)t->u;
  for (int step = 1;; step++) {
    const blica_progress progress = {"invariance", -1, NAN, 0, 0};
    if (bl_poll(t->ctx, &progress)) return bl_fail(t->ctx, BLICA_ERR_INTERRUPTED, "the tests were interrupted");
    MUST(test_all(t));
    MUST(adjust(t->ctx, cells, t->p, adjusted));
    size_t best = cells;
    for (size_t at = 0; at < cells; at++)
      if (!t->found[at] && adjusted[at] <= level && 2 * (apart_in(t, (int)(at / (size_t)t->n)) + 1) <= t->n &&
          (best == cells || t->p[at] < t->p[best]))
        best = at;
    if (best == cells) return BLICA_OK;
    MUST(set_apart(t, best % (size_t)t->n, best / (size_t)t->n));
    t->found[best] = step;
  }
}

/* p of item i over all segments; where it is set apart in some, twice the least of the p of the others together and of
 * those there, times the number of segments. */
static double over_all(const tests *t, int i) {
  double q = 0, mean = 0, segments = 0, products = 0, first = NAN;
  for (int s = 0; s < t->u; s++) {
    const size_t at = (size_t)(i + t->n * s);
    const double f = t->scores->share[s], odds = f / (1 - f);
    if (t->found[at] < 0) continue;
    if (t->found[at]) {
      first = fmin(isnan(first) ? 1 : first, t->u * t->p[at]);
    } else if (t->rank[at] > 0) {
      q += t->chi2[at], mean += t->rank[at], segments++;
      for (int r = 0; r < s; r++) {
        const double other = t->scores->share[r];
        if (!t->found[i + t->n * r] && t->rank[i + t->n * r] > 0) products += 2 * odds * other / (1 - other);
      }
    }
  }
  double p = NAN;
  if (segments > 1) {
    const double variance = 2 * mean * (1 + products / segments);
    p = bl_chi2_upper(2 * q * mean / variance, 2 * mean * mean / variance);
  }
  return isnan(first) ? p : fmin(1, 2 * fmin(first, isnan(p) ? 1 : p));
}

/* ---- results ---- */

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  double *t;     /* [planes,u] observed thresholds */
  double *scale; /* [n,u] M_s,ii */
  blica_invariance_result *out;
} report;

/* Differences of the cuts of item i in segment s, in standard deviations and in probabilities. Returns their mean. */
static double describe_cuts(const report *r, int i, int s, const double *change) {
  const blica_coding *coding = r->model->coding;
  const int first = bl_plane(coding, i), last = bl_plane(coding, i + 1), planes = r->out->planes;
  double mean = 0, before = 0, *share = r->out->share + first + i + (planes + r->out->n) * s;
  for (int p = first; p < last; p++) {
    const double t = r->t[p + planes * s], shift = change[p - first] / sqrt(r->scale[i + r->out->n * s]);
    const double moved = bl_phi_cdf(t) - bl_phi_cdf(t + shift);
    r->out->shift[p + planes * s] = shift;
    *share++ = before - moved, before = moved;
    mean += shift / (last - first);
  }
  *share = before;
  return mean;
}

/* The standardised loadings of item i in segment s, with change [k] added to its row of A unless that is NULL. */
static void standardise(const blica_model *m, int i, int s, const double *change, double *loading) {
  double variance = 1;
  for (int l = 0; l < m->k; l++) {
    loading[l] = (m->mixing[i + l * m->n] + (change ? change[l] : 0)) * sqrt(m->link * m->variances[l + m->k * s]);
    variance += loading[l] * loading[l];
  }
  for (int l = 0; l < m->k; l++) loading[l] /= sqrt(variance);
}

/* Changes of the loadings of item i in segment s. Returns the largest. */
static double describe_loadings(const report *r, int i, int s, const double *change) {
  const int n = r->out->n, k = r->out->k;
  double now[BL_ITEM_SCORES_SOURCES] = {0}, before[BL_ITEM_SCORES_SOURCES] = {0}, most = 0;
  standardise(r->model, i, s, NULL, before);
  standardise(r->model, i, s, change, now);
  for (int l = 0; l < k; l++) {
    const double difference = now[l] - before[l];
    r->out->loading[i + n * (l + k * s)] = difference;
    if (fabs(difference) > fabs(most)) most = difference;
  }
  return most;
}

/* Over all segments before single ones, those that cannot be tested last. */
static int by_worth(const void *a, const void *b) {
  const blica_item_test *x = a, *y = b;
  const double p[] = {isnan(x->p) ? 2 : x->p_adjusted, isnan(y->p) ? 2 : y->p_adjusted};
  if ((x->segment < 0) != (y->segment < 0)) return x->segment < 0 ? -1 : 1;
  if (p[0] != p[1]) return p[0] < p[1] ? -1 : 1;
  if (x->p != y->p && p[0] < 2) return x->p < y->p ? -1 : 1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return x->item != y->item ? x->item - y->item : x->segment - y->segment;
}

/* Adds the tests of one kind; adjusted [n,u]. */
static blica_status add_tests(const report *r, blica_item_part kind, const tests *t, const double *adjusted) {
  blica_invariance_result *out = r->out;
  BL_OWNED double *p = NULL;
  MUST(bl_alloc(r->ctx, 2 * (size_t)t->n, &p));
  for (int i = 0; i < t->n; i++) p[i] = over_all(t, i);
  MUST(adjust(r->ctx, (size_t)t->n, p, p + t->n));
  for (int i = 0; i < t->n; i++) {
    double most = 0;
    for (int s = 0; s < t->u; s++) {
      const int at = i + t->n * s;
      const double *change = t->change + t->scores->place[i] + t->m * (size_t)s;
      if (isnan(t->p[at])) continue;
      const double effect = kind == BLICA_CUTS ? describe_cuts(r, i, s, change) : describe_loadings(r, i, s, change);
      if (fabs(effect) > fabs(most)) most = effect;
      out->test[out->tests++] = (blica_item_test){i, s, kind, effect, t->p[at], adjusted[at], t->found[at]};
      out->found += t->found[at] > 0;
    }
    out->test[out->tests++] = (blica_item_test){i, -1, kind, most, p[i], p[i + t->n], 0};
  }
  return BLICA_OK;
}

/* Tests the cuts or the loadings of all items and stores the results. */
static blica_status test_kind(const report *r, blica_item_part kind, const bl_item_scores *scores) {
  blica_status status;
  BL_OWNED double *adjusted = NULL;
  tests *t = NULL;
  if (!scores) return BLICA_OK;
  TRY(make_tests(r->ctx, scores, &t));
  TRY(bl_alloc(r->ctx, (size_t)t->n * (size_t)t->u, &adjusted));
  TRY(apart_from_the_start(t, r->model, kind));
  TRY(purify(t, r->out->level, adjusted));
  TRY(add_tests(r, kind, t, adjusted));
done:
  bl_free(t);
  return status;
}

/* ---- the cut that differs most ---- */

bool bl_cut_change_small(const blica_model *m) {
  const double loadings = (double)m->n * m->k, all = loadings + m->planes;
  return m->u > 1 && m->k <= BL_ITEM_SCORES_SOURCES && m->u * (2 * loadings * loadings + 4 * all * all) < 3e7;
}

/* Finds the cut that differs most in finished tests; M_s,ii turns shifts of cuts into standard deviations. */
static blica_status largest_change(const tests *t, const blica_model *m, bl_cut_change *out) {
  BL_OWNED double *scale = NULL;
  double number = 0;
  MUST(bl_alloc(t->ctx, (size_t)t->n, &scale));
  for (int at = 0; at < t->n * t->u; at++) {
    if (isnan(t->p[at])) continue;
    number++;
    if (!(out->p <= t->p[at])) out->p = t->p[at], out->item = at % t->n, out->segment = at / t->n;
  }
  if (isnan(out->p)) return BLICA_OK;
  out->p = fmin(1, number * out->p);
  bl_model_margins(m, out->segment, scale, NULL);
  const size_t first = t->scores->place[out->item], last = t->scores->place[out->item + 1];
  for (size_t p = first; p < last; p++)
    out->shift -= t->change[p + t->m * (size_t)out->segment] / sqrt(scale[out->item]) / (double)(last - first);
  return BLICA_OK;
}

blica_status bl_cut_change_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows,
                                const blica_counts *counts, bl_cut_change *out) {
  blica_status status;
  bl_item_scores *loadings = NULL, *cuts = NULL;
  tests *t = NULL;
  *out = (bl_cut_change){.p = NAN, .item = -1, .segment = -1};
  TRY(bl_loading_scores(ctx, model, rows, counts, &loadings));
  TRY(bl_cut_scores(ctx, model, rows, counts, loadings, &cuts));
  if (!cuts) goto done;
  TRY(make_tests(ctx, cuts, &t));
  TRY(test_all(t));
  TRY(largest_change(t, model, out));
done:
  bl_free(t);
  bl_item_scores_free(loadings), bl_item_scores_free(cuts);
  return status;
}

static void fill_nan(double *x, size_t count) {
  for (size_t i = 0; i < count; i++) x[i] = NAN;
}

/* Allocates the result for all items and segments. */
static blica_status create_result(blica_ctx *ctx, const blica_model *m, double level, blica_invariance_result **out) {
  const size_t n = (size_t)m->n, u = (size_t)m->u, k = (size_t)m->k, planes = (size_t)m->planes;
  MUST(bl_alloc(ctx, 1, out));
  blica_invariance_result *r = *out;
  *r = (blica_invariance_result){.n = m->n, .k = m->k, .planes = m->planes, .level = level};
  MUST(bl_alloc_for(ctx, r, 2 * n * (u + 1), &r->test));
  MUST(bl_alloc_for(ctx, r, planes * u, &r->shift));
  MUST(bl_alloc_for(ctx, r, (planes + n) * u, &r->share));
  MUST(bl_alloc_for(ctx, r, n * k * u, &r->loading));
  fill_nan(r->shift, planes * u), fill_nan(r->share, (planes + n) * u), fill_nan(r->loading, n * k * u);
  MUST(bl_copy_texts(ctx, m->n, (const char *const *)m->variables, &r->variables));
  MUST(bl_copy_texts(ctx, m->u, (const char *const *)m->segments, &r->segments));
  r->u = m->u;
  return BLICA_OK;
}

void blica_invariance_free(blica_invariance_result *result) {
  if (!result) return;
  bl_free(result->variables);
  bl_free(result->segments);
  bl_free(result);
}

/* Fails for one segment, and for more sources than the tests can take. */
static blica_status check_model(blica_ctx *ctx, const blica_model *m) {
  if (m->u < 2)
    return bl_fail(ctx, BLICA_ERR_DATA, "the model has one segment; whether items differ needs two or more");
  if (m->k > BL_ITEM_SCORES_SOURCES)
    return bl_fail(ctx, BLICA_ERR_DATA, "the model has %d sources; tests of items take at most %d", m->k,
                   BL_ITEM_SCORES_SOURCES);
  return BLICA_OK;
}

blica_status blica_invariance(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                              const blica_invariance_options *given, blica_invariance_result **out) {
  BL_NEED_OUT(ctx, out, model, data);
  blica_status status;
  blica_invariance_options options;
  BL_AUTO(bl_rows) *rows = NULL;
  BL_AUTO(blica_counts) *counts = NULL;
  bl_item_scores *scores[BLICA_ITEM_PARTS] = {NULL};
  report r = {.ctx = ctx, .model = model};
  BL_OWNED double *t = NULL;
  bl_poll_reset(ctx);
  TRY(BL_TAKE_OPTIONS(ctx, invariance, given, &options));
  TRY(check_model(ctx, model));
  TRY(bl_rows_make(ctx, model, data, &rows));
  TRY(bl_rows_counts_create(ctx, rows, &counts));
  bl_rows_count(rows, rows->weight, counts);
  TRY(create_result(ctx, model, options.level, &r.out));
  TRY(bl_alloc(ctx, (size_t)(model->planes + model->n) * (size_t)model->u, &t));
  r.t = t, r.scale = t + (size_t)model->planes * (size_t)model->u;
  bl_table_thresholds(counts, r.t);
  for (int s = 0; s < model->u; s++) bl_model_margins(model, s, r.scale + (size_t)model->n * (size_t)s, NULL);
  TRY(bl_loading_scores(ctx, model, rows, counts, &scores[BLICA_LOADINGS]));
  TRY(bl_cut_scores(ctx, model, rows, counts, scores[BLICA_LOADINGS], &scores[BLICA_CUTS]));
  TRY(test_kind(&r, BLICA_CUTS, scores[BLICA_CUTS]));
  TRY(test_kind(&r, BLICA_LOADINGS, scores[BLICA_LOADINGS]));
  qsort(r.out->test, (size_t)r.out->tests, sizeof *r.out->test, by_worth);
  *out = bl_take(&r.out);
done:
  bl_item_scores_free(scores[0]), bl_item_scores_free(scores[1]);
  blica_invariance_free(r.out);
  return status;
}
