/* simulate.c - models and data drawn as in section 6 of the paper, and the limit of infinitely many samples.
 *
 * A ~ unif(-3,3), sd ~ unif(.5,3), mu ~ unif(-.5,.5). A is redrawn until its condition number is below
 * 20 (n < 20) or below the 75 % quantile of that of 1000 such matrices (n >= 20; fewer for matrices so
 * large that 1000 decompositions would take minutes, see quantile_draws). Cuts are 0, or with intercepts normal. Rows
 * are x_i = [sqrt(c) (A z)_i + e_i > tau_i] with e standard normal, which is P(x_i = 1 | y) = Phi(sqrt(c) y_i - tau_i).
 * Every random number is a function of (seed, purpose, segment, block of rows), so data do not depend
 * on the number of threads. Checked: moments against the exact counts, equal bits for 1, 2, 7 threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/option.h"
#include "base/base.h"
#include "counts/counts.h"
#include "data/pack.h"
#include "model/model.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"
#include "num/rng.h"

enum { DRAW_MIXING = 1, DRAW_QUANTILE, DRAW_SOURCES, DRAW_ROWS, DRAW_CUTS }; /* purposes of random streams */

static uint64_t stream_of(int purpose, uint64_t segment, uint64_t item) {
  return (uint64_t)purpose << 56 | segment << 32 | item;
}

/* ---- the mixing matrix ---- */

typedef struct {
  int n, k;
  uint64_t seed;
  int purpose;
  double range;
  size_t work_size;  /* of one thread's part of work */
  double *work;      /* per thread: a copy of the matrix, singular values, LAPACK's workspace */
  int lwork;         /* of that, LAPACK's */
  double *condition; /* [draws] out */
} drawing;

static void draw_matrix(const drawing *d, uint64_t item, double *a) {
  bl_rng rng = bl_rng_make(d->seed, stream_of(d->purpose, 0, item));
  for (size_t i = 0; i < (size_t)d->n * (size_t)d->k; i++) a[i] = d->range * (2 * bl_rng_uniform(&rng) - 1);
}

/* Condition number of draw `item`; infinite for a singular matrix. */
static double condition_of(const drawing *d, int64_t item, int thread) {
  double *a = d->work + (size_t)thread * d->work_size, *sigma = a + (size_t)d->n * (size_t)d->k, *work = sigma + d->k;
  draw_matrix(d, (uint64_t)item, a);
  int info = bl_dgesvd_work(d->n, d->k, a, d->n, sigma, work, d->lwork);
  return info == 0 && sigma[d->k - 1] > 0 ? sigma[0] / sigma[d->k - 1] : INFINITY;
}

static void condition_task(int64_t item, int thread, void *user) {
  drawing *d = user;
  d->condition[item] = condition_of(d, item, thread);
}

/* 1000 as in the paper while that takes about a second, never below 40. */
static int quantile_draws(int n, int k) {
  double draws = 2e9 / ((double)n * k * k);
  return draws > 1000 ? 1000 : draws < 40 ? 40 : (int)draws;
}

/* *limit <- the upper quartile of the condition numbers of random mixing matrices of this size, or 20. */
static blica_status condition_limit(blica_ctx *ctx, drawing *d, double *limit) {
  BL_OWNED double *all = NULL;
  const int draws = quantile_draws(d->n, d->k);
  *limit = 20;
  if (d->n < 20 || d->k == 1) return BLICA_OK; /* one column has condition number 1 */
  MUST(bl_alloc(ctx, (size_t)draws, &all));
  d->condition = all;
  d->purpose = DRAW_QUANTILE;
  bl_parallel(ctx, draws, condition_task, d);
  qsort(all, (size_t)draws, sizeof *all, bl_rising);
  double at = 0.75 * (draws - 1);
  int below = (int)at;
  *limit = all[below] + (at - below) * (all[below + 1] - all[below]);
  return BLICA_OK;
}

