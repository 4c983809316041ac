/* sources.c - what is known of the sources of each row: posterior mean, standard deviation, draws.
 *
 * Distinct rows are computed once (posterior.c), in tasks that do not depend on the number of threads and ranks. A row
 * of unknown segment has a mixture over the segments of the model, weighted by their samples and the row's probability
 * in them. Its sites of expectation propagation under the pooled distribution of the sources are common to all
 * segments: they say roughly how probable the row is in each, in closed form, and are where each begins. Segments whose
 * weight is by that below exp(-LEFT_OUT) of the largest are left out; what is then missing is below u exp(-LEFT_OUT +
 * error), the error of that estimate being below 10 in docs/likelihood.md. A draw is normal with the mean and
 * covariance of the row's posterior, from a random stream of that row. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/option.h"
#include "data/pack.h"
#include "likelihood/engines.h"
#include "model/model.h"
#include "num/rng.h"
#include "ranks/facts.h"

enum { TASK_ROWS = 64, WRITE_ROWS = 4096 };
#define LEFT_OUT 20.0
#define AT_REST 1e-6       /* bl_posterior.rest */
#define AT_REST_MIXED 2e-3 /* where rows are averaged over segments */

/* ---- options ---- */

#define SOURCES(name) #name, BL_FIELD(blica_sources_options, name)

static const blica_option sources_table[] = {
    BL_ROW(SOURCES(segment), BLICA_OPT_CHOICE, "known", 0, 0, "known|unknown", "KIND",
           "Whether rows have the segment that their label says, or unknown ones: then a row is averaged over all "
           "segments "
           "of the model, weighted by their samples and its likelihood in them. Without a label, a row's is unknown."),
    BL_ROW(SOURCES(draws), BLICA_OPT_INT, "0", 0, 1000, NULL, "M",
           "Plausible values: this many draws from the posterior of each row, for analyses that use scores as data."),
    BL_ROW(SOURCES(standardise), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "Sources in units of their standard deviation over all segments of the model, from their mean there."),
    BL_ROW_WITH("draws", SOURCES(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
                "Seed of the draws."),
};

BL_OPTION_TABLE(sources, sources_table)

/* ---- moments of a row ---- */

/* Weighted sums of one row over segments; deviations are from the mean so far: no digits are lost when it is large
 * (West, Communications of the ACM 22, 1979). */
typedef struct {
  double top, sum; /* largest log weight so far, which owns the others; sum of weights relative to it */
  double *mean;    /* [k] */
  double *spread;  /* [k,k] weighted sums of products of deviations */
} tally;

/* One thread's workspace, for the rows of one task. */
typedef struct {
  double *mean, *loading, *edge; /* of the group under one segment */
  double *log_p, *moments;       /* of its rows */
  double *sites, *start;         /* [2 n,rows] of all rows, of those chosen */
  double *guess;                 /* [rows,u] rough log weights */
  double *step, *sums;           /* [k]; of the tallies */
  uint8_t *x;                    /* rows chosen */
  int *row;                      /* which they are */
  tally tally[TASK_ROWS];
  double *work;
} workspace;

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const bl_patterns *patterns;
  const int *map; /* segment of the model for each of the data; -1: unknown */
  bl_params params, pooled;
  double *pooled_mean, *pooled_variance; /* [k] of the sources over all segments, by samples */
  blica_simd level;
  bool covariances;    /* wanted whole */
  int64_t tasks, each; /* each: doubles of a pattern in found */
  bl_task_rows *task;
  workspace **workspaces;
  double *found; /* [each,patterns+segments] items present, means, covariances or variances of the sources; after the
                    patterns, of a row of each segment of the data that has no value */
  const blica_data *data;
  const blica_sources_options *options;
  const int64_t *place; /* [rows] place of a row among those sorted by segment */
  blica_posterior *out;
} job;

/* ---- the mixture over segments ---- */

static void tally_clear(tally *t, int k) {
  t->top = -INFINITY, t->sum = 0.0;
  memset(t->mean, 0, sizeof(double) * (size_t)(k * (1 + k))); /* and spread, which follows */
}

