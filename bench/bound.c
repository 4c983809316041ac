/* bound.c - the Cramer-Rao bound of the mixing matrix, as an expected 1 - MCS.
 *
 * Method. One row of segment s has score g in the parameters (A, log v_s, mu_s), and information F = E[g g']. All rows:
 * information of A is the sum over segments of N_s times the Schur complement of F with log v_s and mu_s eliminated.
 * Cuts that are not 0 are parameters common to all segments, as A is, and are eliminated from the sum.
 * Pair tables: a row enters them through t, its ones and products of ones; whatever is computed from their sums has at
 * most the information J' C^-1 J, J = E[t g'] = dE[t]/dtheta, C = cov t (Godambe 1960): the part of the score that is
 * linear in t. There the means of the latent variables are free, n in each segment, as the methods that use pair tables
 * have it. The covariance of column j of A is the block of the inverse, less its part along the column, which is
 * scale; half its trace over the squared length of the column is the expected 1 - cosine (docs/methods.md).
 * With priors their precision is added: the expected error over models drawn from the priors, to first order, which is
 * what methods that learn priors can reach (van Trees 1968).
 * Expectations: over all 2^n patterns up to n = MOST_EXACT; beyond, over ROWS simulated rows a segment. Probabilities
 * and scores are those of expectation propagation, which are off by a few per cent at most. Checked: against the error
 * of fits to many rows in tests/recovery/test_bound.c. */
#include "bound.h"

#include <math.h>
#include <string.h>

#include "likelihood/likelihood.h"
#include "num/linear/blas.h"
#include "num/rectangles/mvn.h"

enum { MOST_EXACT = 8, ROWS = 4000, TOGETHER = 256 };
static const double RIDGE = 1e-9; /* of the mean diagonal: holds the scales of columns, whose part is left out */

typedef struct {
  int n, k, size;                  /* size: columns of a row, nk + k + k + n + n(n+1)/2 */
  int cuts;                        /* n where the model has cuts that are not 0; then they are unknown, too */
  int variance, mean, free, table; /* where log v, mu, the free means and t begin */
  const blica_model *model;        /* of one segment */
  double *rows;                    /* [size,TOGETHER] */
  double *moments;                 /* [size,size] weighted sums of products, lower triangle */
  double *sums;                    /* [size] */
  double total;                    /* of weights */
  bool exact;
  double *full[2];  /* [nk + cuts, nk + cuts] information of A and the cuts, without and with priors */
  double *pairs[2]; /* [nk,nk] the same of A */
  double precision_mixing, precision_variance;
} work;

/* Score and statistics of one pattern. */
static void fill_row(const work *w, const bl_scores *t, int64_t r, double *row) {
  const int n = w->n, k = w->k;
  const uint8_t *x = t->group->x + t->row[r] * t->group->n;
  const double *score = t->score + r * n * (1 + k), root = sqrt(w->model->link);
  memset(row, 0, sizeof(double) * (size_t)w->size);
  for (int i = 0; i < n; i++) {
    row[w->free + i] = score[i * (1 + k)];
    for (int j = 0; j < k; j++) {
      double a = w->model->mixing[i + j * n], gm = score[i * (1 + k)], gb = score[i * (1 + k) + 1 + j];
      row[i + j * n] = root * (sqrt(w->model->variances[j]) * gb + w->model->means[j] * gm);
      row[w->variance + j] += 0.5 * gb * t->loading[i * k + j];
      row[w->mean + j] += root * a * gm;
    }
    for (int j = 0; j <= i; j++) row[w->table + i * (i + 1) / 2 + j] = x[i] && x[j];
  }
}

static void add_rows(const bl_scores *t, int thread, void *user) {
  work *w = user;
  (void)thread;
  for (int64_t low = 0; low < t->count; low += TOGETHER) {
    int count = (int)(t->count - low < TOGETHER ? t->count - low : TOGETHER);
    for (int r = 0; r < count; r++) {
      double weight = w->exact ? exp(t->log_p[low + r]) : t->group->weight[t->row[low + r]];
      double *row = w->rows + (size_t)r * (size_t)w->size;
      fill_row(w, t, low + r, row);
      w->total += weight;
      bl_daxpy(w->size, weight, row, 1, w->sums, 1);
      bl_dscal(w->size, sqrt(weight), row, 1);
    }
    bl_dsyrk('L', 'N', w->size, count, 1, w->rows, w->size, 1, w->moments, w->size);
  }
}

