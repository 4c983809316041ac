/* method.c - the table of estimators, and what `auto` stands for. */
#include "estimate/method.h"
#include "estimate/gauss/gauss.h"

#include <string.h>

/* One row for each method: ROW(name, its number (the place of the row, from 1), whether it needs rows, whether
 * blica_select and blica_segment may use it, help, what bl_estimator says of it). */
#define EACH_METHOD(ROW)                                                                                               \
  ROW(blica, 1, no, yes, yes,                                                                                          \
      "pair correlations, regularised, fitted by a scaled Gaussian likelihood (the paper's Algorithm 1)",              \
      .estimate = bl_estimate_blica, .wants_cor = true, .levels = true, .covariance = BL_COVARIANCE_REGULARISED)       \
  ROW(matched, 2, no, yes, yes,                                                                                        \
      "pair correlations, fitted by a Gaussian likelihood that knows the noise of binary data, with learned priors",   \
      .estimate = bl_estimate_matched, .keeps_counts = bl_is_rare, .wants_cor = true, .levels = true,                  \
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
const char bl_fit_methods[] = "auto=0" EACH_METHOD(FIT_WORD);
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

/* What `auto` stands for: docs/methods.md has the evidence. */
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
