/* segment.c - blica_segment: hidden states of rows in time order, the sources' variances in each, and a common A.
 *
 * 1. States known by their pair counts alone, for every number of states (search.c), in steps of a few rows.
 * 2. The number of states by held-out rows (search.c).
 * 3. The same rows one by one, until the log-likelihood settles.
 * 4. The model: expectation-maximisation in which the M-step is a fit of A and all variances to the expected counts,
 *    and the E-step has the model's correlations in place of each state's own.
 * 5. The sequence of states by Viterbi's algorithm with a least duration (chain.c).
 * References: Halva and Hyvarinen, UAI 2020 (hidden Markov nonlinear ICA) for the model; docs/choosing-segments.md for
 * what was measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/pack.h"
#include "base/option.h"
#include "estimate/estimate.h"
#include "inference/verdict.h"
#include "ranks/facts.h"
#include "segment/segment.h"

enum {
  LEAST_ROWS = 50,
  RUN_DRAWS = 30 /* a run with fewer independent draws of the sources is no time (bench/results/segment.md) */
};

/* ---- options ---- */

#define SEGMENT(name) #name, BL_FIELD(blica_segment_options, name)

static const blica_option segment_table[] = {
    BL_ROW(SEGMENT(sources), BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K",
           "Number of sources, at most the number of variables."),
    BL_ROW(SEGMENT(states), BLICA_OPT_INT, "auto", 1, 1000, "auto=0", "S",
           "Number of hidden states; auto lets the data choose, one state included."),
    BL_ROW_WITH("states=auto", SEGMENT(max_states), BLICA_OPT_INT, "16", 1, 1000, NULL, "S",
                "The most states that auto may choose."),
    BL_ROW(SEGMENT(min_length), BLICA_OPT_INT, "10", 1, 9e15, NULL, "ROWS",
           "Fewest rows before a state may change: in every run of the labels, and on average in the probabilities."),
    BL_ROW(SEGMENT(change_points), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "States never return: each is one run of rows, and the search finds the points of change."),
    BL_ROW(SEGMENT(split), BLICA_OPT_INT, "none", 1, 9e15, "none=0|auto=-1", "ROWS",
           "Hold every second block of this many rows out of the search. Their states follow from the rows around them "
           "alone, so that a fit to them can be assessed. auto: as many rows as min_length."),
    BL_ROW(SEGMENT(starts), BLICA_OPT_INT, "3", 1, 1e6, NULL, "COUNT",
           "Clusterings from which the search for states begins; the best result is kept."),
    BL_ROW(SEGMENT(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the clusterings and of the fit. The same seed gives the same result."),
    BL_ROW(SEGMENT(method), BLICA_OPT_CHOICE, "auto", 0, 0, bl_segment_methods, "NAME",
           "Estimator of the mixing matrix, as in blica fit; those that need rows are left out."),
    BL_ROW(SEGMENT(link), BLICA_OPT_REAL, "pi/8", 1e-6, 1e6, BL_PI_8, "C",
           "Squared coefficient c of the link, P(x=1|y) = Phi(sqrt(c) y)."),
    BL_ROW(SEGMENT(max_seconds), BLICA_OPT_REAL, "none", 0, INFINITY, "none=inf", "SECONDS",
           "Time limit. When it is reached, the best result so far is returned."),
    BL_ROW(SEGMENT(checkpoint), BLICA_OPT_TEXT, NULL, 0, 0, NULL, "FILE",
           "Keep the state of the search in this file, so that a run that was killed can be resumed."),
    BL_ROW_WITH("checkpoint", SEGMENT(checkpoint_seconds), BLICA_OPT_REAL, "60", 0, 1e9, NULL, "SECONDS",
                "Time between two writes of the checkpoint; it is also written when the search is interrupted."),
    BL_ROW_WITH("checkpoint", SEGMENT(resume), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
                "Continue from the checkpoint; the result has the same bits as without the break."),
};

BL_OPTION_TABLE(segment, segment_table)

/* ---- checks ---- */

/* Refuses options that do not fit the data, before the rows are read. */
static blica_status check_rows(blica_ctx *ctx, const blica_data *data, const blica_segment_options *o) {
  MUST(bl_data_plain(ctx, data, "the search for segments", true));
  if (data->u != 1)
    return bl_fail(ctx, BLICA_ERR_DATA,
                   "the rows are in %d segments already; to find segments give the rows in time order without labels",
                   data->u);
  if (data->rows < LEAST_ROWS)
    return bl_fail(ctx, BLICA_ERR_DATA, "there are %lld rows; at least %d are needed to find segments",
                   (long long)data->rows, LEAST_ROWS);
  const int least = o->states > 0 ? o->states : 1;
  if (o->min_length > data->rows / least)
    return bl_fail(ctx, BLICA_ERR_DATA,
                   "%d states of at least %lld rows need %.0f rows, and there are %lld; give fewer states or a smaller "
                   "min_length",
                   least, (long long)o->min_length, (double)least * (double)o->min_length, (long long)data->rows);
  if (o->split > data->rows / 4)
    return bl_fail(ctx, BLICA_ERR_DATA,
                   "split is %lld rows, but the data have %lld rows, and every second block is held out; give at most "
                   "%lld",
                   (long long)o->split, (long long)data->rows, (long long)(data->rows / 4));
  return BLICA_OK;
}

static blica_status check_items(blica_ctx *ctx, int items, int sources) {
  if (items < 2) return bl_fail(ctx, BLICA_ERR_DATA, "there is %d variable; at least 2 are needed", items);
  if (sources < 1 || sources > items)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "sources is %d; with %d variables it must be from 1 to %d", sources, items,
                   items);
  return BLICA_OK;
}

static blica_status open_checkpoint(blica_ctx *ctx, const blica_data *data, const blica_segment_options *o, bl_em *em,
                                    bl_checkpoint **checkpoint) {
  int count;
  const blica_option *table = blica_segment_option_table(&count);
  MUST(bl_resume_open(ctx, table, count, o, em->deadline, checkpoint));
  MUST(bl_resume_input(ctx, *checkpoint, &(blica_input){.data = data}));
  const bl_stage root = {.checkpoint = *checkpoint};
  em->stage = bl_stage_below(&root, "search");
  return BLICA_OK;
}

/* ---- the number of states ---- */

/* BIC of all numbers of states; *states becomes the number with the best, or the one that was asked for. */
static blica_status list_trials(blica_ctx *ctx, const bl_em *em, const blica_segment_options *o,
                                const bl_search *search, blica_segmentation *result, int *states) {
  double best = -INFINITY;
  MUST(bl_alloc_for(ctx, result, (size_t)search->most, &result->trials));
  *states = o->states;
  for (int s = 1; s <= search->most; s++) {
    const bl_states *x = search->best[s];
    if (!x) continue;
    double score = bl_search_score(em->series, x, x->loglik, (double)s * bl_emission_parameters(em->emission));
    result->trials[result->n_trials++] = (blica_segment_trial){s, x->loglik, score, NAN, NAN};
    if (o->states == 0 && score > best) best = score, *states = s;
  }
  return BLICA_OK;
}

/* Finds states for every number of them, and chooses the number. */
static blica_status find_number(blica_ctx *ctx, const blica_segment_options *o, bl_em *em, bl_search *search,
                                blica_segmentation *result, int *states) {
  blica_status status;
  const int64_t limit = em->series->rows / (o->min_length > LEAST_ROWS ? o->min_length : LEAST_ROWS);
  const bool given = o->states > 0;
  const int most = given ? o->states : o->max_states < limit ? o->max_states : (int)limit;
  bl_stage_enter(ctx, &em->stage);
  status = bl_search_run(ctx, em, o, given ? most : 1, most, search);
  bl_stage_leave(ctx, &em->stage);
  if (status != BLICA_OK) goto done;
  TRY(list_trials(ctx, em, o, search, result, states));
  if (!given && most > 1 && !em->stopped)
    TRY(bl_choose_states(ctx, em, o, most, result->n_trials, result->trials, states));
  if (*states == 0) FAIL(ctx, BLICA_ERR_NUMERIC, "segment: no number of states up to %d could be fitted", most);
done:
  return status;
}

/* One number of states, refined, and what the caller gets of it. */
static blica_status take_states(blica_ctx *ctx, const bl_segment *g, bl_em *em, const bl_states *from,
                                bl_candidate **best, blica_segmentation *result) {
  *best = NULL;
  MUST(bl_candidate_make(ctx, g, em, from, best));
  MUST(bl_segment_result(ctx, em, &(*best)->states, (*best)->log_p, result));
  return bl_run_dependence(ctx, g->data, result);
}

/* Warns of rows that depend on each other while a state lasts. True where the data choose the number of states and
 * these do not last for long enough to tell change from that dependence. */
static bool only_dependence(blica_ctx *ctx, const bl_em *em, const blica_segment_options *o,
                            const blica_segmentation *r) {
  if (r->states == 1 || !bl_verdict_dependent(r->lag_z)) return false;
  const bool few = r->draws_per_run < RUN_DRAWS, only = few && !o->states && !em->stopped;
  bl_warn(ctx,
          "rows depend on those before them (correlation %.2f while a state lasts), and a run of the %d states holds "
          "about %.0f independent draws of the sources: %s",
          r->lag, r->states, r->draws_per_run,
          only  ? "the states only follow that dependence, and one state is given"
          : few ? "the states may be nothing but that dependence"
                : "the states may follow that dependence in part");
  return only;
}

/* All of blica_segment: the number of states, their rows and the model. */
static blica_status find_states(blica_ctx *ctx, const blica_data *data, const blica_segment_options *options,
                                blica_segmentation **out) {
  blica_status status;
  bl_segment g = {.data = data, .options = options};
  bl_em em = {.min_length = options->min_length,
              .forward = options->change_points != 0,
              .stop = BLICA_STOP_CONVERGED,
              .progress = {"segment", -1, NAN, 0, 0}};
  bl_search search = {.most = 0};
  bl_series *series = NULL;
  bl_candidate *best = NULL;
  bl_checkpoint *checkpoint = NULL;
  blica_segmentation *result = NULL;
  const double begun = bl_seconds();
  int states = 0;
  em.deadline = begun + options->max_seconds;
  bl_poll_reset(ctx);
  bl_blas_hold();
  TRY(check_rows(ctx, data, options));
  TRY(bl_series_make(ctx, data, options->split, &series));
  em.series = series;
  TRY(check_items(ctx, series->items, options->sources));
  TRY(open_checkpoint(ctx, data, options, &em, &checkpoint));
  TRY(bl_alloc(ctx, 1, &result));
  TRY(bl_emission_make(ctx, data, series, &em.emission));
  TRY(find_number(ctx, options, &em, &search, result, &states));
  TRY(take_states(ctx, &g, &em, search.best[states], &best, result));
  if (only_dependence(ctx, &em, options, result)) {
    bl_candidate_free(best);
    TRY(take_states(ctx, &g, &em, search.best[1], &best, result));
  }
  result->split = options->split;
  TRY(bl_segment_fit(ctx, &g, &em, best->states, &result->model));
  result->engine = bl_emission_engine(em.emission);
  result->rounds = em.rounds;
  result->stop = em.stop;
  result->seconds = bl_seconds() - begun;
  *out = bl_take(&result);
done:
  if (status == BLICA_OK || status == BLICA_ERR_INTERRUPTED) bl_checkpoint_flush(ctx, checkpoint);
  bl_checkpoint_free(checkpoint);
  bl_blas_release();
  bl_candidate_free(best);
  bl_search_free(&search);
  bl_emission_free(em.emission);
  bl_series_free(series);
  blica_segmentation_free(result);
  return status;
}

blica_status blica_segment(blica_ctx *ctx, const blica_data *data, const blica_segment_options *options,
                           blica_segmentation **out) {
  BL_NEED_OUT(ctx, out, data, options);
  blica_segment_options own;
  blica_status status = BL_TAKE_OPTIONS(ctx, segment, options, &own);
  if (own.split < 0) own.split = own.min_length;
  return status == BLICA_OK ? find_states(ctx, data, &own, out) : status;
}

void blica_segmentation_free(blica_segmentation *r) {
  if (!r) return;
  blica_model_free(r->model);
  bl_free(r);
}
