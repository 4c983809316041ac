/* select.c - blica_select: how many sources?
 *
 * The rows of every segment are divided into folds at random. For each number of sources k and each fold the model is
 * fitted to the other folds, and the fold is judged by the log-likelihood of its 2x2 tables under the fitted
 * correlations and the margins of the other folds, less that under independence (k = 0), per row and pair. The
 * choice is the smallest k whose score is within one standard error of the best; the error is that of the difference,
 * over segments and folds. The recommendation leaves out sources that are of no practical use (recommend). Segments of
 * fewer rows than twice the folds are never held out. Beside it whole segments are held out: A comes from the others
 * (heldout.c). One estimator serves all k. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "base/split.h"
#include "counts/counts.h"
#include "estimate/estimate.h"
#include "data/pack.h"
#include "inference/select/select.h"
#include "model/model.h"
#include "num/rng.h"
#include "ranks/facts.h"

enum { BIC_VARIABLES = 40, EXACT_VARIABLES = 20, SEGMENTS_LEAST = 4 };
static const double LITTLE = 0.02; /* of the gain over independent items: of no practical use */

#define SELECT(name) #name, BL_FIELD(blica_select_options, name)

static const blica_option select_table[] = {
    BL_ROW(SELECT(sources), BLICA_OPT_RANGE, "1:8", 1, 1e6, NULL, "LOW:HIGH",
           "Numbers of sources to compare; the upper end is lowered to what the data can determine."),
    BL_ROW(SELECT(method), BLICA_OPT_CHOICE, "auto", 0, 0, bl_select_methods, "NAME",
           "Estimator, the same for all numbers of sources; auto is matched."),
    BL_ROW(SELECT(folds), BLICA_OPT_INT, "5", 2, 100, NULL, "COUNT",
           "Parts into which the rows of every segment are divided; each is held out once."),
    BL_ROW(SELECT(references), BLICA_OPT_INT, "100", 20, 1e6, NULL, "COUNT",
           "Data sets of independent items with the same margins in every segment, for parallel analysis."),
    BL_ROW(SELECT(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the folds and of the reference data sets. The same seed gives the same numbers."),
};

BL_OPTION_TABLE(select, select_table)

typedef struct {
  blica_ctx *ctx;
  const blica_data *data;
  const blica_select_options *options;
  bl_rows *rows;
  blica_counts *counts; /* of all rows */
  int folds, lowest, highest;
  int groups; /* of segments that are held out together: segment s is in group s % groups; 0: none are */
  bool needs_rows;
  double **weight;       /* [folds] rows of each pattern in the fold; owns the scores */
  double *score;         /* [u,folds,highest+1] of held-out tables, less independence */
  double *segment_score; /* [u,highest+1] of held-out segments, less independence */
  double *found;         /* [u,fits] what each fit says of the segments; of all rows the first is BIC */
  blica_selection *out;
} job;

void blica_selection_free(blica_selection *s) {
  bl_free(s);
}

/* ---- what to compare ---- */

/* Correlations, and changes of scale that ordinal items show, less parameters of k sources. */
static int64_t degrees(const bl_rows *r, int k) {
  return (int64_t)r->u * r->n * (r->n - 1) / 2 + bl_scale_statistics(r->coding, r->n, r->u) -
         ((int64_t)k * (r->n + r->u) - k);
}

/* Limits the numbers of sources to those that the data can determine. */
static blica_status limit_range(job *b) {
  const int low = b->options->sources[0], high = b->options->sources[1];
  if (low > b->rows->n)
    return bl_fail(b->ctx, BLICA_ERR_DATA, "option sources: %d sources of %d variables; give at most %d", low,
                   b->rows->n, b->rows->n);
  b->lowest = low;
  b->highest = high < b->rows->n ? high : b->rows->n;
  while (b->highest > 1 && degrees(b->rows, b->highest) < 0) b->highest--;
  if (b->highest < b->lowest)
    return bl_fail(
        b->ctx, BLICA_ERR_DATA,
        "%d variables in %d segments have too few correlations for %d sources (%lld degrees of freedom); compare fewer",
        b->rows->n, b->rows->u, b->lowest, (long long)degrees(b->rows, b->lowest));
  if (b->highest < high)
    bl_warn(b->ctx, "at most %d sources are compared: %d variables in %d segments cannot determine more", b->highest,
            b->rows->n, b->rows->u);
  return BLICA_OK;
}

static int draw_fold(const job *b, bl_rng *rng) {
  const int f = (int)(bl_rng_uniform(rng) * b->folds);
  return f < b->folds ? f : b->folds - 1;
}

/* Units of every segment into folds. */
static blica_status draw_folds(job *b) {
  const bl_rows *rows = b->rows;
  MUST(bl_alloc(b->ctx, (size_t)b->folds, &b->weight));
  for (int f = 0; f < b->folds; f++) MUST(bl_alloc_for(b->ctx, b->weight, (size_t)rows->count, &b->weight[f]));
  for (int s = 0; s < rows->u; s++) {
    bl_rng rng = bl_rng_make(b->options->seed, (5ull << 60) + (uint64_t)s);
    if (rows->total[s] < 2 * (int64_t)b->folds) continue;
    int64_t first, from, to;
    const int64_t units = bl_units(rows, s, &first);
    const bool plain = !rows->unit_first && !rows->row_weight; /* then in an order that is not that of the data */
    for (int64_t p = rows->first[s]; plain && p < rows->first[s + 1]; p++)
      for (int64_t copy = 0; copy < (int64_t)rows->weight[p]; copy++) b->weight[draw_fold(b, &rng)][p]++;
    for (int64_t unit = first; !plain && unit < first + units; unit++) {
      const int f = draw_fold(b, &rng);
      bl_unit_rows(rows, unit, &from, &to);
      for (int64_t r = from; r < to; r++) b->weight[f][rows->row[r]] += bl_row_weight(rows, r);
    }
  }
  return BLICA_OK;
}

/* ---- fits ---- */

/* Fits k sources to the rows of these weights, of which counts are the counts. */
static blica_status fit_part(blica_ctx *ctx, const job *b, int k, const double *weight, blica_counts *counts,
                             blica_model **out) {
  BL_AUTO(blica_data) *data = NULL;
  blica_fit_options o = blica_fit_options_default();
  o.method = b->out->method;
  o.sources = k;
  o.seed = b->options->seed;
  if (b->needs_rows) MUST(bl_rows_data(ctx, b->rows, weight, &data));
  MUST(blica_fit(ctx, &(blica_input){.data = data, .counts = counts}, &o, out));
  return BLICA_OK;
}

/* Counts of fold f and of all other rows. */
static blica_status count_fold(blica_ctx *ctx, const job *b, int f, double **rest, blica_counts **train,
                               blica_counts **test) {
  const bl_rows *rows = b->rows;
  MUST(bl_rows_counts_create(ctx, rows, train));
  MUST(bl_rows_counts_create(ctx, rows, test));
  MUST(bl_alloc(ctx, (size_t)rows->count, rest));
  for (int64_t p = 0; p < rows->count; p++) (*rest)[p] = rows->weight[p] - b->weight[f][p];
  bl_rows_count(rows, *rest, *train);
  bl_rows_count(rows, b->weight[f], *test);
  return BLICA_OK;
}

/* Fold f held out, k sources: scores [u]. */
static blica_status hold_out(blica_ctx *ctx, const job *b, int k, int f, double *score) {
  BL_AUTO(blica_counts) *train = NULL, *test = NULL;
  BL_AUTO(blica_model) *model = NULL;
  BL_AUTO(bl_heldout) *heldout = NULL;
  BL_OWNED double *rest = NULL;
  MUST(bl_heldout_make(ctx, b->rows, k, &heldout));
  MUST(count_fold(ctx, b, f, &rest, &train, &test));
  MUST(fit_part(ctx, b, k, rest, train, &model));
  for (int s = 0; s < b->rows->u; s++)
    score[s] = bl_heldout_score(heldout, test, train, s, model, model->variances + (size_t)k * s);
  return BLICA_OK;
}

/* The counts of all segments but those of group g. */
static blica_status other_segments(blica_ctx *ctx, const job *b, int g, blica_counts **out) {
  blica_status status;
  const blica_counts *all = b->counts;
  char **names = NULL;
  int kept = 0;
  TRY(bl_alloc(ctx, (size_t)all->u, &names));
  for (int s = 0; s < all->u; s++)
    if (s % b->groups != g) names[kept++] = all->segments[s];
  TRY(bl_counts_create(ctx, all->n, kept, !all->n10, (const char *const *)all->variables, (const char *const *)names,
                       out));
  if (all->sets) TRY(bl_item_sets_make(ctx, all->n, kept, &(*out)->sets));
  kept = 0;
  for (int s = 0; s < all->u; s++)
    if (s % b->groups != g) {
      bl_counts_add(*out, kept, all, s);
      TRY(bl_counts_add_sets(ctx, *out, kept++, all, s));
    }
done:
  bl_free(names);
  return status;
}

/* The segments of group g held out, k sources: their scores, into those of [u]. Their variances come from all of their
 * rows but fold 0, which is judged. */
static blica_status hold_out_segments(blica_ctx *ctx, const job *b, int k, int g, double *score) {
  BL_AUTO(blica_counts) *others = NULL, *train = NULL, *test = NULL;
  BL_AUTO(blica_model) *model = NULL;
  BL_AUTO(bl_heldout) *heldout = NULL;
  BL_OWNED double *rest = NULL, *v = NULL;
  MUST(bl_heldout_make(ctx, b->rows, k, &heldout));
  MUST(bl_alloc(ctx, (size_t)k, &v));
  MUST(other_segments(ctx, b, g, &others));
  MUST(count_fold(ctx, b, 0, &rest, &train, &test));
  MUST(fit_part(ctx, b, k, NULL, others, &model));
  const double learned = model->fit.prior_variance, width = isfinite(learned) ? learned : 1;
  for (int s = g; s < b->rows->u; s += b->groups) {
    bl_heldout_variances(heldout, train, s, model, width, v);
    score[s] = bl_heldout_score(heldout, test, train, s, model, v);
  }
  return BLICA_OK;
}

/* The MCS between fits of k sources to two halves of the rows, the first half of the folds and all others. */
static blica_status halves(blica_ctx *ctx, const job *b, int k, double *mcs) {
  const size_t count = (size_t)b->rows->count;
  BL_AUTO(blica_counts) *counts = NULL;
  BL_AUTO(blica_model) *first = NULL, *second = NULL;
  BL_OWNED double *weight = NULL, *cosine = NULL;
  BL_OWNED int *match = NULL;
  MUST(bl_rows_counts_create(ctx, b->rows, &counts));
  MUST(bl_alloc(ctx, count, &weight));
  MUST(bl_alloc(ctx, (size_t)k, &cosine));
  MUST(bl_alloc(ctx, (size_t)k, &match));
  for (int half = 0; half < 2; half++) {
    for (size_t p = 0; p < count; p++) {
      double of_first = 0;
      for (int f = 0; f < b->folds / 2; f++) of_first += b->weight[f][p];
      weight[p] = half ? b->rows->weight[p] - of_first : of_first;
    }
    bl_rows_count(b->rows, weight, counts);
    MUST(fit_part(ctx, b, k, weight, counts, half ? &second : &first));
  }
  return blica_compare(ctx, b->rows->n, k, first->mixing, second->mixing, mcs, match, cosine);
}

/* All rows, k sources: BIC from the full likelihood, which is approximate with many items. */
static blica_status all_rows(blica_ctx *ctx, const job *b, int k, double *bic) {
  blica_status status;
  BL_AUTO(blica_model) *model = NULL;
  blica_loglik_result *result = NULL;
  blica_loglik_options o = blica_loglik_options_default();
  if (b->rows->n > EXACT_VARIABLES)
    o.engine = BLICA_ENGINE_EP; /* approximate: of 40 items the others take ten times as long as all fits */
  else
    o.error = 10;
  TRY(fit_part(ctx, b, k, b->rows->weight, b->counts, &model));
  TRY(blica_loglik(ctx, model, b->data, &o, &result));
  *bic = -2 * result->total + (double)blica_model_parameters(model) * log((double)b->data->rows);
done:
  blica_loglik_result_free(result);
  return status;
}

/* One task for each number of sources and part: folds, groups of segments, halves of the rows, and all rows. */
static int fits(const job *b) {
  return (b->folds + b->groups + 2) * (b->highest - b->lowest + 1);
}

static int common_divisor(int x, int y) {
  return y ? common_divisor(y, x % y) : x;
}

/* The fit of an item: in an order that puts fits of similar cost far apart, because ranks take items in runs. */
static void fit_of(const job *b, int64_t item, int *k, int *part) {
  const int count = fits(b), sizes = b->highest - b->lowest + 1;
  int step = count * 5 / 8;
  while (common_divisor(step, count) != 1) step++;
  const int fit = (int)(item * step % count);
  *k = b->lowest + fit % sizes, *part = fit / sizes;
}

/* One fit of a number of sources: without a fold of rows or segments, on halves, or on all rows. */
static blica_status fit_task(blica_ctx *child, int64_t item, int thread, void *user) {
  job *b = user;
  int k, f;
  double *found = b->found + (size_t)b->rows->u * (size_t)item;
  char why[BL_MESSAGE];
  (void)thread;
  fit_of(b, item, &k, &f);
  const blica_status status = f < b->folds                  ? hold_out(child, b, k, f, found)
                              : f < b->folds + b->groups    ? hold_out_segments(child, b, k, f - b->folds, found)
                              : f == b->folds + b->groups   ? halves(child, b, k, found)
                              : b->rows->n <= BIC_VARIABLES ? all_rows(child, b, k, found)
                                                            : BLICA_OK;
  if (status == BLICA_OK) return BLICA_OK;
  snprintf(why, sizeof why, "%s", blica_message(child));
  return bl_fail(child, status, "%d sources: %s", k, why);
}

/* Puts what the fits found where it is compared. */
static void sort_scores(job *b) {
  const size_t u = (size_t)b->rows->u;
  for (int i = 0; i < fits(b); i++) {
    const double *found = b->found + u * (size_t)i;
    int k, f;
    fit_of(b, i, &k, &f);
    const int group = f - b->folds;
    if (f < b->folds)
      memcpy(b->score + u * ((size_t)f + (size_t)b->folds * k), found, u * sizeof *found);
    else if (group == b->groups)
      b->out->halves[k] = found[0];
    else if (group == b->groups + 1 && b->rows->n <= BIC_VARIABLES)
      b->out->bic[k] = found[0];
    for (size_t s = (size_t)group; group >= 0 && group < b->groups && s < u; s += (size_t)b->groups)
      b->segment_score[s + u * k] = found[s];
  }
}

static blica_status fit_all(job *b) {
  MUST(bl_alloc_for(b->ctx, b->weight, bl_mul((size_t)b->rows->u * b->folds, (size_t)b->highest + 1), &b->score));
  MUST(bl_alloc_for(b->ctx, b->weight, bl_mul((size_t)b->rows->u, (size_t)b->highest + 1), &b->segment_score));
  MUST(bl_alloc_for(b->ctx, b->weight, bl_mul((size_t)b->rows->u, (size_t)fits(b)), &b->found));
  const bl_places found = {b->found, (size_t)b->rows->u};
  MUST(bl_split_children(b->ctx, fits(b), "select, fit", fit_task, b, 1, &found));
  sort_scores(b);
  return BLICA_OK;
}

/* ---- the choice ---- */

static int smallest(const double *x, int lowest, int highest) {
  int best = -1;
  for (int k = lowest; k <= highest; k++)
    if (!isnan(x[k]) && (best < 0 || x[k] < x[best])) best = k;
  return best;
}

/* Rows and pairs that a score is a sum over. */
static double unit_of(const job *b, int folds) {
  double held = 0;
  for (int f = 0; f < folds; f++)
    for (int64_t p = 0; p < b->rows->count; p++) held += b->weight[f][p];
  return fmax(1, held) * (0.5 * b->rows->n * (b->rows->n - 1));
}

/* Computes the means over `unit` of scores [terms,highest+1] and the errors of their differences from the best. Returns
 * the smallest k within one error of the best. */
static int within_one_error(const job *b, const double *score, size_t terms, double unit, double *mean, double *se) {
  int best = 0;
  for (int k = 0; k <= b->highest; k++) {
    mean[k] = k == 0 || k >= b->lowest ? 0 : NAN;
    for (size_t t = 0; t < terms; t++) mean[k] += score[t + terms * (size_t)k] / unit;
    if (mean[k] > mean[best]) best = k;
  }
  int chosen = best;
  for (int k = b->highest; k >= 0; k--) {
    double average = 0, squares = 0;
    for (size_t t = 0; t < terms; t++) {
      const double d = score[t + terms * (size_t)k] - score[t + terms * (size_t)best];
      average += d / (double)terms;
      squares += d * d;
    }
    se[k] = sqrt(fmax(0, squares - (double)terms * average * average)) / unit;
    if (k <= best && mean[best] - mean[k] <= se[k]) chosen = k;
  }
  return chosen;
}

/* Sets the number of sources that each criterion chooses. */
static void apply_criteria(job *b) {
  blica_selection *o = b->out;
  const size_t u = (size_t)b->rows->u;
  o->by_heldout = within_one_error(b, b->score, u * (size_t)b->folds, unit_of(b, b->folds), o->heldout, o->heldout_se);
  if (b->groups)
    o->by_segments =
        within_one_error(b, b->segment_score, u, unit_of(b, 1), o->heldout_segments, o->heldout_segments_se);
  o->by_parallel = 0;
  while (o->by_parallel < o->n && o->eigenvalue[o->by_parallel] > o->reference[o->by_parallel]) o->by_parallel++;
  o->by_map = smallest(o->map, 0, b->highest);
  o->by_bic = smallest(o->bic, b->lowest, b->highest);
}

/* The share of the best number's gain over independent items that k sources miss. */
static double share_left(const job *b, int k) {
  const double *gain = b->out->heldout;
  double best = gain[0];
  for (int j = b->lowest; j <= b->highest; j++) best = fmax(best, gain[j]);
  return best > gain[0] ? (best - gain[k]) / (best - gain[0]) : 0;
}

/* Held-out rows see that many small clusters of items are real. A source that adds little to the prediction, and that
 * parallel analysis does not count, is left out. */
static void recommend(job *b) {
  blica_selection *o = b->out;
  char left[200] = "", segments[64] = "", halves[80] = "";
  int k = o->by_heldout;
  while (k > b->lowest && o->by_parallel < k && share_left(b, k - 1) < LITTLE) k--;
  o->sources = o->by_parallel == 0 ? 0 : k;
  if (o->sources == 0) {
    snprintf(o->reason, sizeof o->reason, "none: %s, so there is no structure to explain.",
             o->by_parallel == 0 ? "the eigenvalues are those of independent items (parallel analysis)"
                                 : "no number of sources predicts held-out rows better than independence");
    return;
  }
  const char *what = k == 1 ? "source: it predicts" : "sources: they predict";
  if (o->by_segments >= 0) snprintf(segments, sizeof segments, ", held-out segments choose %d", o->by_segments);
  if (k > 1 && isfinite(o->halves[k]))
    snprintf(halves, sizeof halves, " Over halves of the rows the columns agree to an MCS of %.2f.", o->halves[k]);
  if (k < o->by_heldout)
    snprintf(left, sizeof left, "%s held-out rows nearly as well as %d, which %s only %.1f %% of what sources explain",
             what, o->by_heldout, o->by_heldout == 1 ? "adds" : "add", 100 * share_left(b, k));
  else
    snprintf(left, sizeof left, "%s held-out rows as well as any number up to %d (within one standard error)%s", what,
             b->highest, k == b->highest ? "; compare more, for the best is the largest" : "");
  snprintf(o->reason, sizeof o->reason, "%d %s. Parallel analysis finds %d component%s%s.%s", k, left, o->by_parallel,
           o->by_parallel == 1 ? "" : "s", segments, halves);
}

/* Allocates the result for the numbers of sources from 0 to the highest. */
static blica_status create_selection(job *b) {
  const size_t many = (size_t)b->highest + 1, n = (size_t)b->rows->n;
  MUST(bl_alloc(b->ctx, 1, &b->out));
  b->out->n = b->rows->n, b->out->lowest = b->lowest, b->out->highest = b->highest;
  MUST(bl_alloc_for(b->ctx, b->out, many, &b->out->heldout));
  MUST(bl_alloc_for(b->ctx, b->out, many, &b->out->heldout_se));
  MUST(bl_alloc_for(b->ctx, b->out, many, &b->out->heldout_segments));
  MUST(bl_alloc_for(b->ctx, b->out, many, &b->out->heldout_segments_se));
  MUST(bl_alloc_for(b->ctx, b->out, many, &b->out->bic));
  MUST(bl_alloc_for(b->ctx, b->out, many, &b->out->map));
  MUST(bl_alloc_for(b->ctx, b->out, many, &b->out->halves));
  MUST(bl_alloc_for(b->ctx, b->out, n, &b->out->eigenvalue));
  MUST(bl_alloc_for(b->ctx, b->out, n, &b->out->reference));
  for (size_t k = 0; k < many; k++)
    b->out->bic[k] = b->out->halves[k] = b->out->heldout_segments[k] = b->out->heldout_segments_se[k] = NAN;
  b->out->by_segments = -1;
  return BLICA_OK;
}

/* The method of all fits, `auto` resolved as for samples. */
static void choose_method(job *b) {
  const bl_estimator *e = bl_method_of(b->options->method, BLICA_CONDITION_DEFAULT, false);
  b->out->method = e ? bl_method_number(e) : BLICA_METHOD_AUTO;
  b->needs_rows = e && e->method->needs_rows;
}

blica_status blica_select(blica_ctx *ctx, const blica_data *data, const blica_select_options *given,
                          blica_selection **out) {
  BL_NEED_OUT(ctx, out, data, given);
  blica_status status;
  blica_select_options own, *options = &own;
  job b = {.ctx = ctx, .data = data, .options = options};
  bl_poll_reset(ctx);
  TRY(BL_TAKE_OPTIONS(ctx, select, given, &own));
  int count;
  const blica_option *table = blica_select_option_table(&count);
  TRY(bl_same(ctx, &(blica_input){.data = data}, NULL, table, count, options));
  TRY(bl_data_plain(ctx, data, "the choice of the number of sources (select)", true));
  if (data->u < 2)
    FAIL(ctx, BLICA_ERR_DATA, "there is one segment ('%s'); name several segments, whose variances differ",
         data->segments[0]);
  b.folds = options->folds;
  TRY(bl_rows_of(ctx, data, &b.rows));
  if (b.rows->n < 3) FAIL(ctx, BLICA_ERR_DATA, "there are %d variables; at least 3 are needed", b.rows->n);
  TRY(limit_range(&b));
  TRY(create_selection(&b));
  TRY(bl_rows_counts_create(ctx, b.rows, &b.counts));
  bl_rows_count(b.rows, b.rows->weight, b.counts);
  choose_method(&b);
  if (!b.needs_rows && data->u >= SEGMENTS_LEAST) b.groups = b.folds < data->u ? b.folds : data->u;
  TRY(draw_folds(&b));
  TRY(bl_horn(ctx, b.rows, b.counts, options->references, options->seed, b.out->eigenvalue, b.out->reference));
  TRY(bl_map(ctx, b.counts, b.highest, b.out->map));
  TRY(fit_all(&b));
  apply_criteria(&b);
  recommend(&b);
  *out = bl_take(&b.out);
done:
  blica_selection_free(b.out);
  bl_free(b.weight);
  bl_rows_free(b.rows);
  blica_counts_free(b.counts);
  return status;
}
