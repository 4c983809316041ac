/* emission.c - log P(row | state).
 *
 * From counts: the formulas of level_scores.c, which are enough to find states. Under a model the likelihood's engines
 * take over: the grid over the sources where it is cheap, else expectation propagation, which lacks 0.01 to 0.03 per
 * row in log P at n = k = 5 and 8 (largest error 0.08), nearly the same in all states: it changes 0.01 to 0.6 % of the
 * labels (bench/results/segment.md). */
#include "segment/series.h"

#include <math.h>
#include <string.h>

#include "likelihood/likelihood.h"
#include "num/rectangles/grid.h"
#include "num/rectangles/mvn.h"

#define PRIOR_ROWS 4.0        /* rows of the pooled counts in each state's */
#define GRID_ERROR 1e-17      /* of a probability */
#define MOST_NODES 2e7        /* of a grid: loadings so steep that it needs more are left to expectation propagation */
#define LOG_SMALLEST (-700.0) /* in place of a log P that expectation propagation could not give */

struct bl_emission {
  const bl_series *series;
  const bl_patterns *patterns; /* of the series, or levels */
  bl_patterns *levels;         /* patterns as levels, numbered as those of the series; NULL: all items have two */
  double *scores;              /* [score_size] of each thread: workspace of level_scores.c */
  size_t score_size;
  /* under a model, of one state after the other */
  blica_engine engine;
  int sources;
  bl_likelihood *likelihood; /* for this number of sources; NULL: not made yet */
  double *cut, *mean, *own;  /* [n], [sources] zeros, [patterns] log P */
};

int bl_emission_parameters(const bl_emission *e) {
  return e->series->n + e->series->items * (e->series->items - 1) / 2;
}

blica_engine bl_emission_engine(const bl_emission *e) {
  return e->engine;
}

/* ---- making ---- */

/* Makes the patterns of the series once more, as levels, if items have more than two; they have the same keys in the
 * same order. */
static blica_status make_levels(blica_ctx *ctx, const blica_data *data, bl_emission *e) {
  e->patterns = e->series->patterns;
  if (!bl_coding_ordinal(e->series->coding)) return BLICA_OK;
  MUST(bl_patterns_make(ctx, data, e->series->items, e->series->coding, NULL, true, &e->levels));
  e->patterns = e->levels;
  return BLICA_OK;
}

blica_status bl_emission_make(blica_ctx *ctx, const blica_data *data, const bl_series *series, bl_emission **out) {
  blica_status status;
  bl_emission *e = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &e));
  e->series = series;
  e->engine = BLICA_ENGINE_EP;
  TRY(make_levels(ctx, data, e));
  e->score_size = bl_level_scores_work(series);
  TRY(bl_alloc_for(ctx, e, bl_mul(e->score_size, (size_t)bl_max_threads(ctx)), &e->scores));
  *out = bl_take(&e);
done:
  bl_emission_free(e);
  return status;
}

void bl_emission_free(bl_emission *e) {
  if (!e) return;
  bl_likelihood_free(e->likelihood); /* it borrows the patterns */
  bl_patterns_free(e->levels);
  bl_free(e->mean);
  bl_free(e);
}

/* ---- by counts ---- */

typedef struct {
  const bl_emission *e;
  int states;
  const double *stat;
  double *log_p;
} job;

/* log P of all patterns in state s from its counts. */
static void count_task(int64_t s, int thread, void *user) {
  const job *j = user;
  const bl_emission *e = j->e;
  double *work = e->scores + e->score_size * (size_t)thread;
  bl_level_scores(e->series, e->patterns, j->states, j->stat, (int)s, PRIOR_ROWS, work, j->log_p);
}

blica_status bl_emission_counts(blica_ctx *ctx, bl_emission *e, int states, const double *stat, double *log_p) {
  job j = {.e = e, .states = states, .stat = stat, .log_p = log_p};
  bl_parallel(ctx, states, count_task, &j);
  return BLICA_OK;
}

/* ---- by the likelihood's engines under a model ---- */

/* Whether a grid can integrate over the sources in all states; its nodes grow with the loadings. */
static bool few_nodes(const blica_model *m) {
  for (int s = 0; s < m->u; s++) {
    bl_grid grid = {.k = m->k};
    double band[BL_GRID_SOURCES];
    for (int l = 0; l < m->k; l++) {
      double square = 1;
      for (int i = 0; i < m->n; i++) {
        const double a = m->mixing[i + (size_t)l * (size_t)m->n];
        square += m->link * a * a * m->variances[l + s * m->k];
      }
      band[l] = sqrt(square);
    }
    if (!(bl_grid_plan(&grid, band, GRID_ERROR) <= MOST_NODES)) return false;
  }
  return true;
}

/* Makes the likelihood for the sources of a model, if it is not there. */
static blica_status make_likelihood(blica_ctx *ctx, bl_emission *e, const blica_model *m) {
  static const int segment[] = {0};
  const bl_series *x = e->series;
  const int k = m->k;
  blica_engine engine;
  MUST(bl_likelihood_engine(ctx, BLICA_ENGINE_AUTO, x->items, k, &engine));
  if (engine != BLICA_ENGINE_GRID || !few_nodes(m)) engine = BLICA_ENGINE_EP;
  if (e->likelihood && e->sources == k && e->engine == engine) return BLICA_OK;
  bl_likelihood_free(e->likelihood);
  bl_free(e->mean);
  e->likelihood = NULL, e->mean = NULL, e->sources = k, e->engine = engine;
  MUST(bl_alloc(ctx, (size_t)k, &e->mean));
  if (!e->cut) MUST(bl_alloc_for(ctx, e, (size_t)x->n, &e->cut));
  if (!e->own) MUST(bl_alloc_for(ctx, e, (size_t)x->patterns->count, &e->own));
  MUST(bl_likelihood_make(ctx, e->patterns, segment, x->items, k, 1, e->engine, BL_MVN_BLOCK, &e->likelihood));
  return BLICA_OK;
}

/* Cuts that give the items the thresholds of the state's counts, when the sources have mean 0. */
static void cuts_of_state(const bl_emission *e, const blica_model *m, int s) {
  for (int i = 0; i < m->n; i++) {
    const int first = bl_plane(e->series->coding, i), count = bl_plane(e->series->coding, i + 1) - first;
    double square = 1;
    for (int l = 0; l < m->k; l++) {
      double a = m->mixing[i + (size_t)l * (size_t)m->n];
      square += m->link * a * a * m->variances[l + s * m->k];
    }
    bl_latent_cuts(count, m->thresholds + first + (size_t)s * (size_t)m->planes, sqrt(square), e->cut + first);
  }
}

blica_status bl_emission_model(blica_ctx *ctx, bl_emission *e, const blica_model *m, double *log_p) {
  const bl_accuracy accuracy = {.grid_error = GRID_ERROR};
  MUST(make_likelihood(ctx, e, m));
  for (int s = 0; s < m->u; s++) {
    cuts_of_state(e, m, s);
    const bl_params params = {m->n, m->k, 1, m->link, m->mixing, m->variances + s * m->k, e->mean, e->cut, NULL};
    MUST(bl_likelihood_order(ctx, e->likelihood, &params));
    MUST(bl_likelihood_values(ctx, e->likelihood, &params, &accuracy, e->own));
    for (int64_t p = 0; p < e->series->patterns->count; p++)
      log_p[p * m->u + s] = e->own[p] > LOG_SMALLEST ? e->own[p] : LOG_SMALLEST; /* not a number, too */
  }
  return BLICA_OK;
}
