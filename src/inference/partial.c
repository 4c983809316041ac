/* partial.c - blica_fit, and its option free=auto: items that differ are estimated apart.
 *
 * The model is fitted and its items are tested in every segment (scores/invariance.c). An item that differs bends what
 * is common, so that others look as if they differed. Therefore, while any does, an item is put aside, its row of A
 * being common in the segment with most of its rows alone: the one without which the tests of the others say least
 * (the sum of -log p). Then the items return, the last first. Rows of A and cuts that were estimated apart in each
 * segment say where an item agrees with itself: the half of the segments that is nearest to the median is common again,
 * and each of the others if its tests allow that and those of the others stay as they were; else its cuts are freed,
 * and its row of A, too, if its loadings have p <= LEVEL. At last single items are freed one after the other, that with
 * the least adjusted p first, as above. An item differs when an adjusted p is at most LEVEL / 2, as cuts and loadings
 * are two families of tests. Adjusted p count items that are freed already as rejected, as Benjamini and Hochberg
 * (1995) do. A search that is stopped frees nothing. How often items are freed that do not differ:
 * bench/results/invariance.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "estimate/estimate.h"
#include "model/model.h"

static const double LEVEL = 0.05;
enum { CANDIDATES = 10, DRAWS = 50, MUCH = 10 }; /* items put aside on trial; refits; more than a MUCH-th is much */

typedef struct {
  blica_ctx *ctx;
  const blica_input *rows;
  blica_fit_options options; /* less the time that fits took */
  int n, u;
  const blica_model *first;       /* in which nothing is free */
  blica_model *model;             /* the last in which something is; NULL: there is none */
  blica_invariance_result *tests; /* of the last model that was fitted */
  int found;                      /* pairs of an item and a segment that are free for good */
  blica_stop stop;                /* as the user or the clock ended a fit; else BLICA_STOP_CONVERGED */
  bool fits;                      /* what is left, by blica_assess, */
  double m2_p;                    /* and its p */
} job;

/* ---- one fit ---- */

/* Whether these items [n,u] can be free: half of those of a segment stay together. */
static bool can_be_free(const job *b, const uint8_t *freed) {
  for (int s = 0; s < b->u; s++) {
    int apart = 0;
    for (int i = 0; i < b->n; i++) apart += freed[i + b->n * s] > 0;
    if (2 * apart > b->n) return false;
  }
  return bl_free_check(b->ctx, b->first, b->rows->counts, freed) == BLICA_OK;
}

static blica_status test_items(const job *b, const blica_model *model, blica_invariance_result **tests) {
  blica_invariance_options options = blica_invariance_options_default();
  options.level = LEVEL / 2;
  return blica_invariance(b->ctx, model, b->rows->data, &options, tests);
}

/* Fits with these items free [n,u] and tests the others. *fits is false, and model and tests stay, where they cannot be
 * free, where the fit does not converge, and after a fit that was stopped. */
static blica_status try_fit(job *b, const uint8_t *freed, bool *fits) {
  BL_AUTO(blica_model) *model = NULL;
  blica_invariance_result *tests;
  *fits = false;
  if (b->stop != BLICA_STOP_CONVERGED || !can_be_free(b, freed)) return BLICA_OK;
  MUST(bl_fit(b->ctx, b->rows, NULL, &b->options, freed, &model));
  b->options.max_seconds = fmax(0, b->options.max_seconds - model->fit.seconds);
  const blica_stop stop = model->fit.stop;
  if (stop == BLICA_STOP_INTERRUPTED || stop == BLICA_STOP_TIME) b->stop = stop;
  if (stop != BLICA_STOP_CONVERGED) return BLICA_OK;
  MUST(test_items(b, model, &tests));
  blica_model_free(b->model), blica_invariance_free(b->tests);
  b->model = bl_take(&model), b->tests = tests;
  *fits = true;
  return BLICA_OK;
}

/* ---- what its tests say ---- */

/* Benjamini and Hochberg's p of a test after `found` items were freed: they count as rejected. */
static double adjusted(const blica_invariance_result *r, const blica_item_test *t, int found) {
  int tests = 0;
  for (int i = 0; i < r->tests; i++)
    tests += r->test[i].kind == t->kind && r->test[i].segment >= 0 && !isnan(r->test[i].p);
  return fmin(t->p_adjusted, t->p * tests / (found + 1));
}

/* The test with the least adjusted p of item i (-1: of any) in segment s (-1: in any), if that shows a difference; else
 * NULL. */
