/* method.c - the table of estimators, and what `auto` stands for. */
#include "estimate/method.h"
#include "estimate/corfit.h"

#include <string.h>

static const blica_method methods[] = {
    {"blica", "pair correlations, regularised, fitted by a scaled Gaussian likelihood (the paper's Algorithm 1)", 0},
    {"matched",
     "pair correlations, fitted by a Gaussian likelihood that knows the noise of binary data, with learned priors", 0},
    {"pairwise", "likelihood of the tables of all pairs, with learned priors", 0},
    {"mle", "full likelihood of the rows, means included, with learned priors (without: the paper's full MLE)", 1},
    {"ivae", "evidence lower bound of a linear variational autoencoder (the paper's appendix E)", 1},
    {"fastica", "fastICA on the pooled rows, 0 and 1 taken for real numbers, segments ignored", 1},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* In the same order. */
static const bl_estimator estimators[METHODS] = {
    {.method = &methods[0], .estimate = bl_estimate_blica, .wants_cor = true, .levels = true},
    {.method = &methods[1],
     .estimate = bl_estimate_matched,
     .keeps_counts = bl_corfit_is_rare,
     .wants_cor = true,
     .levels = true},
    {.method = &methods[2], .estimate = bl_estimate_pairwise, .wants_counts = true, .wants_cor = true, .levels = true},
    {.method = &methods[3], .estimate = bl_estimate_mle, .wants_counts = true, .wants_cor = true, .levels = true},
    {.method = &methods[4],
     .estimate = bl_estimate_ivae,
     .wants_counts = true,
     .max_iterations = 1000,
     .no_cuts = true},
    {.method = &methods[5],
     .estimate = bl_estimate_fastica,
     .wants_counts = true,
     .max_iterations = 1000,
     .tolerance = 1e-4},
};

const blica_method *blica_methods(int *count) {
  if (count) *count = METHODS;
  return methods;
}

/* What `auto` stands for (docs/methods.md has the evidence). */
static const char *choose(const blica_fit_options *o, bool exact) {
  if (strcmp(o->method, "auto") != 0) return o->method;
  return !exact && o->condition == BLICA_CONDITION_DEFAULT ? "matched" : "blica";
}

const bl_estimator *bl_method_of(const blica_fit_options *options, bool exact) {
  const char *name = choose(options, exact);
  for (int i = 0; i < METHODS; i++)
    if (strcmp(methods[i].name, name) == 0) return &estimators[i];
  return NULL;
}