/* All patterns of n variables, once each. */
static blica_status enumerate(blica_ctx *ctx, int n, bl_patterns **out) {
  blica_status status;
  bl_patterns *p = NULL;
  const int64_t count = (int64_t)1 << n;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &p));
  TRY(bl_alloc(ctx, 1, &p->group));
  p->groups = 1;
  p->cuts = n;
  bl_group *g = p->group;
  TRY(bl_alloc_for(ctx, p->group, (size_t)n, &g->variable));
  TRY(bl_alloc_for(ctx, p->group, (size_t)n, &g->cut));
  TRY(bl_alloc_for(ctx, p->group, (size_t)count * (size_t)n, &g->x));
  TRY(bl_alloc_for(ctx, p->group, (size_t)count, &g->weight));
  g->n = n, g->count = p->count = count;
  for (int i = 0; i < n; i++) g->variable[i] = g->cut[i] = i;
  for (int64_t r = 0; r < count; r++) {
    g->weight[r] = 1;
    for (int i = 0; i < n; i++) g->x[r * n + i] = (uint8_t)(r >> i & 1);
  }
  *out = p;
  p = NULL;
done:
  bl_patterns_free(p);
  return status;
}

static blica_status simulate(blica_ctx *ctx, const work *w, uint64_t seed, bl_patterns **out) {
  blica_status status;
  blica_data *data = NULL;
  int *column = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, (size_t)w->n, &column));
  for (int i = 0; i < w->n; i++) column[i] = i;
  TRY(blica_simulate_rows(ctx, w->model, seed, &data));
  TRY(bl_patterns_make(ctx, data, w->n, NULL, column, false, out));
done:
  blica_data_free(data);
  bl_free(column);
  return status;
}

/* Moments of one segment. */
static blica_status take_moments(blica_ctx *ctx, work *w, uint64_t seed) {
  blica_status status;
  bl_patterns *patterns = NULL;
  bl_likelihood *l = NULL;
  bl_split split = {0};
  const int segment = 0;
  const blica_model *m = w->model;
  bl_params params = {w->n, w->k, 1, m->link, m->mixing, m->variances, m->means, m->cuts, NULL};
  w->exact = w->n <= MOST_EXACT, w->total = 0;
  memset(w->moments, 0, sizeof(double) * (size_t)w->size * (size_t)w->size);
  memset(w->sums, 0, sizeof(double) * (size_t)w->size);
  TRY(w->exact ? enumerate(ctx, w->n, &patterns) : simulate(ctx, w, seed, &patterns));
  TRY(bl_likelihood_make(ctx, patterns, &segment, w->n, w->k, 1, BLICA_ENGINE_EP, BL_MVN_BLOCK, &l));
  TRY(bl_split_make(ctx, 1, &split));
  TRY(bl_likelihood_order(ctx, l, &params));
  TRY(bl_likelihood_scores(ctx, l, &params, NULL, &split, add_rows, w));
  for (int j = 0; j < w->size; j++)
    for (int i = j; i < w->size; i++) {
      size_t at = (size_t)i + (size_t)j * (size_t)w->size;
      w->moments[at] = w->moments[at] / w->total - w->sums[i] * w->sums[j] / (w->total * w->total);
      w->moments[(size_t)j + (size_t)i * (size_t)w->size] = w->moments[at];
    }
done:
  bl_split_free(&split);
  bl_likelihood_free(l);
  bl_patterns_free(patterns);
  return status;
}

/* b [rows,columns] <- L^-1 b for a = L L' [rows,rows], which is spoiled; a little is added to the diagonal. */
static blica_status half_solve(blica_ctx *ctx, int rows, double *a, int columns, double *b) {
  double trace = 0;
  for (int i = 0; i < rows; i++) trace += a[(size_t)i * (size_t)(rows + 1)];
  for (int i = 0; i < rows; i++) a[(size_t)i * (size_t)(rows + 1)] += RIDGE * trace / rows + 1e-300;
  if (bl_dpotrf('L', rows, a, rows) != 0)
    return bl_fail(ctx, BLICA_ERR_NUMERIC, "the information at the model is not positive definite");
  bl_dtrsm('L', 'L', 'N', 'N', rows, columns, 1, a, rows, b, rows);
  return BLICA_OK;
}

/* Adds N_s times the Schur complement of the first nk parameters in f [nk + nuisance, nk + nuisance]; the prior's
 * precision is that of the first k of the others. */