static blica_status draw_mixing(blica_ctx *ctx, const blica_simulate_options *o, double *mixing) {
  enum { ATTEMPTS = 1000000 };
  BL_OWNED double *work = NULL;
  drawing d = {.n = o->variables, .k = o->sources, .seed = o->seed, .range = o->mixing_range};
  double limit;
  d.lwork = 5 * o->variables + 64 * (o->variables + o->sources);
  d.work_size = bl_mul((size_t)d.n, (size_t)d.k) + (size_t)d.k + (size_t)d.lwork;
  MUST(bl_alloc(ctx, bl_mul(d.work_size, (size_t)bl_max_threads(ctx)), &work));
  d.work = work;
  MUST(condition_limit(ctx, &d, &limit));
  d.purpose = DRAW_MIXING;
  for (uint64_t attempt = 0; attempt < ATTEMPTS; attempt++) {
    blica_progress progress = {.stage = "simulate", .fraction = -1, .objective = NAN, .iteration = (int64_t)attempt};
    if (bl_poll(ctx, &progress))
      return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted while drawing the mixing matrix");
    if (condition_of(&d, (int64_t)attempt, 0) >= limit) continue;
    draw_matrix(&d, attempt, mixing);
    return BLICA_OK;
  }
  return bl_fail(ctx, BLICA_ERR_NUMERIC,
                 "no mixing matrix of %d variables and %d sources with a condition number below %g in %d draws", d.n,
                 d.k, limit, ATTEMPTS);
}

/* ---- the model ---- */

static blica_status check_options(blica_ctx *ctx, const blica_simulate_options *o) {
  if (o->sources > o->variables)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "simulate: %d sources of %d variables; sources must not exceed variables",
                   o->sources, o->variables);
  if (o->sd_low > o->sd_high)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "simulate: sd_low is %g, above sd_high, which is %g", o->sd_low,
                   o->sd_high);
  return BLICA_OK;
}

/* Levels 0, 1, ... of all items. */
static blica_status same_levels(blica_ctx *ctx, int count, blica_model *m) {
  blica_coding *coding;
  BL_OWNED int *levels = NULL;
  MUST(bl_alloc(ctx, (size_t)m->n, &levels));
  for (int i = 0; i < m->n; i++) levels[i] = count;
  MUST(bl_coding_make(ctx, m->n, (const char *const *)m->variables, levels, NULL, &coding));
  MUST(bl_model_set_coding(ctx, m, coding));
  return BLICA_OK;
}

/* Quantiles of a normal distribution of the latent variable's mean variance, plus the item's intercept. */
static blica_status draw_cuts(blica_ctx *ctx, const blica_simulate_options *o, blica_model *m) {
  bl_rng rng = bl_rng_make(o->seed, stream_of(DRAW_CUTS, 0, 0));
  BL_OWNED double *diagonal = NULL, *variance = NULL;
  if (o->levels > 2) MUST(same_levels(ctx, o->levels, m));
  MUST(bl_alloc(ctx, (size_t)m->n, &diagonal));
  MUST(bl_alloc(ctx, (size_t)m->n, &variance));
  for (int s = 0; s < m->u; s++) {
    bl_model_margins(m, s, diagonal, NULL);
    for (int i = 0; i < m->n; i++) variance[i] += diagonal[i] / m->u;
  }
  for (int i = 0; i < m->n; i++) {
    double intercept = o->intercepts > 0 ? o->intercepts * bl_rng_normal(&rng) : 0;
    for (int l = 1; l < o->levels; l++)
      m->cuts[bl_plane(m->coding, i) + l - 1] =
          intercept + (o->levels > 2 ? sqrt(variance[i]) * bl_phi_quantile((double)l / o->levels) : 0);
  }
  if (o->intercepts > 0 || o->levels > 2) bl_model_center(m);
  return BLICA_OK;
}

static blica_status draw_model(blica_ctx *ctx, const blica_simulate_options *o, blica_model **out) {
  MUST(blica_model_create(ctx, o->variables, o->sources, o->segments, out));
  blica_model *m = *out;
  m->link = o->link;
  strcpy(m->method, "truth");
  m->fit.prior_mixing = m->fit.prior_variance = INFINITY;
  m->fit.seed = o->seed;
  MUST(draw_mixing(ctx, o, m->mixing));
  for (int s = 0; s < m->u; s++) {
    bl_rng rng = bl_rng_make(o->seed, stream_of(DRAW_SOURCES, (uint64_t)s, 0));
    m->samples[s] = (double)o->samples;
    for (size_t j = (size_t)s * (size_t)m->k; j < (size_t)(s + 1) * (size_t)m->k; j++) {
      double sd = o->sd_low + (o->sd_high - o->sd_low) * bl_rng_uniform(&rng);
      m->variances[j] = sd * sd;
      m->means[j] = o->mean_range * (2 * bl_rng_uniform(&rng) - 1);
    }
  }
  MUST(bl_model_canonical(ctx, m));
  MUST(draw_cuts(ctx, o, m));
  for (int s = 0; s < m->u; s++) bl_model_margins(m, s, NULL, m->thresholds + (size_t)s * (size_t)m->planes);
  return BLICA_OK;
}

