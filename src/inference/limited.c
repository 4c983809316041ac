/* limited.c - M2: do the margins and pairs fit?
 *
 * With e_s the differences between observed and fitted shares of ones and of pairs of ones in segment s, Xi_s/N_s their
 * covariance under the model and Delta their slopes in all parameters, M2 = min over d of
 * sum_s N_s (e_s - Delta_s d)' Xi_s^-1 (e_s - Delta_s d), chi-square with as many degrees of freedom as there are
 * moments less the rank of Delta (Maydeu-Olivares and Joe, JASA 100, 2005; Psychometrika 71, 2006). It holds for every
 * consistent estimator, because the projection takes out what depends on it. An estimate that a prior shrinks may be
 * too far from the minimum for one linear step: damped Gauss-Newton steps then lead there first. The thresholds of
 * every segment are parameters here, as in all pair-based methods, so that margins fit exactly and what is tested are
 * the pairs. RMSEA2 = sqrt(u max(0, M2 - df) / (df N)): with u > 1 as Steiger (1998) has it for several groups. Ordinal
 * items: moments are those of being at or above every level, and pairs of them (moments.c). Checked against
 * computations over all patterns, of LSAT7 and of four items of three levels (tests/cli/assess.bats); its size by
 * simulation (bench/results/inference.md). */
#include "inference/limited.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "inference/moments.h"
#include "model/model.h"
#include "num/blas.h"
#include "num/chi2.h"

enum { ROUNDS = 8, QUADS_MOST = 2000000, QUADS_STEPS = 200000, MOMENTS_MOST = 1300, PARAMETERS_MOST = 3000 };
enum { COLUMNS_MOST = 200 };
static const double ZERO = 1e-10;  /* relative eigenvalues below it are zero */
static const double ENOUGH = 0.05; /* of M2: steps end when so little is to gain */

bool bl_limited_possible(const blica_coding *coding, int n, int k, int u) {
  double sets[5];
  bl_moments_sets(coding, n, sets);
  return u * sets[4] <= QUADS_MOST && sets[1] + sets[2] <= MOMENTS_MOST && bl_plane(coding, n) <= COLUMNS_MOST &&
         (double)k * (n + u) <= PARAMETERS_MOST;
}

/* ---- all segments ---- */

typedef struct {
  size_t p;
  double *h, *g; /* [p,p], [p]; h owns the other arrays */
  double **kept; /* [u] whitened slopes and residuals, [pairs, m + 1] */
} total;

static size_t place_of(const bl_moments *r, int s, size_t c) {
  const size_t nk = (size_t)r->n * r->k;
  return c < nk ? c : nk + (size_t)r->k * s + (c - nk);
}

static blica_status add_segment(bl_moments *r, int s, total *all) {
  const size_t rest = r->q - (size_t)r->columns, m = r->m;
  BL_OWNED double *product = NULL;
  MUST(bl_alloc(r->ctx, (m + 1) * (m + 1), &product));
  for (size_t c = 0; c <= m; c++)
    memcpy(all->kept[s] + rest * c, r->z + r->q * ((size_t)r->columns + c) + r->columns, rest * sizeof(double));
  bl_dsyrk('L', 'T', (int)(m + 1), (int)rest, 1, all->kept[s], (int)rest, 0, product, (int)(m + 1));
  for (size_t c = 0; c < m; c++) {
    for (size_t a = c; a < m; a++) all->h[place_of(r, s, a) + all->p * place_of(r, s, c)] += product[a + (m + 1) * c];
    all->g[place_of(r, s, c)] += product[m + (m + 1) * c];
  }
  return BLICA_OK;
}