static blica_status add_schur(blica_ctx *ctx, int nk, int nuisance, const double *f, double samples, int k,
                              double precision, double *sum) {
  blica_status status;
  const size_t size = (size_t)(nk + nuisance), first = (size_t)nk, rest = (size_t)nuisance;
  double *block = NULL, *side = NULL;
  TRY(bl_alloc(ctx, rest * rest, &block));
  TRY(bl_alloc(ctx, rest * first, &side));
  for (size_t j = 0; j < rest; j++)
    for (size_t i = 0; i < rest; i++) block[i + rest * j] = f[first + i + size * (first + j)];
  for (size_t j = 0; j < first; j++)
    for (size_t i = 0; i < rest; i++) side[i + rest * j] = f[first + i + size * j];
  for (size_t i = 0; i < (size_t)k; i++) block[i * (rest + 1)] += precision / samples;
  TRY(half_solve(ctx, nuisance, block, nk, side));
  for (size_t j = 0; j < first; j++)
    for (size_t i = 0; i < first; i++) sum[i + first * j] += samples * f[i + size * j];
  bl_dsyrk('L', 'T', nk, nuisance, -samples, side, nuisance, 1, sum, nk);
  for (size_t j = 0; j < first; j++)
    for (size_t i = j; i < first; i++) sum[j + first * i] = sum[i + first * j];
done:
  bl_free(block);
  bl_free(side);
  return status;
}

/* Appends `count` columns of the moments from `first` on to index; returns how many it has then. */
static int append(int size, int first, int count, int *index) {
  for (int i = 0; i < count; i++) index[size + i] = first + i;
  return size + count;
}

static blica_status add_full(blica_ctx *ctx, const work *w, double samples, int *index) {
  blica_status status;
  double *f = NULL;
  const int common = append(append(0, 0, w->n * w->k, index), w->free, w->cuts, index);
  const int size = append(common, w->variance, 2 * w->k, index);
  TRY(bl_alloc(ctx, (size_t)size * (size_t)size, &f));
  for (int j = 0; j < size; j++)
    for (int i = 0; i < size; i++)
      f[i + (size_t)j * (size_t)size] = w->moments[index[i] + (size_t)index[j] * (size_t)w->size];
  for (int prior = 0; prior < 2; prior++)
    TRY(add_schur(ctx, common, size - common, f, samples, w->k, prior * w->precision_variance, w->full[prior]));
done:
  bl_free(f);
  return status;
}

static blica_status add_pairs(blica_ctx *ctx, const work *w, double samples, int *index) {
  blica_status status;
  double *f = NULL, *c = NULL, *j = NULL;
  const int size = append(append(0, 0, w->mean, index), w->free, w->n, index), tables = w->size - w->table;
  TRY(bl_alloc(ctx, (size_t)size * (size_t)size, &f));
  TRY(bl_alloc(ctx, (size_t)tables * (size_t)tables, &c));
  TRY(bl_alloc(ctx, (size_t)tables * (size_t)size, &j));
  for (int b = 0; b < tables; b++)
    for (int a = 0; a < tables; a++)
      c[a + (size_t)b * (size_t)tables] = w->moments[w->table + a + (size_t)(w->table + b) * (size_t)w->size];
  for (int b = 0; b < size; b++)
    for (int a = 0; a < tables; a++)
      j[a + (size_t)b * (size_t)tables] = w->moments[w->table + a + (size_t)index[b] * (size_t)w->size];
  TRY(half_solve(ctx, tables, c, size, j));
  bl_dgemm('T', 'N', size, size, tables, 1, j, tables, j, tables, 0, f, size);
  for (int prior = 0; prior < 2; prior++)
    TRY(add_schur(ctx, w->n * w->k, size - w->n * w->k, f, samples, w->k, prior * w->precision_variance,
                  w->pairs[prior]));
done:
  bl_free(f);
  bl_free(c);
  bl_free(j);
  return status;
}

/* Half the trace of each column's covariance across the column, over its squared length; mean over columns. A has the
 * first nk of the `size` parameters of the information. */