/* ---- rows ---- */

enum { WORD = 64, WORDS = 16 }; /* a task draws WORDS words of WORD rows of one segment */

typedef struct {
  const blica_model *model;
  blica_data *data;
  uint64_t seed;
  const int64_t *first; /* [u+1] first task of each segment */
  int64_t offset;       /* task that item 0 of the running batch is */
  double *work;         /* per thread [WORD,n+k] */
} rows_job;

static void draw_word(const rows_job *job, bl_rng *rng, int s, int64_t word, double *y /* [WORD,n] */,
                      double *z /* [WORD,k] */) {
  const blica_model *m = job->model;
  int64_t left = job->data->samples[s] - word * WORD;
  int rows = left < WORD ? (int)left : WORD;
  const double *mixing = bl_mixing_in(m, s), *cuts = bl_cuts_in(m, s), root = sqrt(m->link);
  for (int r = 0; r < rows; r++) {
    for (int j = 0; j < m->k; j++) {
      size_t at = j + (size_t)s * (size_t)m->k;
      z[r + j * WORD] = m->means[at] + sqrt(m->variances[at]) * bl_rng_normal(rng);
    }
    for (int i = 0; i < m->n; i++) y[r + i * WORD] = bl_rng_normal(rng);
  }
  for (int i = 0; i < m->n; i++) {
    double *q = y + (size_t)i * WORD;
    for (int j = 0; j < m->k; j++) {
      double a = root * mixing[i + (size_t)j * (size_t)m->n];
      const double *zj = z + (size_t)j * WORD;
      for (int r = 0; r < rows; r++) q[r] += a * zj[r];
    }
    for (int p = bl_plane(m->coding, i); p < bl_plane(m->coding, i + 1); p++) {
      uint64_t bits = 0;
      for (int r = 0; r < rows; r++) bits |= (uint64_t)(q[r] > cuts[p]) << r;
      job->data->ones[s][word + (int64_t)p * job->data->words[s]] = bits;
    }
  }
}

/* Draws one word of rows of the segment that holds this item. */
static void rows_task(int64_t item, int thread, void *user) {
  rows_job *job = user;
  const blica_model *m = job->model;
  item += job->offset;
  const int s = bl_segment_of_task(job->first, m->u, item);
  int64_t block = item - job->first[s], words = job->data->words[s];
  double *y = job->work + (size_t)thread * WORD * (size_t)(m->n + m->k), *z = y + WORD * (size_t)m->n;
  bl_rng rng = bl_rng_make(job->seed, stream_of(DRAW_ROWS, (uint64_t)s, (uint64_t)block));
  for (int64_t w = block * WORDS; w < words && w < (block + 1) * WORDS; w++) draw_word(job, &rng, s, w, y, z);
}

/* Data with all bits clear; rows run through the segments in order. */
static blica_status empty_data(blica_ctx *ctx, const blica_model *m, int64_t *first, blica_data **out) {
  size_t u = (size_t)m->u;
  MUST(bl_alloc(ctx, 1, out));
  blica_data *d = *out;
  d->n = m->planes;
  MUST(m->coding ? bl_coding_columns(ctx, m->coding, &d->variables)
                 : bl_copy_texts(ctx, m->n, (const char *const *)m->variables, &d->variables));
  MUST(bl_alloc_for(ctx, d, u, &d->samples));
  MUST(bl_alloc_for(ctx, d, u, &d->words));
  MUST(bl_alloc_for(ctx, d, u, &d->ones));
  MUST(bl_alloc_for(ctx, d, u, &d->present));
  d->u = m->u;
  MUST(bl_copy_texts(ctx, m->u, (const char *const *)m->segments, &d->segments));
  for (int s = 0; s < m->u; s++) {
    double samples = m->samples[s];
    if (!(samples >= 1 && samples <= 1e15) || samples != floor(samples))
      return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                     "segment %d ('%s') has %.15g samples; rows can be drawn for a whole number from 1 up", s + 1,
                     m->segments[s], samples);
    d->samples[s] = (int64_t)samples;
    d->words[s] = (d->samples[s] + WORD - 1) / WORD;
    d->rows += d->samples[s];
    first[s + 1] = first[s] + (d->words[s] + WORDS - 1) / WORDS;
    MUST(bl_alloc_for(ctx, d, bl_mul((size_t)d->words[s], (size_t)m->planes), &d->ones[s]));
  }
  MUST(bl_alloc(ctx, (size_t)d->rows, &d->row_segment));
  for (int64_t s = 0, row = 0; s < m->u; s++)
    for (int64_t r = 0; r < d->samples[s]; r++) d->row_segment[row++] = (int32_t)s;
  return BLICA_OK;
}