/* d <- H^+ g; returns the rank, or -1. h is overwritten. */
static int64_t least_squares(blica_ctx *ctx, total *all, double *d) {
  const int p = (int)all->p;
  int64_t rank = 0;
  BL_OWNED double *values = NULL, *scale = NULL;
  if (bl_alloc(ctx, all->p, &values) != BLICA_OK || bl_alloc(ctx, all->p, &scale) != BLICA_OK) return -1;
  for (int i = 0; i < p; i++) {
    const double diagonal = all->h[(size_t)i * (all->p + 1)];
    scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
  }
  for (int j = 0; j < p; j++)
    for (int i = j; i < p; i++) all->h[i + all->p * (size_t)j] *= scale[i] * scale[j];
  errno = 0;
  if (bl_dsyevd('V', 'L', p, all->h, p, values) != 0) return -1;
  memset(d, 0, all->p * sizeof *d);
  for (int i = 0; i < p; i++) all->g[i] *= scale[i];
  for (int c = 0; c < p; c++) {
    if (!(values[c] > ZERO * values[p - 1])) continue;
    rank++;
    bl_daxpy(p, bl_ddot(p, all->h + all->p * (size_t)c, 1, all->g, 1) / values[c], all->h + all->p * (size_t)c, 1, d,
             1);
  }
  for (int i = 0; i < p; i++) d[i] *= scale[i];
  return rank;
}

/* The part of segment s: what is left of its residuals. */
static double left_over(const bl_moments *r, int s, const total *all, const double *d) {
  const size_t rest = r->q - (size_t)r->columns, m = r->m;
  double *e = all->kept[s] + rest * m;
  for (size_t c = 0; c < m; c++) bl_daxpy((int)rest, -d[place_of(r, s, c)], all->kept[s] + rest * c, 1, e, 1);
  return bl_ddot((int)rest, e, 1, e, 1);
}

static void finish(bl_limited *out, double rows, int u) {
  const double df = (double)out->df, per = df * rows / u;
  out->p = bl_chi2_upper(out->m2, df);
  out->rmsea2 = sqrt(fmax(0, out->m2 - df) / per);
  out->rmsea2_low = sqrt(bl_chi2_noncentrality(out->m2, df, 0.95) / per);
  out->rmsea2_high = sqrt(bl_chi2_noncentrality(out->m2, df, 0.05) / per);
}

/* All segments at the model of the workspace into `all`; returns the number of pairs used and all rows. */
static blica_status collect(bl_moments *r, total *all, int64_t *moments, double *rows) {
  const int u = r->model->u;
  memset(all->h, 0, all->p * all->p * sizeof(double));
  memset(all->g, 0, all->p * sizeof(double));
  *moments = 0, *rows = 0;
  for (int s = 0; s < u; s++) {
    if (bl_poll(r->ctx, &(blica_progress){.stage = "fit statistics", .fraction = (double)s / u, .objective = NAN}))
      return bl_fail(r->ctx, BLICA_ERR_INTERRUPTED, "interrupted while M2 was computed");
    int64_t pairs;
    MUST(bl_moments_segment(r, s, &pairs));
    *moments += pairs;
    MUST(add_segment(r, s, all));
    *rows += r->counts->samples[s];
  }
  return BLICA_OK;
}

/* moved <- model + length * d. */
static void move(const blica_model *model, const double *d, double length, blica_model *moved) {
  const size_t nk = (size_t)model->n * model->k, uk = (size_t)model->u * model->k;
  for (size_t i = 0; i < nk; i++) moved->mixing[i] = model->mixing[i] + length * d[i];
  for (size_t i = 0; i < uk; i++) moved->variances[i] = model->variances[i] * exp(length * d[nk + i]);
}

/* The largest change that d brings: of a log-variance, or of a loading relative to the largest of its column. */
static double size_of(const blica_model *model, const double *d) {
  double most = 0;
  for (int l = 0; l < model->k; l++) {
    double largest = 0, change = 0;
    for (int i = 0; i < model->n; i++) {
      largest = fmax(largest, fabs(model->mixing[i + (size_t)l * model->n]));
      change = fmax(change, fabs(d[i + (size_t)l * model->n]));
    }
    if (largest > 0) most = fmax(most, change / largest);
  }
  for (size_t i = 0; i < (size_t)model->u * model->k; i++) most = fmax(most, fabs(d[i + (size_t)model->n * model->k]));
  return most;
}

/* What collect() found at a model. */
typedef struct {
  int64_t moments, rank;
  double rows, plain; /* the quadratic form of the residuals as they are */
} state;

/* Collects at a model; d [p] is the step to the minimum. */
static blica_status evaluate(bl_moments *r, const blica_model *model, total *all, double *d, state *found) {
  const size_t rest = r->q - (size_t)r->columns;
  r->model = model;
  MUST(collect(r, all, &found->moments, &found->rows));
  found->plain = 0;
  for (int s = 0; s < model->u; s++) {
    const double *e = all->kept[s] + rest * r->m;
    found->plain += bl_ddot((int)rest, e, 1, e, 1);
  }
  found->rank = least_squares(r->ctx, all, d);
  if (found->rank < 0)
    MUST(bl_fail_outside(r->ctx, BLICA_ERR_NUMERIC, "the parameters' information in M2 could not be decomposed"));
  return BLICA_OK;
}

