/* loglik.c - the full log-likelihood of rows under a model, with its numerical error.
 *
 * Grid: evaluated on the nodes and on nodes moved by half a spacing; their leading errors are opposite, the mean is
 * reported and half the difference bounds its error, with what lies beyond the reach added. Lattice: eight
 * random shifts, doubled in size until five standard errors of the total are small enough. All shifts of a
 * segment use the same points for all its patterns, so their errors are correlated and the error is that of the
 * segment's sum, not a sum of errors. Expectation propagation: its error is measured on a sample of patterns by
 * importance sampling from its own posterior. */
#include <math.h>
#include <string.h>

#include "base/option.h"
#include "data/pack.h"
#include "likelihood/engines.h"
#include "ranks/facts.h"

enum { SHIFTS = 8, FIRST_POINTS = 64 };
#define FIRST_GRID 1e-10  /* error of a probability */
#define LARGEST_WORK 4e9  /* patterns x variables x points x shifts, or nodes: seconds, not hours */
#define LONG_SECONDS 10.0 /* what takes longer is announced */

/* ---- options ---- */

#define LOGLIK(name) #name, BL_FIELD(blica_loglik_options, name)
#define ENGINES "auto|grid|lattice|ep"
#define ENGINE_HELP                                                                                                    \
  "How probabilities of rows are computed: grid integrates over up to 3 sources, lattice samples up to 128 "           \
  "variables, ep is an approximation for any number; auto chooses by size."

