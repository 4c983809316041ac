/* m2.c - M2: do the correlations of all pairs fit, and do the margins?
 *
 * e_s, the residuals of segment s, are the sums over its units of their influences at the model (influence.h): on the
 * correlations, which margins are free for, or on the thresholds. With w_s their nominal precisions and D_s their
 * slopes in the parameters (A, log v; for margins the means and cuts, too),
 *   T = sum_s e_s' w_s e_s - g' H^- g,  g = sum_s D_s' w_s e_s,  H = sum_s D_s' w_s D_s,
 * is what the best step from any consistent estimate leaves: a statistic of the family of M2 (Maydeu-Olivares and Joe,
 * JASA 100, 2005) with diagonal weights, as in diagonally weighted least squares. Its mean and variance under the model
 * are tr UG and 2 tr UGUG, U the matrix of that form and G the covariance of e, both from the units: the trace from
 * all, the other as a mean over pairs of different units of a part of them, without the bias of G G (Chen, Zhang and
 * Zhong, JASA 105, 2010). M2 = df + (T - mean) (2 df / variance)^1/2 is on the scale of chi-square with df degrees of
 * freedom, the number of residuals less the rank of H (Asparouhov and Muthen, Mplus Web Note 15, 2010). T is a sum of
 * squares with unequal weights, whose tail is longer than that: p is by the gamma distribution of the same mean and
 * variance (Satterthwaite, Biometrics Bulletin 2, 1946). It needs no tables of three and four items: values may be
 * missing, units be clusters, levels many or chosen by nobody.
 * For margins p is twice the smaller of this p and that of the largest residual, by Bonferroni's inequality: one cut
 * that is shifted in one segment would be lost among all residuals.
 * RMSEA2 = sqrt(u max(0, M2 - df) / (df N)), with u > 1 as Steiger (1998) has it for several groups. The size of the
 * residuals less their sampling noise, with its interval: Maydeu-Olivares (Psychometrika 82, 2017). Checked against a
 * computation row by row in tests/unit/inference/test_fit_statistics.c, against lavaan's scaled statistic of LSAT7 in
 * tests/cli/assess.bats. */
#include "inference/scores/m2.h"

#include <math.h>
#include <string.h>

#include "inference/implied.h"
#include "inference/scores/pooled.h"
#include "inference/scores/row_scores.h"
#include "model/model.h"
#include "num/linear/blas.h"
#include "num/chi2.h"

enum { SAMPLE = 3072, SAMPLE_LEAST = 48 }; /* units of all segments, and of each, whose pairs are formed */
static const double RIDGE = 1e-10;         /* of the unit diagonal of H: directions below it are free */
static const double LEAST = 1e-8;          /* information below it is none */

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_rows *rows;
  const blica_counts *counts;
  bool margins, fixed;
  size_t n, k, planes, pairs, nk, p, count; /* count residuals of a segment: the first statistics of an influence */
  bl_pooled *pooled;                        /* shrunk thresholds; it owns all other arrays */
  bl_influence *influence;                  /* of the segment at hand, with what follows */
  bl_units_reader units;
  double *rho, *scale, *total, *t; /* [pairs], [n], [n], [planes] thresholds of the model */
  double *e, *w, *v;               /* [count,u] residuals, their weights, their variances */
  double *h, *g, *unit;            /* [p,p] a Cholesky factor once made, [p], [p] 1 / root of the diagonal of H */
  double *slope;                   /* [3k + 1] of a residual, */
  size_t *place;                   /* [3k + 1] and the parameters that they are in */
  double *y, *c, *gram, *times;    /* of a sample of units: [count,size], [p,size], [size,size], [size] */
  double *shared;                  /* [p,p] sum of c c' */
  double trace, square;            /* tr UG, tr UGUG */
  double noise, spread;            /* of the plain residuals: their variances, tr GG and e'Ge */
} job;

