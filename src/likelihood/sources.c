/* sources.c - what is known of the sources of each row: posterior mean and standard deviation.
 *
 * Each engine gives E[z|x] and E[zz'|x] of the standardised sources (likelihood.h). They are added up with
 * weights, the probability of the row under each shift of the lattice and, when segments are unknown, under
 * each segment times its samples; logarithms keep the weights in range. When segments are unknown, equal rows of all
 * segments are one pattern, computed once under each segment of the model. */
#include <math.h>
#include <string.h>

#include "base/option.h"
#include "likelihood/likelihood.h"
#include "ranks/same.h"
#include "model/model.h"
#include "num/mvn.h"

enum { SHIFTS = 4, POINTS = BL_MVN_BLOCK, NODES = 8, NODES_9 = 5 }; /* nodes up to 8 variables, and beyond */
#define GRID_ERROR 1e-12

/* Weighted sums per pattern; one place more for rows without any value. */
typedef struct {
  int k;
  const bl_params *params;
  const int *map;    /* segment of the model for each of the data */
  double log_prior;  /* log weight of this round */
  double all;        /* weight of all rounds together, that a row of probability 1 would have */
  double *top, *sum; /* [patterns] largest log weight so far; sum of weights relative to it. top owns the others */
  double *one, *two; /* [k,patterns] mean of z so far; weighted sum of squared deviations from it: no digits are lost
                        when the mean is large (West, Communications of the ACM 22, 1979) */
  double *found;     /* [1+2k,patterns] of this round: log P, E z, var z of the standardised sources */
} tally;

/* Adds moments of the standardised sources under segment s of the model; NULL: those of the prior. */
static void add(tally *t, int64_t pattern, int s, double log_weight, const double *first, const double *spread) {
  int k = t->k;
  double *one = t->one + pattern * k, *two = t->two + pattern * k;
  const double *v = t->params->variances + (size_t)s * k, *mu = t->params->means + (size_t)s * k;
  if (log_weight > t->top[pattern]) {
    double scale = exp(t->top[pattern] - log_weight);
    t->top[pattern] = log_weight;
    t->sum[pattern] *= scale;
    for (int j = 0; j < k; j++) two[j] *= scale;
  }
  double weight = exp(log_weight - t->top[pattern]), before = t->sum[pattern], share = weight / (before + weight);
  t->sum[pattern] += weight;
  for (int j = 0; j < k; j++) {
    double change = mu[j] + sqrt(v[j]) * (first ? first[j] : 0.0) - one[j];
    one[j] = before > 0 ? one[j] + share * change : one[j] + change;
    two[j] += weight * v[j] * (spread ? spread[j] : 1.0) + before * share * change * change;
  }
}

static void take(const bl_scores *scores, int thread, void *user) {
  tally *t = user;
  int k = t->k;
  (void)thread;
  for (int64_t r = 0; r < scores->count; r++) {
    double *found = t->found + (scores->group->offset + scores->row[r]) * (1 + 2 * k);
    const double *z = scores->first + r * k, *second = scores->second + r * k * k;
    found[0] = scores->log_p[r];
    for (int j = 0; j < k; j++) {
      found[1 + j] = z[j];
      found[1 + k + j] = fmax(second[j * k + j] - z[j] * z[j], 0.0);
    }
  }
}

/* The ranks' findings together, then into the tally. */
static blica_status add_found(blica_ctx *ctx, const bl_patterns *patterns, tally *t) {
  const int64_t each = 1 + 2 * t->k;
  MUST(bl_sum_disjoint(ctx, t->found, (size_t)(patterns->count * each)));
  for (int g = 0; g < patterns->groups; g++)
    for (int64_t r = 0; r < patterns->group[g].count; r++) {
      int64_t pattern = patterns->group[g].offset + r;
      const double *found = t->found + pattern * each;
      add(t, pattern, t->map[patterns->group[g].segment], t->log_prior + found[0], found + 1, found + 1 + t->k);
    }
  return BLICA_OK;
}

static blica_status tally_make(blica_ctx *ctx, int64_t places, tally *t) {
  size_t count = (size_t)places, moments = bl_mul(count, (size_t)t->k);
  MUST(bl_alloc(ctx, count, &t->top));
  MUST(bl_alloc_for(ctx, t->top, count, &t->sum));
  MUST(bl_alloc_for(ctx, t->top, moments, &t->one));
  MUST(bl_alloc_for(ctx, t->top, moments, &t->two));
  MUST(bl_alloc_for(ctx, t->top, bl_mul(count, 1 + 2 * (size_t)t->k), &t->found));
  for (int64_t i = 0; i < places; i++) t->top[i] = -INFINITY;
  return BLICA_OK;
}

/* All shifts under the segments of the map. */
static blica_status round_of(blica_ctx *ctx, bl_likelihood *l, const bl_patterns *patterns, bl_engine engine,
                             uint64_t seed, tally *t) {
  MUST(bl_likelihood_order(ctx, l, t->params));
  for (int shift = 0; shift < (engine == BL_ENGINE_LATTICE ? SHIFTS : 1); shift++) {
    bl_accuracy accuracy = {.points = POINTS,
                            .seed = seed,
                            .shift = (uint64_t)shift,
                            .grid_error = GRID_ERROR,
                            .nodes = t->params->n <= 8 ? NODES : NODES_9};
    memset(t->found, 0, sizeof(double) * (size_t)patterns->count * (1 + 2 * (size_t)t->k));
    MUST(bl_likelihood_scores(ctx, l, t->params, &accuracy, NULL, take, t));
    MUST(add_found(ctx, patterns, t));
    t->all += exp(t->log_prior);
    blica_progress progress = {"sources", -1, NAN, 0, shift};
    if (bl_poll_agreed(ctx, &progress, INFINITY)) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted");
  }
  return BLICA_OK;
}