/* Adds the moments of the standardised sources (NULL: those of the prior) under segment s of p. */
static void tally_add(tally *t, const bl_params *p, int s, double log_weight, const double *moments, double *step) {
  const int k = p->k;
  const double *v = p->variances + (size_t)s * (size_t)k, *mu = p->means + (size_t)s * (size_t)k;
  if (log_weight > t->top) {
    const double scale = exp(t->top - log_weight);
    t->top = log_weight, t->sum *= scale;
    for (int j = 0; j < k * k; j++) t->spread[j] *= scale;
  }
  const double weight = exp(log_weight - t->top), before = t->sum, share = weight / (before + weight);
  t->sum += weight;
  for (int j = 0; j < k; j++) {
    step[j] = mu[j] + sqrt(v[j]) * (moments ? moments[j] : 0.0) - t->mean[j];
    t->mean[j] = before > 0 ? t->mean[j] + share * step[j] : t->mean[j] + step[j];
  }
  for (int j = 0; j < k; j++)
    for (int l = 0; l < k; l++)
      t->spread[j * k + l] += before * share * step[j] * step[l] +
                              weight * sqrt(v[j] * v[l]) * (moments ? moments[k + j * k + l] : (double)(j == l));
}

/* Moments of a row with values of that many items. */
static void tally_store(const job *w, const tally *t, int items, double *found) {
  const int k = w->params.k;
  found[0] = items;
  for (int j = 0; j < k; j++) found[1 + j] = t->mean[j];
  for (int j = 0; j < (w->covariances ? k * k : k); j++)
    found[1 + k + j] = t->spread[w->covariances ? j : j * k + j] / t->sum;
}

/* ---- the rows of a task ---- */

/* The problem of the given rows under segment s of p. */
static bl_posterior problem_of(workspace *own, const bl_group *g, const bl_params *p, int s, int64_t count,
                               const uint8_t *x) {
  bl_group_parameters(g, s, p, own->mean, own->loading);
  return (bl_posterior){.n = g->n,
                        .k = p->k,
                        .mean = own->mean,
                        .loading = own->loading,
                        .levels = bl_group_intervals(g, s, p, own->edge),
                        .rest = AT_REST,
                        .count = count,
                        .x = x,
                        .log_p = own->log_p,
                        .moments = own->moments,
                        .sites = own->sites,
                        .work = own->work};
}

/* Posterior of rows whose segment is known. */
static void known_segment(const job *w, workspace *own, const bl_group *g, const bl_task_rows *t) {
  const int k = w->params.k, s = w->map[g->segment];
  const int64_t count = t->high - t->low;
  const bl_posterior p = problem_of(own, g, &w->params, s, count, g->x + t->low * g->n);
  bl_posterior_run(&p, w->level);
  for (int64_t r = 0; r < count; r++) {
    tally_clear(&own->tally[r], k);
    tally_add(&own->tally[r], &w->params, s, own->log_p[r], own->moments + r * k * (1 + k), own->step);
    tally_store(w, &own->tally[r], g->n, w->found + (g->offset + t->low + r) * w->each);
  }
}

/* Rough log weights of all segments, less the largest of each row; the sites stay in the workspace. */
static void guess_weights(const job *w, workspace *own, const bl_group *g, int64_t count, const uint8_t *x) {
  const int u = w->params.u;
  bl_posterior p = problem_of(own, g, &w->pooled, 0, count, x);
  p.rest = AT_REST_MIXED;
  bl_posterior_run(&p, w->level);
  for (int s = 0; s < u; s++) {
    p = problem_of(own, g, &w->params, s, count, x);
    p.start = own->sites;
    bl_posterior_guess(&p, w->level);
    for (int64_t r = 0; r < count; r++)
      own->guess[r * u + s] = w->model->samples[s] > 0 ? own->log_p[r] + log(w->model->samples[s]) : -INFINITY;
  }
  for (int64_t r = 0; r < count; r++) {
    double top = -INFINITY;
    for (int s = 0; s < u; s++) top = fmax(top, own->guess[r * u + s]);
    for (int s = 0; s < u; s++) own->guess[r * u + s] -= top;
  }
}