/* ---- residuals and slopes ---- */

static void describe(job *b, int s) {
  const blica_model *m = b->model;
  const double *v = m->variances + b->k * (size_t)s;
  bl_implied_rho(m->n, m->k, m->link, m->mixing, v, b->scale, b->rho);
  bl_model_margins(m, s, b->total, b->t);
  bl_influence_describe(b->counts, s, b->rho, b->pooled->t + b->planes * (size_t)s, b->t, b->influence);
}

/* Whether a column's share of ones in segment s says anything: it varies, and nobody has the level below it alone. */
static bool column_used(const job *b, int s, size_t p) {
  const double *ones = b->counts->ones + b->planes * (size_t)s, present = b->counts->present[p + b->planes * (size_t)s];
  const bool same = p > 0 && b->rows->item[p] == b->rows->item[p - 1] && ones[p] == ones[p - 1];
  return ones[p] > 0 && ones[p] < present && !same;
}

/* Weight of residual q of segment s: its nominal precision, 0 where the data say nothing of it. */
static double weight_of(const job *b, int s, int i, int j, size_t q) {
  const bl_influence *f = b->influence;
  if (b->margins) {
    const double below = -f->on_margin[2 * q], above = f->on_margin[2 * q + 1];
    return column_used(b, s, q) && !bl_freed(b->model, b->rows->item[q], s)
               ? 1 / (below * above * b->counts->present[q + b->planes * (size_t)s])
               : 0;
  }
  const bool *used = b->pooled->used + b->n * (size_t)s;
  return used[i] && used[j] && f->information[q] > LEAST ? f->both[q] * f->information[q] : 0;
}

/* slope and place of residual q of segment s, which is of items i and j or of column q; returns how many. */
static size_t slopes_of(job *b, int s, int i, int j, size_t q) {
  const blica_model *m = b->model;
  const size_t k = b->k;
  const double *v = m->variances + k * (size_t)s, root = sqrt(m->link);
  if (!b->margins) {
    bl_implied_pair_slopes(m->n, m->k, m->link, m->mixing, v, b->scale, b->rho[q], i, j, b->slope);
    for (size_t l = 0; l < k; l++) {
      b->place[l] = (size_t)i + b->n * l, b->place[k + l] = (size_t)j + b->n * l;
      b->place[2 * k + l] = b->nk + k * (size_t)s + l;
    }
    return 3 * k;
  }
  const size_t item = (size_t)b->rows->item[q];
  const double to = b->scale[item], *mean = m->means + k * (size_t)s;
  for (size_t l = 0; l < k; l++) {
    const double a = m->mixing[item + b->n * l], part = b->t[q] * m->link * v[l] * a * to * to;
    b->slope[l] = root * mean[l] * to - part, b->place[l] = item + b->n * l;
    b->slope[k + l] = -0.5 * part * a, b->place[k + l] = b->nk + k * (size_t)s + l;
    b->slope[2 * k + l] = root * a * to, b->place[2 * k + l] = b->nk + k * ((size_t)m->u + (size_t)s) + l;
  }
  b->slope[3 * k] = -to, b->place[3 * k] = b->nk + 2 * k * (size_t)m->u + q;
  return 3 * k + 1;
}

/* The items of residual q, counted up from those of the one before. */
static void next_pair(int *i, int *j) {
  if (++*i == *j) *i = 0, ++*j;
}

/* c [p,taken] <- D'w y, y [count,taken] residuals of segment s. */
static void gather(job *b, int s, int taken) {
  const double *w = b->w + b->count * (size_t)s;
  int i = 0, j = 1;
  memset(b->c, 0, b->p * (size_t)taken * sizeof *b->c);
  for (size_t q = 0; q < b->count; q++, next_pair(&i, &j)) {
    const size_t many = w[q] > 0 ? slopes_of(b, s, i, j, q) : 0;
    for (int r = 0; r < taken && many > 0; r++) {
      const double y = w[q] * b->y[q + b->count * (size_t)r];
      for (size_t a = 0; a < many; a++) b->c[b->place[a] + b->p * (size_t)r] += y * b->slope[a];
    }
  }
}

