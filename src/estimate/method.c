/* method.c - the table of estimators, and what `auto` stands for. */
#include "estimate/method.h"
#include "estimate/gauss/corfit.h"

#include <string.h>

/* One row for each method: ROW(name, whether it needs rows, whether blica_select and blica_segment may use it, help,
 * what bl_estimator says of it). */
#define EACH_METHOD(ROW)                                                                                               \
  ROW(blica, no, yes, yes,                                                                                             \
      "pair correlations, regularised, fitted by a scaled Gaussian likelihood (the paper's Algorithm 1)",              \
      .estimate = bl_estimate_blica, .wants_cor = true, .levels = true, .covariance = BL_COVARIANCE_REGULARISED)       \
  ROW(matched, no, yes, yes,                                                                                           \
      "pair correlations, fitted by a Gaussian likelihood that knows the noise of binary data, with learned priors",   \
      .estimate = bl_estimate_matched, .keeps_counts = bl_corfit_is_rare, .wants_cor = true, .levels = true,           \
      .prior = BL_PRIOR_AUTO, .covariance = BL_COVARIANCE_CORRELATIONS)                                                \
  ROW(pairwise, no, yes, yes, "likelihood of the tables of all pairs, with learned priors",                            \
      .estimate = bl_estimate_pairwise, .wants_counts = true, .wants_cor = true, .levels = true,                       \
      .prior = BL_PRIOR_AUTO, .covariance = BL_COVARIANCE_TABLES)                                                      \
  ROW(mle, yes, yes, no,                                                                                               \
      "full likelihood of the rows, means included, with learned priors (without: the paper's full MLE)",              \
      .estimate = bl_estimate_mle, .wants_counts = true, .wants_cor = true, .levels = true, .prior = BL_PRIOR_AUTO,    \
      .covariance = BL_COVARIANCE_INFORMATION)                                                                         \
  ROW(ivae, yes, no, no, "evidence lower bound of a linear variational autoencoder (the paper's appendix E)",          \
      .estimate = bl_estimate_ivae, .wants_counts = true, .max_iterations = 1000, .no_cuts = true)                     \
  ROW(fastica, yes, no, no, "fastICA on the pooled rows, 0 and 1 taken for real numbers, segments ignored",            \
      .estimate = bl_estimate_fastica, .wants_counts = true, .max_iterations = 1000, .tolerance = 1e-4)

enum { no, yes };
#define WORD_no(name)
#define WORD_yes(name) "|" #name
#define INDEX(name, ...) INDEX_##name,
#define METHOD(name, needs_rows, select, segment, help, ...) {#name, help, needs_rows},
#define ESTIMATOR(name, needs_rows, select, segment, help, ...) {.method = &methods[INDEX_##name], __VA_ARGS__},
#define FIT_WORD(name, ...) WORD_yes(name)
#define SELECT_WORD(name, needs_rows, select, ...) WORD_##select(name)
#define SEGMENT_WORD(name, needs_rows, select, segment, ...) WORD_##segment(name)

enum { EACH_METHOD(INDEX) METHODS };
static const blica_method methods[METHODS] = {EACH_METHOD(METHOD)};
static const bl_estimator estimators[METHODS] = {EACH_METHOD(ESTIMATOR)};
const char bl_fit_methods[] = "auto" EACH_METHOD(FIT_WORD);
const char bl_select_methods[] = "auto" EACH_METHOD(SELECT_WORD);
const char bl_segment_methods[] = "auto" EACH_METHOD(SEGMENT_WORD);

const blica_method *blica_methods(int *count) {
  if (count) *count = METHODS;
  return methods;
}

/* What `auto` stands for (docs/methods.md has the evidence). */
static const char *choose(const blica_fit_options *o, bool exact) {
  if (strcmp(o->method, "auto") != 0) return o->method;
  return !exact && o->condition == BLICA_CONDITION_DEFAULT ? "matched" : "blica";
}

const bl_estimator *bl_method_named(const char *name) {
  for (int i = 0; i < METHODS; i++)
    if (strcmp(methods[i].name, name) == 0) return &estimators[i];
  return NULL;
}

const bl_estimator *bl_method_of(const blica_fit_options *options, bool exact) {
  return bl_method_named(choose(options, exact));
}

bl_covariance bl_method_covariance(const blica_model *model) {
  const bl_estimator *e = bl_method_named(model->method);
  return e ? e->covariance : BL_COVARIANCE_CORRELATIONS;
}