/* Posterior of rows of unknown segment: a mixture over the segments that are not far less likely than others. */
static void all_segments(const job *w, workspace *own, const bl_group *g, const bl_task_rows *t) {
  const int k = w->params.k, u = w->params.u, n = g->n;
  const int64_t count = t->high - t->low;
  const uint8_t *x = g->x + t->low * n;
  guess_weights(w, own, g, count, x);
  for (int64_t r = 0; r < count; r++) tally_clear(&own->tally[r], k);
  for (int s = 0; s < u; s++) {
    int chosen = 0;
    for (int r = 0; r < count; r++) {
      if (!(own->guess[r * u + s] > -LEFT_OUT)) continue;
      memcpy(own->x + chosen * n, x + r * n, (size_t)n);
      memcpy(own->start + chosen * 2 * n, own->sites + r * 2 * n, sizeof(double) * 2 * (size_t)n);
      own->row[chosen++] = r;
    }
    bl_posterior p = problem_of(own, g, &w->params, s, chosen, own->x);
    p.start = own->start;
    p.sites = NULL;
    p.rest = AT_REST_MIXED;
    if (chosen) bl_posterior_run(&p, w->level);
    for (int c = 0; c < chosen; c++)
      tally_add(&own->tally[own->row[c]], &w->params, s, own->log_p[c] + log(w->model->samples[s]),
                own->moments + c * k * (1 + k), own->step);
  }
  for (int64_t r = 0; r < count; r++) tally_store(w, &own->tally[r], n, w->found + (g->offset + t->low + r) * w->each);
}

static void run_task(int64_t item, int thread, void *user) {
  const job *w = user;
  const bl_task_rows *t = &w->task[item];
  const bl_group *g = &w->patterns->group[t->group];
  bl_loop_poll *poll = bl_loop_poll_of(w->ctx);
  if (thread == 0) poll->progress.fraction = (double)item / (double)w->tasks;
  if (bl_loop_stopped(w->ctx, thread)) return;
  if (w->map[g->segment] >= 0)
    known_segment(w, w->workspaces[thread], g, t);
  else
    all_segments(w, w->workspaces[thread], g, t);
}

/* ---- what the tasks need ---- */

static blica_status make_workspace(const job *w, workspace **out) {
  const size_t n = (size_t)w->params.n, k = (size_t)w->params.k, rows = TASK_ROWS;
  workspace *own;
  MUST(bl_alloc(w->ctx, 1, out));
  own = *out;
  MUST(bl_alloc_for(w->ctx, own, n, &own->mean));
  MUST(bl_alloc_for(w->ctx, own, n * k, &own->loading));
  MUST(bl_alloc_for(w->ctx, own, (size_t)w->patterns->cuts, &own->edge));
  MUST(bl_alloc_for(w->ctx, own, rows, &own->log_p));
  MUST(bl_alloc_for(w->ctx, own, bl_mul(rows, k * (1 + k)), &own->moments));
  MUST(bl_alloc_for(w->ctx, own, rows * 2 * n, &own->sites));
  MUST(bl_alloc_for(w->ctx, own, rows * 2 * n, &own->start));
  MUST(bl_alloc_for(w->ctx, own, bl_mul(rows, (size_t)w->params.u), &own->guess));
  MUST(bl_alloc_for(w->ctx, own, k, &own->step));
  MUST(bl_alloc_for(w->ctx, own, bl_mul(rows, k * (1 + k)), &own->sums));
  MUST(bl_alloc_for(w->ctx, own, rows * n, &own->x));
  MUST(bl_alloc_for(w->ctx, own, rows, &own->row));
  for (size_t r = 0; r < rows; r++) {
    own->tally[r].mean = own->sums + r * k * (1 + k);
    own->tally[r].spread = own->tally[r].mean + k;
  }
  return bl_alloc_for(w->ctx, own, bl_posterior_work(w->params.n, w->params.k, TASK_ROWS), &own->work);
}

/* Moments of the sources over all segments, by samples, and of rows of which nothing but the segment is known. */
static blica_status pool_segments(job *w, bool needed) {
  const int k = w->params.k;
  BL_OWNED double *sums = NULL;
  MUST(bl_alloc(w->ctx, 2 * (size_t)k * (1 + (size_t)k) + (size_t)k, &sums));
  double *step = sums + 2 * k * (1 + k);
  tally all = {.mean = sums, .spread = sums + k}, one = {.mean = sums + k * (1 + k), .spread = sums + k * (2 + k)};
  tally_clear(&all, k);
  for (int s = 0; s < w->params.u; s++)
    if (w->model->samples[s] > 0) tally_add(&all, &w->params, s, log(w->model->samples[s]), NULL, step);
  if (!(all.sum > 0) && needed)
    return bl_fail(w->ctx, BLICA_ERR_DATA,
                   "no segment of the model has samples: rows of unknown segment cannot be weighted");
  for (int j = 0; j < k; j++) w->pooled_mean[j] = all.mean[j], w->pooled_variance[j] = all.spread[j * k + j] / all.sum;
  for (int s = 0; s < w->data->u; s++) {
    tally_clear(&one, k);
    if (w->map[s] >= 0) tally_add(&one, &w->params, w->map[s], 0.0, NULL, step);
    tally_store(w, w->map[s] >= 0 ? &one : &all, 0, w->found + (w->patterns->count + s) * w->each);
  }
  return BLICA_OK;
}

