/* plan.c - blica_identify_plan: which accuracy a design lets expect, and how many rows or segments it takes, by fits to
 * simulated data. */
#include <math.h>

#include "base/base.h"
#include "model/model.h"

enum { DOUBLINGS = 6 };
static const double WANTED = 0.95;

typedef struct {
  blica_ctx *ctx;
  int n, k, levels;
  double change;
  int *match;     /* [k] */
  double *cosine; /* [k] */
} job;

/* The truth of one simulated fit: log standard deviations are uniform over segments with standard deviation `change`.
 */
static blica_status draw_truth(const job *b, int segments, int64_t samples, int fit, blica_model **out) {
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = b->n, o.sources = b->k, o.segments = segments, o.samples = samples;
  o.levels = b->levels, o.seed = (uint64_t)fit + 1;
  MUST(blica_simulate(b->ctx, &o, out, NULL, NULL));
  for (int i = 0; i < b->k * segments; i++) {
    const double uniform = (sqrt((*out)->variances[i]) - o.sd_low) / (o.sd_high - o.sd_low);
    (*out)->variances[i] = exp(2 * sqrt(12) * b->change * (uniform - 0.5));
  }
  return BLICA_OK;
}

/* The MCS of one simulated fit, and that of the truth's columns with themselves by chance. */
static blica_status simulated_fit(const job *b, int segments, int64_t samples, int fit, double *mcs, double *chance) {
  BL_AUTO(blica_model) *truth = NULL, *found = NULL;
  BL_AUTO(blica_data) *data = NULL;
  const uint64_t seed = (uint64_t)fit + 1;
  blica_fit_options how = blica_fit_options_default();
  how.sources = b->k;
  MUST(draw_truth(b, segments, samples, fit, &truth));
  MUST(blica_simulate_rows(b->ctx, truth, seed, &data));
  MUST(blica_fit(b->ctx, &(blica_input){.data = data}, &how, &found));
  if (found->fit.stop == BLICA_STOP_INTERRUPTED)
    return bl_fail(b->ctx, BLICA_ERR_INTERRUPTED, "interrupted while fits were simulated");
  MUST(blica_compare(b->ctx, b->n, b->k, truth->mixing, found->mixing, mcs, b->match, b->cosine));
  return blica_chance_mcs(b->ctx, truth, seed, chance);
}

/* Sets mcs, low, high and chance. */
static blica_status expect(const job *b, int segments, int64_t samples, blica_plan *e) {
  *e = (blica_plan){.low = 1, .fits = 8, .rows_needed = -1, .segments_needed = -1};
  for (int fit = 0; fit < e->fits; fit++) {
    double mcs, chance;
    MUST(simulated_fit(b, segments, samples, fit, &mcs, &chance));
    e->mcs += mcs / e->fits, e->chance += chance / e->fits;
    e->low = fmin(e->low, mcs), e->high = fmax(e->high, mcs);
  }
  return BLICA_OK;
}

/* The number that gives the wanted MCS: doubled until it does, or halved while it still does, then between the last two
 * as 1 - MCS falls with its logarithm. -1: more than were tried. */
static blica_status needed(const job *b, int u, int64_t samples, bool of_segments, double here, int64_t *out) {
  const double up = here < WANTED ? 2 : 0.5;
  double number = of_segments ? u : (double)samples, before = here;
  for (int step = 0; step < DOUBLINGS; step++) {
    blica_plan e;
    const double next = floor(number * up + 0.5);
    if (next < (of_segments ? 2 : 10)) break;
    const blica_status status = expect(b, of_segments ? (int)next : u, of_segments ? samples : (int64_t)next, &e);
    if (status == BLICA_ERR_DATA && up < 1) break; /* so few cannot determine the sources */
    MUST(status);
    if ((e.mcs >= WANTED) == (up > 1)) {
      const double part = log((1 - before) / (1 - WANTED)) / log((1 - before) / (1 - e.mcs));
      *out = (int64_t)ceil(number * pow(next / number, fmin(fmax(part, 0), 1)));
      return BLICA_OK;
    }
    number = next, before = e.mcs;
  }
  if (up < 1) *out = (int64_t)number; /* at most */
  return BLICA_OK;
}

blica_status blica_identify_plan(blica_ctx *ctx, int n, int k, int u, int levels, int64_t samples, double change,
                                 blica_plan *out) {
  BL_NEED(ctx, out);
  blica_status status;
  job b = {.ctx = ctx, .n = n, .k = k, .levels = levels, .change = change};
  int64_t statistics, unknowns;
  *out = (blica_plan){0};
  MUST(blica_identify_count(ctx, n, k, u, levels > 2 ? n : 0, &statistics, &unknowns));
  if (statistics < unknowns || samples < 10 || samples > 10000000 || !(change >= 0.01 && change <= 3))
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "%lld rows per segment, change %g, %lld statistics for %lld unknowns: samples must be from 10 to "
                   "10000000, change from 0.01 to 3, and unknowns no more than statistics",
                   (long long)samples, change, (long long)statistics, (long long)unknowns);
  bl_warn_hold(ctx); /* of simulated data */
  TRY(bl_alloc(ctx, (size_t)k, &b.match));
  TRY(bl_alloc(ctx, (size_t)k, &b.cosine));
  TRY(expect(&b, u, samples, out));
  TRY(needed(&b, u, samples, false, out->mcs, &out->rows_needed));
  TRY(needed(&b, u, samples, true, out->mcs, &out->segments_needed));
done:
  bl_warn_release(ctx);
  bl_free(b.match), bl_free(b.cosine);
  return status;
}