static const blica_item_test *worst(const job *b, int i, int s, double *p) {
  const blica_item_test *found = NULL;
  *p = LEVEL / 2;
  for (int e = 0; e < b->tests->tests; e++) {
    const blica_item_test *t = &b->tests->test[e];
    if (t->segment < 0 || isnan(t->p) || (i >= 0 && t->item != i) || (s >= 0 && t->segment != s)) continue;
    const double own = adjusted(b->tests, t, b->found);
    if (own < *p || (own == *p && (!found || t->p < found->p))) *p = own, found = t;
  }
  return found;
}

/* The sum over all tests of -log p - 1, which has mean 0 where no item differs. */
static double excess(const blica_invariance_result *r) {
  double sum = 0;
  for (int i = 0; i < r->tests; i++)
    if (r->test[i].segment >= 0 && !isnan(r->test[i].p)) sum -= log(fmax(r->test[i].p, 1e-300)) + 1;
  return sum;
}

/* What of an item differs: its cuts, or its row of A, too; other loadings also show as other cuts. */
static uint8_t what_differs(const blica_invariance_result *r, int i, int s) {
  for (int e = 0; e < r->tests; e++) {
    const blica_item_test *t = &r->test[e];
    if (t->kind == BLICA_LOADINGS && t->item == i && t->segment == s)
      return t->p <= LEVEL ? BLICA_FREED_ROW : BLICA_FREED_CUTS;
  }
  return BLICA_FREED_CUTS;
}

/* ---- items that are put aside ---- */

/* The rows of segment s that have a value of item i. */
static double rows_of(const job *b, int i, int s) {
  const blica_counts *c = b->rows->counts;
  return c->present[bl_plane(b->first->coding, i) + c->n * s];
}

/* Frees the row of item i in all segments that have it but the largest. */
static void put_aside(const job *b, int i, uint8_t *freed) {
  int largest = 0;
  for (int s = 1; s < b->u; s++)
    if (rows_of(b, i, s) > rows_of(b, i, largest)) largest = s;
  for (int s = 0; s < b->u; s++) freed[i + b->n * s] = s != largest && rows_of(b, i, s) > 0 ? BLICA_FREED_ROW : 0;
}

/* p [n] <- the least adjusted p of each item that differs, 1 of others: an item that bends the common fit much may seem
 * to obey it; infinity of those that are aside. */
static void rank_items(const job *b, const uint8_t *freed, double *p) {
  for (int i = 0; i < b->n; i++) {
    bool aside = false;
    for (int s = 0; s < b->u; s++) aside |= freed[i + b->n * s] > 0;
    if (!worst(b, i, -1, &p[i])) p[i] = 1;
    if (aside) p[i] = INFINITY;
  }
}

/* The place of the least of x [count]. */
static int place_of_least(int count, const double *x) {
  int least = 0;
  for (int i = 1; i < count; i++)
    if (x[i] < x[least]) least = i;
  return least;
}

/* Puts the item aside in freed [n,u] without which the tests of the others say least. *aside is -1 where none differs
 * or none helps. */
static blica_status next_aside(job *b, uint8_t *freed, int *aside) {
  const size_t cells = (size_t)b->n * (size_t)b->u;
  BL_OWNED uint8_t *trial = NULL;
  BL_OWNED double *p = NULL;
  double best = excess(b->tests), any;
  bool fits;
  *aside = -1;
  if (!worst(b, -1, -1, &any)) return BLICA_OK;
  MUST(bl_alloc(b->ctx, cells, &trial));
  MUST(bl_alloc(b->ctx, (size_t)b->n, &p));
  rank_items(b, freed, p);
  for (int c = 0; c < CANDIDATES; c++) {
    const int i = place_of_least(b->n, p);
    if (isinf(p[i])) break;
    p[i] = INFINITY;
    memcpy(trial, freed, cells);
    put_aside(b, i, trial);
    MUST(try_fit(b, trial, &fits));
    if (fits && excess(b->tests) < best) best = excess(b->tests), *aside = i;
  }
  if (*aside < 0) return BLICA_OK;
  put_aside(b, *aside, freed);
  return try_fit(b, freed, &fits);
}

/* ---- items that return ---- */