/* Every segment of the model in turn for all rows. */
static blica_status all_segments(blica_ctx *ctx, bl_likelihood *l, const blica_model *model,
                                 const bl_patterns *patterns, bl_engine engine, uint64_t seed, int *segment, tally *t) {
  const int64_t empty = patterns->count;
  for (int s = 0; s < model->u; s++) {
    if (!(model->samples[s] > 0)) continue;
    segment[0] = s; /* of all rows: they are pooled */
    t->log_prior = log(model->samples[s]);
    MUST(round_of(ctx, l, patterns, engine, seed, t));
    add(t, empty, s, t->log_prior, NULL, NULL);
  }
  if (t->sum[empty] == 0.0)
    return bl_fail(ctx, BLICA_ERR_DATA,
                   "no segment of the model has samples: rows of unknown segment cannot be weighted");
  return BLICA_OK;
}

static void write_row(const tally *t, int64_t place, int64_t row, blica_posterior *out) {
  out->loglik[row] = t->top[place] + log(t->sum[place] / t->all);
  for (int j = 0; j < t->k; j++) {
    out->mean[row * t->k + j] = t->one[place * t->k + j];
    out->sd[row * t->k + j] = sqrt(t->two[place * t->k + j] / t->sum[place]);
  }
}

/* Rows in the order of the input. Rows of known segment without any value get that segment's prior. */
static blica_status write_rows(blica_ctx *ctx, const blica_data *data, const bl_patterns *patterns, const bl_params *p,
                               const int *segment, bool known, const tally *t, blica_posterior *out) {
  blica_status status = BLICA_OK;
  int64_t *next = NULL, row = 0;
  TRY(bl_alloc(ctx, (size_t)data->u, &next));
  for (int s = 0; s < data->u; s++) {
    next[s] = row;
    row += data->samples[s];
  }
  for (row = 0; row < data->rows; row++) {
    int s = data->row_segment[row];
    int64_t pattern = patterns->row_pattern[next[s]++];
    if (pattern >= 0 || !known) {
      write_row(t, pattern >= 0 ? pattern : patterns->count, row, out);
      if (pattern < 0) out->loglik[row] = 0.0;
      continue;
    }
    for (int j = 0; j < p->k; j++) {
      out->mean[row * p->k + j] = p->means[j + (size_t)segment[s] * p->k];
      out->sd[row * p->k + j] = sqrt(p->variances[j + (size_t)segment[s] * p->k]);
    }
  }
done:
  bl_free(next);
  return status;
}

static blica_status make_posterior(blica_ctx *ctx, int64_t rows, int k, blica_posterior **out) {
  MUST(bl_alloc(ctx, 1, out));
  (*out)->rows = rows;
  (*out)->k = k;
  MUST(bl_alloc_for(ctx, *out, bl_mul((size_t)rows, (size_t)k), &(*out)->mean));
  MUST(bl_alloc_for(ctx, *out, bl_mul((size_t)rows, (size_t)k), &(*out)->sd));
  MUST(bl_alloc_for(ctx, *out, (size_t)rows, &(*out)->loglik));
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

blica_status blica_sources(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                           const blica_sources_options *options, blica_posterior **out) {
  BL_NEED_OUT(ctx, out, model, data);
  blica_sources_options o;
  blica_status status = BL_TAKE_OPTIONS(ctx, sources, options, &o);
  if (status != BLICA_OK) return status;
  bl_params params = bl_model_params(model);
  bool known = strcmp(o.segment, "unknown") != 0;
  BL_OWNED int *variable = NULL, *segment = NULL;
  BL_AUTO(bl_patterns) *patterns = NULL;
  bl_likelihood *likelihood = NULL;
  BL_OWNED blica_posterior *posterior = NULL;
  bl_engine engine;
  tally t = {.k = model->k, .params = &params};
  bl_poll_reset(ctx);
  int count;
  const blica_option *table = blica_sources_option_table(&count);
  TRY(bl_same(ctx, &(blica_input){.data = data}, model, table, count, &o));
  TRY(bl_alloc(ctx, (size_t)model->planes, &variable));
  TRY(bl_alloc(ctx, (size_t)data->u, &segment));
  TRY(bl_likelihood_match(ctx, model, data, known, variable, segment));
  t.map = segment;
  TRY(bl_likelihood_engine(ctx, o.engine, model->n, model->k, bl_coding_ordinal(model->coding), &engine));
  TRY(bl_patterns_make(ctx, data, model->n, model->coding, variable, !known, &patterns));
  TRY(tally_make(ctx, patterns->count + 1, &t));
  TRY(bl_likelihood_make(ctx, patterns, segment, model->n, model->k, model->u, engine, POINTS, &likelihood));
  TRY(known ? round_of(ctx, likelihood, patterns, engine, o.seed, &t)
            : all_segments(ctx, likelihood, model, patterns, engine, o.seed, segment, &t));
  TRY(make_posterior(ctx, data->rows, model->k, &posterior));
  posterior->patterns = patterns->count;
  strcpy(posterior->engine, bl_engine_name(engine));
  TRY(write_rows(ctx, data, patterns, &params, segment, known, &t, posterior));
  TRY(check_posterior(ctx, posterior));
  *out = bl_take(&posterior);
done:
  bl_likelihood_free(likelihood);
  bl_free(t.top);
  return status;
}

void blica_posterior_free(blica_posterior *posterior) {
  bl_free(posterior);
}