blica_status blica_simulate_rows(blica_ctx *ctx, const blica_model *model, uint64_t seed, blica_data **out) {
  BL_NEED_OUT(ctx, out, model);
  BL_AUTO(blica_data) *data = NULL;
  BL_OWNED int64_t *first = NULL;
  BL_OWNED double *work = NULL;
  MUST(bl_alloc(ctx, (size_t)model->u + 1, &first));
  MUST(bl_alloc(ctx, bl_mul(bl_mul(WORD, (size_t)(model->n + model->k)), (size_t)bl_max_threads(ctx)), &work));
  MUST(empty_data(ctx, model, first, &data));
  rows_job job = {.model = model, .data = data, .seed = seed, .first = first, .work = work};
  int64_t tasks = first[model->u], batch = 64 * bl_max_threads(ctx);
  for (job.offset = 0; job.offset < tasks; job.offset += batch) { /* in batches, to poll in between */
    blica_progress progress = {.stage = "simulate", .fraction = (double)job.offset / (double)tasks, .objective = NAN};
    if (bl_poll(ctx, &progress)) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted while drawing rows");
    bl_parallel(ctx, tasks - job.offset < batch ? tasks - job.offset : batch, rows_task, &job);
  }
  *out = bl_take(&data);
  return BLICA_OK;
}

/* ---- exact counts ---- */

typedef struct {
  const blica_model *model;
  blica_counts *counts;
  int *item;    /* [planes] */
  double *work; /* per thread [n + planes] */
} exact_job;

static double covariance(const blica_model *m, int s, int i, int j) {
  const double *mixing = bl_mixing_in(m, s);
  double sum = 0;
  for (int l = 0; l < m->k; l++)
    sum += mixing[i + (size_t)l * (size_t)m->n] * mixing[j + (size_t)l * (size_t)m->n] *
           m->variances[l + (size_t)s * (size_t)m->k];
  return m->link * sum;
}

/* One segment: x_i = 1 when a standard normal of correlation M_ij/sqrt(M_ii M_jj) is below t_i. */
static void exact_task(int64_t item, int thread, void *user) {
  exact_job *job = user;
  const blica_model *m = job->model;
  blica_counts *c = job->counts;
  int s = (int)item;
  double *diagonal = job->work + (size_t)thread * (size_t)(m->n + m->planes), *t = diagonal + m->n;
  bl_model_margins(m, s, diagonal, t);
  for (int q = 0; q < m->planes; q++) {
    size_t at = q + (size_t)s * (size_t)m->planes;
    int j = job->item[q];
    c->ones[at] = m->samples[s] * bl_phi_cdf(t[q]);
    c->present[at] = m->samples[s];
    for (int p = 0; p < q; p++) {
      int i = job->item[p];
      double rho = covariance(m, s, i, j) / sqrt(diagonal[i] * diagonal[j]);
      c->n11[blica_pair(p, q) + s * c->pairs] = i == j ? c->ones[at] : m->samples[s] * blica_bvn(t[p], t[q], rho);
    }
  }
}

