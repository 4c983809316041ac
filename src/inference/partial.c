/* partial.c - blica_fit, and its option free=auto: items that differ are estimated apart, one after the other.
 *
 * The model is fitted, its items are tested (scores/invariance.c), and the one with the least adjusted p has its cuts
 * freed in the segment where it differs, and its row of A, too, if its loadings there have p <= LEVEL; then again, with
 * what was freed so far. The search ends when no adjusted p is below LEVEL / 2, as cuts and loadings are two families
 * of tests, when a fit does not converge, or when what differs most would leave its segment with too few common items.
 * Adjusted p count items that are freed already as rejected, as Benjamini and Hochberg (1995) do. How often items are
 * freed that do not differ: bench/results/invariance.md. */
#include <math.h>
#include <string.h>

#include "base/option.h"
#include "estimate/estimate.h"
#include "model/model.h"

static const double LEVEL = 0.05;

/* ---- one step ---- */

/* Benjamini and Hochberg's p of the item that differs most, after that many were freed: they count as rejected. */
static double adjusted(const blica_invariance_result *r, const blica_item_test *t, int found) {
  int tests = 0;
  for (int i = 0; i < r->tests; i++)
    tests += r->test[i].kind == t->kind && r->test[i].segment >= 0 && !isnan(r->test[i].p);
  return fmin(t->p_adjusted, t->p * tests / (found + 1));
}

/* The item that differs most after `found` were freed: of cuts and of loadings the first that was set apart, or if none
 * was the one with the least p; of both the one with the less adjusted p, if that is small enough. NULL: none is. */
static const blica_item_test *worst(const blica_invariance_result *r, int found) {
  const blica_item_test *best[BLICA_ITEM_PARTS] = {NULL}, *most = NULL;
  for (int i = 0; i < r->tests; i++) {
    const blica_item_test *t = &r->test[i], **b = &best[t->kind];
    if (t->segment < 0 || isnan(t->p) || t->found > 1) continue;
    if (!*b || t->found || (!(*b)->found && t->p < (*b)->p)) *b = t;
  }
  for (int kind = 0; kind < BLICA_ITEM_PARTS; kind++) {
    const blica_item_test *b = best[kind];
    if (!b || adjusted(r, b, found) > LEVEL / 2) continue;
    if (!most || adjusted(r, b, found) < adjusted(r, most, found)) most = b;
  }
  return most;
}

/* Whether the item that differs has other loadings there: other loadings also show as other cuts. */
static bool row_differs(const blica_invariance_result *r, const blica_item_test *t) {
  for (int i = 0; i < r->tests; i++) {
    const blica_item_test *one = &r->test[i];
    if (one->kind == BLICA_LOADINGS && one->item == t->item && one->segment == t->segment) return one->p <= LEVEL;
  }
  return false;
}

/* Frees one item more of the model in freed [n,u], which has *count. Not *more: none differs, or none can be freed. */
static blica_status free_one(blica_ctx *ctx, const blica_model *m, const blica_data *data, const blica_counts *counts,
                             uint8_t *freed, int *count, bool *more) {
  blica_status status;
  blica_invariance_result *found = NULL;
  blica_invariance_options options = blica_invariance_options_default();
  *more = false;
  options.level = LEVEL / 2;
  TRY(blica_invariance(ctx, m, data, &options, &found));
  const blica_item_test *t = worst(found, *count);
  if (!t) goto done;
  uint8_t *const cell = &freed[t->item + m->n * t->segment], before = *cell;
  *cell = row_differs(found, t) ? BLICA_FREED_ROW : BLICA_FREED_CUTS;
  *more = bl_free_check(ctx, m, counts, freed) == BLICA_OK;
  *count += *more && !before;
  if (!*more) *cell = before;
done:
  blica_invariance_free(found);
  return status;
}

/* ---- what it changed ---- */

static blica_status expected_mcs(blica_ctx *ctx, const blica_model *m, const blica_data *data, double *mcs) {
  blica_assessment *a = NULL;
  const blica_assess_options options = blica_assess_options_default();
  const blica_status status = blica_assess(ctx, m, data, &options, &a);
  *mcs = status == BLICA_OK ? a->expected_mcs : NAN;
  blica_assessment_free(a);
  return status;
}

