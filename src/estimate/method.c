/* method.c - the table of estimators, the choice of `auto`, the table of a fit's options, and the record of those that
 * were given. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "estimate/estimate.h"
#include "estimate/gauss/gauss.h"

/* One row for each method: ROW(name, its number (the place of the row, from 1), whether it needs rows, whether
 * blica_select and blica_segment may use it, help, what bl_estimator says of it). */
#define EACH_METHOD(ROW)                                                                                               \
  ROW(blica, 1, no, yes, yes,                                                                                          \
      "pair correlations, regularised, fitted by a scaled Gaussian likelihood (the paper's Algorithm 1)",              \
      .estimate = bl_estimate_blica, .wants_cor = true, .levels = true, .covariance = BL_COVARIANCE_REGULARISED)       \
  ROW(matched, 2, no, yes, yes,                                                                                        \
      "pair correlations, fitted by a Gaussian likelihood that knows the noise of binary data, with learned priors",   \
      .estimate = bl_estimate_matched, .keeps_counts = bl_is_rare, .wants_cor = true, .levels = true, .frees = true,   \
      .prior = BLICA_PRIOR_AUTO, .covariance = BL_COVARIANCE_CORRELATIONS)                                             \
  ROW(pairwise, 3, no, yes, yes, "likelihood of the tables of all pairs, with learned priors",                         \
      .estimate = bl_estimate_pairwise, .wants_counts = true, .wants_cor = true, .levels = true,                       \
      .prior = BLICA_PRIOR_AUTO, .covariance = BL_COVARIANCE_TABLES)                                                   \
  ROW(mle, 4, yes, yes, no,                                                                                            \
      "full likelihood of the rows, means included, with learned priors (without: the paper's full MLE)",              \
      .estimate = bl_estimate_mle, .wants_counts = true, .wants_cor = true, .levels = true, .prior = BLICA_PRIOR_AUTO, \
      .covariance = BL_COVARIANCE_INFORMATION)                                                                         \
  ROW(ivae, 5, yes, no, no, "evidence lower bound of a linear variational autoencoder (the paper's appendix E)",       \
      .estimate = bl_estimate_ivae, .wants_counts = true, .max_iterations = 1000, .no_cuts = true)                     \
  ROW(fastica, 6, yes, no, no, "fastICA on the pooled rows, 0 and 1 taken for real numbers, segments ignored",         \
      .estimate = bl_estimate_fastica, .wants_counts = true, .max_iterations = 1000, .tolerance = 1e-4)

enum { no, yes };
#define WORD_no(name, number)
#define WORD_yes(name, number) "|" #name "=" #number
#define INDEX(name, ...) INDEX_##name,
#define METHOD(name, number, needs_rows, select, segment, help, ...) {#name, help, needs_rows},
#define ESTIMATOR(name, number, needs_rows, select, segment, help, ...) {.method = &methods[INDEX_##name], __VA_ARGS__},
#define FIT_WORD(name, number, ...) WORD_yes(name, number)
#define SELECT_WORD(name, number, needs_rows, select, ...) WORD_##select(name, number)
#define SEGMENT_WORD(name, number, needs_rows, select, segment, ...) WORD_##segment(name, number)
#define IN_PLACE(name, number, ...) _Static_assert(number == INDEX_##name + 1, #name ": its number is not its place");

enum { EACH_METHOD(INDEX) METHODS };
EACH_METHOD(IN_PLACE)
_Static_assert(INDEX_fastica + 1 == BLICA_METHOD_FASTICA, "blica.h has the rows in their order");
static const blica_method methods[METHODS] = {EACH_METHOD(METHOD)};
static const bl_estimator estimators[METHODS] = {EACH_METHOD(ESTIMATOR)};
static const char fit_methods[] = "auto=0" EACH_METHOD(FIT_WORD);
const char bl_select_methods[] = "auto=0" EACH_METHOD(SELECT_WORD);
const char bl_segment_methods[] = "auto=0" EACH_METHOD(SEGMENT_WORD);