/* The factor count / (count - 1) by which the spread of the units of segment s around their own mean is too small; 1
 * with strata, whose contrasts are counted. */
static double around_mean(const job *b, int s, double *count) {
  int64_t first;
  *count = b->rows->unit_first ? (double)bl_units(b->rows, s, &first) : b->rows->size[s];
  if (b->rows->peers) *count -= (double)bl_strata(b->rows, s);
  if (b->rows->peers) return 1;
  return *count > 1 ? *count / (*count - 1) : 1;
}

/* e and v of segment s. */
static void add_residuals(job *b, int s) {
  double units;
  double *e = b->e + b->count * (size_t)s, *v = b->v + b->count * (size_t)s;
  const double rows = fmax(b->rows->size[s], 1e-300);
  int64_t at = 0;
  for (int count; (count = bl_units_read(&b->units, s, &at)) > 0;)
    for (int c = 0; c < count; c++) {
      const double *psi = b->units.psi + b->units.q * (size_t)c, t = b->units.times[c], adds = b->units.adds[c];
      for (size_t q = 0; q < b->count; q++) e[q] += adds * psi[q], v[q] += t * psi[q] * psi[q];
    }
  const double more = around_mean(b, s, &units);
  for (size_t q = 0; q < b->count && !b->rows->peers; q++) v[q] = fmax(0, v[q] - e[q] * e[q] / rows) * more;
}

/* Residuals, weights, H and g. */
static void add_segment(job *b, int s) {
  double *w = b->w + b->count * (size_t)s, *e = b->e + b->count * (size_t)s;
  int i = 0, j = 1;
  describe(b, s);
  add_residuals(b, s);
  for (size_t q = 0; q < b->count; q++, next_pair(&i, &j)) {
    w[q] = weight_of(b, s, i, j, q);
    if (!(w[q] > 0)) continue;
    const size_t many = slopes_of(b, s, i, j, q);
    for (size_t c = 0; c < many; c++) {
      b->g[b->place[c]] += w[q] * e[q] * b->slope[c];
      for (size_t a = 0; a < many; a++)
        if (b->place[a] >= b->place[c]) b->h[b->place[a] + b->p * b->place[c]] += w[q] * b->slope[a] * b->slope[c];
    }
  }
}

/* h <- the Cholesky factor of H, scaled and with a ridge; returns its rank, or -1. work [p,p]. */
static double factor(job *b, double *work) {
  const size_t p = b->p;
  double free_directions = 0;
  for (size_t i = 0; i < p; i++) b->unit[i] = b->h[i * (p + 1)] > 0 ? 1 / sqrt(b->h[i * (p + 1)]) : 0;
  for (size_t c = 0; c < p; c++)
    for (size_t r = c; r < p; r++) b->h[r + p * c] = b->h[r + p * c] * b->unit[r] * b->unit[c] + (r == c) * RIDGE;
  if (bl_dpotrf('L', (int)p, b->h, (int)p) != 0) return -1;
  memcpy(work, b->h, p * p * sizeof *work);
  bl_dpotri('L', (int)p, work, (int)p);
  for (size_t i = 0; i < p; i++) free_directions += fmin(1, RIDGE * work[i * (p + 1)]);
  return (double)p - free_directions;
}

/* x [p,count] <- L^-1 of it in the scale of H. */
static void whiten(const job *b, double *x, int count) {
  for (int c = 0; c < count; c++)
    for (size_t i = 0; i < b->p; i++) x[i + b->p * (size_t)c] *= b->unit[i];
  bl_dtrsm('L', 'L', 'N', 'N', (int)b->p, count, 1, b->h, (int)b->p, x, (int)b->p);
}