/* Allocates, divides the patterns into tasks and pools the segments. Fails without samples if they are needed. */
static blica_status make_workspaces(job *w, bool needed) {
  const size_t k = (size_t)w->params.k;
  const int threads = bl_max_threads(w->ctx);
  w->covariances = w->options->draws > 0;
  w->each = 1 + w->params.k * (w->covariances ? 1 + w->params.k : 2);
  MUST(bl_alloc(w->ctx, (size_t)threads, &w->workspaces));
  MUST(bl_alloc_for(w->ctx, w->workspaces, bl_mul((size_t)(w->patterns->count + w->data->u), (size_t)w->each),
                    &w->found));
  MUST(bl_alloc_for(w->ctx, w->workspaces, k, &w->pooled_mean));
  MUST(bl_alloc_for(w->ctx, w->workspaces, k, &w->pooled_variance));
  w->pooled = w->params;
  w->pooled.u = 1, w->pooled.means = w->pooled_mean, w->pooled.variances = w->pooled_variance;
  w->pooled.freed = NULL;
  for (int t = 0; t < threads; t++) MUST(make_workspace(w, &w->workspaces[t]));
  MUST(bl_tasks_make(w->ctx, w->workspaces, w->patterns, TASK_ROWS, &w->task, &w->tasks));
  return pool_segments(w, needed);
}

static void free_workspaces(job *w) {
  for (int t = 0; w->workspaces && t < bl_max_threads(w->ctx); t++) bl_free(w->workspaces[t]);
  bl_free(w->workspaces);
}

/* All tasks, shared by the ranks; every rank has all that was found. */
static blica_status run_tasks(job *w, bl_split *split) {
  MUST(bl_split_make(w->ctx, w->tasks, split));
  bl_split_run(w->ctx, split, run_task, w);
  bl_loop_poll *poll = bl_loop_poll_of(w->ctx);
  MUST(bl_agree(w->ctx, poll->stopped ? bl_fail(w->ctx, BLICA_ERR_INTERRUPTED, "interrupted") : BLICA_OK));
  return bl_sum_disjoint(w->ctx, w->found, (size_t)(w->patterns->count * w->each));
}

/* ---- rows in the order of the input ---- */

/* Draws of a row, from its mean and the factor of its covariance. */
static void draw(const job *w, int64_t row, const double *mean, const double *factor) {
  const int k = w->params.k, draws = w->options->draws;
  bl_rng rng = bl_rng_make(w->options->seed, (uint64_t)(w->options->first_row + row));
  double *out = w->out->draws + row * draws * k;
  for (int d = 0; d < draws; d++, out += k) {
    memcpy(out, mean, sizeof(double) * (size_t)k);
    for (int j = 0; j < k; j++) {
      const double normal = bl_rng_normal(&rng);
      for (int l = j; l < k; l++) out[l] += factor[l * k + j] * normal;
    }
  }
}

/* Sources of the row in units of the standard deviations over all segments. */
static void standardise(const job *w, int64_t row) {
  const int k = w->params.k, draws = w->options->draws;
  for (int j = 0; j < k; j++) {
    const double center = w->pooled_mean[j], over = 1.0 / sqrt(w->pooled_variance[j]);
    w->out->mean[row * k + j] = (w->out->mean[row * k + j] - center) * over;
    w->out->sd[row * k + j] *= over;
    for (int d = 0; d < draws; d++) {
      double *z = &w->out->draws[(row * draws + d) * k + j];
      *z = (*z - center) * over;
    }
  }
}

/* Writes mean, standard deviation and draws of a row, standardised if asked for. */
static void write_row(const job *w, int64_t row, double *factor) {
  const int k = w->params.k;
  const int64_t pattern = w->patterns->row_pattern[w->place[row]];
  const double *found = w->found + (pattern < 0 ? w->patterns->count + w->data->row_segment[row] : pattern) * w->each;
  double *mean = w->out->mean + row * k, *sd = w->out->sd + row * k;
  w->out->answers[row] = (int32_t)found[0];
  for (int j = 0; j < k; j++) {
    mean[j] = found[1 + j];
    sd[j] = sqrt(found[1 + k + (w->covariances ? j * k + j : j)]);
  }
  if (w->options->draws > 0) {
    bl_factorise(k, found + 1 + k, factor);
    draw(w, row, mean, factor);
  }
  if (w->options->standardise) standardise(w, row);
}