blica_status blica_simulate_exact(blica_ctx *ctx, const blica_model *model, blica_counts **out) {
  BL_NEED_OUT(ctx, out, model);
  BL_AUTO(blica_counts) *counts = NULL;
  BL_OWNED char **columns = NULL;
  BL_OWNED int *item = NULL;
  BL_OWNED double *work = NULL;
  if (model->coding) MUST(bl_coding_columns(ctx, model->coding, &columns));
  MUST(bl_counts_create(ctx, model->planes, model->u, true, (const char *const *)(columns ? columns : model->variables),
                        (const char *const *)model->segments, &counts));
  MUST(bl_alloc(ctx, (size_t)model->planes, &item));
  for (int i = 0; i < model->n; i++)
    for (int p = bl_plane(model->coding, i); p < bl_plane(model->coding, i + 1); p++) item[p] = i;
  MUST(bl_alloc(ctx, bl_mul((size_t)(model->n + model->planes), (size_t)bl_max_threads(ctx)), &work));
  for (int s = 0; s < model->u; s++) {
    if (!(model->samples[s] > 0 && isfinite(model->samples[s])))
      return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                     "segment %d ('%s') has %g samples; exact counts need a nominal number above 0", s + 1,
                     model->segments[s], model->samples[s]);
    counts->samples[s] = model->samples[s];
  }
  counts->exact = 1;
  bl_parallel(ctx, model->u, exact_task, &(exact_job){model, counts, item, work});
  *out = bl_take(&counts);
  return BLICA_OK;
}

blica_status blica_simulate(blica_ctx *ctx, const blica_simulate_options *options, blica_model **model,
                            blica_data **data, blica_counts **counts) {
  BL_AUTO(blica_model) *drawn = NULL;
  blica_simulate_options o;
  if (model) *model = NULL;
  if (data) *data = NULL;
  if (counts) *counts = NULL;
  BL_NEED(ctx, options);
  MUST(BL_TAKE_OPTIONS(ctx, simulate, options, &o));
  MUST(check_options(ctx, &o));
  MUST(draw_model(ctx, &o, &drawn));
  if (o.exact && counts) MUST(blica_simulate_exact(ctx, drawn, counts));
  if (!o.exact && data) MUST(blica_simulate_rows(ctx, drawn, o.seed, data));
  if (model) *model = bl_take(&drawn);
  return BLICA_OK;
}

/* ---- the options ---- */

#define SIM(name) #name, BL_FIELD(blica_simulate_options, name)

static const blica_option simulate_table[] = {
    BL_ROW(SIM(variables), BLICA_OPT_INT, "10", 2, 1e6, NULL, "N", "Number of binary variables."),
    BL_ROW(SIM(sources), BLICA_OPT_INT, "10", 1, 1e6, NULL, "K", "Number of sources, at most the number of variables."),
    BL_ROW(SIM(segments), BLICA_OPT_INT, "40", 1, 1e6, NULL, "U", "Number of segments."),
    BL_ROW(SIM(samples), BLICA_OPT_INT, "1000", 1, 9e15, NULL, "COUNT",
           "Rows per segment; with exact, the nominal number."),
    BL_ROW(SIM(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of all random numbers. The same seed gives the same model and data."),
    BL_ROW(SIM(link), BLICA_OPT_REAL, "pi/8", 1e-6, 1e6, BL_PI_8, "C",
           "Squared coefficient c of the link, P(x=1|y) = Phi(sqrt(c) y)."),
    BL_ROW(SIM(mixing_range), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "R", "Elements of A are uniform in (-R, R)."),
    BL_ROW(SIM(sd_low), BLICA_OPT_REAL, "0.5", 1e-6, 1e6, NULL, "SD",
           "Lower end of the uniform standard deviations of the sources."),
    BL_ROW(SIM(sd_high), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "SD", "Upper end of the same."),
    BL_ROW(SIM(mean_range), BLICA_OPT_REAL, "0.5", 0, 1e6, NULL, "R", "Means of the sources are uniform in (-R, R)."),
    BL_ROW(SIM(intercepts), BLICA_OPT_REAL, "0", 0, 1e6, NULL, "SD",
           "Standard deviation of the items' thresholds, which are normal; 0 is the paper's model."),
    BL_ROW(SIM(levels), BLICA_OPT_INT, "2", 2, 100, NULL, "L",
           "Levels of every item, about equally frequent over all segments; 2 is the paper's model."),
    BL_ROW(SIM(exact), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "Exact pair probabilities (the limit of infinitely many samples) instead of rows."),
};

BL_OPTION_TABLE(simulate, simulate_table)