/* Notes of the fit: expected MCS before and after, and the MCS between both A. */
static blica_status note_change(blica_ctx *ctx, const blica_model *before, const blica_data *data, blica_model *after) {
  double expected[2], mcs;
  BL_OWNED int *matching = NULL;
  BL_OWNED double *cosine = NULL;
  MUST(bl_alloc(ctx, (size_t)after->k, &matching));
  MUST(bl_alloc(ctx, (size_t)after->k, &cosine));
  MUST(expected_mcs(ctx, before, data, &expected[0]));
  MUST(expected_mcs(ctx, after, data, &expected[1]));
  MUST(blica_compare(ctx, after->n, after->k, before->mixing, after->mixing, &mcs, matching, cosine));
  MUST(bl_report_note(ctx, &after->fit, "expected_mcs_common", expected[0]));
  MUST(bl_report_note(ctx, &after->fit, "expected_mcs_freed", expected[1]));
  return bl_report_note(ctx, &after->fit, "mcs_common_freed", mcs);
}

/* ---- the search ---- */

/* Fails when option free=auto cannot be used with this input and these options. */
static blica_status check_auto(blica_ctx *ctx, const blica_input *input, const blica_fit_options *o) {
  const bl_estimator *estimator = bl_method_of(o->method, o->condition, false);
  if (estimator) MUST(bl_free_possible(ctx, estimator, o));
  if (!input->data)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "option free auto tests items by the rows of the data; counts are not enough");
  if (o->checkpoint)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "option free auto fits several times and keeps no checkpoint: leave one out");
  return BLICA_OK;
}

/* Frees items and fits again, from the first model to the last; that is NULL where no item is freed. */
static blica_status search(blica_ctx *ctx, const blica_input *rows, const blica_fit_options *options,
                           const blica_model *first, blica_model **last) {
  BL_OWNED uint8_t *freed = NULL;
  blica_fit_options own = *options;
  int count = 0;
  bool more;
  MUST(bl_alloc(ctx, (size_t)first->n * (size_t)first->u, &freed));
  for (const blica_model *now = first; now->fit.stop == BLICA_STOP_CONVERGED; now = *last) {
    blica_model *next;
    MUST(free_one(ctx, now, rows->data, rows->counts, freed, &count, &more));
    if (!more) break;
    MUST(bl_fit(ctx, rows, NULL, &own, freed, &next));
    own.max_seconds = fmax(0, own.max_seconds - next->fit.seconds);
    blica_model_free(*last);
    *last = next;
  }
  return *last ? note_change(ctx, first, rows->data, *last) : BLICA_OK;
}

/* Fits, tests the items in every segment, and fits again with those free that differ. */
static blica_status fit_auto(blica_ctx *ctx, const blica_input *input, const blica_fit_options *options,
                             blica_model **out) {
  BL_AUTO(blica_model) *first = NULL, *last = NULL;
  BL_AUTO(blica_counts) *counts = NULL;
  blica_input rows = {.data = input->data, .counts = input->counts};
  blica_fit_options own = *options;
  const double begun = bl_seconds();
  own.free = NULL;
  MUST(check_auto(ctx, input, options));
  if (!rows.counts) MUST(blica_count(ctx, rows.data, &counts));
  if (counts) rows.counts = counts;
  MUST(bl_fit(ctx, &rows, NULL, &own, NULL, &first));
  own.max_seconds = fmax(0, own.max_seconds - first->fit.seconds);
  bl_warn_hold(ctx); /* each fit would say the same */
  const blica_status status = search(ctx, &rows, &own, first, &last);
  bl_warn_release(ctx);
  MUST(status);
  *out = last ? bl_take(&last) : bl_take(&first);
  (*out)->fit.seconds = bl_seconds() - begun;
  return BLICA_OK;
}

static bool is_auto(const blica_fit_options *o) {
  return o->free && strcmp(o->free, "auto") == 0;
}

blica_status blica_fit(blica_ctx *ctx, const blica_input *input, const blica_fit_options *options, blica_model **out) {
  BL_NEED_OUT(ctx, out, input, options);
  blica_fit_options own;
  MUST(BL_TAKE_OPTIONS(ctx, fit, options, &own));
  if (is_auto(&own)) return fit_auto(ctx, input, &own, out);
  return bl_fit(ctx, input, NULL, &own, NULL, out);
}

blica_status blica_fit_consume(blica_ctx *ctx, blica_counts **counts, const blica_fit_options *options,
                               blica_model **out) {
  BL_NEED_OUT(ctx, out, counts, options);
  const blica_input input = {.counts = *counts};
  blica_fit_options own;
  blica_status status = BL_TAKE_OPTIONS(ctx, fit, options, &own);
  if (status == BLICA_OK && is_auto(&own)) status = check_auto(ctx, &input, &own);
  if (status == BLICA_OK) status = bl_fit(ctx, &input, counts, &own, NULL, out);
  blica_counts_free(*counts);
  *counts = NULL;
  return status;
}