const blica_method *blica_methods(int *count) {
  if (count) *count = METHODS;
  return methods;
}

int blica_method_find(const char *name) {
  if (!name) return -1;
  for (int i = 0; i < METHODS; i++)
    if (strcmp(methods[i].name, name) == 0) return i + 1;
  return strcmp(name, "auto") == 0 ? BLICA_METHOD_AUTO : -1;
}

const char *blica_method_name(int method) {
  if (method == BLICA_METHOD_AUTO) return "auto";
  return method > 0 && method <= METHODS ? methods[method - 1].name : "unknown";
}

const bl_estimator *bl_method_named(const char *name) {
  const int method = blica_method_find(name);
  return method > 0 ? &estimators[method - 1] : NULL;
}

/* The method that `auto` chooses: docs/methods.md has the evidence. */
const bl_estimator *bl_method_of(int method, double condition, bool exact) {
  if (method == BLICA_METHOD_AUTO)
    method = !exact && condition == BLICA_CONDITION_DEFAULT ? BLICA_METHOD_MATCHED : BLICA_METHOD_BLICA;
  return method > 0 && method <= METHODS ? &estimators[method - 1] : NULL;
}

int bl_method_number(const bl_estimator *estimator) {
  return (int)(estimator - estimators) + 1;
}

bl_covariance bl_method_covariance(const blica_model *model) {
  const bl_estimator *e = bl_method_named(model->method);
  return e ? e->covariance : BL_COVARIANCE_CORRELATIONS;
}

/* ---- options ---- */

/* Methods that maximise a likelihood, with or without a prior. */
#define OF_LIKELIHOODS "method=auto|blica|matched|pairwise|mle"
#define NOT_IVAE OF_LIKELIHOODS "|fastica"

#define FIT(name) #name, BL_FIELD(blica_fit_options, name)