static double expected_error(int n, int k, const double *mixing, double precision, int size, double *information) {
  double trace = 0, error = 0;
  for (int i = 0; i < size; i++) trace += information[(size_t)i * (size_t)(size + 1)];
  for (int i = 0; i < size; i++)
    information[(size_t)i * (size_t)(size + 1)] += (i < n * k ? precision : 0) + RIDGE * trace / size;
  if (!(trace > 0) || bl_dpotrf('L', size, information, size) != 0 || bl_dpotri('L', size, information, size) != 0)
    return INFINITY;
  for (int j = 0; j < k; j++) {
    const double *a = mixing + (size_t)j * (size_t)n, length = bl_ddot(n, a, 1, a, 1);
    double whole = 0, along = 0;
    for (int q = 0; q < n; q++)
      for (int p = q; p < n; p++) {
        double cov = information[(size_t)(p + j * n) + (size_t)(q + j * n) * (size_t)size];
        whole += p == q ? cov : 0;
        along += (p == q ? 1 : 2) * a[p] * cov * a[q];
      }
    error += 0.5 * (whole - along / length) / length / k;
  }
  return error;
}

static blica_status make_work(blica_ctx *ctx, const blica_model *model, work *w, int **index) {
  blica_status status;
  const size_t nk = (size_t)model->n * (size_t)model->k;
  w->n = model->n, w->k = model->k;
  for (int i = 0; i < w->n; i++)
    if (model->cuts[i] != 0) w->cuts = w->n;
  const size_t common = nk + (size_t)w->cuts;
  w->variance = w->n * w->k, w->mean = w->variance + w->k, w->free = w->mean + w->k, w->table = w->free + w->n;
  w->size = w->table + w->n * (w->n + 1) / 2;
  TRY(bl_alloc(ctx, bl_mul((size_t)w->size, TOGETHER), &w->rows));
  TRY(bl_alloc(ctx, bl_mul((size_t)w->size, (size_t)w->size), &w->moments));
  TRY(bl_alloc(ctx, (size_t)w->size, &w->sums));
  for (int prior = 0; prior < 2; prior++) {
    TRY(bl_alloc(ctx, bl_mul(common, common), &w->full[prior]));
    TRY(bl_alloc(ctx, bl_mul(nk, nk), &w->pairs[prior]));
  }
  TRY(bl_alloc(ctx, (size_t)w->size, index));
  double squares = 0, logs = 0;
  for (size_t i = 0; i < nk; i++) squares += model->mixing[i] * model->mixing[i] / (double)nk;
  for (size_t i = 0; i < (size_t)(model->k * model->u); i++)
    logs += log(model->variances[i]) * log(model->variances[i]) / (model->k * model->u);
  w->precision_mixing = 1 / squares, w->precision_variance = logs > 0 ? 1 / logs : 0;
done:
  return status;
}

blica_status bl_bound_at(blica_ctx *ctx, const blica_model *model, uint64_t seed, bl_bound *bound) {
  blica_status status;
  work w = {0};
  int *index = NULL;
  blica_model *one = NULL;
  const size_t n = (size_t)model->n, k = (size_t)model->k;
  TRY(make_work(ctx, model, &w, &index));
  TRY(blica_model_create(ctx, model->n, model->k, 1, &one));
  one->link = model->link, one->samples[0] = ROWS;
  memcpy(one->mixing, model->mixing, sizeof(double) * n * k);
  memcpy(one->cuts, model->cuts, sizeof(double) * n);
  w.model = one;
  for (int s = 0; s < model->u; s++) {
    memcpy(one->variances, model->variances + k * (size_t)s, sizeof(double) * k);
    memcpy(one->means, model->means + k * (size_t)s, sizeof(double) * k);
    TRY(take_moments(ctx, &w, seed + (uint64_t)s));
    TRY(add_full(ctx, &w, model->samples[s], index));
    TRY(add_pairs(ctx, &w, model->samples[s], index));
  }
  double *const to[] = {&bound->full, &bound->pairs, &bound->full_prior, &bound->pairs_prior};
  double *const from[] = {w.full[0], w.pairs[0], w.full[1], w.pairs[1]};
  for (int i = 0; i < 4; i++)
    *to[i] = expected_error(model->n, model->k, model->mixing, i / 2 * w.precision_mixing,
                            model->n * model->k + (i % 2 ? 0 : w.cuts), from[i]);
done:
  blica_model_free(one);
  bl_free(w.rows);
  bl_free(w.moments);
  bl_free(w.sums);
  for (int prior = 0; prior < 2; prior++) bl_free(w.full[prior]), bl_free(w.pairs[prior]);
  bl_free(index);
  return status;
}