/* x <- the standardised loadings and cuts that item i has in segment s of the model. */
static void read_item(const blica_model *m, int i, int s, double *x) {
  const double *row = bl_mixing_in(m, s) + i, *cuts = bl_cuts_in(m, s);
  const int first = bl_plane(m->coding, i), last = bl_plane(m->coding, i + 1);
  double total = 1;
  for (int l = 0; l < m->k; l++) total += m->link * row[m->n * l] * row[m->n * l];
  for (int l = 0; l < m->k; l++) *x++ = row[m->n * l] * sqrt(m->link / total);
  for (int p = first; p < last; p++) *x++ = cuts[p] / sqrt(total * (last - first));
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* far [u] <- the squared distance of item i in each segment from its median; infinite where a segment lacks it. */
static blica_status find_distances(const job *b, int i, double *far) {
  const blica_model *m = b->model;
  const int size = m->k + bl_plane(m->coding, i + 1) - bl_plane(m->coding, i);
  BL_OWNED double *x = NULL, *sorted = NULL;
  MUST(bl_alloc(b->ctx, bl_mul((size_t)size, (size_t)b->u), &x));
  MUST(bl_alloc(b->ctx, (size_t)b->u, &sorted));
  for (int s = 0; s < b->u; s++) {
    read_item(m, i, s, x + size * s);
    far[s] = rows_of(b, i, s) > 0 ? 0 : INFINITY;
  }
  for (int c = 0; c < size; c++) {
    int count = 0;
    for (int s = 0; s < b->u; s++)
      if (far[s] < INFINITY) sorted[count++] = x[c + size * s];
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    const double median = count ? 0.5 * (sorted[count / 2] + sorted[(count - 1) / 2]) : 0;
    for (int s = 0; s < b->u; s++) far[s] += pow(x[c + size * s] - median, 2);
  }
  return BLICA_OK;
}

/* Lets item i, which is aside, be common where it agrees with itself. */
static blica_status bring_back(job *b, int i, uint8_t *freed) {
  BL_OWNED double *far = NULL;
  double before = INFINITY; /* excess while the segment at hand is free */
  const double most = log(b->n * b->u * 2 / LEVEL);
  int seen = 0, own = 0;
  MUST(bl_alloc(b->ctx, (size_t)b->u, &far));
  MUST(find_distances(b, i, far));
  for (int s = 0; s < b->u; s++)
    seen += far[s] < INFINITY, freed[i + b->n * s] = far[s] < INFINITY ? BLICA_FREED_ROW : 0;
  for (int back = 0; back < seen; back++) {
    const int s = place_of_least(b->u, far);
    uint8_t *const cell = &freed[i + b->n * s];
    double p;
    bool fits;
    far[s] = INFINITY;
    *cell = 0;
    if (2 * (back + 1) < seen) continue; /* the nearest half; its last is fitted */
    MUST(try_fit(b, freed, &fits));
    const bool differs = fits && worst(b, i, s, &p), bends = !fits || excess(b->tests) > before + most;
    if (2 * back >= seen && (differs || bends)) {
      *cell = differs ? what_differs(b->tests, i, s) : BLICA_FREED_ROW;
      own++;
    } else if (fits) {
      before = excess(b->tests);
    }
  }
  b->found += own;
  return BLICA_OK;
}

/* Frees in freed [n,u] what is found by putting items aside. *fits: whether the last model has that. */
static blica_status search_items(job *b, uint8_t *freed, bool *fits) {
  BL_OWNED int *aside = NULL;
  int count = 0;
  MUST(bl_alloc(b->ctx, (size_t)b->n, &aside));
  do MUST(next_aside(b, freed, &aside[count]));
  while (aside[count] >= 0 && 2 * ++count < b->n);
  while (count-- > 0) {
    MUST(try_fit(b, freed, fits)); /* what the item has of its own beside those that are back */
    if (b->model) MUST(bring_back(b, aside[count], freed));
  }
  return try_fit(b, freed, fits);
}

/* ---- single items ---- */

/* Frees the item that differs most; *more is false when none does, or when it cannot be freed. */
static blica_status free_one(job *b, uint8_t *freed, bool *more) {
  double p;
  const blica_item_test *t = worst(b, -1, -1, &p);
  *more = t != NULL;
  if (!t) return BLICA_OK;
  uint8_t *const cell = &freed[t->item + b->n * t->segment], before = *cell;
  *cell = what_differs(b->tests, t->item, t->segment);
  MUST(try_fit(b, freed, more));
  if (*more) b->found += !before;
  return BLICA_OK;
}

/* ---- what it changed ---- */

/* Few refits are enough for a figure of both models. */
static blica_status assess(const job *b, const blica_model *m, blica_assessment **out) {
  blica_assess_options options = blica_assess_options_default();
  options.bootstrap = DRAWS;
  return blica_assess(b->ctx, m, b->rows->data, &options, out);
}

/* Notes of the fit: expected MCS before and after, and the MCS between both A. */
static blica_status note_change(job *b) {
  blica_status status;
  double mcs;
  blica_assessment *before = NULL, *after = NULL;
  BL_OWNED int *matching = NULL;
  BL_OWNED double *cosine = NULL;
  blica_ctx *ctx = b->ctx;
  blica_fit_report *fit = &b->model->fit;
  TRY(bl_alloc(ctx, (size_t)b->first->k, &matching));
  TRY(bl_alloc(ctx, (size_t)b->first->k, &cosine));
  TRY(assess(b, b->first, &before));
  TRY(assess(b, b->model, &after));
  TRY(blica_compare(ctx, b->n, b->first->k, b->first->mixing, b->model->mixing, &mcs, matching, cosine));
  TRY(bl_report_note(ctx, fit, "expected_mcs_common", before->expected_mcs));
  TRY(bl_report_note(ctx, fit, "expected_mcs_freed", after->expected_mcs));
  TRY(bl_report_note(ctx, fit, "mcs_common_freed", mcs));
  b->fits = after->answer[BLICA_FIT] == BLICA_YES, b->m2_p = after->m2_p;
done:
  blica_assessment_free(before), blica_assessment_free(after);
  return status;
}

/* Says when what is left cannot be relied on: it does not fit, or much was freed, which makes anything fit. */
static void warn_of_rest(const job *b) {
  const int pairs = b->n * b->u;
  if (!b->model || (b->fits && MUCH * b->found <= pairs)) return;
  bl_warn(
      b->ctx,
      "%d of %d pairs of an item and a segment were freed, and what is left %s (M2: p = %.2g); the search may have "
      "freed what does not differ, so do not rely on the loadings: leave out items or segments, or name what differs "
      "(option free)",
      b->found, pairs, b->fits ? "fits, as anything does when much is free" : "does not fit closely", b->m2_p);
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

/* Frees what differs from the first model: b->model is the last then, or NULL. */
static blica_status search(job *b) {
  BL_OWNED uint8_t *freed = NULL;
  double p;
  bool more = false;
  MUST(bl_alloc(b->ctx, (size_t)b->n * (size_t)b->u, &freed));
  MUST(test_items(b, b->first, &b->tests));
  if (!worst(b, -1, -1, &p)) return BLICA_OK;
  MUST(search_items(b, freed, &more));
  const bool found = more;
  while (more) MUST(free_one(b, freed, &more));
  if (!found || b->found == 0 || b->stop != BLICA_STOP_CONVERGED) blica_model_free(bl_take(&b->model));
  return b->model ? note_change(b) : BLICA_OK;
}

/* Fits, tests the items in every segment, and fits again with those free that differ. */
static blica_status fit_auto(blica_ctx *ctx, const blica_input *input, const blica_fit_options *options,
                             blica_model **out) {
  BL_AUTO(blica_model) *first = NULL;
  BL_AUTO(blica_counts) *counts = NULL;
  blica_input rows = {.data = input->data, .counts = input->counts};
  job b = {.ctx = ctx, .rows = &rows, .options = *options, .stop = BLICA_STOP_CONVERGED};
  const double begun = bl_seconds();
  b.options.free = NULL;
  MUST(check_auto(ctx, input, options));
  if (!rows.counts) MUST(blica_count(ctx, rows.data, &counts));
  if (counts) rows.counts = counts;
  MUST(bl_fit(ctx, &rows, NULL, &b.options, NULL, &first));
  b.options.max_seconds = fmax(0, b.options.max_seconds - first->fit.seconds);
  b.first = first, b.n = first->n, b.u = first->u;
  bl_warn_hold(ctx); /* each fit would say the same */
  const blica_status status = first->fit.stop == BLICA_STOP_CONVERGED ? search(&b) : BLICA_OK;
  bl_warn_release(ctx);
  if (status == BLICA_OK) warn_of_rest(&b);
  blica_invariance_free(b.tests);
  if (b.stop != BLICA_STOP_CONVERGED) first->fit.stop = b.stop;
  *out = status != BLICA_OK ? NULL : b.model ? bl_take(&b.model) : bl_take(&first);
  blica_model_free(b.model);
  if (*out) (*out)->fit.seconds = bl_seconds() - begun;
  return status;
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