static const blica_option loglik_table[] = {
    BL_ROW(LOGLIK(engine), BLICA_OPT_CHOICE, "auto", 0, 0, ENGINES, "NAME", ENGINE_HELP),
    BL_ROW_WITH("engine=auto|grid|lattice", LOGLIK(error), BLICA_OPT_REAL, "0.5", 0, 1e9, NULL, "EPS",
                "Numerical error of the total that is small enough; what was reached is reported."),
    BL_ROW_WITH("engine=auto|lattice", LOGLIK(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
                "Seed of the lattice's random shifts."),
};

BL_OPTION_TABLE(loglik, loglik_table)

/* ---- the work ---- */

typedef struct {
  blica_ctx *ctx;
  const bl_patterns *patterns;
  bl_likelihood *likelihood;
  bl_params params;
  const blica_loglik_options *options;
  int most_points; /* of a lattice */
  double *log_p;   /* [patterns,SHIFTS] */
  double *value;   /* [patterns] log-probability of each, or NULL: not asked for */
  blica_loglik_result *result;
} work;

/* The log-probability of each pattern; step is told to the user. */
static blica_status evaluate(work *w, bl_accuracy accuracy, int step, double *log_p) {
  MUST(bl_likelihood_values(w->ctx, w->likelihood, &w->params, &accuracy, log_p));
  const blica_progress progress = {"loglik", -1, NAN, 0, step};
  if (bl_poll_agreed(w->ctx, &progress, INFINITY)) return bl_fail(w->ctx, BLICA_ERR_INTERRUPTED, "interrupted");
  return BLICA_OK;
}

/* Adds a pattern of a group, whose log-probability has that error. */
static void add_pattern(work *w, const bl_group *g, int64_t r, double log_p, double error) {
  if (w->value) w->value[g->offset + r] = log_p;
  w->result->loglik[g->segment] += g->weight[r] * log_p;
  w->result->error[g->segment] += g->weight[r] * error;
}

/* Sums log-likelihoods and errors over segments; returns the error of the total. */
static double sum_segments(work *w) {
  blica_loglik_result *r = w->result;
  double variance = 0.0;
  r->total = 0.0;
  for (int s = 0; s < r->u; s++) {
    r->total += r->loglik[s];
    variance += r->error[s] * r->error[s]; /* segments have shifts of their own */
  }
  return r->total_error = sqrt(variance);
}

static void clear(work *w) {
  memset(w->result->loglik, 0, sizeof(double) * (size_t)w->result->u);
  memset(w->result->error, 0, sizeof(double) * (size_t)w->result->u);
}

/* Two grids, half a spacing apart. */
static void combine_grid(work *w, double grid_error) {
  const bl_patterns *p = w->patterns;
  clear(w);
  for (int g = 0; g < p->groups; g++) {
    const bl_group *group = &p->group[g];
    for (int64_t r = 0; r < group->count; r++) {
      double a = w->log_p[group->offset + r], b = w->log_p[p->count + group->offset + r], gap = fabs(a - b);
      double mean = fmax(a, b) + log1p(-0.5 * -expm1(-gap));
      add_pattern(w, group, r, mean, 0.5 * gap + grid_error * exp(-mean) + 1e-15 * fabs(mean));
    }
  }
}

/* Refines the grid until the error is small enough. */
static blica_status by_grid(work *w) {
  for (double error = FIRST_GRID; error > 1e-17; error *= 1e-2) {
    for (int shift = 0; shift < 2; shift++)
      MUST(evaluate(w, (bl_accuracy){.shift = (uint64_t)shift, .grid_error = error}, 0,
                    w->log_p + shift * w->patterns->count));
    combine_grid(w, error);
    if (sum_segments(w) <= w->options->error) break;
  }
  return BLICA_OK;
}

/* The mean over shifts of each probability; the error from the sums of their relative deviations. */
static void combine_lattice(work *w) {
  const bl_patterns *p = w->patterns;
  int at = 0;
  clear(w);
  for (int s = 0; s < w->result->u; s++) {
    double sum[SHIFTS] = {0}, squares = 0.0, bias = 0.0;
    for (; at < p->groups && p->group[at].segment == s; at++) {
      const bl_group *group = &p->group[at];
      for (int64_t r = 0; r < group->count; r++) {
        const double *own = w->log_p + group->offset + r;
        double top = own[0], mean = 0.0, spread = 0.0;
        for (int h = 1; h < SHIFTS; h++) top = fmax(top, own[h * p->count]);
        for (int h = 0; h < SHIFTS; h++) mean += exp(own[h * p->count] - top) / SHIFTS;
        for (int h = 0; h < SHIFTS; h++) {
          double deviation = exp(own[h * p->count] - top) / mean - 1.0;
          sum[h] += group->weight[r] * deviation;
          spread += deviation * deviation;
        }
        spread *= 0.5 / (SHIFTS * (SHIFTS - 1)); /* bias of the logarithm of a mean */
        bias += group->weight[r] * spread;
        add_pattern(w, group, r, top + log(mean) + spread, 0.0);
      }
    }
    for (int h = 0; h < SHIFTS; h++) squares += sum[h] * sum[h];
    w->result->error[s] = 5.0 * sqrt(squares / (SHIFTS * (SHIFTS - 1))) + bias + 1e-14 * fabs(w->result->loglik[s]);
  }
}

/* Doubles the points of the lattice until the error is small enough, or the work too large. */
static blica_status by_lattice(work *w) {
  double unit = (double)w->patterns->count * w->params.n * SHIFTS;
  for (int points = FIRST_POINTS; points <= w->most_points; points *= 2) {
    if (points > FIRST_POINTS && unit * points > LARGEST_WORK) break;
    for (int shift = 0; shift < SHIFTS; shift++)
      MUST(evaluate(w, (bl_accuracy){.points = points, .seed = w->options->seed, .shift = (uint64_t)shift}, points,
                    w->log_p + shift * w->patterns->count));
    combine_lattice(w);
    if (sum_segments(w) <= w->options->error) break;
  }
  return BLICA_OK;
}

/* Expectation propagation, with the error that a sample of rows shows. */
static blica_status by_ep(work *w) {
  double mean, sd;
  MUST(evaluate(w, (bl_accuracy){.seed = w->options->seed}, 0, w->log_p));
  MUST(bl_likelihood_ep_error(w->ctx, w->likelihood, &w->params, w->options->seed, &mean, &sd));
  clear(w);
  for (int g = 0; g < w->patterns->groups; g++) {
    const bl_group *group = &w->patterns->group[g];
    for (int64_t r = 0; r < group->count; r++)
      add_pattern(w, group, r, w->log_p[group->offset + r], fabs(mean) + 2.0 * sd);
  }
  sum_segments(w);
  w->result->total_error = (double)w->patterns->rows * (fabs(mean) + 2.0 * sd); /* one bias, not independent errors */
  return BLICA_OK;
}

/* The work for the first value and its error, in the units of LARGEST_WORK: the nodes of a grid grow with the loadings,
 * to the power of k. Expectation propagation counts as 0. */
static blica_status least_work(const work *w, blica_engine engine, const int *segment, double *units) {
  BL_OWNED double *mean = NULL, *loading = NULL;
  double band[BL_GRID_SOURCES];
  *units = engine == BLICA_ENGINE_LATTICE ? (double)w->patterns->count * w->params.n * SHIFTS * FIRST_POINTS : 0.0;
  MUST(bl_alloc(w->ctx, (size_t)w->params.n, &mean));
  MUST(bl_alloc(w->ctx, (size_t)w->params.n * (size_t)w->params.k, &loading));
  for (int g = 0; engine == BLICA_ENGINE_GRID && g < w->patterns->groups; g++) {
    const bl_group *group = &w->patterns->group[g];
    bl_grid grid = {.n = group->n, .k = w->params.k};
    bl_group_parameters(group, segment[group->segment], &w->params, mean, loading);
    bl_grid_band(group->n, w->params.k, loading, band);
    *units += 2.0 * bl_grid_plan(&grid, band, FIRST_GRID) * (double)group->count * group->n;
  }
  return BLICA_OK;
}

/* Warns before work that takes long. Nanoseconds of a unit were measured on one core of 2.8 GHz. */
static blica_status announce(const work *w, blica_engine engine, const int *segment) {
  static const double cost[][2] = {
      [BLICA_ENGINE_GRID] = {0.1, 0.05}, [BLICA_ENGINE_LATTICE] = {15, 3}, [BLICA_ENGINE_EP] = {0}};
  double units;
  MUST(least_work(w, engine, segment, &units));
  const int64_t most = (int64_t)bl_max_threads(w->ctx) * bl_comm(w->ctx)->size, tasks = w->likelihood->tasks;
  const double seconds = 1e-9 * units * cost[engine][blica_simd_level(w->ctx) == BLICA_SIMD_AVX512] /
                         (double)(tasks < most ? tasks : most);
  if (!(seconds >= LONG_SECONDS)) return BLICA_OK; /* without patterns it is no number */
  const double unit = seconds < 120 ? 1 : seconds < 7200 ? 60 : 3600;
  bl_warn(
      w->ctx,
      "the log-likelihood by engine %s will take about %.0f %s or more: there are %lld distinct patterns in %d groups "
      "of rows with the same segment and the same values missing; engine ep is faster, but less accurate",
      blica_engine_name(engine), seconds / unit,
      unit == 1    ? "seconds"
      : unit == 60 ? "minutes"
                   : "hours",
      (long long)w->patterns->count, w->patterns->groups);
  return BLICA_OK;
}

/* Computes the log-likelihood with this engine. */
static blica_status by_engine(work *w, blica_engine engine, const int *segment) {
  bl_likelihood_free(w->likelihood);
  w->likelihood = NULL;
  MUST(bl_likelihood_make(w->ctx, w->patterns, segment, w->params.n, w->params.k, w->params.u, engine, BL_MVN_BLOCK,
                          &w->likelihood));
  MUST(announce(w, engine, segment));
  MUST(bl_likelihood_order(w->ctx, w->likelihood, &w->params));
  w->result->engine = engine;
  MUST(engine == BLICA_ENGINE_GRID ? by_grid(w) : engine == BLICA_ENGINE_LATTICE ? by_lattice(w) : by_ep(w));
  return BLICA_OK;
}

blica_status bl_loglik_run(blica_ctx *ctx, const bl_patterns *patterns, const int *segment, const bl_params *params,
                           const blica_loglik_options *options, int most_points, double *value,
                           blica_loglik_result *result) {
  blica_status status = BLICA_OK;
  work w = {.ctx = ctx,
            .patterns = patterns,
            .params = *params,
            .options = options,
            .most_points = most_points,
            .value = value,
            .result = result};
  blica_engine engine;
  double units = 0.0; /* of a grid that auto has chosen */
  TRY(bl_likelihood_engine(ctx, options->engine, params->n, params->k, &engine));
  if (engine == BLICA_ENGINE_GRID && options->engine == BLICA_ENGINE_AUTO) TRY(least_work(&w, engine, segment, &units));
  if (!(units <= LARGEST_WORK)) engine = BLICA_ENGINE_LATTICE; /* loadings may be too large for any number */
  TRY(bl_alloc(ctx, bl_mul((size_t)patterns->count, SHIFTS), &w.log_p));
  TRY(by_engine(&w, engine, segment));
done:
  bl_likelihood_free(w.likelihood);
  bl_free(w.log_p);
  return status;
}

static blica_status make_result(blica_ctx *ctx, const blica_data *data, blica_loglik_result **out) {
  blica_status status = BLICA_OK;
  blica_loglik_result *r = NULL;
  TRY(bl_alloc(ctx, 1, &r));
  r->u = data->u;
  r->rows = data->rows;
  TRY(bl_alloc_for(ctx, r, (size_t)data->u, &r->samples));
  TRY(bl_alloc_for(ctx, r, (size_t)data->u, &r->loglik));
  TRY(bl_alloc_for(ctx, r, (size_t)data->u, &r->error));
  TRY(bl_alloc_for(ctx, r, (size_t)data->rows, &r->row_loglik));
  TRY(bl_copy_texts(ctx, data->u, (const char *const *)data->segments, &r->segments));
  memcpy(r->samples, data->samples, sizeof *r->samples * (size_t)data->u);
done:
  if (status != BLICA_OK) {
    blica_loglik_result_free(r);
    r = NULL;
  }
  *out = r;
  return status;
}

/* The values of patterns, to the rows that have them, in the order in which they were given. */
static blica_status write_rows(blica_ctx *ctx, const blica_data *data, const bl_patterns *patterns, const double *value,
                               double *row_loglik) {
  BL_OWNED int64_t *place = NULL;
  MUST(bl_row_places(ctx, data, &place));
  for (int64_t row = 0; row < data->rows; row++) {
    const int64_t pattern = patterns->row_pattern[place[row]];
    row_loglik[row] = pattern < 0 ? 0.0 : value[pattern];
  }
  return BLICA_OK;
}

/* Numbers near the ends of double, which a file may hold, overflow on the way: that is an error, not a result. */
static blica_status check_result(blica_ctx *ctx, const blica_loglik_result *r) {
  for (int s = 0; s < r->u; s++)
    if (!isfinite(r->loglik[s]) || isnan(r->error[s]))
      return bl_fail(ctx, BLICA_ERR_NUMERIC,
                     "segment '%s': its log-likelihood comes out as %g; numbers of the model are too large or too "
                     "small for engine %s",
                     r->segments[s], r->loglik[s], blica_engine_name(r->engine));
  return BLICA_OK;
}

blica_status blica_loglik(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                          const blica_loglik_options *options, blica_loglik_result **out) {
  BL_NEED_OUT(ctx, out, model, data);
  blica_status status = BLICA_OK;
  blica_loglik_options o;
  bl_params params = bl_model_params(model);
  blica_loglik_result *result = NULL;
  BL_OWNED int *variable = NULL, *segment = NULL;
  BL_OWNED double *value = NULL;
  BL_AUTO(bl_patterns) *patterns = NULL;
  blica_engine engine;
  bl_loop_poll loop_poll = {.deadline = INFINITY, .armed = true, .progress = {"loglik", -1, NAN, 0, 0}};
  bl_poll_reset(ctx);
  bl_loop_poll_set(ctx, &loop_poll);
  TRY(BL_TAKE_OPTIONS(ctx, loglik, options, &o));
  int count;
  const blica_option *table = blica_loglik_option_table(&count);
  TRY(bl_same(ctx, &(blica_input){.data = data}, model, table, count, &o));
  TRY(bl_alloc(ctx, (size_t)model->planes, &variable));
  TRY(bl_alloc(ctx, (size_t)data->u, &segment));
  TRY(bl_likelihood_match(ctx, model, data, BL_MATCH_ALL, variable, segment));
  TRY(bl_likelihood_engine(ctx, o.engine, model->n, model->k, &engine)); /* refused before the data are gone through */
  TRY(bl_patterns_make(ctx, data, model->n, model->coding, variable, false, &patterns));
  TRY(make_result(ctx, data, &result));
  result->patterns = patterns->count;
  TRY(bl_alloc(ctx, (size_t)patterns->count, &value));
  TRY(bl_loglik_run(ctx, patterns, segment, &params, &o, BL_LATTICE_POINTS, value, result));
  TRY(write_rows(ctx, data, patterns, value, result->row_loglik));
  TRY(check_result(ctx, result));
  *out = bl_take(&result);
done:
  bl_loop_poll_set(ctx, NULL);
  blica_loglik_result_free(result);
  return status;
}

void blica_loglik_result_free(blica_loglik_result *result) {
  if (!result) return;
  bl_free(result->segments);
  bl_free(result);
}