static double total_left(const bl_moments *r, const total *all, const double *d, double *segment) {
  double sum = 0;
  for (int s = 0; s < r->model->u; s++) sum += segment[s] = left_over(r, s, all, d);
  return sum;
}

/* From a shrunk estimate to the minimum of the quadratic form, by damped Gauss-Newton steps. at, next: models of the
 * same shape, `at` the estimate to begin with. */
static blica_status descend(bl_moments *r, blica_model *at, blica_model *next, total *all, double *d, double *segment,
                            state *found, double *m2) {
  state tried;
  BL_OWNED double *step = NULL;
  MUST(bl_alloc(r->ctx, all->p, &step));
  for (int round = 0; round < ROUNDS; round++) {
    const double size = size_of(at, d);
    double length = size > 1 ? 1 / size : 1;
    bool better = false;
    if (found->plain - *m2 < ENOUGH) break;
    memcpy(step, d, all->p * sizeof *d);
    for (int half = 0; half < 3 && !better; half++, length /= 4) {
      move(at, step, length, next);
      MUST(evaluate(r, next, all, d, &tried));
      better = tried.plain < found->plain;
    }
    if (!better) { /* back to where it was */
      MUST(evaluate(r, at, all, d, found));
      *m2 = total_left(r, all, d, segment);
      break;
    }
    move(at, step, 4 * length, at);
    *found = tried;
    *m2 = total_left(r, all, d, segment);
  }
  return BLICA_OK;
}

blica_status bl_limited_test(blica_ctx *ctx, const blica_model *model, const bl_rows *rows, const blica_counts *counts,
                             bool fixed, bl_limited *out, double *segment) {
  blica_status status;
  const int n = model->n, k = model->k, u = model->u;
  const size_t nk = (size_t)n * k, uk = (size_t)u * k;
  bl_moments r = {.ctx = ctx, .rows = rows, .counts = counts, .n = n, .k = k, .columns = rows->planes};
  total all = {.p = nk + uk};
  blica_model at = *model, next = *model; /* with loadings and variances of their own */
  state found;
  BL_OWNED double *d = NULL, *own = NULL;
  double sets[5];
  *out = (bl_limited){NAN, 0, NAN, NAN, NAN, NAN};
  bl_moments_sets(rows->coding, n, sets);
  r.pairs = (size_t)n * (n - 1) / 2, r.q = (size_t)(sets[1] + sets[2]), r.m = nk + (size_t)k;
  bl_blas_hold();
  TRY(bl_moments_make(&r));
  TRY(bl_alloc(ctx, 2 * (nk + uk), &own));
  at.mixing = own, at.variances = own + nk, next.mixing = own + nk + uk, next.variances = own + 2 * nk + uk;
  TRY(bl_alloc(ctx, all.p * all.p, &all.h));
  TRY(bl_alloc_for(ctx, all.h, all.p, &all.g));
  TRY(bl_alloc_for(ctx, all.h, (size_t)u, &all.kept));
  for (int s = 0; s < u; s++) TRY(bl_alloc_for(ctx, all.h, (r.q - (size_t)r.columns) * (r.m + 1), &all.kept[s]));
  TRY(bl_alloc(ctx, all.p, &d));
  move(model, d, 0, &at);
  TRY(evaluate(&r, &at, &all, d, &found));
  if (fixed) memset(d, 0, all.p * sizeof *d), found.rank = 0;
  out->m2 = total_left(&r, &all, d, segment);
  const bool shrunk = isfinite(model->fit.prior_mixing);
  if (!fixed && shrunk && u * sets[4] <= QUADS_STEPS) TRY(descend(&r, &at, &next, &all, d, segment, &found, &out->m2));
  out->df = found.moments - found.rank;
  if (out->df > 0)
    finish(out, found.rows, u);
  else
    out->m2 = NAN;
done:
  bl_blas_release();
  bl_free(all.h);
  bl_moments_free(&r);
  return status;
}