static const blica_option fit_table[] = {
    BL_ROW(FIT(method), BLICA_OPT_CHOICE, "auto", 0, 0, fit_methods, "NAME",
           "Estimator. auto is matched for samples of any size, and blica for exact counts and when a condition is "
           "given."),
    BL_ROW(FIT(sources), BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K", "Number of sources, at most the number of variables."),
    BL_ROW(FIT(starts), BLICA_OPT_INT, "3", 1, 1e6, NULL, "COUNT",
           "Starting points; the result with the best objective is kept, all are reported. Methods blica and matched "
           "end a "
           "start as a duplicate when it reaches the optimum of the first; pairwise and mle begin at the best of "
           "matched."),
    BL_ROW(FIT(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the random starting points. The same seed gives the same result."),
    BL_ROW_WITH("method=auto|blica", FIT(condition), BLICA_OPT_REAL, "default", 1.01, INFINITY, "default=0|none=inf",
                "R",
                "Condition number to which each correlation matrix is regularised, or none. The default is 10 for "
                "samples and none for exact counts."),
    BL_ROW(FIT(link), BLICA_OPT_REAL, "pi/8", 1e-6, 1e6, BL_PI_8, "C",
           "Squared coefficient c of the link, P(x=1|y) = Phi(sqrt(c) y)."),
    BL_ROW_WITH(
        NOT_IVAE, FIT(thresholds), BLICA_OPT_CHOICE, "items", 0, 0, "items|none", "KIND",
        "items: every item has its own threshold, the same in all segments, for its base rate; where sources are "
        "fewer than variables, method matched learns from base rates, too. none: the paper's model, in which the "
        "means of the sources determine all base rates; matched leaves them out."),
    BL_ROW(FIT(max_iterations), BLICA_OPT_INT, "default", 1, 9e15, "default=0", "COUNT",
           "Largest number of iterations of one start. The default is 10000; 1000 for ivae and fastica."),
    BL_ROW(FIT(tolerance), BLICA_OPT_REAL, "default", 0, 1, "default=-1", "EPS",
           "A start has converged when its relative gradient, max |df/dtheta| / max(1, |f|) where the mean variance of "
           "each source is 1, is at "
           "most this; for fastica, when no component changes its direction by more (1 - |cos|). The default is 1e-8; "
           "1e-4 for fastica."),
    BL_ROW(FIT(max_seconds), BLICA_OPT_REAL, "none", 0, INFINITY, "none=inf", "SECONDS",
           "Time limit of the whole fit. When it is reached, the best result so far is returned."),
    BL_ROW_WITH(
        OF_LIKELIHOODS, FIT(prior), BLICA_OPT_CHOICE, "default", 0, 0, "default|none|auto|fixed", "KIND",
        "Prior on A and on log v: none, auto to learn its scales from the data, or fixed to the two scales below. The "
        "default is none for blica, auto for matched, pairwise and mle."),
    BL_ROW_WITH("prior=fixed", FIT(prior_mixing), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "SD",
                "Standard deviation of the elements of A, with a fixed prior."),
    BL_ROW_WITH("prior=fixed", FIT(prior_variance), BLICA_OPT_REAL, "1", 1e-6, 1e6, NULL, "SD",
                "Standard deviation of the log-variances of the sources, with a fixed prior."),
    BL_ROW_WITH(OF_LIKELIHOODS, FIT(likelihood_power), BLICA_OPT_REAL, "1", 1e-6, 1, NULL, "SHARE",
                "Power to which the likelihood is raised; below 1 the prior has more influence."),
    BL_ROW_WITH("method=fastica", FIT(contrast), BLICA_OPT_CHOICE, "logcosh", 0, 0, "logcosh|exp|cube", "NAME",
                "Method fastica: the contrast function."),
    BL_ROW(FIT(checkpoint), BLICA_OPT_TEXT, NULL, 0, 0, NULL, "FILE",
           "Keep the state of the fit in this file, so that a run that was killed can be resumed."),
    BL_ROW_WITH(
        "checkpoint", FIT(checkpoint_seconds), BLICA_OPT_REAL, "60", 0, 1e9, NULL, "SECONDS",
        "Time between two writes of the checkpoint. It is also written when the fit is interrupted or reaches its "
        "time limit."),
    BL_ROW_WITH(
        "checkpoint", FIT(resume), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
        "Continue from the checkpoint; the result has the same bits as without the break. If there is no such file, "
        "the fit starts from the beginning."),
    BL_ROW(
        FIT(allow_unidentified), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
        "Fit even when the data cannot determine the mixing matrix: there is one segment only, or no two items vary."),
    BL_ROW(
        FIT(free), BLICA_OPT_TEXT, NULL, 0, 0, NULL, "ITEMS",
        "Method matched: items to estimate apart, separated by commas. ITEM@SEGMENT has its own cuts and its own row "
        "of A in that segment, cuts:ITEM@SEGMENT its own cuts, cuts:ITEM its own cuts in every segment. auto frees "
        "what the tests of blica invariance find, the least adjusted p first, and fits again, until none is below "
        ".05 (halved for cuts and loadings each); half of the items of a segment stay together."),
};

BL_OPTION_TABLE(fit, fit_table)

blica_status bl_report_options(blica_ctx *ctx, blica_fit_report *report, const blica_fit_options *options) {
  static const char *const elsewhere[] = {"sources", "method", "starts", "seed", "free"};
  const blica_fit_options usual = blica_fit_options_default();
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  blica_status status = bl_alloc(ctx, (size_t)count, &report->options);
  for (int i = 0; status == BLICA_OK && i < count; i++) {
    blica_setting *setting = &report->options[report->n_options];
    char before[sizeof setting->value];
    bool skip = !bl_option_decides(table[i].name);
    for (size_t e = 0; e < sizeof elsewhere / sizeof *elsewhere; e++)
      skip = skip || strcmp(elsewhere[e], table[i].name) == 0;
    if (skip) continue;
    bl_option_spell(&table[i], options, setting->value, sizeof setting->value);
    bl_option_spell(&table[i], &usual, before, sizeof before);
    if (strcmp(setting->value, before) == 0) continue;
    snprintf(setting->name, sizeof setting->name, "%s", table[i].name);
    report->n_options++;
  }
  return status;
}