/* ---- the distribution of the statistic ---- */

/* Units of segment s, evenly spread, into y and times; returns how many. */
static int take_sample(job *b, int s, int most) {
  const double *e = b->e + b->count * (size_t)s, rows = fmax(b->rows->size[s], 1e-300);
  double units;
  const double root = sqrt(around_mean(b, s, &units));
  int64_t all = b->rows->first[s + 1] - b->rows->first[s], first, at = 0;
  if (b->rows->unit_first) all = bl_units(b->rows, s, &first);
  int taken = 0;
  b->units.step = all / most + 1;
  for (int count; (count = bl_units_read(&b->units, s, &at)) > 0;)
    for (int c = 0; c < count; c++) {
      const double *psi = b->units.psi + b->units.q * (size_t)c;
      if (!(b->units.times[c] > 0)) continue;
      for (size_t q = 0; q < b->count; q++)
        b->y[q + b->count * (size_t)taken] = root * (psi[q] - b->units.size[c] * e[q] / rows);
      b->times[taken++] = b->units.times[c];
    }
  b->units.step = 1;
  return taken;
}

/* The sum over pairs of different units of their squared products, from their squares in gram [taken,taken]. */
static double pairs_of(const job *b, int taken, double scale) {
  double sum = 0;
  for (int c = 0; c < taken; c++)
    for (int r = 0; r < taken; r++) {
      const double square = b->gram[r + (size_t)taken * c] * b->gram[r + (size_t)taken * c];
      sum += b->times[c] * (r == c ? b->times[c] - 1 : b->times[r]) * square;
    }
  return scale * sum;
}

static void products(const job *b, const double *x, size_t rows, int taken, double alpha, double beta) {
  bl_dgemm('T', 'N', taken, taken, (int)rows, alpha, x, (int)rows, x, (int)rows, beta, b->gram, taken);
}

/* Adds the units of segment s to trace, square and shared. */
static void add_moments(job *b, int s, int most) {
  const double *w = b->w + b->count * (size_t)s, *v = b->v + b->count * (size_t)s, *e = b->e + b->count * (size_t)s;
  double all, part = 0, projected = 0;
  describe(b, s);
  const int taken = take_sample(b, s, most);
  for (size_t q = 0; q < b->count; q++) b->trace += w[q] * v[q], b->noise += w[q] > 0 ? v[q] * b->rows->size[s] : 0;
  if (taken < 2) return;
  for (int r = 0; r < taken; r++) part += b->times[r];
  around_mean(b, s, &all);
  const double per = all / part, pair = all * (all - 1) / (part * (part - 1));
  if (!b->fixed) gather(b, s, taken);
  for (int r = 0; r < taken; r++)
    for (size_t q = 0; q < b->count; q++) b->y[q + b->count * (size_t)r] *= w[q] > 0;
  products(b, b->y, b->count, taken, b->rows->size[s], 0);
  b->spread += 2 * pairs_of(b, taken, pair);
  for (int r = 0; r < taken; r++) {
    const double along = b->rows->size[s] * bl_ddot((int)b->count, b->y + b->count * (size_t)r, 1, e, 1);
    b->spread += 4 * per * b->times[r] * along * along;
    for (size_t q = 0; q < b->count; q++) b->y[q + b->count * (size_t)r] *= sqrt(w[q]);
  }
  products(b, b->y, b->count, taken, 1, 0);
  if (!b->fixed) {
    whiten(b, b->c, taken);
    products(b, b->c, b->p, taken, -1, 1);
  }
  b->square += pairs_of(b, taken, pair);
  if (b->fixed) return;
  products(b, b->c, b->p, taken, 1, 0);
  for (int r = 0; r < taken; r++) {
    projected += b->times[r] * b->gram[r * ((size_t)taken + 1)];
    for (int c = 0; c < taken; c++)
      b->square -= per * per * b->times[r] * b->times[c] * pow(b->gram[r + (size_t)taken * c], 2);
    bl_dscal((int)b->p, sqrt(per * b->times[r]), b->c + b->p * (size_t)r, 1);
  }
  b->trace -= per * projected;
  bl_dsyrk('L', 'N', (int)b->p, taken, 1, b->c, (int)b->p, 1, b->shared, (int)b->p);
}