static void write_rows(int64_t item, int thread, void *user) {
  const job *w = user;
  const int64_t last = (item + 1) * WRITE_ROWS < w->data->rows ? (item + 1) * WRITE_ROWS : w->data->rows;
  for (int64_t row = item * WRITE_ROWS; row < last; row++) write_row(w, row, w->workspaces[thread]->moments);
}

static blica_status make_posterior(blica_ctx *ctx, int64_t rows, int k, int draws, blica_posterior **out) {
  const size_t values = bl_mul((size_t)rows, (size_t)k);
  MUST(bl_alloc(ctx, 1, out));
  (*out)->rows = rows;
  (*out)->k = k;
  (*out)->n_draws = draws;
  MUST(bl_alloc_for(ctx, *out, values, &(*out)->mean));
  MUST(bl_alloc_for(ctx, *out, values, &(*out)->sd));
  MUST(bl_alloc_for(ctx, *out, (size_t)rows, &(*out)->answers));
  if (draws > 0) MUST(bl_alloc_for(ctx, *out, bl_mul(values, (size_t)draws), &(*out)->draws));
  return BLICA_OK;
}

/* Numbers near the ends of double, which a file may hold, overflow on the way: that is an error, not a result. */
static blica_status check_posterior(blica_ctx *ctx, const blica_posterior *p) {
  for (int64_t i = 0; i < p->rows * p->k; i++)
    if (!isfinite(p->mean[i]) || !isfinite(p->sd[i]))
      return bl_fail(
          ctx, BLICA_ERR_NUMERIC,
          "row %lld, source %d: mean and sd come out as %g and %g; numbers of the model are too large or too small",
          (long long)(i / p->k + 1), (int)(i % p->k) + 1, p->mean[i], p->sd[i]);
  return BLICA_OK;
}

/* ---- the verb ---- */

static bool any_unknown(const blica_data *data, const int *map) {
  for (int s = 0; s < data->u; s++)
    if (map[s] < 0) return true;
  return false;
}

blica_status blica_sources(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                           const blica_sources_options *options, blica_posterior **out) {
  BL_NEED_OUT(ctx, out, model, data);
  blica_sources_options o;
  blica_status status = BL_TAKE_OPTIONS(ctx, sources, options, &o);
  if (status != BLICA_OK) return status;
  const bool known = o.segment == BLICA_SEGMENTS_KNOWN;
  BL_OWNED int *variable = NULL, *segment = NULL;
  BL_OWNED int64_t *place = NULL;
  BL_AUTO(bl_patterns) *patterns = NULL;
  BL_OWNED blica_posterior *posterior = NULL;
  bl_split split = {0};
  job w = {.ctx = ctx, .model = model, .data = data, .options = &o, .level = blica_simd_level(ctx)};
  bl_loop_poll loop_poll = {.deadline = INFINITY, .armed = true, .progress = {"sources", 0, NAN, 0, 0}};
  bl_poll_reset(ctx);
  bl_loop_poll_set(ctx, &loop_poll);
  int count;
  const blica_option *table = blica_sources_option_table(&count);
  TRY(bl_same(ctx, &(blica_input){.data = data}, model, table, count, &o));
  TRY(bl_alloc(ctx, (size_t)model->planes, &variable));
  TRY(bl_alloc(ctx, (size_t)data->u, &segment));
  TRY(bl_likelihood_match(ctx, model, data, known ? BL_MATCH_SOME : BL_MATCH_NONE, variable, segment));
  TRY(bl_patterns_make(ctx, data, model->n, model->coding, variable, !known, &patterns));
  w.params = bl_model_params(model);
  w.patterns = patterns;
  w.map = segment;
  TRY(make_workspaces(&w, o.standardise || any_unknown(data, segment)));
  TRY(run_tasks(&w, &split));
  TRY(bl_row_places(ctx, data, &place));
  TRY(make_posterior(ctx, data->rows, model->k, o.draws, &posterior));
  posterior->patterns = patterns->count;
  w.place = place;
  w.out = posterior;
  bl_parallel(ctx, (data->rows + WRITE_ROWS - 1) / WRITE_ROWS, write_rows, &w);
  TRY(check_posterior(ctx, posterior));
  *out = bl_take(&posterior);
done:
  bl_loop_poll_set(ctx, NULL);
  bl_split_free(&split);
  free_workspaces(&w);
  return status;
}

void blica_posterior_free(blica_posterior *posterior) {
  bl_free(posterior);
}