static void moments(job *b, int most) {
  for (int s = 0; s < b->model->u; s++) add_moments(b, s, most);
  for (size_t c = 0; c < b->p && !b->fixed; c++) /* pairs of units of different segments */
    for (size_t r = c; r < b->p; r++) b->square += (r == c ? 1 : 2) * pow(b->shared[r + b->p * c], 2);
}

/* ---- the result ---- */

/* Residuals of the best step: e less D d. */
static void step(job *b) {
  bl_dtrsv('L', 'T', 'N', (int)b->p, b->h, (int)b->p, b->g, 1);
  for (size_t i = 0; i < b->p; i++) b->g[i] *= b->unit[i];
  for (int s = 0; s < b->model->u; s++) {
    double *e = b->e + b->count * (size_t)s;
    const double *w = b->w + b->count * (size_t)s;
    int i = 0, j = 1;
    describe(b, s);
    for (size_t q = 0; q < b->count; q++, next_pair(&i, &j)) {
      const size_t many = w[q] > 0 ? slopes_of(b, s, i, j, q) : 0;
      for (size_t a = 0; a < many; a++) e[q] -= b->slope[a] * b->g[b->place[a]];
    }
  }
}

/* Sets df, M2, p, RMSEA and the largest residual; segment receives the part of M2 of each segment. */
static void set_statistics(const job *b, double statistic, double rank, const double *part, bl_m2 *out,
                           double *segment) {
  double rows = 0, used = 0, plain = 0, weighted = 0;
  const int u = b->model->u;
  for (int s = 0; s < u; s++) {
    const double size = b->rows->size[s];
    rows += size;
    for (size_t q = 0; q < b->count; q++) {
      const size_t at = q + b->count * (size_t)s;
      if (!(b->w[at] > 0)) continue;
      used++, plain += size * b->e[at] * b->e[at], weighted += size;
      const double z = b->e[at] / sqrt(fmax(b->v[at], 1e-300));
      if (b->margins && fabs(z) > fabs(out->z))
        out->z = z, out->shift = b->e[at], out->item = b->rows->item[q], out->segment = s;
    }
  }
  out->df = (int64_t)floor(used - rank + 0.5);
  if (out->df < 1 || !(b->square > 0)) return;
  const double df = (double)out->df, stretch = sqrt(df / b->square), per = df * rows / u;
  out->m2 = fmax(0, df + (statistic - b->trace) * stretch);
  out->p = b->trace > 0 ? bl_chi2_upper(statistic * b->trace / b->square, b->trace * b->trace / b->square) : NAN;
  if (b->margins) out->p = fmin(1, 2 * fmin(out->p, used * bl_chi2_upper(out->z * out->z, 1))); /* or the largest one */
  out->rmsea2 = sqrt(fmax(0, out->m2 - df) / per);
  out->rmsea2_low = sqrt(bl_chi2_noncentrality(out->m2, df, 0.95) / per);
  out->rmsea2_high = sqrt(bl_chi2_noncentrality(out->m2, df, 0.05) / per);
  for (int s = 0; segment && s < u; s++) segment[s] = statistic > 0 ? out->m2 * part[s] / statistic : 0;
  if (!b->margins) weighted *= 1 + (double)b->n * u / used; /* SRMR counts the diagonal, which fits */
  const double left = b->fixed ? 1 : df / used, mean = plain - left * b->noise, error = 1.645 * sqrt(b->spread);
  out->size = sqrt(fmax(0, mean) / weighted);
  out->size_low = sqrt(fmax(0, mean - error) / weighted), out->size_high = sqrt(fmax(0, mean + error) / weighted);
}

static blica_status allocate(job *b, size_t most) {
  blica_ctx *ctx = b->ctx;
  const size_t u = (size_t)b->model->u, tables = bl_mul(b->count, u), square = bl_mul(b->p, b->p);
  const struct {
    double **x;
    size_t size;
  } arrays[] = {{&b->rho, b->pairs},
                {&b->scale, b->n},
                {&b->total, b->n},
                {&b->t, b->planes},
                {&b->e, tables},
                {&b->w, tables},
                {&b->v, tables},
                {&b->h, square},
                {&b->shared, square},
                {&b->g, b->p},
                {&b->unit, b->p},
                {&b->slope, 3 * b->k + 1},
                {&b->times, most},
                {&b->y, bl_mul(b->count, most)},
                {&b->c, bl_mul(b->p, most)},
                {&b->gram, most * most}};
  MUST(bl_pooled_make(ctx, b->model->n, b->model->u, b->rows->coding, true, &b->pooled));
  MUST(bl_influence_make(ctx, b->model->n, b->rows->coding, b->margins ? BL_MARGINS : BL_SCALES, &b->influence));
  MUST(bl_units_make(ctx, b->influence, b->influence, b->rows, &b->units));
  MUST(bl_alloc_for(ctx, b->pooled, 3 * b->k + 1, &b->place));
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    MUST(bl_alloc_for(ctx, b->pooled, arrays[i].size, arrays[i].x));
  bl_pooled_margins(b->counts, b->pooled);
  return BLICA_OK;
}

blica_status bl_m2_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                        bool margins, bool fixed, bl_m2 *out, double *segment) {
  blica_status status;
  const size_t n = (size_t)model->n, k = (size_t)model->k, u = (size_t)model->u;
  job b = {.ctx = ctx,
           .model = model,
           .rows = rows,
           .counts = counts,
           .margins = margins,
           .fixed = fixed,
           .n = n,
           .k = k,
           .planes = (size_t)rows->planes,
           .pairs = n * (n - 1) / 2,
           .nk = n * k};
  BL_OWNED double *part = NULL;
  double statistic = 0, rank = 0;
  const int most = SAMPLE / model->u > SAMPLE_LEAST ? SAMPLE / model->u : SAMPLE_LEAST;
  *out = (bl_m2){NAN, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, -1, -1, 0, 0};
  b.count = margins ? b.planes : b.pairs;
  b.p = b.nk + k * u + (margins ? k * u + b.planes : 0);
  bl_blas_hold();
  TRY(allocate(&b, (size_t)most));
  TRY(bl_alloc(ctx, u, &part));
  for (int s = 0; s < model->u; s++) {
    if (bl_poll(ctx, &(blica_progress){.stage = "fit statistics", .fraction = (double)s / model->u, .objective = NAN}))
      FAIL(ctx, BLICA_ERR_INTERRUPTED, "interrupted while M2 was computed");
    add_segment(&b, s);
  }
  if (!fixed) {
    rank = factor(&b, b.shared);
    if (rank < 0) FAIL(ctx, BLICA_ERR_NUMERIC, "the information about the parameters in M2 is singular");
    memset(b.shared, 0, b.p * b.p * sizeof *b.shared);
    whiten(&b, b.g, 1);
  }
  moments(&b, most);
  if (!fixed) step(&b);
  for (size_t s = 0; s < u; s++)
    for (size_t q = b.count * s; q < b.count * (s + 1); q++) part[s] += b.w[q] * b.e[q] * b.e[q];
  for (size_t s = 0; s < u; s++) statistic += part[s];
  set_statistics(&b, statistic, rank, part, out, segment);
done:
  bl_blas_release();
  bl_free(b.influence);
  bl_free(b.pooled);
  return status;
}
